/* cuBLASLt called bare, for the product of a layer: what the module is held against. */
#include "driver.h"

#define BARE_WORKSPACE ((size_t)32 << 20)
#define RIVAL_RUNS     3

static cublasStatus_t multiply(const check *c, const bare *b)
{
    static const float one = 1.0f, zero = 0.0f;
    const layer *l = b->layer;

    return cublasLtMatmul(c->blas, b->operation, &one, l->w, b->weights, l->x, b->input, &zero, l->y,
                          b->output, l->y, b->output, &b->found[b->chosen].algo, b->workspace, BARE_WORKSPACE,
                          c->stream);
}

void run_bare(check *c, void *context)
{
    LIBRARY(multiply(c, context));
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
    const uint64_t workspace = BARE_WORKSPACE;
    /* Sums in float32, as the module's are: another arithmetic is no rival. */
    const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;

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
    LIBRARY(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                                 &reductions, sizeof reductions));
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

/* Keeps the fastest, in order; the slowest of them gives way. Returns how many are kept. */
static int keep(bare *best, double *kept, int count, const bare *one, double seconds)
{
    int at = count < FINALISTS ? count : FINALISTS - 1;

    if (count == FINALISTS && seconds >= kept[at])
        return count;
    for (; at > 0 && seconds < kept[at - 1]; at--) {
        best[at] = best[at - 1];
        kept[at] = kept[at - 1];
    }
    best[at] = *one;
    kept[at] = seconds;
    return count < FINALISTS ? count + 1 : count;
}

int best_bares(check *c, const bare *all, double limit_seconds, bare best[FINALISTS], rivals *seen)
{
    const double began = now();
    double kept[FINALISTS];
    bare one = *all;
    int count = 0;

    seen->offered += all->count;
    for (one.chosen = 0; one.chosen < all->count && now() - began < limit_seconds; one.chosen++) {
        /* One that the library offers and then refuses is no rival. The first run also loads it. */
        if (one.found[one.chosen].state != CUBLAS_STATUS_SUCCESS ||
            multiply(c, &one) != CUBLAS_STATUS_SUCCESS || cudaStreamSynchronize(c->stream) != cudaSuccess)
            continue;
        count = keep(best, kept, count, &one, median_seconds(c, by_stream, run_bare, &one, RIVAL_RUNS));
        seen->timed++;
    }
    return count;
}
