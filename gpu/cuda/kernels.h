/* Kernels of the CUDA module: what to launch, from plain C. Nothing here waits or looks at earlier errors;
 * each function returns what the launch itself returned.
 *
 * All pointers are device memory aligned to LOT_ALIGNMENT, as a device module's alloc gives it. */
#ifndef GPULOT_GPU_CUDA_KERNELS_H
#define GPULOT_GPU_CUDA_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "gpu/device.h"

#define LOT_ALIGNMENT 256
#define LOT_BLOCK     256  /* threads of a block, in every kernel */
#define LOT_PARTIALS  2048 /* blocks of a reducing kernel at most, and so partial results */

/* What one block of a digest found. `special` is not 0 where an infinity or a NaN was read. */
typedef struct lot_digest_partial {
    uint64_t sum;
    uint64_t special;
} lot_digest_partial;

/* What one block of a comparison found. `first` is UINT64_MAX where nothing differs. */
typedef struct lot_compare_partial {
    uint64_t differing;
    uint64_t first;
} lot_compare_partial;

#ifdef __cplusplus
extern "C" {
#endif

/* cudaSuccess where the current device can run these kernels; else no image was built for it. */
cudaError_t lot_kernels_present(void);

/* Writes elements [first, first + count) of the tensor that `fill` describes to `to`. */
cudaError_t lot_launch_fill(void *to, const lot_fill *fill, cudaStream_t stream);

/* values[i] = x / 2 * (1 + erf(x / sqrt(2))), x = values[i]: in place, in float, rounded once. */
cudaError_t lot_launch_gelu(void *values, int64_t count, lot_dtype dtype, cudaStream_t stream);

/* Digests `bytes` bytes. *blocks partial results are written, at most LOT_PARTIALS: the digest is their sum
 * plus `bytes`. */
cudaError_t lot_launch_digest(lot_digest_partial *partials, int *blocks, const void *from, int64_t bytes,
                              lot_dtype dtype, cudaStream_t stream);

/* Compares `count` elements of `dtype` bit by bit. *blocks partial results are written, at most LOT_PARTIALS.
 */
cudaError_t lot_launch_compare(lot_compare_partial *partials, int *blocks, const void *a, const void *b,
                               int64_t count, lot_dtype dtype, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
