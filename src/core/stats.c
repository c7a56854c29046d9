#include "core/stats.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

void lot_stats_sort(double *values, size_t count)
{
    if (count > 0)
        qsort(values, count, sizeof *values, ascending);
}

/* A sorted copy that the caller frees; NULL where there is none: no values, a NaN, or no memory. */
static double *sorted(const double *values, size_t count)
{
    double *copy;

    for (size_t i = 0; i < count; i++)
        if (isnan(values[i]))
            return NULL;
    if (count == 0 || count > SIZE_MAX / sizeof *copy || (copy = malloc(count * sizeof *copy)) == NULL)
        return NULL;
    memcpy(copy, values, count * sizeof *copy);
    lot_stats_sort(copy, count);
    return copy;
}

double lot_stats_median(const double *values, size_t count)
{
    double *order = sorted(values, count);
    double middle;

    if (order == NULL)
        return NAN;
    middle = 0.5 * (order[(count - 1) / 2] + order[count / 2]);
    free(order);
    return middle;
}

/* What the MAD of a small normal sample is multiplied by. */
static double mad_correction(size_t count)
{
    static const double factors[] = {0, 0, 1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107};

    return count < sizeof factors / sizeof factors[0] ? factors[count]
                                                      : (double)count / ((double)count - 0.8);
}

/* Median distance of sorted values from their median, found from the middle outwards without sorting again.
 */
static double sorted_mad(const double *y, size_t count)
{
    const double middle = 0.5 * (y[(count - 1) / 2] + y[count / 2]);
    size_t low = (count - 1) / 2 + 1, high = low; /* [low, high) is used up; both sides go outwards */
    double last = 0, before = 0;

    for (size_t taken = 0; taken < count / 2 + 1; taken++) {
        const double down = low > 0 ? middle - y[low - 1] : INFINITY;
        const double up = high < count ? y[high] - middle : INFINITY;

        before = last;
        last = down <= up ? down : up;
        if (down <= up)
            low--;
        else
            high++;
    }
    return count % 2 == 1 ? last : 0.5 * (before + last);
}

double lot_stats_robust_deviation(const double *sorted_values, size_t count)
{
    return count < 2 ? NAN : 1.4826 * mad_correction(count) * sorted_mad(sorted_values, count);
}

double lot_stats_deviation(const double *values, size_t count)
{
    double mean = 0, squares = 0;

    if (count < 2)
        return NAN;
    for (size_t i = 0; i < count; i++)
        mean += values[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return sqrt(squares / (double)(count - 1));
}

lot_interval lot_stats_median_interval(const double *values, size_t count, double level)
{
    double *order = sorted(values, count);
    lot_interval interval = {NAN, NAN, NAN};
    double term, tail; /* P(B = i) and P(B <= i) of Binomial(count, 1/2) */
    size_t k = 0;

    if (order == NULL)
        return interval;
    /* From the logarithm, so that thousands of values do not underflow to a useless interval. */
    tail = 0;
    for (size_t i = 0; 2 * (i + 1) <= count; i++) {
        const double n = (double)count;
        const double x = (double)i;

        term = exp(lgamma(n + 1) - lgamma(x + 1) - lgamma(n - x + 1) - n * log(2.0));
        if (i > 0 && 1 - 2 * (tail + term) < level)
            break;
        tail += term;
        k = i;
    }
    interval.low = order[k];
    interval.high = order[count - 1 - k];
    interval.coverage = count == 1 ? 0 : 1 - 2 * tail;
    free(order);
    return interval;
}
