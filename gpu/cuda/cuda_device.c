/* Which devices there are, opening one, and what it is. */
#define _GNU_SOURCE /* dladdr */
#include <ctype.h>
#include <dlfcn.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cuda/cuda_internal.h"
#include "gpu/threads.h"

#define SIMULATOR_SYMBOL "gpulot_cudasim"
#define SIMULATOR_MARK   "CUDASIM"   /* first bytes of its UUIDs */
#define SIMULATOR_DRIVER "SIMULATED" /* in its driver version */

#define FLUSH_TIMES 4 /* the level 2 cache's size */

/* Numbers of attributes that older headers do not have, and runtimes older than that refuse. */
#define ATTRIBUTE_MPS_ENABLED  133 /* CUDA 12.3 */
#define ATTRIBUTE_HOST_NUMA_ID 134 /* CUDA 12.2 */

/* ---- facts ---- */

void lot_facts_clear(lot_device_facts *facts)
{
    memset(facts, 0, sizeof *facts);
#define CLEAR_I64(name)  facts->name = LOT_NULL_I64;
#define CLEAR_F64(name)  facts->name = (double)NAN;
#define CLEAR_BOOL(name) facts->name = LOT_NULL_BOOL;
#define CLEAR_STR(name)
#define CLEAR(kind, name, size, unit, help) CLEAR_##kind(name)
    LOT_DEVICE_FIELDS(CLEAR)
#undef CLEAR
#undef CLEAR_STR
#undef CLEAR_BOOL
#undef CLEAR_F64
#undef CLEAR_I64
}

/* 13000 is 13.0. */
static void version_text(int version, char *text, size_t size)
{
    (void)snprintf(text, size, "%d.%d", version / 1000, version % 1000 / 10);
}

/* The runtime in use. Before CUDA 12 it does not say without a device: then its first number, which is that
 * of the headers. */
static void runtime_version_text(char *text, size_t size)
{
    int version = 0;

    if (cudaRuntimeGetVersion(&version) == cudaSuccess) {
        version_text(version, text, size);
        return;
    }
    (void)cudaGetLastError();
    (void)snprintf(text, size, "%d", CUDART_VERSION / 1000);
}

/* 130100 is 13.1.0; before 11.5 of cuBLAS, 110400 is 11.4.0 too. */
static void library_version_text(char *text, size_t size)
{
    const size_t version = cublasLtGetVersion();

    (void)snprintf(text, size, "%zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
}

static void uuid_text(const cudaUUID_t *uuid, const char *prefix, char *text, size_t size)
{
    char digits[2 * sizeof uuid->bytes + 1];

    for (size_t i = 0; i < sizeof uuid->bytes; i++)
        (void)snprintf(digits + 2 * i, 3, "%02x", (unsigned)(unsigned char)uuid->bytes[i]);
    (void)snprintf(text, size, "%s%.8s-%.4s-%.4s-%.4s-%.12s", prefix, digits, digits + 8, digits + 12,
                   digits + 16, digits + 20);
}

/* The runtime gives a UUID without its kind. NVML knows it under one name only; where NVML is absent, as in a
 * container that was not given it, the name tells: "NVIDIA A100-SXM4-40GB MIG 1g.5gb". */
static void name_uuid(lot_nvml *nvml, const cudaUUID_t *uuid, lot_device_facts *facts)
{
    lot_nvml_device unused = NULL;

    uuid_text(uuid, "MIG-", facts->uuid, sizeof facts->uuid);
    if (strstr(facts->name, " MIG ") == NULL &&
        (nvml == NULL || lot_nvml_by_uuid(nvml, facts->uuid, &unused) != LOT_NVML_SUCCESS))
        uuid_text(uuid, "GPU-", facts->uuid, sizeof facts->uuid);
}

/* A library that stands in for the runtime says so under a symbol of its own. */
static bool runtime_is_simulator(void)
{
    cudaError_t (*function)(int *) = cudaGetDeviceCount;
    Dl_info where;
    void *address, *library;
    bool found;

    memcpy(&address, &function, sizeof address);
    if (dladdr(address, &where) == 0)
        return false;
    library = dlopen(where.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    if (library == NULL)
        return false;
    found = dlsym(library, SIMULATOR_SYMBOL) != NULL;
    (void)dlclose(library);
    return found;
}

static bool is_simulated(const cudaUUID_t *uuid, const char *driver_version)
{
    return runtime_is_simulator() || memcmp(uuid->bytes, SIMULATOR_MARK, strlen(SIMULATOR_MARK)) == 0 ||
           strstr(driver_version, SIMULATOR_DRIVER) != NULL;
}

static int64_t attribute(int which, int ordinal)
{
    int value = -1;

    if (cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)which, ordinal) == cudaSuccess)
        return value;
    (void)cudaGetLastError();
    return -1;
}

/* Hexadecimal digits that some drivers write in upper case: one device, one text, and the system's own. */
static void lower_case(char *text)
{
    for (; *text != '\0'; text++)
        *text = (char)tolower((unsigned char)*text);
}

/* What can be known of a device without a context on it. */
static lot_status describe_unopened(int ordinal, lot_nvml *nvml, const lot_device_list *list,
                                    lot_device_facts *facts, lot_error *error)
{
    struct cudaDeviceProp properties;
    int driver = 0;
    lot_status status = LOT_CUDA(NULL, error, cudaGetDeviceProperties(&properties, ordinal));

    if (status == LOT_OK)
        status = LOT_CUDA(NULL, error, cudaDriverGetVersion(&driver));
    if (status == LOT_OK)
        status = LOT_CUDA(NULL, error,
                          cudaDeviceGetPCIBusId(facts->pci_address, sizeof facts->pci_address, ordinal));
    if (status != LOT_OK)
        return status;
    lower_case(facts->pci_address);
    (void)snprintf(facts->kind, sizeof facts->kind, "cuda");
    (void)snprintf(facts->name, sizeof facts->name, "%.*s", (int)sizeof facts->name - 1, properties.name);
    facts->ordinal = ordinal;
    name_uuid(nvml, &properties.uuid, facts);
    facts->simulated = is_simulated(&properties.uuid, list->driver_version);
    (void)snprintf(facts->compute_capability, sizeof facts->compute_capability, "%d.%d", properties.major,
                   properties.minor);
    facts->multiprocessors = properties.multiProcessorCount;
    facts->memory_bytes = (int64_t)properties.totalGlobalMem;
    facts->l2_cache_bytes = properties.l2CacheSize;
    facts->numa_node = attribute(ATTRIBUTE_HOST_NUMA_ID, ordinal);
    memcpy(facts->driver_version, list->driver_version, sizeof facts->driver_version);
    version_text(driver, facts->driver_api_version, sizeof facts->driver_api_version);
    memcpy(facts->runtime_version, list->runtime_version, sizeof facts->runtime_version);
    (void)snprintf(facts->library, sizeof facts->library, "cuBLASLt");
    memcpy(facts->library_version, list->library_version, sizeof facts->library_version);
    return LOT_OK;
}

/* ---- enumerate ---- */

/* Error 35 comes both without a driver and with one that is too old; the driver's version tells them apart.
 * What would be a device's fault later is the driver's here: no device is known yet. */
static lot_status driver_error(lot_error *error)
{
    int driver = 0;
    char needs[16], has[16];

    if (lot_status_exit(error->status) == 1)
        return lot_error_set(
            error, LOT_NO_DRIVER, "cudaGetDeviceCount", error->code,
            "cudaGetDeviceCount: %s: the NVIDIA driver is there and does not start; the kernel's log "
            "may say why, and a container needs /dev/nvidia-uvm as well",
            cudaGetErrorName((cudaError_t)error->code));
    if (error->code != cudaErrorInsufficientDriver || cudaDriverGetVersion(&driver) != cudaSuccess)
        return error->status;
    runtime_version_text(needs, sizeof needs);
    version_text(driver, has, sizeof has);
    if (driver == 0)
        return lot_error_set(error, LOT_NO_DRIVER, "cudaGetDeviceCount", error->code,
                             "cudaGetDeviceCount: cudaErrorInsufficientDriver: no NVIDIA driver is loaded on "
                             "this host; CUDA runtime %s needs one",
                             needs);
    return lot_error_set(
        error, LOT_NO_DRIVER, "cudaGetDeviceCount", error->code,
        "cudaGetDeviceCount: cudaErrorInsufficientDriver: the NVIDIA driver serves CUDA %s and "
        "is too old for CUDA runtime %s",
        has, needs);
}

/* How many devices are visible; none is an answer. */
static lot_status count_devices(int *count, lot_error *error)
{
    lot_status status;

    *count = 0; /* a failing call leaves it alone */
    status = LOT_CUDA(NULL, error, cudaGetDeviceCount(count));
    if (status == LOT_NO_DEVICE) {
        *count = 0;
        return LOT_OK;
    }
    return status == LOT_OK ? LOT_OK : driver_error(error);
}

static void list_versions(lot_nvml *nvml, lot_device_list *list)
{
    runtime_version_text(list->runtime_version, sizeof list->runtime_version);
    library_version_text(list->library_version, sizeof list->library_version);
    if (nvml == NULL ||
        lot_nvml_driver_version(nvml, list->driver_version, sizeof list->driver_version) != LOT_NVML_SUCCESS)
        list->driver_version[0] = '\0';
}

lot_status lot_cuda_enumerate(lot_device_list *list, lot_error *error)
{
    const int most = (int)(sizeof list->devices / sizeof list->devices[0]);
    char unused[192];
    int count = 0;
    lot_nvml *nvml = NULL;
    lot_status status = count_devices(&count, error);

    if (status != LOT_OK)
        return status;
    memset(list, 0, sizeof *list);
    nvml = lot_nvml_open(unused, sizeof unused);
    list_versions(nvml, list);
    if (count > most)
        count = most;
    for (int i = 0; i < count && status == LOT_OK; i++) {
        lot_facts_clear(&list->devices[i]);
        status = describe_unopened(i, nvml, list, &list->devices[i], error);
        if (status == LOT_OK)
            list->count++;
    }
    lot_nvml_close(nvml);
    return status;
}

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
    if (status == LOT_UNSUPPORTED)
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
    made->threads = options->threads > 0 ? options->threads : omp_get_num_procs();
    if (made->threads > LOT_BUILDERS_MOST)
        made->threads = LOT_BUILDERS_MOST;
    status = lot_threads_try(made->threads, error);
    if (status == LOT_OK)
        status = identify(made, error);
    if (status == LOT_OK) {
        made->l2_bytes = made->identity.l2_cache_bytes;
        made->major = (int)attribute(cudaDevAttrComputeCapabilityMajor, options->ordinal);
        made->minor = (int)attribute(cudaDevAttrComputeCapabilityMinor, options->ordinal);
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

/* ---- describe ---- */

/* Asks the driver, which the runtime has loaded, in force rather than as wished for. */
static void describe_loading(lot_device_facts *facts, lot_absences *absences)
{
    enum { EAGER = 1, LAZY = 2 };
    int (*ask)(int *) = NULL;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *symbol = driver != NULL ? dlsym(driver, "cuModuleGetLoadingMode") : NULL;
    int mode = 0;

    memcpy(&ask, &symbol, sizeof ask);
    if (symbol != NULL && ask(&mode) == 0 && (mode == EAGER || mode == LAZY))
        (void)snprintf(facts->loading_mode, sizeof facts->loading_mode, "%s",
                       mode == LAZY ? "lazy" : "eager");
    else
        lot_absences_add(absences, "device.loading_mode",
                         "cuModuleGetLoadingMode: the driver does not answer it");
    if (driver != NULL)
        (void)dlclose(driver);
}

static void describe_pool(const lot_device *device, lot_device_facts *facts, lot_absences *absences)
{
    const bool pool = device->pool.pool != NULL;

    (void)snprintf(facts->allocator, sizeof facts->allocator, "%s",
                   pool ? "cudaMemPool, own, keeps all" : "cudaMalloc, counted, keeps nothing");
    facts->granularity_bytes = device->pool.granularity_bytes;
    facts->reserve_step_bytes = device->pool.reserve_step_bytes;
    if (pool)
        return;
    lot_absences_add(absences, "device.granularity_bytes",
                     "the device has no memory pools; cudaMalloc is counted as asked for");
    lot_absences_add(absences, "device.reserve_step_bytes",
                     "the device has no memory pools; cudaMalloc keeps nothing back");
}

lot_status lot_cuda_describe(lot_device *device, lot_device_facts *facts, lot_absent *absent, size_t capacity,
                             size_t *absent_count, lot_error *error)
{
    lot_absences absences = {absent, capacity, 0};
    lot_device_facts found = device->identity;
    const int64_t mps = attribute(ATTRIBUTE_MPS_ENABLED, device->options.ordinal);

    (void)error;
    /* How the rank is bound is not the module's to say, and it may know the node from elsewhere. */
    memcpy(found.cpu_list, facts->cpu_list, sizeof found.cpu_list);
    memcpy(found.binding, facts->binding, sizeof found.binding);
    if (found.numa_node < 0)
        found.numa_node = facts->numa_node;
    lot_absences_add(&absences, "device.threads", "of the host device only");
    if (found.numa_node < 0)
        lot_absences_add(&absences, "device.numa_node",
                         "cudaDevAttrHostNumaId: not known on this host, or to a CUDA runtime before 12.2");
    if (mps >= 0)
        found.mps_active = mps != 0;
    describe_loading(&found, &absences);
    describe_pool(device, &found, &absences);
    lot_sensors_describe(device->sensors, &found, &absences);
    *facts = found;
    *absent_count = absences.count;
    return LOT_OK;
}

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
