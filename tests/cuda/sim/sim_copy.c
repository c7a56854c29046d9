/* cudaMalloc, page-locked host memory, copies and sets. */
#include <stdlib.h>
#include <string.h>

#include "sim_leaks.h"
#include "sim_memory.h"
#include "sim_pool.h"
#include "sim_stream.h"

#define DIRECT_STEP   (2ull << 20) /* cudaMalloc takes whole large pages */
#define COPY_OVERHEAD 2e-6         /* seconds */

/* ---- cudaMalloc ---- */

static cudaError_t direct_alloc(sim_device *device, void **pointer, size_t size)
{
    const uint64_t charged = (size + DIRECT_STEP - 1) / DIRECT_STEP * DIRECT_STEP;
    const uint64_t memory = sim_config_memory(device->unit);
    const sim_fault *fault = sim_fault_hit(SIM_FAULT_OOM, device->unit.gpu);

    if (fault != NULL)
        return (cudaError_t)fault->code;
    if (charged < size)
        return cudaErrorMemoryAllocation;
    if (sim_device_used_bytes(device) + charged > memory)
        sim_pool_release_all(device);
    if (sim_device_used_bytes(device) + charged > memory)
        return cudaErrorMemoryAllocation;
    *pointer = sim_memory_new(device, size, charged, NULL);
    if (*pointer == NULL)
        return cudaErrorMemoryAllocation;
    device->direct_bytes += charged;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **pointer, size_t size)
{
    sim_device *device;
    const cudaError_t error = sim_enter(__func__, &device);

    if (error != cudaSuccess)
        return sim_leave(error);
    if (size == 0) {
        *pointer = NULL;
        return sim_leave(cudaSuccess);
    }
    return sim_leave(direct_alloc(device, pointer, size));
}

/* Waits for all work of the device first, as the real one. */
cudaError_t cudaFree(void *pointer)
{
    sim_device *device;
    sim_device *home;
    sim_block *block;
    const cudaError_t error = sim_enter(__func__, &device);

    if (error != cudaSuccess || pointer == NULL)
        return sim_leave(error);
    home = sim_memory_owner(pointer);
    if (home == NULL)
        return sim_leave(cudaErrorInvalidValue);
    sim_stream_run_device(home);
    block = sim_memory_find(home, pointer);
    if (block == NULL || block->address != pointer || block->freeing)
        return sim_leave(cudaErrorInvalidValue);
    block->freeing = true;
    if (block->pool != NULL) {
        sim_pool_begin_free(block);
        sim_pool_end_free(block);
    } else {
        home->direct_bytes -= block->charged;
    }
    sim_memory_release(home, block);
    return sim_leave(home->sticky);
}

/* ---- page-locked host memory ---- */

typedef struct pinned_range {
    struct pinned_range *next;
    char *start;
    size_t size;
    bool owned; /* by cudaMallocHost, else registered */
} pinned_range;

static pinned_range *pinned;

static bool is_pinned(const void *pointer)
{
    const char *address = pointer;

    for (const pinned_range *range = pinned; range != NULL; range = range->next)
        if (address >= range->start && address < range->start + range->size)
            return true;
    return false;
}

static cudaError_t pin(void *start, size_t size, bool owned)
{
    pinned_range *range = malloc(sizeof *range);

    if (range == NULL)
        return cudaErrorMemoryAllocation;
    *range = (pinned_range){.next = pinned, .start = start, .size = size, .owned = owned};
    pinned = range;
    return cudaSuccess;
}

static bool unpin(void *start, bool owned)
{
    for (pinned_range **link = &pinned; *link != NULL; link = &(*link)->next) {
        pinned_range *range = *link;

        if (range->start == start && range->owned == owned) {
            *link = range->next;
            free(range);
            return true;
        }
    }
    return false;
}

static cudaError_t host_alloc(const char *call, void **pointer, size_t size)
{
    sim_device *device;
    cudaError_t error = sim_enter(call, &device);
    void *memory;

    if (error != cudaSuccess)
        return sim_leave(error);
    memory = malloc(size > 0 ? size : 1);
    error = memory != NULL ? pin(memory, size, true) : cudaErrorMemoryAllocation;
    if (error == cudaSuccess)
        *pointer = memory;
    if (error == cudaSuccess)
        sim_count(SIM_PINNED, 1);
    else
        free(memory);
    return sim_leave(error);
}

cudaError_t cudaMallocHost(void **pointer, size_t size)
{
    return host_alloc(__func__, pointer, size);
}

cudaError_t cudaHostAlloc(void **pointer, size_t size, unsigned int flags)
{
    const unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;

    if ((flags & ~known) != 0) {
        sim_lock();
        return sim_leave(cudaErrorInvalidValue);
    }
    return host_alloc(__func__, pointer, size);
}

/* Host memory goes also where the context is broken and the call says so. */
cudaError_t cudaFreeHost(void *pointer)
{
    sim_device *device = NULL;
    const cudaError_t error = sim_enter(__func__, &device);

    if (pointer == NULL)
        return sim_leave(error);
    if (error == cudaSuccess)
        sim_stream_run_device(device);
    if (!unpin(pointer, true))
        return sim_leave(error != cudaSuccess ? error : cudaErrorInvalidValue);
    free(pointer);
    sim_count(SIM_PINNED, -1);
    return sim_leave(error != cudaSuccess ? error : device->sticky);
}

cudaError_t cudaHostRegister(void *pointer, size_t size, unsigned int flags)
{
    sim_device *device;
    cudaError_t error = sim_enter(__func__, &device);

    (void)flags;
    if (error == cudaSuccess && is_pinned(pointer))
        error = cudaErrorHostMemoryAlreadyRegistered;
    if (error == cudaSuccess)
        error = pin(pointer, size, false);
    return sim_leave(error);
}

cudaError_t cudaHostUnregister(void *pointer)
{
    sim_device *device;
    const cudaError_t error = sim_enter(__func__, &device);

    if (error != cudaSuccess)
        return sim_leave(error);
    sim_stream_run_device(device);
    return sim_leave(unpin(pointer, false) ? cudaSuccess : cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaHostGetDevicePointer(void **device_pointer, void *host_pointer, unsigned int flags)
{
    sim_device *device;
    const cudaError_t error = sim_enter(__func__, &device);

    (void)flags;
    if (error != cudaSuccess)
        return sim_leave(error);
    if (!is_pinned(host_pointer))
        return sim_leave(cudaErrorInvalidValue);
    *device_pointer = host_pointer; /* kernels here can use host memory as it is */
    return sim_leave(cudaSuccess);
}

/* ---- copies ---- */

typedef struct copy_work {
    sim_device *to_device;
    sim_device *from_device;
    void *to;
    const void *from;
    size_t size;
    char stage[]; /* of a source that the caller may reuse at once */
} copy_work;

static void run_copy(void *argument)
{
    copy_work *work = argument;
    void *to = work->to;
    const void *from = work->from;

    if (work->to_device != NULL)
        to = sim_memory_check(work->to_device, work->to, work->size, "copy to");
    if (work->from_device != NULL)
        from = sim_memory_check(work->from_device, work->from, work->size, "copy from");
    if (to != NULL && from != NULL)
        memmove(to, from, work->size);
}

static bool direction_fits(enum cudaMemcpyKind kind, bool to_device, bool from_device)
{
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return to_device && !from_device;
    case cudaMemcpyDeviceToHost:
        return !to_device && from_device;
    case cudaMemcpyDeviceToDevice:
        return to_device && from_device;
    case cudaMemcpyHostToHost:
        return !to_device && !from_device;
    default:
        return true;
    }
}

static sim_work describe_copy(copy_work *work)
{
    const sim_config *config = sim_config_get();
    const bool inside = work->to_device != NULL && work->from_device != NULL;
    const bool upload = work->to_device != NULL && work->from_device == NULL;
    const double rate = inside ? config->bytes_per_second / 2 : config->link_bytes_per_second;

    return (sim_work){.name = upload ? "upload" : "copy",
                      .kind = upload ? SIM_WORK_UPLOAD : SIM_WORK_OTHER,
                      .run = run_copy,
                      .argument = work,
                      .seconds = COPY_OVERHEAD + (double)work->size / rate,
                      .output = upload ? work->to : NULL,
                      .element_bytes = 4};
}

/* A pageable source is staged before the call returns, a pageable target is complete when it returns; only
 * page-locked memory makes a copy truly asynchronous. */
static cudaError_t copy(sim_device *device, void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                        cudaStream_t handle, bool wait)
{
    sim_stream *stream = sim_stream_of(device, handle);
    sim_device *to_device = sim_memory_owner(to);
    sim_device *from_device = sim_memory_owner(from);
    const bool stage = from_device == NULL && !is_pinned(from);
    const bool now = wait || (to_device == NULL && !is_pinned(to));
    copy_work *work;

    if (stream == NULL)
        return cudaErrorInvalidResourceHandle;
    if (!direction_fits(kind, to_device != NULL, from_device != NULL))
        return cudaErrorInvalidMemcpyDirection;
    if (!sim_memory_inside(to, size) || !sim_memory_inside(from, size))
        return cudaErrorInvalidValue;
    work = malloc(sizeof *work + (stage ? size : 0));
    if (work == NULL)
        abort();
    *work = (copy_work){to_device, from_device, to, from, size};
    if (stage) {
        memcpy(work->stage, from, size);
        work->from = work->stage;
    }
    (void)sim_stream_put(device, handle, describe_copy(work));
    if (!now)
        return cudaSuccess;
    sim_stream_run(stream);
    return device->sticky;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    sim_device *device;
    cudaError_t error = sim_enter(__func__, &device);

    if (error == cudaSuccess && size > 0)
        error = copy(device, to, from, size, kind, stream, false);
    return sim_leave(error);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind)
{
    sim_device *device;
    cudaError_t error = sim_enter(__func__, &device);

    if (error == cudaSuccess && size > 0)
        error = copy(device, to, from, size, kind, NULL, true);
    return sim_leave(error);
}

/* ---- sets ---- */

typedef struct set_work {
    sim_device *device;
    void *to;
    int value;
    size_t size;
} set_work;

static void run_set(void *argument)
{
    const set_work *work = argument;
    void *to = sim_memory_check(work->device, work->to, work->size, "set");

    if (to != NULL)
        memset(to, work->value, work->size);
}

static cudaError_t set(const char *call, void *to, int value, size_t size, cudaStream_t stream)
{
    sim_device *device;
    set_work *work;
    const cudaError_t error = sim_enter(call, &device);

    if (error != cudaSuccess || size == 0)
        return sim_leave(error);
    if (sim_memory_owner(to) == NULL || !sim_memory_inside(to, size))
        return sim_leave(cudaErrorInvalidValue);
    work = malloc(sizeof *work);
    if (work == NULL)
        abort();
    *work = (set_work){.device = sim_memory_owner(to), .to = to, .value = value, .size = size};
    return sim_leave(sim_stream_put(
        device, stream,
        (sim_work){.name = "set",
                   .run = run_set,
                   .argument = work,
                   .seconds = COPY_OVERHEAD + (double)size / sim_config_get()->bytes_per_second}));
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t size, cudaStream_t stream)
{
    return set(__func__, to, value, size, stream);
}

cudaError_t cudaMemset(void *to, int value, size_t size)
{
    return set(__func__, to, value, size, NULL);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer)
{
    sim_device *device;
    sim_device *home;
    const cudaError_t error = sim_enter(__func__, &device);

    if (error != cudaSuccess)
        return sim_leave(error);
    home = sim_memory_owner(pointer);
    memset(attributes, 0, sizeof *attributes);
    attributes->device = sim_current_ordinal();
    attributes->type = home != NULL ? cudaMemoryTypeDevice
                                    : (is_pinned(pointer) ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered);
    if (attributes->type != cudaMemoryTypeUnregistered)
        attributes->devicePointer = (void *)(uintptr_t)pointer;
    if (attributes->type != cudaMemoryTypeDevice)
        attributes->hostPointer = attributes->type == cudaMemoryTypeHost ? (void *)(uintptr_t)pointer : NULL;
    return sim_leave(cudaSuccess);
}
