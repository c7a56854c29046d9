/* The same GPUs at two times: check-in and check-out. */
#ifndef GPULOT_ANALYSIS_COMPARE_H
#define GPULOT_ANALYSIS_COMPARE_H

#include "core/drift.h"
#include "core/error.h"

typedef struct lot_compare_options {
    double tolerance; /* share of speed that may be lost without being called slower */
    double level;     /* chance that noise alone is called a change, over all GPUs and phases */
} lot_compare_options;

#define LOT_COMPARE_TOLERANCE "3%"
#define LOT_COMPARE_LEVEL     "1%"

/* Compares what is now with what was; `after` is a baseline of one archive. LOT_INPUT where the work differs
 * or one of the two was made over a simulator; LOT_MEMORY. *result is set on success only; free with
 * lot_compare_result_free. */
lot_status lot_compare(const lot_baseline *before, const lot_baseline *after,
                       const lot_compare_options *options, lot_compare_result *result, lot_error *error);

#endif
