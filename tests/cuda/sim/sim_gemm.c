/* The product itself: float sums in the order of k, on the host. Column-major as in cuBLASLt:
 * D[m, n] = epilogue(alpha * op(A)[m, k] * op(B)[k, n] + beta * C[m, n] + bias[m]). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim_lt.h"
#include "sim_memory.h"

#define LAUNCH_OVERHEAD 4e-6 /* seconds on the device's clock */

__extension__ typedef _Float16 float16; /* the compiler's own: not the product's conversions once more */

size_t lt_element_bytes(int32_t type)
{
    switch (type) {
    case CUDA_R_32F:
        return 4;
    case CUDA_R_16F:
    case CUDA_R_16BF:
        return 2;
    default:
        return 0;
    }
}

/* ---- elements ---- */

static float load_element(const char *data, int32_t type, size_t index)
{
    uint32_t bits;
    uint16_t half;
    float value;

    if (type == CUDA_R_32F) {
        memcpy(&value, data + 4 * index, sizeof value);
        return value;
    }
    memcpy(&half, data + 2 * index, sizeof half);
    if (type == CUDA_R_16F) {
        float16 narrow;

        memcpy(&narrow, &half, sizeof narrow);
        return (float)narrow;
    }
    bits = (uint32_t)half << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint16_t to_bfloat16(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
        return (uint16_t)(bits >> 16 | 0x40u); /* a NaN stays one */
    return (uint16_t)((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

static void store_element(char *data, int32_t type, size_t index, float value)
{
    uint16_t half;

    if (type == CUDA_R_32F) {
        memcpy(data + 4 * index, &value, sizeof value);
        return;
    }
    if (type == CUDA_R_16F) {
        const float16 narrow = (float16)value;

        memcpy(&half, &narrow, sizeof half);
    } else {
        half = to_bfloat16(value);
    }
    memcpy(data + 2 * index, &half, sizeof half);
}

/* Ten bits of significand, to nearest even. */
static float to_tf32(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7F800000u) != 0x7F800000u)
        bits = (bits + 0xFFFu + ((bits >> 13) & 1u)) & ~0x1FFFu;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- what can be computed ---- */

static bool layout_fits(const lt_layout *layout)
{
    return layout->batch_count == 1 && layout->rows > 0 && layout->columns > 0 &&
           layout->leading >= (int64_t)layout->rows;
}

/* Kernels count rows and columns in 32 bits. */
static bool countable(lt_shape shape)
{
    return shape.m <= INT32_MAX && shape.n <= INT32_MAX && shape.k <= INT32_MAX;
}

/* Which arithmetic which device has. */
static bool device_computes(const lt_product *product)
{
    const sim_gpu *gpu = &sim_config_get()->gpus[product->device->unit.gpu];
    const int capability = gpu->cc_major * 10 + gpu->cc_minor;

    if (product->a.type == CUDA_R_16F && capability < 53)
        return false;
    if (product->a.type == CUDA_R_16BF || product->operation.compute_type == CUBLAS_COMPUTE_32F_FAST_TF32)
        return capability >= 80;
    return true;
}

static bool arithmetic_known(const lt_product *product)
{
    const lt_operation *operation = &product->operation;
    const uint32_t epilogues = CUBLASLT_EPILOGUE_DEFAULT | CUBLASLT_EPILOGUE_BIAS | CUBLASLT_EPILOGUE_GELU;
    const bool compute =
        operation->compute_type == CUBLAS_COMPUTE_32F ||
        operation->compute_type == CUBLAS_COMPUTE_32F_PEDANTIC ||
        (operation->compute_type == CUBLAS_COMPUTE_32F_FAST_TF32 && product->a.type == CUDA_R_32F);

    return compute && operation->scale_type == CUDA_R_32F && (operation->epilogue & ~epilogues) == 0 &&
           operation->pointer_mode == CUBLASLT_POINTER_MODE_HOST && lt_element_bytes(product->a.type) > 0 &&
           product->a.type == product->b.type && product->c.type == product->d.type &&
           (product->d.type == product->a.type || product->d.type == CUDA_R_32F) &&
           product->a.order == CUBLASLT_ORDER_COL && product->b.order == CUBLASLT_ORDER_COL &&
           product->c.order == CUBLASLT_ORDER_COL && product->d.order == CUBLASLT_ORDER_COL;
}

cublasStatus_t lt_product_shape(const lt_product *product, lt_shape *shape)
{
    const bool ta = product->operation.transpose_a != CUBLAS_OP_N;
    const bool tb = product->operation.transpose_b != CUBLAS_OP_N;
    const uint64_t k_of_b = tb ? product->b.columns : product->b.rows;

    shape->m = ta ? product->a.columns : product->a.rows;
    shape->k = ta ? product->a.rows : product->a.columns;
    shape->n = tb ? product->b.rows : product->b.columns;
    if (!layout_fits(&product->a) || !layout_fits(&product->b) || !layout_fits(&product->c) ||
        !layout_fits(&product->d))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (k_of_b != shape->k || product->d.rows != shape->m || product->d.columns != shape->n ||
        product->c.rows != shape->m || product->c.columns != shape->n)
        return CUBLAS_STATUS_INVALID_VALUE;
    if ((product->operation.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0 && product->operation.bias == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    return countable(*shape) && arithmetic_known(product) && device_computes(product)
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_NOT_SUPPORTED;
}

/* The slower of arithmetic and memory; half types run at the full rate, TF32 at half, float at an eighth. */
double lt_product_seconds(const lt_product *product, lt_shape shape)
{
    const double element = (double)lt_element_bytes(product->a.type);
    const double m = (double)shape.m, n = (double)shape.n, k = (double)shape.k;
    double rate = sim_config_get()->flops_per_second;
    double arithmetic, memory;

    if (product->a.type == CUDA_R_32F)
        rate /= product->operation.compute_type == CUBLAS_COMPUTE_32F_FAST_TF32 ? 2 : 8;
    arithmetic = 2 * m * n * k / rate;
    memory = (m * k + k * n + m * n) * element / sim_config_get()->bytes_per_second;
    return LAUNCH_OVERHEAD +
           (arithmetic > memory ? arithmetic : memory) * product->algorithm->relative_seconds;
}

/* ---- computing ---- */

/* Where the parts of a product lie, as the simulator reaches them; NULL where they are not needed. */
typedef struct gemm_memory {
    const char *a;
    const char *b;
    const char *c;
    const char *bias;
    char *d;
} gemm_memory;

static size_t span_bytes(const lt_layout *layout)
{
    return ((size_t)(layout->columns - 1) * (size_t)layout->leading + (size_t)layout->rows) *
           lt_element_bytes(layout->type);
}

static int32_t bias_type(const lt_product *product)
{
    return product->operation.bias_type < 0 ? product->d.type : product->operation.bias_type;
}

static bool reach(const lt_product *p, lt_shape shape, gemm_memory *memory)
{
    const bool biased = (p->operation.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;

    memset(memory, 0, sizeof *memory);
    memory->a = sim_memory_check(p->device, p->a_data, span_bytes(&p->a), "matmul A");
    memory->b = sim_memory_check(p->device, p->b_data, span_bytes(&p->b), "matmul B");
    memory->d = sim_memory_check(p->device, p->d_data, span_bytes(&p->d), "matmul D");
    if (p->beta != 0.0f)
        memory->c = sim_memory_check(p->device, p->c_data, span_bytes(&p->c), "matmul C");
    if (biased)
        memory->bias = sim_memory_check(p->device, p->operation.bias,
                                        shape.m * lt_element_bytes(bias_type(p)), "matmul bias");
    if (p->workspace_bytes > 0 &&
        sim_memory_check(p->device, p->workspace, p->workspace_bytes, "matmul workspace") == NULL)
        return false;
    return memory->a != NULL && memory->b != NULL && memory->d != NULL &&
           (p->beta == 0.0f || memory->c != NULL) && (!biased || memory->bias != NULL);
}

/* op(matrix)[row, column] of the whole matrix as floats, column by column. */
static void unpack(float *to, const char *data, const lt_layout *layout, bool transposed, bool tf32)
{
    const size_t rows = transposed ? layout->columns : layout->rows;
    const size_t columns = transposed ? layout->rows : layout->columns;

    for (size_t column = 0; column < columns; column++) {
        for (size_t row = 0; row < rows; row++) {
            const size_t index =
                transposed ? row * (size_t)layout->leading + column : column * (size_t)layout->leading + row;
            const float value = load_element(data, layout->type, index);

            to[column * rows + row] = tf32 ? to_tf32(value) : value;
        }
    }
}

/* sums[m] += a[m, k] * b[k] for k in [first, last). */
static void accumulate(float *restrict sums, const float *restrict a, const float *restrict b, size_t m,
                       size_t first, size_t last)
{
    for (size_t k = first; k < last; k++) {
        const float factor = b[k];
        const float *column = a + k * m;

        for (size_t i = 0; i < m; i++)
            sums[i] += column[i] * factor;
    }
}

static float gelu_tanh(float x)
{
    return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

static void finish_column(const lt_product *p, const gemm_memory *memory, const float *sums, size_t m,
                          size_t column)
{
    for (size_t i = 0; i < m; i++) {
        float value = p->alpha * sums[i];

        if (memory->c != NULL)
            value += p->beta * load_element(memory->c, p->c.type, column * (size_t)p->c.leading + i);
        if (memory->bias != NULL)
            value += load_element(memory->bias, bias_type(p), i);
        if ((p->operation.epilogue & CUBLASLT_EPILOGUE_GELU) != 0)
            value = gelu_tanh(value);
        store_element(memory->d, p->d.type, column * (size_t)p->d.leading + i, value);
    }
}

/* A value as it comes back from memory of the output's type. */
static float through_output(const lt_product *p, float value)
{
    char stored[sizeof value];

    store_element(stored, p->d.type, 0, value);
    return load_element(stored, p->d.type, 0);
}

/* Each part of the sum over k on its own, then added: as a split sum is on a GPU. */
static void compute(const lt_product *p, lt_shape shape, const gemm_memory *memory, float *a, float *b,
                    float *sums)
{
    const bool tf32 = p->operation.compute_type == CUBLAS_COMPUTE_32F_FAST_TF32;
    const bool narrow = p->algorithm->reduction == CUBLASLT_REDUCTION_SCHEME_INPLACE ||
                        p->algorithm->reduction == CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
    const size_t parts = (size_t)p->algorithm->split_k;
    const size_t step = (shape.k + parts - 1) / parts;

    unpack(a, memory->a, &p->a, p->operation.transpose_a != CUBLAS_OP_N, tf32);
    unpack(b, memory->b, &p->b, p->operation.transpose_b != CUBLAS_OP_N, tf32);
    for (size_t column = 0; column < shape.n; column++) {
        memset(sums, 0, 2 * shape.m * sizeof *sums);
        for (size_t first = 0; first < shape.k; first += step) {
            const size_t last = first + step < shape.k ? first + step : shape.k;
            float *part = sums + shape.m;

            memset(part, 0, shape.m * sizeof *part);
            accumulate(part, a, b + column * shape.k, shape.m, first, last);
            for (size_t i = 0; i < shape.m; i++)
                sums[i] =
                    narrow ? through_output(p, sums[i] + through_output(p, part[i])) : sums[i] + part[i];
        }
        finish_column(p, memory, sums, shape.m, column);
    }
}

void lt_product_run(void *argument)
{
    const lt_product *product = argument;
    gemm_memory memory;
    lt_shape shape;
    float *scratch;

    (void)lt_product_shape(product, &shape);
    if (!reach(product, shape, &memory))
        return;
    scratch = malloc((shape.m * shape.k + shape.k * shape.n + 2 * shape.m) * sizeof *scratch);
    if (scratch == NULL)
        abort();
    compute(product, shape, &memory, scratch, scratch + shape.m * shape.k,
            scratch + shape.m * shape.k + shape.k * shape.n);
    free(scratch);
}
