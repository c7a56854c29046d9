/* The kernels against a copy within the device, and the level 2 cache. */
#include "driver.h"

#include <stdio.h>

#include "gpu/cuda/kernels.h"
#include "gpu/generator.h"

#define WARM_SECONDS 0.2
#define RUNS         12

typedef struct buffers {
    void *a;
    void *b;
    void *partials;
    int64_t bytes;
    lot_fill fill;
} buffers;

static void run_copy(check *c, void *context)
{
    const buffers *held = context;

    RUNTIME(cudaMemcpyAsync(held->b, held->a, (size_t)held->bytes, cudaMemcpyDeviceToDevice, c->stream));
}

static void run_set(check *c, void *context)
{
    const buffers *held = context;

    RUNTIME(cudaMemsetAsync(held->b, 1, (size_t)held->bytes, c->stream));
}

static void run_fill(check *c, void *context)
{
    const buffers *held = context;

    WORKS(c, c->module->fill(c->device, held->a, &held->fill, &c->error));
}

static void run_gelu(check *c, void *context)
{
    const buffers *held = context;

    RUNTIME(lot_launch_gelu(held->a, held->bytes / (int64_t)lot_dtype_bytes(held->fill.dtype),
                            held->fill.dtype, c->stream));
}

/* The kernel alone, and the module's call with the way of its result to the host. */
static void run_digest(check *c, void *context)
{
    const buffers *held = context;
    int blocks;

    RUNTIME(lot_launch_digest(held->partials, &blocks, held->a, held->bytes, held->fill.dtype, c->stream));
}

static void run_digest_call(check *c, void *context)
{
    const buffers *held = context;
    uint64_t digest;
    int finite;

    WORKS(c,
          c->module->digest(c->device, held->a, held->bytes, held->fill.dtype, &digest, &finite, &c->error));
}

static lot_fill fill_of(const buffers *held, lot_distribution distribution, lot_dtype dtype)
{
    return (lot_fill){.seed = 3,
                      .tensor = LOT_TENSOR_INPUT,
                      .distribution = distribution,
                      .scale = 1.0f,
                      .count = held->bytes / (int64_t)lot_dtype_bytes(dtype),
                      .dtype = dtype};
}

/* Bandwidth of a kernel by that of a copy, run by turns. It moves the buffer's bytes `times` times, a copy
 * twice. */
static void against_copy(check *c, const char *kernel, buffers *held, timing how, work run, int times)
{
    contender both[] = {{.how = how, .run = run, .context = held},
                        {.how = by_stream, .run = run_copy, .context = held}};
    char name[96];

    warm_up(c, run, held, WARM_SECONDS);
    contest(c, both, 2, RUNS);
    (void)snprintf(name, sizeof name, "%s %s / copy", kernel, lot_dtype_name(held->fill.dtype));
    at_least(c, name, times * both[1].seconds / (2.0 * both[0].seconds), 0.85);
}

/* GELU of a GELU of ... goes to zero: fresh values for every run. */
static double by_stream_on_fresh(check *c, work run, void *context)
{
    run_fill(c, context);
    WORKS(c, c->module->sync(c->device, &c->error));
    return by_stream(c, run, context);
}

static void measure_kernels(check *c, buffers *held)
{
    for (int dtype = 0; dtype < LOT_DTYPE_COUNT; dtype++) {
        held->fill = fill_of(held, LOT_UNIFORM, (lot_dtype)dtype);
        against_copy(c, "fill uniform", held, by_device, run_fill, 1);
        held->fill = fill_of(held, LOT_NEAR_NORMAL, (lot_dtype)dtype);
        against_copy(c, "fill near-normal", held, by_device, run_fill, 1);
        against_copy(c, "gelu", held, by_stream_on_fresh, run_gelu, 2);
        against_copy(c, "digest", held, by_stream, run_digest, 1);
    }
    result("digest, the module's call",
           (double)held->bytes / median_seconds(c, by_host, run_digest_call, held, RUNS) * 1e-9, "GB/s");
}

static buffers take_buffers(check *c, int64_t bytes)
{
    buffers held = {.bytes = bytes};

    while (held.bytes > (int64_t)1 << 20 && 3 * held.bytes > free_bytes())
        held.bytes /= 2;
    held.a = tensor(c, LOT_TENSOR_INPUT, LOT_NEAR_NORMAL, 1.0f, held.bytes / 4, LOT_FLOAT32);
    held.b = take(c, held.bytes);
    RUNTIME(cudaMalloc(&held.partials, LOT_PARTIALS * sizeof(lot_digest_partial)));
    WORKS(c, c->module->sync(c->device, &c->error));
    return held;
}

static void drop_buffers(check *c, const buffers *held)
{
    RUNTIME(cudaFree(held->partials));
    c->module->free(c->device, held->b);
    c->module->free(c->device, held->a);
    WORKS(c, c->module->sync(c->device, &c->error));
}

void measure_bandwidths(check *c)
{
    buffers held = take_buffers(c, c->small ? 1 << 16 : (int64_t)2 << 30);

    warm_up(c, run_copy, &held, WARM_SECONDS);
    result("copy within the device", /* read and written */
           2.0 * (double)held.bytes / median_seconds(c, by_stream, run_copy, &held, RUNS) * 1e-9, "GB/s");
    result("memset", (double)held.bytes / median_seconds(c, by_stream, run_set, &held, RUNS) * 1e-9, "GB/s");
    measure_kernels(c, &held);
    drop_buffers(c, &held);
}

/* ---- the level 2 cache ---- */

/* Seconds of a read with an idle device before it: what it has queued would hide the way of the launch. */
static double read_seconds(check *c, buffers *held, int64_t bytes)
{
    const int64_t all = held->bytes;
    double seconds;

    RUNTIME(cudaDeviceSynchronize());
    held->bytes = bytes;
    seconds = by_stream(c, run_digest, held);
    held->bytes = all;
    return seconds;
}

/* Reads half a cache's worth after a read of the same, after the module's flush, and after a gigabyte of
 * other writes, which certainly leaves nothing: the flush must cost as much as that. */
void measure_cache(check *c)
{
    const int64_t l2 = c->facts.l2_cache_bytes;
    buffers held = take_buffers(c, c->small ? 1 << 16 : (int64_t)1 << 30);
    const int64_t bytes = l2 / 2 < held.bytes ? l2 / 2 : held.bytes;
    double warm[RUNS], flushed[RUNS], cold[RUNS];

    result("level 2 cache", (double)l2 * 0x1p-20, "MiB");
    held.fill = fill_of(&held, LOT_NEAR_NORMAL, LOT_FLOAT32);
    warm_up(c, run_digest, &held, WARM_SECONDS);
    for (int i = 0; i < RUNS; i++) {
        (void)read_seconds(c, &held, bytes);
        warm[i] = read_seconds(c, &held, bytes);
        WORKS(c, c->module->flush_cache(c->device, &c->error));
        flushed[i] = read_seconds(c, &held, bytes);
        run_set(c, &held);
        cold[i] = read_seconds(c, &held, bytes);
    }
    result("half of it read again", median(warm, RUNS) * 1e6, "us");
    result("read after a flush", median(flushed, RUNS) * 1e6, "us");
    result("read after a gigabyte of writes", median(cold, RUNS) * 1e6, "us");
    at_least(c, "read after a flush / after the writes", median(flushed, RUNS) / median(cold, RUNS), 0.9);
    drop_buffers(c, &held);
}
