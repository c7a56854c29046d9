/* Bringing values to the device, making them there, and reading them back as a digest. */
#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cuda/cuda_internal.h"
#include "gpu/generate.h"

#define TURNS_WANTED  4 /* of each thread, where the tensor is large enough */
#define SCRATCH_BYTES (LOT_PARTIALS * sizeof(lot_digest_partial))

_Static_assert(sizeof(lot_digest_partial) == sizeof(lot_compare_partial), "one scratch buffer serves both");

/* ---- buffers ---- */

static lot_status open_staging(lot_device *device, lot_error *error)
{
    lot_staging *staging = &device->staging;
    const int stages = device->threads * LOT_STAGES;
    void *memory = NULL;
    lot_status status = LOT_CUDA(
        device, error, cudaHostAlloc(&memory, (size_t)stages * LOT_STAGE_BYTES, cudaHostAllocDefault));

    staging->memory = memory;
    for (int i = 0; i < stages && status == LOT_OK; i++)
        status =
            LOT_CUDA(device, error, cudaEventCreateWithFlags(&staging->copied[i], cudaEventDisableTiming));
    return status;
}

/* Starts the threads that build, so that model_load does not pay for it. */
static void start_threads(const lot_device *device)
{
    int started = 0;

#pragma omp parallel num_threads(device->threads) reduction(+ : started)
    started++;
    (void)started;
}

lot_status lot_values_open(lot_device *device, lot_error *error)
{
    lot_status status = open_staging(device, error);

    /* Outside the counted pool: it serves the checks, not the network. */
    if (status == LOT_OK)
        status = lot_cuda_malloc(device, SCRATCH_BYTES, "partial digests", &device->scratch.device, error);
    if (status == LOT_OK)
        status = LOT_CUDA(device, error,
                          cudaHostAlloc(&device->scratch.host, SCRATCH_BYTES, cudaHostAllocDefault));
    if (status == LOT_OK)
        start_threads(device);
    return status;
}

void lot_values_close(lot_device *device)
{
    (void)cudaFreeHost(device->scratch.host);
    (void)cudaFree(device->scratch.device);
    for (int i = 0; i < device->threads * LOT_STAGES; i++)
        if (device->staging.copied[i] != NULL)
            (void)cudaEventDestroy(device->staging.copied[i]);
    (void)cudaFreeHost(device->staging.memory);
}

/* ---- copies ---- */

/* The copy of pageable memory may still be under way when the call comes back, so it is waited for. */
static lot_status copy(lot_device *device, void *to, const void *from, int64_t bytes,
                       enum cudaMemcpyKind kind, lot_error *error)
{
    lot_status status =
        LOT_CUDA(device, error, cudaMemcpyAsync(to, from, (size_t)bytes, kind, device->stream));

    if (status == LOT_OK)
        status = lot_cuda_sync(device, error);
    return status;
}

lot_status lot_cuda_upload(lot_device *device, void *to, const void *from, int64_t bytes, lot_error *error)
{
    return copy(device, to, from, bytes, cudaMemcpyHostToDevice, error);
}

lot_status lot_cuda_download(lot_device *device, void *to, const void *from, int64_t bytes, lot_error *error)
{
    return copy(device, to, from, bytes, cudaMemcpyDeviceToHost, error);
}

/* ---- build ---- */

/* A tensor on its way: threads take one stage's worth after the other, whoever is free. */
typedef struct build_job {
    lot_device *device;
    char *to;
    const lot_fill *fill;
    int64_t step; /* elements of one stage */
    atomic_llong next;
    atomic_int failed;
    lot_error *error; /* of the first failure */
} build_job;

/* One stage: waits until its last copy is done, fills it, queues the next copy. */
static lot_status build_stage(build_job *job, int stage, int64_t done, lot_error *error)
{
    lot_device *device = job->device;
    const lot_fill *fill = job->fill;
    const int64_t rest = fill->count - done, count = rest < job->step ? rest : job->step;
    const size_t bytes = lot_dtype_bytes(fill->dtype);
    char *buffer = device->staging.memory + (size_t)stage * LOT_STAGE_BYTES;
    cudaEvent_t copied = device->staging.copied[stage];
    lot_status status = LOT_CUDA(device, error, cudaEventSynchronize(copied));

    if (status != LOT_OK)
        return status;
    lot_generate(buffer, fill, fill->first + done, count);
    status = LOT_CUDA(device, error,
                      cudaMemcpyAsync(job->to + (size_t)done * bytes, buffer, (size_t)count * bytes,
                                      cudaMemcpyHostToDevice, device->stream));
    if (status == LOT_OK)
        status = LOT_CUDA(device, error, cudaEventRecord(copied, device->stream));
    return status;
}

/* What one of the threads does. */
static void build_share(build_job *job, int thread)
{
    lot_status status = LOT_OK;
    lot_error error;

    if (thread != 0) /* the calling thread has the device already */
        status = LOT_CUDA(job->device, &error, cudaSetDevice(job->device->options.ordinal));
    for (int turn = 0; status == LOT_OK && atomic_load(&job->failed) == 0; turn++) {
        const int64_t done = atomic_fetch_add(&job->next, 1) * job->step;

        if (done >= job->fill->count)
            return;
        status = build_stage(job, LOT_STAGES * thread + turn % LOT_STAGES, done, &error);
    }
    if (status != LOT_OK && atomic_exchange(&job->failed, 1) == 0)
        *job->error = error;
}

/* Bytes of a stage: few calls of the driver for a large tensor, work for all threads in a small one. */
static int64_t stage_bytes(const lot_device *device, int64_t bytes)
{
    const int64_t share = bytes / ((int64_t)device->threads * TURNS_WANTED);
    const int64_t units = (share + LOT_STAGE_LEAST - 1) / LOT_STAGE_LEAST * LOT_STAGE_LEAST;

    return units < LOT_STAGE_LEAST ? LOT_STAGE_LEAST : units > LOT_STAGE_BYTES ? LOT_STAGE_BYTES : units;
}

lot_status lot_cuda_build(lot_device *device, void *to, const lot_fill *fill, lot_error *error)
{
    const int64_t item = (int64_t)lot_dtype_bytes(fill->dtype);
    build_job job = {.device = device,
                     .to = to,
                     .fill = fill,
                     .step = stage_bytes(device, fill->count * item) / item,
                     .error = error};
    const int64_t stages = (fill->count + job.step - 1) / job.step;
    const int threads = stages < device->threads ? (int)stages : device->threads;

#pragma omp parallel num_threads(threads) if (threads > 1)
    build_share(&job, omp_get_thread_num());
    return atomic_load(&job.failed) != 0 ? error->status : LOT_OK;
}

lot_status lot_cuda_fill(lot_device *device, void *to, const lot_fill *fill, lot_error *error)
{
    return LOT_LAUNCH(device, error, lot_launch_fill(to, fill, device->stream));
}

/* ---- digest and comparison ---- */

static lot_status read_partials(lot_device *device, int blocks, lot_error *error)
{
    return copy(device, device->scratch.host, device->scratch.device,
                blocks * (int64_t)sizeof(lot_digest_partial), cudaMemcpyDeviceToHost, error);
}

lot_status lot_cuda_digest(lot_device *device, const void *pointer, int64_t bytes, lot_dtype dtype,
                           uint64_t *digest, int *finite, lot_error *error)
{
    const lot_digest_partial *partials = device->scratch.host;
    uint64_t sum = (uint64_t)bytes, special = 0;
    int blocks = 0;
    lot_status status =
        LOT_LAUNCH(device, error,
                   lot_launch_digest(device->scratch.device, &blocks, pointer, bytes, dtype, device->stream));

    if (status == LOT_OK)
        status = read_partials(device, blocks, error);
    if (status != LOT_OK)
        return status;
    for (int i = 0; i < blocks; i++) {
        sum += partials[i].sum;
        special |= partials[i].special;
    }
    *digest = sum;
    *finite = special == 0;
    return LOT_OK;
}

lot_status lot_cuda_compare(lot_device *device, const void *a, const void *b, int64_t count, lot_dtype dtype,
                            int64_t *differing, int64_t *first, lot_error *error)
{
    const lot_compare_partial *partials = device->scratch.host;
    uint64_t total = 0, least = UINT64_MAX;
    int blocks = 0;
    lot_status status =
        LOT_LAUNCH(device, error,
                   lot_launch_compare(device->scratch.device, &blocks, a, b, count, dtype, device->stream));

    if (status == LOT_OK)
        status = read_partials(device, blocks, error);
    if (status != LOT_OK)
        return status;
    for (int i = 0; i < blocks; i++) {
        total += partials[i].differing;
        if (partials[i].first < least)
            least = partials[i].first;
    }
    *differing = (int64_t)total;
    *first = total == 0 ? LOT_NULL_I64 : (int64_t)least;
    return LOT_OK;
}
