/* NVML, as much of it as this module reads: its own declarations, for a toolkit often comes without nvml.h,
 * and a library that is looked for when the program runs, for a machine may come without it. Sizes are those
 * of NVML's interface 13; tests/unit/nvml_test.c holds them against the published numbers.
 *
 * Every call goes through one mutex: NVML has had thread safety bugs. A function that the library lacks
 * answers LOT_NVML_FUNCTION_NOT_FOUND, so a caller handles "absent" and "not supported" the same way. */
#ifndef GPULOT_GPU_CUDA_NVML_H
#define GPULOT_GPU_CUDA_NVML_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* nvmlReturn_t; others are only passed on. */
enum {
    LOT_NVML_SUCCESS = 0,
    LOT_NVML_INSUFFICIENT_SIZE = 7,
    LOT_NVML_FUNCTION_NOT_FOUND = 13,
    LOT_NVML_GPU_IS_LOST = 15
};

/* nvmlClockType_t */
enum { LOT_NVML_CLOCK_SM = 1, LOT_NVML_CLOCK_MEMORY = 2 };

/* nvmlMemoryErrorType_t, nvmlEccCounterType_t */
enum { LOT_NVML_CORRECTED = 0, LOT_NVML_UNCORRECTED = 1 };
enum { LOT_NVML_VOLATILE = 0, LOT_NVML_AGGREGATE = 1 };

/* Field numbers for lot_nvml_fields. The throttle fields are nanoseconds since the driver was loaded. Three
 * of them came with release 575 and were renumbered in 580.82, where the older numbers became power
 * smoothing's again: nvml.h of CUDA 12.9 and 13.0.0 says 251 and following, that of 13.0.2 and later 269 and
 * following. */
enum {
    LOT_NVML_FIELD_SW_POWER_CAP = 74,
    LOT_NVML_FIELD_SYNC_BOOST = 76,
    LOT_NVML_FIELD_MEMORY_TEMPERATURE = 82,
    LOT_NVML_FIELD_SW_THERMAL = 269,
    LOT_NVML_FIELD_HW_THERMAL = 270,
    LOT_NVML_FIELD_HW_POWER_BRAKE = 271,
    LOT_NVML_FIELD_RENUMBERED_BY = 18 /* less than these three, before 580.82 */
};

/* Whether a driver of that version ("580.65.06") knows the three fields under their first numbers. */
bool lot_nvml_first_numbers(const char *driver_version);

/* nvmlFieldValue_t */
typedef struct lot_nvml_field {
    unsigned field_id;
    unsigned scope_id;
    int64_t timestamp_us;
    int64_t latency_us;
    unsigned value_type;
    int result; /* nvmlReturn_t of this field alone */
    union {
        double real;
        uint32_t u32;
        uint64_t u64;
        int64_t i64;
        int32_t i32;
        uint16_t u16;
    } value;
} lot_nvml_field;

/* nvmlProcessInfo_t (v2, v3). Some drivers of release 535 wrote larger elements under the same name: the
 * array handed over must have room for LOT_NVML_PROCESS_SPARE bytes an element. */
typedef struct lot_nvml_process {
    unsigned pid;
    uint64_t used_memory_bytes;
    unsigned gpu_instance;
    unsigned compute_instance;
} lot_nvml_process;

#define LOT_NVML_PROCESS_SPARE 48

typedef struct lot_nvml lot_nvml;
typedef void *lot_nvml_device; /* nvmlDevice_t */

/* The functions, by what they read. X(name here, symbol). */
#define LOT_NVML_FUNCTIONS(X)                                                                                \
    X(INIT, "nvmlInit_v2")                                                                                   \
    X(SHUTDOWN, "nvmlShutdown")                                                                              \
    X(ERROR_STRING, "nvmlErrorString")                                                                       \
    X(DRIVER_VERSION, "nvmlSystemGetDriverVersion")                                                          \
    X(BY_UUID, "nvmlDeviceGetHandleByUUID")                                                                  \
    X(BY_PCI, "nvmlDeviceGetHandleByPciBusId_v2")                                                            \
    X(INDEX, "nvmlDeviceGetIndex")                                                                           \
    X(UUID, "nvmlDeviceGetUUID")                                                                             \
    X(SERIAL, "nvmlDeviceGetSerial")                                                                         \
    X(VBIOS, "nvmlDeviceGetVbiosVersion")                                                                    \
    X(CLOCK, "nvmlDeviceGetClockInfo")                                                                       \
    X(CLOCK_MAX, "nvmlDeviceGetMaxClockInfo")                                                                \
    X(TEMPERATURE, "nvmlDeviceGetTemperature")                                                               \
    X(POWER, "nvmlDeviceGetPowerUsage")                                                                      \
    X(POWER_LIMIT, "nvmlDeviceGetEnforcedPowerLimit")                                                        \
    X(POWER_LIMIT_DEFAULT, "nvmlDeviceGetPowerManagementDefaultLimit")                                       \
    X(ENERGY, "nvmlDeviceGetTotalEnergyConsumption")                                                         \
    X(CLOCK_EVENTS, "nvmlDeviceGetCurrentClocksEventReasons")                                                \
    X(CLOCK_EVENTS_OLD, "nvmlDeviceGetCurrentClocksThrottleReasons")                                         \
    X(ECC_MODE, "nvmlDeviceGetEccMode")                                                                      \
    X(ECC_ERRORS, "nvmlDeviceGetTotalEccErrors")                                                             \
    X(REMAPPED_ROWS, "nvmlDeviceGetRemappedRows")                                                            \
    X(PCIE_GENERATION, "nvmlDeviceGetCurrPcieLinkGeneration")                                                \
    X(PCIE_WIDTH, "nvmlDeviceGetCurrPcieLinkWidth")                                                          \
    X(PCIE_GENERATION_MAX, "nvmlDeviceGetMaxPcieLinkGeneration")                                             \
    X(PCIE_WIDTH_MAX, "nvmlDeviceGetMaxPcieLinkWidth")                                                       \
    X(PERSISTENCE, "nvmlDeviceGetPersistenceMode")                                                           \
    X(COMPUTE_MODE, "nvmlDeviceGetComputeMode")                                                              \
    X(MIG_MODE, "nvmlDeviceGetMigMode")                                                                      \
    X(IS_MIG, "nvmlDeviceIsMigDeviceHandle")                                                                 \
    X(MIG_PARENT, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle")                                            \
    X(MIG_COUNT_MAX, "nvmlDeviceGetMaxMigDeviceCount")                                                       \
    X(MIG_BY_INDEX, "nvmlDeviceGetMigDeviceHandleByIndex")                                                   \
    X(PROCESSES, "nvmlDeviceGetComputeRunningProcesses_v3")                                                  \
    X(MPS_PROCESSES, "nvmlDeviceGetMPSComputeRunningProcesses_v3")                                           \
    X(FIELDS, "nvmlDeviceGetFieldValues")

typedef enum lot_nvml_function {
#define LOT_NVML_ENUM(name, symbol) LOT_NVML_##name,
    LOT_NVML_FUNCTIONS(LOT_NVML_ENUM)
#undef LOT_NVML_ENUM
        LOT_NVML_FUNCTION_COUNT
} lot_nvml_function;

/* Loads and initialises NVML. NULL and why in reason[size] where that cannot be. close accepts NULL. */
lot_nvml *lot_nvml_open(char *reason, size_t size);
void lot_nvml_close(lot_nvml *nvml);

/* Why a call gave nothing, in one line: "nvmlDeviceGetSerial: Not Supported". */
void lot_nvml_reason(lot_nvml *nvml, lot_nvml_function function, int result, char *reason, size_t size);

/* Each returns nvmlReturn_t and writes its result on success only. Which function takes which form is NVML's
 * affair: a caller must name one of that form. */
int lot_nvml_driver_version(lot_nvml *nvml, char *text, size_t size);
int lot_nvml_text(lot_nvml *nvml, lot_nvml_function function, lot_nvml_device device, char *text,
                  size_t size);
int lot_nvml_number(lot_nvml *nvml, lot_nvml_function function, lot_nvml_device device, unsigned *value);
int lot_nvml_keyed(lot_nvml *nvml, lot_nvml_function function, lot_nvml_device device, unsigned key,
                   unsigned *value);
int lot_nvml_pair(lot_nvml *nvml, lot_nvml_function function, lot_nvml_device device, unsigned *current,
                  unsigned *pending);
int lot_nvml_long(lot_nvml *nvml, lot_nvml_function function, lot_nvml_device device, uint64_t *value);
int lot_nvml_ecc(lot_nvml *nvml, lot_nvml_device device, unsigned type, unsigned counter, uint64_t *value);

typedef struct lot_nvml_rows {
    unsigned corrected;
    unsigned uncorrected;
    unsigned pending;
    unsigned failed;
} lot_nvml_rows;

int lot_nvml_remapped_rows(lot_nvml *nvml, lot_nvml_device device, lot_nvml_rows *rows);
int lot_nvml_fields(lot_nvml *nvml, lot_nvml_device device, lot_nvml_field *fields, int count);

/* The value of a field as an integer, whatever its type; false where the field was not read or is negative.
 */
bool lot_nvml_field_value(const lot_nvml_field *field, uint64_t *value);

int lot_nvml_by_uuid(lot_nvml *nvml, const char *uuid, lot_nvml_device *device);
int lot_nvml_by_pci(lot_nvml *nvml, const char *address, lot_nvml_device *device);
int lot_nvml_mig_parent(lot_nvml *nvml, lot_nvml_device slice, lot_nvml_device *device);
int lot_nvml_mig_slice(lot_nvml *nvml, lot_nvml_device device, unsigned index, lot_nvml_device *slice);

/* Whether NVML's lists of processes can hold those of the whole machine. To a caller in a PID namespace of
 * its own, as in a container, the driver lists those of that namespace alone. `link` is the system's link
 * that names the namespace: LOT_NVML_NAMESPACE. */
#define LOT_NVML_NAMESPACE "/proc/self/ns/pid"

bool lot_nvml_lists_whole(const char *link);

/* How many processes compute on the device, as NVML lists them under `function`; the process `but` is not
 * counted. */
int lot_nvml_processes(lot_nvml *nvml, lot_nvml_function function, lot_nvml_device device, pid_t but,
                       int64_t *count);

#endif
