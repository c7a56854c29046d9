/* Internals of the simulated cuBLASLt: what lies in its opaque structs. */
#ifndef GPULOT_SIM_LT_H
#define GPULOT_SIM_LT_H

#include <cublasLt.h>

#include "sim_core.h"

#define LT_LAYOUT_MAGIC     0x4c41u
#define LT_OPERATION_MAGIC  0x4d4du
#define LT_PREFERENCE_MAGIC 0x5052u

typedef struct lt_layout {
    uint32_t magic;
    int32_t type; /* cudaDataType_t */
    int32_t order;
    int32_t batch_count;
    uint64_t rows;
    uint64_t columns;
    int64_t leading;
    int64_t batch_stride;
} lt_layout;

typedef struct lt_operation {
    uint32_t magic;
    int32_t compute_type;
    int32_t scale_type;
    int32_t pointer_mode;
    int32_t transpose_a;
    int32_t transpose_b;
    uint32_t epilogue;
    int32_t bias_type; /* -1: that of D */
    const void *bias;
} lt_operation;

typedef struct lt_preference {
    uint32_t magic;
    uint32_t reduction_mask;
    uint32_t alignment[4]; /* of A, B, C, D in bytes */
    uint64_t workspace_bytes;
    uint32_t search_mode;
} lt_preference;

/* A way to compute a product. */
typedef struct lt_algorithm {
    int32_t id;
    uint32_t tile;
    uint32_t stages;
    int32_t split_k;
    uint32_t reduction;
    uint32_t swizzle;
    uint16_t inner_shape;
    uint16_t cluster_shape;
    uint32_t alignment;      /* of every pointer and column, in bytes; 0: the element's */
    double relative_seconds; /* against the model */
} lt_algorithm;

/* One product: the operation, its four layouts and its memory. C is read where beta is not 0. */
typedef struct lt_product {
    sim_device *device;
    lt_operation operation;
    lt_layout a, b, c, d;
    const void *a_data;
    const void *b_data;
    const void *c_data;
    void *d_data;
    void *workspace;
    size_t workspace_bytes;
    float alpha;
    float beta;
    const lt_algorithm *algorithm;
} lt_product;

/* Bytes of an element; 0 for a type that is not simulated. */
size_t lt_element_bytes(int32_t type);

/* Rows, columns and summed elements of a product, and what is wrong with it. `device` NULL: whatever device.
 */
typedef struct lt_shape {
    uint64_t m, n, k;
} lt_shape;

cublasStatus_t lt_product_shape(const lt_product *product, lt_shape *shape);

/* The algorithm behind the library's 64 bytes, NULL where they are none of it; and the other way round. */
const lt_algorithm *lt_algorithm_of(const cublasLtMatmulAlgo_t *bytes);
void lt_algorithm_write(int index, cublasLtMatmulAlgo_t *bytes);
#define LT_ALGORITHM_COUNT 6
#define LT_ALGORITHM_ANY   3 /* takes every product */
const lt_algorithm *lt_algorithm_at(int index);

/* Workspace that an algorithm needs for a product. */
size_t lt_workspace_bytes(const lt_algorithm *algorithm, lt_shape shape);

/* Seconds that the model gives for a product. */
double lt_product_seconds(const lt_product *product, lt_shape shape);

/* Computes it, on memory of product->device; the lock is not held. */
void lt_product_run(void *product);

#endif
