/* What the files of the CUDA module share: the open device and the two checks through which every call of the
 * runtime and of cuBLASLt goes. */
#ifndef GPULOT_GPU_CUDA_INTERNAL_H
#define GPULOT_GPU_CUDA_INTERNAL_H

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>

#include "gpu/cuda/kernels.h"
#include "gpu/cuda/nvml.h"
#include "gpu/device.h"

/* The counted memory: a pool of the runtime, or, where the device has none, cudaMalloc and our own counts. */
typedef struct lot_pool_block {
    void *pointer;
    int64_t bytes;
} lot_pool_block;

typedef struct lot_pool {
    cudaMemPool_t pool;     /* NULL: cudaMalloc */
    lot_pool_block *blocks; /* what is out: close gives it back */
    size_t count;
    size_t capacity;
    lot_counters counted; /* of the blocks, without a pool */
    int64_t granularity_bytes;
    int64_t reserve_step_bytes;
} lot_pool;

#define LOT_STAGES        2           /* of a thread: while one is copied, the other is filled */
#define LOT_STAGE_BYTES   (1 << 20)   /* at most: threads that copy wait for each other in the driver */
#define LOT_STAGE_LEAST   (128 << 10) /* unit of a stage: a small tensor is shared out among all threads */
#define LOT_BUILDERS_MOST 64          /* threads that build; the link is full long before */

/* Page-locked buffers through which values built on the host go to the device. Thread i owns stages
 * LOT_STAGES * i and following. */
typedef struct lot_staging {
    char *memory;
    cudaEvent_t copied[LOT_BUILDERS_MOST * LOT_STAGES];
} lot_staging;

/* Partial results of the reducing kernels, on the device and their copy on the host. */
typedef struct lot_scratch {
    void *device;
    void *host;
} lot_scratch;

struct lot_device {
    lot_device_options options;
    int threads; /* of the host, for build; at most LOT_BUILDERS_MOST */
    int major;   /* compute capability */
    int minor;
    int64_t l2_bytes;
    cudaStream_t stream;
    lot_pool pool;
    cublasLtHandle_t blas;
    cudaEvent_t started;
    cudaEvent_t stopped;
    lot_staging staging;
    lot_scratch scratch;
    lot_plan *plans; /* that were not freed yet */
    void *flush;     /* taken at the first flush, outside the counted pool */
    struct lot_sensors *sensors;
    lot_device_facts identity; /* as enumerate saw it */
};

/* ---- cuda_error.c ---- */

/* `expression` as written; what stands before its bracket is the call that the error names. */
#define LOT_CUDA(device, error, expression) lot_cuda_check(device, error, #expression, expression)
#define LOT_BLAS(device, error, expression) lot_blas_check(device, error, #expression, expression)

/* LOT_OK, or fills *error with call, code and text. `device` is NULL before one is open; afterwards a device
 * that has gone is told from a fault through NVML. Also takes back the runtime's "last error", so that the
 * next launch is not blamed for it. */
lot_status lot_cuda_check(const lot_device *device, lot_error *error, const char *expression,
                          cudaError_t code);
lot_status lot_blas_check(const lot_device *device, lot_error *error, const char *expression,
                          cublasStatus_t code);

/* What a code of the runtime and of cuBLASLt means, before or after a device is open (cuda_codes.h), and a
 * result of NVML: LOT_OK where it says nothing of the device as a whole. */
lot_status lot_status_of_runtime(int code, bool open);
lot_status lot_status_of_blas(int code, bool open);
lot_status lot_status_of_nvml(int result);

/* The same for a kernel's launch, `code` being what the launcher returned. */
#define LOT_LAUNCH(device, error, code) lot_cuda_check(device, error, "cudaLaunchKernel", code)

/* ---- cuda_enumerate.c ---- */

lot_status lot_cuda_enumerate(lot_device_list *list, lot_error *error);

/* An attribute by its number, -1 where the runtime refuses it. */
int64_t lot_cuda_attribute(int which, int ordinal);

/* ---- cuda_device.c ---- */

lot_status lot_cuda_open(const lot_device_options *options, lot_device **device, lot_error *error);
void lot_cuda_close(lot_device *device);
lot_status lot_cuda_supports(lot_device *device, lot_dtype dtype, lot_math math, lot_error *error);
lot_status lot_cuda_sync(lot_device *device, lot_error *error);
lot_status lot_cuda_timer_start(lot_device *device, lot_error *error);
lot_status lot_cuda_timer_stop(lot_device *device, lot_error *error);
lot_status lot_cuda_timer_elapsed(lot_device *device, double *seconds, lot_error *error);
lot_status lot_cuda_memory_used(lot_device *device, int64_t *bytes, lot_error *error);
lot_status lot_cuda_flush_cache(lot_device *device, lot_error *error);

/* ---- cuda_pool.c ---- */

/* Makes the pool of the current device and measures its two steps. close frees what is left. */
lot_status lot_pool_open(lot_device *device, lot_error *error);
void lot_pool_close(lot_device *device);
lot_status lot_cuda_alloc(lot_device *device, int64_t bytes, void **pointer, lot_error *error);

/* Memory of the device that is not the network's and not counted, for cudaFree. An error says what it was
 * for. */
lot_status lot_cuda_malloc(lot_device *device, int64_t bytes, const char *purpose, void **pointer,
                           lot_error *error);
void lot_cuda_free(lot_device *device, void *pointer);
lot_status lot_cuda_counters(lot_device *device, lot_counters *counters, lot_error *error);
lot_status lot_cuda_reset_peaks(lot_device *device, lot_error *error);

/* ---- cuda_values.c ---- */

lot_status lot_values_open(lot_device *device, lot_error *error);
void lot_values_close(lot_device *device);
lot_status lot_cuda_upload(lot_device *device, void *to, const void *from, int64_t bytes, lot_error *error);
lot_status lot_cuda_download(lot_device *device, void *to, const void *from, int64_t bytes, lot_error *error);
lot_status lot_cuda_build(lot_device *device, void *to, const lot_fill *fill, lot_error *error);
lot_status lot_cuda_fill(lot_device *device, void *to, const lot_fill *fill, lot_error *error);
lot_status lot_cuda_digest(lot_device *device, const void *pointer, int64_t bytes, lot_dtype dtype,
                           uint64_t *digest, int *finite, lot_error *error);
lot_status lot_cuda_compare(lot_device *device, const void *a, const void *b, int64_t count, lot_dtype dtype,
                            int64_t *differing, int64_t *first, lot_error *error);

/* ---- cuda_linear.c ---- */

lot_status lot_cuda_plan(lot_device *device, const lot_linear *linear, lot_plan **plan, lot_plan_facts *facts,
                         lot_error *error);
void lot_cuda_plan_free(lot_device *device, lot_plan *plan);
lot_status lot_cuda_run(lot_device *device, const lot_plan *plan, void *y, const void *x, const void *w,
                        const void *b, lot_error *error);

/* ---- cuda_facts.c ---- */

lot_status lot_cuda_describe(lot_device *device, lot_device_facts *facts, lot_absent *absent, size_t capacity,
                             size_t *absent_count, lot_error *error);

/* ---- cuda_telemetry.c ---- */

/* Finds the device in NVML and counts who else computes on it: to be called before this process has a context
 * there. Cannot fail but for memory: without NVML its fields are absent. start begins the series. */
lot_status lot_sensors_open(const lot_device_facts *identity, struct lot_sensors **sensors, lot_error *error);
lot_status lot_sensors_start(struct lot_sensors *sensors, int samples_per_second, lot_error *error);
void lot_sensors_close(struct lot_sensors *sensors);

/* True where NVML says that the GPU has gone. NULL allowed. */
bool lot_sensors_lost(const struct lot_sensors *sensors);

lot_status lot_cuda_telemetry_begin(lot_device *device, lot_error *error);
lot_status lot_cuda_telemetry_end(lot_device *device, lot_telemetry *telemetry, lot_error *error);
lot_status lot_cuda_samples(lot_device *device, lot_sample *samples, size_t capacity, size_t *count,
                            lot_error *error);

/* Sets every field to "not measured". */
void lot_facts_clear(lot_device_facts *facts);
void lot_telemetry_clear(lot_telemetry *telemetry);

#endif
