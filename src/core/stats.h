/* Order statistics. Every function takes values in any order where it does not say otherwise, leaves them
 * alone (but lot_stats_sort) and ignores none: a NaN among them makes the result NaN, as no value at all
 * does, and as memory that runs out does. */
#ifndef GPULOT_CORE_STATS_H
#define GPULOT_CORE_STATS_H

#include <stddef.h>

/* Middle value; mean of the two middle values for an even count. */
double lot_stats_median(const double *values, size_t count);

/* Sample standard deviation, over count - 1; NaN below 2 values. */
double lot_stats_deviation(const double *values, size_t count);

/* Robust standard deviation of a normal sample, from the median absolute deviation (MAD) of sorted values,
 * corrected for small samples (C. Croux, P. J. Rousseeuw, "Time-efficient algorithms for two highly robust
 * estimators of scale", COMPSTAT 1992); NaN below 2 values. */
double lot_stats_robust_deviation(const double *sorted_values, size_t count);

/* Sorts values, none of them NaN, in place, ascending. */
void lot_stats_sort(double *values, size_t count);

typedef struct lot_interval {
    double low;
    double high;
    double coverage; /* probability that it holds what it is an interval of */
} lot_interval;

/* Distribution-free confidence interval of the median: order statistics [k, n + 1 - k] with the largest k
 * whose coverage 1 - 2 P(Binomial(n, 1/2) < k) is at least `level` (H. A. David, H. N. Nagaraja, "Order
 * Statistics", 3rd ed., section 7.1). Where no such k exists (n < 6 at 0.95) the extremes are given, with
 * what they cover. */
lot_interval lot_stats_median_interval(const double *values, size_t count, double level);

#endif
