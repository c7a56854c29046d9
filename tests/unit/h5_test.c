/* What io/h5 does beneath the archive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/h5.h"

/* The disk is full when the texts that describe a table are written. */
static void test_disk_full_at_descriptions(void **state)
{
    enum { FILLING = 500, FILLING_BYTES = 8000, TEXTS = 60 };
    static char filling[FILLING_BYTES];
    const char *texts[TEXTS];
    char path[] = "/tmp/gpulot-h5-XXXXXX";
    const int made = mkstemp(path);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    struct rlimit old, small;
    struct stat now;

    (void)state;
    assert_true(made >= 0 && file >= 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    memset(filling, 'x', sizeof filling - 1);
    for (int i = 0; i < FILLING; i++) { /* until HDF5 must write one thing to take another into memory */
        char name[16];

        (void)snprintf(name, sizeof name, "filling%d", i);
        assert_true(lot_h5_write_text(file, name, filling));
    }
    for (int i = 0; i < TEXTS; i++)
        texts[i] = filling + sizeof filling - 200;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(fstat(made, &now), 0);
    small = old;
    small.rlim_cur = (rlim_t)now.st_size;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_false(lot_h5_write_texts(file, "texts", texts, TEXTS));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    (void)H5Fclose(file);
    (void)close(made);
    (void)unlink(path);
}

/* ---- attributes that somebody else wrote ---- */

static void set(hid_t file, const char *name, hid_t type, hsize_t count, const void *values)
{
    const hid_t space = H5Screate_simple(1, &count, NULL);
    const hid_t attribute = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);

    assert_true(attribute >= 0 && H5Awrite(attribute, type, values) >= 0);
    (void)H5Aclose(attribute);
    (void)H5Sclose(space);
}

/* Of another type, or several where one is meant: not read, and nothing written beyond its place. */
static void test_attributes_of_other_forms(void **state)
{
    static const char two_texts[2][4] = {"one", "two"};
    static const int64_t two[2] = {1, 2};
    static const int16_t wide = 1;
    char path[] = "/tmp/gpulot-h5-XXXXXX";
    const int made = mkstemp(path);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t text = lot_h5_text_type(4), wide_enum = H5Tenum_create(H5T_NATIVE_INT16);
    int64_t number = 77;
    int8_t answers[2] = {77, 77};
    char *read;

    (void)state;
    assert_true(made >= 0 && file >= 0 && text >= 0 && wide_enum >= 0);
    assert_true(H5Tenum_insert(wide_enum, "TRUE", &wide) >= 0);
    set(file, "texts", text, 2, two_texts);
    set(file, "text", text, 1, two_texts);
    set(file, "numbers", H5T_NATIVE_INT64, 2, two);
    set(file, "number", H5T_NATIVE_INT64, 1, two);
    set(file, "wide", wide_enum, 1, &wide);
    assert_null(lot_h5_read_text(file, "texts"));
    assert_null(lot_h5_read_text(file, "number"));
    assert_null(lot_h5_read_text(file, "none"));
    assert_non_null(read = lot_h5_read_text(file, "text"));
    assert_string_equal(read, "one");
    free(read);
    assert_false(lot_h5_read_scalar(file, "numbers", H5T_INTEGER, H5T_NATIVE_INT64, &number));
    assert_false(lot_h5_read_scalar(file, "text", H5T_INTEGER, H5T_NATIVE_INT64, &number));
    assert_int_equal(number, 77);
    assert_true(lot_h5_read_scalar(file, "number", H5T_INTEGER, H5T_NATIVE_INT64, &number));
    assert_int_equal(number, 1);
    assert_false(lot_h5_read_scalar(file, "wide", H5T_ENUM, H5I_INVALID_HID, answers));
    assert_true(answers[0] == 77 && answers[1] == 77);
    (void)H5Tclose(wide_enum);
    (void)H5Tclose(text);
    (void)H5Fclose(file);
    (void)close(made);
    (void)unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_disk_full_at_descriptions),
                                       cmocka_unit_test(test_attributes_of_other_forms)};

    lot_h5_quiet();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
