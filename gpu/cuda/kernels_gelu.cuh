/* GELU by the error function, in place. */
#ifndef GPULOT_GPU_CUDA_KERNELS_GELU_CUH
#define GPULOT_GPU_CUDA_KERNELS_GELU_CUH

#include "gpu/cuda/kernels_dtypes.cuh"

/* x / 2 (1 + erf(x / sqrt(2))) as it is written. */
__device__ static inline float lot_gelu_erf(float x)
{
    return 0.5f * x * (1.0f + erff(x * 0.70710678118654752440f));
}

/* 2^x, to a few units of its last place; subnormal results may be zero. */
__device__ static inline float lot_exp2(float x)
{
#ifdef __CUDA_ARCH__
    float result;

    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
#else
    return exp2f(x);
#endif
}

/* The same function in half the instructions, for types whose memory brings twice the values: with a = |x|,
 * max(x, 0) - a 2^p(a), where 2^p(a) is the normal law's tail erfc(a / sqrt(2)) / 2. The polynomial is the
 * weighted minimax fit of degree 8 with p(0) = -1 on [0, 6]; behind it, it falls. Off by at most 2^-21.4 of
 * |x|, and for negative x above -6 by 2^-16 of the value itself, where the form above cancels. Of infinities
 * it makes NaNs. */
__device__ static inline float lot_gelu_tail(float x)
{
    const float a = fabsf(x);
    float p = -0x1.e4f562p-23f;

    p = fmaf(p, a, 0x1.c1071p-19f);
    p = fmaf(p, a, 0x1.cf5fdp-17f);
    p = fmaf(p, a, -0x1.712faep-11f);
    p = fmaf(p, a, 0x1.03b492p-7f);
    p = fmaf(p, a, -0x1.b38fc8p-5f);
    p = fmaf(p, a, -0x1.d5fcdcp-2f);
    p = fmaf(p, a, -0x1.26b08cp+0f);
    p = fmaf(p, a, -1.0f);
    return fmaf(-a, lot_exp2(p), fmaxf(x, 0.0f));
}

template <typename T> __device__ static inline float lot_gelu(float x)
{
    return T::in_word == 1 ? lot_gelu_erf(x) : lot_gelu_tail(x);
}

template <typename T> __device__ static inline uint4 lot_gelu_vector(const uint4 &in)
{
    uint4 out = in; /* every word is replaced */

#pragma unroll
    for (int i = 0; i < 4; i++) {
        float values[2];

        T::unpack(lot_word_of(in, i), values);
        for (int j = 0; j < T::in_word; j++)
            values[j] = lot_gelu<T>(values[j]);
        lot_set_word(out, i, T::pack(values));
    }
    return out;
}

/* Where the blocks have a thread for every vector, each thread does one: a small tensor is over soonest when
 * many multiprocessors share it. Else a block does one tile; a whole one is done without a question in
 * between, so that a thread has several loads under way before its first store. */
template <typename T> __device__ static inline void lot_gelu_body(void *values, int64_t count)
{
    const int lanes = 4 * T::in_word;
    const int64_t vectors = count / lanes;
    const int64_t tile = (int64_t)blockIdx.x * LOT_TILE, base = tile + threadIdx.x;
    const bool spread = (int64_t)gridDim.x * LOT_BLOCK >= vectors;
    uint4 *at = (uint4 *)values;
    typename T::element *one = (typename T::element *)values;

    if (!spread && tile + LOT_TILE <= vectors) {
        uint4 loaded[LOT_UNROLL];

#pragma unroll
        for (int i = 0; i < LOT_UNROLL; i++)
            loaded[i] = at[base + i * LOT_BLOCK];
#pragma unroll
        for (int i = 0; i < LOT_UNROLL; i++)
            at[base + i * LOT_BLOCK] = lot_gelu_vector<T>(loaded[i]);
    } else {
        const int64_t first = spread ? (int64_t)blockIdx.x * LOT_BLOCK + threadIdx.x : base;
        const int64_t step = spread ? vectors : LOT_BLOCK;

#pragma unroll 1
        for (int64_t i = first; i < vectors; i += step)
            at[i] = lot_gelu_vector<T>(at[i]);
    }
    if (blockIdx.x == 0 && vectors * lanes + threadIdx.x < count) {
        one += vectors * lanes + threadIdx.x;
        lot_store_one<T>(one, lot_gelu<T>(lot_load_one<T>(one)));
    }
}

#endif
