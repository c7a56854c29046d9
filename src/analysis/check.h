/* Is every GPU of a rental equal and healthy? Its runs in, verdicts out; docs/consistency.md says how and
 * why.
 */
#ifndef GPULOT_ANALYSIS_CHECK_H
#define GPULOT_ANALYSIS_CHECK_H

#include "analysis/observe.h"
#include "core/error.h"
#include "core/expectation.h"
#include "core/verdict.h"

/* A price that an archive holds; gpus 0: it holds none. */
typedef struct lot_check_price {
    int64_t total_cents;
    int64_t gpus; /* paid for */
    int64_t days;
} lot_check_price;

typedef struct lot_check_options {
    double prior;        /* four of five honest groups spread less than this; LOT_SPREAD_LEAST to 1 */
    double level;        /* chance that a rental of honest GPUs is flagged by a statistical rule */
    int64_t soak_passes; /* fewer verified passes than this are no soak */
    const lot_observed_run *against;      /* an earlier run, or NULL */
    const lot_expectations *expectations; /* or NULL */
    const lot_check_price *prices;        /* one for each run, or NULL */
    const char *const *files;             /* names of the runs' archives, or NULL */
} lot_check_options;

#define LOT_CHECK_PRIOR       "1.5%"
#define LOT_CHECK_LEVEL       "1%"
#define LOT_CHECK_SOAK_PASSES "100"

/* Judges every GPU of `count` runs, at least one, which together are the rental: equal GPUs are peers
 * whichever run they stand in. The answer does not depend on the order of the ranks. LOT_INPUT where one run
 * is given twice, the earlier one included, some were made over a simulator and some were not, or one
 * tells more ranks than MPI has numbers; LOT_MEMORY. *result is set on success only; free with
 * lot_check_result_free. */
lot_status lot_check(const lot_observed_run *runs, size_t count, const lot_check_options *options,
                     lot_check_result *result, lot_error *error);

#endif
