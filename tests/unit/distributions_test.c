/* Against values of published tables and of closed forms. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/distributions.h"

static void near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("got %.17g, want %.17g", got, want);
}

/* Abramowitz and Stegun, tables 26.1 and 26.5. */
static void normal_tables(void **state)
{
    (void)state;
    near(lot_normal_tail(0), 0.5, 1e-16);
    near(lot_normal_tail(1), 0.158655253931457, 1e-15);
    near(lot_normal_tail(-1), 0.841344746068543, 1e-15);
    near(lot_normal_tail(3), 1.349898031630095e-3, 1e-17);
    near(lot_normal_tail(6), 9.865876450377e-10, 1e-21);
    near(lot_normal_quantile(0.025), 1.959963984540054, 1e-12);
    near(lot_normal_quantile(0.05), 1.644853626951472, 1e-12);
    near(lot_normal_quantile(0.5), 0, 1e-12);
    near(lot_normal_quantile(0.9), -1.281551565544600, 1e-12);
}

/* Medians of chi-square from tables: 0.455, 1.386, 3.357, 9.342. */
static void chi_square_medians(void **state)
{
    (void)state;
    near(lot_chi_square_median(1), 0.4549, 0.017);
    near(lot_chi_square_median(2), 2 * log(2), 0.02);
    near(lot_chi_square_median(4), 3.3567, 0.02);
    near(lot_chi_square_median(10), 9.3418, 0.01);
}

/* Closed forms: 1 degree of freedom is Cauchy's distribution; 2: 1/2 - t / (2 sqrt(2 + t^2)); 3 by angle. */
static void student_closed_forms(void **state)
{
    static const double at[] = {-20, -3, -0.5, 0, 0.1, 1, 2.5, 12.706, 300};
    const double pi = acos(-1);

    (void)state;
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        const double t = at[i], angle = atan(t / sqrt(3));

        near(lot_student_tail(t, 1), 0.5 - atan(t) / pi, 1e-13);
        near(lot_student_tail(t, 2), 0.5 - t / (2 * sqrt(2 + t * t)), 1e-13);
        near(lot_student_tail(t, 3), 0.5 - (angle + sin(angle) * cos(angle)) / pi, 1e-13);
    }
}

/* Two-sided 5 % and 1 % points, three decimals, as in every printed table. */
static void student_tables(void **state)
{
    (void)state;
    near(lot_student_quantile(0.025, 1), 12.706, 5e-4);
    near(lot_student_quantile(0.025, 3), 3.182, 5e-4);
    near(lot_student_quantile(0.025, 10), 2.228, 5e-4);
    near(lot_student_quantile(0.005, 4), 4.604, 5e-4);
    near(lot_student_quantile(0.005, 30), 2.750, 5e-4);
    near(lot_student_quantile(0.025, 120), 1.980, 5e-4);
    near(lot_student_quantile(0.025, 1e7), 1.959964, 1e-6);
}

static void not_defined(void **state)
{
    (void)state;
    assert_true(isnan(lot_student_tail(1, 0)));
    assert_true(isnan(lot_student_tail(NAN, 3)));
    assert_true(isnan(lot_student_quantile(0, 3)));
    assert_true(isnan(lot_normal_quantile(1)));
    near(lot_student_tail(INFINITY, 3), 0, 0);
    near(lot_student_tail(-INFINITY, 3), 1, 0);
}

/* The lady tasting tea, 4 cups of 8: all four with chance 1 / 70, three or more with 17 / 70. The others are
 * sums of binomial coefficients in whole numbers. */
static void hypergeometric(void **state)
{
    (void)state;
    near(lot_hypergeometric_tail(4, 4, 4, 8), 1.0 / 70, 1e-15);
    near(lot_hypergeometric_tail(3, 4, 4, 8), 17.0 / 70, 1e-14);
    near(lot_hypergeometric_tail(12, 50, 12, 100), 1.155723706908730e-04, 1e-16);
    near(lot_hypergeometric_tail(10, 20, 30, 100), 3.069642935433670e-02, 1e-14);
    assert_true(lot_hypergeometric_tail(0, 4, 4, 8) == 1);
    assert_true(lot_hypergeometric_tail(2, 5, 5, 8) == 1); /* 3 of the 5 can be left out at most */
    assert_true(lot_hypergeometric_tail(5, 4, 8, 16) == 0);
    assert_true(lot_hypergeometric_tail(1, 4, 0, 8) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chi_square_medians),   cmocka_unit_test(normal_tables),
        cmocka_unit_test(student_closed_forms), cmocka_unit_test(student_tables),
        cmocka_unit_test(not_defined),          cmocka_unit_test(hypergeometric),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
