/* A GPU's own passes among themselves: drift, clusters, contention, the soak, and reasons for slowing down.
 */
#include <math.h>
#include <string.h>

#include "analysis/judge.h"
#include "core/count.h"
#include "core/distributions.h"

/* A change below this is no fault, however sure it is: clocks move by a step as a GPU warms up, and repeats
 * that follow one another are alike. Assumption. */
#define LEAST_CHANGE 0.02

/* Two clusters must be apart by so many times the noise of the group's GPUs, and by so many times the spread
 * that is left within the two. Assumptions; docs/measurements/power.md counts what they accuse wrongly. */
#define GAP_OVER_NOISE  5.0
#define GAP_OVER_WITHIN 8.0

/* Share of a phase's time under one reason for slowing down that is a fault. Assumption. */
#define LEAST_SLOWDOWN 0.01

/* ---- drift and clusters ---- */

static void judge_drift(lot_case *c, size_t gpu, const lot_series *s, const lot_timing *t)
{
    const double chance = lot_case_repeat_chance(c);
    const double excess = fabs(t->change) - LEAST_CHANGE, dof = (double)t->rows - 2;
    double half;
    lot_finding *f;

    if (t->rows < 4 || !(excess > 0) || lot_student_tail(excess / t->change_error, dof) >= chance)
        return;
    f = lot_case_find(c, gpu, LOT_VERDICT_UNSTABLE, LOT_EVIDENCE_REPEAT, "drift");
    lot_finding_place(f, s->phase, s->schedule);
    lot_finding_number(f, expm1(t->change),
                       expm1(LEAST_CHANGE + lot_student_quantile(chance, dof) * t->change_error), "1");
    half = lot_student_quantile(0.025, dof) * t->change_error;
    f->low = expm1(t->change - half);
    f->high = expm1(t->change + half);
    lot_finding_say(f, "its time changes by %+.2f %% from the first to the last of %lld repeats",
                    100 * expm1(t->change), (long long)t->rows);
}

static void judge_clusters(lot_case *c, size_t gpu, const lot_series *s, const lot_timing *t, double noise)
{
    const double over_noise = isnan(noise) ? 0 : GAP_OVER_NOISE * noise;
    const double within =
        fmax(t->gap_deviation, t->step / sqrt(12)); /* rounded times lie close by no merit */
    const double limit = fmax(LEAST_CHANGE, fmax(over_noise, GAP_OVER_WITHIN * within));
    lot_finding *f;

    if (isnan(t->gap) || t->gap <= limit)
        return;
    f = lot_case_find(c, gpu, LOT_VERDICT_UNSTABLE, LOT_EVIDENCE_REPEAT, "clusters");
    lot_finding_place(f, s->phase, s->schedule);
    lot_finding_number(f, expm1(t->gap), expm1(limit), "1");
    lot_finding_say(f, "its times fall into two clusters %.2f %% apart, %.0f %% of them in the smaller",
                    100 * expm1(t->gap), 100 * t->gap_share);
}

/* The noise of the comparison that the series took part in; NaN where there were too few GPUs to tell one
 * GPU's clusters from the noise of all. */
static double group_noise(const lot_case *c, size_t gpu, const lot_series *s)
{
    const size_t group = c->result->devices[gpu].group;

    for (size_t i = c->group_comparison[group]; i < c->group_comparison[group + 1]; i++) {
        const lot_comparison *n = &c->result->comparisons[i];

        if (strcmp(n->phase, s->phase) == 0 && strcmp(n->schedule, s->schedule) == 0)
            return n->devices > 1 ? n->repeat_noise : NAN;
    }
    return NAN;
}

/* Time together over time solo: what the neighbours cost. */
static void note_contention(lot_case *c, size_t gpu)
{
    const lot_series *together = lot_observation_find(c->gpus[gpu].seen, "warm_forward", "together");
    const lot_series *solo = lot_observation_find(c->gpus[gpu].seen, "warm_forward", "solo");
    const lot_timing *t, *s;
    double d, variance, half;

    if (together == NULL || solo == NULL)
        return;
    t = &together->timing[lot_series_clock(together)];
    s = &solo->timing[lot_series_clock(together)];
    if (t->rows < 2 || s->rows < 2)
        return;
    d = log(t->median_seconds / s->median_seconds);
    variance = lot_timing_variance(t) + lot_timing_variance(s);
    half = lot_student_quantile(0.025, (double)(t->rows < s->rows ? t->rows : s->rows) - 1) * sqrt(variance);
    c->result->devices[gpu].contention = (lot_estimate){exp(d), exp(d - half), exp(d + half)};
}

void lot_judge_repeats(lot_case *c)
{
    for (size_t i = 0; i < c->count; i++) {
        note_contention(c, i);
        for (size_t k = 0; k < c->gpus[i].seen->count; k++) {
            const lot_series *s = &c->gpus[i].seen->series[k];
            const lot_timing *t = &s->timing[lot_series_clock(s)];

            if (strcmp(s->phase, "warm_forward") == 0)
                judge_drift(c, i, s, t);
            if (strcmp(s->phase, "warm_forward") == 0 || strcmp(s->phase, "soak") == 0)
                judge_clusters(c, i, s, t, group_noise(c, i, s));
        }
    }
}

/* ---- soak ---- */

static void judge_soak_series(lot_case *c, size_t gpu, const lot_series *s)
{
    const lot_timing *t = &s->timing[lot_series_clock(s)];
    lot_finding *f;

    if (s->passes < c->options->soak_passes || s->digested_rows == 0) {
        f = lot_case_find(c, gpu, LOT_VERDICT_NOT_MEASURED, LOT_EVIDENCE_REPEAT, "soak_passes");
        lot_finding_place(f, s->phase, s->schedule);
        lot_finding_number(f, s->digested_rows == 0 ? 0 : (double)s->passes, (double)c->options->soak_passes,
                           "");
        lot_finding_say(f, "%s, too few for a soak (at least %lld): give --soak more time",
                        lot_count(s->digested_rows == 0 ? 0 : s->passes, "verified pass").text,
                        (long long)c->options->soak_passes);
    }
    if (!isnan(t->change)) {
        const double half =
            t->rows > 2 ? lot_student_quantile(0.025, (double)t->rows - 2) * t->change_error : NAN;

        c->result->devices[gpu].soak_drift =
            (lot_estimate){exp(t->change), exp(t->change - half), exp(t->change + half)};
    }
    judge_drift(c, gpu, s, t);
}

void lot_judge_soak(lot_case *c)
{
    for (size_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < c->gpus[i].seen->count; k++)
            if (strcmp(c->gpus[i].seen->series[k].phase, "soak") == 0)
                judge_soak_series(c, i, &c->gpus[i].seen->series[k]);
}

/* ---- reasons for slowing down ---- */

static void judge_reason(lot_case *c, size_t gpu, const lot_series *s, lot_slowdown reason)
{
    static const char *const names[] = {
#define SLOWDOWN_NAME(name, bit) #name,
        LOT_SLOWDOWN_LIST(SLOWDOWN_NAME)
#undef SLOWDOWN_NAME
    };
    const bool counted = !isnan(s->slowdown_seconds[reason]);
    const double seconds = counted ? s->slowdown_seconds[reason] : s->slowdown_sampled[reason];
    const double whole = counted ? s->counted_seconds : s->busy_seconds;
    const double share = seconds > whole ? 1 : seconds / whole; /* NaN stays NaN */
    const bool fault = reason != LOT_SLOWDOWN_sw_power_cap;
    lot_finding *f;

    if (isnan(share) || share < LEAST_SLOWDOWN)
        return;
    f = lot_case_find(c, gpu, fault ? LOT_VERDICT_THROTTLED : LOT_VERDICT_INFORMATION, LOT_EVIDENCE_REPEAT,
                      names[reason]);
    lot_finding_place(f, s->phase, s->schedule);
    lot_finding_number(f, share, LEAST_SLOWDOWN, "1");
    lot_finding_say(f, "%.1f %% of the phase's time under %s%s%s", 100 * share, names[reason],
                    counted ? "" : ", from the state at the end of each row",
                    fault ? "" : ": information, no fault");
}

void lot_judge_slowdown(lot_case *c)
{
    for (size_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < c->gpus[i].seen->count; k++)
            for (int r = 0; r < LOT_SLOWDOWN_COUNT; r++)
                if (c->gpus[i].seen->series[k].busy_seconds > 0)
                    judge_reason(c, i, &c->gpus[i].seen->series[k], (lot_slowdown)r);
}
