/* Phase rows in few numbers: one line a phase and schedule. Pure: rows in, numbers out. */
#ifndef GPULOT_ANALYSIS_SUMMARY_H
#define GPULOT_ANALYSIS_SUMMARY_H

#include <stddef.h>

#include "core/record.h"
#include "core/stats.h"

/* One kind of time over the rows of a group, in seconds; NaN where a row of the group has none. */
typedef struct lot_time_summary {
    double median;
    lot_interval interval; /* of the median, distribution-free, asked for at 95 % */
    double least;
    double most;
} lot_time_summary;

/* The rows of one phase under one schedule. Counters are the largest of any row, -1 where none was read. */
typedef struct lot_phase_summary {
    char phase[sizeof((lot_phase *)0)->phase];
    char schedule[sizeof((lot_phase *)0)->schedule];
    size_t rows;
    int64_t passes;        /* forward passes in all rows */
    lot_time_summary host; /* of a row, which may hold several passes */
    lot_time_summary device;
    lot_time_summary host_pass; /* of a row divided by its passes; NaN where no row has any */
    lot_time_summary device_pass;
    int64_t allocated_bytes; /* at the end of a row, the output still there */
    int64_t reserved_bytes;
    int64_t allocated_peak_bytes;
    int64_t reserved_peak_bytes;
    double flops_per_second; /* of the matrix products, over the median host time of one pass; else NaN */
} lot_phase_summary;

#define LOT_SUMMARY_GROUPS_MAX 24

/* Groups the rows of one rank by phase and schedule, in the order in which they first appear, into groups[];
 * *count of them. `flops_per_forward` not above 0 gives no rate. LOT_MEMORY, or LOT_DAMAGED for more groups
 * than there can be. */
lot_status lot_summary_phases(const lot_phase *rows, size_t row_count, int64_t flops_per_forward,
                              lot_phase_summary groups[LOT_SUMMARY_GROUPS_MAX], size_t *count,
                              lot_error *error);

/* How the ranks of a run ended and how far their warm medians lie apart. */
typedef struct lot_ranks_summary {
    size_t recorded;
    size_t good;       /* outcome ok */
    size_t failed;     /* any other outcome, lost ones included */
    size_t lost;       /* of these, lost */
    size_t verified;   /* verification passed */
    size_t unverified; /* verification failed */
    size_t simulated;
    size_t host_devices; /* ranks that measured a CPU, not a GPU */
    size_t timed;        /* ranks with a warm median: the four below are over these */
    double warm_median_seconds;
    double warm_least_seconds;
    double warm_most_seconds;
    int64_t warm_most_rank; /* the slowest; -1 where none is timed */
} lot_ranks_summary;

lot_status lot_summary_ranks(const lot_record_head *devices, size_t count, lot_ranks_summary *summary,
                             lot_error *error);

#endif
