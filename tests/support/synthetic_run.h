/* Runs with a known truth, made in memory: for tests and benches only. */
#ifndef GPULOT_TESTS_SYNTHETIC_RUN_H
#define GPULOT_TESTS_SYNTHETIC_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/observe.h"
#include "core/run.h"

/* Random numbers that are the same everywhere: splitmix64 (G. L. Steele, D. Lea, C. H. Flood, OOPSLA 2014).
 */
typedef struct synthetic_random {
    uint64_t state;
} synthetic_random;

double synthetic_uniform(synthetic_random *random); /* in (0, 1) */
double synthetic_normal(synthetic_random *random);  /* mean 0, deviation 1 */

/* A healthy run of `gpus` equal GPUs with `repeats` warm rows, times all `seconds`, digests equal, eight GPUs
 * a host. With `all_phases` the rows of the other phases are there too. Free with lot_run_free. Aborts
 * without memory. */
void synthetic_run_make(lot_run *run, size_t gpus, int64_t repeats, double seconds, int all_phases);

/* Draws every warm time anew: each GPU's speed deviates by `spread` from the common one, each repeat by
 * `noise` from its GPU's, both relative standard deviations. */
void synthetic_run_draw(lot_run *run, synthetic_random *random, double seconds, double spread, double noise);

/* The same for one GPU, which is another one then. */
void synthetic_run_draw_one(lot_run *run, size_t gpu, synthetic_random *random, double seconds, double spread,
                            double noise);

/* Makes one GPU lose a share of its speed: its times are divided by 1 - share. */
void synthetic_run_slow(lot_run *run, size_t gpu, double share);

/* Rows of one GPU, and its k-th warm row. */
lot_phase *synthetic_run_rows(lot_run *run, size_t gpu, size_t *count);
lot_phase *synthetic_run_warm(lot_run *run, size_t gpu, size_t k);

/* Appends `count` rows to one GPU, copies of its last row with that phase and schedule. Gives the first,
 * until the next rows are appended. */
lot_phase *synthetic_run_append(lot_run *run, size_t gpu, const char *phase, const char *schedule,
                                size_t count);

/* Header and all ranks of the run, reduced; begin with an empty *observed, free it with lot_observed_free. */
void synthetic_run_observe(const lot_run *run, lot_observed_run *observed);

/* Brings the ranks into another order: rank i of the result is `order[i]` of before, with its rows and with
 * its number where `keep_numbers` (the run then is not in rank order, which only a test does). */
void synthetic_run_permute(lot_run *run, const size_t *order, int keep_numbers);

/* Median absolute deviation from the median, unscaled, by its definition: the program's own, over sorted
 * values, is held against it. NaN where there is no value or one is NaN. */
double synthetic_mad(const double *values, size_t count);

#endif
