/* Stand-in for libcublasLt: handles, descriptors, and the product itself. */
#include <stdlib.h>
#include <string.h>

#include "sim_leaks.h"
#include "sim_lt.h"
#include "sim_stream.h"

#define HANDLE_MAGIC     0x4c54u
#define LAYOUT_MAGIC     0x4c41u
#define OPERATION_MAGIC  0x4d4du
#define PREFERENCE_MAGIC 0x5052u
#define WORKSPACE_ALIGN  256

typedef struct lt_handle {
    uint32_t magic;
} lt_handle;

_Static_assert(sizeof(lt_layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "layout");
_Static_assert(sizeof(lt_operation) <= sizeof(cublasLtMatmulDescOpaque_t), "operation");
_Static_assert(sizeof(lt_preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t), "preference");

/* ---- the library ---- */

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    lt_handle *made;
    int count = 0;

    if (handle == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (cudaGetDeviceCount(&count) != cudaSuccess)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    made = malloc(sizeof *made);
    if (made == NULL)
        return CUBLAS_STATUS_ALLOC_FAILED;
    made->magic = HANDLE_MAGIC;
    *handle = (cublasLtHandle_t)(void *)made;
    sim_count(SIM_LT_HANDLE, 1);
    return CUBLAS_STATUS_SUCCESS;
}

static bool is_handle(cublasLtHandle_t handle)
{
    return handle != NULL && ((const lt_handle *)(const void *)handle)->magic == HANDLE_MAGIC;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    sim_call(__func__);
    if (!is_handle(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    free(handle);
    sim_count(SIM_LT_HANDLE, -1);
    return CUBLAS_STATUS_SUCCESS;
}

size_t cublasLtGetVersion(void)
{
    return CUBLAS_VERSION;
}

size_t cublasLtGetCudartVersion(void)
{
    return CUDART_VERSION;
}

cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int *value)
{
    switch (type) {
    case MAJOR_VERSION:
        *value = CUBLAS_VER_MAJOR;
        return CUBLAS_STATUS_SUCCESS;
    case MINOR_VERSION:
        *value = CUBLAS_VER_MINOR;
        return CUBLAS_STATUS_SUCCESS;
    case PATCH_LEVEL:
        *value = CUBLAS_VER_PATCH;
        return CUBLAS_STATUS_SUCCESS;
    default:
        return CUBLAS_STATUS_INVALID_VALUE;
    }
}

const char *cublasLtGetStatusName(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
        return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
        return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
        return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
        return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
        return "CUBLAS_STATUS_UNKNOWN";
    }
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return cublasLtGetStatusName(status);
}

cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t capacity)
{
    (void)capacity;
    sim_call(__func__);
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- attributes of opaque structs ---- */

typedef struct member_row {
    int attribute;
    size_t offset;
    size_t size;
} member_row;

#define MEMBER(attribute, type, member)                                                                      \
    {                                                                                                        \
        attribute, offsetof(type, member), sizeof(((type *)NULL)->member)                                    \
    }

static const member_row *find_member(const member_row *rows, size_t count, int attribute)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].attribute == attribute)
            return &rows[i];
    return NULL;
}

static cublasStatus_t set_member(void *target, const member_row *row, const void *value, size_t size)
{
    if (row == NULL || value == NULL || size != row->size)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy((char *)target + row->offset, value, size);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t get_member(const void *source, const member_row *row, void *value, size_t size,
                                 size_t *written)
{
    if (row == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (written != NULL)
        *written = row->size;
    if (value == NULL || size < row->size)
        return size == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
    memcpy(value, (const char *)source + row->offset, row->size);
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- layouts ---- */

static const member_row layout_rows[] = {
    MEMBER(CUBLASLT_MATRIX_LAYOUT_TYPE, lt_layout, type),
    MEMBER(CUBLASLT_MATRIX_LAYOUT_ORDER, lt_layout, order),
    MEMBER(CUBLASLT_MATRIX_LAYOUT_ROWS, lt_layout, rows),
    MEMBER(CUBLASLT_MATRIX_LAYOUT_COLS, lt_layout, columns),
    MEMBER(CUBLASLT_MATRIX_LAYOUT_LD, lt_layout, leading),
    MEMBER(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, lt_layout, batch_count),
    MEMBER(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, lt_layout, batch_stride),
};
#define LAYOUT_ROWS layout_rows, sizeof layout_rows / sizeof layout_rows[0]

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, size_t size,
                                                 cudaDataType type, uint64_t rows, uint64_t columns,
                                                 int64_t leading)
{
    lt_layout *made = (lt_layout *)(void *)layout;

    if (layout == NULL || size < sizeof *made)
        return CUBLAS_STATUS_INVALID_VALUE;
    memset(layout, 0, size);
    *made = (lt_layout){.magic = LAYOUT_MAGIC,
                        .type = type,
                        .order = CUBLASLT_ORDER_COL,
                        .batch_count = 1,
                        .rows = rows,
                        .columns = columns,
                        .leading = leading};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading)
{
    sim_call(__func__);
    *layout = calloc(1, sizeof **layout);
    if (*layout == NULL)
        return CUBLAS_STATUS_ALLOC_FAILED;
    sim_count(SIM_LT_LAYOUT, 1);
    return cublasLtMatrixLayoutInit_internal(*layout, sizeof **layout, type, rows, columns, leading);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    sim_call(__func__);
    free(layout);
    sim_count(SIM_LT_LAYOUT, -1);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void *value,
                                                size_t size)
{
    return set_member(layout, find_member(LAYOUT_ROWS, (int)attribute), value, size);
}

cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, void *value,
                                                size_t size, size_t *written)
{
    return get_member(layout, find_member(LAYOUT_ROWS, (int)attribute), value, size, written);
}

/* ---- operations ---- */

static const member_row operation_rows[] = {
    MEMBER(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, lt_operation, compute_type),
    MEMBER(CUBLASLT_MATMUL_DESC_SCALE_TYPE, lt_operation, scale_type),
    MEMBER(CUBLASLT_MATMUL_DESC_POINTER_MODE, lt_operation, pointer_mode),
    MEMBER(CUBLASLT_MATMUL_DESC_TRANSA, lt_operation, transpose_a),
    MEMBER(CUBLASLT_MATMUL_DESC_TRANSB, lt_operation, transpose_b),
    MEMBER(CUBLASLT_MATMUL_DESC_EPILOGUE, lt_operation, epilogue),
    MEMBER(CUBLASLT_MATMUL_DESC_BIAS_POINTER, lt_operation, bias),
    MEMBER(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, lt_operation, bias_type),
};
#define OPERATION_ROWS operation_rows, sizeof operation_rows / sizeof operation_rows[0]

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t operation, size_t size,
                                               cublasComputeType_t compute_type, cudaDataType_t scale_type)
{
    lt_operation *made = (lt_operation *)(void *)operation;

    if (operation == NULL || size < sizeof *made)
        return CUBLAS_STATUS_INVALID_VALUE;
    memset(operation, 0, size);
    *made = (lt_operation){.magic = OPERATION_MAGIC,
                           .compute_type = (int32_t)compute_type,
                           .scale_type = scale_type,
                           .transpose_a = CUBLAS_OP_N,
                           .transpose_b = CUBLAS_OP_N,
                           .epilogue = CUBLASLT_EPILOGUE_DEFAULT,
                           .bias_type = -1};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *operation, cublasComputeType_t compute_type,
                                        cudaDataType_t scale_type)
{
    sim_call(__func__);
    *operation = calloc(1, sizeof **operation);
    if (*operation == NULL)
        return CUBLAS_STATUS_ALLOC_FAILED;
    sim_count(SIM_LT_OPERATION, 1);
    return cublasLtMatmulDescInit_internal(*operation, sizeof **operation, compute_type, scale_type);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation)
{
    sim_call(__func__);
    free(operation);
    sim_count(SIM_LT_OPERATION, -1);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t attribute, const void *value,
                                              size_t size)
{
    sim_call(__func__);
    return set_member(operation, find_member(OPERATION_ROWS, (int)attribute), value, size);
}

cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t attribute, void *value,
                                              size_t size, size_t *written)
{
    return get_member(operation, find_member(OPERATION_ROWS, (int)attribute), value, size, written);
}

/* ---- preferences ---- */

static const member_row preference_rows[] = {
    MEMBER(CUBLASLT_MATMUL_PREF_SEARCH_MODE, lt_preference, search_mode),
    MEMBER(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, lt_preference, workspace_bytes),
    MEMBER(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, lt_preference, reduction_mask),
    MEMBER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, lt_preference, alignment[0]),
    MEMBER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, lt_preference, alignment[1]),
    MEMBER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, lt_preference, alignment[2]),
    MEMBER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, lt_preference, alignment[3]),
};
#define PREFERENCE_ROWS preference_rows, sizeof preference_rows / sizeof preference_rows[0]

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference, size_t size)
{
    lt_preference *made = (lt_preference *)(void *)preference;

    if (preference == NULL || size < sizeof *made)
        return CUBLAS_STATUS_INVALID_VALUE;
    memset(preference, 0, size);
    *made = (lt_preference){.magic = PREFERENCE_MAGIC,
                            .reduction_mask = CUBLASLT_REDUCTION_SCHEME_MASK,
                            .alignment = {256, 256, 256, 256}};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
    sim_call(__func__);
    *preference = calloc(1, sizeof **preference);
    if (*preference == NULL)
        return CUBLAS_STATUS_ALLOC_FAILED;
    sim_count(SIM_LT_PREFERENCE, 1);
    return cublasLtMatmulPreferenceInit_internal(*preference, sizeof **preference);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    sim_call(__func__);
    free(preference);
    sim_count(SIM_LT_PREFERENCE, -1);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *value, size_t size)
{
    return set_member(preference, find_member(PREFERENCE_ROWS, (int)attribute), value, size);
}

/* ---- the search and the product ---- */

static bool gather(lt_product *product, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
                   cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d)
{
    if (operation == NULL || a == NULL || b == NULL || c == NULL || d == NULL)
        return false;
    memset(product, 0, sizeof *product);
    product->device = sim_device_at(sim_current_ordinal());
    product->operation = *(const lt_operation *)(const void *)operation;
    product->a = *(const lt_layout *)(const void *)a;
    product->b = *(const lt_layout *)(const void *)b;
    product->c = *(const lt_layout *)(const void *)c;
    product->d = *(const lt_layout *)(const void *)d;
    return product->operation.magic == OPERATION_MAGIC && product->a.magic == LAYOUT_MAGIC &&
           product->b.magic == LAYOUT_MAGIC && product->c.magic == LAYOUT_MAGIC &&
           product->d.magic == LAYOUT_MAGIC && product->device != NULL;
}

static bool aligned(const lt_product *product, uint32_t alignment)
{
    const lt_layout *layouts[] = {&product->a, &product->b, &product->c, &product->d};

    for (size_t i = 0; i < 4 && alignment > 0; i++)
        if (((uint64_t)layouts[i]->leading * lt_element_bytes(layouts[i]->type)) % alignment != 0)
            return false;
    return true;
}

/* Whether the search may offer an algorithm under these preferences. */
static bool acceptable(const lt_algorithm *algorithm, const lt_product *product, lt_shape shape,
                       const lt_preference *preference)
{
    for (int i = 0; i < 4; i++)
        if (preference->alignment[i] < algorithm->alignment)
            return false;
    return aligned(product, algorithm->alignment) &&
           lt_workspace_bytes(algorithm, shape) <= preference->workspace_bytes &&
           (algorithm->reduction & ~preference->reduction_mask) == 0;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int *found)
{
    lt_product product;
    lt_shape shape;
    cublasStatus_t status;

    sim_call(__func__);
    if (!is_handle(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!gather(&product, operation, a, b, c, d) || preference == NULL || wanted < 1 || results == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    *found = 0;
    status = lt_product_shape(&product, &shape);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    for (int i = 0; i < LT_ALGORITHM_COUNT && *found < wanted; i++) {
        const lt_algorithm *algorithm = lt_algorithm_at(i);
        cublasLtMatmulHeuristicResult_t *result = &results[*found];

        if (!acceptable(algorithm, &product, shape, (const lt_preference *)(const void *)preference))
            continue;
        memset(result, 0, sizeof *result);
        lt_algorithm_write(i, &result->algo);
        result->workspaceSize = lt_workspace_bytes(algorithm, shape);
        result->state = CUBLAS_STATUS_SUCCESS;
        result->wavesCount = 1;
        ++*found;
    }
    return *found > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t *bytes,
                                       cublasLtMatmulHeuristicResult_t *result)
{
    lt_product product;
    lt_shape shape;
    cublasStatus_t status;
    const lt_algorithm *algorithm = bytes != NULL ? lt_algorithm_of(bytes) : NULL;

    sim_call(__func__);
    if (!is_handle(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!gather(&product, operation, a, b, c, d) || algorithm == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    status = lt_product_shape(&product, &shape);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    if (!aligned(&product, algorithm->alignment))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    memset(result, 0, sizeof *result);
    result->algo = *bytes;
    result->workspaceSize = lt_workspace_bytes(algorithm, shape);
    result->wavesCount = 1;
    return CUBLAS_STATUS_SUCCESS;
}

/* What the real library would refuse or compute wrongly, as far as documents tell. */
static cublasStatus_t check_call(const lt_product *product, lt_shape shape)
{
    const uint32_t alignment = product->algorithm->alignment;
    const uintptr_t pointers = (uintptr_t)product->a_data | (uintptr_t)product->b_data |
                               (uintptr_t)product->d_data |
                               (product->beta != 0.0f ? (uintptr_t)product->c_data : 0);

    if (lt_workspace_bytes(product->algorithm, shape) > product->workspace_bytes)
        return CUBLAS_STATUS_INVALID_VALUE;
    if ((uintptr_t)product->workspace % WORKSPACE_ALIGN != 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (product->workspace_bytes > 0 && product->workspace == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    if ((alignment > 0 && pointers % alignment != 0) || !aligned(product, alignment))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (pointers % lt_element_bytes(product->d.type) != 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t submit(sim_device *device, const lt_product *described, lt_shape shape,
                             cudaStream_t stream)
{
    const sim_fault *fault = sim_fault_hit(SIM_FAULT_GEMM_STATUS, device->unit.gpu);
    lt_product *product;
    cudaError_t error;

    if (fault != NULL)
        return (cublasStatus_t)fault->code;
    product = malloc(sizeof *product);
    if (product == NULL)
        return CUBLAS_STATUS_ALLOC_FAILED;
    *product = *described;
    error = sim_stream_put(device, stream,
                           (sim_work){.name = "cublasLtMatmul",
                                      .kind = SIM_WORK_GEMM,
                                      .run = lt_product_run,
                                      .argument = product,
                                      .seconds = lt_product_seconds(product, shape),
                                      .output = product->d_data,
                                      .element_bytes = lt_element_bytes(product->d.type)});
    return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void *alpha,
                              const void *a_data, cublasLtMatrixLayout_t a, const void *b_data,
                              cublasLtMatrixLayout_t b, const void *beta, const void *c_data,
                              cublasLtMatrixLayout_t c, void *d_data, cublasLtMatrixLayout_t d,
                              const cublasLtMatmulAlgo_t *algorithm, void *workspace, size_t workspace_bytes,
                              cudaStream_t stream)
{
    lt_product product;
    lt_shape shape;
    cublasStatus_t status;
    sim_device *device;

    if (!is_handle(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!gather(&product, operation, a, b, c, d) || alpha == NULL || beta == NULL || a_data == NULL ||
        b_data == NULL || d_data == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    product.a_data = a_data;
    product.b_data = b_data;
    product.c_data = c_data;
    product.d_data = d_data;
    product.workspace = workspace;
    product.workspace_bytes = workspace_bytes;
    memcpy(&product.alpha, alpha, sizeof product.alpha);
    memcpy(&product.beta, beta, sizeof product.beta);
    product.algorithm = algorithm != NULL ? lt_algorithm_of(algorithm) : lt_algorithm_at(LT_ALGORITHM_ANY);
    if (product.algorithm == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    status = lt_product_shape(&product, &shape);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = check_call(&product, shape);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    if (sim_enter(__func__, &device) != cudaSuccess) {
        (void)sim_leave_quietly(cudaSuccess);
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    status = submit(device, &product, shape, stream);
    (void)sim_leave_quietly(cudaSuccess);
    return status;
}
