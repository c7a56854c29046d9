/* Order statistics against values worked out elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "core/stats.h"

static void test_median(void **state)
{
    static const double odd[] = {3, 1, 2};
    static const double even[] = {4, 1, 3, 2};
    static const double without_end[] = {INFINITY, 1, 2};

    (void)state;
    assert_true(lot_stats_median(odd, 3) == 2);
    assert_true(lot_stats_median(even, 4) == 2.5);
    assert_true(lot_stats_median(without_end, 3) == 2);
    assert_true(lot_stats_median(without_end, 1) == INFINITY);
}

static void test_mad(void **state)
{
    /* The textbook example 1 1 2 2 4 6 9: median 2, distances 1 1 0 0 2 4 7, their median 1. */
    static const double values[] = {1, 1, 2, 2, 4, 6, 9};

    (void)state;
    assert_true(fabs(lot_stats_robust_deviation(values, 7) - 1.4826 * 1.140) < 1e-12); /* table of 1992 */
    assert_true(isnan(lot_stats_robust_deviation(values, 1)));
}

/* 2 4 4 4 5 5 7 9: mean 5, squared distances 9 1 1 1 0 0 4 16, together 32 over 7. */
static void test_deviation(void **state)
{
    static const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};

    (void)state;
    assert_true(fabs(lot_stats_deviation(values, 8) - sqrt(32.0 / 7)) < 1e-12);
    assert_true(isnan(lot_stats_deviation(values, 1)));
}

/* Coverage of [x(k), x(n+1-k)] for the median, from tables of the sign test: n = 10, k = 2 gives 0.978516;
 * n = 20, k = 6 gives 0.958611; n = 5, k = 1 gives 0.9375, the most that five values can give. */
static void test_median_interval(void **state)
{
    double values[20];
    lot_interval interval;

    (void)state;
    for (int i = 0; i < 20; i++)
        values[i] = 20 - i;
    interval = lot_stats_median_interval(values, 20, 0.95);
    assert_true(interval.low == 6 && interval.high == 15);
    assert_true(fabs(interval.coverage - 0.958611) < 1e-6);
    interval = lot_stats_median_interval(values + 10, 10, 0.95);
    assert_true(interval.low == 2 && interval.high == 9);
    assert_true(fabs(interval.coverage - 0.978516) < 1e-6);
    interval = lot_stats_median_interval(values + 15, 5, 0.95);
    assert_true(interval.low == 1 && interval.high == 5);
    assert_true(fabs(interval.coverage - 0.9375) < 1e-12);
    interval = lot_stats_median_interval(values, 1, 0.95);
    assert_true(interval.low == 20 && interval.high == 20 && interval.coverage == 0);
}

/* For large n the interval's rank tends to n/2 - 1.96 sqrt(n)/2: for n = 10000, 4902 (normal approximation).
 */
static void test_median_interval_of_many(void **state)
{
    static double values[10000];
    lot_interval interval;

    (void)state;
    for (int i = 0; i < 10000; i++)
        values[i] = i + 1;
    interval = lot_stats_median_interval(values, 10000, 0.95);
    assert_true(fabs(interval.low - 4902) <= 1.5);
    assert_true(interval.low + interval.high == 10001);
    assert_true(interval.coverage >= 0.95 && interval.coverage < 0.9525);
}

static void test_nothing_and_nan(void **state)
{
    static const double values[] = {1, NAN, 3};

    (void)state;
    assert_true(isnan(lot_stats_median(NULL, 0)));
    assert_true(isnan(lot_stats_median(values, 3)));
    assert_true(isnan(lot_stats_median_interval(values, 3, 0.95).low));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_median),
        cmocka_unit_test(test_mad),
        cmocka_unit_test(test_deviation),
        cmocka_unit_test(test_median_interval),
        cmocka_unit_test(test_median_interval_of_many),
        cmocka_unit_test(test_nothing_and_nan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
