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

/* Two of three are equally slow: what is said of one is said of the other, for equal times have no order. */
static void equal_times_equal_verdicts(void **state)
{
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 3, 5, 0.02, 1);
    synthetic_run_slow(&run, 0, 0.5);
    synthetic_run_slow(&run, 1, 0.5);
    EXPECT(&run, BIT(SLOW), BIT(SLOW), OK);
}

/* The middle one of an odd number is judged by the others, too: half as fast as one, little faster than the
 * third. */
static void middle_of_three(void **state)
{
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 3, 5, 0.02, 1);
    synthetic_run_slow(&run, 1, 0.5);
    synthetic_run_slow(&run, 2, 0.51);
    EXPECT(&run, OK, BIT(SLOW), BIT(SLOW));
}

/* 1.4826 x MAD of the logarithms 0, ln 1.01 and ln 1.03, times 1.495 for three values (Croux, Rousseeuw
 * 1992). */
static void own_spread_of_three(void **state)
{
    lot_check_result r;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 3, 5, 0.02, 1);
    synthetic_run_slow(&run, 1, 1 - 1 / 1.01);
    synthetic_run_slow(&run, 2, 1 - 1 / 1.03);
    check_with(&run, &plain, &r);
    assert_true(fabs(r.comparisons[0].own_spread - 1.4826 * 1.495 * log(1.01)) < 1e-9);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

/* A pass of 10 us on a clock of 0.5 us: a step is 5 %, and a GPU on the other side of one is neither slow
 * nor, where it lies between two, unstable. Two steps are slow. */
static void coarse_clock(void **state)
{
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 8, 5, 10e-6, 1);
    synthetic_run_slow(&run, 1, 1 - 10 / 10.5);
    for (size_t k = 0; k < 2; k++)
        synthetic_run_warm(&run, 2, k)->device_seconds = 10.5e-6;
    EXPECT(&run, OK, OK, OK, OK, OK, OK, OK, OK);
    synthetic_run_make(&run, 8, 5, 10e-6, 1);
    synthetic_run_slow(&run, 1, 1 - 10 / 11.0);
    synthetic_run_warm(&run, 2, 0)->device_seconds = 10.5e-6;
    EXPECT(&run, OK, BIT(SLOW), OK, OK, OK, OK, OK, OK);
}

/* The only peer is fast by the luck of its own noise: 7 % at its middle, while one repeat of it varies by 10
 * %. */
static void noisy_peer(void **state)
{
    static const double times[] = {0.0210, 0.0172, 0.0224, 0.0186, 0.0180};
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 2, 5, 0.02, 1);
    for (size_t k = 0; k < 5; k++)
        synthetic_run_warm(&run, 0, k)->device_seconds = times[k];
    EXPECT(&run, OK, OK);
    synthetic_run_make(&run, 2, 5, 0.02, 1); /* a quiet one as fast */
    synthetic_run_slow(&run, 0, 1 - 0.02 / 0.0186);
    EXPECT(&run, OK, BIT(SLOW));
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
    assert_non_null(strstr(r.findings[r.finding_count - 1].text, "group 1, 4 x "));
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

/* A rank that failed on its way has no say in what is known of the others: neither the repeats that count nor
 * the threshold change. It is set against them all the same. */
static void unfinished_has_no_voice(void **state)
{
    lot_check_result three, four_of_them;
    lot_run run;

    (void)state;
    four(&run);
    set_status(&run, 3, LOT_DEVICE_FAULT);
    synthetic_run_slow(&run, 3, 0.3);
    for (size_t k = 2; k < 5; k++)
        synthetic_run_warm(&run, 3, k)->device_seconds = synthetic_run_warm(&run, 3, k)->host_seconds = NAN;
    check_with(&run, &plain, &four_of_them);
    assert_int_equal(OK, verdict_of(&four_of_them, 0) | verdict_of(&four_of_them, 1) |
                             verdict_of(&four_of_them, 2));
    assert_int_equal(BIT(FAILED) | BIT(NOT_MEASURED) | BIT(SLOW), verdict_of(&four_of_them, 3));
    assert_int_equal(3, four_of_them.comparisons[0].devices);
    assert_int_equal(5, four_of_them.comparisons[0].repeats);
    /* Without any time of the fourth: the same numbers but for the share of the level, which it still takes.
     */
    for (size_t k = 0; k < 2; k++)
        synthetic_run_warm(&run, 3, k)->device_seconds = synthetic_run_warm(&run, 3, k)->host_seconds = NAN;
    check_with(&run, &plain, &three);
    assert_true(three.comparisons[0].typical_threshold == four_of_them.comparisons[0].typical_threshold);
    assert_true(three.comparisons[0].repeat_noise == four_of_them.comparisons[0].repeat_noise);
    for (int64_t rank = 0; rank < 3; rank++)
        assert_memory_equal(&device_of(&three, rank)->slower, &device_of(&four_of_them, rank)->slower,
                            sizeof(lot_estimate));
    lot_check_result_free(&three);
    lot_check_result_free(&four_of_them);
    lot_run_free(&run);
}

/* Nobody is left to compare with: not ok, and the reason is said. */
static void no_peer_finished(void **state)
{
    lot_check_result r;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 2, 5, 0.02, 1);
    set_status(&run, 1, LOT_DEVICE_FAULT);
    for (size_t k = 1; k < 5; k++)
        synthetic_run_warm(&run, 1, k)->device_seconds = synthetic_run_warm(&run, 1, k)->host_seconds = NAN;
    check_with(&run, &plain, &r);
    assert_int_equal(BIT(UNDECIDED), verdict_of(&r, 0));
    assert_int_equal(BIT(FAILED) | BIT(NOT_MEASURED), verdict_of(&r, 1));
    assert_non_null(
        strstr(finding_of(&r, 0, LOT_VERDICT_UNDECIDED)->text, "no other GPU of its group finished"));
    lot_check_result_free(&r);
    lot_run_free(&run);
}

/* One repeat tells nothing of its noise: it can show that a GPU is slow, but no GPU is good by it. */
static void one_repeat(void **state)
{
    lot_check_result r;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 4, 1, 0.02, 1);
    synthetic_run_slow(&run, 2, 0.3);
    check_with(&run, &plain, &r);
    for (int64_t rank = 0; rank < 4; rank++)
        assert_int_equal(rank == 2 ? BIT(SLOW) : BIT(UNDECIDED), verdict_of(&r, rank));
    assert_non_null(strstr(finding_of(&r, 0, LOT_VERDICT_UNDECIDED)->text, "one repeat"));
    assert_true(isnan(r.comparisons[0].detectable));
    lot_check_result_free(&r);
    lot_run_free(&run);
}

/* What each GPU's distance is taken from: the middle of the others, by hand. */
static void middle_of_the_others(void **state)
{
    static const double four_times[] = {0.0200, 0.0202, 0.0206, 0.0214};
    static const double four_middles[] = {0.0206, 0.0206, 0.0202, 0.0202};
    static const double three_times[] = {0.0200, 0.0204, 0.0210};
    static const double three_middles[][2] = {{0.0204, 0.0210}, {0.0200, 0.0210}, {0.0200, 0.0204}};
    lot_check_result r;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 4, 5, 0.02, 1);
    for (size_t gpu = 0; gpu < 4; gpu++)
        synthetic_run_slow(&run, gpu, 1 - 0.02 / four_times[gpu]);
    check_with(&run, &plain, &r);
    for (size_t gpu = 0; gpu < 4; gpu++)
        assert_true(fabs(device_of(&r, (int64_t)gpu)->slower.value -
                         (1 - four_middles[gpu] / four_times[gpu])) < 1e-9);
    lot_check_result_free(&r);
    lot_run_free(&run);
    synthetic_run_make(&run, 3, 5, 0.02, 1);
    for (size_t gpu = 0; gpu < 3; gpu++)
        synthetic_run_slow(&run, gpu, 1 - 0.02 / three_times[gpu]);
    check_with(&run, &plain, &r);
    for (size_t gpu = 0; gpu < 3; gpu++) { /* between two, the mean of their logarithms */
        const double middle = sqrt(three_middles[gpu][0] * three_middles[gpu][1]);

        assert_true(fabs(device_of(&r, (int64_t)gpu)->slower.value - (1 - middle / three_times[gpu])) < 1e-9);
    }
    lot_check_result_free(&r);
    lot_run_free(&run);
}

/* Of the four GPUs' deviations 0.1 to 0.4 % the lower of the two in the middle, over (1 - 2/9)^1.5. */
static void noise_of_a_comparison(void **state)
{
    lot_check_result r;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 4, 2, 0.02, 1);
    for (size_t gpu = 0; gpu < 4; gpu++) /* of two logarithms the deviation is their distance / sqrt 2 */
        synthetic_run_warm(&run, gpu, 1)->device_seconds =
            0.02 * exp(0.001 * (double)(4 - gpu) * 1.4142135623731);
    check_with(&run, &plain, &r);
    assert_true(fabs(r.comparisons[0].repeat_noise - 0.002 / 0.6859355250908) < 1e-9);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

/* Gives a GPU five repeats around `seconds`, without a drift, whose robust deviation is about 1.8 * step. */
static void scatter(lot_run *run, size_t gpu, double seconds, double step)
{
    static const double steps[] = {1, -2, 0, 2, -1};

    for (size_t k = 0; k < 5; k++)
        synthetic_run_warm(run, gpu, k)->device_seconds = seconds * exp(step * steps[k]);
}

/* The own threshold of the last of four GPUs, 5 % slow, whose repeats scatter so many times as the others';
 * NaN where it is not slow. */
static double threshold_of_noisy(double times)
{
    double threshold = NAN;
    lot_check_result r;
    lot_run run;

    synthetic_run_make(&run, 4, 5, 0.02, 1);
    for (size_t gpu = 0; gpu < 4; gpu++)
        scatter(&run, gpu, gpu == 3 ? 0.02 / 0.95 : 0.02, 0.0058 * (gpu == 3 ? times : 1));
    check_with(&run, &plain, &r);
    if (verdict_of(&r, 3) != OK)
        threshold = finding_of(&r, 3, LOT_VERDICT_SLOW)->threshold;
    lot_check_result_free(&r);
    lot_run_free(&run);
    return threshold;
}

/* A GPU's own noise counts where it is over twice the group's, and only there. */
static void own_noise(void **state)
{
    (void)state;
    assert_true(threshold_of_noisy(1) < 0.05);
    assert_true(threshold_of_noisy(1.8) == threshold_of_noisy(1));
    assert_true(isnan(threshold_of_noisy(3)));
}

/* Of a soak, whose rows nobody asked for by number, every rank is a peer that did not fail: one whose results
 * were wrong kept its pace to the end. */
static void peers_of_a_soak(void **state)
{
    static const struct {
        lot_status status;
        size_t peers;
    } cases[] = {{LOT_OK, 3}, {LOT_WRONG_RESULT, 3}, {LOT_DEVICE_FAULT, 2}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lot_check_result r;
        lot_run run;

        synthetic_run_make(&run, 3, 5, 0.02, 1);
        for (size_t gpu = 0; gpu < 3; gpu++)
            (void)synthetic_run_append(&run, gpu, "soak", "together", 100);
        set_status(&run, 2, cases[i].status);
        check_with(&run, &plain, &r);
        assert_int_equal(2, r.comparison_count);
        assert_string_equal("soak", r.comparisons[1].phase);
        assert_int_equal(cases[i].peers, r.comparisons[1].devices);
        lot_check_result_free(&r);
        lot_run_free(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_among_two),
        cmocka_unit_test(two_slow),
        cmocka_unit_test(equal_times_equal_verdicts),
        cmocka_unit_test(middle_of_three),
        cmocka_unit_test(own_spread_of_three),
        cmocka_unit_test(coarse_clock),
        cmocka_unit_test(noisy_peer),
        cmocka_unit_test(fast_is_no_fault),
        cmocka_unit_test(one_clock_for_all),
        cmocka_unit_test(too_noisy),
        cmocka_unit_test(contention),
        cmocka_unit_test(unfinished_has_no_voice),
        cmocka_unit_test(no_peer_finished),
        cmocka_unit_test(one_repeat),
        cmocka_unit_test(middle_of_the_others),
        cmocka_unit_test(noise_of_a_comparison),
        cmocka_unit_test(own_noise),
        cmocka_unit_test(peers_of_a_soak),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
