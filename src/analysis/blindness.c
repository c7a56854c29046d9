/* What a check could not have seen, and what it cost. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/judge.h"
#include "core/checked.h"

/* With no event in n independent trials, 1 - 0.05^(1/n) bounds its chance with 95 % confidence; 3 / n is
 * above it for every n (J. A. Hanley, A. Lippman-Hand, "If nothing goes wrong, is everything all right?",
 * JAMA 249, 1983: the rule of three). */
#define RULE_OF_THREE 3.0

#define MILLIONTHS       1000000
#define HOURS_A_DAY      24
#define MILLISECONDS_DAY INT64_C(86400000)

static void bound_corruption(lot_case *c)
{
    for (size_t g = 0; g < c->group_count; g++) {
        lot_checked_group *group = &c->result->groups[g];
        bool clean = true;

        for (size_t i = c->group_first[g]; i < c->group_first[g + 1]; i++) {
            const unsigned verdicts = c->result->devices[i].verdicts;

            group->verified_passes += c->result->devices[i].verified_passes;
            clean = clean && (verdicts & LOT_VERDICT_BIT(LOT_VERDICT_CORRUPT)) == 0;
        }
        group->corruption_bound = clean && group->verified_passes > 0
                                      ? fmin(RULE_OF_THREE / (double)group->verified_passes, 1)
                                      : NAN;
    }
}

/* Whether the same dtype and math were tried by a group before this one. */
static bool tried_before(const lot_case *c, size_t group)
{
    const lot_model *m = &c->gpus[c->group_first[group]].head->synthetic_model;

    for (size_t g = 0; g < group; g++) {
        const lot_model *other = &c->gpus[c->group_first[g]].head->synthetic_model;

        if (strcmp(m->dtype, other->dtype) == 0 && strcmp(m->math, other->math) == 0)
            return true;
    }
    return false;
}

/* What was tried, each once, in the order of the groups. Once the text is full, nothing new fits. */
static void list_precisions(lot_case *c)
{
    char *text = c->result->precisions;
    const size_t size = sizeof c->result->precisions;
    size_t used = 0;

    for (size_t g = 0; g < c->group_count && used < size; g++) {
        const lot_model *m = &c->gpus[c->group_first[g]].head->synthetic_model;

        if (m->dtype[0] != '\0' && !tried_before(c, g))
            used += (size_t)snprintf(text + used, size - used, "%s%s%s", used > 0 ? ", " : "", m->dtype,
                                     strcmp(m->math, "tf32") == 0 ? " (tf32)" : "");
    }
}

/* A slow GPU lacks its share, one that failed or was lost all of it. */
static int64_t lost_millionths(const lot_check_result *r)
{
    const unsigned gone = LOT_VERDICT_BIT(LOT_VERDICT_LOST) | LOT_VERDICT_BIT(LOT_VERDICT_FAILED);
    int64_t lost = (int64_t)r->missing * MILLIONTHS;

    for (size_t i = 0; i < r->device_count; i++) {
        const lot_checked_device *d = &r->devices[i];

        if ((d->verdicts & gone) != 0)
            lost += MILLIONTHS;
        else if ((d->verdicts & LOT_VERDICT_BIT(LOT_VERDICT_SLOW)) != 0 && d->slower.value > 0)
            lost += llround(d->slower.value * MILLIONTHS);
    }
    return lost;
}

/* Adds one archive's price, and its time at that price. False where it has none, where a GPU and a day of it
 * cost something else than those before, or where a number does not fit. */
static bool add_price(const lot_check_price *price, double elapsed_seconds, lot_check_cost *cost)
{
    const bool first = cost->gpus == 0;
    int64_t milliseconds, part, one, other;

    if (price->gpus <= 0 || price->days <= 0 || !(elapsed_seconds >= 0) || elapsed_seconds > 1e12)
        return false;
    milliseconds = llround(elapsed_seconds * 1000);
    if (!first && (price->days != cost->days || !lot_checked_mul(price->total_cents, cost->gpus, &one) ||
                   !lot_checked_mul(cost->total_cents, price->gpus, &other) || one != other))
        return false;
    cost->days = price->days;
    return lot_checked_mul(price->total_cents, milliseconds, &part) &&
           lot_checked_add(cost->check_numerator, part, &cost->check_numerator) &&
           lot_checked_add(cost->total_cents, price->total_cents, &cost->total_cents) &&
           lot_checked_add(cost->gpus, price->gpus, &cost->gpus) &&
           lot_checked_add(cost->check_milliseconds, milliseconds, &cost->check_milliseconds);
}

/* Prices are exact; where one is missing, unlike another's or too large, the cost is unknown. */
static void work_out_cost(lot_case *c)
{
    lot_check_cost made = {.known = c->options->prices != NULL};
    int64_t hours;

    for (size_t i = 0; made.known && i < c->run_count; i++)
        made.known = add_price(&c->options->prices[i], c->result->archives[i].elapsed_seconds, &made);
    if (!made.known)
        return;
    made.lost_millionths = lost_millionths(c->result);
    if (lot_checked_mul(made.days, MILLISECONDS_DAY, &made.check_denominator) &&
        lot_checked_mul(made.days, HOURS_A_DAY, &hours) &&
        lot_checked_mul(made.lost_millionths, hours, &made.lost_gpu_hour_millionths) &&
        lot_checked_mul(made.total_cents, made.lost_millionths, &made.lost_numerator) &&
        lot_checked_mul(made.gpus, MILLIONTHS, &made.lost_denominator)) {
        lot_checked_reduce(&made.check_numerator, &made.check_denominator);
        lot_checked_reduce(&made.lost_numerator, &made.lost_denominator);
        c->result->cost = made;
    }
}

void lot_case_blindness(lot_case *c)
{
    bound_corruption(c);
    list_precisions(c);
    work_out_cost(c);
}
