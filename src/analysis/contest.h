/* One comparison of equal GPUs under way: who takes part with which time, and how much noise is in it. For
 * the judge of speed, which docs/consistency.md derives. */
#ifndef GPULOT_ANALYSIS_CONTEST_H
#define GPULOT_ANALYSIS_CONTEST_H

#include "analysis/judge.h"

/* One GPU's time in one comparison: a voice in it. */
typedef struct lot_entrant {
    double y; /* ln seconds of its median repeat */
    size_t gpu;
    const lot_timing *timing;
} lot_entrant;

/* Group, phase and schedule are given, and room for all GPUs of the case; lot_contest_enter fills the rest.
 */
typedef struct lot_contest {
    lot_entrant *entrants; /* sorted by y */
    double *y;             /* the same, alone */
    size_t count;
    size_t group;
    const char *phase;
    const char *schedule;
    lot_clock_kind clock;
    double noise;    /* standard deviation of one repeat, pooled */
    double step;     /* of the clock, relative; 0 where none shows */
    int64_t repeats; /* fewest of one entrant */
} lot_contest;

/* The middle of some entrants. */
typedef struct lot_middle {
    size_t count; /* of the entrants */
    double y;
    double noise; /* variance that their own repeats give those whose times make it */
} lot_middle;

/* Enters every GPU of the group that finished, on the device's clock where every one of these has it: two
 * clocks are never compared with each other. */
void lot_contest_enter(const lot_case *c, lot_contest *k);

/* The GPU's rows of the contest's phase and schedule, or NULL. */
const lot_series *lot_contest_series(const lot_case *c, const lot_contest *k, size_t gpu);

/* Only a GPU that finished is a yardstick for the others: all the timed repeats that were asked for, and in a
 * soak, whose rows nobody counts beforehand, a rank that did not fail. `s` may be NULL. */
bool lot_contest_finished(const lot_judged *gpu, const lot_series *s);

/* A GPU as an entrant, whether it was entered or not. */
lot_entrant lot_contest_entrant(const lot_contest *k, size_t gpu, const lot_series *s);

/* Variance that the repeats give one y: with the noise of the contest, and with the entrant's own where that
 * is much larger. */
double lot_contest_variance(const lot_contest *k);
double lot_contest_own_variance(const lot_contest *k, const lot_entrant *e);

/* The middle of all entrants but the one at `at`, from the sorted times; of all where it is k->count. */
lot_middle lot_contest_middle_without(const lot_contest *k, size_t at);

/* Calls the entrants unstable whose times lie late more often than those of the others. */
void lot_contest_judge_late(lot_case *c, const lot_contest *k);

#endif
