#include "analysis/peak.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define GIB             1073741824.0
#define MEMORY_LEAST    0.90 /* of memory_gb, read as GiB: ECC and the driver take their share */
#define MEMORY_MOST     1.00
#define POWER_TOLERANCE 1.0 /* watts */

typedef struct model {
    const char *gpu;
    const char *name_end;
    const char *compute_capability;
    double multiprocessors;
    double memory_gb;
    double power_watts;
    double float32_tflops; /* 0: not known; likewise below */
    double tf32_tflops;
    double half_tflops;
    double memory_gb_s;
    const char *source;
    const char *identification_source;
} model;

static const model models[] = {
#include "analysis/peak_table.inc"
};

static bool memory_fits(const model *one, const lot_device_facts *device)
{
    const double share = (double)device->memory_bytes / (one->memory_gb * GIB);

    return share >= MEMORY_LEAST && share <= MEMORY_MOST;
}

static bool name_fits(const model *one, const lot_device_facts *device)
{
    const size_t length = strlen(device->name), wanted = strlen(one->name_end);

    return length >= wanted && strcmp(device->name + length - wanted, one->name_end) == 0;
}

static bool is_model(const model *one, const lot_device_facts *device)
{
    return name_fits(one, device) && strcmp(device->compute_capability, one->compute_capability) == 0 &&
           (double)device->multiprocessors == one->multiprocessors && memory_fits(one, device) &&
           fabs(device->power_limit_default_watts - one->power_watts) <= POWER_TOLERANCE;
}

static double rate_of(const model *one, const char *dtype, const char *math)
{
    if (strcmp(dtype, "float32") != 0)
        return one->half_tflops;
    return strcmp(math, "tf32") == 0 ? one->tf32_tflops : one->float32_tflops;
}

const char *lot_peak_find(const lot_device_facts *device, const char *dtype, const char *math, lot_peak *peak)
{
    if (strcmp(device->kind, "cuda") != 0)
        return "no peak is known for this kind of device";
    if (device->simulated == 1)
        return "a simulator has no peak";
    if (device->mig_parent_uuid[0] != '\0' || strncmp(device->uuid, "MIG-", 4) == 0)
        return "no peak is known for a MIG slice";
    if (isnan(device->power_limit_default_watts))
        return "the model cannot be told without its default power limit";
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        const model *one = &models[i];

        if (!is_model(one, device))
            continue;
        if (rate_of(one, dtype, math) <= 0)
            return "no confirmed peak of this model for this dtype and math";
        *peak = (lot_peak){.tflops = rate_of(one, dtype, math),
                           .memory_gb_s = one->memory_gb_s,
                           .gpu = one->gpu,
                           .source = one->source};
        return NULL;
    }
    return "the model is not in data/gpus.csv, or not beyond doubt";
}
