/* Bringing values to the device, making them there, and reading them back as a digest. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cuda/cuda_internal.h"
#include "gpu/digest.h"

#define SCRATCH_BYTES (LOT_PARTIALS * sizeof(lot_digest_partial))
#define GRAIN         4096 /* elements that a thread does at least; a multiple of every group of the generator */

_Static_assert(sizeof(lot_digest_partial) == sizeof(lot_compare_partial), "one scratch buffer serves both");

/* ---- buffers ---- */

static lot_status open_staging(lot_device *device, lot_error *error)
{
    lot_staging *staging = &device->staging;
    lot_status status = LOT_OK;

    for (int i = 0; i < LOT_STAGES && status == LOT_OK; i++) {
        status = LOT_CUDA(device, error,
                          cudaHostAlloc(&staging->buffer[i], LOT_STAGE_BYTES, cudaHostAllocDefault));
        if (status == LOT_OK)
            status = LOT_CUDA(device, error,
                              cudaEventCreateWithFlags(&staging->copied[i], cudaEventDisableTiming));
    }
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
        status = LOT_CUDA(device, error, cudaMalloc(&device->scratch.device, SCRATCH_BYTES));
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
    for (int i = 0; i < LOT_STAGES; i++) {
        if (device->staging.copied[i] != NULL)
            (void)cudaEventDestroy(device->staging.copied[i]);
        (void)cudaFreeHost(device->staging.buffer[i]);
    }
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

/* Makes elements [first, first + count) with all threads. */
static void generate(const lot_device *device, void *to, const lot_fill *fill, int64_t first, int64_t count)
{
    const int64_t bytes = (int64_t)lot_dtype_bytes(fill->dtype);
    const int64_t pieces = (count + GRAIN - 1) / GRAIN;
    char *out = to;

#pragma omp parallel for num_threads(device->threads) schedule(static) if (pieces > 1)
    for (int64_t piece = 0; piece < pieces; piece++) {
        const int64_t start = piece * GRAIN;
        const int64_t rest = count - start;

        lot_generate(out + start * bytes, fill, first + start, rest < GRAIN ? rest : GRAIN);
    }
}

/* One buffer's worth: waits until its last copy is done, fills it, queues the next copy. */
static lot_status build_stage(lot_device *device, char *to, const lot_fill *fill, int64_t first,
                              int64_t count, lot_error *error)
{
    lot_staging *staging = &device->staging;
    const int stage = staging->next;
    const size_t bytes = (size_t)count * lot_dtype_bytes(fill->dtype);
    lot_status status = LOT_CUDA(device, error, cudaEventSynchronize(staging->copied[stage]));

    if (status != LOT_OK)
        return status;
    generate(device, staging->buffer[stage], fill, first, count);
    status =
        LOT_CUDA(device, error,
                 cudaMemcpyAsync(to, staging->buffer[stage], bytes, cudaMemcpyHostToDevice, device->stream));
    if (status == LOT_OK)
        status = LOT_CUDA(device, error, cudaEventRecord(staging->copied[stage], device->stream));
    staging->next = (stage + 1) % LOT_STAGES;
    return status;
}

lot_status lot_cuda_build(lot_device *device, void *to, const lot_fill *fill, lot_error *error)
{
    const int64_t bytes = (int64_t)lot_dtype_bytes(fill->dtype);
    const int64_t most = LOT_STAGE_BYTES / bytes;
    lot_status status = LOT_OK;

    for (int64_t done = 0; done < fill->count && status == LOT_OK; done += most) {
        const int64_t rest = fill->count - done;

        status = build_stage(device, (char *)to + done * bytes, fill, fill->first + done,
                             rest < most ? rest : most, error);
    }
    return status;
}

lot_status lot_cuda_fill(lot_device *device, void *to, const lot_fill *fill, lot_error *error)
{
    return LOT_CUDA(device, error, lot_launch_fill(to, fill, device->stream));
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
        LOT_CUDA(device, error,
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
        LOT_CUDA(device, error,
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
