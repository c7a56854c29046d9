/* The algorithms that the simulated cuBLASLt knows: few, but with all that a caller may look at. The first is
 * not the fastest, so that tuning has something to find; one splits the sum, so that the choice changes bits.
 * The fastest split it too, and add its parts in the output's type: with few bits where that has few.
 */
#include <stdlib.h>
#include <string.h>

#include "sim_lt.h"

#define ALGORITHM_MAGIC ((uint64_t)0x53494d4c) /* "SIML" */

static const lt_algorithm algorithms[LT_ALGORITHM_COUNT] = {
    {.id = 66,
     .tile = CUBLASLT_MATMUL_TILE_128x128,
     .stages = CUBLASLT_MATMUL_STAGES_64x3,
     .split_k = 1,
     .reduction = CUBLASLT_REDUCTION_SCHEME_NONE,
     .alignment = 16,
     .relative_seconds = 1.0},
    {.id = 67,
     .tile = CUBLASLT_MATMUL_TILE_128x64,
     .stages = CUBLASLT_MATMUL_STAGES_64x4,
     .split_k = 1,
     .reduction = CUBLASLT_REDUCTION_SCHEME_NONE,
     .swizzle = 1,
     .alignment = 16,
     .relative_seconds = 0.9},
    {.id = 66,
     .tile = CUBLASLT_MATMUL_TILE_64x64,
     .stages = CUBLASLT_MATMUL_STAGES_32x3,
     .split_k = 2,
     .reduction = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE,
     .alignment = 16,
     .relative_seconds = 1.1},
    {.id = 0,
     .tile = CUBLASLT_MATMUL_TILE_32x32,
     .stages = CUBLASLT_MATMUL_STAGES_8x4,
     .split_k = 1,
     .reduction = CUBLASLT_REDUCTION_SCHEME_NONE,
     .alignment = 0,
     .relative_seconds = 2.0},
    {.id = 66,
     .tile = CUBLASLT_MATMUL_TILE_64x64,
     .stages = CUBLASLT_MATMUL_STAGES_32x3,
     .split_k = 2,
     .reduction = CUBLASLT_REDUCTION_SCHEME_INPLACE,
     .alignment = 16,
     .relative_seconds = 0.7},
    {.id = 66,
     .tile = CUBLASLT_MATMUL_TILE_64x64,
     .stages = CUBLASLT_MATMUL_STAGES_32x3,
     .split_k = 2,
     .reduction = CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE,
     .alignment = 16,
     .relative_seconds = 0.8},
};

const lt_algorithm *lt_algorithm_at(int index)
{
    return &algorithms[index];
}

void lt_algorithm_write(int index, cublasLtMatmulAlgo_t *bytes)
{
    memset(bytes, 0, sizeof *bytes);
    bytes->data[0] = ALGORITHM_MAGIC << 32 | (unsigned)index;
    bytes->data[1] = cublasLtGetVersion(); /* the bytes are good for one version of the library */
}

const lt_algorithm *lt_algorithm_of(const cublasLtMatmulAlgo_t *bytes)
{
    const uint64_t index = bytes->data[0] & 0xFFFFFFFFu;

    if (bytes->data[0] >> 32 != ALGORITHM_MAGIC || index >= LT_ALGORITHM_COUNT ||
        bytes->data[1] != cublasLtGetVersion())
        return NULL;
    return &algorithms[index];
}

size_t lt_workspace_bytes(const lt_algorithm *algorithm, lt_shape shape)
{
    if (algorithm->split_k == 1)
        return 0;
    if (algorithm->reduction == CUBLASLT_REDUCTION_SCHEME_INPLACE)
        return shape.m * shape.n * sizeof(uint32_t); /* counters that keep the order */
    return (size_t)algorithm->split_k * shape.m * shape.n * sizeof(float);
}

/* ---- attributes ---- */

/* A room of another size than the attribute's is refused. */
static cublasStatus_t give(const void *value, size_t size, void *to, size_t room, size_t *written)
{
    if (written != NULL)
        *written = size;
    if (to == NULL || room != size)
        return room == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, value, size);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *bytes,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, void *to,
                                                    size_t room, size_t *written)
{
    static const uint32_t none = 0;
    const lt_algorithm *algorithm = bytes != NULL ? lt_algorithm_of(bytes) : NULL;

    sim_call(__func__);
    if (algorithm == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    switch (attribute) {
    case CUBLASLT_ALGO_CONFIG_ID:
        return give(&algorithm->id, sizeof algorithm->id, to, room, written);
    case CUBLASLT_ALGO_CONFIG_TILE_ID:
        return give(&algorithm->tile, sizeof algorithm->tile, to, room, written);
    case CUBLASLT_ALGO_CONFIG_SPLITK_NUM:
        return give(&algorithm->split_k, sizeof algorithm->split_k, to, room, written);
    case CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME:
        return give(&algorithm->reduction, sizeof algorithm->reduction, to, room, written);
    case CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING:
        return give(&algorithm->swizzle, sizeof algorithm->swizzle, to, room, written);
    case CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION:
        return give(&none, sizeof none, to, room, written);
    case CUBLASLT_ALGO_CONFIG_STAGES_ID:
        return give(&algorithm->stages, sizeof algorithm->stages, to, room, written);
    case CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID:
        return give(&algorithm->inner_shape, sizeof algorithm->inner_shape, to, room, written);
    case CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID:
        return give(&algorithm->cluster_shape, sizeof algorithm->cluster_shape, to, room, written);
    default:
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
}

cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t *bytes,
                                                 cublasLtMatmulAlgoCapAttributes_t attribute, void *to,
                                                 size_t room, size_t *written)
{
    const lt_algorithm *algorithm = bytes != NULL ? lt_algorithm_of(bytes) : NULL;
    const int32_t splits = algorithm != NULL && algorithm->split_k > 1;
    const uint64_t numerical = 0;

    sim_call(__func__);
    if (algorithm == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    switch (attribute) {
    case CUBLASLT_ALGO_CAP_SPLITK_SUPPORT:
        return give(&splits, sizeof splits, to, room, written);
    case CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS:
        return give(&numerical, sizeof numerical, to, room, written);
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES:
        return give(&algorithm->alignment, sizeof algorithm->alignment, to, room, written);
    default:
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
}
