/* Tails and quantiles of the normal and of Student's distribution. */
#ifndef GPULOT_CORE_DISTRIBUTIONS_H
#define GPULOT_CORE_DISTRIBUTIONS_H

/* P(Z > z) of the standard normal distribution. */
double lot_normal_tail(double z);

/* The z with P(Z > z) = p, 0 < p < 1. */
double lot_normal_quantile(double p);

/* P(T > t) of Student's t with `dof` > 0 degrees of freedom, which need not be whole. Through the incomplete
 * beta function (M. Abramowitz, I. Stegun, "Handbook of Mathematical Functions", 26.7.1 and 26.5.8). */
double lot_student_tail(double t, double dof);

/* The t with P(T > t) = p, 0 < p < 1. */
double lot_student_quantile(double p, double dof);

#endif
