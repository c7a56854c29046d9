/* What changed between two times: plain data between analysis/compare.h, baselines and their writers. */
#ifndef GPULOT_CORE_DRIFT_H
#define GPULOT_CORE_DRIFT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/record.h"
#include "core/verdict.h"

/* ---- a baseline: what GPUs did before, in one archive or several ---- */

/* Six phases under three schedules: a GPU has each at most once. */
#define LOT_BASELINE_SERIES_MOST 18

/* One phase under one schedule. Spreads are of the logarithm of the times; NaN where not known. */
typedef struct lot_baseline_series {
    char phase[16];
    char schedule[12];
    int64_t archives;         /* that have it */
    int64_t rows;             /* with a usable time on the host's clock, fewest of one archive */
    double seconds[2];        /* middle of the archives' medians, on the host's and the device's clock */
    double repeat_spread[2];  /* robust standard deviation of one repeat, the middle of the archives' */
    double archive_spread[2]; /* standard deviation of an archive's median; NaN with one archive */
    double *repeats[2];       /* owned; of one archive only: sorted seconds of its warm or soak repeats */
    size_t repeat_count[2];
    int64_t allocated_peak_bytes; /* the largest */
    int64_t reserved_peak_bytes;
} lot_baseline_series;

typedef struct lot_baseline_device {
    lot_record_head head; /* of the last archive that has the GPU */
    int64_t archives;
    bool shares_uuid;   /* with other ranks of one run: recognised by its rank too */
    bool digests_agree; /* of the archives in which it was in the same group as in the last */
    lot_baseline_series *series;
    size_t series_count;
} lot_baseline_device;

typedef struct lot_baseline {
    int64_t archives;
    bool simulated;
    lot_baseline_device *devices; /* sorted by UUID, then rank */
    size_t device_count;
} lot_baseline;

void lot_baseline_free(lot_baseline *baseline);

/* ---- changes ---- */

/* X(code, name, bad, meaning): a bad one makes the answer bad. */
#define LOT_CHANGE_LIST(X)                                                                                   \
    X(LOT_CHANGE_MISSING, "missing", true, "a GPU of before that is not there now")                          \
    X(LOT_CHANGE_FAILED, "failed", true, "a GPU that failed, was lost or was not measured now")              \
    X(LOT_CHANGE_WRONG, "wrong", true, "a result that is not the same, or failed its verification")          \
    X(LOT_CHANGE_SLOWER, "slower", true, "slower beyond noise and tolerance")                                \
    X(LOT_CHANGE_UNDECIDED, "undecided", true, "a GPU whose repeats could not be set against earlier ones")  \
    X(LOT_CHANGE_ERRORS, "errors", true, "more uncorrected memory errors or remapped rows")                  \
    X(LOT_CHANGE_FASTER, "faster", false, "faster beyond noise and tolerance")                               \
    X(LOT_CHANGE_NEW, "new", false, "a GPU that was not there before")                                       \
    X(LOT_CHANGE_SWAPPED, "swapped", false, "two GPUs have each other's place")                              \
    X(LOT_CHANGE_MOVED, "moved", false, "a GPU has another place")                                           \
    X(LOT_CHANGE_COUNTER, "counter", false, "another counter of memory or errors")                           \
    X(LOT_CHANGE_ENVIRONMENT, "environment", false, "another version, setting or host")

typedef enum lot_change_kind {
#define LOT_CHANGE_ENUM(code, name, bad, meaning) code,
    LOT_CHANGE_LIST(LOT_CHANGE_ENUM)
#undef LOT_CHANGE_ENUM
        LOT_CHANGE_COUNT
} lot_change_kind;

const char *lot_change_name(lot_change_kind kind);
bool lot_change_is_bad(lot_change_kind kind);

typedef struct lot_change {
    lot_change_kind kind;
    char uuid[48];
    int64_t rank_before; /* LOT_NULL_I64: not there */
    int64_t rank_after;
    char phase[16];
    char schedule[12];
    char measure[40];
    char text[320];
} lot_change;

/* Order of two changes by their GPU: its rank, that of now where there is one, then its UUID. */
int lot_change_by_gpu(const lot_change *a, const lot_change *b);

/* Times of one GPU in one phase, before and after. */
typedef struct lot_drift {
    char uuid[48];
    int64_t rank_before;
    int64_t rank_after;
    char phase[16];
    char schedule[12];
    char clock[8];
    double before_seconds;
    double after_seconds;
    lot_estimate slower; /* share of speed lost; its interval is NaN where no noise is known */
    double coverage;     /* of the interval: what it really covers; NaN without one */
    bool judged;         /* the interval covers enough to be believed */
    bool beyond_noise;   /* judged, and the interval does not hold 0 */
    bool tolerated;      /* a change within the tolerance, either way */
    bool blind;          /* judged, not beyond noise, and LOT_DRIFT_BLIND may be lost within the interval */
} lot_drift;

/* An interval in which the loss of such a share of speed may hide says little, and nobody should have to look
 * for that. As in a check. */
#define LOT_DRIFT_BLIND 0.25

/* A phase and schedule that GPUs have at one of the two times only: nothing is said of it. */
typedef struct lot_unpaired {
    char phase[16];
    char schedule[12];
    bool now;        /* measured now and not before; else the other way round */
    int64_t devices; /* of those that are there at both times */
} lot_unpaired;

typedef struct lot_compare_result {
    char run_id_before[40]; /* "" for a baseline of several archives */
    char run_id_after[40];
    int64_t archives_before;
    size_t devices_before;
    size_t devices_after;
    size_t matched;
    size_t matched_by_rank; /* of these: GPUs that share their UUID with other ranks */
    double tolerance;
    double level;
    double interval_level; /* that the intervals were to cover */
    double archive_dof;    /* degrees of freedom of the noise between archives; NaN with one archive before */
    double noise_factor;   /* half an interval in units of that noise; NaN with one archive or too few */
    bool simulated;
    bool one_run;      /* before and after are the same run, where no change needs no statistics */
    bool backwards;    /* what is now began before what was */
    lot_drift *drifts; /* sorted by rank, that of now where there is one, then in the order of the phases */
    size_t drift_count;
    lot_unpaired *unpaired; /* in the order in which they were found */
    size_t unpaired_count;
    lot_change *changes; /* sorted by kind, then rank */
    size_t change_count;
    bool good; /* no bad change */
} lot_compare_result;

void lot_compare_result_free(lot_compare_result *result);

#endif
