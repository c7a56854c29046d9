#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "gpu/cuda/kernels_body.cuh"

/* Blocks that cover `work` items, `each` a block: in [1, most]. */
static unsigned blocks_for(int64_t work, int64_t each, int64_t most)
{
    const int64_t blocks = (work + each - 1) / each;

    return (unsigned)(blocks < 1 ? 1 : blocks > most ? most : blocks);
}

#define GRID_MOST   0x7FFFFFFF
#define SPREAD_MOST 512 /* blocks; 86 multiprocessors take them at once, six each by their registers */

typedef void (*fill_kernel)(void *, uint64_t, uint32_t, float, int64_t, int64_t);
typedef void (*gelu_kernel)(void *, int64_t);
typedef void (*digest_kernel)(lot_digest_partial *, const void *, int64_t);
typedef void (*compare_kernel)(lot_compare_partial *, const void *, const void *, int64_t);

extern "C" cudaError_t lot_kernels_present(void)
{
    struct cudaFuncAttributes unused;

    return cudaFuncGetAttributes(&unused, lot_k_compare_float32);
}

extern "C" cudaError_t lot_launch_fill(void *to, const lot_fill *fill, cudaStream_t stream)
{
    static const fill_kernel kernels[2][LOT_DTYPE_COUNT] = {
        {lot_k_fill_uniform_float32, lot_k_fill_uniform_float16, lot_k_fill_uniform_bfloat16},
        {lot_k_fill_near_normal_float32, lot_k_fill_near_normal_float16, lot_k_fill_near_normal_bfloat16}};
    const int64_t lanes = lot_block_elements(fill->dtype);
    const int64_t blocks = (fill->first + fill->count - 1) / lanes - fill->first / lanes + 1;

    kernels[fill->distribution]
           [fill->dtype]<<<blocks_for(blocks, LOT_TILE, GRID_MOST), LOT_BLOCK, 0, stream>>>(
               to, fill->seed, fill->tensor, fill->scale, fill->first, fill->count);
    return cudaGetLastError();
}

extern "C" cudaError_t lot_launch_gelu(void *values, int64_t count, lot_dtype dtype, cudaStream_t stream)
{
    static const gelu_kernel kernels[LOT_DTYPE_COUNT] = {lot_k_gelu_float32, lot_k_gelu_float16,
                                                         lot_k_gelu_bfloat16};
    const int64_t vectors = count / (dtype == LOT_FLOAT32 ? 4 : 8);

    const int64_t each = vectors <= (int64_t)SPREAD_MOST * LOT_BLOCK ? LOT_BLOCK : LOT_TILE;

    kernels[dtype]<<<blocks_for(vectors, each, GRID_MOST), LOT_BLOCK, 0, stream>>>(values, count);
    return cudaGetLastError();
}

extern "C" cudaError_t lot_launch_digest(lot_digest_partial *partials, int *blocks, const void *from,
                                         int64_t bytes, lot_dtype dtype, cudaStream_t stream)
{
    static const digest_kernel kernels[LOT_DTYPE_COUNT] = {lot_k_digest_float32, lot_k_digest_float16,
                                                           lot_k_digest_bfloat16};
    const unsigned grid = blocks_for(bytes / LOT_VECTOR, LOT_TILE, LOT_PARTIALS);

    *blocks = (int)grid;
    kernels[dtype]<<<grid, LOT_BLOCK, 0, stream>>>(partials, from, bytes);
    return cudaGetLastError();
}

extern "C" cudaError_t lot_launch_compare(lot_compare_partial *partials, int *blocks, const void *a,
                                          const void *b, int64_t count, lot_dtype dtype, cudaStream_t stream)
{
    static const compare_kernel kernels[LOT_DTYPE_COUNT] = {lot_k_compare_float32, lot_k_compare_float16,
                                                            lot_k_compare_bfloat16};
    const unsigned grid = blocks_for(count / (dtype == LOT_FLOAT32 ? 4 : 8), LOT_BLOCK, LOT_PARTIALS);

    *blocks = (int)grid;
    kernels[dtype]<<<grid, LOT_BLOCK, 0, stream>>>(partials, a, b, count);
    return cudaGetLastError();
}
