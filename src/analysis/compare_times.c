/* Times at two times: drift of every phase, and what noise may explain of it. docs/consistency.md says why.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/baseline.h"
#include "analysis/comparing.h"
#include "analysis/judge.h"
#include "analysis/spread.h"
#include "core/distributions.h"
#include "core/field.h"
#include "core/grown.h"
#include "core/shift.h"
#include "core/stats.h"

typedef const lot_baseline_series series;

/* An interval that covers less is shown, but nothing is concluded from it. */
#define LEAST_COVERAGE 0.95

/* Noise of one series over all GPUs: the middle of theirs, so that one unstable GPU does not decide. */
typedef struct noise {
    char phase[16];
    char schedule[12];
    double repeat[2][LOT_CLOCK_COUNT]; /* before and after */
    double archive[LOT_CLOCK_COUNT];   /* between archives; NaN where it is not known */
} noise;

/* What is the same for all series. */
typedef struct scale {
    double alpha;         /* chance that noise alone is called a change, of one series, either way */
    size_t before, after; /* repeats of the series for which `rank` was worked out last */
    lot_shift_rank rank;
    noise *known;
    size_t known_count;
    double *scratch; /* room for a number of every GPU */
} scale;

/* Two archives are compared by their repeats, a baseline of several by the noise between archives. */
static bool from_several(const lot_comparing *c)
{
    return c->before->archives > 1;
}

static series *series_of(const lot_baseline_device *g, series *like)
{
    for (size_t i = 0; g != NULL && i < g->series_count; i++)
        if (strcmp(g->series[i].phase, like->phase) == 0 &&
            strcmp(g->series[i].schedule, like->schedule) == 0)
            return &g->series[i];
    return NULL;
}

static int clock_of(series *b, series *a)
{
    return isnan(a->seconds[LOT_CLOCK_DEVICE]) || isnan(b->seconds[LOT_CLOCK_DEVICE]) ? LOT_CLOCK_HOST
                                                                                      : LOT_CLOCK_DEVICE;
}

/* ---- a baseline of several archives ---- */

static double middle_of(const lot_baseline *side, const noise *like, int clock, bool archives,
                        double *scratch)
{
    size_t count = 0;

    for (size_t i = 0; i < side->device_count; i++)
        for (size_t k = 0; k < side->devices[i].series_count; k++) {
            series *s = &side->devices[i].series[k];
            const double value = archives ? s->archive_spread[clock] : s->repeat_spread[clock];

            if (!isnan(value) && strcmp(s->phase, like->phase) == 0 &&
                strcmp(s->schedule, like->schedule) == 0)
                scratch[count++] = value;
        }
    return lot_stats_median(scratch, count);
}

/* Every phase and schedule has one; there are few. NULL without memory. */
static const noise *noise_of(lot_comparing *c, scale *how, series *like)
{
    /* The median of sample deviations lies below the truth. */
    const double dof = (double)(c->before->archives - 1);
    const double middle_shrinks = sqrt(lot_chi_square_median(dof) / dof);
    noise *n;

    for (size_t i = 0; i < how->known_count; i++)
        if (strcmp(how->known[i].phase, like->phase) == 0 &&
            strcmp(how->known[i].schedule, like->schedule) == 0)
            return &how->known[i];
    if ((n = lot_grown(how->known, how->known_count, sizeof *n)) == NULL) {
        c->no_memory = true;
        return NULL;
    }
    how->known = n;
    n += how->known_count++;
    memcpy(n->phase, like->phase, sizeof n->phase);
    memcpy(n->schedule, like->schedule, sizeof n->schedule);
    for (int clock = 0; clock < LOT_CLOCK_COUNT; clock++) {
        n->repeat[0][clock] = middle_of(c->before, n, clock, false, how->scratch);
        n->repeat[1][clock] = middle_of(c->after, n, clock, false, how->scratch);
        n->archive[clock] = middle_of(c->before, n, clock, true, how->scratch) / middle_shrinks;
    }
    return n;
}

/* What a median of repeats varies by: the GPU's own spread where it is larger than the common one. */
static double repeat_variance(double own, double common, int64_t rows)
{
    const double spread = fmax(own, common);

    return rows < 2 || isnan(spread) ? 0 : spread * spread * lot_median_variance((size_t)rows);
}

/* Noise between archives holds everything that changes from one day to another; where the repeats' is larger,
 * that. */
static lot_interval between_archives(lot_comparing *c, scale *how, series *b, series *a, int clock)
{
    const noise *n = noise_of(c, how, a);
    const double change = log(a->seconds[clock] / b->seconds[clock]);
    double repeats, between, half;

    if (n == NULL || isnan(n->archive[clock]) || isnan(c->result->noise_factor))
        return (lot_interval){NAN, NAN, NAN};
    repeats = repeat_variance(b->repeat_spread[clock], n->repeat[0][clock], b->rows) +
              repeat_variance(a->repeat_spread[clock], n->repeat[1][clock], a->rows);
    between = n->archive[clock] * n->archive[clock] * (1 + lot_median_variance((size_t)b->archives));
    half = c->result->noise_factor * sqrt(fmax(repeats, between));
    return (lot_interval){change - half, change + half, 1 - how->alpha};
}

/* ---- two archives ---- */

static void take_logarithms(series *s, int clock, double *y)
{
    for (size_t i = 0; i < s->repeat_count[clock]; i++)
        y[i] = log(s->repeats[clock][i]);
}

static lot_interval between_repeats(scale *how, series *b, series *a, int clock)
{
    const size_t before = b->repeat_count[clock], after = a->repeat_count[clock];
    double x[LOT_REPEATS_KEPT], y[LOT_REPEATS_KEPT];

    if (before < 2 || after < 2 || before > LOT_REPEATS_KEPT || after > LOT_REPEATS_KEPT)
        return (lot_interval){NAN, NAN, NAN};
    if (how->before != before || how->after != after) {
        how->before = before;
        how->after = after;
        how->rank = lot_shift_rank_for(before, after, 1 - how->alpha);
    }
    take_logarithms(b, clock, x);
    take_logarithms(a, clock, y);
    return lot_shift_interval(x, before, y, after, how->rank);
}

/* ---- one series ---- */

/* Fills the interval and what follows from it: one statement, since both come from the same numbers. */
static void judge_drift(lot_comparing *c, scale *how, series *b, series *a, lot_drift *d)
{
    const int clock = clock_of(b, a);
    const double change = log(a->seconds[clock] / b->seconds[clock]);
    lot_interval i;

    if (c->result->one_run && change == 0)
        i = (lot_interval){.low = 0, .high = 0, .coverage = 1};
    else if (from_several(c))
        i = between_archives(c, how, b, a, clock);
    else
        i = between_repeats(how, b, a, clock);

    d->slower = (lot_estimate){lot_speed_lost(change), NAN, NAN};
    d->tolerated = lot_speed_lost(fabs(change)) <= c->options->tolerance;
    d->coverage = i.coverage;
    if (isnan(i.coverage))
        return;
    /* The ratio of the medians need not be what the interval is built around, but it has its place in it. */
    d->slower.low = lot_speed_lost(fmin(i.low, change));
    d->slower.high = lot_speed_lost(fmax(i.high, change));
    d->judged = i.coverage >= LEAST_COVERAGE;
    d->beyond_noise = d->judged && (d->slower.low > 0 || d->slower.high < 0);
    d->blind = d->judged && !d->beyond_noise && d->slower.high > LOT_DRIFT_BLIND;
}

static void note_verdict(lot_comparing *c, const lot_compared *p, const lot_drift *d)
{
    const bool slower = d->slower.value > 0;
    const double sign = slower ? 100 : -100;
    lot_change *change;

    if (!d->beyond_noise || d->tolerated)
        return;
    change = lot_comparing_note(c, slower ? LOT_CHANGE_SLOWER : LOT_CHANGE_FASTER, p,
                                d->clock[0] == 'd' ? "device_seconds" : "host_seconds",
                                "%.2f %% %s than before (%.2f to %.2f, an interval that covers %.4g %%; "
                                "tolerance %.2f %%)",
                                sign * d->slower.value, slower ? "slower" : "faster",
                                sign * (slower ? d->slower.low : d->slower.high),
                                sign * (slower ? d->slower.high : d->slower.low), 100 * d->coverage,
                                100 * c->options->tolerance);
    memcpy(change->phase, d->phase, sizeof change->phase);
    memcpy(change->schedule, d->schedule, sizeof change->schedule);
}

static void note_memory(lot_comparing *c, const lot_compared *p, series *b, series *a)
{
    lot_change *change = NULL;

    if (b->allocated_peak_bytes != a->allocated_peak_bytes)
        change = lot_comparing_note(c, LOT_CHANGE_COUNTER, p, "allocated_peak_bytes", "%lld, was %lld",
                                    (long long)a->allocated_peak_bytes, (long long)b->allocated_peak_bytes);
    else if (b->reserved_peak_bytes != a->reserved_peak_bytes)
        change = lot_comparing_note(c, LOT_CHANGE_COUNTER, p, "reserved_peak_bytes", "%lld, was %lld",
                                    (long long)a->reserved_peak_bytes, (long long)b->reserved_peak_bytes);
    if (change != NULL) {
        memcpy(change->phase, a->phase, sizeof change->phase);
        memcpy(change->schedule, a->schedule, sizeof change->schedule);
    }
}

static void compare_series(lot_comparing *c, const lot_compared *p, scale *how, series *b, series *a)
{
    const int clock = clock_of(b, a);
    lot_compare_result *r = c->result;
    lot_drift *grown, *d;

    if (isnan(a->seconds[clock]) || isnan(b->seconds[clock]))
        return;
    grown = lot_grown(r->drifts, r->drift_count, sizeof *grown);
    if (grown == NULL) {
        c->no_memory = true;
        return;
    }
    r->drifts = grown;
    d = &grown[r->drift_count++];
    memset(d, 0, sizeof *d);
    memcpy(d->uuid, p->after->head.device.uuid, sizeof d->uuid);
    d->rank_before = p->before->head.identity.rank;
    d->rank_after = p->after->head.identity.rank;
    memcpy(d->phase, a->phase, sizeof d->phase);
    memcpy(d->schedule, a->schedule, sizeof d->schedule);
    (void)lot_field_copy(d->clock, sizeof d->clock, clock == LOT_CLOCK_DEVICE ? "device" : "host");
    d->before_seconds = b->seconds[clock];
    d->after_seconds = a->seconds[clock];
    judge_drift(c, how, b, a, d);
    note_verdict(c, p, d);
}

/* ---- GPUs whose speed was not judged ---- */

/* Series of repeats of one GPU. */
typedef struct repeats {
    size_t compared; /* have a counterpart */
    size_t judged;
    size_t blind;
} repeats;

/* Of the last GPU, whose drifts begin at `first`. */
static repeats count_repeats(const lot_compare_result *r, size_t first)
{
    repeats n = {0, 0, 0};

    for (size_t i = first; i < r->drift_count; i++)
        if (strcmp(r->drifts[i].phase, "warm_forward") == 0) {
            n.compared++;
            n.judged += r->drifts[i].judged;
            n.blind += r->drifts[i].blind;
        }
    return n;
}

/* A speed that was not judged is not a good one. A GPU without repeats is among the failed already. */
static void note_undecided(lot_comparing *c, const lot_compared *p, size_t first)
{
    const repeats n = count_repeats(c->result, first);

    if (p->before == NULL || p->after == NULL || !lot_comparing_has_repeats(p->after) || n.judged > n.blind)
        return;
    if (n.blind > 0)
        (void)lot_comparing_note(c, LOT_CHANGE_UNDECIDED, p, "warm_forward",
                                 "its times vary so much that a loss of %.0f %% can hide in them",
                                 100 * LOT_DRIFT_BLIND);
    else if (n.compared == 0)
        (void)lot_comparing_note(
            c, LOT_CHANGE_UNDECIDED, p, "warm_forward",
            "its repeats have no counterpart before: another schedule, or none was measured");
    else
        (void)lot_comparing_note(c, LOT_CHANGE_UNDECIDED, p, "warm_forward",
                                 "its speed was not judged: too few %s for an interval that covers %.0f %%",
                                 from_several(c) ? "archives" : "repeats", 100 * LEAST_COVERAGE);
}

/* ---- all of them ---- */

/* A phase of one GPU that the other time does not have. */
static void note_unpaired(lot_comparing *c, series *alone, bool now)
{
    lot_compare_result *r = c->result;
    lot_unpaired *u;

    for (size_t i = 0; i < r->unpaired_count; i++) {
        u = &r->unpaired[i];
        if (u->now == now && strcmp(u->phase, alone->phase) == 0 &&
            strcmp(u->schedule, alone->schedule) == 0) {
            u->devices++;
            return;
        }
    }
    if ((u = lot_grown(r->unpaired, r->unpaired_count, sizeof *u)) == NULL) {
        c->no_memory = true;
        return;
    }
    r->unpaired = u;
    u += r->unpaired_count++;
    *u = (lot_unpaired){.now = now, .devices = 1};
    memcpy(u->phase, alone->phase, sizeof u->phase);
    memcpy(u->schedule, alone->schedule, sizeof u->schedule);
}

static void compare_pair(lot_comparing *c, const lot_compared *p, scale *how)
{
    const size_t first = c->result->drift_count;
    const bool both = p->before != NULL && p->after != NULL;

    for (size_t k = 0; both && k < p->after->series_count; k++) {
        series *a = &p->after->series[k];
        series *b = series_of(p->before, a);

        if (b == NULL) {
            note_unpaired(c, a, true);
            continue;
        }
        compare_series(c, p, how, b, a);
        note_memory(c, p, b, a);
    }
    for (size_t k = 0; both && k < p->before->series_count; k++)
        if (series_of(p->after, &p->before->series[k]) == NULL)
            note_unpaired(c, &p->before->series[k], false);
    note_undecided(c, p, first);
}

/* Every time that can be judged is one chance to be wrong. */
static double count_tests(const lot_comparing *c)
{
    double tests = 0;

    for (size_t i = 0; i < c->pair_count; i++) {
        const lot_compared *p = &c->pairs[i];

        for (size_t k = 0; p->before != NULL && p->after != NULL && k < p->after->series_count; k++) {
            series *a = &p->after->series[k];
            series *b = series_of(p->before, a);

            if (b != NULL)
                tests += from_several(c) ||
                         (b->repeat_count[clock_of(b, a)] > 1 && a->repeat_count[clock_of(b, a)] > 1);
        }
    }
    return fmax(tests, 1);
}

/* Which runs they are, where each is one. */
static void note_runs(const lot_comparing *c)
{
    lot_compare_result *r = c->result;

    if (!from_several(c) && c->before->device_count > 0)
        (void)lot_field_copy(r->run_id_before, sizeof r->run_id_before,
                             c->before->devices[0].head.identity.run_id);
    if (c->after->device_count > 0)
        (void)lot_field_copy(r->run_id_after, sizeof r->run_id_after,
                             c->after->devices[0].head.identity.run_id);
    r->one_run = r->run_id_after[0] != '\0' && strcmp(r->run_id_after, r->run_id_before) == 0;
}

/* Whether a GPU measured now began before it did then, by its host's clock. */
static bool is_backwards(const lot_comparing *c)
{
    for (size_t i = 0; i < c->pair_count; i++) {
        const lot_compared *p = &c->pairs[i];

        if (p->before != NULL && p->after != NULL && p->after->head.environment.started_utc[0] != '\0' &&
            strcmp(p->after->head.environment.started_utc, p->before->head.environment.started_utc) < 0)
            return true;
    }
    return false;
}

void lot_comparing_times(lot_comparing *c)
{
    const size_t most = c->before->device_count + c->after->device_count;
    scale how = {.alpha = c->options->level / count_tests(c),
                 .scratch = malloc((most + 1) * sizeof *how.scratch)};

    c->no_memory = c->no_memory || how.scratch == NULL;
    note_runs(c);
    c->result->backwards = is_backwards(c);
    c->result->interval_level = 1 - how.alpha;
    c->result->archive_dof = lot_baseline_dof(c->before, c->result->matched);
    c->result->noise_factor = c->result->archive_dof >= LOT_BASELINE_LEAST_DOF
                                  ? lot_student_quantile(how.alpha / 2, c->result->archive_dof)
                                  : NAN;
    for (size_t i = 0; !c->no_memory && i < c->pair_count; i++)
        compare_pair(c, &c->pairs[i], &how);
    free(how.known);
    free(how.scratch);
}
