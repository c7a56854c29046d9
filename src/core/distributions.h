/* Tails and quantiles of the normal and of Student's distribution, tails of the hypergeometric one, and the
 * middle of chi-square. */
#ifndef GPULOT_CORE_DISTRIBUTIONS_H
#define GPULOT_CORE_DISTRIBUTIONS_H

#include <stdint.h>

/* P(Z > z) of the standard normal distribution. */
double lot_normal_tail(double z);

/* The z with P(Z > z) = p, 0 < p < 1. */
double lot_normal_quantile(double p);

/* P(T > t) of Student's t with `dof` > 0 degrees of freedom, which need not be whole. Through the incomplete
 * beta function (M. Abramowitz, I. Stegun, "Handbook of Mathematical Functions", 26.7.1 and 26.5.8). */
double lot_student_tail(double t, double dof);

/* The t with P(T > t) = p, 0 < p < 1. */
double lot_student_quantile(double p, double dof);

/* P(X >= x) of `draws` taken without putting back from `all`, `marked` of which are marked, where X is how
 * many marked ones were taken: Fisher's exact test, one-sided (R. A. Fisher, "Statistical Methods for
 * Research Workers", 21.02). 0 <= draws, marked <= all; O(draws). */
double lot_hypergeometric_tail(int64_t x, int64_t draws, int64_t marked, int64_t all);

/* The median of chi-square with `dof` degrees of freedom, within 4 % for 1 and 1.4 % from 2 on: dof (1 - 2 /
 * (9 dof))^3 (E. B. Wilson, M. M. Hilferty, "The Distribution of Chi-Square", PNAS 17, 1931). */
double lot_chi_square_median(double dof);

#endif
