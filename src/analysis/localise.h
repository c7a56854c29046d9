/* Where GPUs that should give the same bits do not: from the traces that measure --localise keeps. */
#ifndef GPULOT_ANALYSIS_LOCALISE_H
#define GPULOT_ANALYSIS_LOCALISE_H

#include "core/record.h"
#include "core/verdict.h"

/* For each group of the result the index of the GPU that its others are set against, in bases[group_count]:
 * the first that is ok, else, where nobody is, the first. */
void lot_localise_bases(const lot_check_result *result, size_t *bases);

/* True where the GPU's bits are in question: it is corrupt, or undecided. */
bool lot_localise_wanted(const lot_checked_device *device);

/* The record of one GPU of a result. */
typedef struct lot_localise_side {
    size_t device; /* index in the result's devices */
    const lot_record *record;
} lot_localise_side;

/* Compares the traces of `other` with those of `base`, layer by layer, and appends what differs to the
 * result; the same record twice appends what differs among its own passes. Rows that only one of them has are
 * left out. LOT_MEMORY. */
lot_status lot_localise_compare(lot_localise_side base, lot_localise_side other, lot_check_result *result,
                                lot_error *error);

/* Brings what was appended into its order: by device, its own passes first, then by layer. */
void lot_localise_sort(lot_check_result *result);

#endif
