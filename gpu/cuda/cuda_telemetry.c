/* What NVML tells of every row, and finding the device there.
 *
 * NVML is optional. Without it, or without one of its functions, only the fields that need it are absent,
 * each with its reason. Under MIG a slice knows its memory and its processes; clocks, power, temperature and
 * errors are those of the GPU that it is part of. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "gpu/cuda/cuda_internal.h"
#include "gpu/cuda/cuda_sensors.h"

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

void lot_sensors_absent(const lot_sensors *sensors, lot_absences *absences, const char *field,
                        lot_nvml_function function, int result)
{
    char reason[sizeof absences->list->reason];

    if (absences == NULL)
        return;
    lot_nvml_reason(sensors->nvml, function, result, reason, sizeof reason);
    lot_absences_add(absences, field, reason);
}

/* ---- single numbers, by table ---- */

#define ROW(function, form, key, factor, kind, field)                                                        \
    {                                                                                                        \
        LOT_NVML_##function, LOT_READ_##form, key, factor, LOT_KIND_##kind, offsetof(lot_telemetry, field),  \
            "telemetry." #field                                                                              \
    }

static const lot_reading row_readings[] = {
    ROW(CLOCK, KEYED, LOT_NVML_CLOCK_SM, 1, F64, sm_clock_mhz),
    ROW(CLOCK, KEYED, LOT_NVML_CLOCK_MEMORY, 1, F64, memory_clock_mhz),
    ROW(TEMPERATURE, KEYED, 0, 1, F64, temperature_celsius),
    ROW(POWER, NUMBER, 0, 1e-3, F64, power_watts),
    ROW(PCIE_GENERATION, NUMBER, 0, 1, I64, pcie_generation),
    ROW(PCIE_WIDTH, NUMBER, 0, 1, I64, pcie_width),
};

static int read_one(const lot_sensors *sensors, const lot_reading *what, unsigned *value)
{
    unsigned pending;

    switch (what->form) {
    case LOT_READ_KEYED:
        return lot_nvml_keyed(sensors->nvml, what->function, sensors->gpu, what->key, value);
    case LOT_READ_CURRENT:
        return lot_nvml_pair(sensors->nvml, what->function, sensors->gpu, value, &pending);
    default:
        return lot_nvml_number(sensors->nvml, what->function, sensors->gpu, value);
    }
}

static void store(const lot_reading *what, char *record, unsigned value)
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

int lot_sensors_read_table(const lot_sensors *sensors, const lot_reading *table, size_t count, void *record,
                           lot_absences *absences)
{
    int lost = LOT_NVML_SUCCESS;

    for (size_t i = 0; i < count; i++) {
        unsigned value = 0;
        const int result = read_one(sensors, &table[i], &value);

        if (result == LOT_NVML_SUCCESS)
            store(&table[i], record, value);
        else
            lot_sensors_absent(sensors, absences, table[i].field, table[i].function, result);
        if (lot_status_of_nvml(result) != LOT_OK)
            lost = result;
    }
    return lost;
}

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
            lot_sensors_absent(sensors, absences, cumulative_fields[i], LOT_NVML_FIELDS,
                               result != LOT_NVML_SUCCESS ? result : fields[i].result);
        }
}

void lot_sensors_read_cumulative(const lot_sensors *sensors, lot_cumulative *read, lot_absences *absences)
{
    int result = lot_nvml_long(sensors->nvml, LOT_NVML_ENERGY, sensors->gpu, &read->value[ENERGY]);

    if (result != LOT_NVML_SUCCESS) {
        read->value[ENERGY] = LOT_UNKNOWN;
        lot_sensors_absent(sensors, absences, cumulative_fields[ENERGY], LOT_NVML_ENERGY, result);
    }
    for (unsigned type = LOT_NVML_CORRECTED; type <= LOT_NVML_UNCORRECTED; type++) {
        uint64_t *value = &read->value[ECC_CORRECTED + type];

        result = lot_nvml_ecc(sensors->nvml, sensors->gpu, type, LOT_NVML_VOLATILE, value);
        if (result == LOT_NVML_SUCCESS)
            continue;
        *value = LOT_UNKNOWN;
        lot_sensors_absent(sensors, absences, cumulative_fields[ECC_CORRECTED + type], LOT_NVML_ECC_ERRORS,
                           result);
    }
    read_throttles(sensors, read, absences);
    read->seconds = lot_clock_seconds();
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

    telemetry->interval_seconds = end->seconds - begin->seconds;
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
        lot_sensors_absent(sensors, absences, "telemetry.clock_event_bits", LOT_NVML_CLOCK_EVENTS, result);
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
        lot_sensors_absent(sensors, absences, "telemetry.memory_temperature_celsius", LOT_NVML_FIELDS,
                           result != LOT_NVML_SUCCESS ? result : field.result);
}

/* Everything but the differences. Returns NVML's result where the GPU has gone, else success. */
int lot_sensors_read_row(const lot_sensors *sensors, lot_telemetry *telemetry, lot_absences *absences)
{
    lot_telemetry_clear(telemetry);
    read_clock_events(sensors, telemetry, absences);
    read_memory_temperature(sensors, telemetry, absences);
    return LOT_READ_TABLE(sensors, row_readings, telemetry, absences);
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
    made->begun.seconds = (double)NAN;
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
