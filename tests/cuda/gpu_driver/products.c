/* Matrix products: the module against the library called bare. */
#include "driver.h"

#include <math.h>
#include <stdio.h>

#define BARE_WORKSPACE ((size_t)32 << 20)

static cublasStatus_t multiply_bare(const check *c, const bare *b)
{
    static const float one = 1.0f, zero = 0.0f;
    const layer *l = b->layer;

    return cublasLtMatmul(c->blas, b->operation, &one, l->w, b->weights, l->x, b->input, &zero, l->y,
                          b->output, l->y, b->output, &b->found[b->chosen].algo, b->workspace, BARE_WORKSPACE,
                          c->stream);
}

void run_bare(check *c, void *context)
{
    LIBRARY(multiply_bare(c, context));
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

bare make_bare(check *c, const layer *l, int wanted)
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

void drop_bare(bare *b)
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

static double flops_of(const lot_linear *l)
{
    return 2.0 * (double)l->rows * (double)l->in_features * (double)l->out_features;
}

/* The best of all algorithms that the library offers for the layer's product. */
static double best_seconds(check *c, const layer *l, int runs)
{
    bare b = make_bare(c, l, CANDIDATES);
    double best = INFINITY;

    for (b.chosen = 0; b.chosen < b.count; b.chosen++) {
        double seconds;

        /* One that the library offers and then refuses is no rival. */
        if (b.found[b.chosen].state != CUBLAS_STATUS_SUCCESS ||
            multiply_bare(c, &b) != CUBLAS_STATUS_SUCCESS || cudaStreamSynchronize(c->stream) != cudaSuccess)
            continue;
        seconds = bare_seconds(c, &b, runs);

        if (seconds < best)
            best = seconds;
    }
    drop_bare(&b);
    return best;
}

/* Both layers of the network at width 8192, 8192 rows: its rate, and its products against the best there are.
 */
void measure_network(check *c, lot_dtype dtype, lot_math math, const char *name)
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

void measure_small(check *c)
{
    double library = 0.0, ignored = 0.0;
    const double tanh_form = small_seconds(c, LOT_GELU_TANH, &library);
    const double erf_form = small_seconds(c, LOT_GELU_ERF, &ignored);

    result("small forward, erf (float16, 16 x 64)", erf_form * 1e6, "us");
    result("small forward, tanh", tanh_form * 1e6, "us");
    result("small forward, tanh, bare cuBLASLt", library * 1e6, "us");
    at_most(c, "small forward, tanh / bare cuBLASLt", tanh_form / library, 1.2);
}
