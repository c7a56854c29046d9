/* What the files of gpu_driver share: the device under check, its results, timing, tensors and layers. */
#ifndef GPULOT_TESTS_GPU_DRIVER_H
#define GPULOT_TESTS_GPU_DRIVER_H

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpu/device.h"

#define RUNS_MOST  256
#define CANDIDATES 32
#define FINALISTS  3 /* of them that are timed beside the module's */

typedef struct check {
    const lot_device_module *module;
    lot_device *device;
    lot_device_facts facts;
    lot_error error;
    cudaStream_t stream; /* for bare library calls */
    cublasLtHandle_t blas;
    cudaEvent_t start, stop; /* for by_stream */
    bool small;              /* tiny sizes, nothing judged but correctness */
    int tune;                /* algorithms that the module times for a plan */
    const char *folder;      /* where one layer's tensors are left as files, or NULL */
    int missed;
} check;

/* Says what could not be done and ends the program with 2. */
void give_up(const char *what, const char *why);

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

/* What NVML told of a row, on a line to read. */
void print_row(const char *what, const lot_telemetry *row);

/* One line of the output: a number alone, what must hold anywhere, and speeds, which are not judged where
 * sizes are tiny. */
void result(const char *name, double value, const char *unit);
void must_hold(check *c, const char *name, double value, double most);
void at_least(check *c, const char *name, double value, double least);
void at_most(check *c, const char *name, double value, double most);

/* ---- timing ---- */

/* Seconds on a clock that only goes forward. */
double now(void);

/* The middle one; sorts `values`. */
double median(double *values, int count);

typedef void (*work)(check *c, void *context);

/* Runs again and again for that long (once where sizes are tiny), waiting each time: clocks are up then, and
 * a limit of power or heat that a long load meets is met. */
void warm_up(check *c, work run, void *context, double seconds);

/* Seconds of one run: by the device's clock, of work queued by the module; the same of work queued on
 * check.stream; by the host's clock, of a run that waits for its end. */
typedef double (*timing)(check *c, work run, void *context);

double by_device(check *c, work run, void *context);
double by_stream(check *c, work run, void *context);
double by_host(check *c, work run, void *context);

/* Median seconds of `runs` runs, at most RUNS_MOST. */
double median_seconds(check *c, timing how, work run, void *context, int runs);

/* What is timed against others, and then its median seconds. */
typedef struct contender {
    timing how;
    work run;
    void *context;
    double seconds;
} contender;

#define CONTENDERS_MOST 4

/* Times `rounds` runs of each, by turns: a clock that falls under a long load, as at a limit of power, falls
 * for all of them. */
void contest(check *c, contender *all, int count, int rounds);

/* ---- tensors and layers, in the device's pool (layer.c) ---- */

/* The free part of the device's memory. */
int64_t free_bytes(void);

void *take(check *c, int64_t bytes);
void *tensor(check *c, uint32_t number, lot_distribution distribution, float scale, int64_t count,
             lot_dtype dtype);

typedef struct layer {
    lot_linear linear;
    lot_plan *plan;
    void *x, *w, *b, *y;
    bool owns_x;
} layer;

/* A layer with its tensors filled and its plan; `x` its input, NULL for one of its own. drop_layer gives all
 * of it back. */
layer make_layer(check *c, lot_linear linear, void *x);
void drop_layer(check *c, layer *made);

/* A `work`: one run of the layer, queued. */
void run_layer(check *c, void *context);

/* One layer against its definition; false where the library has no algorithm for it. Raises *worst to the
 * largest error of sampled elements in units of its bound (above 1 is wrong), and leaves the tensors as files
 * in `folder`, NULL for none (correctness.c). */
bool check_layer(check *c, lot_linear linear, const char *folder, double *worst);

/* ---- the library called bare, for the same product (bare.c) ---- */

typedef struct bare {
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t weights, input, output;
    cublasLtMatmulHeuristicResult_t found[CANDIDATES];
    int count;
    int chosen;
    void *workspace;
    const layer *layer;
} bare;

/* The first `wanted` algorithms that the library offers for the layer's product, and the first chosen. */
bare make_bare(check *c, const layer *l, int wanted);
void drop_bare(bare *b);

/* A `work`: one product by the chosen algorithm, queued. */
void run_bare(check *c, void *context);

/* How many algorithms the library offered, and how many of them were timed in the time that there was. */
typedef struct rivals {
    int offered;
    int timed;
} rivals;

/* Times each of the algorithms, for `limit_seconds` at most, and leaves the fastest in `best`, FINALISTS at
 * most: copies of `all`, with nothing of their own. Returns how many. */
int best_bares(check *c, const bare *all, double limit_seconds, bare best[FINALISTS], rivals *seen);

/* ---- the parts of the check ---- */

void check_facts(check *c);
void check_values(check *c);
void check_digest(check *c);
void check_gelu(check *c);
void check_layers(check *c);
void check_large(check *c);
void measure_bandwidths(check *c);
void measure_cache(check *c);
void measure_network(check *c, lot_dtype dtype, lot_math math, const char *name);
void measure_rate(check *c);
void measure_small(check *c);
void measure_load(check *c);

#endif
