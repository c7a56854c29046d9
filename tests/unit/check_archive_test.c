/* Rentals with a known truth through a real archive: read back rank by rank they are judged the same to the
 * last byte as in memory. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/check.h"
#include "core/stats.h"
#include "io/archive_h5.h"
#include "io/check_json.h"
#include "support/synthetic_run.h"

static char folder[] = "/tmp/check_archive_test.XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void write_archive(const lot_run *run, const char *path)
{
    lot_archive_writer *writer = NULL;
    lot_error error;

    assert_int_equal(LOT_OK, lot_archive_create(path, &writer, &error));
    for (size_t i = 0; i < run->device_count; i++) {
        const lot_record record = {.head = run->devices[i],
                                   .phases = &run->phases[run->first_phase[i]],
                                   .phase_count = run->first_phase[i + 1] - run->first_phase[i]};

        assert_int_equal(LOT_OK, lot_archive_append(writer, &record, "{}", 2, &error));
    }
    assert_int_equal(LOT_OK, lot_archive_finish(writer, &run->header, NULL, &error));
}

static char *judged(lot_observed_run *observed)
{
    const lot_check_options options = {.prior = 0.015, .level = 0.01, .soak_passes = 100};
    lot_check_result result;
    lot_error error;
    char *json = NULL;

    assert_int_equal(LOT_OK, lot_check(observed, 1, &options, &result, &error));
    assert_int_equal(LOT_OK, lot_check_json_write(&result, &json, &error));
    lot_check_result_free(&result);
    lot_observed_free(observed);
    return json;
}

static lot_status add(void *context, const lot_record_head *head, const lot_phase *rows, size_t count,
                      lot_error *error)
{
    return lot_observed_add(context, head, rows, count, error);
}

static char *judged_archive(const char *path)
{
    lot_observed_run observed;
    lot_error error;
    lot_run run;

    lot_observed_init(&observed);
    assert_int_equal(LOT_OK, lot_archive_each_device(path, &run, add, &observed, &error));
    observed.header = run.header;
    lot_run_free(&run);
    return judged(&observed);
}

static char *judged_run(const lot_run *run)
{
    lot_observed_run observed;

    lot_observed_init(&observed);
    synthetic_run_observe(run, &observed);
    return judged(&observed);
}

/* Sizes around the block in which rows are read, with and without telemetry, one GPU slow. */
static void the_same_verdicts(void **state)
{
    static const struct {
        size_t gpus;
        int64_t repeats;
    } sizes[] = {{1, 5}, {2, 5}, {3, 7}, {4, 1024}, {8, 128}, {8, 200}, {64, 5}, {64, 60}};
    synthetic_random random = {5};

    (void)state;
    for (size_t round = 0; round < 24; round++) {
        const size_t gpus = sizes[round % 8].gpus;
        char path[80], *one, *other;
        lot_run run;

        synthetic_run_make(&run, gpus, sizes[round % 8].repeats, 0.02, 1);
        synthetic_run_draw(&run, &random, 0.02, 0.01, 0.005);
        synthetic_run_slow(&run, gpus / 2, 0.15);
        for (size_t i = 0; round >= 8 && i < run.phase_count; i += 3)
            run.phases[i].telemetry.throttle_hw_thermal_nanoseconds = 1000000;
        (void)snprintf(path, sizeof path, "%s/%zu.h5", folder, round);
        write_archive(&run, path);
        one = judged_run(&run);
        other = judged_archive(path);
        assert_string_equal(one, other);
        assert_true(gpus == 1 || strstr(one, "\"slow\"") != NULL);
        free(one);
        free(other);
        lot_run_free(&run);
        assert_int_equal(0, unlink(path));
    }
}

static lot_status refuse(void *context, const lot_record_head *head, const lot_phase *rows, size_t count,
                         lot_error *error)
{
    (void)rows;
    (void)count;
    *(int64_t *)context = head->identity.rank;
    return head->identity.rank == 1 ? lot_error_set(error, LOT_INPUT, "test", 0, "enough") : LOT_OK;
}

static void stops_where_it_is_told(void **state)
{
    char path[80];
    lot_error error;
    int64_t last = -1;
    lot_run run, read;

    (void)state;
    synthetic_run_make(&run, 4, 5, 0.02, 1);
    (void)snprintf(path, sizeof path, "%s/stop.h5", folder);
    write_archive(&run, path);
    assert_int_equal(LOT_INPUT, lot_archive_each_device(path, &read, refuse, &last, &error));
    assert_int_equal(1, last);
    lot_run_free(&read);
    assert_int_equal(0, unlink(path));
    assert_int_equal(LOT_INPUT, lot_archive_each_device(path, &read, refuse, &last, &error));
    lot_run_free(&read);
    lot_run_free(&run);
}

/* The median distance, found without sorting again, is the one found by sorting. */
static void deviations(void **state)
{
    static const double factors[] = {0, 0, 1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107};
    synthetic_random random = {11};

    (void)state;
    for (int64_t count = 2; count < 40; count++) {
        const double factor = count < 10 ? factors[count] : (double)count / ((double)count - 0.8);
        lot_observation seen;
        lot_error error;
        double y[40], want;
        lot_run run;

        synthetic_run_make(&run, 1, count, 1, 0);
        synthetic_run_draw(&run, &random, 1, 0, 0.1);
        for (int64_t i = 0; i < count; i++)
            y[i] = log(run.phases[i].device_seconds);
        want = 1.4826 * factor * synthetic_mad(y, (size_t)count);
        assert_int_equal(LOT_OK, lot_observe(run.phases, run.phase_count, "", false, &seen, &error));
        assert_true(fabs(seen.series[0].timing[LOT_CLOCK_DEVICE].robust_deviation - want) < 1e-12);
        lot_observation_free(&seen);
        lot_run_free(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_verdicts),
        cmocka_unit_test(stops_where_it_is_told),
        cmocka_unit_test(deviations),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
