/* Slow or not without peers: against rates that somebody expects and against an earlier run. */
#include <math.h>
#include <string.h>

#include "analysis/groups.h"
#include "analysis/judge.h"
#include "analysis/spread.h"
#include "core/count.h"
#include "core/field.h"
#include "core/stats.h"

#define NORMAL_950 1.64485362695147

/* The time that stands for a GPU: its first warm series, on the device's clock where it has one. */
static const lot_timing *time_of(const lot_observation *seen, const lot_series **series)
{
    static const char *const schedules[] = {"together", "solo", "pairs"};

    for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++) {
        const lot_series *s = lot_observation_find(seen, "warm_forward", schedules[i]);

        if (s != NULL && s->timing[lot_series_clock(s)].rows > 0) {
            *series = s;
            return &s->timing[lot_series_clock(s)];
        }
    }
    return NULL;
}

/* One repeat can show that a GPU is slow, not that it is good. */
static void note_judged(lot_case *c, size_t gpu, const lot_timing *t)
{
    c->gpus[gpu].speed_judged = c->gpus[gpu].speed_judged || t->rows > 1;
}

static bool agrees(int64_t expected, int64_t actual)
{
    return expected == LOT_NULL_I64 || expected == actual;
}

static bool applies(const lot_expectation *e, const lot_record_head *head)
{
    const lot_model *m = &head->synthetic_model;

    return strcmp(e->model, head->device.name) == 0 && strcmp(e->dtype, m->dtype) == 0 &&
           strcmp(e->math, m->math) == 0 && agrees(e->batch, m->batch) && agrees(e->context, m->context) &&
           agrees(e->width, m->width) && agrees(e->hidden, m->hidden);
}

/* Slow where even the fast end of what the repeats allow misses the rate by more than its tolerance. */
static void judge_expected(lot_case *c, size_t gpu, const lot_expectation *e, const lot_series *s,
                           const lot_timing *t)
{
    const double flops = (double)c->gpus[gpu].head->synthetic_model.flops_per_forward;
    const double rate = flops / t->median_seconds;
    const double half = NORMAL_950 * sqrt(lot_timing_variance(t));
    lot_finding *f;

    note_judged(c, gpu, t);
    if (rate * exp(half) >= e->flops_per_second * (1 - e->tolerance)) {
        if (t->rows > 1)
            lot_case_good(c, gpu, LOT_EVIDENCE_EXPECTATION);
        return;
    }
    f = lot_case_find_slow(c, gpu, LOT_EVIDENCE_EXPECTATION, "flops_per_second",
                           1 - rate / e->flops_per_second);
    lot_finding_place(f, s->phase, s->schedule);
    lot_finding_number(f, rate, e->flops_per_second * (1 - e->tolerance), "1/s");
    f->low = t->rows > 1 ? rate * exp(-half) : NAN;
    f->high = t->rows > 1 ? rate * exp(half) : NAN;
    lot_finding_say(f, "%.4g FLOP/s, %.2f %% below the expected %.4g (%.100s)", rate,
                    100 * (1 - rate / e->flops_per_second), e->flops_per_second, e->source);
}

static void judge_expectations(lot_case *c, size_t gpu, const lot_series *s, const lot_timing *t)
{
    const lot_expectations *list = c->options->expectations;
    bool any = false;

    for (size_t i = 0; list != NULL && i < list->count; i++)
        if (applies(&list->items[i], c->gpus[gpu].head)) {
            any = true;
            judge_expected(c, gpu, &list->items[i], s, t);
        }
    if (list != NULL && !any)
        lot_finding_say(
            lot_case_find(c, gpu, LOT_VERDICT_INFORMATION, LOT_EVIDENCE_EXPECTATION, "flops_per_second"),
            "no expectation is for this exact model and work");
}

/* A few hundred earlier GPUs tell their middle well enough, which keeps the whole linear. */
#define EARLIER_MOST 256

/* Earlier GPUs of the same group, on the same clock and schedule. */
typedef struct earlier {
    double y[EARLIER_MOST];        /* ln seconds of the median repeat */
    double variance[EARLIER_MOST]; /* that its repeats give it */
    size_t count;
} earlier;

static void find_earlier(const lot_case *c, size_t gpu, const lot_series *s, earlier *found)
{
    size_t first;
    const size_t end = lot_case_earlier(c, c->gpus[gpu].head, &first);

    found->count = 0;
    for (size_t i = first; i < end && found->count < EARLIER_MOST; i++) {
        const lot_series *e = lot_observation_find(c->earlier[i].seen, s->phase, s->schedule);
        const lot_timing *t = e == NULL ? NULL : &e->timing[lot_series_clock(s)];

        if (t == NULL || t->rows == 0)
            continue;
        found->y[found->count] = log(t->median_seconds);
        found->variance[found->count++] = lot_timing_variance(t);
    }
}

/* Where the earlier run has no equal GPU, says what the one that is most alike differs in: in the order of
 * groups it stands just before or just after the place where equal ones would. */
static void say_incomparable(lot_case *c, size_t gpu)
{
    const lot_record_head *head = c->gpus[gpu].head;
    char before[192] = "", after[192] = "";
    size_t first, equal_before = 0, equal_after = 0;

    if (c->earlier_count == 0 || lot_case_earlier(c, head, &first) > first)
        return;
    if (first > 0)
        equal_before = lot_group_difference(head, c->earlier[first - 1].head, before, sizeof before);
    if (first < c->earlier_count)
        equal_after = lot_group_difference(head, c->earlier[first].head, after, sizeof after);
    lot_finding_say(
        lot_case_find(c, gpu, LOT_VERDICT_INFORMATION, LOT_EVIDENCE_EXPECTATION, "earlier_seconds"),
        "no GPU of the earlier archive is equal: %s", equal_before > equal_after ? before : after);
}

/* The earlier GPUs stand for peers, of whose spread only the prior is taken: they ran at another time. */
static void judge_earlier(lot_case *c, size_t gpu, const lot_series *s, const lot_timing *t,
                          const lot_spread_prior *prior)
{
    const double chance = c->options->level / (double)c->count;
    lot_spread_belief belief;
    double d, threshold;
    earlier peers;
    lot_finding *f;

    find_earlier(c, gpu, s, &peers);
    if (peers.count == 0)
        return;
    lot_spread_prior_only(prior, peers.count, lot_timing_variance(t), &belief);
    belief.centre_variance = lot_stats_median(peers.variance, peers.count);
    d = log(t->median_seconds) - lot_stats_median(peers.y, peers.count);
    note_judged(c, gpu, t);
    if (lot_spread_tail(prior, &belief, d) >= chance) {
        if (t->rows > 1)
            lot_case_good(c, gpu, LOT_EVIDENCE_EXPECTATION);
        return;
    }
    threshold = lot_spread_threshold(prior, &belief, chance);
    f = lot_case_find_slow(c, gpu, LOT_EVIDENCE_EXPECTATION, "earlier_seconds", lot_speed_lost(d));
    lot_finding_place(f, s->phase, s->schedule);
    lot_finding_number(f, lot_speed_lost(d), lot_speed_lost(threshold), "1");
    lot_finding_say(f, "%.2f %% slower than %s of the earlier archive (own threshold %.2f %%)",
                    100 * lot_speed_lost(d), lot_count((int64_t)peers.count, "equal GPU").text,
                    100 * lot_speed_lost(threshold));
}

void lot_judge_rates(lot_case *c)
{
    lot_spread_prior prior;

    lot_spread_prior_make(c->options->prior, &prior);
    for (size_t i = 0; i < c->count; i++) {
        const lot_series *s = NULL;
        const lot_timing *t = time_of(c->gpus[i].seen, &s);

        if (t == NULL)
            continue;
        judge_expectations(c, i, s, t);
        say_incomparable(c, i);
        judge_earlier(c, i, s, t, &prior);
    }
}
