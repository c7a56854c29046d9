/* The archive's name: nothing that is there is written over, and nothing half done stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "support/archived.h"

static void test_output_is_refused(void **state)
{
    char existing[160];
    lot_archive_writer *writer = NULL;
    lot_error error = {0};

    (void)state;
    (void)snprintf(existing, sizeof existing, "%s", in_folder("there.h5"));
    store(existing, (const unsigned char *)"mine", 4);
    assert_int_equal(lot_archive_create(existing, &writer, &error), LOT_OUTPUT);
    assert_non_null(strstr(error.text, "exists"));
    assert_int_equal(lot_archive_create(folder, &writer, &error), LOT_OUTPUT);
    assert_non_null(strstr(error.text, "folder"));
    assert_int_equal(lot_archive_create(in_folder("missing/a.h5"), &writer, &error), LOT_OUTPUT);
    assert_non_null(strstr(error.text, "No such file"));
    assert_null(writer);
}

/* Two runs want one name: one gets it, the other is told where its complete archive is. */
static void test_two_writers(void **state)
{
    lot_archive_writer *writers[2] = {NULL, NULL};
    char path[160];
    lot_run_header header;
    lot_error error = {0};
    lot_run run;
    char kept[512];

    (void)state;
    (void)snprintf(path, sizeof path, "%s", in_folder("race.h5"));
    sample_header(&header, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(lot_archive_create(path, &writers[i], &error), LOT_OK);
    sample_text(header.label, sizeof header.label, "first");
    assert_int_equal(lot_archive_finish(writers[0], &header, NULL, &error), LOT_OK);
    sample_text(header.label, sizeof header.label, "second");
    assert_int_equal(lot_archive_finish(writers[1], &header, NULL, &error), LOT_OUTPUT);
    (void)snprintf(kept, sizeof kept, "%s",
                   strstr(error.text, "complete file is ") + strlen("complete file is "));
    assert_int_equal(lot_archive_read(path, false, &run, &error), LOT_OK);
    assert_string_equal(run.header.label, "first");
    lot_run_free(&run);
    assert_int_equal(lot_archive_read(kept, false, &run, &error), LOT_OK);
    assert_string_equal(run.header.label, "second");
    lot_run_free(&run);
}

static void test_abandoned(void **state)
{
    lot_archive_writer *writer = NULL;
    lot_error error = {0};
    char command[160];

    (void)state;
    assert_int_equal(lot_archive_create(in_folder("gone.h5"), &writer, &error), LOT_OK);
    lot_archive_abandon(writer);
    lot_archive_abandon(NULL);
    (void)snprintf(command, sizeof command, "test -z \"$(ls %s | grep gone)\"", folder);
    assert_int_equal(system(command), 0);
}

/* Writes an archive of `ranks` ranks; from the middle on they have samples, whose table is made with the
 * first. */
static lot_status write_many(const char *path, int64_t ranks, lot_error *error)
{
    lot_archive_writer *writer = NULL;
    lot_run_header header;
    lot_status status = lot_archive_create(path, &writer, error);

    for (int64_t rank = 0; status == LOT_OK && rank < ranks; rank++) {
        lot_record record;

        sample_record(&record, rank, ranks, 20);
        if (rank >= ranks / 2)
            lot_record_add_sample(&record)->seconds = 7.25;
        status = append(writer, &record, error);
        lot_record_free(&record);
    }
    if (status != LOT_OK) {
        lot_archive_abandon(writer);
        return status;
    }
    sample_header(&header, ranks);
    return lot_archive_finish(writer, &header, NULL, error);
}

/* No file may grow beyond a limit, like a full disk, at every place of the archive in turn: refused, nothing
 * stays, and HDF5 must not write to stderr. */
static void test_disk_full(void **state)
{
    enum { RANKS = 256, PLACES = 24 }; /* more than HDF5 keeps in memory */
    struct rlimit old, small;
    struct stat whole;
    lot_error error = {0};
    char command[160];

    (void)state;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(write_many(in_folder("fitting.h5"), RANKS, &error), LOT_OK);
    assert_int_equal(stat(in_folder("fitting.h5"), &whole), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    for (small.rlim_cur = 0; small.rlim_cur < (rlim_t)whole.st_size;
         small.rlim_cur += (rlim_t)whole.st_size / PLACES + 1) {
        lot_status status;

        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        status = write_many(in_folder("full.h5"), RANKS, &error);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(status, LOT_IO);
        assert_non_null(strstr(error.text, "File too large"));
        (void)snprintf(command, sizeof command, "test -z \"$(ls %s | grep full)\"", folder);
        assert_int_equal(system(command), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output_is_refused),
        cmocka_unit_test(test_two_writers),
        cmocka_unit_test(test_abandoned),
        cmocka_unit_test(test_disk_full),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
