/* Opening and closing a device, its order and time. */
#include <stdlib.h>
#include <string.h>

#include "core/cpus.h"
#include "gpu/cuda/cuda_internal.h"
#include "gpu/threads.h"

#define FLUSH_TIMES 4 /* the level 2 cache's size */

/* ---- open and close ---- */

static lot_status identify(lot_device *device, lot_error *error)
{
    lot_device_list *list = malloc(sizeof *list);
    const int ordinal = device->options.ordinal;
    lot_status status;

    if (list == NULL)
        return lot_error_set(error, LOT_MEMORY, "malloc", 0, "the host is out of memory");
    status = lot_cuda_enumerate(list, error);
    if (status == LOT_OK && (ordinal < 0 || (size_t)ordinal >= list->count))
        status = lot_error_set(error, LOT_NO_DEVICE, "open", 0, "there is no device %d among the %zu visible",
                               ordinal, list->count);
    if (status == LOT_OK)
        device->identity = list->devices[ordinal];
    free(list);
    return status;
}

/* The first call that makes a context. Its errors are those of a device that is not open yet. */
static lot_status make_context(lot_device *device, lot_error *error)
{
    const int ordinal = device->options.ordinal;
    lot_status status = LOT_CUDA(NULL, error, cudaSetDevice(ordinal));

    if (status == LOT_OK)
        status = LOT_CUDA(NULL, error, cudaStreamCreateWithFlags(&device->stream, cudaStreamNonBlocking));
    if (status == LOT_OK)
        status = lot_cuda_check(NULL, error, "cudaFuncGetAttributes", lot_kernels_present());
    if (status != LOT_OK && error->code == cudaErrorNoKernelImageForDevice)
        return lot_error_set(error, LOT_UNSUPPORTED, "cudaFuncGetAttributes", error->code,
                             "this build has no kernels for compute capability %s (%s)",
                             device->identity.compute_capability, device->identity.name);
    return status;
}

static lot_status open_parts(lot_device *device, lot_error *error)
{
    lot_status status = lot_sensors_open(&device->identity, &device->sensors, error);

    if (status == LOT_OK)
        status = make_context(device, error);
    if (status == LOT_OK)
        status = lot_pool_open(device, error);
    if (status == LOT_OK)
        status = LOT_CUDA(device, error, cudaEventCreateWithFlags(&device->started, cudaEventDefault));
    if (status == LOT_OK)
        status = LOT_CUDA(device, error, cudaEventCreateWithFlags(&device->stopped, cudaEventDefault));
    if (status == LOT_OK)
        status = LOT_BLAS(NULL, error, cublasLtCreate(&device->blas)); /* of a device that is not open yet */
    if (status == LOT_OK)
        status = lot_values_open(device, error);
    if (status == LOT_OK)
        status = lot_sensors_start(device->sensors, device->options.telemetry_hz, error);
    return status;
}

lot_status lot_cuda_open(const lot_device_options *options, lot_device **device, lot_error *error)
{
    lot_device *made = calloc(1, sizeof *made);
    lot_status status;

    if (made == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "the host is out of memory");
    made->options = *options;
    made->threads = options->threads > 0 ? options->threads : lot_cpus_usable("");
    if (made->threads > LOT_BUILDERS_MOST)
        made->threads = LOT_BUILDERS_MOST;
    status = lot_threads_try(made->threads, error);
    if (status == LOT_OK)
        status = identify(made, error);
    if (status == LOT_OK) {
        made->l2_bytes = made->identity.l2_cache_bytes;
        made->major = (int)lot_cuda_attribute(cudaDevAttrComputeCapabilityMajor, options->ordinal);
        made->minor = (int)lot_cuda_attribute(cudaDevAttrComputeCapabilityMinor, options->ordinal);
        status = open_parts(made, error);
    }
    if (status == LOT_DEVICE_FAULT && lot_sensors_lost(made->sensors))
        status = error->status = LOT_DEVICE_LOST;
    if (status != LOT_OK) {
        lot_cuda_close(made);
        return status;
    }
    *device = made;
    return LOT_OK;
}

void lot_cuda_close(lot_device *device)
{
    if (device == NULL)
        return;
    if (device->stream != NULL) {
        (void)cudaStreamSynchronize(device->stream);
        while (device->plans != NULL)
            lot_cuda_plan_free(device, device->plans);
        (void)cudaFree(device->flush);
        lot_values_close(device);
        if (device->blas != NULL)
            (void)cublasLtDestroy(device->blas);
        if (device->stopped != NULL)
            (void)cudaEventDestroy(device->stopped);
        if (device->started != NULL)
            (void)cudaEventDestroy(device->started);
        lot_pool_close(device);
        (void)cudaStreamDestroy(device->stream);
        (void)cudaGetLastError();
    }
    lot_sensors_close(device->sensors);
    free(device);
}

/* ---- what it can do ---- */

/* LOT_UNSUPPORTED where the device is below compute capability `least` (80 is 8.0). */
static lot_status needs(const lot_device *device, int least, const char *option, const char *what,
                        lot_error *error)
{
    if (10 * device->major + device->minor >= least)
        return LOT_OK;
    return lot_error_set(error, LOT_UNSUPPORTED, option, 0, "%s needs compute capability %d.%d; %s has %s",
                         what, least / 10, least % 10, device->identity.name,
                         device->identity.compute_capability);
}

/* LOT_UNSUPPORTED where the environment sets the library's arithmetic for float32 to another one than `math`.
 */
static lot_status leaves_choice(lot_math math, lot_error *error)
{
    const char *override = getenv("NVIDIA_TF32_OVERRIDE");
    const char *choice = math == LOT_MATH_TF32 ? "ieee" : "tf32";

    if (override == NULL || override[0] == '\0' || (math == LOT_MATH_TF32) == (strcmp(override, "0") != 0))
        return LOT_OK;
    return lot_error_set(error, LOT_UNSUPPORTED, "--math", 0,
                         "NVIDIA_TF32_OVERRIDE=%.16s turns tf32 %s in the library; unset it or use --math %s",
                         override, math == LOT_MATH_TF32 ? "off" : "on", choice);
}

lot_status lot_cuda_supports(lot_device *device, lot_dtype dtype, lot_math math, lot_error *error)
{
    static const int least[LOT_DTYPE_COUNT] = {[LOT_FLOAT32] = 0, [LOT_FLOAT16] = 53, [LOT_BFLOAT16] = 80};

    if (dtype == LOT_FLOAT32) {
        const lot_status status = leaves_choice(math, error);

        if (status != LOT_OK)
            return status;
    }
    if (math != LOT_MATH_TF32)
        return needs(device, least[dtype], "--dtype", lot_dtype_name(dtype), error);
    if (dtype != LOT_FLOAT32)
        return lot_error_set(error, LOT_UNSUPPORTED, "--math", 0,
                             "tf32 is a way to multiply float32; it says nothing for %s",
                             lot_dtype_name(dtype));
    return needs(device, 80, "--math", "tf32", error);
}

/* ---- order and time ---- */

lot_status lot_cuda_sync(lot_device *device, lot_error *error)
{
    return LOT_CUDA(device, error, cudaStreamSynchronize(device->stream));
}

lot_status lot_cuda_timer_start(lot_device *device, lot_error *error)
{
    return LOT_CUDA(device, error, cudaEventRecord(device->started, device->stream));
}

lot_status lot_cuda_timer_stop(lot_device *device, lot_error *error)
{
    return LOT_CUDA(device, error, cudaEventRecord(device->stopped, device->stream));
}

lot_status lot_cuda_timer_elapsed(lot_device *device, double *seconds, lot_error *error)
{
    float milliseconds = 0.0f;
    const lot_status status =
        LOT_CUDA(device, error, cudaEventElapsedTime(&milliseconds, device->started, device->stopped));

    if (status == LOT_OK)
        *seconds = (double)milliseconds * 1e-3;
    return status;
}

lot_status lot_cuda_memory_used(lot_device *device, int64_t *bytes, lot_error *error)
{
    size_t available = 0, total = 0;
    const lot_status status = LOT_CUDA(device, error, cudaMemGetInfo(&available, &total));

    if (status == LOT_OK)
        *bytes = (int64_t)(total - available);
    return status;
}

/* The buffer is no part of the network, so it does not come from the counted pool. It is written over several
 * times the cache's size: which line gives way to a new one is not documented, and at random one in e^n would
 * survive n times the size. */
lot_status lot_cuda_flush_cache(lot_device *device, lot_error *error)
{
    const int64_t bytes = FLUSH_TIMES * device->l2_bytes;
    lot_status status = LOT_OK;

    if (bytes <= 0)
        return lot_error_set(error, LOT_UNSUPPORTED, "flush_cache", 0,
                             "the size of the level 2 cache is not known");
    if (device->flush == NULL)
        status = lot_cuda_malloc(device, bytes, "overwriting the level 2 cache", &device->flush, error);
    if (status == LOT_OK)
        status = LOT_CUDA(device, error, cudaMemsetAsync(device->flush, 0, (size_t)bytes, device->stream));
    return status;
}
