#include "measure/phase.h"

#include <math.h>

#include "core/clock.h"

lot_status lot_phase_begin(const lot_runner *runner, const char *phase, const char *schedule, int64_t repeat,
                           lot_phase *row, lot_error *error)
{
    const lot_device_module *module = runner->module;
    lot_counters counters;
    lot_status status;

    lot_fields_clear(lot_phase_fields(), row);
    lot_fields_clear(lot_telemetry_fields(), row);
    (void)lot_field_copy(row->phase, sizeof row->phase, phase);
    (void)lot_field_copy(row->schedule, sizeof row->schedule, schedule);
    row->repeat = repeat;
    row->passes = 0;
    row->host_seconds = 0;
    row->device_seconds = module->timer_elapsed != NULL ? 0 : NAN;
    status = module->sync(runner->device, error);
    if (status == LOT_OK)
        status = module->counters(runner->device, &counters, error);
    if (status == LOT_OK)
        status = module->reset_peaks(runner->device, error);
    if (status == LOT_OK && module->telemetry_begin != NULL)
        status = module->telemetry_begin(runner->device, error);
    if (status != LOT_OK)
        return status;
    row->allocated_start_bytes = counters.allocated_bytes;
    row->reserved_start_bytes = counters.reserved_bytes;
    row->start_seconds = lot_clock_seconds() - runner->epoch_seconds;
    return LOT_OK;
}

lot_status lot_phase_span(const lot_runner *runner, lot_work work, void *context, int counts, lot_phase *row,
                          lot_error *error)
{
    const lot_device_module *module = runner->module;
    const int timed = module->timer_elapsed != NULL;
    double began, ended, device_seconds;
    lot_status status;

    /* The device's first mark is ours, not the pass's: it lies before the host's first reading. The last one
     * has to lie inside, but is queued while the device still works. */
    if (timed && (status = module->timer_start(runner->device, error)) != LOT_OK)
        return status;
    began = lot_clock_seconds();
    status = work(context, error);
    if (status == LOT_OK && timed)
        status = module->timer_stop(runner->device, error);
    if (status == LOT_OK)
        status = module->sync(runner->device, error);
    ended = lot_clock_seconds();
    if (status == LOT_OK && timed)
        status = module->timer_elapsed(runner->device, &device_seconds, error);
    if (status != LOT_OK)
        return status;
    row->host_seconds += ended - began;
    if (timed)
        row->device_seconds += device_seconds;
    row->passes += counts;
    return LOT_OK;
}

lot_status lot_phase_end(const lot_runner *runner, lot_phase *row, lot_error *error)
{
    const lot_device_module *module = runner->module;
    lot_counters counters;
    lot_status status = module->counters(runner->device, &counters, error);

    if (status == LOT_OK && module->memory_used != NULL)
        status = module->memory_used(runner->device, &row->device_used_bytes, error);
    if (status == LOT_OK && module->telemetry_end != NULL)
        status = module->telemetry_end(runner->device, &row->telemetry, error);
    if (status != LOT_OK)
        return status;
    row->allocated_end_bytes = counters.allocated_bytes;
    row->reserved_end_bytes = counters.reserved_bytes;
    row->allocated_peak_bytes = counters.allocated_peak_bytes;
    row->reserved_peak_bytes = counters.reserved_peak_bytes;
    return LOT_OK;
}
