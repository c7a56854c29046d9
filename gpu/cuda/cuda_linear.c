/* Linear layers through cuBLASLt.
 *
 * The library counts columns first. Row-major y[rows, out] = x[rows, in] w[out, in]^T + b is, read that way,
 * D(out x rows) = A^T B with A = w as (in x out), B = x as (in x rows), and the bias, one value a row of D,
 * is its BIAS epilogue. Its GELU is the tanh form; the erf form is a kernel of our own on the finished
 * product.
 *
 * Sums are float32 whatever the dtype: the parts of a split sum are added in float32, never in the output's
 * type, which reduction in place would do too. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "gpu/cuda/cuda_internal.h"
#include "gpu/generator.h"

#define CANDIDATES_MOST   64
#define TUNE_RUNS         3 /* timed runs of a candidate, after one that is not */
#define TUNE_SCALE        1.0f
#define TUNE_WAKE_SECONDS 0.05
#define TUNE_WAKE_FILLS   16 /* at least: a host that is held up all the while keeps no device busy */

struct lot_plan {
    lot_plan *next; /* of the device's plans */
    lot_plan *previous;
    lot_linear linear;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t weights;
    cublasLtMatrixLayout_t input;
    cublasLtMatrixLayout_t output;
    cublasLtMatmulAlgo_t algorithm;
    void *workspace;
    size_t workspace_bytes;
    int candidates_timed;
};

static cudaDataType_t type_of(lot_dtype dtype)
{
    static const cudaDataType_t types[LOT_DTYPE_COUNT] = {CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF};

    return types[dtype];
}

/* What the library recommends for a device: more only changes which algorithm it takes. */
static size_t workspace_most(const lot_device *device)
{
    return device->major >= 9 ? (size_t)32 << 20 : (size_t)4 << 20;
}

/* ---- the operation ---- */

static lot_status set_operation(const lot_device *device, lot_plan *plan, lot_error *error)
{
    const cublasOperation_t transposed = CUBLAS_OP_T;
    const cublasLtEpilogue_t epilogue =
        plan->linear.activation == LOT_GELU_TANH ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
    /* The search looks at the bias pointer's alignment, and the real one is not known yet. */
    const void *const bias = (const void *)(uintptr_t)LOT_ALIGNMENT;
    lot_status status = LOT_BLAS(device, error,
                                 cublasLtMatmulDescSetAttribute(plan->operation, CUBLASLT_MATMUL_DESC_TRANSA,
                                                                &transposed, sizeof transposed));

    if (status == LOT_OK)
        status = LOT_BLAS(device, error,
                          cublasLtMatmulDescSetAttribute(plan->operation, CUBLASLT_MATMUL_DESC_EPILOGUE,
                                                         &epilogue, sizeof epilogue));
    if (status == LOT_OK)
        status = LOT_BLAS(device, error,
                          cublasLtMatmulDescSetAttribute(plan->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                                         &bias, sizeof bias));
    return status;
}

static lot_status describe_operation(const lot_device *device, lot_plan *plan, lot_error *error)
{
    const lot_linear *linear = &plan->linear;
    const cudaDataType_t type = type_of(linear->dtype);
    const cublasComputeType_t compute =
        linear->math == LOT_MATH_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    const uint64_t rows = (uint64_t)linear->rows, in = (uint64_t)linear->in_features,
                   out = (uint64_t)linear->out_features;
    lot_status status =
        LOT_BLAS(device, error, cublasLtMatmulDescCreate(&plan->operation, compute, CUDA_R_32F));

    if (status == LOT_OK)
        status = set_operation(device, plan, error);
    if (status == LOT_OK)
        status = LOT_BLAS(device, error,
                          cublasLtMatrixLayoutCreate(&plan->weights, type, in, out, linear->in_features));
    if (status == LOT_OK)
        status = LOT_BLAS(device, error,
                          cublasLtMatrixLayoutCreate(&plan->input, type, in, rows, linear->in_features));
    if (status == LOT_OK)
        status = LOT_BLAS(device, error,
                          cublasLtMatrixLayoutCreate(&plan->output, type, out, rows, linear->out_features));
    return status;
}

/* ---- the search ---- */

static lot_status set_preference(const lot_device *device, cublasLtMatmulPreference_t preference,
                                 lot_error *error)
{
    const uint64_t most = workspace_most(device);
    const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    lot_status status =
        LOT_BLAS(device, error,
                 cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                      &most, sizeof most));

    if (status == LOT_OK)
        status = LOT_BLAS(device, error,
                          cublasLtMatmulPreferenceSetAttribute(preference,
                                                               CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                                               &reductions, sizeof reductions));
    return status;
}

/* Asks for `wanted` algorithms, best first as the library guesses. *found of them, at least one. */
static lot_status search(lot_device *device, const lot_plan *plan, int wanted,
                         cublasLtMatmulHeuristicResult_t *results, int *found, lot_error *error)
{
    cublasLtMatmulPreference_t preference = NULL;
    lot_status status = LOT_BLAS(device, error, cublasLtMatmulPreferenceCreate(&preference));

    if (status == LOT_OK)
        status = set_preference(device, preference, error);
    *found = 0;
    if (status == LOT_OK)
        status = LOT_BLAS(device, error,
                          cublasLtMatmulAlgoGetHeuristic(device->blas, plan->operation, plan->weights,
                                                         plan->input, plan->output, plan->output, preference,
                                                         wanted, results, found));
    while (status == LOT_OK && *found > 0 && results[*found - 1].state != CUBLAS_STATUS_SUCCESS)
        --*found;                                                      /* only those in front can be used */
    if (status == LOT_UNSUPPORTED || (status == LOT_OK && *found < 1)) /* it may say so in either way */
        status = lot_error_set(error, LOT_UNSUPPORTED, "cublasLtMatmulAlgoGetHeuristic", 0,
                               "cuBLASLt has no algorithm for %lld x %lld x %lld%s in %s on this device",
                               (long long)plan->linear.rows, (long long)plan->linear.in_features,
                               (long long)plan->linear.out_features,
                               plan->linear.activation == LOT_GELU_TANH ? " with its GELU" : "",
                               lot_dtype_name(plan->linear.dtype));
    if (preference != NULL)
        (void)cublasLtMatmulPreferenceDestroy(preference);
    return status;
}

/* ---- tuning: the candidates on memory outside the counted pool, which they would leave enlarged ---- */

typedef struct lot_trial {
    void *x;
    void *w;
    void *b;
    void *y;
    void *workspace;
    cudaEvent_t start;
    cudaEvent_t stop;
} lot_trial;

/* Real values: a GPU is faster on zeros. */
static lot_fill trial_values(int64_t elements, lot_dtype dtype)
{
    return (lot_fill){.tensor = LOT_TENSOR_INPUT,
                      .distribution = LOT_NEAR_NORMAL,
                      .scale = TUNE_SCALE,
                      .count = elements,
                      .dtype = dtype};
}

static lot_status trial_tensor(lot_device *device, void **pointer, int64_t elements, lot_dtype dtype,
                               lot_error *error)
{
    const lot_fill fill = trial_values(elements, dtype);
    lot_status status =
        lot_cuda_malloc(device, elements * (int64_t)lot_dtype_bytes(dtype), "tuning", pointer, error);

    if (status == LOT_OK)
        status = lot_cuda_fill(device, *pointer, &fill, error);
    return status;
}

/* Clocks go down while a device has nothing to do and need a while to come up again: work that is nobody's
 * time first, or the candidates in front would be timed at lower ones. */
static lot_status wake(lot_device *device, const lot_linear *linear, const lot_trial *trial, lot_error *error)
{
    const lot_fill fill = trial_values(linear->rows * linear->out_features, linear->dtype);
    const double began = lot_clock_seconds();
    lot_status status = LOT_OK;

    for (int i = 0;
         status == LOT_OK && (i < TUNE_WAKE_FILLS || lot_clock_seconds() - began < TUNE_WAKE_SECONDS); i++) {
        status = lot_cuda_fill(device, trial->y, &fill, error);
        if (status == LOT_OK)
            status = lot_cuda_sync(device, error);
    }
    return status;
}

static lot_status trial_open(lot_device *device, const lot_linear *linear, lot_trial *trial, lot_error *error)
{
    lot_status status =
        trial_tensor(device, &trial->x, linear->rows * linear->in_features, linear->dtype, error);

    if (status == LOT_OK)
        status =
            trial_tensor(device, &trial->w, linear->in_features * linear->out_features, linear->dtype, error);
    if (status == LOT_OK)
        status = trial_tensor(device, &trial->b, linear->out_features, linear->dtype, error);
    if (status == LOT_OK)
        status = trial_tensor(device, &trial->y, linear->rows * linear->out_features, linear->dtype, error);
    if (status == LOT_OK)
        status = lot_cuda_malloc(device, (int64_t)workspace_most(device), "tuning", &trial->workspace, error);
    if (status == LOT_OK)
        status = LOT_CUDA(device, error, cudaEventCreateWithFlags(&trial->start, cudaEventDefault));
    if (status == LOT_OK)
        status = LOT_CUDA(device, error, cudaEventCreateWithFlags(&trial->stop, cudaEventDefault));
    return status;
}

static void trial_close(const lot_trial *trial)
{
    if (trial->stop != NULL)
        (void)cudaEventDestroy(trial->stop);
    if (trial->start != NULL)
        (void)cudaEventDestroy(trial->start);
    (void)cudaFree(trial->workspace);
    (void)cudaFree(trial->y);
    (void)cudaFree(trial->b);
    (void)cudaFree(trial->w);
    (void)cudaFree(trial->x);
}

static cublasStatus_t multiply(const lot_device *device, const lot_plan *plan, void *y, const void *x,
                               const void *w)
{
    static const float one = 1.0f, zero = 0.0f;

    return cublasLtMatmul(device->blas, plan->operation, &one, w, plan->weights, x, plan->input, &zero, y,
                          plan->output, y, plan->output, &plan->algorithm, plan->workspace,
                          plan->workspace_bytes, device->stream);
}

/* Milliseconds of one run of the plan as it stands. */
static lot_status time_plan(lot_device *device, const lot_plan *plan, const lot_trial *trial,
                            float *milliseconds, lot_error *error)
{
    lot_status status =
        lot_blas_check(device, error, "cublasLtMatmul", multiply(device, plan, trial->y, trial->x, trial->w));

    if (status == LOT_OK)
        status = LOT_CUDA(device, error, cudaEventRecord(trial->start, device->stream));
    for (int i = 0; i < TUNE_RUNS && status == LOT_OK; i++)
        status = lot_blas_check(device, error, "cublasLtMatmul",
                                multiply(device, plan, trial->y, trial->x, trial->w));
    if (status == LOT_OK)
        status = LOT_CUDA(device, error, cudaEventRecord(trial->stop, device->stream));
    if (status == LOT_OK)
        status = LOT_CUDA(device, error, cudaEventSynchronize(trial->stop));
    if (status == LOT_OK)
        status = LOT_CUDA(device, error, cudaEventElapsedTime(milliseconds, trial->start, trial->stop));
    return status;
}

/* A candidate that cannot run here, or that finds no memory to be loaded into, is passed over; a fault of the
 * device ends the search. The library's word for a fault may be about the candidate alone: then the stream
 * still works. */
static bool only_refused(const lot_device *device, lot_status status)
{
    if (status == LOT_DEVICE_FAULT || status == LOT_DEVICE_MEMORY)
        return cudaStreamSynchronize(device->stream) == cudaSuccess;
    return status == LOT_UNSUPPORTED || status == LOT_INTERNAL;
}

/* Leaves *best as the index of the fastest. */
static lot_status time_all(lot_device *device, lot_plan *plan, const lot_trial *trial,
                           const cublasLtMatmulHeuristicResult_t *results, int found, int *best,
                           lot_error *error)
{
    float least = 0.0f, milliseconds = 0.0f;

    *best = -1;
    for (int i = 0; i < found; i++) {
        lot_status status;

        plan->algorithm = results[i].algo;
        plan->workspace = trial->workspace;
        plan->workspace_bytes = results[i].workspaceSize;
        status = time_plan(device, plan, trial, &milliseconds, error);
        if (status != LOT_OK && !only_refused(device, status))
            return status;
        if (status != LOT_OK)
            continue;
        plan->candidates_timed++;
        if (*best < 0 || milliseconds < least) {
            least = milliseconds;
            *best = i;
        }
    }
    return *best < 0 ? error->status : LOT_OK;
}

static lot_status tune(lot_device *device, lot_plan *plan, const cublasLtMatmulHeuristicResult_t *results,
                       int found, int *best, lot_error *error)
{
    lot_trial trial = {0};
    lot_status status = trial_open(device, &plan->linear, &trial, error);

    if (status == LOT_OK)
        status = LOT_BLAS(device, error,
                          cublasLtMatmulDescSetAttribute(plan->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                                         &trial.b, sizeof trial.b));
    if (status == LOT_OK)
        status = wake(device, &plan->linear, &trial, error);
    if (status == LOT_OK)
        status = time_all(device, plan, &trial, results, found, best, error);
    plan->workspace = NULL;
    trial_close(&trial);
    return status;
}

static lot_status choose(lot_device *device, lot_plan *plan, lot_error *error)
{
    cublasLtMatmulHeuristicResult_t results[CANDIDATES_MOST];
    const int asked = device->options.tune_candidates;
    const int wanted = asked < 1 ? 1 : asked > CANDIDATES_MOST ? CANDIDATES_MOST : asked;
    int found = 0, best = 0;
    lot_status status;

    memset(results, 0, sizeof results);
    status = search(device, plan, wanted, results, &found, error);
    if (status == LOT_OK && asked > 0)
        status = tune(device, plan, results, found, &best, error);
    if (status != LOT_OK)
        return status;
    plan->algorithm = results[best].algo;
    plan->workspace_bytes = results[best].workspaceSize;
    if (plan->workspace_bytes == 0)
        return LOT_OK;
    return lot_cuda_alloc(device, (int64_t)plan->workspace_bytes, &plan->workspace, error);
}

/* ---- what the record says ---- */

static long long config(const lot_plan *plan, cublasLtMatmulAlgoConfigAttributes_t attribute)
{
    int32_t value = 0; /* some attributes have two bytes; little-endian, so the rest stays zero */
    size_t written = 0;

    if (cublasLtMatmulAlgoConfigGetAttribute(&plan->algorithm, attribute, &value, sizeof value, &written) ==
        CUBLAS_STATUS_SUCCESS)
        return value;
    value = 0;
    if (cublasLtMatmulAlgoConfigGetAttribute(&plan->algorithm, attribute, &value, sizeof(uint16_t),
                                             &written) == CUBLAS_STATUS_SUCCESS)
        return value;
    return -1;
}

static const char *arithmetic_of(const lot_linear *linear)
{
    const char *emulation = getenv("CUBLAS_EMULATE_SINGLE_PRECISION");

    if (linear->dtype == LOT_FLOAT16)
        return "float16 products, float32 sums";
    if (linear->dtype == LOT_BFLOAT16)
        return "bfloat16 products, float32 sums";
    if (linear->math == LOT_MATH_TF32)
        return "tf32 products, float32 sums";
    if (emulation != NULL && strcmp(emulation, "0") != 0 && emulation[0] != '\0')
        return "float32, emulation allowed by environment";
    return "float32 products, float32 sums";
}

static void describe_plan(const lot_plan *plan, lot_plan_facts *facts)
{
    const unsigned char *bytes = (const unsigned char *)plan->algorithm.data;
    char algorithm[320]; /* nine numbers of any size */

    memset(facts, 0, sizeof *facts);
    (void)snprintf(
        algorithm, sizeof algorithm,
        "cuBLASLt id %lld tile %lld stages %lld split-k %lld reduction %lld swizzle %lld custom %lld "
        "inner %lld cluster %lld",
        config(plan, CUBLASLT_ALGO_CONFIG_ID), config(plan, CUBLASLT_ALGO_CONFIG_TILE_ID),
        config(plan, CUBLASLT_ALGO_CONFIG_STAGES_ID), config(plan, CUBLASLT_ALGO_CONFIG_SPLITK_NUM),
        config(plan, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME), config(plan, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING),
        config(plan, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION), config(plan, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID),
        config(plan, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID));
    (void)lot_field_copy(facts->algorithm, sizeof facts->algorithm, algorithm);
    for (size_t i = 0; i < sizeof plan->algorithm.data; i++)
        (void)snprintf(facts->algorithm_bytes + 2 * i, 3, "%02x", bytes[i]);
    (void)snprintf(facts->arithmetic, sizeof facts->arithmetic, "%s", arithmetic_of(&plan->linear));
    facts->workspace_bytes = (int64_t)plan->workspace_bytes;
    facts->activation_fused = plan->linear.activation == LOT_GELU_TANH;
    facts->candidates_timed = plan->candidates_timed;
}

/* ---- what the module offers ---- */

lot_status lot_cuda_plan(lot_device *device, const lot_linear *linear, lot_plan **plan, lot_plan_facts *facts,
                         lot_error *error)
{
    lot_plan *made;
    lot_status status = lot_cuda_supports(device, linear->dtype, linear->math, error);

    if (status != LOT_OK)
        return status;
    made = calloc(1, sizeof *made);
    if (made == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "the host is out of memory");
    made->linear = *linear;
    made->next = device->plans;
    if (made->next != NULL)
        made->next->previous = made;
    device->plans = made;
    status = describe_operation(device, made, error);
    if (status == LOT_OK)
        status = choose(device, made, error);
    if (status != LOT_OK) {
        lot_cuda_plan_free(device, made);
        return status;
    }
    describe_plan(made, facts);
    *plan = made;
    return LOT_OK;
}

void lot_cuda_plan_free(lot_device *device, lot_plan *plan)
{
    if (plan == NULL)
        return;
    if (plan->previous != NULL)
        plan->previous->next = plan->next;
    else
        device->plans = plan->next;
    if (plan->next != NULL)
        plan->next->previous = plan->previous;
    lot_cuda_free(device, plan->workspace);
    if (plan->output != NULL)
        (void)cublasLtMatrixLayoutDestroy(plan->output);
    if (plan->input != NULL)
        (void)cublasLtMatrixLayoutDestroy(plan->input);
    if (plan->weights != NULL)
        (void)cublasLtMatrixLayoutDestroy(plan->weights);
    if (plan->operation != NULL)
        (void)cublasLtMatmulDescDestroy(plan->operation);
    free(plan);
}

static bool aligned(const void *pointer)
{
    return (uintptr_t)pointer % LOT_ALIGNMENT == 0;
}

lot_status lot_cuda_run(lot_device *device, const lot_plan *plan, void *y, const void *x, const void *w,
                        const void *b, lot_error *error)
{
    const lot_linear *linear = &plan->linear;
    lot_status status;

    assert(aligned(y) && aligned(x) && aligned(w) && aligned(b));
    status = LOT_BLAS(
        device, error,
        cublasLtMatmulDescSetAttribute(plan->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &b, sizeof b));
    if (status == LOT_OK)
        status = lot_blas_check(device, error, "cublasLtMatmul", multiply(device, plan, y, x, w));
    if (status == LOT_OK && linear->activation == LOT_GELU_ERF)
        status = LOT_LAUNCH(
            device, error,
            lot_launch_gelu(y, linear->rows * linear->out_features, linear->dtype, device->stream));
    return status;
}
