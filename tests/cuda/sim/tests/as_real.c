/* What of CUDA's libraries can be asked without a driver: names of codes, and the attributes of cuBLASLt's
 * descriptors, read and set in several sizes. Printed line by line, for as_real.sh. */
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#define ROOM 8 /* bytes of the largest attribute */

static void print_names(void)
{
    for (int code = 0; code < 1000; code++) {
        const char *name = cudaGetErrorName((cudaError_t)code);

        if (strcmp(name, "unrecognized error code") != 0)
            (void)printf("runtime %d: %s\n", code, name);
    }
    for (int code = 0; code < 20; code++)
        (void)printf("cuBLAS %d: %s\n", code, cublasLtGetStatusName((cublasStatus_t)code));
}

/* Reads an attribute into a room of every size, and sets it in that size to what was read. */
#define PRINT(kind, descriptor, attribute)                                                                   \
    for (size_t room = 1; room <= ROOM; room *= 2) {                                                         \
        unsigned char value[ROOM] = {0};                                                                     \
        size_t written = 0;                                                                                  \
        const int got =                                                                                      \
            (int)cublasLt##kind##GetAttribute(descriptor, CUBLASLT_##attribute, value, room, &written);      \
        const int set = (int)cublasLt##kind##SetAttribute(descriptor, CUBLASLT_##attribute, value, room);    \
                                                                                                             \
        (void)printf("%s in %zu bytes: read %d, set %d, value", #attribute, room, got, set);                 \
        for (size_t i = 0; i < room && got == 0; i++)                                                        \
            (void)printf(" %02x", value[i]);                                                                 \
        (void)printf("\n");                                                                                  \
    }

static int print_operation(void)
{
    cublasLtMatmulDesc_t made = NULL;

    if (cublasLtMatmulDescCreate(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F) != CUBLAS_STATUS_SUCCESS)
        return 1;
    PRINT(MatmulDesc, made, MATMUL_DESC_COMPUTE_TYPE)
    PRINT(MatmulDesc, made, MATMUL_DESC_SCALE_TYPE)
    PRINT(MatmulDesc, made, MATMUL_DESC_POINTER_MODE)
    PRINT(MatmulDesc, made, MATMUL_DESC_TRANSA)
    PRINT(MatmulDesc, made, MATMUL_DESC_TRANSB)
    PRINT(MatmulDesc, made, MATMUL_DESC_EPILOGUE)
    PRINT(MatmulDesc, made, MATMUL_DESC_BIAS_POINTER)
    PRINT(MatmulDesc, made, MATMUL_DESC_BIAS_DATA_TYPE)
    return cublasLtMatmulDescDestroy(made) != CUBLAS_STATUS_SUCCESS;
}

static int print_layout(void)
{
    cublasLtMatrixLayout_t made = NULL;

    if (cublasLtMatrixLayoutCreate(&made, CUDA_R_16BF, 24, 7, 32) != CUBLAS_STATUS_SUCCESS)
        return 1;
    PRINT(MatrixLayout, made, MATRIX_LAYOUT_TYPE)
    PRINT(MatrixLayout, made, MATRIX_LAYOUT_ORDER)
    PRINT(MatrixLayout, made, MATRIX_LAYOUT_ROWS)
    PRINT(MatrixLayout, made, MATRIX_LAYOUT_COLS)
    PRINT(MatrixLayout, made, MATRIX_LAYOUT_LD)
    PRINT(MatrixLayout, made, MATRIX_LAYOUT_BATCH_COUNT)
    PRINT(MatrixLayout, made, MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
    return cublasLtMatrixLayoutDestroy(made) != CUBLAS_STATUS_SUCCESS;
}

static int print_preference(void)
{
    cublasLtMatmulPreference_t made = NULL;

    if (cublasLtMatmulPreferenceCreate(&made) != CUBLAS_STATUS_SUCCESS)
        return 1;
    PRINT(MatmulPreference, made, MATMUL_PREF_SEARCH_MODE)
    PRINT(MatmulPreference, made, MATMUL_PREF_MAX_WORKSPACE_BYTES)
    PRINT(MatmulPreference, made, MATMUL_PREF_REDUCTION_SCHEME_MASK)
    PRINT(MatmulPreference, made, MATMUL_PREF_MIN_ALIGNMENT_A_BYTES)
    PRINT(MatmulPreference, made, MATMUL_PREF_MIN_ALIGNMENT_B_BYTES)
    PRINT(MatmulPreference, made, MATMUL_PREF_MIN_ALIGNMENT_C_BYTES)
    PRINT(MatmulPreference, made, MATMUL_PREF_MIN_ALIGNMENT_D_BYTES)
    return cublasLtMatmulPreferenceDestroy(made) != CUBLAS_STATUS_SUCCESS;
}

int main(void)
{
    print_names();
    return print_operation() || print_layout() || print_preference();
}
