/* A rank's phase rows reduced to what verdicts need, so that a check of thousands of GPUs need not hold every
 * row in memory. */
#ifndef GPULOT_ANALYSIS_OBSERVE_H
#define GPULOT_ANALYSIS_OBSERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/record.h"
#include "core/run.h"

/* A row is late where it took so much longer than the median of its series, and a step of its clock.
 * Assumption. */
#define LOT_LATE_BY 0.05

/* Times of the rows of one series on one clock, per forward pass. Spreads and changes are of the natural
 * logarithm of the times, so that they are relative and no unit matters. NaN where there are too few rows. */
typedef struct lot_timing {
    int64_t rows; /* with a usable time: a positive finite number */
    double median_seconds;
    double deviation;        /* standard deviation; 2 rows */
    double robust_deviation; /* from the MAD, corrected for small samples; 2 rows */
    double change;           /* first to last, from a straight line by least squares; 3 rows */
    double change_error;     /* its standard error, rows - 2 degrees of freedom */
    double gap;           /* between the means of the two best clusters of at least 2 and a tenth; 4 rows */
    double gap_deviation; /* standard deviation within the wider of the two clusters */
    double gap_share;     /* of the rows in the smaller cluster */
    int64_t late_rows;    /* that took LOT_LATE_BY longer than the median */
    int64_t late_runs;    /* the same, those that follow one another counted once */
    double step; /* of the clock, relative: the least difference of two times; 0 where it cannot be one */
} lot_timing;

typedef enum lot_clock_kind { LOT_CLOCK_HOST, LOT_CLOCK_DEVICE, LOT_CLOCK_COUNT } lot_clock_kind;

/* X(name, NVML bit): reasons for slowing down that are faults, and the power cap, which is none. */
#define LOT_SLOWDOWN_LIST(X)                                                                                 \
    X(sw_thermal, 0x20)                                                                                      \
    X(hw_thermal, 0x40)                                                                                      \
    X(hw_power_brake, 0x80)                                                                                  \
    X(sw_power_cap, 0x04)

typedef enum lot_slowdown {
#define LOT_SLOWDOWN_ENUM(name, bit) LOT_SLOWDOWN_##name,
    LOT_SLOWDOWN_LIST(LOT_SLOWDOWN_ENUM)
#undef LOT_SLOWDOWN_ENUM
        LOT_SLOWDOWN_COUNT
} lot_slowdown;

/* All rows of one phase under one schedule. Integers that no row knows are LOT_NULL_I64. */
typedef struct lot_series {
    char phase[16];
    char schedule[12];
    int64_t rows;
    int64_t passes;
    lot_timing timing[LOT_CLOCK_COUNT];
    double busy_seconds;    /* sum over the rows, on the device's clock where a row has it */
    double counted_seconds; /* likewise, with the checks between the passes of a row: the counters run on */
    double slowdown_seconds[LOT_SLOWDOWN_COUNT]; /* by the device's counters; NaN where it has none */
    double slowdown_sampled[LOT_SLOWDOWN_COUNT]; /* of the rows that ended with the reason's bit set */
    int64_t pcie_generation;                     /* highest seen */
    int64_t pcie_width;                          /* highest seen */
    double sm_clock_mhz;                         /* mean over the rows that know it */
    int64_t sm_clock_rows;                       /* how many do */
    int64_t ecc_corrected;
    int64_t ecc_uncorrected;
    int64_t digested_rows;
    int64_t digests_differing; /* passes */
    int64_t nonfinite_rows;
    char deviating_digest[17];  /* of the first row that deviates */
    int64_t elements_differing; /* of the first row that knows them; else LOT_NULL_I64 */
    int64_t first_element_differing;
    int64_t allocated_peak_bytes;
    int64_t reserved_peak_bytes;
    double *repeats[LOT_CLOCK_COUNT]; /* owned; seconds of a pass, ascending; NULL unless they are kept */
    size_t repeat_count[LOT_CLOCK_COUNT];
} lot_series;

/* More repeats than this are kept as the medians of this many runs of rows that follow one another: a soak's
 * rows are not independent of their neighbours. */
#define LOT_REPEATS_KEPT 128

typedef struct lot_observation {
    lot_series *series; /* in the order in which they were measured */
    size_t count;
} lot_observation;

/* Reduces the rows of one rank. `first_digest` is the rank's first (verification.digest), "" where it has
 * none. With `keep_repeats` the times of the warm and the soak rows are kept too. LOT_MEMORY; *observation is
 * set on success only, free it with lot_observation_free. */
lot_status lot_observe(const lot_phase *rows, size_t count, const char *first_digest, bool keep_repeats,
                       lot_observation *observation, lot_error *error);

void lot_observation_free(lot_observation *observation);

/* The series of that phase and schedule, or NULL. */
const lot_series *lot_observation_find(const lot_observation *observation, const char *phase,
                                       const char *schedule);

/* The device's clock where every row that the host's clock timed has it, else the host's. */
lot_clock_kind lot_series_clock(const lot_series *series);

/* Variance that the noise of its repeats gives the logarithm of their median; 0 where one repeat does not
 * tell it. */
double lot_timing_variance(const lot_timing *timing);

/* A whole run reduced: what check, compare and baseline work on. */
typedef struct lot_observed_run {
    lot_run_header header;
    lot_record_head *heads;
    lot_observation *observations;
    size_t count;
    bool keep_repeats; /* set it before ranks are added */
} lot_observed_run;

/* An empty one. */
void lot_observed_init(lot_observed_run *observed);

/* Adds one rank; ranks may come in any order. LOT_MEMORY. */
lot_status lot_observed_add(lot_observed_run *observed, const lot_record_head *head, const lot_phase *rows,
                            size_t count, lot_error *error);

void lot_observed_free(lot_observed_run *observed);

/* What must hold of runs that are looked at together: LOT_INPUT where one is given twice, or one was made
 * over a simulator and another was not. */
lot_status lot_observed_distinct(const lot_observed_run *runs, size_t count, lot_error *error);

#endif
