/* Rows in few numbers: against values worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "analysis/summary.h"
#include "support/sample.h"

static lot_phase row(const char *phase, const char *schedule, int64_t passes, double host, int64_t peak)
{
    lot_phase made = {.passes = passes,
                      .host_seconds = host,
                      .device_seconds = NAN,
                      .allocated_end_bytes = 10,
                      .reserved_end_bytes = 20,
                      .allocated_peak_bytes = peak,
                      .reserved_peak_bytes = -1};

    sample_text(made.phase, sizeof made.phase, phase);
    sample_text(made.schedule, sizeof made.schedule, schedule);
    return made;
}

/* Times that are none give no rate. */
static void test_impossible_times_have_no_rate(void **state)
{
    const double impossible[] = {0, 5e-324, -1, INFINITY, NAN};
    lot_phase_summary groups[LOT_SUMMARY_GROUPS_MAX];
    lot_error error = {0};
    size_t count = 0;

    (void)state;
    for (size_t i = 0; i < sizeof impossible / sizeof impossible[0]; i++) {
        const lot_phase one = row("warm_forward", "together", 1, impossible[i], 5);

        assert_int_equal(lot_summary_phases(&one, 1, 100, groups, &count, &error), LOT_OK);
        assert_true(count == 1 && isnan(groups[0].flops_per_second));
    }
}

/* A count that does not fit stays at the largest: 3 x (2^63 - 1) would be 2^63 - 3 modulo 2^64. */
static void test_counts_do_not_wrap(void **state)
{
    const lot_phase most = row("warm_forward", "together", INT64_MAX, 1, 5);
    const lot_phase rows[] = {most, most, most};
    lot_phase_summary groups[LOT_SUMMARY_GROUPS_MAX];
    lot_error error = {0};
    size_t count = 0;

    (void)state;
    assert_int_equal(lot_summary_phases(rows, 3, 100, groups, &count, &error), LOT_OK);
    assert_true(count == 1 && groups[0].passes == INT64_MAX);
}

/* A row that does not tell its passes adds none, and nothing is known of one pass of it. */
static void test_unknown_passes_are_none(void **state)
{
    const lot_phase rows[] = {row("warm_forward", "together", 2, 3.0, 5),
                              row("warm_forward", "together", LOT_NULL_I64, 9.0, 5)};
    lot_phase_summary groups[LOT_SUMMARY_GROUPS_MAX];
    lot_error error = {0};
    size_t count = 0;

    (void)state;
    assert_int_equal(lot_summary_phases(rows, 2, 100, groups, &count, &error), LOT_OK);
    assert_true(count == 1 && groups[0].rows == 2 && groups[0].passes == 2);
    assert_true(groups[0].host_pass.median == 1.5);
}

static void test_groups(void **state)
{
    const lot_phase rows[] = {
        row("model_load", "together", 0, 2.0, 5),   row("warmup", "together", 4, 8.0, 5),
        row("warm_forward", "together", 1, 3.0, 7), row("warm_forward", "solo", 1, 1.0, 9),
        row("warm_forward", "together", 1, 1.0, 8), row("warm_forward", "together", 1, 2.0, 6),
    };
    lot_phase_summary groups[LOT_SUMMARY_GROUPS_MAX];
    lot_error error = {0};
    size_t count = 0;

    (void)state;
    assert_int_equal(lot_summary_phases(rows, 6, 100, groups, &count, &error), LOT_OK);
    assert_int_equal(count, 4);
    assert_string_equal(groups[2].phase, "warm_forward");
    assert_string_equal(groups[2].schedule, "together");
    assert_int_equal(groups[2].rows, 3);
    assert_true(groups[2].host.median == 2.0);
    assert_true(groups[2].host.least == 1.0 && groups[2].host.most == 3.0);
    assert_true(groups[2].host.interval.low == 1.0 && groups[2].host.interval.high == 3.0);
    assert_true(groups[2].host.interval.coverage == 0.75); /* three values: 1 - 2/8 */
    assert_true(isnan(groups[2].device.median) && isnan(groups[2].device.least));
    assert_true(groups[2].flops_per_second == 50.0);
    assert_int_equal(groups[2].allocated_peak_bytes, 8);
    assert_int_equal(groups[2].reserved_peak_bytes, -1);
    assert_true(groups[1].flops_per_second == 50.0); /* four passes in 8 s: 2 s each */
    assert_int_equal(groups[1].passes, 4);
    assert_true(groups[1].host.median == 8.0 && groups[1].host_pass.median == 2.0);
    assert_true(groups[1].host_pass.least == 2.0 && isnan(groups[1].device_pass.median));
    assert_true(groups[2].host_pass.median == 2.0); /* one pass a row: the same */
    assert_true(isnan(groups[0].host_pass.median) && isnan(groups[0].host_pass.interval.low));
    assert_true(isnan(groups[0].flops_per_second)); /* no pass in it */
    assert_string_equal(groups[3].schedule, "solo");
}

static void test_no_rate_without_work(void **state)
{
    const lot_phase rows[] = {row("warm_forward", "together", 1, 3.0, 7)};
    lot_phase_summary groups[LOT_SUMMARY_GROUPS_MAX];
    lot_error error = {0};
    size_t count = 7;

    (void)state;
    assert_int_equal(lot_summary_phases(rows, 1, LOT_NULL_I64, groups, &count, &error), LOT_OK);
    assert_true(isnan(groups[0].flops_per_second));
    assert_int_equal(lot_summary_phases(rows, 0, 100, groups, &count, &error), LOT_OK);
    assert_int_equal(count, 0);
}

static void test_too_many_groups(void **state)
{
    lot_phase rows[LOT_SUMMARY_GROUPS_MAX + 1];
    lot_phase_summary groups[LOT_SUMMARY_GROUPS_MAX];
    lot_error error = {0};
    size_t count = 0;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char name[12];

        (void)snprintf(name, sizeof name, "s%zu", i);
        rows[i] = row("soak", name, 1, 1.0, 1);
    }
    assert_int_equal(lot_summary_phases(rows, sizeof rows / sizeof rows[0], 1, groups, &count, &error),
                     LOT_DAMAGED);
}

static void test_ranks(void **state)
{
    lot_record_head heads[4];
    lot_ranks_summary summary;
    lot_error error = {0};

    (void)state;
    for (int i = 0; i < 4; i++) {
        lot_record record;

        sample_record(&record, i, 4, 1);
        heads[i] = record.head;
        lot_record_free(&record);
    }
    sample_text(heads[1].outcome.status, sizeof heads[1].outcome.status, "lost");
    heads[1].outcome.warm_median_seconds = NAN;
    heads[1].verification.passed = LOT_NULL_BOOL;
    sample_text(heads[2].outcome.status, sizeof heads[2].outcome.status, "wrong-result");
    heads[2].verification.passed = 0;
    sample_text(heads[3].device.kind, sizeof heads[3].device.kind, "host");
    heads[0].device.simulated = 1;
    assert_int_equal(lot_summary_ranks(heads, 4, &summary, &error), LOT_OK);
    assert_int_equal(summary.recorded, 4);
    assert_int_equal(summary.good, 2);
    assert_int_equal(summary.failed, 2);
    assert_int_equal(summary.lost, 1);
    assert_int_equal(summary.verified, 2);
    assert_int_equal(summary.unverified, 1);
    assert_int_equal(summary.simulated, 1);
    assert_int_equal(summary.host_devices, 1);
    assert_int_equal(summary.timed, 3);
    assert_true(summary.warm_median_seconds == 0.001 * 3);
    assert_int_equal(summary.warm_most_rank, 3);
    assert_int_equal(lot_summary_ranks(heads, 0, &summary, &error), LOT_OK);
    assert_true(isnan(summary.warm_median_seconds));
    assert_int_equal(summary.warm_most_rank, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_impossible_times_have_no_rate),
        cmocka_unit_test(test_counts_do_not_wrap),
        cmocka_unit_test(test_unknown_passes_are_none),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_no_rate_without_work),
        cmocka_unit_test(test_too_many_groups),
        cmocka_unit_test(test_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
