/* Checks and measures the CUDA module on its own, for tests/cuda/gpu_check.sh: needs nothing but the module,
 * the CUDA runtime and cuBLASLt.
 *
 *     gpu_driver MODULE.so [--small] [--tune N] [--export FOLDER] PART...
 *
 * A part is one of those in `parts` below; each is best run by a process of its own, for a device that fails
 * ends the process. Prints one line a result: name, value, unit, target, verdict (ok, MISSED or -), separated
 * by tabs, and lines that begin with # to read. Values are medians of several runs. --small makes every size
 * tiny, to rehearse where no GPU is: its numbers mean nothing. --tune lets the module time N algorithms for a
 * plan. --export leaves a layer's tensors and its outputs as raw files, for a comparison with other programs.
 * Exit status: 0 all targets met, 1 one missed, 2 it could not run. */
#define _GNU_SOURCE
#include "driver.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- errors and results ---- */

void give_up(const char *what, const char *why)
{
    (void)fprintf(stderr, "gpu_driver: %s: %s\n", what, why);
    exit(2);
}

void result(const char *name, double value, const char *unit)
{
    (void)printf("%s\t%.6g\t%s\t\t-\n", name, value, unit);
}

void print_row(const char *what, const lot_telemetry *row)
{
    (void)printf("# %s:", what);
#define PRINT_I64(name)                     (void)printf(" %s %" PRId64, #name, row->name);
#define PRINT_F64(name)                     (void)printf(" %s %.6g", #name, row->name);
#define PRINT(kind, name, size, unit, help) PRINT_##kind(name)
    LOT_TELEMETRY_FIELDS(PRINT)
#undef PRINT
#undef PRINT_F64
#undef PRINT_I64
    (void)printf("\n");
}

/* What could not be measured, and so is no number, meets no target. */
static void judge(check *c, const char *name, double value, const char *target, bool good)
{
    good = good && isfinite(value);
    (void)printf("%s\t%.6g\t\t%s\t%s\n", name, value, target, good ? "ok" : "MISSED");
    c->missed += !good;
}

void must_hold(check *c, const char *name, double value, double most)
{
    char target[32];

    (void)snprintf(target, sizeof target, "<= %g", most);
    judge(c, name, value, target, value <= most);
}

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

/* ---- timing ---- */

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

void warm_up(check *c, work run, void *context, double seconds)
{
    const double began = now();

    do {
        run(c, context);
        RUNTIME(cudaDeviceSynchronize());
    } while (!c->small && now() - began < seconds);
}

double by_device(check *c, work run, void *context)
{
    double seconds;

    WORKS(c, c->module->timer_start(c->device, &c->error));
    run(c, context);
    WORKS(c, c->module->timer_stop(c->device, &c->error));
    WORKS(c, c->module->sync(c->device, &c->error));
    WORKS(c, c->module->timer_elapsed(c->device, &seconds, &c->error));
    return seconds;
}

double by_stream(check *c, work run, void *context)
{
    float milliseconds = 0.0f;

    RUNTIME(cudaEventRecord(c->start, c->stream));
    run(c, context);
    RUNTIME(cudaEventRecord(c->stop, c->stream));
    RUNTIME(cudaStreamSynchronize(c->stream));
    RUNTIME(cudaEventElapsedTime(&milliseconds, c->start, c->stop));
    return (double)milliseconds * 1e-3;
}

double by_host(check *c, work run, void *context)
{
    const double began = now();

    run(c, context);
    return now() - began;
}

double median_seconds(check *c, timing how, work run, void *context, int runs)
{
    contender alone = {.how = how, .run = run, .context = context};

    contest(c, &alone, 1, runs);
    return alone.seconds;
}

void contest(check *c, contender *all, int count, int rounds)
{
    double seconds[CONTENDERS_MOST][RUNS_MOST];

    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < count; i++)
            seconds[i][round] = all[i].how(c, all[i].run, all[i].context);
    for (int i = 0; i < count; i++)
        all[i].seconds = median(seconds[i], rounds);
}

/* ---- parts ---- */

static void part_values(check *c)
{
    check_values(c);
    check_digest(c);
    check_gelu(c);
}

static void part_bfloat16(check *c)
{
    measure_network(c, LOT_BFLOAT16, LOT_MATH_IEEE, "bfloat16");
}

static void part_float16(check *c)
{
    measure_network(c, LOT_FLOAT16, LOT_MATH_IEEE, "float16");
}

static void part_tf32(check *c)
{
    measure_network(c, LOT_FLOAT32, LOT_MATH_TF32, "tf32");
}

static void part_float32(check *c)
{
    measure_network(c, LOT_FLOAT32, LOT_MATH_IEEE, "float32");
}

typedef struct part {
    const char *name;
    void (*run)(check *c);
} part;

static const part parts[] = {{"facts", check_facts},
                             {"values", part_values},
                             {"layers", check_layers},
                             {"large", check_large},
                             {"bandwidth", measure_bandwidths},
                             {"cache", measure_cache},
                             {"bfloat16", part_bfloat16},
                             {"float16", part_float16},
                             {"tf32", part_tf32},
                             {"float32", part_float32},
                             {"rate", measure_rate},
                             {"small", measure_small},
                             {"load", measure_load}};

static void run_part(check *c, const char *name)
{
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strcmp(parts[i].name, name) == 0) {
            parts[i].run(c);
            return;
        }
    give_up(name, "not a part");
}

/* ---- the device ---- */

static void open_device(check *c, const char *path)
{
    const lot_device_options options = {.ordinal = 0, .tune_candidates = c->tune};
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    lot_absent absent[128];
    size_t count = 0;

    if (library == NULL)
        give_up("dlopen", dlerror());
    c->module = dlsym(library, LOT_DEVICE_SYMBOL);
    if (c->module == NULL || c->module->abi != LOT_DEVICE_ABI || c->module->size != sizeof *c->module)
        give_up(path, "not a device module of this version");
    WORKS(c, c->module->open(&options, &c->device, &c->error));
    WORKS(c, c->module->describe(c->device, &c->facts, absent, 128, &count, &c->error));
    if (c->facts.simulated != 0 && !c->small)
        give_up(c->facts.name, "a simulator; only --small may run on it");
    RUNTIME(cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking));
    RUNTIME(cudaEventCreateWithFlags(&c->start, cudaEventDefault));
    RUNTIME(cudaEventCreateWithFlags(&c->stop, cudaEventDefault));
    LIBRARY(cublasLtCreate(&c->blas));
}

static void close_device(check *c)
{
    LIBRARY(cublasLtDestroy(c->blas));
    RUNTIME(cudaEventDestroy(c->stop));
    RUNTIME(cudaEventDestroy(c->start));
    RUNTIME(cudaStreamDestroy(c->stream));
    c->module->close(c->device);
}

int main(int count, char **arguments)
{
    check c = {.small = false};
    int first = 2;

    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* what a part found before it hung is not lost with it */
    for (; first < count && arguments[first][0] == '-'; first++) {
        if (strcmp(arguments[first], "--small") == 0)
            c.small = true;
        else if (strcmp(arguments[first], "--export") == 0 && first + 1 < count)
            c.folder = arguments[++first];
        else if (strcmp(arguments[first], "--tune") == 0 && first + 1 < count)
            c.tune = atoi(arguments[++first]);
        else
            give_up(arguments[first], "not an option");
    }
    if (first >= count)
        give_up("usage", "gpu_driver MODULE.so [--small] [--tune N] [--export FOLDER] PART...");
    open_device(&c, arguments[1]);
    for (int i = first; i < count; i++)
        run_part(&c, arguments[i]);
    close_device(&c);
    return c.missed == 0 ? 0 : 1;
}
