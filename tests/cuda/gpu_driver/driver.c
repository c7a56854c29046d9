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
#include "driver.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu/generator.h"

/* ---- errors and results ---- */

void give_up(const char *what, const char *why)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "gpu_driver: %s: %s\n", what, why);
    exit(2);
}

void result(const char *name, double value, const char *unit)
{
    (void)printf("%s\t%.6g\t%s\t\t-\n", name, value, unit);
}

static void judge(check *c, const char *name, double value, const char *target, bool good)
{
    (void)printf("%s\t%.6g\t\t%s\t%s\n", name, value, target, good ? "ok" : "MISSED");
    c->missed += !good;
}

/* What must hold anywhere: `value` is at most `most`. */
void must_hold(check *c, const char *name, double value, double most)
{
    char target[32];

    (void)snprintf(target, sizeof target, "<= %g", most);
    judge(c, name, value, target, value <= most);
}

/* Speeds, which are not judged where the sizes are tiny. */
void at_least(check *c, const char *name, double value, double least)
{
    char target[32];

    (void)snprintf(target, sizeof target, ">= %g", least);
    if (c->small)
        result(name, value, "");
    else
        judge(c, name, value, target, value >= least);
}

void at_most(check *c, const char *name, double value, double most)
{
    if (c->small)
        result(name, value, "");
    else
        must_hold(c, name, value, most);
}

double now(void)
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

double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_size);
    return values[count / 2];
}
/* ---- timing ---- */

/* Median device seconds of `runs` runs, after one that is not counted. */
double device_seconds(check *c, work run, void *context, int runs)
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
double host_seconds(check *c, work run, void *context, int runs)
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

void *take(check *c, int64_t bytes)
{
    void *pointer = NULL;

    WORKS(c, c->module->alloc(c->device, bytes, &pointer, &c->error));
    return pointer;
}

void *tensor(check *c, uint32_t number, lot_distribution distribution, float scale, int64_t count,
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

layer make_layer(check *c, lot_linear linear)
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

void drop_layer(check *c, layer *made)
{
    c->module->plan_free(c->device, made->plan);
    c->module->free(c->device, made->y);
    c->module->free(c->device, made->b);
    c->module->free(c->device, made->w);
    c->module->free(c->device, made->x);
    WORKS(c, c->module->sync(c->device, &c->error));
}

void run_layer(check *c, void *context)
{
    const layer *l = context;

    WORKS(c, c->module->run(c->device, l->plan, l->y, l->x, l->w, l->b, &c->error));
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
