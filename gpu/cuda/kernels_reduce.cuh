/* Digest and comparison: each thread goes over its share of the vectors, each block leaves one partial
 * result. */
#ifndef GPULOT_GPU_CUDA_KERNELS_REDUCE_CUH
#define GPULOT_GPU_CUDA_KERNELS_REDUCE_CUH

#include "gpu/cuda/kernels_dtypes.cuh"
#include "gpu/digest.h"

/* ---- digest ---- */

__device__ static inline uint64_t lot_warp_sum(uint64_t value)
{
    for (int offset = 16; offset > 0; offset >>= 1)
        value += (uint64_t)__shfl_down_sync(0xFFFFFFFFu, (unsigned long long)value, offset);
    return value;
}

/* The sum over the block, in thread 0. `shared` has room for one value a warp. */
__device__ static inline uint64_t lot_block_sum(uint64_t value, uint64_t *shared)
{
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    value = lot_warp_sum(value);
    if (lane == 0)
        shared[warp] = value;
    __syncthreads();
    value = threadIdx.x < LOT_BLOCK / 32 ? shared[lane] : 0;
    value = lot_warp_sum(value);
    __syncthreads();
    return value;
}

/* Two words of the digest and their check for special values. */
template <typename T>
__device__ static inline void lot_digest_vector(const uint4 &vector, uint64_t index, uint64_t *sum,
                                                uint32_t *special)
{
    *sum += lot_digest_word((uint64_t)vector.y << 32 | vector.x, index);
    *sum += lot_digest_word((uint64_t)vector.w << 32 | vector.z, index + 1);
    *special |= (vector.x & T::exponents) + T::carry;
    *special |= (vector.y & T::exponents) + T::carry;
    *special |= (vector.z & T::exponents) + T::carry;
    *special |= (vector.w & T::exponents) + T::carry;
}

/* The rest that does not fill a vector, padded with zeros; a word wholly behind the end does not count. */
template <typename T>
__device__ static inline void lot_digest_rest(const unsigned char *from, int64_t bytes, uint64_t *sum,
                                              uint32_t *special)
{
    const int64_t start = bytes / LOT_VECTOR * LOT_VECTOR;

    for (int64_t word = start; word < bytes; word += 8) {
        uint64_t value = 0;

        for (int64_t i = word; i < bytes && i < word + 8; i++)
            value |= (uint64_t)from[i] << (8 * (i - word));
        *sum += lot_digest_word(value, (uint64_t)word / 8);
        *special |= ((uint32_t)value & T::exponents) + T::carry;
        *special |= ((uint32_t)(value >> 32) & T::exponents) + T::carry;
    }
}

template <typename T>
__device__ static inline void lot_digest_body(lot_digest_partial *partials, const void *from, int64_t bytes,
                                              uint64_t *shared)
{
    const int64_t vectors = bytes / LOT_VECTOR;
    const uint4 *at = (const uint4 *)from;
    uint64_t sum = 0;
    uint32_t special = 0;
    lot_digest_partial result;

    for (int64_t tile = (int64_t)blockIdx.x * LOT_TILE; tile < vectors;
         tile += (int64_t)gridDim.x * LOT_TILE) {
        const int64_t base = tile + threadIdx.x;

        if (tile + LOT_TILE <= vectors) {
            uint4 loaded[LOT_UNROLL];

#pragma unroll
            for (int i = 0; i < LOT_UNROLL; i++)
                loaded[i] = at[base + i * LOT_BLOCK];
#pragma unroll
            for (int i = 0; i < LOT_UNROLL; i++)
                lot_digest_vector<T>(loaded[i], (uint64_t)(base + i * LOT_BLOCK) * 2, &sum, &special);
        } else {
#pragma unroll 1
            for (int64_t i = base; i < vectors; i += LOT_BLOCK)
                lot_digest_vector<T>(at[i], (uint64_t)i * 2, &sum, &special);
        }
    }
    if (blockIdx.x == 0 && threadIdx.x == 0)
        lot_digest_rest<T>((const unsigned char *)from, bytes, &sum, &special);
    result.sum = lot_block_sum(sum, shared);
    result.special = lot_block_sum((special & T::tops) != 0 ? 1u : 0u, shared);
    if (threadIdx.x == 0)
        partials[blockIdx.x] = result;
}

/* ---- compare ---- */

__device__ static inline uint64_t lot_block_least(uint64_t value, uint64_t *shared)
{
    shared[threadIdx.x] = value;
    __syncthreads();
    for (unsigned half = LOT_BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half && shared[threadIdx.x + half] < shared[threadIdx.x])
            shared[threadIdx.x] = shared[threadIdx.x + half];
        __syncthreads();
    }
    value = shared[0];
    __syncthreads();
    return value;
}

template <typename T>
__device__ static inline void lot_compare_one(const typename T::element *a, const typename T::element *b,
                                              int64_t i, uint64_t *differing, uint64_t *first)
{
    if (a[i] == b[i])
        return;
    ++*differing;
    if ((uint64_t)i < *first)
        *first = (uint64_t)i;
}

/* Equal vectors are the rule, so only the unequal ones are looked at value by value. */
template <typename T>
__device__ static inline void lot_compare_body(lot_compare_partial *partials, const void *a, const void *b,
                                               int64_t count, uint64_t *shared)
{
    typedef typename T::element element;
    const int lanes = 4 * T::in_word;
    const int64_t vectors = count / lanes;
    const int64_t step = (int64_t)gridDim.x * LOT_BLOCK;
    uint64_t differing = 0, first = UINT64_MAX;
    lot_compare_partial result;

    for (int64_t i = (int64_t)blockIdx.x * LOT_BLOCK + threadIdx.x; i < vectors; i += step) {
        const uint4 p = ((const uint4 *)a)[i], q = ((const uint4 *)b)[i];

        if (((p.x ^ q.x) | (p.y ^ q.y) | (p.z ^ q.z) | (p.w ^ q.w)) != 0)
            for (int64_t j = i * lanes; j < (i + 1) * lanes; j++)
                lot_compare_one<T>((const element *)a, (const element *)b, j, &differing, &first);
    }
    if (blockIdx.x == 0 && vectors * lanes + threadIdx.x < count)
        lot_compare_one<T>((const element *)a, (const element *)b, vectors * lanes + threadIdx.x, &differing,
                           &first);
    result.first = lot_block_least(first, shared);
    result.differing = lot_block_sum(differing, shared);
    if (threadIdx.x == 0)
        partials[blockIdx.x] = result;
}

#endif
