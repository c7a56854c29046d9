/* Slow and not slow, among peers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/checking.h"

static void slow_among_two(void **state)
{
    const lot_checked_device *d;
    const lot_finding *f;
    lot_check_result r;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 2, 5, 0.02, 1);
    synthetic_run_slow(&run, 1, 0.08);
    check_with(&run, &plain, &r);
    assert_false(r.all_ok);
    assert_int_equal(OK, verdict_of(&r, 0));
    assert_int_equal(BIT(SLOW), verdict_of(&r, 1));
    f = finding_of(&r, 1, LOT_VERDICT_SLOW);
    d = device_of(&r, 1);
    assert_int_equal(LOT_EVIDENCE_PEER, f->evidence);
    assert_string_equal("device_seconds", f->measure);
    assert_string_equal("warm_forward", f->phase);
    assert_true(fabs(f->number - 0.08) < 1e-9 && f->threshold < 0.08 && f->threshold > 0.03);
    assert_true(f->low < 0.08 && f->high > 0.08 && d->slower.low == f->low);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

/* Two of five are slow: they do not hide one another. */
static void two_slow(void **state)
{
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 5, 5, 0.02, 1);
    synthetic_run_slow(&run, 1, 0.15);
    synthetic_run_slow(&run, 4, 0.15);
    EXPECT(&run, OK, BIT(SLOW), OK, OK, BIT(SLOW));
}

/* A fast GPU is no fault, and does not make its peers slow. */
static void fast_is_no_fault(void **state)
{
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 4, 5, 0.02, 1);
    synthetic_run_slow(&run, 2, -0.3);
    EXPECT(&run, OK, OK, OK, OK);
}

/* Where one GPU has no device clock, all are compared on the host's, and that is said. */
static void one_clock_for_all(void **state)
{
    lot_check_result r;
    lot_run run;

    (void)state;
    four(&run);
    for (size_t k = 0; k < 5; k++)
        synthetic_run_warm(&run, 2, k)->device_seconds = NAN;
    check_with(&run, &plain, &r);
    assert_string_equal("host", r.comparisons[0].clock);
    assert_int_equal(4, r.comparisons[0].devices);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

/* Times that say nothing are no fault of a GPU, but must not pass for a comparison. */
static void too_noisy(void **state)
{
    synthetic_random random = {3};
    lot_check_result r;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 4, 3, 0.02, 1);
    synthetic_run_draw(&run, &random, 0.02, 0.01, 0.3);
    check_with(&run, &plain, &r);
    assert_true(r.comparisons[0].detectable > 0.25);
    assert_int_equal(LOT_NO_DEVICE_INDEX, r.findings[r.finding_count - 1].device);
    assert_string_equal("detectable", r.findings[r.finding_count - 1].measure);
    assert_int_equal(LOT_VERDICT_INFORMATION, r.findings[r.finding_count - 1].verdict);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

static void contention(void **state)
{
    const lot_checked_device *d;
    lot_check_result r;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 2, 5, 0.02, 1);
    for (size_t gpu = 0; gpu < 2; gpu++) {
        synthetic_run_append(&run, gpu, "warm_forward", "solo", 5);
        for (size_t k = 0; k < 5; k++)
            synthetic_run_warm(&run, gpu, k)->device_seconds = 0.022 * (1 + 0.001 * (double)k);
    }
    check_with(&run, &plain, &r);
    d = device_of(&r, 1);
    assert_true(r.all_ok);
    assert_int_equal(2, r.comparison_count);
    assert_true(fabs(d->contention.value - 1.1 * 1.002) < 1e-9);
    assert_true(d->contention.low < d->contention.value && d->contention.low > 1.09);
    assert_true(d->contention.high > d->contention.value && d->contention.high < 1.12);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_among_two),    cmocka_unit_test(two_slow),  cmocka_unit_test(fast_is_no_fault),
        cmocka_unit_test(one_clock_for_all), cmocka_unit_test(too_noisy), cmocka_unit_test(contention),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
