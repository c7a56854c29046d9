/* What is known of a device: plain data that a device module fills and a record keeps.
 *
 * Only declarations, so that a module needs nothing from the program. A field that a device does not know
 * keeps its "not measured" value (core/field.h) and the module says why through lot_absent. */
#ifndef GPULOT_CORE_FACTS_H
#define GPULOT_CORE_FACTS_H

#include "core/field.h"

#define LOT_DEVICE_FIELDS(X)                                                                                 \
    X(STR, kind, 8, "", "host or cuda")                                                                      \
    X(STR, name, 96, "", "model as the device reports it")                                                   \
    X(BOOL, simulated, 0, "", "true where the device is a simulator for tests")                              \
    X(I64, ordinal, 0, "", "index among the devices visible to this process; never compare across ranks")    \
    X(I64, nvml_index, 0, "", "index in NVML, which ignores CUDA_VISIBLE_DEVICES")                           \
    X(STR, pci_address, 16, "", "DDDD:BB:DD.F, domain in hexadecimal")                                       \
    X(STR, uuid, 48, "", "GPU-... or MIG-...; for host a digest of machine and CPU set")                     \
    X(STR, mig_parent_uuid, 48, "", "UUID of the GPU that this MIG slice is part of")                        \
    X(STR, serial, 32, "", "board serial, where it may be read")                                             \
    X(STR, compute_capability, 8, "", "CUDA compute capability, major.minor")                                \
    X(I64, multiprocessors, 0, "", "SMs of a GPU, CPUs bound for host")                                      \
    X(I64, threads, 0, "", "host threads that compute; host device only")                                    \
    X(I64, memory_bytes, 0, "By", "memory of the device as it reports it")                                   \
    X(I64, l2_cache_bytes, 0, "By", "level 2 cache")                                                         \
    X(STR, allocator, 40, "", "which allocator the memory counters belong to")                               \
    X(I64, granularity_bytes, 0, "By", "smallest step of allocated bytes, measured at start")                \
    X(I64, reserve_step_bytes, 0, "By", "reserved bytes after the smallest allocation, measured at start")   \
    X(STR, driver_version, 32, "", "version of the driver")                                                  \
    X(STR, driver_api_version, 16, "", "CUDA version that the driver supports")                              \
    X(STR, runtime_version, 16, "", "CUDA runtime in use")                                                   \
    X(STR, library, 24, "", "matrix library")                                                                \
    X(STR, library_version, 32, "", "version of the matrix library")                                         \
    X(STR, loading_mode, 8, "", "when kernels are loaded: lazy or eager")                                    \
    X(STR, vbios_version, 32, "", "version of the VBIOS")                                                    \
    X(STR, compute_mode, 24, "", "default, prohibited or exclusive-process")                                 \
    X(BOOL, persistence_mode, 0, "", "driver persistence mode")                                              \
    X(BOOL, ecc_enabled, 0, "", "ECC mode in force")                                                         \
    X(BOOL, mig_enabled, 0, "", "MIG mode in force")                                                         \
    X(I64, mig_siblings, 0, "", "other MIG slices on the same GPU")                                          \
    X(BOOL, mps_active, 0, "", "the GPU is served through MPS")                                              \
    X(I64, foreign_processes, 0, "", "compute processes of others on the GPU at start")                      \
    X(F64, power_limit_watts, 0, "W", "enforced power limit")                                                \
    X(F64, power_limit_default_watts, 0, "W", "default power limit")                                         \
    X(F64, sm_clock_max_mhz, 0, "MHz", "highest SM clock")                                                   \
    X(F64, memory_clock_max_mhz, 0, "MHz", "highest memory clock")                                           \
    X(I64, pcie_generation_max, 0, "", "highest PCIe generation of GPU and slot")                            \
    X(I64, pcie_width_max, 0, "", "highest PCIe width of GPU and slot")                                      \
    X(I64, ecc_corrected_total, 0, "", "corrected memory errors, aggregate")                                 \
    X(I64, ecc_uncorrected_total, 0, "", "uncorrected memory errors, aggregate")                             \
    X(I64, remapped_rows_corrected, 0, "", "rows remapped after corrected errors")                           \
    X(I64, remapped_rows_uncorrected, 0, "", "rows remapped after uncorrected errors")                       \
    X(BOOL, remap_pending, 0, "", "a row remap waits for a reset")                                           \
    X(BOOL, remap_failed, 0, "", "a row remap failed")                                                       \
    X(I64, numa_node, 0, "", "NUMA node nearest to the device")                                              \
    X(STR, cpu_list, 64, "", "CPUs that this rank may run on while measuring")                               \
    X(STR, binding, 16, "", "who bound the CPUs: launcher, gpulot or none")

typedef struct lot_device_facts {
    LOT_FIELDS_DECLARE(LOT_DEVICE_FIELDS)
} lot_device_facts;

/* How a linear layer is computed; fixed when it is planned, outside every timed span. */
#define LOT_PLAN_FIELDS(X)                                                                                   \
    X(STR, algorithm, 160, "", "chosen algorithm, readable")                                                 \
    X(STR, algorithm_bytes, 136, "",                                                                         \
      "chosen algorithm as bytes of this version of the library, hexadecimal")                               \
    X(STR, arithmetic, 64, "", "what is multiplied and what is accumulated")                                 \
    X(I64, workspace_bytes, 0, "By", "workspace taken from the counted pool")                                \
    X(BOOL, activation_fused, 0, "", "GELU inside the same library call")                                    \
    X(I64, candidates_timed, 0, "", "algorithms timed before one was chosen; 0 = the library's first")

typedef struct lot_plan_facts {
    LOT_FIELDS_DECLARE(LOT_PLAN_FIELDS)
} lot_plan_facts;

/* The four counters of a device's own pool. `allocated` is part of `reserved`: never add them. The two
 * peaks are two different maxima: never subtract them. */
typedef struct lot_counters {
    int64_t allocated_bytes;
    int64_t reserved_bytes;
    int64_t allocated_peak_bytes;
    int64_t reserved_peak_bytes;
} lot_counters;

/* Readings for one phase row. Durations and counts are differences over the row, the rest was read at its
 * end, under load where the device allows. */
#define LOT_TELEMETRY_FIELDS(X)                                                                              \
    X(F64, sm_clock_mhz, 0, "MHz", "SM clock")                                                               \
    X(F64, memory_clock_mhz, 0, "MHz", "memory clock")                                                       \
    X(F64, temperature_celsius, 0, "Cel", "GPU temperature")                                                 \
    X(F64, memory_temperature_celsius, 0, "Cel", "memory temperature")                                       \
    X(F64, power_watts, 0, "W", "power of the GPU; a one-second average on most models")                     \
    X(F64, interval_seconds, 0, "s",                                                                         \
      "time between the counters' two readings, of the row or since the sample before")                      \
    X(F64, energy_joules, 0, "J", "energy over the row, or since the sample before")                         \
    X(I64, throttle_sw_power_cap_nanoseconds, 0, "ns",                                                       \
      "time under the software power cap, over the row or since the sample before")                          \
    X(I64, throttle_sw_thermal_nanoseconds, 0, "ns",                                                         \
      "time slowed by software for temperature, over the row or since the sample before")                    \
    X(I64, throttle_hw_thermal_nanoseconds, 0, "ns",                                                         \
      "time slowed by hardware for temperature, over the row or since the sample before")                    \
    X(I64, throttle_hw_power_brake_nanoseconds, 0, "ns",                                                     \
      "time under the power brake, over the row or since the sample before")                                 \
    X(I64, throttle_sync_boost_nanoseconds, 0, "ns",                                                         \
      "time held by a sync boost group, over the row or since the sample before")                            \
    X(I64, clock_event_bits, 0, "",                                                                          \
      "clock event reasons at the end of the row or at the sample, a bit mask")                              \
    X(I64, pcie_generation, 0, "", "PCIe generation in use")                                                 \
    X(I64, pcie_width, 0, "", "PCIe width in use")                                                           \
    X(I64, ecc_corrected, 0, "", "corrected memory errors, over the row or since the sample before")         \
    X(I64, ecc_uncorrected, 0, "", "uncorrected memory errors, over the row or since the sample before")

typedef struct lot_telemetry {
    LOT_FIELDS_DECLARE(LOT_TELEMETRY_FIELDS)
} lot_telemetry;

/* One sample of the telemetry series; `seconds` on the host's monotonic clock (CLOCK_MONOTONIC) where a
 * device gives it, and since the rank's start in a record. */
typedef struct lot_sample {
    double seconds;
    lot_telemetry telemetry;
} lot_sample;

/* Why something is not measured. `field` is "section.name", or "section" for all of it. */
typedef struct lot_absent {
    char field[64];
    char reason[192];
} lot_absent;

#endif
