/* Rows reduced to series: against values worked by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/observe.h"
#include "support/synthetic_run.h"

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12 * fmax(1, fabs(want))))
        fail_msg("got %.17g, want %.17g", got, want);
}

static lot_series warm_of(const double *seconds, size_t count)
{
    lot_observation seen;
    lot_error error;
    lot_series s;
    lot_run run;

    synthetic_run_make(&run, 1, (int64_t)count, 1, 0);
    for (size_t k = 0; k < count; k++) {
        synthetic_run_warm(&run, 0, k)->device_seconds = seconds[k];
        synthetic_run_warm(&run, 0, k)->host_seconds = seconds[k];
    }
    assert_int_equal(LOT_OK,
                     lot_observe(run.phases, run.phase_count, "0123456789abcdef", false, &seen, &error));
    assert_int_equal(1, seen.count);
    s = seen.series[0];
    lot_observation_free(&seen);
    lot_run_free(&run);
    return s;
}

/* ln t = 0, 1, 2, 3, 10: mean 3.2, slope (-2*0 - 1*1 + 0*2 + 1*3 + 2*10) / 10 = 2.2, change 8.8. Residuals
 * 1.2, 0, -1.2, -2.4, 2.4, squares 14.4, error 4 sqrt(14.4 / 3 / 10) = 2.7713. MAD about 2 is 1. */
static void by_hand(void **state)
{
    const double seconds[] = {1, exp(1), exp(2), exp(3), exp(10)};
    const lot_series s = warm_of(seconds, 5);
    const lot_timing *t = &s.timing[LOT_CLOCK_DEVICE];

    (void)state;
    assert_int_equal(5, t->rows);
    near(t->median_seconds, exp(2));
    near(t->change, 8.8);
    near(t->change_error, 4 * sqrt(14.4 / 30));
    near(t->robust_deviation, 1.4826 * 1.206);
    near(t->deviation, sqrt((3.2 * 3.2 + 2.2 * 2.2 + 1.2 * 1.2 + 0.2 * 0.2 + 6.8 * 6.8) / 4));
}

/* Median 1: 1.06 is late and 1.04 is not; those that follow one another are one run. */
static void late(void **state)
{
    const double seconds[] = {1.06, 1, 1, 1.5, 1.7, 1.04, 0.9, 1, 0.8, 1.2, 1};
    const lot_series s = warm_of(seconds, 11);
    const lot_timing *t = &s.timing[LOT_CLOCK_HOST];

    (void)state;
    near(t->median_seconds, 1);
    assert_int_equal(4, t->late_rows);
    assert_int_equal(3, t->late_runs);
}

/* A time that a coarse clock puts one step above the median, here 5 %, is not late; three steps are. */
static void late_by_a_step(void **state)
{
    const double seconds[] = {10e-6, 10.5e-6, 10e-6, 10.5e-6, 10e-6, 10e-6, 11.5e-6};
    const lot_series s = warm_of(seconds, 7);

    (void)state;
    assert_int_equal(1, s.timing[LOT_CLOCK_DEVICE].late_rows);
}

/* ln t = 0.1, 0, 5, 0.2, 5.2: clusters {0, 0.1, 0.2} and {5, 5.2}: means 0.1 and 5.1, standard deviations 0.1
 * and sqrt(0.02), the wider of which counts. */
static void clusters(void **state)
{
    const double seconds[] = {exp(0.1), 1, exp(5), exp(0.2), exp(5.2)};
    const lot_series s = warm_of(seconds, 5);
    const lot_timing *t = &s.timing[LOT_CLOCK_HOST];

    (void)state;
    near(t->gap, 5);
    assert_true(fabs(t->gap_deviation - sqrt(0.02)) < 1e-6);
    near(t->gap_share, 0.4);
}

static void times_that_are_none(void **state)
{
    const double seconds[] = {NAN, 1, 0, INFINITY, exp(1)};
    const double none[] = {NAN, 0};
    const lot_series s = warm_of(seconds, 5), nothing = warm_of(none, 2);

    (void)state;
    assert_int_equal(5, s.rows);
    assert_int_equal(2, s.timing[LOT_CLOCK_HOST].rows);
    near(s.timing[LOT_CLOCK_HOST].median_seconds, 0.5 * (1 + exp(1)));
    assert_true(isnan(s.timing[LOT_CLOCK_HOST].change));
    assert_int_equal(0, nothing.timing[LOT_CLOCK_HOST].rows);
    assert_true(isnan(nothing.timing[LOT_CLOCK_HOST].median_seconds));
}

/* The device's clock only where every timed row has it. */
static void which_clock(void **state)
{
    lot_observation seen;
    lot_error error;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 1, 3, 1, 1);
    assert_int_equal(LOT_OK, lot_observe(run.phases, run.phase_count, "", false, &seen, &error));
    assert_int_equal(5, seen.count);
    assert_int_equal(LOT_CLOCK_DEVICE,
                     lot_series_clock(lot_observation_find(&seen, "warm_forward", "together")));
    lot_observation_free(&seen);
    synthetic_run_warm(&run, 0, 1)->device_seconds = NAN;
    assert_int_equal(LOT_OK, lot_observe(run.phases, run.phase_count, "", false, &seen, &error));
    assert_int_equal(LOT_CLOCK_HOST,
                     lot_series_clock(lot_observation_find(&seen, "warm_forward", "together")));
    assert_null(lot_observation_find(&seen, "warm_forward", "solo"));
    lot_observation_free(&seen);
    lot_run_free(&run);
}

/* Seconds of a row of several passes are those of one pass; counters add up, states count with the row. */
static void rows_of_many_passes(void **state)
{
    lot_observation seen;
    const lot_series *s;
    lot_error error;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 1, 2, 8, 0);
    for (size_t k = 0; k < 2; k++) {
        run.phases[k].passes = 4;
        run.phases[k].telemetry.throttle_hw_thermal_nanoseconds = 500000000;
        run.phases[k].telemetry.interval_seconds = k == 0 ? 10 : NAN;
        run.phases[k].telemetry.clock_event_bits = k == 0 ? 0x88 : 0x08;
        run.phases[k].telemetry.sm_clock_mhz = k == 0 ? 1000 : 1500;
    }
    memcpy(run.phases[1].digest, "fedcba9876543210", 17);
    assert_int_equal(LOT_OK, lot_observe(run.phases, 2, "0123456789abcdef", false, &seen, &error));
    s = &seen.series[0];
    assert_int_equal(8, s->passes);
    near(s->timing[LOT_CLOCK_DEVICE].median_seconds, 2);
    near(s->busy_seconds, 16);
    near(s->counted_seconds, 10 + 8);
    near(s->slowdown_seconds[LOT_SLOWDOWN_hw_thermal], 1);
    assert_true(isnan(s->slowdown_seconds[LOT_SLOWDOWN_sw_thermal]));
    near(s->slowdown_sampled[LOT_SLOWDOWN_hw_power_brake], 8);
    near(s->slowdown_sampled[LOT_SLOWDOWN_hw_thermal], 8);
    near(s->sm_clock_mhz, 1250);
    assert_int_equal(1, s->digests_differing);
    assert_string_equal("fedcba9876543210", s->deviating_digest);
    lot_observation_free(&seen);
    lot_run_free(&run);
}

/* MADs by hand: of ln t = 0, 2 it is 1, of 0, 1, 5 it is 1, of 0, 1, 3, 10 the distances from 2 are 1, 1,
 * 2, 8. The factors are those of Croux and Rousseeuw for so many. */
static void robust_deviation_of_few(void **state)
{
    const double two[] = {1, exp(2)};
    const double three[] = {1, exp(5), exp(1)};
    const double four[] = {exp(10), 1, exp(1), exp(3)};

    (void)state;
    near(warm_of(two, 2).timing[LOT_CLOCK_DEVICE].robust_deviation, 1.4826 * 1.196);
    near(warm_of(three, 3).timing[LOT_CLOCK_DEVICE].robust_deviation, 1.4826 * 1.495);
    near(warm_of(four, 4).timing[LOT_CLOCK_DEVICE].robust_deviation, 1.4826 * 1.363 * 1.5);
}

/* 200 repeats of 1 to 200 s become the medians of 128 runs of one or two that follow one another: all of them
 * count, and the median of two is that of their logarithms. */
static void many_repeats_are_put_together(void **state)
{
    enum { COUNT = 200 };
    const lot_series *s;
    lot_observation seen;
    lot_error error;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 1, COUNT, 1, 0);
    for (size_t k = 0; k < COUNT; k++)
        synthetic_run_warm(&run, 0, k)->device_seconds = (double)k + 1;
    assert_int_equal(LOT_OK, lot_observe(run.phases, COUNT, "0123456789abcdef", true, &seen, &error));
    s = &seen.series[0];
    assert_int_equal(128, s->repeat_count[LOT_CLOCK_DEVICE]);
    near(s->repeats[LOT_CLOCK_DEVICE][0], 1);
    near(s->repeats[LOT_CLOCK_DEVICE][1], sqrt(2.0 * 3));
    near(s->repeats[LOT_CLOCK_DEVICE][127], sqrt(199.0 * 200));
    lot_observation_free(&seen);
    lot_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(late),
        cmocka_unit_test(late_by_a_step),
        cmocka_unit_test(clusters),
        cmocka_unit_test(times_that_are_none),
        cmocka_unit_test(which_clock),
        cmocka_unit_test(rows_of_many_passes),
        cmocka_unit_test(robust_deviation_of_few),
        cmocka_unit_test(many_repeats_are_put_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
