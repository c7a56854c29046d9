/* The one symbol that this module exports. */
#include "gpu/cuda/cuda_internal.h"

__attribute__((visibility("default"))) extern const lot_device_module lot_device_table;

const lot_device_module lot_device_table = {
    .abi = LOT_DEVICE_ABI,
    .size = sizeof(lot_device_module),
    .name = "cuda",
    .enumerate = lot_cuda_enumerate,
    .open = lot_cuda_open,
    .close = lot_cuda_close,
    .describe = lot_cuda_describe,
    .supports = lot_cuda_supports,
    .alloc = lot_cuda_alloc,
    .free = lot_cuda_free,
    .upload = lot_cuda_upload,
    .download = lot_cuda_download,
    .build = lot_cuda_build,
    .fill = lot_cuda_fill,
    .plan = lot_cuda_plan,
    .plan_free = lot_cuda_plan_free,
    .run = lot_cuda_run,
    .digest = lot_cuda_digest,
    .sync = lot_cuda_sync,
    .counters = lot_cuda_counters,
    .reset_peaks = lot_cuda_reset_peaks,
    .timer_start = lot_cuda_timer_start,
    .timer_stop = lot_cuda_timer_stop,
    .timer_elapsed = lot_cuda_timer_elapsed,
    .memory_used = lot_cuda_memory_used,
    .flush_cache = lot_cuda_flush_cache,
    .compare = lot_cuda_compare,
    .telemetry_begin = lot_cuda_telemetry_begin,
    .telemetry_end = lot_cuda_telemetry_end,
    .samples = lot_cuda_samples,
};
