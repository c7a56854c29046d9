/* What NVML knows: of the device when it is described, of every row, and, where asked for, at regular times.
 *
 * NVML is optional. Without it, or without one of its functions, only the fields that need it are absent,
 * each with its reason. Under MIG a slice knows its memory and its processes; clocks, power, temperature and
 * errors are those of the GPU that it is part of. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gpu/cuda/cuda_internal.h"
#include "gpu/cuda/cuda_sensors.h"

#define NO_PROCESS 0 /* is no process's number */

/* ---- absent fields ---- */

void lot_absences_add(lot_absences *absences, const char *field, const char *reason)
{
    lot_absent *one;

    if (absences->count >= absences->capacity)
        return;
    one = &absences->list[absences->count++];
    (void)snprintf(one->field, sizeof one->field, "%s", field);
    (void)snprintf(one->reason, sizeof one->reason, "%s", reason);
}

static void absent_result(const lot_sensors *sensors, lot_absences *absences, const char *field,
                          lot_nvml_function function, int result)
{
    char reason[sizeof absences->list->reason];

    if (absences == NULL)
        return;
    lot_nvml_reason(sensors->nvml, function, result, reason, sizeof reason);
    lot_absences_add(absences, field, reason);
}

/* ---- single numbers, by table ---- */

typedef enum form { NUMBER, KEYED, CURRENT } form; /* CURRENT: the first of a current and pending pair */

typedef struct reading {
    lot_nvml_function function;
    form form;
    unsigned key;
    double factor;
    lot_kind kind;
    size_t offset;
    const char *field;
} reading;

#define DEVICE(function, form, key, factor, kind, field)                                                     \
    {                                                                                                        \
        LOT_NVML_##function, form, key, factor, LOT_KIND_##kind, offsetof(lot_device_facts, field),          \
            "device." #field                                                                                 \
    }

static const reading device_readings[] = {
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

#define ROW(function, form, key, factor, kind, field)                                                        \
    {                                                                                                        \
        LOT_NVML_##function, form, key, factor, LOT_KIND_##kind, offsetof(lot_telemetry, field),             \
            "telemetry." #field                                                                              \
    }

static const reading row_readings[] = {
    ROW(CLOCK, KEYED, LOT_NVML_CLOCK_SM, 1, F64, sm_clock_mhz),
    ROW(CLOCK, KEYED, LOT_NVML_CLOCK_MEMORY, 1, F64, memory_clock_mhz),
    ROW(TEMPERATURE, KEYED, 0, 1, F64, temperature_celsius),
    ROW(POWER, NUMBER, 0, 1e-3, F64, power_watts),
    ROW(PCIE_GENERATION, NUMBER, 0, 1, I64, pcie_generation),
    ROW(PCIE_WIDTH, NUMBER, 0, 1, I64, pcie_width),
};

static int read_one(const lot_sensors *sensors, const reading *what, unsigned *value)
{
    unsigned pending;

    switch (what->form) {
    case KEYED:
        return lot_nvml_keyed(sensors->nvml, what->function, sensors->gpu, what->key, value);
    case CURRENT:
        return lot_nvml_pair(sensors->nvml, what->function, sensors->gpu, value, &pending);
    default:
        return lot_nvml_number(sensors->nvml, what->function, sensors->gpu, value);
    }
}

static void store(const reading *what, char *record, unsigned value)
{
    const int64_t integer = (int64_t)value;
    const double number = value * what->factor;
    const int8_t answer = value != 0;
    char *at = record + what->offset;

    if (what->kind == LOT_KIND_I64)
        memcpy(at, &integer, sizeof integer);
    else if (what->kind == LOT_KIND_F64)
        memcpy(at, &number, sizeof number);
    else
        memcpy(at, &answer, sizeof answer);
}

/* Reads a table into a record. Reasons go to *absences where that is not NULL. Returns NVML's result where
 * it says that the GPU can no longer be used, else success. */
static int read_table(const lot_sensors *sensors, const reading *table, size_t count, void *record,
                      lot_absences *absences)
{
    int lost = LOT_NVML_SUCCESS;

    for (size_t i = 0; i < count; i++) {
        unsigned value = 0;
        const int result = read_one(sensors, &table[i], &value);

        if (result == LOT_NVML_SUCCESS)
            store(&table[i], record, value);
        else
            absent_result(sensors, absences, table[i].field, table[i].function, result);
        if (lot_status_of_nvml(result) != LOT_OK)
            lost = result;
    }
    return lost;
}

#define READ_TABLE(sensors, table, record, absences)                                                         \
    read_table(sensors, table, sizeof(table) / sizeof((table)[0]), record, absences)

/* ---- cumulative readings ---- */

static const char *const cumulative_fields[CUMULATIVE] = {
    [SW_POWER_CAP] = "telemetry.throttle_sw_power_cap_nanoseconds",
    [SW_THERMAL] = "telemetry.throttle_sw_thermal_nanoseconds",
    [HW_THERMAL] = "telemetry.throttle_hw_thermal_nanoseconds",
    [HW_POWER_BRAKE] = "telemetry.throttle_hw_power_brake_nanoseconds",
    [SYNC_BOOST] = "telemetry.throttle_sync_boost_nanoseconds",
    [ENERGY] = "telemetry.energy_joules",
    [ECC_CORRECTED] = "telemetry.ecc_corrected",
    [ECC_UNCORRECTED] = "telemetry.ecc_uncorrected"};

static void number_throttles(lot_sensors *sensors)
{
    static const unsigned fields[THROTTLES] = {[SW_POWER_CAP] = LOT_NVML_FIELD_SW_POWER_CAP,
                                               [SW_THERMAL] = LOT_NVML_FIELD_SW_THERMAL,
                                               [HW_THERMAL] = LOT_NVML_FIELD_HW_THERMAL,
                                               [HW_POWER_BRAKE] = LOT_NVML_FIELD_HW_POWER_BRAKE,
                                               [SYNC_BOOST] = LOT_NVML_FIELD_SYNC_BOOST};
    char version[32] = "";

    (void)lot_nvml_driver_version(sensors->nvml, version, sizeof version);
    memcpy(sensors->throttle_fields, fields, sizeof fields);
    if (!lot_nvml_first_numbers(version))
        return;
    for (int i = SW_THERMAL; i <= HW_POWER_BRAKE; i++)
        sensors->throttle_fields[i] -= LOT_NVML_FIELD_RENUMBERED_BY;
}

static void read_throttles(const lot_sensors *sensors, lot_cumulative *read, lot_absences *absences)
{
    lot_nvml_field fields[THROTTLES];
    int result;

    memset(fields, 0, sizeof fields);
    for (int i = 0; i < THROTTLES; i++)
        fields[i].field_id = sensors->throttle_fields[i];
    result = lot_nvml_fields(sensors->nvml, sensors->gpu, fields, THROTTLES);
    for (int i = 0; i < THROTTLES; i++)
        if (result != LOT_NVML_SUCCESS || !lot_nvml_field_value(&fields[i], &read->value[i])) {
            read->value[i] = LOT_UNKNOWN;
            absent_result(sensors, absences, cumulative_fields[i], LOT_NVML_FIELDS,
                          result != LOT_NVML_SUCCESS ? result : fields[i].result);
        }
}

void lot_sensors_read_cumulative(const lot_sensors *sensors, lot_cumulative *read, lot_absences *absences)
{
    int result = lot_nvml_long(sensors->nvml, LOT_NVML_ENERGY, sensors->gpu, &read->value[ENERGY]);

    if (result != LOT_NVML_SUCCESS) {
        read->value[ENERGY] = LOT_UNKNOWN;
        absent_result(sensors, absences, cumulative_fields[ENERGY], LOT_NVML_ENERGY, result);
    }
    for (unsigned type = LOT_NVML_CORRECTED; type <= LOT_NVML_UNCORRECTED; type++) {
        uint64_t *value = &read->value[ECC_CORRECTED + type];

        result = lot_nvml_ecc(sensors->nvml, sensors->gpu, type, LOT_NVML_VOLATILE, value);
        if (result == LOT_NVML_SUCCESS)
            continue;
        *value = LOT_UNKNOWN;
        absent_result(sensors, absences, cumulative_fields[ECC_CORRECTED + type], LOT_NVML_ECC_ERRORS,
                      result);
    }
    read_throttles(sensors, read, absences);
}

/* The growth from `begin` to `end`; a counter that was reset in between is not known. */
static int64_t growth(const lot_cumulative *begin, const lot_cumulative *end, int which)
{
    const uint64_t from = begin->value[which], to = end->value[which];

    return from == LOT_UNKNOWN || to == LOT_UNKNOWN || to < from ? LOT_NULL_I64 : (int64_t)(to - from);
}

void lot_sensors_store_growth(const lot_cumulative *begin, const lot_cumulative *end,
                              lot_telemetry *telemetry)
{
    const int64_t millijoules = growth(begin, end, ENERGY);

    telemetry->throttle_sw_power_cap_nanoseconds = growth(begin, end, SW_POWER_CAP);
    telemetry->throttle_sw_thermal_nanoseconds = growth(begin, end, SW_THERMAL);
    telemetry->throttle_hw_thermal_nanoseconds = growth(begin, end, HW_THERMAL);
    telemetry->throttle_hw_power_brake_nanoseconds = growth(begin, end, HW_POWER_BRAKE);
    telemetry->throttle_sync_boost_nanoseconds = growth(begin, end, SYNC_BOOST);
    telemetry->ecc_corrected = growth(begin, end, ECC_CORRECTED);
    telemetry->ecc_uncorrected = growth(begin, end, ECC_UNCORRECTED);
    if (millijoules >= 0)
        telemetry->energy_joules = (double)millijoules * 1e-3;
}

/* ---- momentary readings ---- */

void lot_telemetry_clear(lot_telemetry *telemetry)
{
#define CLEAR_I64(name)                     telemetry->name = LOT_NULL_I64;
#define CLEAR_F64(name)                     telemetry->name = (double)NAN;
#define CLEAR(kind, name, size, unit, help) CLEAR_##kind(name)
    LOT_TELEMETRY_FIELDS(CLEAR)
#undef CLEAR
#undef CLEAR_F64
#undef CLEAR_I64
}

static void read_clock_events(const lot_sensors *sensors, lot_telemetry *telemetry, lot_absences *absences)
{
    uint64_t bits = 0;
    int result = lot_nvml_long(sensors->nvml, LOT_NVML_CLOCK_EVENTS, sensors->gpu, &bits);

    if (result == LOT_NVML_FUNCTION_NOT_FOUND)
        result = lot_nvml_long(sensors->nvml, LOT_NVML_CLOCK_EVENTS_OLD, sensors->gpu, &bits);
    if (result == LOT_NVML_SUCCESS)
        telemetry->clock_event_bits = (int64_t)bits;
    else
        absent_result(sensors, absences, "telemetry.clock_event_bits", LOT_NVML_CLOCK_EVENTS, result);
}

static void read_memory_temperature(const lot_sensors *sensors, lot_telemetry *telemetry,
                                    lot_absences *absences)
{
    lot_nvml_field field;
    uint64_t value = 0;
    int result;

    memset(&field, 0, sizeof field);
    field.field_id = LOT_NVML_FIELD_MEMORY_TEMPERATURE;
    result = lot_nvml_fields(sensors->nvml, sensors->gpu, &field, 1);
    if (result == LOT_NVML_SUCCESS && lot_nvml_field_value(&field, &value))
        telemetry->memory_temperature_celsius = (double)value;
    else
        absent_result(sensors, absences, "telemetry.memory_temperature_celsius", LOT_NVML_FIELDS,
                      result != LOT_NVML_SUCCESS ? result : field.result);
}

/* Everything but the differences. Returns NVML's result where the GPU has gone, else success. */
int lot_sensors_read_row(const lot_sensors *sensors, lot_telemetry *telemetry, lot_absences *absences)
{
    lot_telemetry_clear(telemetry);
    read_clock_events(sensors, telemetry, absences);
    read_memory_temperature(sensors, telemetry, absences);
    return READ_TABLE(sensors, row_readings, telemetry, absences);
}

/* ---- open and close ---- */

static int find_device(lot_sensors *sensors, const lot_device_facts *identity)
{
    unsigned slice = 0;
    int result = lot_nvml_by_uuid(sensors->nvml, identity->uuid, &sensors->own);

    if (result != LOT_NVML_SUCCESS)
        result = lot_nvml_by_pci(sensors->nvml, identity->pci_address, &sensors->own);
    sensors->gpu = sensors->own;
    if (result != LOT_NVML_SUCCESS)
        return result;
    if (lot_nvml_number(sensors->nvml, LOT_NVML_IS_MIG, sensors->own, &slice) == LOT_NVML_SUCCESS && slice) {
        sensors->slice = true;
        result = lot_nvml_mig_parent(sensors->nvml, sensors->own, &sensors->gpu);
    }
    return result;
}

lot_status lot_sensors_open(const lot_device_facts *identity, lot_sensors **sensors, lot_error *error)
{
    lot_sensors *made = calloc(1, sizeof *made);
    int result;

    if (made == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "the host is out of memory");
    for (int i = 0; i < CUMULATIVE; i++)
        made->begun.value[i] = LOT_UNKNOWN;
    *sensors = made;
    made->nvml = lot_nvml_open(made->why_absent, sizeof made->why_absent);
    if (made->nvml == NULL)
        return LOT_OK;
    result = find_device(made, identity);
    if (result != LOT_NVML_SUCCESS) {
        made->lost = result == LOT_NVML_GPU_IS_LOST;
        lot_nvml_reason(made->nvml, LOT_NVML_BY_UUID, result, made->why_absent, sizeof made->why_absent);
        lot_nvml_close(made->nvml);
        made->nvml = NULL;
        return LOT_OK;
    }
    number_throttles(made);
    /* Now, while every process in the list is somebody else's: in a container our own number may differ. */
    made->foreign_result =
        lot_nvml_processes(made->nvml, LOT_NVML_PROCESSES, made->own, getpid(), &made->foreign);
    return LOT_OK;
}

void lot_sensors_close(lot_sensors *sensors)
{
    if (sensors == NULL)
        return;
    lot_series_stop(&sensors->series);
    lot_nvml_close(sensors->nvml);
    free(sensors);
}

bool lot_sensors_lost(const lot_sensors *sensors)
{
    unsigned watts = 0;

    if (sensors == NULL || sensors->nvml == NULL)
        return sensors != NULL && sensors->lost;
    return lot_nvml_number(sensors->nvml, LOT_NVML_POWER, sensors->gpu, &watts) == LOT_NVML_GPU_IS_LOST;
}

/* ---- describe ---- */

static void describe_texts(const lot_sensors *sensors, lot_device_facts *facts, lot_absences *absences)
{
    int result =
        lot_nvml_text(sensors->nvml, LOT_NVML_SERIAL, sensors->gpu, facts->serial, sizeof facts->serial);

    if (result != LOT_NVML_SUCCESS)
        absent_result(sensors, absences, "device.serial", LOT_NVML_SERIAL, result);
    result = lot_nvml_text(sensors->nvml, LOT_NVML_VBIOS, sensors->gpu, facts->vbios_version,
                           sizeof facts->vbios_version);
    if (result != LOT_NVML_SUCCESS)
        absent_result(sensors, absences, "device.vbios_version", LOT_NVML_VBIOS, result);
    result = lot_nvml_driver_version(sensors->nvml, facts->driver_version, sizeof facts->driver_version);
    if (result != LOT_NVML_SUCCESS)
        absent_result(sensors, absences, "device.driver_version", LOT_NVML_DRIVER_VERSION, result);
}

static void describe_compute_mode(const lot_sensors *sensors, lot_device_facts *facts, lot_absences *absences)
{
    unsigned mode = 0;
    const int result = lot_nvml_number(sensors->nvml, LOT_NVML_COMPUTE_MODE, sensors->gpu, &mode);

    if (result != LOT_NVML_SUCCESS)
        absent_result(sensors, absences, "device.compute_mode", LOT_NVML_COMPUTE_MODE, result);
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
            absent_result(sensors, absences, row_fields[i], LOT_NVML_REMAPPED_ROWS, result);
    }
    for (unsigned type = LOT_NVML_CORRECTED; type <= LOT_NVML_UNCORRECTED; type++) {
        uint64_t total = 0;

        result = lot_nvml_ecc(sensors->nvml, sensors->gpu, type, LOT_NVML_AGGREGATE, &total);
        if (result == LOT_NVML_SUCCESS)
            *totals[type] = (int64_t)total;
        else
            absent_result(sensors, absences, ecc_fields[type], LOT_NVML_ECC_ERRORS, result);
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
        absent_result(sensors, absences, "device.mig_parent_uuid", LOT_NVML_UUID, result);
    result = count_siblings(sensors, &facts->mig_siblings);
    if (result != LOT_NVML_SUCCESS)
        absent_result(sensors, absences, "device.mig_siblings", LOT_NVML_MIG_COUNT_MAX, result);
}

/* None listed is none there only where all are listed. */
static void describe_foreign(const lot_sensors *sensors, lot_device_facts *facts, lot_absences *absences)
{
    if (sensors->foreign_result != LOT_NVML_SUCCESS)
        absent_result(sensors, absences, "device.foreign_processes", LOT_NVML_PROCESSES,
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
        absent_result(sensors, absences, "device.mps_active", LOT_NVML_MPS_PROCESSES, result);
}

void lot_sensors_describe(lot_sensors *sensors, lot_device_facts *facts, lot_absences *absences)
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
    (void)READ_TABLE(sensors, device_readings, facts, absences);
    describe_texts(sensors, facts, absences);
    describe_compute_mode(sensors, facts, absences);
    describe_errors(sensors, facts, absences);
    describe_slices(sensors, facts, absences);
    describe_sharing(sensors, facts, absences);
    /* One trial reading says which fields of the rows will stay empty, and why. */
    (void)lot_sensors_read_row(sensors, &trial, absences);
    lot_sensors_read_cumulative(sensors, &unused, absences);
}

/* ---- rows ---- */

lot_status lot_cuda_telemetry_begin(lot_device *device, lot_error *error)
{
    (void)error;
    if (device->sensors->nvml != NULL)
        lot_sensors_read_cumulative(device->sensors, &device->sensors->begun, NULL);
    return LOT_OK;
}

lot_status lot_cuda_telemetry_end(lot_device *device, lot_telemetry *telemetry, lot_error *error)
{
    lot_sensors *sensors = device->sensors;
    lot_cumulative ended;
    int result;

    lot_telemetry_clear(telemetry);
    if (sensors->nvml == NULL)
        return LOT_OK;
    result = lot_sensors_read_row(sensors, telemetry, NULL);
    if (lot_status_of_nvml(result) != LOT_OK) {
        char reason[192];

        lot_nvml_reason(sensors->nvml, LOT_NVML_POWER, result, reason, sizeof reason);
        return lot_error_set(error, lot_status_of_nvml(result), "nvmlDeviceGetPowerUsage", result,
                             "NVML says of GPU %s: %s", device->identity.uuid, reason);
    }
    lot_sensors_read_cumulative(sensors, &ended, NULL);
    lot_sensors_store_growth(&sensors->begun, &ended, telemetry);
    /* No GPU needs no energy: the row was shorter than the counter's step, and its share is not known. */
    if (telemetry->energy_joules == 0)
        telemetry->energy_joules = (double)NAN;
    return LOT_OK;
}
