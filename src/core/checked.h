/* Integer arithmetic that says when it does not fit. Each returns true on success and leaves *result
 * alone otherwise. Used for every size and every price. */
#ifndef GPULOT_CORE_CHECKED_H
#define GPULOT_CORE_CHECKED_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

static inline bool lot_checked_add(int64_t a, int64_t b, int64_t *result)
{
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *result = sum;
    return true;
}

static inline bool lot_checked_mul(int64_t a, int64_t b, int64_t *result)
{
    int64_t product;

    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *result = product;
    return true;
}

/* Adds to a count that comes from a file. A sum that does not fit stays at INT64_MAX: nothing was counted so
 * far, and what is said of it is as true of the largest number. */
static inline void lot_checked_count(int64_t *sum, int64_t more)
{
    if (!lot_checked_add(*sum, more, sum))
        *sum = INT64_MAX;
}

/* Brings a fraction with numerator from 0 and denominator from 1 to lowest terms. */
static inline void lot_checked_reduce(int64_t *numerator, int64_t *denominator)
{
    int64_t divisor = *numerator;
    int64_t rest = *denominator;

    assert(divisor >= 0 && rest > 0);
    while (rest != 0) {
        const int64_t next = divisor % rest;

        divisor = rest;
        rest = next;
    }
    *numerator /= divisor;
    *denominator /= divisor;
}

#endif
