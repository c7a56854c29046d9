/* Products against sums in double. */
#include "cases.h"

#include <cublasLt.h>
#include <math.h>
#include <string.h>

#include "gpu/generator.h"

#define M 24
#define N 17
#define K 40

typedef struct product {
    cudaDataType_t type;
    cublasComputeType_t compute;
    int transpose_a, transpose_b;
    uint32_t epilogue;
    int algorithm; /* which of the search's results; -1: the last */
    uint64_t workspace_bytes;
    uint32_t alignment;
    int shift;        /* elements between the allocation and A */
    int searched_for; /* results asked for */
    uint32_t reductions;
} product;

static const product plain = {.type = CUDA_R_32F,
                              .compute = CUBLAS_COMPUTE_32F,
                              .epilogue = CUBLASLT_EPILOGUE_BIAS,
                              .workspace_bytes = 1 << 20,
                              .alignment = 256,
                              .searched_for = 4,
                              .reductions = CUBLASLT_REDUCTION_SCHEME_MASK};

static size_t element_bytes(cudaDataType_t type)
{
    return type == CUDA_R_32F ? 4 : 2;
}

/* Values that all types hold exactly where they are small integers, else values with many bits. */
static float input_value(int i, int integers)
{
    return integers ? (float)(i * 7 % 11 - 5) : (float)(i * 37 % 101 - 50) * 0.0173f;
}

static float store(void *to, cudaDataType_t type, size_t index, float value)
{
    uint16_t half;

    if (type == CUDA_R_32F) {
        memcpy((char *)to + 4 * index, &value, 4);
        return value;
    }
    half = type == CUDA_R_16F ? lot_to_float16(value) : lot_to_bfloat16(value);
    memcpy((char *)to + 2 * index, &half, 2);
    return type == CUDA_R_16F ? lot_from_float16(half) : lot_from_bfloat16(half);
}

static float load(const void *from, cudaDataType_t type, size_t index)
{
    float value;
    uint16_t half;

    if (type == CUDA_R_32F) {
        memcpy(&value, (const char *)from + 4 * index, 4);
        return value;
    }
    memcpy(&half, (const char *)from + 2 * index, 2);
    return type == CUDA_R_16F ? lot_from_float16(half) : lot_from_bfloat16(half);
}

typedef struct setup {
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, d;
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t results[6];
    int found;
    void *a_data, *b_data, *d_data, *bias, *workspace;
    char a_host[4 * M * K], b_host[4 * K * N], bias_host[4 * M], d_host[4 * M * N];
    double a_value[M][K], b_value[K][N], bias_value[M]; /* as rounded to the type */
} setup;

static void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, const void *value,
                size_t size)
{
    OK(cublasLtMatmulDescSetAttribute(operation, attribute, value, size));
}

static void make_values(setup *s, const product *p, int integers)
{
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++)
            s->a_value[i][k] =
                (double)store(s->a_host, p->type, (size_t)(p->transpose_a ? i * K + k : k * M + i),
                              input_value(i * K + k, integers));
    for (int k = 0; k < K; k++)
        for (int j = 0; j < N; j++)
            s->b_value[k][j] =
                (double)store(s->b_host, p->type, (size_t)(p->transpose_b ? k * N + j : j * K + k),
                              input_value(3 * (k * N + j) + 1, integers));
    for (int i = 0; i < M; i++)
        s->bias_value[i] = (double)store(s->bias_host, p->type, (size_t)i, input_value(i, integers));
}

static void make_memory(setup *s, const product *p)
{
    const size_t bytes = element_bytes(p->type);

    OK(cudaMalloc(&s->a_data, (size_t)(M * K + p->shift) * bytes));
    s->a_data = (char *)s->a_data + (size_t)p->shift * bytes;
    OK(cudaMalloc(&s->b_data, K * N * bytes));
    OK(cudaMalloc(&s->d_data, M * N * bytes));
    OK(cudaMalloc(&s->bias, M * bytes));
    OK(cudaMalloc(&s->workspace, 1 << 20));
    OK(cudaMemcpy(s->a_data, s->a_host, M * K * bytes, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(s->b_data, s->b_host, K * N * bytes, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(s->bias, s->bias_host, M * bytes, cudaMemcpyHostToDevice));
}

/* Everything up to the search, whose answer is returned. */
static cublasStatus_t prepare(setup *s, const product *p, int integers)
{
    const cublasOperation_t transpose = CUBLAS_OP_T;

    make_values(s, p, integers);
    make_memory(s, p);
    OK(cublasLtCreate(&s->handle));
    OK(cublasLtMatmulDescCreate(&s->operation, p->compute, CUDA_R_32F));
    if (p->transpose_a)
        set(s->operation, CUBLASLT_MATMUL_DESC_TRANSA, &transpose, sizeof transpose);
    if (p->transpose_b)
        set(s->operation, CUBLASLT_MATMUL_DESC_TRANSB, &transpose, sizeof transpose);
    set(s->operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &p->epilogue, sizeof p->epilogue);
    set(s->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &s->bias, sizeof s->bias);
    OK(cublasLtMatrixLayoutCreate(&s->a, p->type, p->transpose_a ? K : M, p->transpose_a ? M : K,
                                  p->transpose_a ? K : M));
    OK(cublasLtMatrixLayoutCreate(&s->b, p->type, p->transpose_b ? N : K, p->transpose_b ? K : N,
                                  p->transpose_b ? N : K));
    OK(cublasLtMatrixLayoutCreate(&s->d, p->type, M, N, M));
    OK(cublasLtMatmulPreferenceCreate(&s->preference));
    OK(cublasLtMatmulPreferenceSetAttribute(s->preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                            &p->workspace_bytes, sizeof p->workspace_bytes));
    OK(cublasLtMatmulPreferenceSetAttribute(s->preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                                            &p->alignment, sizeof p->alignment));
    OK(cublasLtMatmulPreferenceSetAttribute(s->preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                            &p->reductions, sizeof p->reductions));
    return cublasLtMatmulAlgoGetHeuristic(s->handle, s->operation, s->a, s->b, s->d, s->d, s->preference,
                                          p->searched_for, s->results, &s->found);
}

static cublasStatus_t multiply(setup *s, const product *p)
{
    const float one = 1, zero = 0;
    const cublasLtMatmulHeuristicResult_t *result =
        &s->results[p->algorithm < 0 ? s->found - 1 : p->algorithm];

    return cublasLtMatmul(s->handle, s->operation, &one, s->a_data, s->a, s->b_data, s->b, &zero, s->d_data,
                          s->d, s->d_data, s->d, &result->algo, s->workspace, result->workspaceSize, NULL);
}

static double reference(const setup *s, const product *p, int i, int j)
{
    double sum = (p->epilogue & CUBLASLT_EPILOGUE_BIAS) != 0 ? s->bias_value[i] : 0;

    for (int k = 0; k < K; k++)
        sum += s->a_value[i][k] * s->b_value[k][j];
    if ((p->epilogue & CUBLASLT_EPILOGUE_GELU) != 0)
        sum = 0.5 * sum * (1 + tanh(0.79788456080286535588 * (sum + 0.044715 * sum * sum * sum)));
    return sum;
}

static void check_product(const product *p, int integers, double tolerance)
{
    setup *s = calloc(1, sizeof *s);

    CHECK(s != NULL);
    OK(prepare(s, p, integers));
    CHECK(s->found > p->algorithm);
    OK(multiply(s, p));
    OK(cudaMemcpy(s->d_host, s->d_data, M * N * element_bytes(p->type), cudaMemcpyDeviceToHost));
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            const double want = reference(s, p, i, j);
            const double got = (double)load(s->d_host, p->type, (size_t)(j * M + i));

            CHECK(fabs(got - want) <= tolerance * (1 + fabs(want)));
        }
    }
    free(s);
}

/* On integers every sum is exact, so that each transposition, type and algorithm must give the very numbers.
 */
static void gemm_exact(void)
{
    const cudaDataType_t types[] = {CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF};

    for (int variant = 0; variant < 48; variant++) {
        product p = plain;

        p.type = types[variant % 3];
        p.transpose_a = variant / 3 % 2;
        p.transpose_b = variant / 6 % 2;
        p.epilogue = variant / 12 % 2 != 0 ? CUBLASLT_EPILOGUE_DEFAULT : CUBLASLT_EPILOGUE_BIAS;
        p.algorithm = variant / 24 % 2 - 1;
        check_product(&p, 1, p.type == CUDA_R_16BF ? 0x1p-8 : p.type == CUDA_R_16F ? 0x1p-11 : 0);
    }
}

static void gemm_rounded(void)
{
    product p = plain;

    check_product(&p, 0, 1e-6);
    p.epilogue = CUBLASLT_EPILOGUE_GELU_BIAS;
    check_product(&p, 0, 1e-6);
    p.epilogue = CUBLASLT_EPILOGUE_GELU;
    p.type = CUDA_R_16F;
    check_product(&p, 0, 0x1p-10);
    p.type = CUDA_R_16BF;
    check_product(&p, 0, 0x1p-7);
    p = plain;
    p.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
    check_product(&p, 0, 2e-2);
    check_product(&p, 1, 0);
}

/* Bits of D for one product. */
static void bits_of(const product *p, char out[4 * M * N])
{
    setup *s = calloc(1, sizeof *s);

    CHECK(s != NULL);
    OK(prepare(s, p, 0));
    OK(multiply(s, p));
    OK(cudaMemcpy(out, s->d_data, M * N * element_bytes(p->type), cudaMemcpyDeviceToHost));
    free(s);
}

/* TF32 loses bits, a split sum changes some, the same call gives the same. */
static void gemm_bits(void)
{
    static char first[4 * M * N], other[4 * M * N];
    product p = plain;

    bits_of(&p, first);
    bits_of(&p, other);
    CHECK(memcmp(first, other, sizeof first) == 0);
    p.algorithm = 2;
    bits_of(&p, other);
    CHECK(memcmp(first, other, sizeof first) != 0);
    p = plain;
    p.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
    bits_of(&p, other);
    CHECK(memcmp(first, other, sizeof first) != 0);
}

/* Parts of a split sum that are added in the output's type lose bits where that has few, in place or not; the
 * mask of the search leaves such algorithms out. */
static void gemm_narrow_sums(void)
{
    static char wide[4 * M * N], narrow[4 * M * N];
    setup *s = calloc(1, sizeof *s);
    product p = plain;

    CHECK(s != NULL);
    p.transpose_a = 1;
    p.searched_for = 6;
    for (int in_place = 0; in_place < 2; in_place++) {
        p.type = CUDA_R_16BF;
        p.algorithm = 2; /* the same parts, added in float32 */
        bits_of(&p, wide);
        p.algorithm = 4 + in_place;
        bits_of(&p, narrow);
        CHECK(memcmp(wide, narrow, M * N * 2) != 0);
        p.type = CUDA_R_32F;
        bits_of(&p, narrow);
        p.algorithm = 2;
        bits_of(&p, wide);
        CHECK(memcmp(wide, narrow, M * N * 4) == 0);
    }
    p.algorithm = 0;
    OK(prepare(s, &p, 0));
    CHECK(s->found == 6);
    p.reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    OK(prepare(s, &p, 0));
    CHECK(s->found == 4);
    free(s);
}

static void gemm_search(void)
{
    setup *s = calloc(1, sizeof *s);
    product p = plain;
    int32_t split = 0;
    size_t written = 0;
    cublasLtMatmulHeuristicResult_t checked;

    CHECK(s != NULL);
    p.transpose_a = 1; /* every column a multiple of 16 bytes */
    OK(prepare(s, &p, 0));
    CHECK(s->found == 4 && s->results[2].workspaceSize == 2u * M * N * 4);
    OK(cublasLtMatmulAlgoConfigGetAttribute(&s->results[2].algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &split,
                                            sizeof split, &written));
    CHECK(split == 2 && written == 4);
    OK(cublasLtMatmulAlgoCheck(s->handle, s->operation, s->a, s->b, s->d, s->d, &s->results[2].algo,
                               &checked));
    CHECK(checked.workspaceSize == s->results[2].workspaceSize);
    p.workspace_bytes = 0; /* leaves out what needs a workspace */
    OK(prepare(s, &p, 0));
    CHECK(s->found == 3);
    p.alignment = 4; /* leaves one that takes any pointer */
    OK(prepare(s, &p, 0));
    CHECK(s->found == 1);
    OK(multiply(s, &p));
}

static void gemm_refusals(void)
{
    const float one = 1, zero = 0;
    setup *s = calloc(1, sizeof *s);
    product p = plain;
    cublasLtMatmulHeuristicResult_t *split;
    cublasLtMatmulPreferenceOpaque_t unmade = {{0}};

    CHECK(s != NULL);
    p.shift = 1; /* A lies 4 bytes off, the algorithm was chosen for 256 */
    OK(prepare(s, &p, 0));
    EXPECT(CUBLAS_STATUS_NOT_SUPPORTED, multiply(s, &p));
    p = plain;
    OK(prepare(s, &p, 0));
    split = &s->results[2];
    EXPECT(CUBLAS_STATUS_INVALID_VALUE,
           cublasLtMatmul(s->handle, s->operation, &one, s->a_data, s->a, s->b_data, s->b, &zero, s->d_data,
                          s->d, s->d_data, s->d, &split->algo, s->workspace, split->workspaceSize - 1, NULL));
    EXPECT(CUBLAS_STATUS_INVALID_VALUE,
           cublasLtMatmul(s->handle, s->operation, &one, s->a_data, s->a, s->b_data, s->b, &zero, s->d_data,
                          s->d, s->d_data, s->d, &split->algo, (char *)s->workspace + 16,
                          split->workspaceSize, NULL));
    split->algo.data[1]++; /* bytes of another version */
    EXPECT(CUBLAS_STATUS_INVALID_VALUE,
           cublasLtMatmul(s->handle, s->operation, &one, s->a_data, s->a, s->b_data, s->b, &zero, s->d_data,
                          s->d, s->d_data, s->d, &split->algo, s->workspace, split->workspaceSize, NULL));
    EXPECT(CUBLAS_STATUS_INVALID_VALUE,
           cublasLtMatmulAlgoGetHeuristic(s->handle, s->operation, s->a, s->a, s->d, s->d, s->preference, 1,
                                          s->results, &s->found));
    EXPECT(CUBLAS_STATUS_INVALID_VALUE,
           cublasLtMatmulAlgoGetHeuristic(s->handle, s->operation, s->a, s->b, s->d, s->d, &unmade, 1,
                                          s->results, &s->found));
}

/* An older device has no bfloat16 and no TF32. */
static void gemm_old_device(void)
{
    setup *s = calloc(1, sizeof *s);
    product p = plain;

    CHECK(s != NULL);
    OK(prepare(s, &p, 0));
    p.type = CUDA_R_16F;
    OK(prepare(s, &p, 0));
    p.type = CUDA_R_16BF;
    EXPECT(CUBLAS_STATUS_NOT_SUPPORTED, prepare(s, &p, 0));
    p = plain;
    p.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
    EXPECT(CUBLAS_STATUS_NOT_SUPPORTED, prepare(s, &p, 0));
}

static void gemm_overrun(void)
{
    setup *s = calloc(1, sizeof *s);
    product p = plain;

    CHECK(s != NULL);
    OK(prepare(s, &p, 0));
    OK(cudaFree(s->b_data));
    OK(multiply(s, &p));
    EXPECT(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    EXPECT(CUBLAS_STATUS_EXECUTION_FAILED, multiply(s, &p));
}

const sim_case gemm_cases[] = {{"gemm_exact", gemm_exact},
                               {"gemm_rounded", gemm_rounded},
                               {"gemm_bits", gemm_bits},
                               {"gemm_narrow_sums", gemm_narrow_sums},
                               {"gemm_search", gemm_search},
                               {"gemm_refusals", gemm_refusals},
                               {"gemm_old_device", gemm_old_device},
                               {"gemm_overrun", gemm_overrun},
                               {NULL, NULL}};
