/* The one runner of phases: it owns the synchronising, the counters and the clock, and knows nothing of the
 * work.
 *
 *     begin   synchronise, read the baseline, reset the peaks
 *     span    time one piece of synchronised work; several spans add up in one row (warmup)
 *     end     read end values and peaks while the output still exists
 *
 * Between the two clock readings of a span lie the work, the second of the device's two marks and one
 * synchronise; nothing of this program is allocated, printed, written or decided there. */
#ifndef GPULOT_MEASURE_PHASE_H
#define GPULOT_MEASURE_PHASE_H

#include "core/error.h"
#include "core/record.h"
#include "gpu/device.h"

typedef struct lot_runner {
    const lot_device_module *module;
    lot_device *device;
    double epoch_seconds; /* lot_clock_seconds() at the rank's start */
} lot_runner;

typedef lot_status (*lot_work)(void *context, lot_error *error);

/* Starts a row: sets phase, schedule, start and baseline. The row is "not measured" otherwise. */
lot_status lot_phase_begin(const lot_runner *runner, const char *phase, const char *schedule, int64_t repeat,
                           lot_phase *row, lot_error *error);

/* Runs and times `work`, adding to host_seconds and device_seconds and counting one to `passes` if `counts`.
 */
lot_status lot_phase_span(const lot_runner *runner, lot_work work, void *context, int counts, lot_phase *row,
                          lot_error *error);

/* Ends the row. */
lot_status lot_phase_end(const lot_runner *runner, lot_phase *row, lot_error *error);

#endif
