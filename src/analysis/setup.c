#include "analysis/setup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SUBJECT(kind, section, field, unit)                                                                  \
    {                                                                                                        \
#field, LOT_KIND_##kind, offsetof(lot_record_head, section.field), unit                              \
    }

static const lot_setup_subject subjects[] = {
    SUBJECT(STR, device, driver_version, ""),
    SUBJECT(STR, device, driver_api_version, ""),
    SUBJECT(STR, device, runtime_version, ""),
    SUBJECT(STR, device, library_version, ""),
    SUBJECT(STR, device, vbios_version, ""),
    SUBJECT(STR, device, loading_mode, ""),
    SUBJECT(STR, device, compute_mode, ""),
    SUBJECT(BOOL, device, persistence_mode, ""),
    SUBJECT(BOOL, device, ecc_enabled, ""),
    SUBJECT(BOOL, device, mig_enabled, ""),
    SUBJECT(I64, device, mig_siblings, ""),
    SUBJECT(BOOL, device, mps_active, ""),
    SUBJECT(F64, device, power_limit_watts, " W"),
    SUBJECT(F64, device, sm_clock_max_mhz, " MHz"),
    SUBJECT(F64, device, memory_clock_max_mhz, " MHz"),
    SUBJECT(I64, device, pcie_generation_max, ""),
    SUBJECT(I64, device, pcie_width_max, ""),
    SUBJECT(STR, device, binding, ""),
    SUBJECT(I64, environment, cpus_bound, ""),
    SUBJECT(I64, environment, device_cpu_distance, ""),
    SUBJECT(I64, environment, device_memory_distance, ""),
    SUBJECT(STR, environment, cpu_model, ""),
    SUBJECT(I64, environment, cpus_online, ""),
    SUBJECT(STR, environment, kernel, ""),
    SUBJECT(STR, environment, os, ""),
};

const lot_setup_subject *lot_setup_subjects(size_t *count)
{
    *count = sizeof subjects / sizeof subjects[0];
    return subjects;
}

void lot_setup_print(const lot_setup_subject *s, const lot_record_head *head, char text[LOT_SETUP_VALUE_SIZE])
{
    const char *at = (const char *)head + s->offset;
    int64_t integer;
    double number;

    text[0] = '\0';
    switch (s->kind) {
    case LOT_KIND_STR:
        (void)snprintf(text, LOT_SETUP_VALUE_SIZE, "%s", at);
        break;
    case LOT_KIND_BOOL:
        if (*(const int8_t *)at != LOT_NULL_BOOL)
            (void)snprintf(text, LOT_SETUP_VALUE_SIZE, "%s", *(const int8_t *)at != 0 ? "on" : "off");
        break;
    case LOT_KIND_I64:
        memcpy(&integer, at, sizeof integer);
        if (integer != LOT_NULL_I64)
            (void)snprintf(text, LOT_SETUP_VALUE_SIZE, "%lld%s", (long long)integer, s->unit);
        break;
    case LOT_KIND_F64:
        memcpy(&number, at, sizeof number);
        if (!isnan(number))
            (void)snprintf(text, LOT_SETUP_VALUE_SIZE, "%.6g%s", number, s->unit);
        break;
    }
}
