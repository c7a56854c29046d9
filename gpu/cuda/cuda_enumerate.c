/* Which devices there are, and what can be known of them unopened. */
#define _GNU_SOURCE /* dladdr */
#include <ctype.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gpu/cuda/cuda_internal.h"

#define SIMULATOR_SYMBOL "gpulot_cudasim"
#define SIMULATOR_MARK   "CUDASIM"   /* first bytes of its UUIDs */
#define SIMULATOR_DRIVER "SIMULATED" /* in its driver version */

#define ATTRIBUTE_HOST_NUMA_ID 134 /* CUDA 12.2: older headers do not have it, older runtimes refuse it */

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

int64_t lot_cuda_attribute(int which, int ordinal)
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
    facts->numa_node = lot_cuda_attribute(ATTRIBUTE_HOST_NUMA_ID, ordinal);
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
