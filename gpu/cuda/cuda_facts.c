/* What an open device is: what the runtime, the driver and NVML know of it. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "gpu/cuda/cuda_internal.h"
#include "gpu/cuda/cuda_sensors.h"

#define ATTRIBUTE_MPS_ENABLED 133 /* CUDA 12.3: older headers do not have it, older runtimes refuse it */

#define NO_PROCESS 0 /* is no process's number */

/* ---- what NVML knows ---- */

#define DEVICE(function, form, key, factor, kind, field)                                                     \
    {                                                                                                        \
        LOT_NVML_##function, LOT_READ_##form, key, factor, LOT_KIND_##kind,                                  \
            offsetof(lot_device_facts, field), "device." #field                                              \
    }

static const lot_reading device_readings[] = {
    DEVICE(INDEX, NUMBER, 0, 1, I64, nvml_index),
    DEVICE(PERSISTENCE, NUMBER, 0, 1, BOOL, persistence_mode),
    DEVICE(ECC_MODE, CURRENT, 0, 1, BOOL, ecc_enabled),
    DEVICE(MIG_MODE, CURRENT, 0, 1, BOOL, mig_enabled),
    DEVICE(POWER_LIMIT, NUMBER, 0, 1e-3, F64, power_limit_watts),
    DEVICE(POWER_LIMIT_DEFAULT, NUMBER, 0, 1e-3, F64, power_limit_default_watts),
    DEVICE(CLOCK_MAX, KEYED, LOT_NVML_CLOCK_SM, 1, F64, sm_clock_max_mhz),
    DEVICE(CLOCK_MAX, KEYED, LOT_NVML_CLOCK_MEMORY, 1, F64, memory_clock_max_mhz),
    DEVICE(PCIE_GENERATION_MAX, NUMBER, 0, 1, I64, pcie_generation_max),
    DEVICE(PCIE_WIDTH_MAX, NUMBER, 0, 1, I64, pcie_width_max),
};

static void describe_texts(const lot_sensors *sensors, lot_device_facts *facts, lot_absences *absences)
{
    int result =
        lot_nvml_text(sensors->nvml, LOT_NVML_SERIAL, sensors->gpu, facts->serial, sizeof facts->serial);

    if (result != LOT_NVML_SUCCESS)
        lot_sensors_absent(sensors, absences, "device.serial", LOT_NVML_SERIAL, result);
    result = lot_nvml_text(sensors->nvml, LOT_NVML_VBIOS, sensors->gpu, facts->vbios_version,
                           sizeof facts->vbios_version);
    if (result != LOT_NVML_SUCCESS)
        lot_sensors_absent(sensors, absences, "device.vbios_version", LOT_NVML_VBIOS, result);
    result = lot_nvml_driver_version(sensors->nvml, facts->driver_version, sizeof facts->driver_version);
    if (result != LOT_NVML_SUCCESS)
        lot_sensors_absent(sensors, absences, "device.driver_version", LOT_NVML_DRIVER_VERSION, result);
}

static void describe_compute_mode(const lot_sensors *sensors, lot_device_facts *facts, lot_absences *absences)
{
    unsigned mode = 0;
    const int result = lot_nvml_number(sensors->nvml, LOT_NVML_COMPUTE_MODE, sensors->gpu, &mode);

    if (result != LOT_NVML_SUCCESS)
        lot_sensors_absent(sensors, absences, "device.compute_mode", LOT_NVML_COMPUTE_MODE, result);
    else
        (void)snprintf(facts->compute_mode, sizeof facts->compute_mode, "%s",
                       mode == 0   ? "default"
                       : mode == 2 ? "prohibited"
                                   : "exclusive-process");
}

static void describe_errors(const lot_sensors *sensors, lot_device_facts *facts, lot_absences *absences)
{
    static const char *const row_fields[] = {"device.remapped_rows_corrected",
                                             "device.remapped_rows_uncorrected", "device.remap_pending",
                                             "device.remap_failed"};
    static const char *const ecc_fields[] = {"device.ecc_corrected_total", "device.ecc_uncorrected_total"};
    int64_t *const totals[] = {&facts->ecc_corrected_total, &facts->ecc_uncorrected_total};
    lot_nvml_rows rows = {0};
    int result = lot_nvml_remapped_rows(sensors->nvml, sensors->gpu, &rows);

    if (result == LOT_NVML_SUCCESS) {
        facts->remapped_rows_corrected = rows.corrected;
        facts->remapped_rows_uncorrected = rows.uncorrected;
        facts->remap_pending = rows.pending != 0;
        facts->remap_failed = rows.failed != 0;
    } else {
        for (size_t i = 0; i < sizeof row_fields / sizeof row_fields[0]; i++)
            lot_sensors_absent(sensors, absences, row_fields[i], LOT_NVML_REMAPPED_ROWS, result);
    }
    for (unsigned type = LOT_NVML_CORRECTED; type <= LOT_NVML_UNCORRECTED; type++) {
        uint64_t total = 0;

        result = lot_nvml_ecc(sensors->nvml, sensors->gpu, type, LOT_NVML_AGGREGATE, &total);
        if (result == LOT_NVML_SUCCESS)
            *totals[type] = (int64_t)total;
        else
            lot_sensors_absent(sensors, absences, ecc_fields[type], LOT_NVML_ECC_ERRORS, result);
    }
}

/* Slices of the GPU other than this one. */
static int count_siblings(const lot_sensors *sensors, int64_t *siblings)
{
    unsigned most = 0;
    const int result = lot_nvml_number(sensors->nvml, LOT_NVML_MIG_COUNT_MAX, sensors->gpu, &most);

    if (result != LOT_NVML_SUCCESS)
        return result;
    *siblings = 0;
    for (unsigned i = 0; i < most; i++) {
        lot_nvml_device slice = NULL;

        if (lot_nvml_mig_slice(sensors->nvml, sensors->gpu, i, &slice) == LOT_NVML_SUCCESS)
            *siblings += slice != sensors->own;
    }
    return LOT_NVML_SUCCESS;
}

static void describe_slices(const lot_sensors *sensors, lot_device_facts *facts, lot_absences *absences)
{
    int result;

    if (!sensors->slice) {
        lot_absences_add(absences, "device.mig_parent_uuid", "not a MIG slice");
        facts->mig_siblings = 0;
        return;
    }
    result = lot_nvml_text(sensors->nvml, LOT_NVML_UUID, sensors->gpu, facts->mig_parent_uuid,
                           sizeof facts->mig_parent_uuid);
    if (result != LOT_NVML_SUCCESS)
        lot_sensors_absent(sensors, absences, "device.mig_parent_uuid", LOT_NVML_UUID, result);
    result = count_siblings(sensors, &facts->mig_siblings);
    if (result != LOT_NVML_SUCCESS)
        lot_sensors_absent(sensors, absences, "device.mig_siblings", LOT_NVML_MIG_COUNT_MAX, result);
}

/* None listed is none there only where all are listed. */
static void describe_foreign(const lot_sensors *sensors, lot_device_facts *facts, lot_absences *absences)
{
    if (sensors->foreign_result != LOT_NVML_SUCCESS)
        lot_sensors_absent(sensors, absences, "device.foreign_processes", LOT_NVML_PROCESSES,
                           sensors->foreign_result);
    else if (sensors->foreign > 0 || lot_nvml_lists_whole(LOT_NVML_NAMESPACE))
        facts->foreign_processes = sensors->foreign;
    else
        lot_absences_add(
            absences, "device.foreign_processes",
            "nvmlDeviceGetComputeRunningProcesses_v3: lists only processes of this PID namespace, "
            "a container's, and none of them");
}

static void describe_sharing(const lot_sensors *sensors, lot_device_facts *facts, lot_absences *absences)
{
    int64_t clients = 0; /* this process is one: it has a context by now */
    const int result =
        lot_nvml_processes(sensors->nvml, LOT_NVML_MPS_PROCESSES, sensors->own, NO_PROCESS, &clients);

    describe_foreign(sensors, facts, absences);
    if (result == LOT_NVML_SUCCESS && (clients > 0 || facts->mps_active == LOT_NULL_BOOL))
        facts->mps_active = clients > 0;
    if (facts->mps_active == LOT_NULL_BOOL)
        lot_sensors_absent(sensors, absences, "device.mps_active", LOT_NVML_MPS_PROCESSES, result);
}

static void describe_by_nvml(const lot_sensors *sensors, lot_device_facts *facts, lot_absences *absences)
{
    static const char *const all[] = {"device.nvml_index",
                                      "device.mig_parent_uuid",
                                      "device.serial",
                                      "device.driver_version",
                                      "device.vbios_version",
                                      "device.compute_mode",
                                      "device.persistence_mode",
                                      "device.ecc_enabled",
                                      "device.mig_enabled",
                                      "device.mig_siblings",
                                      "device.foreign_processes",
                                      "device.power_limit_watts",
                                      "device.sm_clock_max_mhz",
                                      "device.power_limit_default_watts",
                                      "device.memory_clock_max_mhz",
                                      "device.pcie_generation_max",
                                      "device.pcie_width_max",
                                      "device.ecc_corrected_total",
                                      "device.remap_pending",
                                      "device.ecc_uncorrected_total",
                                      "device.remapped_rows_corrected",
                                      "device.remap_failed",
                                      "device.remapped_rows_uncorrected",
                                      "telemetry"};
    lot_telemetry trial;
    lot_cumulative unused;

    if (sensors->nvml == NULL) {
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
            lot_absences_add(absences, all[i], sensors->why_absent);
        if (facts->mps_active == LOT_NULL_BOOL)
            lot_absences_add(absences, "device.mps_active", sensors->why_absent);
        return;
    }
    (void)LOT_READ_TABLE(sensors, device_readings, facts, absences);
    describe_texts(sensors, facts, absences);
    describe_compute_mode(sensors, facts, absences);
    describe_errors(sensors, facts, absences);
    describe_slices(sensors, facts, absences);
    describe_sharing(sensors, facts, absences);
    /* One trial reading says which fields of the rows will stay empty, and why. */
    (void)lot_sensors_read_row(sensors, &trial, absences);
    lot_sensors_read_cumulative(sensors, &unused, absences);
}

/* ---- what the runtime and the driver know ---- */

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
    const int64_t mps = lot_cuda_attribute(ATTRIBUTE_MPS_ENABLED, device->options.ordinal);

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
    describe_by_nvml(device->sensors, &found, &absences);
    *facts = found;
    *absent_count = absences.count;
    return LOT_OK;
}
