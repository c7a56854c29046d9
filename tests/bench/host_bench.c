/* The host device's speed, through the product's own module and network.
 *
 *     host_bench [THREADS]             a table: passes, weights and values, against what the CPU can do
 *     host_bench --serve [THREADS]     answers one line on stdin with one on stdout:
 *         forward BATCH CONTEXT WIDTH PASSES [DTYPE]   median seconds of a warm pass
 *         load WIDTH                                   seconds to build both layers' weights in fresh memory
 *         peak                                         highest float operations per second of one core
 *
 * A pass is the protocol's: hidden and output are taken from the pool in it, the hidden activation is given
 * back. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/stats.h"
#include "gpu/loader.h"
#include "measure/workload.h"

#define PASSES_MAX 100000

typedef struct bench {
    const lot_device_module *module;
    int threads;
    lot_error error;
} bench;

static void must(const bench *b, lot_status status)
{
    if (status == LOT_OK)
        return;
    (void)fprintf(stderr, "host_bench: %s: %s\n", b->error.call, b->error.text);
    exit(3);
}

/* ---- what one core can do at most: independent fused multiply-adds in registers ---- */

#if defined(__x86_64__)

#include <immintrin.h>

#define CHAINS 10

__attribute__((target("avx2,fma"))) static double peak_flops_256(void)
{
    const __m256 factor = _mm256_set1_ps(0.999f);
    const __m256 term = _mm256_set1_ps(0.001f);
    const long rounds = 2000000;
    __m256 sum[CHAINS];
    double best = 0;

    for (int repeat = 0; repeat < 10; repeat++) {
        double seconds = lot_clock_seconds();
        volatile float used;

        for (int i = 0; i < CHAINS; i++)
            sum[i] = _mm256_set1_ps((float)i);
        for (long round = 0; round < rounds; round++)
#pragma GCC unroll 10
            for (int i = 0; i < CHAINS; i++)
                sum[i] = _mm256_fmadd_ps(sum[i], factor, term);
        for (int i = 1; i < CHAINS; i++)
            sum[0] = _mm256_add_ps(sum[0], sum[i]);
        used = _mm256_cvtss_f32(sum[0]);
        (void)used;
        seconds = lot_clock_seconds() - seconds;
        if ((double)(rounds * CHAINS * 16) / seconds > best)
            best = (double)(rounds * CHAINS * 16) / seconds;
    }
    return best;
}

static double peak_flops(void)
{
    return __builtin_cpu_supports("fma") ? peak_flops_256() : 0;
}

#else

static double peak_flops(void)
{
    return 0; /* not known here */
}

#endif

/* ---- the network ---- */

static lot_device *open_device(bench *b)
{
    const lot_device_options options = {.threads = b->threads};
    lot_device *device = NULL;

    must(b, b->module->open(&options, &device, &b->error));
    return device;
}

static lot_workload make_workload(const bench *b, lot_device *device, const int64_t sizes[3], lot_dtype dtype)
{
    return (lot_workload){.module = b->module,
                          .device = device,
                          .seed = 1,
                          .rows = sizes[0] * sizes[1],
                          .width = sizes[2],
                          .hidden = 4 * sizes[2],
                          .dtype = dtype,
                          .math = LOT_MATH_IEEE,
                          .activation = LOT_GELU_ERF};
}

/* Median seconds of `passes` warm passes; names of the two layers' algorithms where `names` is not NULL. */
static double forward(bench *b, const int64_t sizes[3], lot_dtype dtype, size_t passes, char names[2][160])
{
    lot_device *device = open_device(b);
    lot_workload workload = make_workload(b, device, sizes, dtype);
    double *seconds = calloc(passes, sizeof *seconds);
    lot_plan_facts facts[2];
    double median;

    if (seconds == NULL)
        exit(3);
    must(b, lot_workload_load(&workload, &b->error));
    must(b, lot_workload_inputs(&workload, &b->error));
    must(b, lot_workload_plan(&workload, &facts[0], &facts[1], &b->error));
    for (size_t i = 0; i < passes + 3; i++) {
        const double start = lot_clock_seconds();

        must(b, lot_workload_forward(&workload, &b->error));
        must(b, b->module->sync(device, &b->error));
        if (i >= 3)
            seconds[i - 3] = lot_clock_seconds() - start;
        lot_workload_drop(&workload);
    }
    for (int i = 0; names != NULL && i < 2; i++)
        memcpy(names[i], facts[i].algorithm, sizeof facts[i].algorithm);
    lot_workload_free(&workload);
    b->module->close(device);
    median = lot_stats_median(seconds, passes);
    free(seconds);
    return median;
}

/* Seconds to allocate and build both layers' weights in memory that the process never had. */
static double load(bench *b, int64_t width)
{
    const int64_t sizes[3] = {1, 1, width};
    lot_device *device = open_device(b);
    lot_workload workload = make_workload(b, device, sizes, LOT_FLOAT32);
    double seconds = lot_clock_seconds();

    must(b, lot_workload_load(&workload, &b->error));
    seconds = lot_clock_seconds() - seconds;
    lot_workload_free(&workload);
    b->module->close(device);
    return seconds;
}

/* ---- values and memory ---- */

#define VALUE_BYTES ((int64_t)256 << 20)

#define HUGE_PAGE ((int64_t)2 << 20)

typedef enum value_work {
    FRESH_TOUCH,
    FRESH_UNIFORM,
    WARM_UNIFORM,
    WARM_NORMAL,
    WARM_DIGEST,
    WARM_MEMSET
} value_work;

/* One store near the end of each huge page, from which the kernel clears it: what memory costs that this
 * process never had, whatever is then written there. */
static void touch(char *memory, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t at = HUGE_PAGE; at <= VALUE_BYTES; at += HUGE_PAGE)
        *(volatile char *)(memory + at - 1) = 1;
}

/* Bytes per second over 256 MiB, best of five: the first touch of fresh memory alone and with the values,
 * then work on memory that is there. */
static double bytes_per_second(bench *b, value_work work)
{
    lot_fill fill = {.seed = 1, .tensor = 1, .scale = 1, .count = VALUE_BYTES / 4, .dtype = LOT_FLOAT32};
    double best = 0;

    fill.distribution = work == WARM_NORMAL ? LOT_NEAR_NORMAL : LOT_UNIFORM;
    for (int repeat = 0; repeat < 5; repeat++) {
        lot_device *device = open_device(b);
        void *memory = NULL;
        uint64_t digest;
        int finite;
        double seconds;

        must(b, b->module->alloc(device, VALUE_BYTES, &memory, &b->error));
        if (work != FRESH_TOUCH && work != FRESH_UNIFORM)
            memset(memory, 1, (size_t)VALUE_BYTES);
        seconds = lot_clock_seconds();
        if (work == FRESH_TOUCH)
            touch(memory, b->threads);
        else if (work == WARM_MEMSET)
            memset(memory, 0, (size_t)VALUE_BYTES);
        else if (work == WARM_DIGEST)
            must(b, b->module->digest(device, memory, VALUE_BYTES, LOT_FLOAT32, &digest, &finite, &b->error));
        else
            must(b, b->module->build(device, memory, &fill, &b->error));
        seconds = lot_clock_seconds() - seconds;
        if ((double)VALUE_BYTES / seconds > best)
            best = (double)VALUE_BYTES / seconds;
        b->module->close(device);
    }
    return best;
}

/* ---- output ---- */

static void table(bench *b)
{
    static const int64_t shapes[][3] = {{2, 128, 1024}, {1, 16, 64}, {1, 1, 16}};
    static const size_t passes[] = {25, 5001, 5001};
    static const char *const works[] = {"first touch",   "build uniform, fresh",
                                        "build uniform", "build near-normal",
                                        "digest",        "memset, 1 thread"};
    const double peak = peak_flops();

    (void)printf("threads %d; one core's peak %.1f GFLOP/s\n", b->threads, peak * 1e-9);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int dtype = 0; dtype < 2; dtype++) {
            char names[2][160];
            const lot_dtype type = dtype ? LOT_BFLOAT16 : LOT_FLOAT32;
            const double seconds = forward(b, shapes[i], type, passes[i], names);
            const double flops =
                16.0 * (double)(shapes[i][0] * shapes[i][1]) * (double)(shapes[i][2] * shapes[i][2]);

            (void)printf(
                "forward %lld x %lld x %lld %s: %.3f us, %.1f GFLOP/s, %.0f %% of the peak [%s; %s]\n",
                (long long)shapes[i][0], (long long)shapes[i][1], (long long)shapes[i][2],
                lot_dtype_name(type), seconds * 1e6, flops / seconds * 1e-9,
                100 * flops / seconds / peak / b->threads, names[0], names[1]);
        }
    for (int work = FRESH_TOUCH; work <= WARM_MEMSET; work++)
        (void)printf("%s: %.2f GB/s\n", works[work], bytes_per_second(b, (value_work)work) * 1e-9);
    for (int repeat = 0; repeat < 3; repeat++)
        (void)printf("model_load 4096: %.1f ms\n", load(b, 4096) * 1e3);
}

static void serve(bench *b)
{
    char line[256];

    while (fgets(line, sizeof line, stdin) != NULL) {
        long long sizes[4];
        char type[16] = "float32";

        if (sscanf(line, "forward %lld %lld %lld %lld %15s", &sizes[0], &sizes[1], &sizes[2], &sizes[3],
                   type) >= 4 &&
            sizes[3] > 0 && sizes[3] <= PASSES_MAX) {
            const int64_t shape[3] = {sizes[0], sizes[1], sizes[2]};

            (void)printf("%.9g\n",
                         forward(b, shape, strcmp(type, "bfloat16") == 0 ? LOT_BFLOAT16 : LOT_FLOAT32,
                                 (size_t)sizes[3], NULL));
        } else if (sscanf(line, "load %lld", &sizes[0]) == 1) {
            (void)printf("%.9g\n", load(b, sizes[0]));
        } else if (strncmp(line, "peak", 4) == 0) {
            (void)printf("%.9g\n", peak_flops());
        } else {
            (void)printf("?\n");
        }
        (void)fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    const bool serving = argc > 1 && strcmp(argv[1], "--serve") == 0;
    bench b = {.threads = argc > 1 + serving ? (int)strtol(argv[1 + serving], NULL, 10) : 1};

    if (getenv("GPULOT_MODULE_DIR") == NULL)
        (void)setenv("GPULOT_MODULE_DIR", "build/lib/gpulot", 1);
    must(&b, lot_loader_load("host", &b.module, &b.error));
    if (serving)
        serve(&b);
    else
        table(&b);
    return 0;
}
