/* What the parts of a comparison share: the GPUs at both times and where changes go. */
#ifndef GPULOT_ANALYSIS_COMPARING_H
#define GPULOT_ANALYSIS_COMPARING_H

#include "analysis/compare.h"

/* One GPU at both times; one of the two may be NULL. */
typedef struct lot_compared {
    const lot_baseline_device *before;
    const lot_baseline_device *after;
} lot_compared;

typedef struct lot_comparing {
    const lot_compare_options *options;
    const lot_baseline *before;
    const lot_baseline *after;
    lot_compared *pairs; /* room for all GPUs of both times */
    size_t pair_count;
    lot_compare_result *result;
    lot_change spare; /* where changes go once memory has run out */
    bool no_memory;
} lot_comparing;

/* Appends a change with its sentence; phase and schedule are empty. The pointer is valid until the next;
 * never NULL. */
lot_change *lot_comparing_note(lot_comparing *c, lot_change_kind kind, const lot_compared *p,
                               const char *measure, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Whether any warm repeat of the GPU has a usable time. */
bool lot_comparing_has_repeats(const lot_baseline_device *gpu);

/* Drift of every phase, of peak memory, and GPUs whose speed was not judged; after the pairs are known. */
void lot_comparing_times(lot_comparing *c);

#endif
