/* Stand-in for libnvidia-ml: readings. They follow the device's own clock: energy and throttle time grow with
 * the work that this process gave the device, and with nothing else. */
#include "sim_nvml.h"

#include <stdio.h>
#include <string.h>

#define SM_CLOCK_MHZ     1500
#define SM_CLOCK_MOST    1980
#define MEMORY_CLOCK_MHZ 2000
#define POWER_MILLIWATTS 400000
#define POWER_LIMIT      700000
#define ENERGY_AT_START  1000000ull /* mJ */

/* The throttle fault's reasons as bits of the clock event mask and as numbers of cumulative fields. */
static const uint64_t reason_bits[SIM_THROTTLE_COUNT] = {0x4, 0x20, 0x40, 0x80, 0x10};
static const unsigned reason_fields[SIM_THROTTLE_COUNT] = {74, 269, 270, 271, 76};

/* What drivers from 575 to 580.81 call them, by nvml.h of CUDA 12.9 and 13.0.0. There 269 to 271 are power
 * smoothing's, which stand still; drivers before 575 have none of the three. */
static const unsigned first_reason_fields[SIM_THROTTLE_COUNT] = {74, 251, 252, 253, 76};
static const unsigned early_reason_fields[SIM_THROTTLE_COUNT] = {74, 0, 0, 0, 76};

static const sim_fault *throttle_of(int gpu)
{
    const sim_fault *fault = sim_fault_find(SIM_FAULT_THROTTLE, gpu, NULL);

    if (fault != NULL)
        sim_fault_note(fault);
    return fault;
}

static sim_activity activity_of(int gpu)
{
    return sim_nvml_activity((sim_unit){.gpu = gpu, .slice = -1});
}

/* ---- one number each ---- */

static int give(nvml_handle handle, unsigned *to, unsigned value)
{
    int gpu;
    const int result = sim_nvml_gpu(handle, &gpu);

    if (result == NVML_OK)
        *to = value;
    return result;
}

#define NVML_CONSTANT(name, value)                                                                           \
    NVML(name, (nvml_handle handle, unsigned *to), (handle, to))                                             \
    {                                                                                                        \
        return give(handle, to, value);                                                                      \
    }

NVML_CONSTANT(nvmlDeviceGetPowerUsage, POWER_MILLIWATTS)
NVML_CONSTANT(nvmlDeviceGetEnforcedPowerLimit, POWER_LIMIT)
NVML_CONSTANT(nvmlDeviceGetPowerManagementLimit, POWER_LIMIT)
NVML_CONSTANT(nvmlDeviceGetPowerManagementDefaultLimit, POWER_LIMIT)
NVML_CONSTANT(nvmlDeviceGetPerformanceState, 0)
NVML_CONSTANT(nvmlDeviceGetCurrPcieLinkGeneration, 5)
NVML_CONSTANT(nvmlDeviceGetMaxPcieLinkGeneration, 5)
NVML_CONSTANT(nvmlDeviceGetCurrPcieLinkWidth, 16)
NVML_CONSTANT(nvmlDeviceGetMaxPcieLinkWidth, 16)
NVML_CONSTANT(nvmlDeviceGetPersistenceMode, 1)
NVML_CONSTANT(nvmlDeviceGetComputeMode, 0)
NVML_CONSTANT(nvmlDeviceGetMemoryBusWidth, 64)

NVML(nvmlDeviceGetClockInfo, (nvml_handle handle, unsigned type, unsigned *mhz), (handle, type, mhz))
{
    int gpu;
    const int result = sim_nvml_gpu(handle, &gpu);
    const sim_fault *throttle;

    if (result != NVML_OK)
        return result;
    throttle = throttle_of(gpu);
    *mhz = type == 2 ? MEMORY_CLOCK_MHZ : SM_CLOCK_MHZ;
    if (throttle != NULL && type != 2)
        *mhz = (unsigned)(SM_CLOCK_MHZ * (1.0 - throttle->share / 2));
    return NVML_OK;
}

NVML(nvmlDeviceGetMaxClockInfo, (nvml_handle handle, unsigned type, unsigned *mhz), (handle, type, mhz))
{
    return give(handle, mhz, type == 2 ? MEMORY_CLOCK_MHZ : SM_CLOCK_MOST);
}

NVML(nvmlDeviceGetTemperature, (nvml_handle handle, unsigned sensor, unsigned *celsius),
     (handle, sensor, celsius))
{
    return sensor == 0 ? give(handle, celsius, 45) : NVML_INVALID_ARGUMENT;
}

NVML(nvmlDeviceGetTotalEnergyConsumption, (nvml_handle handle, unsigned long long *millijoules),
     (handle, millijoules))
{
    int gpu;
    const int result = sim_nvml_gpu(handle, &gpu);

    if (result == NVML_OK)
        *millijoules =
            ENERGY_AT_START + (unsigned long long)(activity_of(gpu).busy_seconds * POWER_MILLIWATTS);
    return result;
}

static int clock_events(nvml_handle handle, unsigned long long *bits)
{
    int gpu;
    const int result = sim_nvml_gpu(handle, &gpu);
    const sim_fault *throttle;

    if (result != NVML_OK)
        return result;
    throttle = throttle_of(gpu);
    *bits = throttle != NULL ? reason_bits[throttle->reason] : 0;
    return NVML_OK;
}

NVML(nvmlDeviceGetCurrentClocksEventReasons, (nvml_handle handle, unsigned long long *bits), (handle, bits))
{
    return clock_events(handle, bits);
}

NVML(nvmlDeviceGetCurrentClocksThrottleReasons, (nvml_handle handle, unsigned long long *bits),
     (handle, bits))
{
    return clock_events(handle, bits);
}

/* ---- memory ---- */

/* nvmlMemory_t and nvmlMemory_v2_t. */
typedef struct memory_info {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
} memory_info;

typedef struct memory_info_v2 {
    unsigned version;
    unsigned long long total;
    unsigned long long reserved;
    unsigned long long free;
    unsigned long long used;
} memory_info_v2;

_Static_assert(sizeof(memory_info_v2) == 40, "nvmlMemory_v2_t");

NVML(nvmlDeviceGetMemoryInfo, (nvml_handle handle, memory_info *info), (handle, info))
{
    sim_unit unit;

    if (!sim_nvml_unit(handle, &unit))
        return NVML_INVALID_ARGUMENT;
    info->total = sim_config_memory(unit);
    info->used = sim_nvml_activity(unit).used_bytes;
    info->free = info->total - info->used;
    return NVML_OK;
}

NVML(nvmlDeviceGetMemoryInfo_v2, (nvml_handle handle, memory_info_v2 *info), (handle, info))
{
    sim_unit unit;

    if (!sim_nvml_unit(handle, &unit))
        return NVML_INVALID_ARGUMENT;
    if (info->version != (sizeof *info | 2u << 24))
        return NVML_VERSION_MISMATCH;
    info->total = sim_config_memory(unit);
    info->reserved = 0;
    info->used = sim_nvml_activity(unit).used_bytes;
    info->free = info->total - info->used;
    return NVML_OK;
}

/* ---- errors of memory ---- */

NVML(nvmlDeviceGetEccMode, (nvml_handle handle, unsigned *current, unsigned *pending),
     (handle, current, pending))
{
    const int result = give(handle, current, 1);

    if (result == NVML_OK)
        *pending = 1;
    return result;
}

NVML(nvmlDeviceGetTotalEccErrors,
     (nvml_handle handle, unsigned type, unsigned counter, unsigned long long *count),
     (handle, type, counter, count))
{
    int gpu;
    const int result = sim_nvml_gpu(handle, &gpu);

    if (result != NVML_OK)
        return result;
    if (type > 1 || counter > 1)
        return NVML_INVALID_ARGUMENT;
    *count = type == 1 ? activity_of(gpu).ecc_uncorrectable : 0;
    return NVML_OK;
}

NVML(nvmlDeviceGetRemappedRows,
     (nvml_handle handle, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed),
     (handle, corrected, uncorrected, pending, failed))
{
    int gpu;
    const int result = sim_nvml_gpu(handle, &gpu);

    if (result != NVML_OK)
        return result;
    *corrected = 0;
    *uncorrected = 0;
    *pending = activity_of(gpu).ecc_uncorrectable > 0;
    *failed = 0;
    return NVML_OK;
}

/* ---- fields ---- */

/* nvmlFieldValue_t */
typedef struct field_value {
    unsigned field;
    unsigned scope;
    int64_t timestamp_us;
    int64_t latency_us;
    unsigned type;
    int result;
    union {
        double real;
        unsigned u32;
        unsigned long long u64;
    } value;
} field_value;

_Static_assert(sizeof(field_value) == 40, "nvmlFieldValue_t");
enum { TYPE_UINT = 1, TYPE_ULONGLONG = 3 };

static void give_u32(field_value *field, unsigned value)
{
    field->type = TYPE_UINT;
    field->value.u32 = value;
}

static void give_u64(field_value *field, unsigned long long value)
{
    field->type = TYPE_ULONGLONG;
    field->value.u64 = value;
}

/* The throttle counters' numbers in the driver that `nvml-version` feigns; without it, in a new one. */
static const unsigned *fields_of_driver(void)
{
    const sim_fault *feigned = sim_fault_find(SIM_FAULT_NVML_VERSION, -1, NULL);
    unsigned release = 600, update = 0;

    if (feigned != NULL && sscanf(feigned->text, "%u.%u", &release, &update) != 2)
        release = 600; /* no version at all */
    if (release < 575)
        return early_reason_fields;
    return release < 580 || (release == 580 && update < 82) ? first_reason_fields : reason_fields;
}

static void read_field(field_value *field, int gpu)
{
    const sim_fault *throttle = throttle_of(gpu);
    const double busy = activity_of(gpu).busy_seconds;
    const unsigned *fields = fields_of_driver();

    field->result = NVML_OK;
    if (fields == first_reason_fields && field->field >= 269 && field->field <= 271) {
        give_u32(field, 3);
        return;
    }
    for (int i = 0; i < SIM_THROTTLE_COUNT; i++) {
        if (field->field == fields[i]) {
            const bool counts = throttle != NULL && throttle->reason == i;

            give_u64(field, counts ? (unsigned long long)(busy * throttle->share * 1e9) : 0);
            return;
        }
    }
    switch (field->field) {
    case 82: /* memory temperature */
        give_u32(field, 52);
        break;
    case 83: /* energy */
        give_u64(field, ENERGY_AT_START + (unsigned long long)(busy * POWER_MILLIWATTS));
        break;
    case 185: /* power, average and instant */
    case 186:
        give_u32(field, POWER_MILLIWATTS);
        break;
    default:
        field->result = NVML_NOT_SUPPORTED;
        break;
    }
}

NVML(nvmlDeviceGetFieldValues, (nvml_handle handle, int count, field_value *fields), (handle, count, fields))
{
    int gpu;
    const int result = sim_nvml_gpu(handle, &gpu);

    if (result != NVML_OK)
        return result;
    for (int i = 0; i < count; i++)
        read_field(&fields[i], gpu);
    return NVML_OK;
}
