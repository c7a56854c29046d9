/* Stand-in for libcublasLt: the library, the search and the product. */
#include <stdlib.h>
#include <string.h>

#include "sim_leaks.h"
#include "sim_lt.h"
#include "sim_stream.h"

#define HANDLE_MAGIC    0x4c54u
#define WORKSPACE_ALIGN 256

typedef struct lt_handle {
    uint32_t magic;
} lt_handle;

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
    case CUBLAS_STATUS_MAPPING_ERROR:
        return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
        return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_LICENSE_ERROR:
        return "CUBLAS_STATUS_LICENSE_ERROR";
    default:
        return "unrecognized status";
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
    return product->operation.magic == LT_OPERATION_MAGIC && product->a.magic == LT_LAYOUT_MAGIC &&
           product->b.magic == LT_LAYOUT_MAGIC && product->c.magic == LT_LAYOUT_MAGIC &&
           product->d.magic == LT_LAYOUT_MAGIC && product->device != NULL;
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
    const lt_preference *preferred = (const lt_preference *)(const void *)preference;
    lt_product product;
    lt_shape shape;
    cublasStatus_t status;

    sim_call(__func__);
    if (!is_handle(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!gather(&product, operation, a, b, c, d) || wanted < 1 || results == NULL || preferred == NULL ||
        preferred->magic != LT_PREFERENCE_MAGIC)
        return CUBLAS_STATUS_INVALID_VALUE;
    *found = 0;
    status = lt_product_shape(&product, &shape);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    for (int i = 0; i < LT_ALGORITHM_COUNT && *found < wanted; i++) {
        const lt_algorithm *algorithm = lt_algorithm_at(i);
        cublasLtMatmulHeuristicResult_t *result = &results[*found];

        if (!acceptable(algorithm, &product, shape, preferred))
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
