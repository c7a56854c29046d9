/* Prints what a device makes of fills, for tests/python/generator_test.py.
 *
 *     generator_values MODULE    (host, cuda; found through GPULOT_MODULE_DIR)
 *
 * Each line of the input is a fill: seed tensor law scale dtype first count. Each line of the output is the
 * device's digest of the elements and their bytes in hexadecimal. Status 1 where a call fails, where the
 * values built on the host differ from those made on the device, or where the device finds a difference that
 * is not there. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/device.h"
#include "gpu/loader.h"

#define MOST 4096 /* bytes of a fill */

typedef struct maker {
    const lot_device_module *module;
    lot_device *device;
    lot_error error;
} maker;

static void must(const maker *m, lot_status status)
{
    if (status == LOT_OK)
        return;
    (void)fprintf(stderr, "generator_values: %s\n", m->error.text);
    exit(1);
}

static lot_dtype dtype_named(const char *name)
{
    for (int dtype = 0; dtype < LOT_DTYPE_COUNT; dtype++)
        if (strcmp(lot_dtype_name((lot_dtype)dtype), name) == 0)
            return (lot_dtype)dtype;
    (void)fprintf(stderr, "generator_values: no dtype %s\n", name);
    exit(1);
}

static void answer(maker *m, const lot_fill *fill)
{
    const int64_t bytes = fill->count * (int64_t)lot_dtype_bytes(fill->dtype);
    unsigned char made[MOST], built[MOST];
    uint64_t digest = 0;
    int finite = 0;
    void *memory = NULL;

    must(m, m->module->alloc(m->device, bytes, &memory, &m->error));
    must(m, m->module->build(m->device, memory, fill, &m->error));
    must(m, m->module->download(m->device, built, memory, bytes, &m->error));
    must(m, m->module->fill(m->device, memory, fill, &m->error));
    must(m, m->module->download(m->device, made, memory, bytes, &m->error));
    must(m, m->module->digest(m->device, memory, bytes, fill->dtype, &digest, &finite, &m->error));
    m->module->free(m->device, memory);
    if (memcmp(made, built, (size_t)bytes) != 0 || !finite) {
        (void)fprintf(stderr, "generator_values: build and fill differ\n");
        exit(1);
    }
    (void)printf("%016llx ", (unsigned long long)digest);
    for (int64_t i = 0; i < bytes; i++)
        (void)printf("%02x", made[i]);
    (void)printf("\n");
}

int main(int count, char **arguments)
{
    const lot_device_options options = {.threads = 2};
    maker m = {.module = NULL};
    char line[256], law[16], dtype[16];
    unsigned long long seed;
    long long first, elements;
    lot_fill fill;

    if (count != 2)
        return 2;
    must(&m, lot_loader_load(arguments[1], &m.module, &m.error));
    must(&m, m.module->open(&options, &m.device, &m.error));
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (sscanf(line, "%llu %u %15s %f %15s %lld %lld", &seed, &fill.tensor, law, &fill.scale, dtype,
                   &first, &elements) != 7 ||
            elements < 1 || elements > MOST / 4)
            return 2;
        fill.seed = seed;
        fill.distribution = strcmp(law, "uniform") == 0 ? LOT_UNIFORM : LOT_NEAR_NORMAL;
        fill.dtype = dtype_named(dtype);
        fill.first = first;
        fill.count = elements;
        answer(&m, &fill);
    }
    m.module->close(m.device);
    return 0;
}
