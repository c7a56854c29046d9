/* The open host device, as its files share it. */
#ifndef GPULOT_GPU_HOST_DEVICE_H
#define GPULOT_GPU_HOST_DEVICE_H

#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>

#include "gpu/device.h"
#include "gpu/host/host_cpus.h"
#include "gpu/host/host_pool.h"

struct lot_device {
    lot_host_pool *pool;
    lot_plan *plans; /* all that were made and not freed */
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    int threads; /* that compute */
    lot_host_cpus cpus;
    int64_t granularity_bytes;
    int64_t reserve_step_bytes;
};

/* The module's plan, plan_free, run and supports; see gpu/device.h. */
lot_status lot_host_supports(lot_device *device, lot_dtype dtype, lot_math math, lot_error *error);
lot_status lot_host_plan(lot_device *device, const lot_linear *linear, lot_plan **plan, lot_plan_facts *facts,
                         lot_error *error);
void lot_host_plan_free(lot_device *device, lot_plan *plan);
lot_status lot_host_run(lot_device *device, const lot_plan *plan, void *y, const void *x, const void *w,
                        const void *b, lot_error *error);

#endif
