/* The kernels against a copy within the device, and model_load against the link. */
#include "driver.h"

#include <stdio.h>
#include <string.h>

#include "gpu/generator.h"

/* ---- bandwidths ---- */

typedef struct buffers {
    void *a;
    void *b;
    int64_t bytes;
    lot_fill fill;
} buffers;

static void run_fill(check *c, void *context)
{
    const buffers *held = context;

    WORKS(c, c->module->fill(c->device, held->a, &held->fill, &c->error));
}

static void run_digest(check *c, void *context)
{
    const buffers *held = context;
    uint64_t digest;
    int finite;

    WORKS(c,
          c->module->digest(c->device, held->a, held->bytes, held->fill.dtype, &digest, &finite, &c->error));
}

/* Bytes read and written a second by a copy within the device: what the kernels are held against. */
static void measure_copy(check *c, const buffers *held)
{
    cudaEvent_t start, stop;
    double seconds[16];

    RUNTIME(cudaEventCreateWithFlags(&start, cudaEventDefault));
    RUNTIME(cudaEventCreateWithFlags(&stop, cudaEventDefault));
    for (int i = 0; i < 16; i++) {
        float milliseconds = 0.0f;

        RUNTIME(cudaEventRecord(start, c->stream));
        RUNTIME(cudaMemcpyAsync(held->b, held->a, (size_t)held->bytes, cudaMemcpyDeviceToDevice, c->stream));
        RUNTIME(cudaEventRecord(stop, c->stream));
        RUNTIME(cudaStreamSynchronize(c->stream));
        RUNTIME(cudaEventElapsedTime(&milliseconds, start, stop));
        seconds[i] = (double)milliseconds * 1e-3;
    }
    RUNTIME(cudaEventDestroy(stop));
    RUNTIME(cudaEventDestroy(start));
    c->copy_bytes_per_second = 2.0 * (double)held->bytes / median(seconds, 16);
    result("copy within the device", c->copy_bytes_per_second * 1e-9, "GB/s");
}

static void measure_fills(check *c, buffers *held)
{
    static const char *const names[] = {"uniform", "near-normal"};

    for (int distribution = 0; distribution < 2; distribution++)
        for (int dtype = 0; dtype < LOT_DTYPE_COUNT; dtype++) {
            char name[96];
            double seconds;

            held->fill = (lot_fill){.seed = 3,
                                    .tensor = LOT_TENSOR_INPUT,
                                    .distribution = (lot_distribution)distribution,
                                    .scale = 1.0f,
                                    .count = held->bytes / (int64_t)lot_dtype_bytes((lot_dtype)dtype),
                                    .dtype = (lot_dtype)dtype};
            seconds = device_seconds(c, run_fill, held, 8);
            (void)snprintf(name, sizeof name, "fill %s %s / copy", names[distribution],
                           lot_dtype_name((lot_dtype)dtype));
            at_least(c, name, (double)held->bytes / seconds / c->copy_bytes_per_second, 0.85);
        }
}

static void measure_digests(check *c, buffers *held)
{
    for (int dtype = 0; dtype < LOT_DTYPE_COUNT; dtype++) {
        char name[96];

        held->fill.dtype = (lot_dtype)dtype;
        (void)snprintf(name, sizeof name, "digest %s / copy", lot_dtype_name((lot_dtype)dtype));
        at_least(c, name,
                 (double)held->bytes / device_seconds(c, run_digest, held, 8) / c->copy_bytes_per_second,
                 0.85);
    }
}

/* GELU has no call of its own: the time of a narrow layer with it less that without it. */
static void measure_gelus(check *c)
{
    for (int dtype = 0; dtype < LOT_DTYPE_COUNT; dtype++) {
        const int64_t rows = c->small ? 64 : 16384, out = c->small ? 64 : 32768;
        lot_linear linear = {.rows = rows, .in_features = 64, .out_features = out, .dtype = (lot_dtype)dtype};
        double seconds[2];
        char name[96];

        if (c->module->supports(c->device, linear.dtype, LOT_MATH_IEEE, &c->error) != LOT_OK)
            continue;
        for (int activation = LOT_ACTIVATION_NONE; activation <= LOT_GELU_ERF; activation++) {
            layer made;

            linear.activation = (lot_activation)activation;
            made = make_layer(c, linear);
            seconds[activation] = device_seconds(c, run_layer, &made, 8);
            drop_layer(c, &made);
        }
        (void)snprintf(name, sizeof name, "gelu %s / copy", lot_dtype_name(linear.dtype));
        at_least(c, name,
                 2.0 * (double)(rows * out) * (double)lot_dtype_bytes(linear.dtype) /
                     (seconds[1] - seconds[0]) / c->copy_bytes_per_second,
                 0.85);
    }
}

void measure_bandwidths(check *c)
{
    buffers held = {.bytes = c->small ? 1 << 16 : (int64_t)2 << 30};

    held.a = tensor(c, LOT_TENSOR_INPUT, LOT_NEAR_NORMAL, 1.0f, held.bytes / 4, LOT_FLOAT32);
    held.b = take(c, held.bytes);
    WORKS(c, c->module->sync(c->device, &c->error));
    measure_copy(c, &held);
    measure_fills(c, &held);
    measure_digests(c, &held);
    c->module->free(c->device, held.b);
    c->module->free(c->device, held.a);
    measure_gelus(c);
}
/* ---- model_load ---- */

void measure_load(check *c)
{
    const int64_t bytes = c->small ? 1 << 20 : 1 << 30;
    const lot_fill fill = {.seed = 1,
                           .tensor = LOT_TENSOR_WEIGHT_1,
                           .distribution = LOT_UNIFORM,
                           .scale = 0.01f,
                           .count = bytes / 2,
                           .dtype = LOT_BFLOAT16};
    void *device = take(c, bytes), *pinned = NULL;
    double began, build, link, memory;

    RUNTIME(cudaHostAlloc(&pinned, (size_t)bytes, cudaHostAllocDefault));
    memset(pinned, 1, (size_t)bytes);
    began = now();
    memset(pinned, 2, (size_t)bytes);
    memory = now() - began;
    WORKS(c, c->module->build(c->device, device, &fill, &c->error));
    WORKS(c, c->module->sync(c->device, &c->error));
    began = now();
    WORKS(c, c->module->build(c->device, device, &fill, &c->error));
    WORKS(c, c->module->sync(c->device, &c->error));
    build = now() - began;
    began = now();
    WORKS(c, c->module->upload(c->device, device, pinned, bytes, &c->error));
    link = now() - began;
    result("host memory, one thread writing", (double)bytes / memory * 1e-9, "GB/s");
    result("host to device, page-locked", (double)bytes / link * 1e-9, "GB/s");
    result("model_load, bfloat16", (double)bytes / build * 1e-9, "GB/s");
    at_most(c, "model_load / host to device", build / link, 1.5);
    RUNTIME(cudaFreeHost(pinned));
    c->module->free(c->device, device);
}
