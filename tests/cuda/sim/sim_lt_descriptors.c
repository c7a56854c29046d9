/* Stand-in for libcublasLt: layouts, operations and preferences, which a caller makes and sets attribute by
 * attribute, each of exactly its size. */
#include <stdlib.h>
#include <string.h>

#include "sim_leaks.h"
#include "sim_lt.h"

_Static_assert(sizeof(lt_layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "layout");
_Static_assert(sizeof(lt_operation) <= sizeof(cublasLtMatmulDescOpaque_t), "operation");
_Static_assert(sizeof(lt_preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t), "preference");

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
    if (value == NULL || size != row->size)
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
    *made = (lt_layout){.magic = LT_LAYOUT_MAGIC,
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
    *made = (lt_operation){.magic = LT_OPERATION_MAGIC,
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
    *made = (lt_preference){.magic = LT_PREFERENCE_MAGIC,
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

cublasStatus_t cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    void *value, size_t size, size_t *written)
{
    return get_member(preference, find_member(PREFERENCE_ROWS, (int)attribute), value, size, written);
}
