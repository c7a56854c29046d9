/* The belief about honest GPUs: against a slow and plain integration, and what must hold of it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/spread.h"
#include "core/distributions.h"

#define PRIOR 0.015

/* P(ln spread) by the formula of docs/consistency.md, on a grid forty times as fine. */
static double plain_tail(const double *others, size_t count, double distance)
{
    const double centre = count == 2 ? 0.5 * (others[0] + others[1]) : others[0];
    const double factor = sqrt(1 + 1.0 / (double)count);
    double top = 0, bottom = 0;

    for (double u = log(PRIOR / 8); u <= log(PRIOR * 16); u += log(2) / 160) {
        const double z = (u - log(PRIOR)) / 0.45 + 0.841621;
        const double s = exp(u);
        double weight = exp(-0.5 * z * z) * s;

        for (size_t i = 0; i < count; i++) {
            const double r = (others[i] - centre) / s;

            weight *= 0.995 * exp(-0.5 * r * r) / (s * sqrt(2 * acos(-1))) + 0.005;
        }
        top += weight * 0.5 * erfc(distance / (factor * s) / sqrt(2));
        bottom += weight;
    }
    return top / bottom;
}

static double tail_of(const double *y, size_t count, size_t judged, double distance)
{
    lot_spread_prior prior;
    lot_spread_belief belief;
    lot_spread_fit fit;
    double others[2];
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (i != judged)
            others[n++] = y[i];
    lot_spread_prior_make(PRIOR, &prior);
    lot_spread_fit_make(&prior, y, 0, count, n == 2 ? 0.5 * (others[0] + others[1]) : others[0], &fit);
    lot_spread_without(&prior, &fit, y[judged], &belief);
    return lot_spread_tail(&prior, &belief, distance);
}

static void against_integration(void **state)
{
    static const double distances[] = {0.01, 0.03, 0.06, 0.09};
    const double two[] = {0, 0.06}, three[] = {-0.01, 0.012, 0.09}, wide[] = {-0.06, 0.06, 0.09};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const double d = distances[i];

        assert_true(fabs(tail_of(two, 2, 1, d) / plain_tail(two, 1, d) - 1) < 0.01);
        assert_true(fabs(tail_of(three, 3, 2, d) / plain_tail(three, 2, d) - 1) < 0.01);
        assert_true(fabs(tail_of(wide, 3, 2, d) / plain_tail(wide, 2, d) - 1) < 0.02);
    }
}

static void four_of_five(void **state)
{
    lot_spread_prior prior;
    lot_spread_belief belief;
    double below = 0;

    (void)state;
    lot_spread_prior_make(PRIOR, &prior);
    lot_spread_prior_only(&prior, 1, 0, &belief);
    for (int k = 0; k < LOT_SPREAD_STEPS; k++)
        below += belief.weight[k] * (prior.spread[k] < PRIOR * 0.99   ? 1
                                     : prior.spread[k] > PRIOR * 1.01 ? 0
                                                                      : 0.5);
    assert_true(fabs(below - 0.8) < 0.01);
}

/* With two GPUs the rule must be able to fire, and the threshold must be one that an honest pair rarely
 * meets. */
static void fires_with_two(void **state)
{
    lot_spread_prior prior;
    lot_spread_belief belief;
    double threshold;

    (void)state;
    lot_spread_prior_make(PRIOR, &prior);
    lot_spread_prior_only(&prior, 1, 0, &belief);
    threshold = lot_spread_threshold(&prior, &belief, 0.004);
    assert_true(threshold > 0.04 && threshold < 0.07);
    assert_true(fabs(lot_spread_tail(&prior, &belief, threshold) - 0.004) < 1e-6);
}

/* The belief follows a group that is wider or tighter than the prior, and one bad GPU does not widen it. */
static void follows_the_group(void **state)
{
    double tight[64], wide[64], bad[64];
    lot_spread_prior prior;
    lot_spread_belief belief;
    lot_spread_fit fit;
    double clean;

    (void)state;
    for (size_t i = 0; i < 64; i++) {
        const double z = -lot_normal_quantile(((double)i + 0.5) / 64);

        tight[i] = bad[i] = 0.005 * z;
        wide[i] = 0.04 * z;
    }
    bad[63] = 0.2;
    lot_spread_prior_make(PRIOR, &prior);
    lot_spread_fit_make(&prior, tight, 0, 64, 0, &fit);
    lot_spread_all(&prior, &fit, &belief);
    clean = lot_spread_mean(&prior, &belief);
    assert_true(clean > 0.004 && clean < 0.006);
    lot_spread_fit_make(&prior, bad, 0, 64, 0, &fit);
    lot_spread_all(&prior, &fit, &belief);
    assert_true(fabs(lot_spread_mean(&prior, &belief) / clean - 1) < 0.1);
    lot_spread_fit_make(&prior, wide, 0, 64, 0, &fit);
    lot_spread_all(&prior, &fit, &belief);
    assert_true(lot_spread_mean(&prior, &belief) > 0.035);
}

/* The smallest prior that check takes: 32 GPUs alike to the last bit are no reason for numbers without an
 * end. */
static void the_smallest_prior(void **state)
{
    static const double alike[32];
    lot_spread_prior prior;
    lot_spread_belief belief;
    lot_spread_fit fit;
    double threshold;

    (void)state;
    lot_spread_prior_make(LOT_SPREAD_LEAST, &prior);
    lot_spread_fit_make(&prior, alike, 0, 32, 0, &fit);
    lot_spread_all(&prior, &fit, &belief);
    threshold = lot_spread_threshold(&prior, &belief, 0.004);
    assert_true(threshold > 0 && threshold < 16 * LOT_SPREAD_LEAST);
}

/* Variance of the median of normal values: exact for 1 and 2; for 3 it is 0.4487, 5: 0.2868,
 * and the bound is not below. */
static void median_variance(void **state)
{
    (void)state;
    assert_true(lot_median_variance(1) == 1 && lot_median_variance(2) == 0.5);
    assert_true(lot_median_variance(3) >= 0.4487 && lot_median_variance(5) >= 0.2868);
    assert_true(fabs(lot_median_variance(1000) * 1000 - 1.5708) < 1e-4);
    assert_true(isinf(lot_median_variance(0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_integration), cmocka_unit_test(four_of_five),
        cmocka_unit_test(fires_with_two),      cmocka_unit_test(follows_the_group),
        cmocka_unit_test(the_smallest_prior),  cmocka_unit_test(median_variance),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
