/* The interval of a shift against published tables, against every difference sorted, and against the truth.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "core/shift.h"
#include "support/synthetic_run.h"

/* The critical values of U are those of the usual tables (H. B. Mann, D. R. Whitney, 1947; for 5 % in two
 * directions: 0, 2, 23, 127 for 4, 5, 10 and 20 against as many), and rank is one more. Coverages are counts
 * of arrangements: 1 - 2 x 4 / 252 for U below 3 of 5 against 5. */
static void test_ranks(void **state)
{
    static const struct {
        size_t before, after;
        double level;
        size_t rank;
        double coverage;
    } cases[] = {
        {4, 4, 0.95, 1, 1 - 2.0 / 70},
        {5, 5, 0.95, 3, 1 - 8.0 / 252},
        {5, 5, 0.999, 1, 1 - 2.0 / 252},
        {3, 3, 0.95, 1, 1 - 2.0 / 20},
        {1, 1, 0.95, 1, 0},
        {8, 6, 0.99, 5, 0.992007992007992},
        {6, 8, 0.99, 5, 0.992007992007992},
        {10, 10, 0.95, 24, 0.956742947455022},
        {20, 20, 0.95, 128, 0.950909674810628},
        {20, 20, 0.999, 82, 0.999066582386213},
        {30, 30, 0.9999, 195, 0.999904675831989},
        {2, 40, 0.9, 12, 0.902439024390244},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const lot_shift_rank found = lot_shift_rank_for(cases[i].before, cases[i].after, cases[i].level);

        assert_int_equal(cases[i].rank, found.rank);
        assert_true(fabs(cases[i].coverage - found.coverage) < 1e-12);
    }
    assert_int_equal(0, lot_shift_rank_for(0, 5, 0.95).rank);
    assert_true(isnan(lot_shift_rank_for(5, 0, 0.95).coverage));
}

/* Where the limit takes over, 31 against 30, it is a little wider than the exact ranks, which were counted in
 * whole numbers. */
static void test_limit_joins(void **state)
{
    static const struct {
        double level;
        size_t exact;
    } cases[] = {{0.9, 351}, {0.99, 288}, {0.9999, 204}};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const lot_shift_rank limit = lot_shift_rank_for(31, 30, cases[i].level);

        assert_true(limit.rank <= cases[i].exact && (double)limit.rank > 0.95 * (double)cases[i].exact);
        assert_true(limit.coverage >= cases[i].level && limit.coverage < cases[i].level + 0.002);
    }
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void draw(double *values, size_t count, synthetic_random *random, double shift)
{
    for (size_t i = 0; i < count; i++)
        values[i] = shift - log(synthetic_uniform(random)); /* far from normal: exponential */
    qsort(values, count, sizeof *values, ascending);
}

/* The differences that bound the interval are the ones that sorting all of them finds. */
static void test_bounds(void **state)
{
    synthetic_random random = {4};

    (void)state;
    for (size_t round = 0; round < 300; round++) {
        const size_t n = 1 + round % 13, m = 1 + round % 7;
        double before[13], after[7], all[13 * 7];
        const lot_shift_rank rank = lot_shift_rank_for(n, m, 0.8);
        lot_interval interval;

        draw(before, n, &random, 0);
        draw(after, m, &random, 0.5);
        if (round % 3 == 0)
            for (size_t i = 0; i < m; i++)
                after[i] = floor(after[i]); /* ties */
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < m; j++)
                all[i * m + j] = after[j] - before[i];
        qsort(all, n * m, sizeof *all, ascending);
        interval = lot_shift_interval(before, n, after, m, rank);
        assert_true(interval.low == all[rank.rank - 1]);
        assert_true(interval.high == all[n * m - rank.rank]);
        assert_true(interval.coverage == rank.coverage);
    }
    assert_true(isnan(lot_shift_interval(NULL, 0, NULL, 0, (lot_shift_rank){0, NAN}).low));
}

/* It covers the truth as often as it says: 4000 pairs of samples, so within 4 standard errors. */
static void test_coverage(void **state)
{
    static const struct {
        size_t before, after;
        double level;
    } cases[] = {{5, 5, 0.95}, {4, 12, 0.9}, {20, 20, 0.99}, {40, 40, 0.95}};
    const int rounds = 4000;
    synthetic_random random = {8};

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const lot_shift_rank rank = lot_shift_rank_for(cases[c].before, cases[c].after, cases[c].level);
        int covered = 0;

        for (int i = 0; i < rounds; i++) {
            double before[40], after[40];
            lot_interval interval;

            draw(before, cases[c].before, &random, 0);
            draw(after, cases[c].after, &random, 0.25);
            interval = lot_shift_interval(before, cases[c].before, after, cases[c].after, rank);
            covered += interval.low <= 0.25 && interval.high >= 0.25;
        }
        assert_true(fabs((double)covered / rounds - rank.coverage) <
                    4 * sqrt(rank.coverage * (1 - rank.coverage) / rounds));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_limit_joins),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_coverage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
