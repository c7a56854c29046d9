/* The counted memory of a device.
 *
 * An explicit pool of the runtime's stream-ordered allocator: its counters are not touched by what libraries
 * take from the device's default pool. Its release threshold is the largest there is, or every
 * synchronisation would hand the cache back. A device without pools, or one that refuses them, gets
 * cudaMalloc with our own counts; describe says which. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cuda/cuda_internal.h"

#define BLOCKS_FIRST                                                                                         \
    64 /* more than a measurement has at one time: no allocation of ours within a timed span */

/* ---- what is out ---- */

/* Room for one more block. */
static lot_status make_room(lot_pool *pool, lot_error *error)
{
    const size_t capacity = pool->capacity == 0 ? BLOCKS_FIRST : 2 * pool->capacity;
    lot_pool_block *blocks;

    if (pool->count < pool->capacity)
        return LOT_OK;
    blocks = realloc(pool->blocks, capacity * sizeof *blocks);
    if (blocks == NULL)
        return lot_error_set(error, LOT_MEMORY, "realloc", 0, "the host is out of memory");
    pool->blocks = blocks;
    pool->capacity = capacity;
    return LOT_OK;
}

/* Takes the block off the list; what was taken last is mostly given back first. */
static lot_pool_block take_off(lot_pool *pool, const void *pointer)
{
    size_t i = pool->count;
    lot_pool_block block;

    while (i > 0 && pool->blocks[i - 1].pointer != pointer)
        i--;
    assert(i > 0);
    block = pool->blocks[i - 1];
    pool->blocks[i - 1] = pool->blocks[--pool->count];
    return block;
}

/* ---- the runtime's pool ---- */

static lot_status read_mark(const lot_device *device, enum cudaMemPoolAttr mark, int64_t *bytes,
                            lot_error *error)
{
    uint64_t value = 0;
    const lot_status status =
        LOT_CUDA(device, error, cudaMemPoolGetAttribute(device->pool.pool, mark, &value));

    if (status == LOT_OK)
        *bytes = (int64_t)value;
    return status;
}

static lot_status pool_counters(const lot_device *device, lot_counters *counters, lot_error *error)
{
    lot_counters read = {0};
    lot_status status = read_mark(device, cudaMemPoolAttrUsedMemCurrent, &read.allocated_bytes, error);

    if (status == LOT_OK)
        status = read_mark(device, cudaMemPoolAttrReservedMemCurrent, &read.reserved_bytes, error);
    if (status == LOT_OK)
        status = read_mark(device, cudaMemPoolAttrUsedMemHigh, &read.allocated_peak_bytes, error);
    if (status == LOT_OK)
        status = read_mark(device, cudaMemPoolAttrReservedMemHigh, &read.reserved_peak_bytes, error);
    if (status == LOT_OK)
        *counters = read;
    return status;
}

/* Zero is the only value that may be written; the mark then becomes the current value. */
static lot_status reset_marks(const lot_device *device, lot_error *error)
{
    uint64_t zero = 0;
    lot_status status = LOT_CUDA(
        device, error, cudaMemPoolSetAttribute(device->pool.pool, cudaMemPoolAttrUsedMemHigh, &zero));

    if (status == LOT_OK)
        status = LOT_CUDA(device, error,
                          cudaMemPoolSetAttribute(device->pool.pool, cudaMemPoolAttrReservedMemHigh, &zero));
    return status;
}

static lot_status create_pool(lot_device *device, lot_error *error)
{
    struct cudaMemPoolProps properties;
    uint64_t keep_all = UINT64_MAX;
    lot_status status;

    memset(&properties, 0, sizeof properties);
    properties.allocType = cudaMemAllocationTypePinned;
    properties.handleTypes = cudaMemHandleTypeNone;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device->options.ordinal;
    status = LOT_CUDA(device, error, cudaMemPoolCreate(&device->pool.pool, &properties));
    if (status != LOT_OK) {
        device->pool.pool = NULL;
        return status;
    }
    return LOT_CUDA(device, error,
                    cudaMemPoolSetAttribute(device->pool.pool, cudaMemPoolAttrReleaseThreshold, &keep_all));
}

/* No document says in which steps the counters go: one byte shows it. The pool is empty again afterwards. */
static lot_status measure_steps(lot_device *device, lot_error *error)
{
    lot_counters after;
    void *byte = NULL;
    lot_status status = lot_cuda_alloc(device, 1, &byte, error);

    if (status == LOT_OK)
        status = lot_cuda_sync(device, error);
    if (status == LOT_OK)
        status = pool_counters(device, &after, error);
    if (status == LOT_OK) {
        device->pool.granularity_bytes = after.allocated_bytes;
        device->pool.reserve_step_bytes = after.reserved_bytes;
    }
    lot_cuda_free(device, byte);
    if (status == LOT_OK)
        status = lot_cuda_sync(device, error);
    if (status == LOT_OK)
        status = LOT_CUDA(device, error, cudaMemPoolTrimTo(device->pool.pool, 0));
    if (status == LOT_OK)
        status = reset_marks(device, error);
    return status;
}

/* What a virtual machine or a sandbox may answer although the device's attribute promises pools. */
static bool refuses_pools(const lot_error *error)
{
    return error->code == cudaErrorNotSupported || error->code == cudaErrorOperatingSystem;
}

lot_status lot_pool_open(lot_device *device, lot_error *error)
{
    int supported = 0;
    lot_status status = LOT_CUDA(
        device, error,
        cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device->options.ordinal));

    device->pool.granularity_bytes = LOT_NULL_I64;
    device->pool.reserve_step_bytes = LOT_NULL_I64;
    if (status != LOT_OK || !supported)
        return status;
    status = create_pool(device, error);
    if (status == LOT_OK)
        status = measure_steps(device, error);
    if (status == LOT_OK || !refuses_pools(error))
        return status;
    if (device->pool.pool != NULL)
        (void)cudaMemPoolDestroy(device->pool.pool);
    (void)cudaGetLastError();
    device->pool.pool = NULL;
    return LOT_OK;
}

/* ---- counted cudaMalloc: nothing is kept back ---- */

static void count_taken(lot_counters *counted, int64_t bytes)
{
    counted->allocated_bytes += bytes;
    counted->reserved_bytes = counted->allocated_bytes;
    if (counted->allocated_bytes > counted->allocated_peak_bytes)
        counted->allocated_peak_bytes = counted->allocated_bytes;
    counted->reserved_peak_bytes = counted->allocated_peak_bytes;
}

static void count_freed(lot_counters *counted, int64_t bytes)
{
    counted->allocated_bytes -= bytes;
    counted->reserved_bytes = counted->allocated_bytes;
}

/* ---- what the module offers ---- */

/* An allocation that fails says how much there was. */
static lot_status too_little(lot_device *device, int64_t bytes, const char *purpose, lot_error *error)
{
    const lot_error first = *error;
    size_t available = 0, total = 0;

    if (LOT_CUDA(device, error, cudaMemGetInfo(&available, &total)) != LOT_OK) {
        *error = first;
        return first.status;
    }
    return lot_error_set(error, LOT_DEVICE_MEMORY, first.call, first.code,
                         "%s: %lld bytes asked for%s, %zu of the device's %zu bytes are free", first.call,
                         (long long)bytes, purpose, available, total);
}

lot_status lot_cuda_malloc(lot_device *device, int64_t bytes, const char *purpose, void **pointer,
                           lot_error *error)
{
    const lot_status status = LOT_CUDA(device, error, cudaMalloc(pointer, (size_t)bytes));
    char text[48];

    if (status != LOT_DEVICE_MEMORY)
        return status;
    (void)snprintf(text, sizeof text, " for %s", purpose);
    return too_little(device, bytes, text, error);
}

lot_status lot_cuda_alloc(lot_device *device, int64_t bytes, void **pointer, lot_error *error)
{
    lot_pool *pool = &device->pool;
    void *taken = NULL;
    lot_status status = make_room(pool, error);

    assert(bytes > 0);
    if (status != LOT_OK)
        return status;
    if (pool->pool == NULL)
        status = LOT_CUDA(device, error, cudaMalloc(&taken, (size_t)bytes));
    else
        status = LOT_CUDA(device, error,
                          cudaMallocFromPoolAsync(&taken, (size_t)bytes, pool->pool, device->stream));
    if (status == LOT_DEVICE_MEMORY)
        return too_little(device, bytes, "", error);
    if (status != LOT_OK)
        return status;
    pool->blocks[pool->count++] = (lot_pool_block){.pointer = taken, .bytes = bytes};
    if (pool->pool == NULL)
        count_taken(&pool->counted, bytes);
    *pointer = taken;
    return LOT_OK;
}

/* A failure here is one of earlier work and comes back at the next call. */
void lot_cuda_free(lot_device *device, void *pointer)
{
    lot_pool_block block;

    if (pointer == NULL)
        return;
    block = take_off(&device->pool, pointer);
    if (device->pool.pool != NULL) {
        (void)cudaFreeAsync(pointer, device->stream);
        return;
    }
    count_freed(&device->pool.counted, block.bytes);
    (void)cudaFree(pointer);
}

lot_status lot_cuda_counters(lot_device *device, lot_counters *counters, lot_error *error)
{
    if (device->pool.pool != NULL)
        return pool_counters(device, counters, error);
    *counters = device->pool.counted;
    return LOT_OK;
}

lot_status lot_cuda_reset_peaks(lot_device *device, lot_error *error)
{
    if (device->pool.pool != NULL)
        return reset_marks(device, error);
    device->pool.counted.allocated_peak_bytes = device->pool.counted.allocated_bytes;
    device->pool.counted.reserved_peak_bytes = device->pool.counted.reserved_bytes;
    return LOT_OK;
}

/* A pool that still has something out would live on in the context. */
void lot_pool_close(lot_device *device)
{
    lot_pool *pool = &device->pool;

    while (pool->count > 0)
        lot_cuda_free(device, pool->blocks[pool->count - 1].pointer);
    (void)cudaStreamSynchronize(device->stream);
    if (pool->pool != NULL)
        (void)cudaMemPoolDestroy(pool->pool);
    pool->pool = NULL;
    free(pool->blocks);
}
