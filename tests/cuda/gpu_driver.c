/* Checks and measures the CUDA module on its own, for tests/cuda/gpu_check.sh: needs nothing but the module,
 * the CUDA runtime and cuBLASLt.
 *
 *     gpu_driver MODULE.so [--small] [--export FOLDER]
 *
 * Prints one line a result: name, value, unit, target, verdict (ok, MISSED or -), separated by tabs. Values
 * are the median of several runs. --small makes every size tiny, to rehearse where no GPU is: its numbers
 * mean nothing. --export leaves a layer's tensors and its outputs as raw files, for a comparison with other
 * programs. Exit status: 0 all targets met, 1 one missed, 2 it could not run. */
#define _GNU_SOURCE
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu/device.h"
#include "gpu/digest.h"
#include "gpu/generator.h"

#define RUNS_MOST  64
#define CANDIDATES 32

typedef struct check {
    const lot_device_module *module;
    lot_device *device;
    lot_error error;
    cudaStream_t stream; /* for bare library calls */
    cublasLtHandle_t blas;
    bool small;
    int missed;
    double copy_bytes_per_second;
} check;

/* ---- errors and results ---- */

static void give_up(const char *what, const char *why)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "gpu_driver: %s: %s\n", what, why);
    exit(2);
}

#define WORKS(c, call)                                                                                       \
    do {                                                                                                     \
        if ((call) != LOT_OK)                                                                                \
            give_up(#call, (c)->error.text);                                                                 \
    } while (0)

#define RUNTIME(call)                                                                                        \
    do {                                                                                                     \
        const cudaError_t code_ = (call);                                                                    \
        if (code_ != cudaSuccess)                                                                            \
            give_up(#call, cudaGetErrorName(code_));                                                         \
    } while (0)

#define LIBRARY(call)                                                                                        \
    do {                                                                                                     \
        const cublasStatus_t code_ = (call);                                                                 \
        if (code_ != CUBLAS_STATUS_SUCCESS)                                                                  \
            give_up(#call, cublasLtGetStatusName(code_));                                                    \
    } while (0)

static void result(const char *name, double value, const char *unit)
{
    (void)printf("%s\t%.6g\t%s\t\t-\n", name, value, unit);
}

static void judge(check *c, const char *name, double value, const char *target, bool good)
{
    (void)printf("%s\t%.6g\t\t%s\t%s\n", name, value, target, good ? "ok" : "MISSED");
    c->missed += !good;
}

/* What must hold anywhere: `value` is at most `most`. */
static void must_hold(check *c, const char *name, double value, double most)
{
    char target[32];

    (void)snprintf(target, sizeof target, "<= %g", most);
    judge(c, name, value, target, value <= most);
}

/* Speeds, which are not judged where the sizes are tiny. */
static void at_least(check *c, const char *name, double value, double least)
{
    char target[32];

    (void)snprintf(target, sizeof target, ">= %g", least);
    if (c->small)
        result(name, value, "");
    else
        judge(c, name, value, target, value >= least);
}

static void at_most(check *c, const char *name, double value, double most)
{
    if (c->small)
        result(name, value, "");
    else
        must_hold(c, name, value, most);
}

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_size);
    return values[count / 2];
}

/* ---- timing ---- */

typedef void (*work)(check *c, void *context);

/* Median device seconds of `runs` runs, after one that is not counted. */
static double device_seconds(check *c, work run, void *context, int runs)
{
    double seconds[RUNS_MOST];

    run(c, context);
    for (int i = 0; i < runs; i++) {
        WORKS(c, c->module->timer_start(c->device, &c->error));
        run(c, context);
        WORKS(c, c->module->timer_stop(c->device, &c->error));
        WORKS(c, c->module->sync(c->device, &c->error));
        WORKS(c, c->module->timer_elapsed(c->device, &seconds[i], &c->error));
    }
    return median(seconds, runs);
}

/* Median host seconds of `runs` runs, each waited for, after a few that are not counted. */
static double host_seconds(check *c, work run, void *context, int runs)
{
    double seconds[RUNS_MOST];

    for (int i = -3; i < runs; i++) {
        const double began = now();

        run(c, context);
        if (i >= 0)
            seconds[i] = now() - began;
    }
    return median(seconds, runs);
}

/* ---- tensors and layers ---- */

static void *take(check *c, int64_t bytes)
{
    void *pointer = NULL;

    WORKS(c, c->module->alloc(c->device, bytes, &pointer, &c->error));
    return pointer;
}

static void *tensor(check *c, uint32_t number, lot_distribution distribution, float scale, int64_t count,
                    lot_dtype dtype)
{
    const lot_fill fill = {.seed = 1,
                           .tensor = number,
                           .distribution = distribution,
                           .scale = scale,
                           .count = count,
                           .dtype = dtype};
    void *pointer = take(c, count * (int64_t)lot_dtype_bytes(dtype));

    WORKS(c, c->module->fill(c->device, pointer, &fill, &c->error));
    return pointer;
}

typedef struct layer {
    lot_linear linear;
    lot_plan *plan;
    void *x, *w, *b, *y;
} layer;

static layer make_layer(check *c, lot_linear linear)
{
    const float bound = 1.0f / sqrtf((float)linear.in_features);
    const int64_t in = linear.in_features, out = linear.out_features;
    lot_plan_facts facts;
    layer made = {.linear = linear};

    made.x = tensor(c, LOT_TENSOR_INPUT, LOT_NEAR_NORMAL, 1.0f, linear.rows * in, linear.dtype);
    made.w = tensor(c, LOT_TENSOR_WEIGHT_1, LOT_UNIFORM, bound, out * in, linear.dtype);
    made.b = tensor(c, LOT_TENSOR_BIAS_1, LOT_UNIFORM, bound, out, linear.dtype);
    made.y = take(c, linear.rows * out * (int64_t)lot_dtype_bytes(linear.dtype));
    WORKS(c, c->module->plan(c->device, &linear, &made.plan, &facts, &c->error));
    return made;
}

static void drop_layer(check *c, layer *made)
{
    c->module->plan_free(c->device, made->plan);
    c->module->free(c->device, made->y);
    c->module->free(c->device, made->b);
    c->module->free(c->device, made->w);
    c->module->free(c->device, made->x);
    WORKS(c, c->module->sync(c->device, &c->error));
}

static void run_layer(check *c, void *context)
{
    const layer *l = context;

    WORKS(c, c->module->run(c->device, l->plan, l->y, l->x, l->w, l->b, &c->error));
}

static double flops_of(const lot_linear *l)
{
    return 2.0 * (double)l->rows * (double)l->in_features * (double)l->out_features;
}

/* ---- correctness ---- */

static float value_at(const void *values, lot_dtype dtype, int64_t i)
{
    if (dtype == LOT_FLOAT32)
        return ((const float *)values)[i];
    return dtype == LOT_FLOAT16 ? lot_from_float16(((const uint16_t *)values)[i])
                                : lot_from_bfloat16(((const uint16_t *)values)[i]);
}

static void *fetch(check *c, const void *device, int64_t count, lot_dtype dtype)
{
    const int64_t bytes = count * (int64_t)lot_dtype_bytes(dtype);
    void *host = malloc((size_t)bytes);

    if (host == NULL)
        give_up("malloc", "no memory");
    WORKS(c, c->module->download(c->device, host, device, bytes, &c->error));
    return host;
}

static double activate(lot_activation activation, double z)
{
    if (activation == LOT_GELU_ERF)
        return 0.5 * z * (1.0 + erf(z * sqrt(0.5)));
    if (activation == LOT_GELU_TANH)
        return 0.5 * z * (1.0 + tanh(0.79788456080286535588 * (z + 0.044715 * z * z * z)));
    return z;
}

/* Largest error of sampled elements in units of its bound; above 1 is wrong. */
static double worst_ratio(check *c, const layer *made)
{
    const lot_linear *l = &made->linear;
    const double unit = l->dtype == LOT_FLOAT32 ? 0x1p-24 : l->dtype == LOT_FLOAT16 ? 0x1p-11 : 0x1p-8;
    const double product = l->math == LOT_MATH_TF32 ? 0x1p-10 : 0.0;
    void *x = fetch(c, made->x, l->rows * l->in_features, l->dtype);
    void *w = fetch(c, made->w, l->out_features * l->in_features, l->dtype);
    void *b = fetch(c, made->b, l->out_features, l->dtype);
    void *y = fetch(c, made->y, l->rows * l->out_features, l->dtype);
    double worst = 0.0;

    for (int64_t sample = 0; sample < 4096; sample++) {
        const int64_t r = sample * 7919 % l->rows, o = sample * 104729 % l->out_features;
        double sum = (double)value_at(b, l->dtype, o), majorant = fabs(sum), wanted, error, bound;

        for (int64_t k = 0; k < l->in_features; k++) {
            const double one = (double)value_at(x, l->dtype, r * l->in_features + k) *
                               (double)value_at(w, l->dtype, o * l->in_features + k);

            sum += one;
            majorant += fabs(one);
        }
        wanted = activate(l->activation, sum);
        error = fabs((double)value_at(y, l->dtype, r * l->out_features + o) - wanted);
        bound = 1.13 * majorant * (((double)l->in_features + 2) * 0x1p-24 + product) +
                2 * unit * (fabs(sum) + fabs(wanted)) + 1e-7;
        if (!(error / bound <= worst))
            worst = error / bound;
    }
    free(x);
    free(w);
    free(b);
    free(y);
    return worst;
}

static void write_file(check *c, const char *folder, const char *name, const void *device, int64_t count,
                       lot_dtype dtype)
{
    void *host = fetch(c, device, count, dtype);
    char path[512];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s-%s.bin", folder, lot_dtype_name(dtype), name);
    file = fopen(path, "wb");
    if (file == NULL || fwrite(host, lot_dtype_bytes(dtype), (size_t)count, file) != (size_t)count ||
        fclose(file) != 0)
        give_up(path, "cannot be written");
    free(host);
}

static void export_layer(check *c, const char *folder, const layer *made)
{
    const lot_linear *l = &made->linear;

    write_file(c, folder, "x", made->x, l->rows * l->in_features, l->dtype);
    write_file(c, folder, "w", made->w, l->out_features * l->in_features, l->dtype);
    write_file(c, folder, "b", made->b, l->out_features, l->dtype);
    write_file(c, folder, "y", made->y, l->rows * l->out_features, l->dtype);
}

static void check_layers(check *c, const char *folder)
{
    static const char *const names[] = {"linear", "linear+gelu(erf)", "linear+gelu(tanh)"};

    for (int dtype = 0; dtype < LOT_DTYPE_COUNT; dtype++)
        for (int activation = 0; activation < 3; activation++) {
            layer made;
            char name[96];

            if (c->module->supports(c->device, (lot_dtype)dtype, LOT_MATH_IEEE, &c->error) != LOT_OK)
                continue;
            made = make_layer(c, (lot_linear){.rows = c->small ? 32 : 256,
                                              .in_features = c->small ? 64 : 1024,
                                              .out_features = c->small ? 64 : 1536,
                                              .dtype = (lot_dtype)dtype,
                                              .activation = (lot_activation)activation});
            run_layer(c, &made);
            (void)snprintf(name, sizeof name, "%s %s: error / bound", lot_dtype_name((lot_dtype)dtype),
                           names[activation]);
            must_hold(c, name, worst_ratio(c, &made), 1.0);
            if (folder != NULL && activation == LOT_GELU_ERF)
                export_layer(c, folder, &made);
            drop_layer(c, &made);
        }
}

/* Host and device must agree on every bit of every value, and on the digest. */
static void check_values(check *c)
{
    const int64_t count = c->small ? 100003 : 50000017;
    int64_t differing = 0, all = 0, first;

    for (int distribution = 0; distribution < 2; distribution++)
        for (int dtype = 0; dtype < LOT_DTYPE_COUNT; dtype++) {
            const lot_fill fill = {.seed = 99,
                                   .tensor = LOT_TENSOR_INPUT,
                                   .distribution = (lot_distribution)distribution,
                                   .scale = 0.5f,
                                   .count = count,
                                   .dtype = (lot_dtype)dtype};
            void *a = take(c, count * 4), *b = take(c, count * 4);

            WORKS(c, c->module->build(c->device, a, &fill, &c->error));
            WORKS(c, c->module->fill(c->device, b, &fill, &c->error));
            WORKS(c, c->module->compare(c->device, a, b, count, fill.dtype, &differing, &first, &c->error));
            all += differing;
            c->module->free(c->device, a);
            c->module->free(c->device, b);
        }
    must_hold(c, "values made on host and device: differing", (double)all, 0.0);
}

static void check_digest(check *c)
{
    const int64_t count = c->small ? 10007 : 10000019, bytes = count * 2;
    void *device = tensor(c, LOT_TENSOR_INPUT, LOT_NEAR_NORMAL, 1.0f, count, LOT_FLOAT16);
    unsigned char *host = fetch(c, device, count, LOT_FLOAT16);
    uint64_t wanted = (uint64_t)bytes, got = 0;
    int finite = 0;

    for (int64_t start = 0; start < bytes; start += 8) {
        uint64_t word = 0;

        memcpy(&word, host + start, (size_t)(bytes - start < 8 ? bytes - start : 8));
        wanted += lot_digest_word(word, (uint64_t)start / 8);
    }
    WORKS(c, c->module->digest(c->device, device, bytes, LOT_FLOAT16, &got, &finite, &c->error));
    must_hold(c, "digest: differs from its definition", got != wanted || !finite, 0.0);
    free(host);
    c->module->free(c->device, device);
}

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

static void measure_bandwidths(check *c)
{
    buffers held = {.bytes = c->small ? 1 << 16 : 1 << 30};

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

/* ---- matrix products: the module against the library called bare ---- */

typedef struct bare {
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t weights, input, output;
    cublasLtMatmulHeuristicResult_t found[CANDIDATES];
    int count;
    int chosen;
    void *workspace;
    const layer *layer;
} bare;

#define BARE_WORKSPACE ((size_t)32 << 20)

static void run_bare(check *c, void *context)
{
    static const float one = 1.0f, zero = 0.0f;
    const bare *b = context;
    const layer *l = b->layer;

    LIBRARY(cublasLtMatmul(c->blas, b->operation, &one, l->w, b->weights, l->x, b->input, &zero, l->y,
                           b->output, l->y, b->output, &b->found[b->chosen].algo, b->workspace,
                           BARE_WORKSPACE, c->stream));
}

static void set_bare(bare *b, const layer *l, cudaDataType_t type, cublasLtMatmulPreference_t preference)
{
    const lot_linear *linear = &l->linear;
    const uint64_t in = (uint64_t)linear->in_features, out = (uint64_t)linear->out_features;
    const cublasComputeType_t compute =
        linear->math == LOT_MATH_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    const cublasOperation_t transposed = CUBLAS_OP_T;
    const cublasLtEpilogue_t epilogue =
        linear->activation == LOT_GELU_TANH ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
    const size_t workspace = BARE_WORKSPACE;

    LIBRARY(cublasLtMatmulDescCreate(&b->operation, compute, CUDA_R_32F));
    LIBRARY(cublasLtMatmulDescSetAttribute(b->operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                           sizeof transposed));
    LIBRARY(cublasLtMatmulDescSetAttribute(b->operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                           sizeof epilogue));
    LIBRARY(
        cublasLtMatmulDescSetAttribute(b->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &l->b, sizeof l->b));
    LIBRARY(cublasLtMatrixLayoutCreate(&b->weights, type, in, out, linear->in_features));
    LIBRARY(cublasLtMatrixLayoutCreate(&b->input, type, in, (uint64_t)linear->rows, linear->in_features));
    LIBRARY(cublasLtMatrixLayoutCreate(&b->output, type, out, (uint64_t)linear->rows, linear->out_features));
    LIBRARY(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                 &workspace, sizeof workspace));
}

static bare make_bare(check *c, const layer *l, int wanted)
{
    static const cudaDataType_t types[] = {CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF};
    cublasLtMatmulPreference_t preference;
    bare b = {.layer = l};

    RUNTIME(cudaMalloc(&b.workspace, BARE_WORKSPACE));
    LIBRARY(cublasLtMatmulPreferenceCreate(&preference));
    set_bare(&b, l, types[l->linear.dtype], preference);
    LIBRARY(cublasLtMatmulAlgoGetHeuristic(c->blas, b.operation, b.weights, b.input, b.output, b.output,
                                           preference, wanted, b.found, &b.count));
    LIBRARY(cublasLtMatmulPreferenceDestroy(preference));
    if (b.count < 1)
        give_up("cublasLtMatmulAlgoGetHeuristic", "no algorithm");
    return b;
}

static void drop_bare(bare *b)
{
    LIBRARY(cublasLtMatrixLayoutDestroy(b->output));
    LIBRARY(cublasLtMatrixLayoutDestroy(b->input));
    LIBRARY(cublasLtMatrixLayoutDestroy(b->weights));
    LIBRARY(cublasLtMatmulDescDestroy(b->operation));
    RUNTIME(cudaFree(b->workspace));
}

/* Median seconds of one bare product, by the stream's own events. */
static double bare_seconds(check *c, bare *b, int runs)
{
    cudaEvent_t start, stop;
    double seconds[RUNS_MOST];

    RUNTIME(cudaEventCreateWithFlags(&start, cudaEventDefault));
    RUNTIME(cudaEventCreateWithFlags(&stop, cudaEventDefault));
    for (int i = -1; i < runs; i++) {
        float milliseconds = 0.0f;

        RUNTIME(cudaEventRecord(start, c->stream));
        run_bare(c, b);
        RUNTIME(cudaEventRecord(stop, c->stream));
        RUNTIME(cudaStreamSynchronize(c->stream));
        RUNTIME(cudaEventElapsedTime(&milliseconds, start, stop));
        if (i >= 0)
            seconds[i] = (double)milliseconds * 1e-3;
    }
    RUNTIME(cudaEventDestroy(stop));
    RUNTIME(cudaEventDestroy(start));
    return median(seconds, runs);
}

/* The best of all algorithms that the library offers for the layer's product. */
static double best_seconds(check *c, const layer *l, int runs)
{
    bare b = make_bare(c, l, CANDIDATES);
    double best = INFINITY;

    for (b.chosen = 0; b.chosen < b.count; b.chosen++) {
        const double seconds = bare_seconds(c, &b, runs);

        if (seconds < best)
            best = seconds;
    }
    drop_bare(&b);
    return best;
}

/* Both layers of the network at width 8192, 8192 rows: its rate, and its products against the best there are.
 */
static void measure_network(check *c, lot_dtype dtype, lot_math math, const char *name)
{
    const int64_t width = c->small ? 64 : 8192, hidden = 4 * width, rows = c->small ? 64 : 8192;
    const int runs = dtype == LOT_FLOAT32 && math == LOT_MATH_IEEE ? 3 : 15;
    double forward = 0.0, product = 0.0, best = 0.0, flops = 0.0;
    char text[96];

    if (c->module->supports(c->device, dtype, math, &c->error) != LOT_OK) {
        (void)printf("%s\t-\t\t\t-\n", name);
        return;
    }
    for (int i = 0; i < 2; i++) {
        lot_linear linear = {.rows = rows,
                             .in_features = i == 0 ? width : hidden,
                             .out_features = i == 0 ? hidden : width,
                             .dtype = dtype,
                             .math = math};
        layer made = make_layer(c, linear);

        product += device_seconds(c, run_layer, &made, runs);
        best += best_seconds(c, &made, runs < 5 ? 1 : 5);
        drop_layer(c, &made);
        linear.activation = i == 0 ? LOT_GELU_ERF : LOT_ACTIVATION_NONE;
        made = make_layer(c, linear);
        forward += device_seconds(c, run_layer, &made, runs);
        drop_layer(c, &made);
        flops += flops_of(&linear);
    }
    (void)snprintf(text, sizeof text, "%s network, width %lld", name, (long long)width);
    result(text, flops / forward * 1e-12, "TFLOP/s");
    (void)snprintf(text, sizeof text, "%s products, width %lld", name, (long long)width);
    result(text, flops / product * 1e-12, "TFLOP/s");
    (void)snprintf(text, sizeof text, "%s products / best algorithm", name);
    if (dtype == LOT_BFLOAT16)
        at_least(c, text, best / product, 0.95);
    else
        result(text, best / product, "");
}

/* ---- a small pass: overheads ---- */

typedef struct small_network {
    layer first, second;
    bare bare_first, bare_second;
    int64_t hidden_bytes, output_bytes;
} small_network;

/* As a measurement does it: outputs are taken from the pool and given back. */
static void run_small(check *c, void *context)
{
    small_network *n = context;

    n->first.y = take(c, n->hidden_bytes);
    run_layer(c, &n->first);
    n->second.x = n->first.y;
    n->second.y = take(c, n->output_bytes);
    run_layer(c, &n->second);
    c->module->free(c->device, n->first.y);
    WORKS(c, c->module->sync(c->device, &c->error));
    c->module->free(c->device, n->second.y);
}

static void run_small_bare(check *c, void *context)
{
    small_network *n = context;

    run_bare(c, &n->bare_first);
    run_bare(c, &n->bare_second);
    RUNTIME(cudaStreamSynchronize(c->stream));
}

static double small_seconds(check *c, lot_activation activation, double *without_module)
{
    const int64_t width = 64, hidden = 256, rows = 16;
    small_network n = {.hidden_bytes = rows * hidden * 2, .output_bytes = rows * width * 2};
    void *outputs[3];
    double seconds;

    n.first = make_layer(c, (lot_linear){rows, width, hidden, LOT_FLOAT16, LOT_MATH_IEEE, activation});
    n.second =
        make_layer(c, (lot_linear){rows, hidden, width, LOT_FLOAT16, LOT_MATH_IEEE, LOT_ACTIVATION_NONE});
    outputs[0] = n.first.y;
    outputs[1] = n.second.x;
    outputs[2] = n.second.y;
    n.bare_first = make_bare(c, &n.first, 1);
    n.bare_second = make_bare(c, &n.second, 1);
    WORKS(c, c->module->sync(c->device, &c->error));
    *without_module = host_seconds(c, run_small_bare, &n, RUNS_MOST);
    seconds = host_seconds(c, run_small, &n, RUNS_MOST);
    n.first.y = outputs[0];
    n.second.x = outputs[1];
    n.second.y = outputs[2];
    drop_bare(&n.bare_second);
    drop_bare(&n.bare_first);
    drop_layer(c, &n.second);
    drop_layer(c, &n.first);
    return seconds;
}

static void measure_small(check *c)
{
    double library = 0.0, ignored = 0.0;
    const double tanh_form = small_seconds(c, LOT_GELU_TANH, &library);
    const double erf_form = small_seconds(c, LOT_GELU_ERF, &ignored);

    result("small forward, erf (float16, 16 x 64)", erf_form * 1e6, "us");
    result("small forward, tanh", tanh_form * 1e6, "us");
    result("small forward, tanh, bare cuBLASLt", library * 1e6, "us");
    at_most(c, "small forward, tanh / bare cuBLASLt", tanh_form / library, 1.2);
}

/* ---- model_load ---- */

static void measure_load(check *c)
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

/* ---- */

static void open_device(check *c, const char *path)
{
    const lot_device_options options = {.ordinal = 0};
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    lot_device_facts facts;
    lot_absent absent[128];
    size_t count = 0;

    if (library == NULL)
        give_up("dlopen", dlerror());
    c->module = dlsym(library, LOT_DEVICE_SYMBOL);
    if (c->module == NULL || c->module->abi != LOT_DEVICE_ABI || c->module->size != sizeof *c->module)
        give_up(path, "not a device module of this version");
    WORKS(c, c->module->open(&options, &c->device, &c->error));
    memset(&facts, 0, sizeof facts);
    WORKS(c, c->module->describe(c->device, &facts, absent, 128, &count, &c->error));
    if (facts.simulated != 0 && !c->small)
        give_up(facts.name, "a simulator; only --small may run on it");
    (void)printf("# %s, compute capability %s, %lld SMs, driver %s, CUDA %s, cuBLASLt %s\n", facts.name,
                 facts.compute_capability, (long long)facts.multiprocessors, facts.driver_version,
                 facts.runtime_version, facts.library_version);
    (void)printf("# allocator %s, granularity %lld, reserve step %lld, kernels loaded %s\n", facts.allocator,
                 (long long)facts.granularity_bytes, (long long)facts.reserve_step_bytes, facts.loading_mode);
    for (size_t i = 0; i < count; i++)
        (void)printf("# absent: %s: %s\n", absent[i].field, absent[i].reason);
    RUNTIME(cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking));
    LIBRARY(cublasLtCreate(&c->blas));
}

int main(int count, char **arguments)
{
    check c = {.small = false};
    const char *folder = NULL;

    if (count < 2) {
        (void)fprintf(stderr, "usage: gpu_driver MODULE.so [--small] [--export FOLDER]\n");
        return 2;
    }
    for (int i = 2; i < count; i++) {
        if (strcmp(arguments[i], "--small") == 0)
            c.small = true;
        else if (strcmp(arguments[i], "--export") == 0 && i + 1 < count)
            folder = arguments[++i];
        else
            give_up(arguments[i], "not an option");
    }
    open_device(&c, arguments[1]);
    check_values(&c);
    check_digest(&c);
    check_layers(&c, folder);
    measure_bandwidths(&c);
    measure_network(&c, LOT_BFLOAT16, LOT_MATH_IEEE, "bfloat16");
    measure_network(&c, LOT_FLOAT16, LOT_MATH_IEEE, "float16");
    measure_network(&c, LOT_FLOAT32, LOT_MATH_TF32, "tf32");
    measure_network(&c, LOT_FLOAT32, LOT_MATH_IEEE, "float32");
    measure_small(&c);
    measure_load(&c);
    LIBRARY(cublasLtDestroy(c.blas));
    RUNTIME(cudaStreamDestroy(c.stream));
    c.module->close(c.device);
    return c.missed == 0 ? 0 : 1;
}
