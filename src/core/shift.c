#include "core/shift.h"

#include <math.h>
#include <string.h>

#include "core/distributions.h"

/* Values of both sets together up to which U's distribution is worked out. */
#define EXACT_MOST 60
#define HALF_MOST  (EXACT_MOST / 2)
#define VALUES     (HALF_MOST * HALF_MOST / 2 + 1) /* U from 0 to its middle */

/* of[j][u]: P(U = u) for i values of the first set and j of the second. The largest of all is of the first
 * with chance i / (i + j), and then greater than the j. */
typedef struct chances {
    double of[HALF_MOST + 1][VALUES];
} chances;

/* From i - 1 to i values of the first set. */
static void next_row(chances *c, size_t i, size_t columns, size_t values)
{
    for (size_t u = 0; u < values; u++)
        c->of[0][u] = u == 0;
    for (size_t j = 1; j <= columns; j++) {
        const double first = (double)i / (double)(i + j), second = (double)j / (double)(i + j);

        for (size_t u = values; u-- > 0;) /* of[j] still is that of i - 1, of[j - 1] of i */
            c->of[j][u] = (u >= j ? first * c->of[j][u - j] : 0) + second * c->of[j - 1][u];
    }
}

/* The largest k with 2 P(U < k) <= 1 - level, at least 1. */
static lot_shift_rank exact_rank(size_t less, size_t more, double level)
{
    const size_t values = less * more / 2 + 1;
    chances c;
    lot_shift_rank found = {1, NAN};
    double below; /* P(U < rank) */

    memset(&c, 0, sizeof c);
    for (size_t j = 0; j <= less; j++)
        c.of[j][0] = 1; /* nothing of the first set: U is 0 */
    for (size_t i = 1; i <= more; i++)
        next_row(&c, i, less, values);
    below = c.of[less][0];
    while (found.rank < values && 1 - 2 * (below + c.of[less][found.rank]) >= level)
        below += c.of[less][found.rank++];
    found.coverage = 1 - 2 * below;
    return found;
}

static lot_shift_rank limit_rank(double n, double m, double level)
{
    const double middle = n * m / 2;
    const double deviation = sqrt(n * m * (n + m + 1) / 12);
    const double k = floor(middle + 0.5 - lot_normal_quantile((1 - level) / 2) * deviation);
    lot_shift_rank found = {k >= 1 ? (size_t)k : 1, NAN};

    found.coverage = 1 - 2 * lot_normal_tail((middle + 0.5 - (double)found.rank) / deviation);
    return found;
}

lot_shift_rank lot_shift_rank_for(size_t before, size_t after, double level)
{
    const size_t less = before < after ? before : after;
    const size_t more = before < after ? after : before;

    if (less == 0)
        return (lot_shift_rank){0, NAN};
    return less <= HALF_MOST && less + more <= EXACT_MOST ? exact_rank(less, more, level)
                                                          : limit_rank((double)less, (double)more, level);
}

/* How many differences are at most `limit`. As `after` grows, fewer of `before` are small enough. */
static size_t count_to(const double *before, size_t n, const double *after, size_t m, double limit)
{
    size_t count = 0, from = 0;

    for (size_t j = 0; j < m; j++) {
        while (from < n && after[j] - before[from] > limit)
            from++;
        count += n - from;
    }
    return count;
}

/* The smallest number that at least `rank` differences do not exceed: a difference itself. */
static double difference_at(const double *before, size_t n, const double *after, size_t m, size_t rank)
{
    double low = after[0] - before[n - 1], high = after[m - 1] - before[0];

    if (count_to(before, n, after, m, low) >= rank)
        return low;
    for (;;) {
        const double middle = low + (high - low) / 2;

        if (!(middle > low && middle < high))
            return high;
        if (count_to(before, n, after, m, middle) >= rank)
            high = middle;
        else
            low = middle;
    }
}

lot_interval lot_shift_interval(const double *before, size_t before_count, const double *after,
                                size_t after_count, lot_shift_rank rank)
{
    if (rank.rank == 0)
        return (lot_interval){NAN, NAN, NAN};
    return (lot_interval){
        difference_at(before, before_count, after, after_count, rank.rank),
        difference_at(before, before_count, after, after_count, before_count * after_count + 1 - rank.rank),
        rank.coverage};
}
