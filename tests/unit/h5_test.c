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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_disk_full_at_descriptions)};

    lot_h5_quiet();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
