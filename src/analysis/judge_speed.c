/* Slow or not: times among peers. docs/consistency.md derives the rule. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/contest.h"
#include "analysis/spread.h"
#include "core/count.h"
#include "core/distributions.h"
#include "core/field.h"
#include "core/grown.h"
#include "core/stats.h"

/* Of the level that may be spent on false alarms; the rest is for the judges of repeats. */
#define SPEED_SHARE 0.8

/* Of repeats three things can be found: a drift in two directions, and that they come late. */
#define REPEAT_TESTS 3

/* Quantile of the normal distribution, 97.5 %. */
#define NORMAL_975 1.95996398454005

static const char *const schedules[] = {"together", "solo", "pairs"};
static const char *const phases[] = {"warm_forward", "soak"};

#define SCHEDULE_COUNT (sizeof schedules / sizeof schedules[0])
#define PHASE_COUNT    (sizeof phases / sizeof phases[0])

/* Without an interval where the variance is NaN. */
static lot_estimate effect(double d, double variance)
{
    const double half = NORMAL_975 * sqrt(variance);

    return (lot_estimate){lot_speed_lost(d), lot_speed_lost(d - half), lot_speed_lost(d + half)};
}

/* How one entrant compares with the middle of its peers. */
typedef struct standing {
    size_t peers;
    double distance; /* of the logarithms */
    lot_estimate slower;
    double threshold; /* its own: from its noise and the belief that its peers leave; share of speed lost */
} standing;

static void find_slow(lot_case *c, const lot_contest *k, const lot_entrant *e, const standing *at)
{
    const lot_estimate *slower = &at->slower;
    lot_finding *f =
        lot_case_find_slow(c, e->gpu, LOT_EVIDENCE_PEER,
                           k->clock == LOT_CLOCK_DEVICE ? "device_seconds" : "host_seconds", slower->value);

    lot_finding_place(f, k->phase, k->schedule);
    lot_finding_number(f, slower->value, at->threshold, "1");
    f->low = slower->low;
    f->high = slower->high;
    if (isnan(slower->low))
        lot_finding_say(
            f,
            "%.2f %% slower than the middle of %s (no interval: one time does not tell its noise; "
            "own threshold without it %.2f %%)",
            100 * slower->value, lot_count((int64_t)at->peers, "peer").text, 100 * at->threshold);
    else
        lot_finding_say(
            f, "%.2f %% slower than the middle of %s (95 %% interval %.2f to %.2f %%; own threshold %.2f %%)",
            100 * slower->value, lot_count((int64_t)at->peers, "peer").text, 100 * slower->low,
            100 * slower->high, 100 * at->threshold);
}

/* Which schedule's numbers stand in the table of GPUs: the first one that there is. */
static void note_device(lot_case *c, const lot_contest *k, const lot_entrant *e, const lot_estimate *slower)
{
    lot_checked_device *d = &c->result->devices[e->gpu];

    if (d->clock[0] != '\0')
        return;
    (void)lot_field_copy(d->schedule, sizeof d->schedule, k->schedule);
    (void)lot_field_copy(d->clock, sizeof d->clock, k->clock == LOT_CLOCK_DEVICE ? "device" : "host");
    d->repeats = e->timing->rows;
    d->median_seconds = e->timing->median_seconds;
    d->repeat_spread = e->timing->robust_deviation;
    d->slower = *slower;
}

static lot_comparison *next_comparison(lot_case *c)
{
    lot_check_result *r = c->result;
    lot_comparison *grown = lot_grown(r->comparisons, r->comparison_count, sizeof *grown);

    if (grown == NULL) {
        c->no_memory = true;
        return NULL;
    }
    r->comparisons = grown;
    return &grown[r->comparison_count++];
}

/* A comparison that would miss a GPU this slow says little, and nobody should have to look for that. */
#define BLIND 0.25

static void note_blindness(lot_case *c, const lot_contest *k, double detectable)
{
    lot_finding *f;

    if (detectable <= BLIND)
        return;
    f = lot_case_find(c, LOT_NO_DEVICE_INDEX, LOT_VERDICT_INFORMATION, LOT_EVIDENCE_PEER, "detectable");
    lot_finding_place(f, k->phase, k->schedule);
    lot_finding_number(f, detectable, BLIND, "1");
    lot_finding_say(
        f,
        "times of group %zu, %zu x %.90s, vary so much that only a GPU %.0f %% slower is sure to be "
        "found",
        k->group + 1, k->count, c->result->groups[k->group].name, 100 * detectable);
}

/* Notes the comparison as a whole; the belief is that of one more honest GPU against all of them but one. */
static void note_comparison(lot_case *c, const lot_contest *k, const lot_spread_prior *prior,
                            lot_spread_belief *belief)
{
    lot_comparison *n = next_comparison(c);
    double threshold;

    if (n == NULL)
        return;
    memset(n, 0, sizeof *n);
    n->group = k->group;
    (void)lot_field_copy(n->phase, sizeof n->phase, k->phase);
    (void)lot_field_copy(n->schedule, sizeof n->schedule, k->schedule);
    (void)lot_field_copy(n->clock, sizeof n->clock, k->clock == LOT_CLOCK_DEVICE ? "device" : "host");
    n->devices = k->count;
    n->repeats = k->repeats;
    n->median_seconds = exp(lot_stats_median(k->y, k->count));
    n->repeat_noise = k->noise;
    n->own_spread = k->count >= 3 ? lot_stats_robust_deviation(k->y, k->count) : NAN;
    n->used_spread = n->typical_threshold = n->detectable = n->false_alarm = NAN;
    if (k->count < 2)
        return;
    belief->centre_factor = lot_median_variance(k->count - 1);
    threshold = lot_spread_threshold(prior, belief, c->finding_chance);
    n->used_spread = lot_spread_mean(prior, belief);
    n->typical_threshold = lot_speed_lost(threshold);
    n->false_alarm = c->finding_chance;
    if (isnan(k->noise))
        return;
    /* A GPU that slow passes the threshold unless it was one of the fastest twentieth before. */
    n->detectable = lot_speed_lost(threshold + lot_spread_threshold(prior, belief, 0.05));
    note_blindness(c, k, n->detectable);
}

/* `judge` is the belief from the peers with the GPU's own noise; NULL where it cannot be slow. */
static void judge_entrant(lot_case *c, const lot_contest *k, const lot_entrant *e,
                          const lot_spread_prior *prior, const lot_spread_belief *judge, standing *at)
{
    note_device(c, k, e, &at->slower);
    if (!isnan(k->noise)) { /* one repeat can show that a GPU is slow, not that it is good */
        c->gpus[e->gpu].speed_judged = true;
        lot_case_good(c, e->gpu, LOT_EVIDENCE_PEER);
    }
    if (judge == NULL || lot_spread_tail(prior, judge, at->distance) >= c->finding_chance)
        return;
    at->threshold = lot_speed_lost(lot_spread_threshold(prior, judge, c->finding_chance));
    find_slow(c, k, e, at);
}

/* `judge` is the belief that is left when the entrant is; `used` the spread of all. Where one time stands for
 * a GPU its noise is not known, and there is no interval. */
static standing standing_of(const lot_contest *k, const lot_entrant *e, const lot_middle *peers,
                            const lot_spread_belief *judge, double used)
{
    const double variance = judge->variance + lot_spread_centre_variance(judge, used);
    const double d = e->y - peers->y;

    return (standing){peers->count, d, effect(d, isnan(k->noise) ? NAN : variance), NAN};
}

/* Judges every entrant of a sorted contest of at least two. Only one in the slower half, with the middle one
 * of an odd number, can lie above the middle of the others; that middle, and the fit around it, is the same
 * for all of the half but the middle one. */
static void judge_entrants(lot_case *c, const lot_contest *k, const lot_spread_prior *prior,
                           const lot_spread_belief *all)
{
    const double used = lot_spread_mean(prior, all);
    const size_t first_slow = k->count / 2, slower_half = (k->count + 1) / 2;
    lot_spread_fit fit;

    for (size_t i = 0; i < k->count; i++) {
        const lot_entrant *e = &k->entrants[i];
        const lot_middle peers = lot_contest_middle_without(k, i);
        lot_spread_belief judge = *all;
        standing at;

        if (i == first_slow || i == slower_half)
            lot_spread_fit_make(prior, k->y, all->variance, k->count, peers.y, &fit);
        if (i >= first_slow)
            lot_spread_without(prior, &fit, e->y, &judge);
        judge.variance = lot_contest_own_variance(k, e);
        judge.centre_variance = peers.noise;
        judge.centre_factor = lot_median_variance(peers.count);
        at = standing_of(k, e, &peers, &judge, used);
        judge_entrant(c, k, e, prior, i >= first_slow ? &judge : NULL, &at);
    }
}

/* GPUs that did not finish have no voice but are set against those that did, at least one. */
static void judge_unfinished(lot_case *c, const lot_contest *k, const lot_spread_prior *prior,
                             const lot_spread_belief *all)
{
    const lot_middle peers = lot_contest_middle_without(k, k->count);
    const double used = lot_spread_mean(prior, all);
    lot_spread_belief judge = *all;

    judge.centre_variance = peers.noise;
    for (size_t i = c->group_first[k->group]; i < c->group_first[k->group + 1]; i++) {
        const lot_series *s = lot_contest_series(c, k, i);
        standing at;
        lot_entrant e;

        if (s == NULL || lot_contest_finished(&c->gpus[i], s) || s->timing[k->clock].rows == 0 ||
            c->gpus[i].repeated)
            continue;
        e = lot_contest_entrant(k, i, s);
        judge.variance = lot_contest_own_variance(k, &e);
        at = standing_of(k, &e, &peers, &judge, used);
        judge_entrant(c, k, &e, prior, &judge, &at);
    }
}

/* A GPU whose times nothing can be set against has its place in the table all the same. */
static void note_alone(lot_case *c, const lot_contest *k)
{
    const lot_estimate unknown = {NAN, NAN, NAN};

    for (size_t i = c->group_first[k->group]; i < c->group_first[k->group + 1]; i++) {
        const lot_series *s = lot_contest_series(c, k, i);
        lot_entrant e;

        if (s == NULL || s->timing[k->clock].rows == 0)
            continue;
        e = lot_contest_entrant(k, i, s);
        note_device(c, k, &e, &unknown);
    }
}

static void judge_contest(lot_case *c, lot_contest *k, const lot_spread_prior *prior)
{
    lot_spread_fit fit;
    lot_spread_belief all;

    lot_contest_enter(c, k);
    if (k->count == 0) {
        note_alone(c, k);
        return;
    }
    lot_spread_fit_make(prior, k->y, lot_contest_variance(k), k->count, lot_stats_median(k->y, k->count),
                        &fit);
    lot_spread_all(prior, &fit, &all);
    judge_unfinished(c, k, prior, &all);
    if (k->count > 1)
        judge_entrants(c, k, prior, &all);
    lot_contest_judge_late(c, k);
    note_comparison(c, k, prior, &all);
    note_alone(c, k);
}

/* How many GPUs of a group have each series. */
typedef struct entrants_of {
    size_t count[PHASE_COUNT][SCHEDULE_COUNT];
} entrants_of;

static size_t place_in(const char *const *names, size_t count, const char *name)
{
    size_t i = 0;

    while (i < count && strcmp(names[i], name) != 0)
        i++;
    return i;
}

static entrants_of count_entrants(const lot_case *c, size_t group)
{
    entrants_of entrants = {{{0}}};

    for (size_t i = c->group_first[group]; i < c->group_first[group + 1]; i++)
        for (size_t k = 0; k < c->gpus[i].seen->count; k++) {
            const lot_series *series = &c->gpus[i].seen->series[k];
            const size_t p = place_in(phases, PHASE_COUNT, series->phase);
            const size_t s =
                p < PHASE_COUNT ? place_in(schedules, SCHEDULE_COUNT, series->schedule) : SCHEDULE_COUNT;

            if (s < SCHEDULE_COUNT)
                entrants.count[p][s]++;
        }
    return entrants;
}

/* Every phase and schedule of one group. */
static void judge_contests(lot_case *c, lot_contest *k, const lot_spread_prior *prior)
{
    const entrants_of entrants = count_entrants(c, k->group);

    for (size_t p = 0; p < PHASE_COUNT; p++)
        for (size_t s = 0; s < SCHEDULE_COUNT; s++) {
            k->phase = phases[p];
            k->schedule = schedules[s];
            if (entrants.count[p][s] > 0)
                judge_contest(c, k, prior);
        }
}

/* The level is shared by every comparison of every GPU that can be made. */
static void count_tests(lot_case *c)
{
    for (size_t g = 0; g < c->group_count; g++) {
        const entrants_of entrants = count_entrants(c, g);

        for (size_t p = 0; p < PHASE_COUNT; p++)
            for (size_t s = 0; s < SCHEDULE_COUNT; s++)
                c->tests += entrants.count[p][s] > 1 ? (double)entrants.count[p][s] : 0;
    }
    c->finding_chance = SPEED_SHARE * c->options->level / (c->tests > 0 ? c->tests : 1);
}

double lot_case_repeat_chance(const lot_case *c)
{
    return (1 - SPEED_SHARE) * c->options->level / (REPEAT_TESTS * (c->tests > 1 ? c->tests : 1));
}

void lot_judge_speed(lot_case *c)
{
    lot_contest k = {.entrants = malloc((c->count + 1) * sizeof *k.entrants),
                     .y = malloc((c->count + 1) * sizeof *k.y)};
    lot_spread_prior prior;

    c->no_memory = c->no_memory || k.entrants == NULL || k.y == NULL;
    lot_spread_prior_make(c->options->prior, &prior);
    count_tests(c);
    for (k.group = 0; !c->no_memory && k.group < c->group_count; k.group++) {
        judge_contests(c, &k, &prior);
        c->group_comparison[k.group + 1] = c->result->comparison_count;
    }
    free(k.entrants);
    free(k.y);
}
