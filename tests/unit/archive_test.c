/* The archive: what is written is what is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "support/archived.h"

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
    assert_non_null(strstr(error.text, "elapsed_seconds is negative or beyond what can be measured"));
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

/* More of them than are handed to HDF5 at once: the last one too is that of its rank. */
static void test_records_verbatim(void **state)
{
    enum { MANY = 40 };
    const char *path = in_folder("records.h5");
    lot_error error = {0};
    char *all = NULL;

    (void)state;
    write_sample(path, MANY, 3);
    assert_int_equal(lot_archive_each_record(path, -1, collect, &all, &error), LOT_OK);
    for (int64_t rank = 2; rank < MANY; rank += 7) {
        lot_record record;
        char *one = NULL, *json = NULL;
        size_t size = 0;

        sample_record(&record, rank, MANY, 3);
        assert_int_equal(lot_record_json_write(&record, &json, &size, &error), LOT_OK);
        assert_int_equal(lot_archive_each_record(path, rank, collect, &one, &error), LOT_OK);
        assert_string_equal(one, json);
        assert_non_null(strstr(all, json));
        free(one);
        free(json);
        lot_record_free(&record);
    }
    assert_int_equal(lot_archive_each_record(path, MANY, collect, &all, &error), LOT_USAGE);
    assert_non_null(strstr(error.text, "no rank 40"));
    free(all);
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
        cmocka_unit_test(test_order),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
