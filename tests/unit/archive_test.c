/* The archive: what is written is what is read, and nothing else is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
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

static void append(lot_archive_writer *writer, const lot_record *record)
{
    lot_error error = {0};
    char *json = NULL;
    size_t size = 0;

    assert_int_equal(lot_record_json_write(record, &json, &size, &error), LOT_OK);
    assert_int_equal(lot_archive_append(writer, record, json, size, &error), LOT_OK);
    free(json);
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
        append(writer, &record);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
