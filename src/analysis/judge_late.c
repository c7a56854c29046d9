/* Times that come late: more often than those of the peers, whatever their distribution. */
#include "analysis/contest.h"
#include "core/count.h"
#include "core/distributions.h"

/* A smaller share of late times is no fault, however sure it is. Assumption. */
#define LEAST_SHARE 0.1

/* How many rows the entrants have, and how many runs of late ones. */
typedef struct tally {
    int64_t rows;
    int64_t runs;
} tally;

static tally tally_of(const lot_entrant *e)
{
    return (tally){e->timing->rows, e->timing->late_runs};
}

static tally tally_all(const lot_contest *k)
{
    tally all = {0, 0};

    for (size_t i = 0; i < k->count; i++) {
        const tally t = tally_of(&k->entrants[i]);

        all = (tally){all.rows + t.rows, all.runs + t.runs};
    }
    return all;
}

/* The chance that so many runs or more fall on one GPU where they fall on all alike. */
static double chance_of(int64_t runs, const tally *own, const tally *all)
{
    const int64_t others = all->runs - own->runs;

    return lot_hypergeometric_tail(runs, own->rows, others + runs, all->rows);
}

static void judge_late(lot_case *c, const lot_contest *k, const lot_entrant *e, const tally *all)
{
    const lot_timing *t = e->timing;
    const double chance = lot_case_repeat_chance(c), share = (double)t->late_rows / (double)t->rows;
    const tally own = tally_of(e);
    int64_t least = own.runs;
    double threshold;
    lot_finding *f;

    if (share < LEAST_SHARE || chance_of(own.runs, &own, all) >= chance)
        return;
    while (least > 1 && chance_of(least - 1, &own, all) < chance)
        least--;
    threshold = (double)least / (double)t->rows;
    f = lot_case_find(c, e->gpu, LOT_VERDICT_UNSTABLE, LOT_EVIDENCE_PEER, "late");
    lot_finding_place(f, k->phase, k->schedule);
    lot_finding_number(f, share, threshold > LEAST_SHARE ? threshold : LEAST_SHARE, "1");
    lot_finding_say(
        f, "%lld of its %lld times lie over %.0f %% above their median, in %s; %s in %lld times of %s",
        (long long)t->late_rows, (long long)t->rows, 100 * LOT_LATE_BY, lot_count(own.runs, "run").text,
        all->runs == own.runs ? "none" : lot_count(all->runs - own.runs, "such run").text,
        (long long)(all->rows - own.rows), lot_count((int64_t)k->count - 1, "peer").text);
}

void lot_contest_judge_late(lot_case *c, const lot_contest *k)
{
    const tally all = tally_all(k);

    for (size_t i = 0; k->count > 1 && i < k->count; i++)
        judge_late(c, k, &k->entrants[i], &all);
}
