#include "analysis/contest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/spread.h"
#include "core/distributions.h"
#include "core/stats.h"
#include "core/status.h"

/* A GPU's own noise counts instead of the group's where it is this many times that. */
#define NOISY 2.0

static int by_time(const void *a, const void *b)
{
    const lot_entrant *x = a;
    const lot_entrant *y = b;

    if (x->y != y->y)
        return x->y > y->y ? 1 : -1;
    return (x->gpu > y->gpu) - (x->gpu < y->gpu);
}

const lot_series *lot_contest_series(const lot_case *c, const lot_contest *k, size_t gpu)
{
    return lot_observation_find(c->gpus[gpu].seen, k->phase, k->schedule);
}

bool lot_contest_finished(const lot_judged *gpu, const lot_series *s)
{
    const lot_status status = lot_status_from_name(gpu->head->outcome.status);
    const int64_t rows = s == NULL ? 0 : s->timing[lot_series_clock(s)].rows;

    if (rows == 0 || gpu->repeated)
        return false;
    if (strcmp(s->phase, "soak") == 0)
        return status == LOT_OK || status == LOT_WRONG_RESULT;
    return rows >= gpu->head->synthetic_model.repeats;
}

/* The device's clock only where every one has it: two clocks are never compared with each other. */
static lot_clock_kind common_clock(const lot_case *c, const lot_contest *k)
{
    for (size_t i = c->group_first[k->group]; i < c->group_first[k->group + 1]; i++) {
        const lot_series *s = lot_contest_series(c, k, i);

        if (lot_contest_finished(&c->gpus[i], s) && lot_series_clock(s) != LOT_CLOCK_DEVICE)
            return LOT_CLOCK_HOST;
    }
    return LOT_CLOCK_DEVICE;
}

lot_entrant lot_contest_entrant(const lot_contest *k, size_t gpu, const lot_series *s)
{
    return (lot_entrant){log(s->timing[k->clock].median_seconds), gpu, &s->timing[k->clock]};
}

/* Noise of one repeat: the lower median of the GPUs' own, so that an unstable GPU does not raise it, divided
 * by what the median of a sample deviation is below the truth. NaN without two repeats. */
static double pooled_noise(const lot_contest *k, double *scratch)
{
    size_t count = 0;
    double dof;

    for (size_t i = 0; i < k->count; i++)
        if (!isnan(k->entrants[i].timing->deviation))
            scratch[count++] = k->entrants[i].timing->deviation;
    if (count == 0 || k->repeats < 2)
        return NAN;
    lot_stats_sort(scratch, count);
    dof = (double)(k->repeats - 1);
    return scratch[(count - 1) / 2] / sqrt(lot_chi_square_median(dof) / dof);
}

/* Of two steps of one clock, either of which may be unknown: 0. */
static double smaller_step(double a, double b)
{
    return a > 0 && b > 0 ? fmin(a, b) : a + b;
}

void lot_contest_enter(const lot_case *c, lot_contest *k)
{
    k->clock = common_clock(c, k);
    k->count = 0;
    k->repeats = INT64_MAX;
    k->step = 0;
    for (size_t i = c->group_first[k->group]; i < c->group_first[k->group + 1]; i++) {
        const lot_series *s = lot_contest_series(c, k, i);

        if (!lot_contest_finished(&c->gpus[i], s) || s->timing[k->clock].rows == 0)
            continue;
        k->entrants[k->count++] = lot_contest_entrant(k, i, s);
        k->repeats = s->timing[k->clock].rows < k->repeats ? s->timing[k->clock].rows : k->repeats;
        k->step = smaller_step(k->step, s->timing[k->clock].step);
    }
    k->noise = pooled_noise(k, k->y);
    qsort(k->entrants, k->count, sizeof *k->entrants, by_time);
    for (size_t i = 0; i < k->count; i++)
        k->y[i] = k->entrants[i].y;
}

/* Variance that the noise of the repeats gives a median of them; unknown noise gives none and the text says
 * so. Where the clock goes by steps, the median of many rounded times is still half a step off at most, as
 * likely here as there, which is a variance of step^2 / 12. */
static double median_variance(const lot_contest *k, double noise, int64_t repeats)
{
    const double of_noise = isnan(noise) ? 0 : noise * noise * lot_median_variance((size_t)repeats);

    return fmax(of_noise, k->step * k->step / 12);
}

double lot_contest_variance(const lot_contest *k)
{
    return median_variance(k, k->noise, k->repeats);
}

double lot_contest_own_variance(const lot_contest *k, const lot_entrant *e)
{
    const double own = e->timing->robust_deviation;
    const double noise = !isnan(own) && own > NOISY * k->noise ? own : k->noise;

    return median_variance(k, noise, e->timing->rows);
}

lot_middle lot_contest_middle_without(const lot_contest *k, size_t at)
{
    const size_t left = k->count - (at < k->count);
    const size_t low = (left - 1) / 2, high = left / 2; /* places among those left */
    const lot_entrant *a = &k->entrants[low >= at ? low + 1 : low],
                      *b = &k->entrants[high >= at ? high + 1 : high];

    return (lot_middle){left, 0.5 * (a->y + b->y),
                        0.5 * (lot_contest_own_variance(k, a) + lot_contest_own_variance(k, b))};
}
