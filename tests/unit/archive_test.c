/* The archive: what is written is what is read, and nothing else is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/archive_h5.h"
#include "io/record_json.h"
#include "support/sample.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/gpulot-archive-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    char command[128];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static const char *in_folder(const char *name)
{
    static char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static lot_status append(lot_archive_writer *writer, const lot_record *record, lot_error *error)
{
    char *json = NULL;
    size_t size = 0;
    lot_status status;

    assert_int_equal(lot_record_json_write(record, &json, &size, error), LOT_OK);
    status = lot_archive_append(writer, record, json, size, error);
    free(json);
    return status;
}

static void write_sample(const char *path, int64_t ranks, int64_t repeats)
{
    lot_archive_writer *writer = NULL;
    lot_run_header header;
    lot_error error = {0};

    assert_int_equal(lot_archive_create(path, &writer, &error), LOT_OK);
    for (int64_t rank = 0; rank < ranks; rank++) {
        lot_record record;

        sample_record(&record, rank, ranks, repeats);
        if (rank == 1) {
            record.phases[4].telemetry.power_watts = 321.5;
            record.phases[4].telemetry.clock_event_bits = 4;
            lot_record_add_sample(&record)->seconds = 7.25;
        }
        assert_int_equal(append(writer, &record, &error), LOT_OK);
        lot_record_free(&record);
    }
    sample_header(&header, ranks);
    assert_int_equal(lot_archive_finish(writer, &header, "{\"days\":7}", &error), LOT_OK);
}

static void test_round_trip(void **state)
{
    const char *path = in_folder("a.h5");
    lot_run run;
    lot_error error = {0};

    (void)state;
    write_sample(path, 3, 5);
    assert_int_equal(lot_archive_read(path, true, &run, &error), LOT_OK);
    assert_true(run.sealed);
    assert_int_equal(run.device_count, 3);
    assert_int_equal(run.phase_count, 27);
    assert_string_equal(run.header.run_id, "sample-run-0001");
    assert_int_equal(run.header.complete, 1);
    assert_true(run.header.elapsed_seconds == 1.5);
    assert_string_equal(run.tariff_json, "{\"days\":7}");
    assert_string_equal(run.devices[2].device.uuid, "GPU-00000000-0000-0000-0000-000000000002");
    assert_int_equal(run.devices[2].device.ecc_enabled, LOT_NULL_BOOL);
    assert_int_equal(run.devices[2].device.simulated, 0);
    assert_int_equal(run.first_phase[2], 18);
    assert_true(run.phases[18 + 4 + 3].host_seconds == 0.001 * 3 + 1e-6 * 3);
    assert_true(run.phases[9 + 4].telemetry.power_watts == 321.5);
    assert_int_equal(run.phases[9 + 4].telemetry.clock_event_bits, 4);
    assert_true(isnan(run.phases[9 + 5].telemetry.power_watts));
    assert_true(isnan(run.phases[0].device_seconds));
    lot_run_free(&run);
    assert_int_equal(lot_archive_read_devices(path, &run, &error), LOT_OK);
    assert_int_equal(run.device_count, 3);
    assert_int_equal(run.phase_count, 0);
    lot_run_free(&run);
}

/* Bytes that two runs' rows must share. */
static void assert_same_rows(const lot_phase *one, const lot_phase *other, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(one[i].rank, other[i].rank);
        assert_int_equal(one[i].row, other[i].row);
        assert_string_equal(one[i].phase, other[i].phase);
        assert_true(one[i].host_seconds == other[i].host_seconds);
        assert_true(one[i].telemetry.power_watts == other[i].telemetry.power_watts ||
                    (isnan(one[i].telemetry.power_watts) && isnan(other[i].telemetry.power_watts)));
    }
}

/* More ranks than a block of the table holds rows: each one's rows, and nobody else's. */
static void test_one_rank(void **state)
{
    enum { RANKS = 700, REPEATS = 2, ROWS = 4 + REPEATS };
    static const int64_t asked[] = {0, 1, 169, 170, 171, 350, RANKS - 1};
    const char *path = in_folder("many.h5");
    lot_error error = {0};
    lot_run all, one;

    (void)state;
    write_sample(path, RANKS, REPEATS);
    assert_int_equal(lot_archive_read(path, true, &all, &error), LOT_OK);
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        const size_t rank = (size_t)asked[i];

        assert_int_equal(lot_archive_read_rank(path, asked[i], &one, &error), LOT_OK);
        assert_int_equal(one.device_count, RANKS);
        assert_int_equal(one.phase_count, ROWS);
        assert_int_equal(one.first_phase[rank], 0);
        assert_int_equal(one.first_phase[rank + 1], ROWS);
        assert_same_rows(one.phases, all.phases + all.first_phase[rank], ROWS);
        assert_true(one.sealed);
        lot_run_free(&one);
    }
    assert_int_equal(lot_archive_read_rank(path, RANKS, &one, &error), LOT_USAGE);
    lot_run_free(&all);
}

static lot_status pass_over(void *context, const lot_record_head *head, const lot_phase *rows, size_t count,
                            lot_error *error)
{
    (void)context;
    (void)head;
    (void)rows;
    (void)count;
    (void)error;
    return LOT_OK;
}

/* Writes the archive of a run of one rank. */
static void write_one(const char *path, const lot_record *record, double elapsed_seconds)
{
    lot_archive_writer *writer = NULL;
    lot_run_header header;
    lot_error error = {0};

    assert_int_equal(lot_archive_create(path, &writer, &error), LOT_OK);
    assert_int_equal(append(writer, record, &error), LOT_OK);
    sample_header(&header, 1);
    header.elapsed_seconds = elapsed_seconds;
    assert_int_equal(lot_archive_finish(writer, &header, NULL, &error), LOT_OK);
}

/* A time of the whole run that no run takes. */
static void test_elapsed_beyond_measure(void **state)
{
    const char *path = in_folder("long.h5");
    lot_archive_writer *writer = NULL;
    lot_run_header header;
    lot_record record;
    lot_error error = {0};
    lot_run run;

    (void)state;
    sample_record(&record, 0, 1, 2);
    write_one(path, &record, 1e308);
    assert_int_equal(lot_archive_read(path, true, &run, &error), LOT_DAMAGED);
    assert_non_null(strstr(error.text, "elapsed_seconds is beyond what can be measured"));
    assert_int_equal(lot_archive_each_device(path, &run, pass_over, NULL, &error), LOT_DAMAGED);
    lot_run_free(&run);
    assert_int_equal(lot_archive_read_rank(path, 0, &run, &error), LOT_DAMAGED);
    /* A row as another program may have written it: this one's record would be refused before. */
    path = in_folder("row.h5");
    record.phases[2].device_seconds = 1e308;
    sample_header(&header, 1);
    assert_int_equal(lot_archive_create(path, &writer, &error), LOT_OK);
    assert_int_equal(lot_archive_append(writer, &record, "{}", 2, &error), LOT_OK);
    assert_int_equal(lot_archive_finish(writer, &header, NULL, &error), LOT_OK);
    assert_int_equal(lot_archive_read(path, true, &run, &error), LOT_DAMAGED);
    assert_non_null(strstr(error.text, "row.h5: record of rank 0: device_seconds is beyond what can be "
                                       "measured, 1e+18 s at most"));
    lot_record_free(&record);
}

/* Where fewer rows are found than the rank had, some were taken out or the table is not in order. */
static void test_rank_lacks_rows(void **state)
{
    const char *path = in_folder("short.h5");
    lot_record record;
    lot_error error = {0};
    lot_run run;

    (void)state;
    sample_record(&record, 0, 1, 2);
    record.head.outcome.phase_rows = 7; /* it has 6 */
    write_one(path, &record, 1.5);
    lot_record_free(&record);
    assert_int_equal(lot_archive_read_rank(path, 0, &run, &error), LOT_DAMAGED);
    assert_non_null(strstr(error.text, "6 rows of rank 0"));
    assert_int_equal(lot_archive_read(path, true, &run, &error), LOT_DAMAGED);
    assert_non_null(strstr(error.text, "6 rows of rank 0"));
    assert_int_equal(lot_archive_each_device(path, &run, pass_over, NULL, &error), LOT_DAMAGED);
    assert_non_null(strstr(error.text, "6 rows of rank 0"));
    lot_run_free(&run);
    assert_int_equal(lot_archive_read_devices(path, &run, &error), LOT_OK); /* the heads are as they were */
    lot_run_free(&run);
}

static void test_optional_tables(void **state)
{
    const char *path = in_folder("plain.h5");
    lot_record record;
    lot_error error = {0};
    lot_run run;

    (void)state;
    sample_record(&record, 0, 1, 2);
    write_one(path, &record, NAN);
    lot_record_free(&record);
    assert_int_equal(lot_archive_read(path, true, &run, &error), LOT_OK);
    assert_true(isnan(run.header.elapsed_seconds));
    assert_null(run.tariff_json);
    assert_true(run.sealed);
    lot_run_free(&run);
}

/* The texts of all records, one after another. */
static lot_status collect(void *context, const char *json, size_t size, lot_error *error)
{
    char **all = context;
    const size_t used = *all != NULL ? strlen(*all) : 0;

    (void)error;
    *all = realloc(*all, used + size + 1);
    assert_non_null(*all);
    memcpy(*all + used, json, size + 1);
    return LOT_OK;
}

static void test_records_verbatim(void **state)
{
    const char *path = in_folder("records.h5");
    lot_error error = {0};
    lot_record record;
    char *all = NULL, *json = NULL;
    size_t size = 0;

    (void)state;
    write_sample(path, 4, 3);
    assert_int_equal(lot_archive_each_record(path, 2, collect, &all, &error), LOT_OK);
    sample_record(&record, 2, 4, 3);
    assert_int_equal(lot_record_json_write(&record, &json, &size, &error), LOT_OK);
    assert_string_equal(all, json);
    free(all);
    all = NULL;
    assert_int_equal(lot_archive_each_record(path, -1, collect, &all, &error), LOT_OK);
    assert_non_null(strstr(all, json));
    assert_int_equal(lot_archive_each_record(path, 4, collect, &all, &error), LOT_USAGE);
    assert_non_null(strstr(error.text, "no rank 4"));
    free(all);
    free(json);
    lot_record_free(&record);
}

/* ---- files that are no archive, or not a whole one ---- */

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

static void store(const char *path, const unsigned char *data, size_t size)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
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
    size_t refused = 0;

    (void)state;
    (void)snprintf(whole, sizeof whole, "%s", in_folder("whole.h5"));
    write_sample(whole, 2, 2);
    archive = load(whole);
    cut = in_folder("cut.h5");
    for (size_t i = 0; i < 40; i++) {
        const size_t size = i * (archive.size - 64) / 40;
        lot_error error = {0};
        lot_status status;

        store(cut, archive.data, size);
        status = read_all(cut, &error);
        assert_true(status == LOT_DAMAGED || status == LOT_SCHEMA);
        assert_true(size < 8 || status == LOT_DAMAGED);
        refused++;
    }
    assert_int_equal(refused, 40);
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

static void test_not_an_archive(void **state)
{
    const char *path = in_folder("other");
    lot_error error = {0};
    lot_run run;

    (void)state;
    assert_int_equal(lot_archive_read(path, false, &run, &error), LOT_INPUT);
    assert_non_null(strstr(error.text, "No such file"));
    assert_int_equal(lot_archive_read(folder, false, &run, &error), LOT_INPUT);
    assert_non_null(strstr(error.text, "not a file"));
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(lot_archive_read(path, false, &run, &error), LOT_INPUT);
    (void)unlink(path);
    store(path, (const unsigned char *)"", 0);
    assert_int_equal(lot_archive_read(path, false, &run, &error), LOT_SCHEMA);
    store(path, (const unsigned char *)"not HDF5 at all", 15);
    assert_int_equal(lot_archive_read(path, false, &run, &error), LOT_SCHEMA);
    assert_non_null(strstr(error.text, "not an HDF5 file"));
}

/* ---- the name ---- */

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

static void test_order(void **state)
{
    lot_archive_writer *writer = NULL;
    lot_record record;
    lot_error error = {0};

    (void)state;
    assert_int_equal(lot_archive_create(in_folder("order.h5"), &writer, &error), LOT_OK);
    sample_record(&record, 1, 2, 1);
    assert_int_equal(append(writer, &record, &error), LOT_OK);
    assert_int_equal(append(writer, &record, &error), LOT_INTERNAL);
    lot_archive_abandon(writer);
    lot_record_free(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_one_rank),
        cmocka_unit_test(test_elapsed_beyond_measure),
        cmocka_unit_test(test_rank_lacks_rows),
        cmocka_unit_test(test_optional_tables),
        cmocka_unit_test(test_records_verbatim),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_every_flip_is_seen),
        cmocka_unit_test(test_flips_without_a_seal),
        cmocka_unit_test(test_not_an_archive),
        cmocka_unit_test(test_output_is_refused),
        cmocka_unit_test(test_two_writers),
        cmocka_unit_test(test_abandoned),
        cmocka_unit_test(test_disk_full),
        cmocka_unit_test(test_order),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
