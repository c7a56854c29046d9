/* What compiled CUDA code calls: registration of its kernels, and launches. */
#include <stdlib.h>
#include <string.h>

#include "sim_kernel.h"
#include "sim_stream.h"

#define FATBIN_MAGIC    0x466243b1
#define LAUNCH_OVERHEAD 3e-6         /* seconds on the device's clock */
#define CODE_BYTES      (1ull << 20) /* device memory that a kernel takes when it is first used */

/* A kernel as the product's code registered it. The runtime's cudaKernel_t, since CUDA 12.1. */
struct CUkern_st {
    const void *host; /* address of its stub */
    const char *name;
    void **image;
    const sim_kernel *kernel; /* the host's copy, found at the first use */
    bool loaded[SIM_MAX_UNITS];
    struct CUkern_st *next;
};

/* What the compiler hands to __cudaRegisterFatBinary. */
typedef struct fat_wrapper {
    int magic;
    int version;
    const unsigned char *data;
    void *more;
} fat_wrapper;

typedef struct fat_handle {
    const fat_wrapper *wrapper;
} fat_handle;

static struct CUkern_st *registered;
static sim_kernel *known;

void sim_kernel_add(sim_kernel *kernel)
{
    kernel->next = known;
    known = kernel;
}

/* ---- registration: called while the module is loaded, under the loader's lock ---- */

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
char __cudaInitModule(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device_name, const char *name, int threads,
                            uint3 *thread_id, uint3 *block_id, dim3 *block, dim3 *grid, int *warp);

void **__cudaRegisterFatBinary(void *wrapper)
{
    fat_handle *handle = malloc(sizeof *handle);

    if (handle == NULL)
        abort();
    handle->wrapper = wrapper;
    return (void **)handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

/* The kernels go with their image: a module can be unloaded and loaded again. */
void __cudaUnregisterFatBinary(void **handle)
{
    sim_lock();
    for (struct CUkern_st **link = &registered; *link != NULL;) {
        struct CUkern_st *kernel = *link;

        if (kernel->image == handle) {
            *link = kernel->next;
            free(kernel);
        } else {
            link = &kernel->next;
        }
    }
    sim_unlock();
    free(handle);
}

char __cudaInitModule(void **handle)
{
    (void)handle;
    return 1;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device_name, const char *name, int threads,
                            uint3 *thread_id, uint3 *block_id, dim3 *block, dim3 *grid, int *warp)
{
    struct CUkern_st *kernel = calloc(1, sizeof *kernel);

    (void)device_name, (void)threads, (void)thread_id, (void)block_id, (void)block, (void)grid, (void)warp;
    if (kernel == NULL)
        abort();
    sim_lock();
    *kernel = (struct CUkern_st){.host = host, .name = name, .image = handle, .next = registered};
    registered = kernel;
    sim_unlock();
}

static struct CUkern_st *find_registered(const void *host)
{
    for (struct CUkern_st *kernel = registered; kernel != NULL; kernel = kernel->next)
        if (kernel->host == host || kernel == host)
            return kernel;
    return NULL;
}

/* ---- images ---- */

/* One entry of a fat binary, as read off what nvcc 13.0 writes. */
typedef struct fat_entry {
    uint16_t kind; /* 1: PTX, 2: machine code */
    uint32_t architecture;
} fat_entry;

/* Machine code runs on the same major version from its own minor on, PTX on everything from its version on.
 */
static bool entry_runs(fat_entry entry, const sim_gpu *gpu)
{
    const int major = (int)entry.architecture / 10;
    const int minor = (int)entry.architecture % 10;

    if (entry.kind == 2)
        return major == gpu->cc_major && minor <= gpu->cc_minor;
    return entry.kind == 1 && (major < gpu->cc_major || (major == gpu->cc_major && minor <= gpu->cc_minor));
}

static bool image_runs(void **image, const sim_gpu *gpu)
{
    const fat_wrapper *wrapper = ((const fat_handle *)(void *)image)->wrapper;
    const unsigned char *at, *end;
    uint16_t header;
    uint64_t size;

    if (wrapper == NULL || wrapper->magic != FATBIN_MAGIC)
        return true; /* registered by a test, without an image */
    memcpy(&header, wrapper->data + 6, sizeof header);
    memcpy(&size, wrapper->data + 8, sizeof size);
    at = wrapper->data + header;
    end = at + size;
    while (at < end) {
        fat_entry entry;
        uint32_t entry_header;
        uint64_t entry_size;

        memcpy(&entry.kind, at, sizeof entry.kind);
        memcpy(&entry_header, at + 4, sizeof entry_header);
        memcpy(&entry_size, at + 8, sizeof entry_size);
        memcpy(&entry.architecture, at + 28, sizeof entry.architecture);
        if (entry_runs(entry, gpu))
            return true;
        at += entry_header + entry_size;
    }
    return false;
}

/* Finds what a launch of the kernel on the device needs; loads it there at its first use. */
static cudaError_t load(struct CUkern_st *kernel, sim_device *device)
{
    if (kernel == NULL)
        return cudaErrorInvalidDeviceFunction;
    if (!image_runs(kernel->image, &sim_config_get()->gpus[device->unit.gpu]))
        return cudaErrorNoKernelImageForDevice;
    for (const sim_kernel *one = known; kernel->kernel == NULL && one != NULL; one = one->next)
        if (strcmp(one->name, kernel->name) == 0)
            kernel->kernel = one;
    if (kernel->kernel == NULL) {
        sim_say("there is no host copy of the kernel %s: add it to sim_kernels.cc", kernel->name);
        return cudaErrorInvalidDeviceFunction;
    }
    if (!kernel->loaded[device->index]) {
        kernel->loaded[device->index] = true;
        device->context_bytes += CODE_BYTES;
    }
    return cudaSuccess;
}

/* ---- launches ---- */

static bool shape_fits(dim3 grid, dim3 block)
{
    return grid.x > 0 && grid.y > 0 && grid.z > 0 && block.x > 0 && block.y > 0 && block.z > 0 &&
           grid.x <= 0x7fffffffu && grid.y <= 65535 && grid.z <= 65535 && block.x <= 1024 &&
           block.y <= 1024 && block.z <= 64 && (uint64_t)block.x * block.y * block.z <= 1024;
}

typedef struct call_shape {
    dim3 grid;
    dim3 block;
    size_t shared_bytes;
    cudaStream_t stream;
} call_shape;

static cudaError_t launch(const char *call, const void *host, call_shape shape, void **arguments)
{
    sim_device *device;
    struct CUkern_st *kernel;
    sim_footprint footprint = {.output = NULL};
    sim_launch description;
    void *packed;
    cudaError_t error = sim_enter(call, &device);

    if (error != cudaSuccess)
        return sim_leave(error);
    kernel = find_registered(host);
    error = load(kernel, device);
    if (error == cudaSuccess && !shape_fits(shape.grid, shape.block))
        error = cudaErrorInvalidConfiguration;
    if (error != cudaSuccess)
        return sim_leave(error);
    description = (sim_launch){
        .grid = shape.grid, .block = shape.block, .shared_bytes = shape.shared_bytes, .device = device};
    packed = kernel->kernel->pack(kernel->kernel, &description, arguments, &footprint);
    return sim_leave(sim_stream_put(
        device, shape.stream,
        (sim_work){.name = kernel->name,
                   .kind = SIM_WORK_KERNEL,
                   .run = kernel->kernel->run,
                   .argument = packed,
                   .seconds = LAUNCH_OVERHEAD + (double)footprint.bytes / sim_config_get()->bytes_per_second,
                   .output = footprint.output,
                   .element_bytes = 4}));
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                             size_t shared_bytes, cudaStream_t stream)
{
    return launch(__func__, function, (call_shape){grid, block, shared_bytes, stream}, arguments);
}

/* What <<<>>> calls since CUDA 13. */
cudaError_t __cudaGetKernel(struct CUkern_st **kernel, const void *host);
cudaError_t __cudaLaunchKernel(struct CUkern_st *kernel, dim3 grid, dim3 block, void **arguments,
                               size_t shared_bytes, cudaStream_t stream);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream);

cudaError_t __cudaGetKernel(struct CUkern_st **kernel, const void *host)
{
    sim_lock();
    *kernel = find_registered(host);
    return sim_leave(*kernel != NULL ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

cudaError_t __cudaLaunchKernel(struct CUkern_st *kernel, dim3 grid, dim3 block, void **arguments,
                               size_t shared_bytes, cudaStream_t stream)
{
    return launch("cudaLaunchKernel", kernel, (call_shape){grid, block, shared_bytes, stream}, arguments);
}

static _Thread_local call_shape shapes[8];
static _Thread_local unsigned shape_count;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, struct CUstream_st *stream)
{
    if (shape_count == sizeof shapes / sizeof shapes[0])
        return 1;
    shapes[shape_count++] = (call_shape){grid, block, shared_bytes, stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream)
{
    const call_shape *shape;

    if (shape_count == 0)
        return cudaErrorMissingConfiguration;
    shape = &shapes[--shape_count];
    *grid = shape->grid;
    *block = shape->block;
    *shared_bytes = shape->shared_bytes;
    memcpy(stream, &shape->stream, sizeof shape->stream);
    return cudaSuccess;
}

/* ---- questions about kernels ---- */

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
    sim_device *device;
    cudaError_t error = sim_enter(__func__, &device);

    if (error == cudaSuccess)
        error = load(find_registered(function), device);
    if (error != cudaSuccess)
        return sim_leave(error);
    memset(attributes, 0, sizeof *attributes);
    attributes->maxThreadsPerBlock = 1024;
    attributes->numRegs = 32;
    attributes->binaryVersion = sim_config_get()->gpus[device->unit.gpu].cc_major * 10;
    attributes->ptxVersion = attributes->binaryVersion;
    return sim_leave(cudaSuccess);
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value)
{
    sim_device *device;
    cudaError_t error = sim_enter(__func__, &device);

    (void)attribute;
    (void)value;
    if (error == cudaSuccess)
        error = load(find_registered(function), device);
    return sim_leave(error);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function,
                                                                   int block_size, size_t shared_bytes,
                                                                   unsigned int flags)
{
    sim_device *device;
    cudaError_t error = sim_enter(__func__, &device);

    (void)shared_bytes;
    (void)flags;
    if (error == cudaSuccess)
        error = load(find_registered(function), device);
    if (error == cudaSuccess && (block_size < 1 || block_size > 1024))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        *blocks = 2048 / block_size;
    return sim_leave(error);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int block_size,
                                                          size_t shared_bytes)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size, shared_bytes,
                                                                  0);
}
