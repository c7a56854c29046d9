#include "sim_pool.h"

#include <stdlib.h>
#include <string.h>

#include "sim_leaks.h"
#include "sim_memory.h"
#include "sim_stream.h"

#define POOL_MAGIC 0x504f4f4cu

struct CUmemPoolHandle_st {
    uint32_t magic;
    sim_device *device;
    uint64_t used;
    uint64_t used_high;
    uint64_t reserved;
    uint64_t reserved_high;
    uint64_t freeing; /* freed by the product, the free has not run yet */
    uint64_t threshold;
    uint64_t most; /* 0: no limit but the device's memory */
    sim_pool *next;
};

static sim_pool *buried;

static uint64_t round_up(uint64_t value, uint64_t step)
{
    return (value + step - 1) / step * step;
}

static bool is_pool(const sim_pool *pool)
{
    return pool != NULL && pool->magic == POOL_MAGIC;
}

static sim_pool *new_pool(sim_device *device, uint64_t most)
{
    sim_pool *pool = calloc(1, sizeof *pool);

    if (pool == NULL)
        abort();
    *pool = (sim_pool){.magic = POOL_MAGIC, .device = device, .most = most, .next = device->pools};
    device->pools = pool;
    return pool;
}

void sim_pool_open(sim_device *device)
{
    device->default_pool = new_pool(device, 0);
    device->current_pool = device->default_pool;
}

uint64_t sim_pool_reserved_bytes(const sim_device *device)
{
    uint64_t bytes = 0;

    for (const sim_pool *pool = device->pools; pool != NULL; pool = pool->next)
        bytes += pool->reserved;
    return bytes;
}

static void trim(sim_pool *pool, uint64_t keep)
{
    const uint64_t needed = round_up(pool->used + pool->freeing, sim_config_get()->chunk_bytes);
    const uint64_t target = needed > keep ? needed : keep;

    if (pool->reserved > target)
        pool->reserved = target;
}

void sim_pool_release_excess(sim_device *device)
{
    for (sim_pool *pool = device->pools; pool != NULL; pool = pool->next)
        trim(pool, pool->threshold);
}

void sim_pool_release_all(sim_device *device)
{
    for (sim_pool *pool = device->pools; pool != NULL; pool = pool->next)
        trim(pool, 0);
}

void sim_pool_begin_free(sim_block *block)
{
    block->pool->used -= block->charged;
    block->pool->freeing += block->charged;
}

void sim_pool_end_free(sim_block *block)
{
    block->pool->freeing -= block->charged;
}

/* Backs `used` bytes; out of memory where pool or device have no room. */
static cudaError_t grow(sim_pool *pool, uint64_t used)
{
    const uint64_t reserved = round_up(used, sim_config_get()->chunk_bytes);
    const uint64_t memory = sim_config_memory(pool->device->unit);

    if (used <= pool->reserved)
        return cudaSuccess;
    if (pool->most > 0 && reserved > pool->most)
        return cudaErrorMemoryAllocation;
    if (sim_device_used_bytes(pool->device) + (reserved - pool->reserved) > memory)
        sim_pool_release_all(pool->device);
    if (sim_device_used_bytes(pool->device) + (reserved - pool->reserved) > memory)
        return cudaErrorMemoryAllocation;
    pool->reserved = reserved;
    if (reserved > pool->reserved_high)
        pool->reserved_high = reserved;
    return cudaSuccess;
}

static cudaError_t pool_alloc(sim_pool *pool, void **pointer, size_t size)
{
    const uint64_t charged = round_up(size, sim_config_get()->grain_bytes);
    const sim_fault *fault;
    cudaError_t error;

    if (size == 0)
        return cudaErrorInvalidValue;
    fault = sim_fault_hit(SIM_FAULT_OOM, pool->device->unit.gpu);
    if (fault != NULL)
        return (cudaError_t)fault->code;
    if (charged < size)
        return cudaErrorMemoryAllocation;
    error = grow(pool, pool->used + charged);
    if (error != cudaSuccess)
        return error;
    *pointer = sim_memory_new(pool->device, size, charged, pool);
    if (*pointer == NULL)
        return cudaErrorMemoryAllocation;
    pool->used += charged;
    if (pool->used > pool->used_high)
        pool->used_high = pool->used;
    return cudaSuccess;
}

/* A device without pools refuses every call about them. */
static cudaError_t pools_supported(const sim_device *device)
{
    const sim_fault *fault = sim_fault_find(SIM_FAULT_NO_POOLS, device->unit.gpu, NULL);

    if (fault == NULL)
        fault = sim_fault_find(SIM_FAULT_POOLS_REFUSED, device->unit.gpu, NULL);
    if (fault == NULL)
        return cudaSuccess;
    sim_fault_note(fault);
    return (cudaError_t)fault->code;
}

static cudaError_t enter_pools(const char *call, sim_device **device)
{
    const cudaError_t error = sim_enter(call, device);

    return error != cudaSuccess ? error : pools_supported(*device);
}

/* ---- the API ---- */

/* As driver_types.h has them: a device's pinned memory, for no other process, and nothing in the rest. */
static bool properties_fit(const struct cudaMemPoolProps *properties)
{
    for (size_t i = 0; i < sizeof properties->reserved; i++)
        if (properties->reserved[i] != 0)
            return false;
#if CUDART_VERSION >= 12080
    if (properties->usage != 0)
        return false;
#endif
    return properties->location.type == cudaMemLocationTypeDevice &&
           properties->allocType == cudaMemAllocationTypePinned &&
           properties->handleTypes == cudaMemHandleTypeNone && properties->win32SecurityAttributes == NULL;
}

/* The size that a pool may grow to; 0: no limit, as in every pool before CUDA 12.2. */
static size_t most_bytes(const struct cudaMemPoolProps *properties)
{
#if CUDART_VERSION >= 12020
    return properties->maxSize;
#else
    (void)properties;
    return 0;
#endif
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties)
{
    sim_device *device;
    sim_device *home;
    cudaError_t error = enter_pools(__func__, &device);

    if (error != cudaSuccess)
        return sim_leave(error);
    home = sim_device_at(properties->location.id);
    if (home == NULL || !properties_fit(properties))
        return sim_leave(cudaErrorInvalidValue);
    error = sim_device_ready(home);
    if (error == cudaSuccess)
        *pool = new_pool(home, most_bytes(properties));
    if (error == cudaSuccess)
        sim_count(SIM_POOL, 1);
    return sim_leave(error);
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    sim_device *device;
    const cudaError_t error = enter_pools(__func__, &device);

    if (error != cudaSuccess)
        return sim_leave(error);
    if (!is_pool(pool) || pool == pool->device->default_pool)
        return sim_leave(cudaErrorInvalidValue);
    device = pool->device;
    if (pool->used > 0)
        sim_say("device %d: a pool was destroyed with %llu bytes in use", device->unit.gpu,
                (unsigned long long)pool->used);
    for (sim_pool **link = &device->pools; *link != NULL; link = &(*link)->next) {
        if (*link == pool) {
            *link = pool->next;
            break;
        }
    }
    if (device->current_pool == pool)
        device->current_pool = device->default_pool;
    sim_count(SIM_POOL, -1);
    pool->magic = 0; /* kept, not freed: a second use is an error and not a crash */
    pool->next = buried;
    buried = pool;
    pool->reserved = 0;
    return sim_leave(cudaSuccess);
}

static cudaError_t get_attribute(const sim_pool *pool, enum cudaMemPoolAttr attribute, void *value)
{
    uint64_t bytes;

    switch (attribute) {
    case cudaMemPoolAttrReleaseThreshold:
        bytes = pool->threshold;
        break;
    case cudaMemPoolAttrReservedMemCurrent:
        bytes = pool->reserved;
        break;
    case cudaMemPoolAttrReservedMemHigh:
        bytes = pool->reserved_high;
        break;
    case cudaMemPoolAttrUsedMemCurrent:
        bytes = pool->used + pool->freeing;
        break;
    case cudaMemPoolAttrUsedMemHigh:
        bytes = pool->used_high;
        break;
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
        *(int *)value = 1;
        return cudaSuccess;
    default:
        return cudaErrorInvalidValue;
    }
    memcpy(value, &bytes, sizeof bytes);
    return cudaSuccess;
}

static cudaError_t set_attribute(sim_pool *pool, enum cudaMemPoolAttr attribute, const void *value)
{
    uint64_t bytes;

    switch (attribute) {
    case cudaMemPoolAttrReleaseThreshold:
        memcpy(&pool->threshold, value, sizeof pool->threshold);
        return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
    case cudaMemPoolAttrUsedMemHigh:
        memcpy(&bytes, value, sizeof bytes);
        if (bytes != 0)
            return cudaErrorInvalidValue;
        if (attribute == cudaMemPoolAttrUsedMemHigh)
            pool->used_high = pool->used;
        else
            pool->reserved_high = pool->reserved;
        return cudaSuccess;
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
        return cudaSuccess;
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    sim_device *device;
    cudaError_t error = enter_pools(__func__, &device);

    if (error == cudaSuccess)
        error =
            is_pool(pool) && value != NULL ? get_attribute(pool, attribute, value) : cudaErrorInvalidValue;
    return sim_leave(error);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    sim_device *device;
    cudaError_t error = enter_pools(__func__, &device);

    if (error == cudaSuccess)
        error =
            is_pool(pool) && value != NULL ? set_attribute(pool, attribute, value) : cudaErrorInvalidValue;
    return sim_leave(error);
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
    sim_device *device;
    cudaError_t error = enter_pools(__func__, &device);

    if (error == cudaSuccess && !is_pool(pool))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        trim(pool, keep);
    return sim_leave(error);
}

static cudaError_t find_pool(const char *call, cudaMemPool_t *pool, int ordinal, bool of_default)
{
    sim_device *home;
    cudaError_t error = sim_enter_driver(call);

    if (error != cudaSuccess)
        return sim_leave(error);
    home = sim_device_at(ordinal);
    if (home == NULL)
        return sim_leave(cudaErrorInvalidDevice);
    error = pools_supported(home);
    if (error == cudaSuccess)
        error = sim_device_ready(home);
    if (error == cudaSuccess)
        *pool = of_default ? home->default_pool : home->current_pool;
    return sim_leave(error);
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int ordinal)
{
    return find_pool(__func__, pool, ordinal, true);
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int ordinal)
{
    return find_pool(__func__, pool, ordinal, false);
}

cudaError_t cudaDeviceSetMemPool(int ordinal, cudaMemPool_t pool)
{
    const cudaError_t error = sim_enter_driver(__func__);
    sim_device *home = sim_device_at(ordinal);

    if (error != cudaSuccess)
        return sim_leave(error);
    if (home == NULL || !is_pool(pool) || pool->device != home)
        return sim_leave(cudaErrorInvalidValue);
    home->current_pool = pool;
    return sim_leave(cudaSuccess);
}

cudaError_t cudaMallocFromPoolAsync(void **pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
    sim_device *device;
    cudaError_t error = enter_pools(__func__, &device);

    if (error == cudaSuccess && (!is_pool(pool) || sim_stream_of(device, stream) == NULL))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = pool_alloc(pool, pointer, size);
    return sim_leave(error);
}

cudaError_t cudaMallocAsync(void **pointer, size_t size, cudaStream_t stream)
{
    sim_device *device;
    cudaError_t error = enter_pools(__func__, &device);

    if (error == cudaSuccess && sim_stream_of(device, stream) == NULL)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = pool_alloc(device->current_pool, pointer, size);
    return sim_leave(error);
}

/* ---- freeing in stream order ---- */

typedef struct free_work {
    sim_device *device;
    void *pointer;
} free_work;

static void run_free(void *argument)
{
    free_work *work = argument;
    sim_block *block;

    sim_lock();
    block = sim_memory_find(work->device, work->pointer);
    sim_pool_end_free(block);
    sim_memory_release(work->device, block);
    sim_unlock();
}

cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream)
{
    sim_device *device;
    sim_device *home;
    sim_block *block;
    free_work *work;
    const cudaError_t error = enter_pools(__func__, &device);

    if (error != cudaSuccess)
        return sim_leave(error);
    home = sim_memory_owner(pointer);
    block = home != NULL ? sim_memory_find(home, pointer) : NULL;
    if (block == NULL || block->address != pointer || block->freeing || block->pool == NULL ||
        sim_stream_of(device, stream) == NULL)
        return sim_leave(cudaErrorInvalidValue);
    work = malloc(sizeof *work);
    if (work == NULL)
        abort();
    *work = (free_work){.device = home, .pointer = pointer};
    block->freeing = true;
    sim_pool_begin_free(block);
    return sim_leave(
        sim_stream_put(device, stream, (sim_work){.name = "free", .run = run_free, .argument = work}));
}
