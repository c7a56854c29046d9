/* A float64 reference of sampled output rows, worked out on the host from the seed alone, and the bound that
 * an honest result of the given arithmetic keeps: docs/metrics.md derives it. */
#ifndef GPULOT_MEASURE_REFERENCE_H
#define GPULOT_MEASURE_REFERENCE_H

#include "core/error.h"
#include "core/record.h"
#include "gpu/device.h"

#define LOT_REFERENCE_ROWS 4

typedef struct lot_reference_task {
    uint64_t seed;
    int64_t rows; /* of the whole output */
    int64_t width;
    int64_t hidden;
    lot_dtype dtype;
    lot_math math;
    lot_activation activation;
    int threads; /* at least 1 */
} lot_reference_task;

/* The rows that are compared: the first, the last and two between, ascending and distinct. Returns how many.
 */
int lot_reference_sample(int64_t rows, int64_t sampled[LOT_REFERENCE_ROWS]);

/* Compares `count` output rows, outputs[i * width ...] of task->dtype being row sampled[i], with the
 * reference, and fills the reference fields of *verification. LOT_MEMORY, or LOT_INTERNAL where a thread
 * could not be started. */
lot_status lot_reference_compare(const lot_reference_task *task, const int64_t *sampled, int count,
                                 const void *outputs, lot_verification *verification, lot_error *error);

#endif
