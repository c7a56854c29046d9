/* Order statistics. Every function takes values in any order, leaves them alone, ignores nothing: a NaN among
 * them makes the result NaN, and no value at all gives NaN. */
#ifndef GPULOT_CORE_STATS_H
#define GPULOT_CORE_STATS_H

#include <stddef.h>

/* Middle value; mean of the two middle values for an even count. */
double lot_stats_median(const double *values, size_t count);

/* Quantile p in [0, 1] by linear interpolation between order statistics, h = (n - 1) p (type 7 of
 * R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages", The American Statistician 50, 1996;
 * the default of R and NumPy). */
double lot_stats_quantile(const double *values, size_t count, double p);

/* Median absolute deviation from the median, unscaled; times 1.4826 it estimates a normal standard deviation.
 */
double lot_stats_mad(const double *values, size_t count);

/* Distribution-free confidence interval of the median: order statistics [k, n + 1 - k] with the largest k
 * whose coverage 1 - 2 P(Binomial(n, 1/2) < k) is at least `level` (David and Nagaraja, Order Statistics, 3rd
 * ed., section 7.1). Where no such k exists (n < 6 at 0.95) the extremes are given. *coverage is what the
 * interval really covers. Count 0 gives NaN. */
typedef struct lot_interval {
    double low;
    double high;
    double coverage;
} lot_interval;

lot_interval lot_stats_median_interval(const double *values, size_t count, double level);

#endif
