/* model_load: values built on the host and brought over, against the link and the host's memory. */
#include "driver.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "core/cpus.h"
#include "gpu/generator.h"

#define RUNS 5

typedef struct loading {
    void *device;
    char *host; /* page-locked */
    int64_t bytes;
    int threads; /* as many as the module builds with, whatever OMP_NUM_THREADS says */
    lot_fill fill;
} loading;

static void run_build(check *c, void *context)
{
    const loading *l = context;

    WORKS(c, c->module->build(c->device, l->device, &l->fill, &c->error));
    WORKS(c, c->module->sync(c->device, &c->error));
}

static void run_upload(check *c, void *context)
{
    const loading *l = context;

    WORKS(c, c->module->upload(c->device, l->device, l->host, l->bytes, &c->error));
}

/* Every thread writes its part of the host's memory. */
static void run_write(check *c, void *context)
{
    const loading *l = context;

    (void)c;
#pragma omp parallel num_threads(l->threads)
    {
        const int64_t part = l->bytes / omp_get_num_threads();

        memset(l->host + omp_get_thread_num() * part, omp_get_thread_num(), (size_t)part);
    }
}

/* model_load with fewer threads: where the link is full, more of them only wait. */
static void measure_threads(check *c, int threads, int64_t bytes)
{
    const lot_device_options options = {.ordinal = 0, .threads = threads};
    const lot_fill fill = {.seed = 1,
                           .tensor = LOT_TENSOR_WEIGHT_1,
                           .distribution = LOT_UNIFORM,
                           .scale = 0.01f,
                           .count = bytes / 2,
                           .dtype = LOT_BFLOAT16};
    check other = *c;
    loading l = {.bytes = bytes, .fill = fill};
    char name[64];

    WORKS(c, c->module->open(&options, &other.device, &c->error));
    l.device = take(&other, bytes);
    run_build(&other, &l);
    (void)snprintf(name, sizeof name, "model_load, bfloat16, threads: %d", threads);
    result(name, (double)bytes / median_seconds(&other, by_host, run_build, &l, 3) * 1e-9, "GB/s");
    c->module->close(other.device);
}

void measure_load(check *c)
{
    loading l = {.bytes = c->small ? 1 << 20 : 1 << 30, .threads = lot_cpus_usable("")};
    contender all[] = {{.how = by_host, .run = run_write, .context = &l},
                       {.how = by_host, .run = run_upload, .context = &l},
                       {.how = by_host, .run = run_build, .context = &l}};
    void *pinned = NULL;

    l.fill = (lot_fill){.seed = 1,
                        .tensor = LOT_TENSOR_WEIGHT_1,
                        .distribution = LOT_UNIFORM,
                        .scale = 0.01f,
                        .count = l.bytes / 2,
                        .dtype = LOT_BFLOAT16};
    l.device = take(c, l.bytes);
    RUNTIME(cudaHostAlloc(&pinned, (size_t)l.bytes, cudaHostAllocDefault));
    l.host = pinned;
    run_write(c, &l);
    run_build(c, &l);
    contest(c, all, 3, RUNS);
    result("host memory, all threads writing", (double)l.bytes / all[0].seconds * 1e-9, "GB/s");
    result("host to device, page-locked", (double)l.bytes / all[1].seconds * 1e-9, "GB/s");
    result("model_load, bfloat16", (double)l.bytes / all[2].seconds * 1e-9, "GB/s");
    at_most(c, "model_load / the slower of link and memory",
            all[2].seconds / fmax(all[0].seconds, all[1].seconds), 1.5);
    RUNTIME(cudaFreeHost(pinned));
    c->module->free(c->device, l.device);
    WORKS(c, c->module->sync(c->device, &c->error));
    for (int threads = 1; threads <= l.threads; threads *= 4)
        measure_threads(c, threads, l.bytes);
}
