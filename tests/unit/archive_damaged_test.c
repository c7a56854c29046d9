/* Files that are no archive, or not a whole one: nothing of them is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <hdf5.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include "io/archive_open.h"
#include "support/archived.h"

typedef struct bytes {
    unsigned char *data;
    size_t size;
} bytes;

static bytes load(const char *path)
{
    FILE *file = fopen(path, "rb");
    bytes read = {malloc(1 << 20), 0};

    assert_non_null(file);
    read.size = fread(read.data, 1, 1 << 20, file);
    (void)fclose(file);
    return read;
}

static lot_status read_all(const char *path, lot_error *error)
{
    lot_run run;
    char *all = NULL;
    lot_status status = lot_archive_read(path, true, &run, error);

    if (status == LOT_OK) {
        lot_run_free(&run);
        status = lot_archive_each_record(path, -1, collect, &all, error);
        free(all);
    }
    assert_true(status == LOT_OK || error->text[0] != '\0');
    return status;
}

static void test_truncated(void **state)
{
    char whole[160];
    const char *cut = in_folder("cut.h5");
    bytes archive;

    (void)state;
    (void)snprintf(whole, sizeof whole, "%s", in_folder("whole.h5"));
    write_sample(whole, 2, 2);
    archive = load(whole);
    cut = in_folder("cut.h5");
    for (size_t i = 0; i <= 40; i++) {
        const size_t size = i < 40 ? i * (archive.size - 64) / 40 : archive.size - 65;
        lot_error error = {0};
        lot_status status;

        store(cut, archive.data, size);
        status = read_all(cut, &error);
        assert_true(status == LOT_DAMAGED || status == LOT_SCHEMA);
        assert_true(size < 8 || status == LOT_DAMAGED);
        if (size >= 64) { /* the seal's 64 bytes lie behind what is HDF5's */
            char said[64];

            (void)snprintf(said, sizeof said, "it has %zu of %zu bytes", size, archive.size - 64);
            assert_non_null(strstr(error.text, said));
        }
    }
    free(archive.data);
}

static void test_every_flip_is_seen(void **state)
{
    char whole[160];
    const char *changed;
    bytes archive;
    size_t tried = 0;

    (void)state;
    (void)snprintf(whole, sizeof whole, "%s", in_folder("flip.h5"));
    write_sample(whole, 2, 2);
    archive = load(whole);
    changed = in_folder("flipped.h5");
    for (size_t at = 8; at < archive.size - 64; at += 157) {
        lot_error error = {0};

        archive.data[at] ^= (unsigned char)(1u << (at % 8));
        store(changed, archive.data, archive.size);
        assert_int_equal(read_all(changed, &error), LOT_DAMAGED);
        archive.data[at] ^= (unsigned char)(1u << (at % 8));
        tried++;
    }
    assert_true(tried > 200);
    free(archive.data);
}

/* Places where HDF5 1.10.8 dies of one flipped bit are among these: without the seal, the trial must catch
 * it. */
static void test_flips_without_a_seal(void **state)
{
    char whole[160];
    const char *changed;
    bytes archive;

    (void)state;
    (void)snprintf(whole, sizeof whole, "%s", in_folder("noseal.h5"));
    write_sample(whole, 2, 2);
    archive = load(whole);
    changed = in_folder("noseal2.h5");
    for (size_t at = 96; at < 5000; at += 149) {
        lot_error error = {0};

        archive.data[at] ^= 0x80;
        store(changed, archive.data, archive.size - 64);
        (void)read_all(changed, &error);
        archive.data[at] ^= 0x80;
    }
    store(changed, archive.data, archive.size - 64);
    {
        lot_error error = {0};
        lot_run run;

        assert_int_equal(lot_archive_read(changed, false, &run, &error), LOT_OK);
        assert_false(run.sealed);
        lot_run_free(&run);
    }
    free(archive.data);
}

/* The archive of `path` opened as an editor would, without the seal then, and its table of devices. */
static hid_t edit_devices(const char *path, hid_t *table)
{
    hid_t file;

    (void)unlink(path);
    write_sample(path, 2, 2);
    file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    *table = H5Dopen2(file, "devices", H5P_DEFAULT);
    assert_true(file >= 0 && *table >= 0);
    return file;
}

static void expect_damaged(const char *path, hid_t file, const char *says)
{
    lot_error error = {0};
    lot_run run;

    assert_true(H5Fclose(file) >= 0);
    assert_int_equal(lot_archive_read(path, false, &run, &error), LOT_DAMAGED);
    assert_non_null(strstr(error.text, says));
}

/* ---- an archive that has other files read ---- */

static hid_t make_link(hid_t file, hid_t table, const char *other)
{
    (void)table;
    return H5Lcreate_external(other, "devices", file, "devices", H5P_DEFAULT, H5P_DEFAULT);
}

static hid_t make_soft_link(hid_t file, hid_t table, const char *other)
{
    (void)table;
    assert_true(H5Lcreate_external(other, "/", file, "other", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    return H5Lcreate_soft("/other/devices", file, "devices", H5P_DEFAULT, H5P_DEFAULT);
}

/* A table of the same rows whose bytes are those of `other`, by a property of its own. */
static hid_t make_table(hid_t file, hid_t table, hid_t made)
{
    const hid_t type = H5Dget_type(table), space = H5Dget_space(table);
    const hid_t dataset = H5Dcreate2(file, "devices", type, space, H5P_DEFAULT, made, H5P_DEFAULT);

    (void)H5Tclose(type);
    (void)H5Sclose(space);
    (void)H5Pclose(made);
    return dataset < 0 ? dataset : H5Dclose(dataset);
}

static hid_t make_virtual(hid_t file, hid_t table, const char *other)
{
    const hid_t made = H5Pcreate(H5P_DATASET_CREATE), space = H5Dget_space(table);

    assert_true(H5Pset_virtual(made, space, other, "devices", space) >= 0);
    (void)H5Sclose(space);
    return make_table(file, table, made);
}

static hid_t make_external(hid_t file, hid_t table, const char *other)
{
    const hid_t made = H5Pcreate(H5P_DATASET_CREATE);

    assert_true(H5Pset_external(made, other, 0, H5F_UNLIMITED) >= 0);
    return make_table(file, table, made);
}

/* Every way that HDF5 has of taking a table out of another file: all of them are refused by name. */
static void test_no_other_file_is_read(void **state)
{
    static const struct {
        hid_t (*make)(hid_t file, hid_t table, const char *other);
        const char *says;
    } ways[] = {{make_link, "devices is a link, no table"},
                {make_soft_link, "devices is a link, no table"},
                {make_virtual, "devices lies in another file"},
                {make_external, "devices lies in another file"}};
    char other[160];

    (void)state;
    (void)snprintf(other, sizeof other, "%s", in_folder("others.h5"));
    write_sample(other, 2, 2);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        const char *path = in_folder("reaching.h5");
        hid_t table;
        const hid_t file = edit_devices(path, &table);

        assert_true(H5Ldelete(file, "devices", H5P_DEFAULT) >= 0);
        assert_true(ways[i].make(file, table, other) >= 0);
        (void)H5Dclose(table);
        expect_damaged(path, file, ways[i].says);
    }
}

static void test_a_rank_twice(void **state)
{
    const char *path = in_folder("twice.h5");
    hid_t table;
    const hid_t file = edit_devices(path, &table), type = H5Dget_type(table);
    const size_t size = H5Tget_size(type);
    char *rows = malloc(2 * size);

    (void)state;
    assert_non_null(rows);
    assert_true(H5Dread(table, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
    memcpy(rows + size, rows, size);
    assert_true(H5Dwrite(table, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
    free(rows);
    (void)H5Tclose(type);
    (void)H5Dclose(table);
    expect_damaged(path, file, "/devices: row 1 is not in rank order");
}

/* Gives an attribute of the root, in its own type, another value. */
static void set_root(hid_t file, const char *name, const void *value)
{
    const hid_t attribute = H5Aopen(file, name, H5P_DEFAULT), type = H5Aget_type(attribute);

    assert_true(attribute >= 0 && type >= 0 && H5Awrite(attribute, type, value) >= 0);
    (void)H5Tclose(type);
    (void)H5Aclose(attribute);
}

static void test_no_version_and_no_answer(void **state)
{
    const char *path = in_folder("root.h5");
    const int64_t none = 0;
    const int8_t neither = 5;
    hid_t table, file = edit_devices(path, &table);
    lot_error error = {0};
    lot_run run;

    (void)state;
    set_root(file, "complete", &neither);
    (void)H5Dclose(table);
    assert_true(H5Fclose(file) >= 0);
    assert_int_equal(lot_archive_read(path, false, &run, &error), LOT_OK);
    assert_int_equal(run.header.complete, LOT_NULL_BOOL);
    lot_run_free(&run);
    file = edit_devices(path, &table);
    set_root(file, "schema_version", &none);
    (void)H5Dclose(table);
    expect_damaged(path, file, "schema_version is not a number from 1");
}

/* Deflate makes no more than 1032 bytes of one: rows beyond that are claimed, not stored. */
static void test_more_rows_than_bytes(void **state)
{
    const char *path = in_folder("claims.h5");
    hid_t table;
    const hid_t file = edit_devices(path, &table), type = H5Dget_type(table);
    const hsize_t rows = 1032 * H5Dget_storage_size(table) / H5Tget_size(type) + 1;

    (void)state;
    assert_true(H5Dset_extent(table, &rows) >= 0);
    (void)H5Tclose(type);
    (void)H5Dclose(table);
    expect_damaged(path, file, "devices claims more rows than it holds");
}

/* What a file asks for beside it, a filter, is code. */
static void test_no_code_is_loaded(void **state)
{
    const char *path = in_folder("filters.h5");
    unsigned kinds = ~0u;
    lot_error error = {0};
    lot_run run;

    (void)state;
    write_sample(path, 1, 2);
    assert_int_equal(lot_archive_read(path, false, &run, &error), LOT_OK);
    lot_run_free(&run);
    assert_true(H5PLget_loading_state(&kinds) >= 0);
    assert_int_equal(kinds, 0);
}

static void go_in_circles(const char *path)
{
    (void)path;
    for (volatile int forever = 1; forever;)
        ;
}

/* An archive whose seal is cut off. */
static const char *write_without_seal(void)
{
    char whole[160];
    const char *path;
    bytes archive;

    (void)snprintf(whole, sizeof whole, "%s", in_folder("sealed.h5"));
    write_sample(whole, 1, 2);
    archive = load(whole);
    path = in_folder("unsealed.h5");
    store(path, archive.data, archive.size - 64);
    free(archive.data);
    (void)unlink(whole);
    return path;
}

/* As HDF5 1.10.8 does in a heap whose objects have no size: seconds, not until somebody ends it. */
static void test_what_comes_to_no_end_is_damaged(void **state)
{
    const char *path = write_without_seal();
    bool sealed = true;
    struct timespec began, ended;
    lot_error error = {0};
    sigset_t all, before;

    (void)state;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &began), 0);
    (void)sigfillset(&all); /* as whoever starts this program may have left it */
    assert_int_equal(sigprocmask(SIG_SETMASK, &all, &before), 0);
    assert_int_equal(lot_archive_try(path, go_in_circles, &sealed, &error), LOT_DAMAGED);
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &ended), 0);
    assert_non_null(strstr(error.text, "does not survive"));
    assert_true(ended.tv_sec - began.tv_sec < 60); /* of a busy machine; 5 of a CPU */
}

/* Who ignores SIGCHLD, as those do whom a daemon starts that does, is not told how a child ended. */
static void test_whole_for_who_hears_of_no_child(void **state)
{
    const char *path = write_without_seal();
    lot_error error = {0};
    struct sigaction before, after;
    lot_run run;

    (void)state;
    assert_int_equal(sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_IGN}, &before), 0);
    assert_int_equal(lot_archive_read(path, false, &run, &error), LOT_OK);
    assert_int_equal(sigaction(SIGCHLD, &before, &after), 0);
    assert_true(after.sa_handler == SIG_IGN);
    lot_run_free(&run);
}

/* HDF5 lets somebody else's bytes stand before a file, 512 of them or a power of two more. */
static void test_behind_a_user_block(void **state)
{
    enum { BLOCK = 1024 };
    const char *path = in_folder("behind.h5");
    bytes archive, behind = {calloc(1, (1 << 20) + BLOCK), 0};
    lot_error error = {0};
    lot_run run;

    (void)state;
    assert_non_null(behind.data);
    write_sample(path, 2, 2);
    archive = load(path);
    behind.size = archive.size - 64 + BLOCK;
    memcpy(behind.data + BLOCK, archive.data, archive.size - 64);
    store(path, behind.data, behind.size);
    assert_int_equal(lot_archive_read(path, false, &run, &error), LOT_OK);
    assert_int_equal(run.device_count, 2);
    lot_run_free(&run);
    free(behind.data);
    free(archive.data);
}

static void test_not_an_archive(void **state)
{
    const char *path = in_folder("other");
    lot_error error = {0};
    lot_run run;

    (void)state;
    assert_int_equal(lot_archive_read(path, false, &run, &error), LOT_INPUT);
    assert_non_null(strstr(error.text, "No such file"));
    assert_int_equal(lot_archive_read(folder, false, &run, &error), LOT_INPUT);
    assert_non_null(strstr(error.text, "is a folder, not an archive"));
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(lot_archive_read(path, false, &run, &error), LOT_INPUT);
    (void)unlink(path);
    store(path, (const unsigned char *)"", 0);
    assert_int_equal(lot_archive_read(path, false, &run, &error), LOT_SCHEMA);
    store(path, (const unsigned char *)"not HDF5 at all", 15);
    assert_int_equal(lot_archive_read(path, false, &run, &error), LOT_SCHEMA);
    assert_non_null(strstr(error.text, "not an HDF5 file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_every_flip_is_seen),
        cmocka_unit_test(test_flips_without_a_seal),
        cmocka_unit_test(test_no_other_file_is_read),
        cmocka_unit_test(test_a_rank_twice),
        cmocka_unit_test(test_no_version_and_no_answer),
        cmocka_unit_test(test_more_rows_than_bytes),
        cmocka_unit_test(test_no_code_is_loaded),
        cmocka_unit_test(test_what_comes_to_no_end_is_damaged),
        cmocka_unit_test(test_whole_for_who_hears_of_no_child),
        cmocka_unit_test(test_behind_a_user_block),
        cmocka_unit_test(test_not_an_archive),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
