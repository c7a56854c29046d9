/* Devices: how many, which, what they are. */
#include <stdio.h>
#include <string.h>

#include "sim_core.h"
#include "sim_pool.h"
#include "sim_stream.h"

#define L2_BYTES (8 << 20)

/* Numbers of attributes that older headers do not have. */
#define MPS_ENABLED  133
#define HOST_NUMA_ID 134

static bool has_pools(sim_unit unit)
{
    const sim_fault *fault = sim_fault_find(SIM_FAULT_NO_POOLS, unit.gpu, NULL);

    if (fault != NULL)
        sim_fault_note(fault);
    return fault == NULL;
}

static bool serves_mps(sim_unit unit)
{
    const sim_fault *fault = sim_fault_find(SIM_FAULT_MPS, unit.gpu, NULL);

    if (fault != NULL)
        sim_fault_note(fault);
    return fault != NULL;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    const cudaError_t error = sim_enter_driver(__func__);
    const int visible = sim_config_get()->visible_count;

    if (error != cudaSuccess)
        return sim_leave(error);
    if (visible == 0)
        return sim_leave(cudaErrorNoDevice);
    *count = visible;
    return sim_leave(cudaSuccess);
}

/* Makes a device current, with its context, as since CUDA 12.0. */
static cudaError_t set_device(const char *call, int ordinal)
{
    cudaError_t error = sim_enter_driver(call);
    sim_device *device;

    if (error != cudaSuccess)
        return sim_leave(error);
    if (sim_config_get()->visible_count == 0)
        return sim_leave(cudaErrorNoDevice);
    device = sim_device_at(ordinal);
    if (device == NULL)
        return sim_leave(cudaErrorInvalidDevice);
    sim_set_current_ordinal(ordinal);
    error = sim_device_ready(device);
    return sim_leave(error != cudaSuccess ? error : device->sticky);
}

cudaError_t cudaSetDevice(int ordinal)
{
    return set_device(__func__, ordinal);
}

cudaError_t cudaInitDevice(int ordinal, unsigned int device_flags, unsigned int flags)
{
    (void)device_flags;
    (void)flags;
    return set_device(__func__, ordinal);
}

cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
    (void)flags;
    return sim_leave(sim_enter_driver(__func__));
}

cudaError_t cudaGetDevice(int *ordinal)
{
    const cudaError_t error = sim_enter_driver(__func__);

    if (error == cudaSuccess)
        *ordinal = sim_current_ordinal();
    return sim_leave(error);
}

cudaError_t cudaDeviceSynchronize(void)
{
    sim_device *device;
    const cudaError_t error = sim_enter(__func__, &device);

    if (error != cudaSuccess)
        return sim_leave(error);
    sim_stream_run_device(device);
    sim_pool_release_excess(device);
    return sim_leave(device->sticky);
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    sim_device *device;
    uint64_t used;
    const cudaError_t error = sim_enter(__func__, &device);

    if (error != cudaSuccess)
        return sim_leave(error);
    *total = sim_config_memory(device->unit);
    used = sim_device_used_bytes(device);
    *free_bytes = used < *total ? *total - used : 0; /* a context may be all that a small device holds */
    return sim_leave(cudaSuccess);
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
#if CUDART_VERSION < 12000 /* which looks for a device first */
    const cudaError_t error = sim_enter_driver(__func__);

    if (error != cudaSuccess || sim_config_get()->visible_count == 0)
        return sim_leave(error != cudaSuccess ? error : cudaErrorNoDevice);
    (void)sim_leave(cudaSuccess);
#else
    sim_call(__func__);
#endif
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    sim_call(__func__);
    *version = sim_config_get()->gpu_count > 0 ? sim_config_get()->driver_api : 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int size, int ordinal)
{
    const cudaError_t error = sim_enter_driver(__func__);
    const sim_device *device = sim_device_at(ordinal);

    if (error != cudaSuccess)
        return sim_leave(error);
    if (device == NULL || size < 13)
        return sim_leave(device == NULL ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    (void)snprintf(text, (size_t)size, "%04X:%02X:00.0", SIM_PCI_DOMAIN,
                   (unsigned)sim_config_get()->gpus[device->unit.gpu].pci_bus);
    return sim_leave(cudaSuccess);
}

/* ---- properties ---- */

static void fill_limits(struct cudaDeviceProp *p)
{
    p->sharedMemPerBlock = 48 << 10;
    p->sharedMemPerBlockOptin = 227 << 10;
    p->sharedMemPerMultiprocessor = 228 << 10;
    p->regsPerBlock = 65536;
    p->regsPerMultiprocessor = 65536;
    p->warpSize = 32;
    p->memPitch = 0x7fffffff;
    p->maxThreadsPerBlock = 1024;
    p->maxThreadsPerMultiProcessor = 2048;
    p->maxBlocksPerMultiProcessor = 32;
    p->maxThreadsDim[0] = 1024;
    p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 0x7fffffff;
    p->maxGridSize[1] = 65535;
    p->maxGridSize[2] = 65535;
    p->totalConstMem = 64 << 10;
    p->textureAlignment = 512;
}

static void fill_properties(struct cudaDeviceProp *p, sim_unit unit)
{
    const sim_gpu *gpu = &sim_config_get()->gpus[unit.gpu];

    memset(p, 0, sizeof *p);
    sim_config_name(unit, p->name, sizeof p->name);
    sim_config_uuid(unit, (unsigned char *)p->uuid.bytes);
    p->totalGlobalMem = sim_config_memory(unit);
    p->major = gpu->cc_major;
    p->minor = gpu->cc_minor;
    p->multiProcessorCount = sim_config_multiprocessors(unit);
    p->pciDomainID = SIM_PCI_DOMAIN;
    p->pciBusID = gpu->pci_bus;
    p->ECCEnabled = 1;
    p->memoryBusWidth = 64;
    p->l2CacheSize = L2_BYTES;
    p->concurrentKernels = 1;
    p->asyncEngineCount = 2;
    p->unifiedAddressing = 1;
    p->canMapHostMemory = 1;
    p->streamPrioritiesSupported = 1;
    fill_limits(p);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int ordinal)
{
    const cudaError_t error = sim_enter_driver(__func__);
    const sim_device *device = sim_device_at(ordinal);

    if (error != cudaSuccess)
        return sim_leave(error);
    if (device == NULL)
        return sim_leave(cudaErrorInvalidDevice);
    fill_properties(properties, device->unit);
    return sim_leave(cudaSuccess);
}

/* Attributes that came after CUDA 12.0; false where this version of the runtime does not know them. */
static bool late_attribute(int attribute, sim_unit unit, int *value)
{
    const sim_fault *old = sim_fault_find(SIM_FAULT_OLD_RUNTIME, unit.gpu, NULL);

    if (old != NULL && (attribute == MPS_ENABLED || attribute == HOST_NUMA_ID)) {
        sim_fault_note(old);
        return false;
    }
    if (attribute == MPS_ENABLED && CUDART_VERSION >= 12030) {
        *value = serves_mps(unit);
        return true;
    }
    if (attribute == HOST_NUMA_ID && CUDART_VERSION >= 12020) {
        *value = sim_config_get()->gpus[unit.gpu].numa_node;
        return true;
    }
    return false;
}

/* Attributes that are no member of cudaDeviceProp in some version of the runtime; false where the attribute
 * is not modelled, or unknown to this version. */
static bool other_attribute(enum cudaDeviceAttr attribute, sim_unit unit, int *value)
{
    switch ((int)attribute) {
    case cudaDevAttrClockRate:
        *value = 1500000;
        return true;
    case cudaDevAttrMemoryClockRate:
        *value = 2000000;
        return true;
    case cudaDevAttrKernelExecTimeout:
    case cudaDevAttrComputeMode:
    case cudaDevAttrIntegrated:
    case cudaDevAttrTccDriver:
    case cudaDevAttrGPUDirectRDMASupported:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrPageableMemoryAccess:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrDirectManagedMemAccessFromHost:
    case cudaDevAttrPageableMemoryAccessUsesHostPageTables:
        *value = 0;
        return true;
    case cudaDevAttrGpuOverlap:
    case cudaDevAttrComputePreemptionSupported:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrHostRegisterSupported:
        *value = 1;
        return true;
    case cudaDevAttrMemoryPoolsSupported:
        *value = has_pools(unit);
        return true;
    default:
        return late_attribute((int)attribute, unit, value);
    }
}

typedef struct attribute_row {
    enum cudaDeviceAttr attribute;
    size_t offset;
    bool wide; /* size_t, else int */
} attribute_row;

#define INT_ROW(attribute, member)                                                                           \
    {                                                                                                        \
        attribute, offsetof(struct cudaDeviceProp, member), false                                            \
    }
#define SIZE_ROW(attribute, member)                                                                          \
    {                                                                                                        \
        attribute, offsetof(struct cudaDeviceProp, member), true                                             \
    }

static const attribute_row attributes[] = {
    INT_ROW(cudaDevAttrMaxThreadsPerBlock, maxThreadsPerBlock),
    INT_ROW(cudaDevAttrMaxBlockDimX, maxThreadsDim[0]),
    INT_ROW(cudaDevAttrMaxBlockDimY, maxThreadsDim[1]),
    INT_ROW(cudaDevAttrMaxBlockDimZ, maxThreadsDim[2]),
    INT_ROW(cudaDevAttrMaxGridDimX, maxGridSize[0]),
    INT_ROW(cudaDevAttrMaxGridDimY, maxGridSize[1]),
    INT_ROW(cudaDevAttrMaxGridDimZ, maxGridSize[2]),
    SIZE_ROW(cudaDevAttrMaxSharedMemoryPerBlock, sharedMemPerBlock),
    SIZE_ROW(cudaDevAttrMaxSharedMemoryPerBlockOptin, sharedMemPerBlockOptin),
    SIZE_ROW(cudaDevAttrMaxSharedMemoryPerMultiprocessor, sharedMemPerMultiprocessor),
    INT_ROW(cudaDevAttrMaxRegistersPerBlock, regsPerBlock),
    INT_ROW(cudaDevAttrWarpSize, warpSize),
    INT_ROW(cudaDevAttrMultiProcessorCount, multiProcessorCount),
    INT_ROW(cudaDevAttrMaxThreadsPerMultiProcessor, maxThreadsPerMultiProcessor),
    INT_ROW(cudaDevAttrMaxBlocksPerMultiprocessor, maxBlocksPerMultiProcessor),
    INT_ROW(cudaDevAttrConcurrentKernels, concurrentKernels),
    INT_ROW(cudaDevAttrEccEnabled, ECCEnabled),
    INT_ROW(cudaDevAttrPciBusId, pciBusID),
    INT_ROW(cudaDevAttrPciDeviceId, pciDeviceID),
    INT_ROW(cudaDevAttrPciDomainId, pciDomainID),
    INT_ROW(cudaDevAttrGlobalMemoryBusWidth, memoryBusWidth),
    INT_ROW(cudaDevAttrL2CacheSize, l2CacheSize),
    INT_ROW(cudaDevAttrAsyncEngineCount, asyncEngineCount),
    INT_ROW(cudaDevAttrUnifiedAddressing, unifiedAddressing),
    INT_ROW(cudaDevAttrCanMapHostMemory, canMapHostMemory),
    INT_ROW(cudaDevAttrStreamPrioritiesSupported, streamPrioritiesSupported),
    INT_ROW(cudaDevAttrComputeCapabilityMajor, major),
    INT_ROW(cudaDevAttrComputeCapabilityMinor, minor),
};

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int ordinal)
{
    struct cudaDeviceProp properties;
    const cudaError_t error = sim_enter_driver(__func__);
    const sim_device *device = sim_device_at(ordinal);

    if (error != cudaSuccess)
        return sim_leave(error);
    if (device == NULL)
        return sim_leave(cudaErrorInvalidDevice);
    if (other_attribute(attribute, device->unit, value))
        return sim_leave(cudaSuccess);
    fill_properties(&properties, device->unit);
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        const char *member = (const char *)&properties + attributes[i].offset;

        if (attributes[i].attribute != attribute)
            continue;
        *value = attributes[i].wide ? (int)*(const size_t *)(const void *)member
                                    : *(const int *)(const void *)member;
        return sim_leave(cudaSuccess);
    }
    if ((int)attribute != MPS_ENABLED && (int)attribute != HOST_NUMA_ID) /* an older runtime's refusal */
        sim_say("device attribute %d is not modelled", (int)attribute);
    return sim_leave(cudaErrorInvalidValue);
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int ordinal, int peer)
{
    const cudaError_t error = sim_enter_driver(__func__);

    if (error == cudaSuccess && (sim_device_at(ordinal) == NULL || sim_device_at(peer) == NULL))
        return sim_leave(cudaErrorInvalidDevice);
    *can = 0;
    return sim_leave(error);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    sim_device *device;
    const cudaError_t error = sim_enter(__func__, &device);

    if (error == cudaSuccess) {
        *least = 0;
        *greatest = -5;
    }
    return sim_leave(error);
}
