/* Where GPUs that should give the same bits do not: from the traces that measure --localise keeps. */
#ifndef GPULOT_ANALYSIS_LOCALISE_H
#define GPULOT_ANALYSIS_LOCALISE_H

#include "core/record.h"
#include "core/verdict.h"

/* The rank that the GPU at `index` of the result is set against: the lowest rank of its group that is ok,
 * else, where nobody is, the lowest rank of its group. Its own rank where there is no other. */
int64_t lot_localise_base(const lot_check_result *result, size_t index);

/* True where the GPU's bits are in question: it is corrupt, or undecided. */
bool lot_localise_wanted(const lot_checked_device *device);

/* Compares the traces of `other` with those of `base`, layer by layer, and appends what differs to the
 * result; the same record twice appends what differs among its own passes. Rows that only one of them has are
 * left out. LOT_MEMORY. */
lot_status lot_localise_compare(const lot_record *base, const lot_record *other, lot_check_result *result,
                                lot_error *error);

#endif
