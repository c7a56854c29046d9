/* Stand-in for libnvidia-ml: the library, handles, identity. It ignores CUDA_VISIBLE_DEVICES, as NVML does.
 */
#include "sim_nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim_leaks.h"

#define HANDLE_STEP 16 /* handle = (GPU + 1) * step + slice + 1 */

static int initialised; /* counts nvmlInit_v2 */

/* ---- handles ---- */

nvml_handle sim_nvml_handle(sim_unit unit)
{
    return (nvml_handle)(uintptr_t)((unit.gpu + 1) * HANDLE_STEP + unit.slice + 1);
}

bool sim_nvml_unit(nvml_handle handle, sim_unit *unit)
{
    const int value = (int)(uintptr_t)handle;
    const int gpu = value / HANDLE_STEP - 1;
    const int slice = value % HANDLE_STEP - 1;

    if (gpu < 0 || gpu >= sim_config_get()->gpu_count || slice >= sim_config_get()->gpus[gpu].slices)
        return false;
    *unit = (sim_unit){.gpu = gpu, .slice = slice};
    return true;
}

int sim_nvml_gpu(nvml_handle handle, int *gpu)
{
    sim_unit unit;

    if (!sim_nvml_unit(handle, &unit))
        return NVML_INVALID_ARGUMENT;
    if (unit.slice >= 0)
        return NVML_NOT_SUPPORTED;
    *gpu = unit.gpu;
    return sim_nvml_activity(unit).lost ? NVML_IS_LOST : NVML_OK;
}

sim_activity sim_nvml_activity(sim_unit unit)
{
    const sim_config *config = sim_config_get();
    sim_activity sum = {.in_use = false};

    for (int i = 0; i < config->unit_count; i++) {
        const sim_device *device;

        if (config->units[i].gpu != unit.gpu || (unit.slice >= 0 && config->units[i].slice != unit.slice))
            continue;
        device = sim_device_of_unit(i);
        sum.busy_seconds += device->clock_seconds;
        sum.used_bytes += device->ready ? sim_device_used_bytes(device) : 0;
        sum.ecc_uncorrectable += device->ecc_uncorrectable;
        sum.in_use = sum.in_use || device->ready;
        sum.lost = sum.lost || device->lost;
    }
    return sum;
}

/* ---- publishing ---- */

int sim_nvml_begin(const char *name, bool needs_init)
{
    const sim_fault *fault = sim_fault_find(SIM_FAULT_NVML_STATUS, -1, name);

    sim_call(name);
    sim_lock();
    if (needs_init && initialised == 0)
        return NVML_UNINITIALIZED;
    if (fault == NULL)
        return NVML_OK;
    sim_fault_note(fault);
    return fault->code;
}

int sim_nvml_end(int result)
{
    sim_unlock();
    return result;
}

bool sim_nvml_present(const char *name)
{
    const sim_fault *fault = sim_fault_find(SIM_FAULT_NVML_MISSING, -1, name);

    if (fault != NULL)
        sim_fault_note(fault);
    return fault == NULL;
}

static int give_text(char *to, unsigned room, const char *text)
{
    if (to == NULL || room <= strlen(text))
        return to == NULL ? NVML_INVALID_ARGUMENT : NVML_INSUFFICIENT_SIZE;
    (void)snprintf(to, room, "%s", text);
    return NVML_OK;
}

/* ---- the library ---- */

NVML_WITH(nvmlInit_v2, (void), (), false)
{
    const sim_fault *fault;

    if (sim_config_get()->gpu_count == 0)
        return NVML_DRIVER_NOT_LOADED;
    fault = sim_fault_hit(SIM_FAULT_NVML_INIT, -1);
    if (fault != NULL)
        return fault->code;
    initialised++;
    sim_count(SIM_NVML, 1);
    return NVML_OK;
}

NVML(nvmlShutdown, (void), ())
{
    initialised--;
    sim_count(SIM_NVML, -1);
    return NVML_OK;
}

const char *nvmlErrorString(int result);

const char *nvmlErrorString(int result)
{
    switch (result) {
    case NVML_OK:
        return "Success";
    case NVML_UNINITIALIZED:
        return "Uninitialized";
    case NVML_INVALID_ARGUMENT:
        return "Invalid Argument";
    case NVML_NOT_SUPPORTED:
        return "Not Supported";
    case NVML_NO_PERMISSION:
        return "Insufficient Permissions";
    case NVML_NOT_FOUND:
        return "Not Found";
    case NVML_INSUFFICIENT_SIZE:
        return "Insufficient Size";
    case NVML_DRIVER_NOT_LOADED:
        return "Driver Not Loaded";
    case NVML_IS_LOST:
        return "GPU is lost";
    default:
        return "Unknown Error";
    }
}

NVML(nvmlSystemGetDriverVersion, (char *text, unsigned room), (text, room))
{
    const sim_fault *fault = sim_fault_find(SIM_FAULT_NVML_VERSION, -1, NULL);

    if (fault == NULL)
        return give_text(text, room, "SIMULATED");
    sim_fault_note(fault);
    return give_text(text, room, fault->text);
}

NVML(nvmlSystemGetNVMLVersion, (char *text, unsigned room), (text, room))
{
    return give_text(text, room, "SIMULATED");
}

NVML(nvmlSystemGetCudaDriverVersion_v2, (int *version), (version))
{
    *version = sim_config_get()->driver_api;
    return NVML_OK;
}

/* ---- finding devices ---- */

NVML(nvmlDeviceGetCount_v2, (unsigned *count), (count))
{
    *count = (unsigned)sim_config_get()->gpu_count;
    return NVML_OK;
}

NVML(nvmlDeviceGetHandleByIndex_v2, (unsigned index, nvml_handle *handle), (index, handle))
{
    if (index >= (unsigned)sim_config_get()->gpu_count)
        return NVML_INVALID_ARGUMENT;
    *handle = sim_nvml_handle((sim_unit){.gpu = (int)index, .slice = -1});
    return NVML_OK;
}

NVML(nvmlDeviceGetHandleByUUID, (const char *uuid, nvml_handle *handle), (uuid, handle))
{
    const sim_config *config = sim_config_get();
    char text[SIM_UUID_TEXT];

    for (int gpu = 0; gpu < config->gpu_count; gpu++) {
        for (int slice = -1; slice < config->gpus[gpu].slices; slice++) {
            const sim_unit unit = {.gpu = gpu, .slice = slice};

            sim_config_uuid_text(unit, text);
            if (strcmp(text, uuid) == 0) {
                *handle = sim_nvml_handle(unit);
                return NVML_OK;
            }
        }
    }
    return NVML_NOT_FOUND;
}

NVML(nvmlDeviceGetHandleByPciBusId_v2, (const char *text, nvml_handle *handle), (text, handle))
{
    unsigned domain, bus, device, function;

    if (text == NULL || sscanf(text, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
        return NVML_INVALID_ARGUMENT;
    for (int gpu = 0; gpu < sim_config_get()->gpu_count; gpu++) {
        if (domain == SIM_PCI_DOMAIN && bus == (unsigned)sim_config_get()->gpus[gpu].pci_bus && device == 0 &&
            function == 0) {
            *handle = sim_nvml_handle((sim_unit){.gpu = gpu, .slice = -1});
            return NVML_OK;
        }
    }
    return NVML_NOT_FOUND;
}

/* ---- identity ---- */

NVML(nvmlDeviceGetIndex, (nvml_handle handle, unsigned *index), (handle, index))
{
    sim_unit unit;

    if (!sim_nvml_unit(handle, &unit))
        return NVML_INVALID_ARGUMENT;
    *index = (unsigned)(unit.slice >= 0 ? unit.slice : unit.gpu);
    return NVML_OK;
}

NVML(nvmlDeviceGetName, (nvml_handle handle, char *text, unsigned room), (handle, text, room))
{
    sim_unit unit;
    char name[96];

    if (!sim_nvml_unit(handle, &unit))
        return NVML_INVALID_ARGUMENT;
    sim_config_name(unit, name, sizeof name);
    return give_text(text, room, name);
}

NVML(nvmlDeviceGetUUID, (nvml_handle handle, char *text, unsigned room), (handle, text, room))
{
    sim_unit unit;
    char uuid[SIM_UUID_TEXT];

    if (!sim_nvml_unit(handle, &unit))
        return NVML_INVALID_ARGUMENT;
    sim_config_uuid_text(unit, uuid);
    return give_text(text, room, uuid);
}

NVML(nvmlDeviceGetSerial, (nvml_handle handle, char *text, unsigned room), (handle, text, room))
{
    char serial[32];
    int gpu;
    const int result = sim_nvml_gpu(handle, &gpu);

    if (result != NVML_OK)
        return result;
    (void)snprintf(serial, sizeof serial, "SIM%07d", gpu);
    return give_text(text, room, serial);
}

NVML(nvmlDeviceGetVbiosVersion, (nvml_handle handle, char *text, unsigned room), (handle, text, room))
{
    int gpu;
    const int result = sim_nvml_gpu(handle, &gpu);

    return result != NVML_OK ? result : give_text(text, room, "SIM.00.00");
}

/* nvmlPciInfo_t, 68 bytes. */
typedef struct pci_info {
    char legacy[16];
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned device_id;
    unsigned subsystem_id;
    char text[32];
} pci_info;

_Static_assert(sizeof(pci_info) == 68, "nvmlPciInfo_t");

NVML(nvmlDeviceGetPciInfo_v3, (nvml_handle handle, pci_info *info), (handle, info))
{
    sim_unit unit;

    if (!sim_nvml_unit(handle, &unit))
        return NVML_INVALID_ARGUMENT;
    memset(info, 0, sizeof *info);
    info->domain = SIM_PCI_DOMAIN;
    info->bus = (unsigned)sim_config_get()->gpus[unit.gpu].pci_bus;
    (void)snprintf(info->legacy, sizeof info->legacy, "%04X:%02X:00.0", info->domain, info->bus);
    (void)snprintf(info->text, sizeof info->text, "%08X:%02X:00.0", info->domain, info->bus);
    return NVML_OK;
}

NVML(nvmlDeviceGetCudaComputeCapability, (nvml_handle handle, int *major, int *minor), (handle, major, minor))
{
    sim_unit unit;

    if (!sim_nvml_unit(handle, &unit))
        return NVML_INVALID_ARGUMENT;
    *major = sim_config_get()->gpus[unit.gpu].cc_major;
    *minor = sim_config_get()->gpus[unit.gpu].cc_minor;
    return NVML_OK;
}

/* ---- MIG ---- */

NVML(nvmlDeviceGetMigMode, (nvml_handle handle, unsigned *current, unsigned *pending),
     (handle, current, pending))
{
    int gpu;
    const int result = sim_nvml_gpu(handle, &gpu);

    if (result != NVML_OK)
        return result;
    *current = sim_config_get()->gpus[gpu].slices > 0;
    *pending = *current;
    return NVML_OK;
}

NVML(nvmlDeviceIsMigDeviceHandle, (nvml_handle handle, unsigned *is_slice), (handle, is_slice))
{
    sim_unit unit;

    if (!sim_nvml_unit(handle, &unit))
        return NVML_INVALID_ARGUMENT;
    *is_slice = unit.slice >= 0;
    return NVML_OK;
}

NVML(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, (nvml_handle slice, nvml_handle *parent), (slice, parent))
{
    sim_unit unit;

    if (!sim_nvml_unit(slice, &unit) || unit.slice < 0)
        return NVML_INVALID_ARGUMENT;
    *parent = sim_nvml_handle((sim_unit){.gpu = unit.gpu, .slice = -1});
    return NVML_OK;
}

NVML(nvmlDeviceGetMaxMigDeviceCount, (nvml_handle handle, unsigned *count), (handle, count))
{
    int gpu;
    const int result = sim_nvml_gpu(handle, &gpu);

    if (result != NVML_OK)
        return result;
    *count = sim_config_get()->gpus[gpu].slices > 0 ? SIM_MAX_SLICES : 0;
    return NVML_OK;
}

NVML(nvmlDeviceGetMigDeviceHandleByIndex, (nvml_handle handle, unsigned index, nvml_handle *slice),
     (handle, index, slice))
{
    int gpu;
    const int result = sim_nvml_gpu(handle, &gpu);

    if (result != NVML_OK)
        return result;
    if ((int)index >= sim_config_get()->gpus[gpu].slices)
        return NVML_NOT_FOUND;
    *slice = sim_nvml_handle((sim_unit){.gpu = gpu, .slice = (int)index});
    return NVML_OK;
}

static int instance(nvml_handle handle, int of_slice, unsigned *id)
{
    sim_unit unit;

    if (!sim_nvml_unit(handle, &unit))
        return NVML_INVALID_ARGUMENT;
    if (unit.slice < 0)
        return NVML_NOT_SUPPORTED;
    *id = (unsigned)(of_slice ? unit.slice + 1 : 0);
    return NVML_OK;
}

NVML(nvmlDeviceGetGpuInstanceId, (nvml_handle handle, unsigned *id), (handle, id))
{
    return instance(handle, 1, id);
}

NVML(nvmlDeviceGetComputeInstanceId, (nvml_handle handle, unsigned *id), (handle, id))
{
    return instance(handle, 0, id);
}

/* ---- who uses it ---- */

/* nvmlProcessInfo_t, v2 and v3. */
typedef struct process_info {
    unsigned pid;
    uint64_t used_bytes;
    unsigned gpu_instance;
    unsigned compute_instance;
} process_info;

_Static_assert(sizeof(process_info) == 24, "nvmlProcessInfo_t");

static int give_processes(const process_info *list, unsigned listed, unsigned *count, process_info *to)
{
    const unsigned room = *count;

    *count = listed;
    if (room < listed)
        return NVML_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < listed; i++)
        to[i] = list[i];
    return NVML_OK;
}

NVML(nvmlDeviceGetComputeRunningProcesses_v3, (nvml_handle handle, unsigned *count, process_info *to),
     (handle, count, to))
{
    process_info list[2];
    unsigned listed = 0;
    const sim_fault *foreign;
    sim_activity activity;
    sim_unit unit;

    if (!sim_nvml_unit(handle, &unit))
        return NVML_INVALID_ARGUMENT;
    if (unit.slice < 0 && sim_config_get()->gpus[unit.gpu].slices > 0)
        return NVML_NO_PERMISSION; /* the sum over slices is for administrators */
    activity = sim_nvml_activity(unit);
    if (activity.lost)
        return NVML_IS_LOST;
    if (activity.in_use)
        list[listed++] = (process_info){(unsigned)getpid(), activity.used_bytes, ~0u, ~0u};
    foreign = sim_fault_find(SIM_FAULT_FOREIGN, unit.gpu, NULL);
    if (foreign != NULL) {
        sim_fault_note(foreign);
        list[listed++] = (process_info){(unsigned)foreign->pid, (uint64_t)foreign->byte, ~0u, ~0u};
    }
    return give_processes(list, listed, count, to);
}

NVML(nvmlDeviceGetMPSComputeRunningProcesses_v3, (nvml_handle handle, unsigned *count, process_info *to),
     (handle, count, to))
{
    sim_unit unit;
    const sim_fault *served;
    const process_info own = {(unsigned)getpid(), 0, ~0u, ~0u};

    if (!sim_nvml_unit(handle, &unit))
        return NVML_INVALID_ARGUMENT;
    served = sim_fault_find(SIM_FAULT_MPS, unit.gpu, NULL);
    if (served != NULL)
        sim_fault_note(served);
    return give_processes(&own, served != NULL ? 1 : 0, count, to);
}
