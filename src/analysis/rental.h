/* How many GPUs a rental needed, from the archives of its runs. */
#ifndef GPULOT_ANALYSIS_RENTAL_H
#define GPULOT_ANALYSIS_RENTAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/run.h"

/* One rank of one run that left a record. */
typedef struct lot_rental_rank {
    char uuid[48]; /* of the GPU; of the GPU that a MIG slice is part of; "" where it is not known */
    bool host;     /* a CPU stands for the GPU */
    size_t run;
} lot_rental_rank;

typedef struct lot_rental {
    lot_rental_rank *ranks;
    size_t rank_count;
    char (*run_ids)[40];
    size_t run_count;
    size_t silent_ranks;  /* launched, without a record */
    size_t repeated_runs; /* given again and not counted */
    size_t failed_ranks;  /* whose record does not end well; they were paid for all the same */
    bool names_differ;
    bool any_host;
    char device_name[96];  /* of the ranks that know one */
    char earliest_utc[32]; /* when the first of the runs was begun; "" where none tells */
} lot_rental;

/* Adds a run; a run given twice counts once. LOT_INPUT where it was made over a simulator, which nobody
 * rents, tells no number of ranks or more than MPI can number; LOT_MEMORY. Begin with a zeroed struct; free
 * with lot_rental_free. */
lot_status lot_rental_add(lot_rental *rental, const lot_run *run, lot_error *error);

/* What the runs needed together.
 *
 * A GPU counts once, whichever runs and ranks used it. A rank whose GPU is not known (it was lost before it
 * told) counts as one more GPU: it was paid for. On a CPU each rank of a run stands for one GPU, and the runs
 * share them. */
typedef struct lot_rental_need {
    int64_t gpus;
    int64_t ranks;   /* launched, over all runs */
    int64_t unknown; /* of the GPUs: not known by UUID */
} lot_rental_need;

/* Sorts the rental's ranks. */
lot_rental_need lot_rental_count(lot_rental *rental);

void lot_rental_free(lot_rental *rental);

#endif
