/* Filling: each vector is one block of the generator (gpu/generator.h). */
#ifndef GPULOT_GPU_CUDA_KERNELS_FILL_CUH
#define GPULOT_GPU_CUDA_KERNELS_FILL_CUH

#include "gpu/cuda/kernels_dtypes.cuh"
#include "gpu/generator.h"

/* A law gives the numbers of the elements that one word of the generator makes. */
struct lot_uniform_law {
    static const lot_distribution distribution = LOT_UNIFORM;

    __device__ static inline int32_t only(uint32_t word)
    {
        return lot_uniform_single(word);
    }
    __device__ static inline int32_t first(uint32_t word)
    {
        return lot_uniform_first(word);
    }
    __device__ static inline int32_t second(uint32_t word)
    {
        return lot_uniform_second(word);
    }
};

struct lot_near_normal_law {
    static const lot_distribution distribution = LOT_NEAR_NORMAL;

    __device__ static inline int32_t only(uint32_t word)
    {
        return lot_normal_first(word);
    }
    __device__ static inline int32_t first(uint32_t word)
    {
        return lot_normal_first(word);
    }
    __device__ static inline int32_t second(uint32_t word)
    {
        return lot_normal_second(word);
    }
};

/* What is the same for all elements of a fill. */
struct lot_filling {
    uint64_t seed;
    uint32_t tensor;
    float factor;
};

/* The values of word `i` of a block, in_word of them. */
template <typename T, typename D>
__device__ static inline void lot_word_values(const lot_block &random, int i, float factor, float *values)
{
    const uint32_t word = random.word[i];

    values[0] = (float)(T::in_word == 1 ? D::only(word) : D::first(word)) * factor;
    if (T::in_word == 2)
        values[1] = (float)D::second(word) * factor;
}

template <typename T, typename D>
__device__ static inline uint4 lot_fill_vector(const lot_filling &f, uint64_t block)
{
    const lot_block random = lot_philox(f.seed, f.tensor, block);
    uint4 vector;

#pragma unroll
    for (int i = 0; i < 4; i++) {
        float values[2];

        lot_word_values<T, D>(random, i, f.factor, values);
        lot_set_word(vector, i, T::pack(values));
    }
    return vector;
}

/* The elements of one block that lie in [first, end). `out` is the place of element `first`. */
template <typename T, typename D>
__device__ static inline void lot_fill_part(typename T::element *out, const lot_filling &f, int64_t block,
                                            int64_t first, int64_t end)
{
    const lot_block random = lot_philox(f.seed, f.tensor, (uint64_t)block);

    for (int i = 0; i < 4; i++) {
        float values[2];

        lot_word_values<T, D>(random, i, f.factor, values);
        for (int j = 0; j < T::in_word; j++) {
            const int64_t element = (4 * block + i) * T::in_word + j;

            if (element >= first && element < end)
                lot_store_one<T>(out + (element - first), values[j]);
        }
    }
}

/* Each thread makes LOT_UNROLL blocks of the generator, each one store. Where the tile lies wholly in the
 * range and its place is aligned, without a question in between, so that the blocks' long chains run side by
 * side and the keys are worked out once. */
template <typename T, typename D>
__device__ static inline void lot_fill_body(void *to, uint64_t seed, uint32_t tensor, float scale,
                                            int64_t first, int64_t count)
{
    const int lanes = 4 * T::in_word;
    const lot_filling f = {seed, tensor, lot_fill_factor(D::distribution, T::dtype, scale)};
    const int64_t tile = (int64_t)blockIdx.x * LOT_TILE, base = first / lanes + tile + threadIdx.x;
    const int64_t end = first + count;

    if (first % lanes == 0 && (tile + LOT_TILE) * lanes <= count) {
        uint4 *at = (uint4 *)to + tile + threadIdx.x;

#pragma unroll
        for (int i = 0; i < LOT_UNROLL; i++)
            at[i * LOT_BLOCK] = lot_fill_vector<T, D>(f, (uint64_t)(base + i * LOT_BLOCK));
        return;
    }
    for (int i = 0; i < LOT_UNROLL; i++)
        if ((base + i * LOT_BLOCK) * lanes < end)
            lot_fill_part<T, D>((typename T::element *)to, f, base + i * LOT_BLOCK, first, end);
}

#endif
