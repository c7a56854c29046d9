/* A GPU's own repeats: drift, clusters, late ones, the soak, and reasons for slowing down. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/checking.h"

static void throttled(void **state)
{
    lot_run run;

    (void)state;
    four(&run);
    for (size_t k = 0; k < 5; k++) {
        synthetic_run_warm(&run, 1, k)->telemetry.throttle_hw_thermal_nanoseconds = 2000000; /* 10 % */
        synthetic_run_warm(&run, 2, k)->telemetry.throttle_sw_power_cap_nanoseconds = 15000000;
        synthetic_run_warm(&run, 3, k)->telemetry.throttle_hw_power_brake_nanoseconds = 0;
        synthetic_run_warm(&run, 3, k)->telemetry.clock_event_bits = 0x80; /* an event of no length */
    }
    EXPECT(&run, OK, BIT(THROTTLED), OK, OK);
}

/* The counters also run between the passes of a row: 2 and 8 ms in half a second are 0.4 and 1.6 %. A single
 * pass is over before they are read: 2 ms of 20. */
static void throttled_beside_the_passes(void **state)
{
    lot_run run;

    (void)state;
    four(&run);
    for (size_t k = 0; k < 5; k++)
        for (size_t rank = 0; rank < 3; rank++) {
            lot_phase *row = synthetic_run_warm(&run, rank, k);

            row->passes = rank == 2 ? 1 : 2;
            row->host_seconds *= (double)row->passes;
            row->device_seconds *= (double)row->passes;
            row->telemetry.interval_seconds = 0.5;
            row->telemetry.throttle_hw_thermal_nanoseconds = rank == 1 ? 8000000 : 2000000;
        }
    EXPECT(&run, OK, BIT(THROTTLED), BIT(THROTTLED), OK);
}

/* Without counters the state at the end of each row speaks. */
static void throttled_by_state(void **state)
{
    lot_run run;

    (void)state;
    four(&run);
    for (size_t k = 0; k < 5; k++)
        synthetic_run_warm(&run, 0, k)->telemetry.clock_event_bits = k == 2 ? 0x20 : 0x04;
    EXPECT(&run, BIT(THROTTLED), OK, OK, OK);
}

static void drifting(void **state)
{
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 4, 20, 0.02, 1);
    for (size_t k = 0; k < 20; k++) /* 6 % over the repeats, with a little up and down */
        synthetic_run_warm(&run, 2, k)->device_seconds =
            0.0195 * (1 + 0.003 * (double)k) * (k % 2 ? 1.001 : 1);
    EXPECT(&run, OK, OK, BIT(UNSTABLE), OK);
}

/* A straight line of 20 times whose ends lie `change` apart, with 0.3 % up and down about it: its standard
 * error is about 0.0031 sqrt(12 / 20) = 0.24 %. */
static void drift_by(lot_run *run, double change)
{
    synthetic_run_make(run, 4, 20, 0.02, 1);
    for (size_t k = 0; k < 20; k++)
        synthetic_run_warm(run, 2, k)->device_seconds =
            0.0195 * exp(change * (double)k / 19 + (k % 2 ? 0.003 : -0.003));
}

/* A change is a fault where it is beyond doubt over 2 %, not where it is beyond doubt some change. */
static void drift_beyond_doubt(void **state)
{
    lot_run run;

    (void)state;
    drift_by(&run, 0.024);
    EXPECT(&run, OK, OK, OK, OK);
    drift_by(&run, 0.04);
    EXPECT(&run, OK, OK, BIT(UNSTABLE), OK);
}

static void bimodal(void **state)
{
    lot_run run;

    (void)state;
    four(&run);
    for (size_t k = 0; k < 5; k++)
        synthetic_run_warm(&run, 1, k)->device_seconds = k % 2 ? 0.0215 : 0.02;
    EXPECT(&run, OK, BIT(UNSTABLE), OK, OK);
}

/* A cluster is a tenth of the repeats at least: 3 of 30 are one, 2 are outliers. */
static void outliers_are_no_cluster(void **state)
{
    (void)state;
    for (size_t slow = 2; slow <= 3; slow++) {
        lot_run run;

        synthetic_run_make(&run, 4, 30, 0.02, 1);
        for (size_t k = 0; k < slow; k++)
            synthetic_run_warm(&run, 1, 14 + k)->device_seconds = 0.03;
        EXPECT(&run, OK, slow == 3 ? BIT(UNSTABLE) : OK, OK, OK);
    }
}

/* Two of ten passes come late, by 8 and by 11 %: each by its own measure, which makes no cluster. */
static void late_passes_are_no_cluster(void **state)
{
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 4, 10, 0.02, 1);
    synthetic_run_warm(&run, 1, 3)->device_seconds = 0.02 * exp(0.08);
    synthetic_run_warm(&run, 1, 6)->device_seconds = 0.02 * exp(0.11);
    EXPECT(&run, OK, OK, OK, OK);
}

/* `count` repeats, every `step`-th from `first` on, come 30 to 100 % late, each by its own measure. */
static void make_late(lot_run *run, size_t rank, size_t first, size_t step, size_t count)
{
    for (size_t i = 0; i < count; i++)
        synthetic_run_warm(run, rank, first + i * step)->device_seconds =
            0.02 * (1.3 + 0.7 * fmod(0.618 * (double)i, 1));
}

/* Of 48 times 12 are late, of the peers' 144 none. Where only they are, 7 are the fewest that are rarer than
 * 0.2 x 1 % / (3 x 4 GPUs) = 1.67e-4: C(48, 6) / C(192, 6) = 1.9e-4, C(48, 7) / C(192, 7) = 4.3e-5. */
static void late_more_often_than_peers(void **state)
{
    const lot_finding *f;
    lot_check_result r;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 4, 48, 0.02, 1);
    make_late(&run, 1, 2, 4, 12);
    check_with(&run, &plain, &r);
    f = finding_of(&r, 1, LOT_VERDICT_UNSTABLE);
    assert_string_equal("late", f->measure);
    assert_true(f->number == 0.25 && fabs(f->threshold - 7.0 / 48) < 1e-12);
    assert_string_equal(f->text,
                        "12 of its 48 times lie over 5 % above their median, in 12 runs; none in 144 "
                        "times of 3 peers");
    lot_check_result_free(&r);
    lot_run_free(&run);
}

static void late_like_the_peers(void **state)
{
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 4, 48, 0.02, 1);
    for (size_t rank = 0; rank < 4; rank++)
        make_late(&run, rank, 2, 4, 12);
    EXPECT(&run, OK, OK, OK, OK);
}

/* What follows one another is one event. */
static void late_once(void **state)
{
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 4, 48, 0.02, 1);
    make_late(&run, 1, 18, 1, 12);
    EXPECT(&run, OK, OK, OK, OK);
}

/* 9 of 100 against none of 300 are as sure as 10, C(100, 9) / C(400, 9) = 2e-6, but too few to matter. */
static void late_seldom(void **state)
{
    (void)state;
    for (size_t late = 9; late <= 10; late++) {
        lot_run run;

        synthetic_run_make(&run, 4, 100, 0.02, 1);
        make_late(&run, 1, 5, 10, late);
        EXPECT(&run, OK, late == 10 ? BIT(UNSTABLE) : OK, OK, OK);
    }
}

/* Alone, a GPU has no group whose noise could tell; its own, which the two clusters make, must not. */
static void bimodal_alone(void **state)
{
    lot_check_result r;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 1, 5, 0.02, 1);
    for (size_t k = 0; k < 5; k++)
        synthetic_run_warm(&run, 0, k)->device_seconds = k % 2 ? 0.0215 : 0.02;
    check_with(&run, &plain, &r);
    assert_string_equal("clusters", finding_of(&r, 0, LOT_VERDICT_UNSTABLE)->measure);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

static void soak(void **state)
{
    const lot_checked_device *d;
    lot_check_result r;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 3, 5, 0.02, 1);
    for (size_t gpu = 0; gpu < 3; gpu++) {
        const size_t count = gpu == 2 ? 40 : 60;
        lot_phase *rows = synthetic_run_append(&run, gpu, "soak", "together", count);

        for (size_t k = 0; k < count; k++) {
            rows[k].passes = 2;
            rows[k].device_seconds = 0.04 * (gpu == 1 ? 1 + 0.001 * (double)k : 1);
        }
    }
    check_with(&run, &plain, &r);
    d = device_of(&r, 1);
    assert_int_equal(OK, verdict_of(&r, 0));
    assert_true((verdict_of(&r, 1) & BIT(UNSTABLE)) != 0);
    assert_true(fabs(d->soak_drift.value - 1.059) < 0.002 && d->soak_drift.low < d->soak_drift.high);
    assert_int_equal(BIT(NOT_MEASURED), verdict_of(&r, 2));
    assert_string_equal("80 verified passes, too few for a soak (at least 100): give --soak more time",
                        finding_of(&r, 2, LOT_VERDICT_NOT_MEASURED)->text);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

/* A soak of one row: one time has no noise and so no interval, and the text says that. */
static void soak_of_one_row(void **state)
{
    const lot_finding *f;
    lot_check_result r;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 3, 5, 0.02, 1);
    for (size_t gpu = 0; gpu < 3; gpu++) {
        lot_phase *row = synthetic_run_append(&run, gpu, "soak", "together", 1);

        row->passes = 100;
        row->device_seconds = gpu == 1 ? 2.6 : 2.0;
    }
    check_with(&run, &plain, &r);
    f = finding_of(&r, 1, LOT_VERDICT_SLOW);
    assert_string_equal("soak", f->phase);
    assert_true(fabs(f->number - (1 - 2.0 / 2.6)) < 1e-9);
    assert_true(isnan(f->low) && isnan(f->high));
    assert_non_null(strstr(f->text, "no interval"));
    assert_true(device_of(&r, 1)->slower.low <= device_of(&r, 1)->slower.high); /* of the repeats */
    lot_check_result_free(&r);
    lot_run_free(&run);
}

/* The same for --repeats 1. */
static void one_repeat_has_no_interval(void **state)
{
    lot_check_result r;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 3, 1, 0.02, 1);
    check_with(&run, &plain, &r);
    for (int64_t rank = 0; rank < 3; rank++) {
        const lot_checked_device *d = device_of(&r, rank);

        assert_true(!isnan(d->slower.value) && isnan(d->slower.low) && isnan(d->slower.high));
    }
    lot_check_result_free(&r);
    lot_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(throttled),
        cmocka_unit_test(throttled_beside_the_passes),
        cmocka_unit_test(throttled_by_state),
        cmocka_unit_test(drifting),
        cmocka_unit_test(drift_beyond_doubt),
        cmocka_unit_test(bimodal),
        cmocka_unit_test(outliers_are_no_cluster),
        cmocka_unit_test(late_passes_are_no_cluster),
        cmocka_unit_test(late_more_often_than_peers),
        cmocka_unit_test(late_like_the_peers),
        cmocka_unit_test(late_once),
        cmocka_unit_test(late_seldom),
        cmocka_unit_test(bimodal_alone),
        cmocka_unit_test(soak),
        cmocka_unit_test(soak_of_one_row),
        cmocka_unit_test(one_repeat_has_no_interval),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
