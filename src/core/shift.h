/* By what factor one set of times differs from another: an interval that supposes no distribution. */
#ifndef GPULOT_CORE_SHIFT_H
#define GPULOT_CORE_SHIFT_H

#include <stddef.h>

#include "core/stats.h"

/* Which of the ordered differences bound the interval: the `rank`-th from either end. */
typedef struct lot_shift_rank {
    size_t rank;     /* from 1; 0 where one of the two sets is empty */
    double coverage; /* of the interval: probability that it holds the true shift; NaN for rank 0 */
} lot_shift_rank;

/* The narrowest interval that covers `level` (0 < level < 1), for `before` and `after` independent values
 * that are alike but for their place: rank k with 1 - 2 P(U < k), U the statistic of H. B. Mann and D. R.
 * Whitney (1947), whose distribution needs no other assumption. Exact up to 60 values together, else U's
 * normal limit with its correction for continuity (E. L. Lehmann, "Nonparametrics", 1975, section 1.3). Too
 * few values for that level give rank 1, the widest interval there is, with what it covers: 5 against 5 give
 * 1 - 2 / 252. */
lot_shift_rank lot_shift_rank_for(size_t before, size_t after, double level);

/* The interval of the shift: of the differences of every value of `after` and every one of `before`, each
 * sorted upwards, those that `rank` names (J. L. Hodges, E. L. Lehmann, 1963). NaN for rank 0. */
lot_interval lot_shift_interval(const double *before, size_t before_count, const double *after,
                                size_t after_count, lot_shift_rank rank);

#endif
