/* The kernels themselves. kernels.cu compiles them for GPUs; the tests compile them a second time with a C++
 * compiler, so nothing here but threadIdx, blockIdx, blockDim, gridDim, __shared__, __syncthreads,
 * __shfl_*_sync and plain C++.
 *
 * Memory is read and written 16 bytes at a time: one `uint4` holds four float32 or eight half values. Buffers
 * are aligned to that; what does not fill a vector at the end is done value by value. */
#ifndef GPULOT_GPU_CUDA_KERNELS_BODY_CUH
#define GPULOT_GPU_CUDA_KERNELS_BODY_CUH

#include <stdint.h>

#include "gpu/cuda/kernels.h"
#include "gpu/digest.h"
#include "gpu/generator.h"

#define LOT_VECTOR 16 /* bytes read or written at once */
#define LOT_UNROLL 4  /* vectors of one thread in flight at once */
#define LOT_TILE   ((int64_t)LOT_BLOCK * LOT_UNROLL)

/* ---- the three dtypes: how values lie in a vector ---- */

__device__ static inline uint32_t lot_word_of(const uint4 &vector, int i)
{
    return i == 0 ? vector.x : i == 1 ? vector.y : i == 2 ? vector.z : vector.w;
}

__device__ static inline void lot_set_word(uint4 &vector, int i, uint32_t word)
{
    (i == 0 ? vector.x : i == 1 ? vector.y : i == 2 ? vector.z : vector.w) = word;
}

__device__ static inline float lot_bits_float(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A dtype says: `element` its storage, `in_word` how many lie in 32 bits; unpack and pack between a word and
 * floats, to nearest even; `exponents` all exponent bits of a word and `carry` what, added to a word masked
 * with them, sets the top bit of a value exactly where its exponent is all ones; `tops` these top bits. */
struct lot_float32 {
    static const lot_dtype dtype = LOT_FLOAT32;
    typedef uint32_t element;
    static const int in_word = 1;
    static const uint32_t exponents = 0x7F800000u, carry = 0x00800000u, tops = 0x80000000u;

    __device__ static inline void unpack(uint32_t word, float *values)
    {
        values[0] = lot_bits_float(word);
    }
    __device__ static inline uint32_t pack(const float *values)
    {
        return lot_float_bits(values[0]);
    }
};

/* On a GPU the conversions are instructions. Elsewhere they are gpu/generator.h's, and a NaN, which those do
 * not take, stays one. */
struct lot_float16 {
    static const lot_dtype dtype = LOT_FLOAT16;
    typedef uint16_t element;
    static const int in_word = 2;
    static const uint32_t exponents = 0x7C007C00u, carry = 0x04000400u, tops = 0x80008000u;

    __device__ static inline void unpack(uint32_t word, float *values)
    {
#ifdef __CUDA_ARCH__
        __half2 pair;

        memcpy(&pair, &word, sizeof pair);
        values[0] = __low2float(pair);
        values[1] = __high2float(pair);
#else
        values[0] = lot_from_float16((uint16_t)word);
        values[1] = lot_from_float16((uint16_t)(word >> 16));
#endif
    }
    __device__ static inline uint32_t pack(const float *values)
    {
#ifdef __CUDA_ARCH__
        const __half2 pair = __floats2half2_rn(values[0], values[1]);
        uint32_t word;

        memcpy(&word, &pair, sizeof word);
        return word;
#else
        const uint32_t low = values[0] != values[0] ? 0x7FFFu : lot_to_float16(values[0]);
        const uint32_t high = values[1] != values[1] ? 0x7FFFu : lot_to_float16(values[1]);

        return low | high << 16;
#endif
    }
};

struct lot_bfloat16 {
    static const lot_dtype dtype = LOT_BFLOAT16;
    typedef uint16_t element;
    static const int in_word = 2;
    static const uint32_t exponents = 0x7F807F80u, carry = 0x00800080u, tops = 0x80008000u;

    __device__ static inline void unpack(uint32_t word, float *values)
    {
        values[0] = lot_bits_float(word << 16);
        values[1] = lot_bits_float(word & 0xFFFF0000u);
    }
    __device__ static inline uint32_t pack(const float *values)
    {
#ifdef __CUDA_ARCH__
        const __nv_bfloat162 pair = __floats2bfloat162_rn(values[0], values[1]);
        uint32_t word;

        memcpy(&word, &pair, sizeof word);
        return word;
#else
        const uint32_t low = values[0] != values[0] ? 0x7FFFu : lot_to_bfloat16(values[0]);
        const uint32_t high = values[1] != values[1] ? 0x7FFFu : lot_to_bfloat16(values[1]);

        return low | high << 16;
#endif
    }
};

/* One value on its own, through the same conversions. */
template <typename T> __device__ static inline float lot_load_one(const typename T::element *at)
{
    float values[2];

    T::unpack((uint32_t)*at, values);
    return values[0];
}

template <typename T> __device__ static inline void lot_store_one(typename T::element *at, float value)
{
    const float values[2] = {value, 0.0f};

    *at = (typename T::element)T::pack(values);
}

/* ---- fill ---- */

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

/* ---- GELU ---- */

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
 * |x|, and for negative x above -6 by 2^-16 of the value itself, where the form above cancels. */
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

/* ---- the kernels, under names that a C++ compiler does not mangle ---- */

#define LOT_FILL_KERNEL(name, T, D)                                                                          \
    extern "C" __global__ void name(void *to, uint64_t seed, uint32_t tensor, float scale, int64_t first,    \
                                    int64_t count)                                                           \
    {                                                                                                        \
        lot_fill_body<T, D>(to, seed, tensor, scale, first, count);                                          \
    }

#define LOT_GELU_KERNEL(name, T)                                                                             \
    extern "C" __global__ void name(void *values, int64_t count)                                             \
    {                                                                                                        \
        lot_gelu_body<T>(values, count);                                                                     \
    }

#define LOT_DIGEST_KERNEL(name, T)                                                                           \
    extern "C" __global__ void name(lot_digest_partial *partials, const void *from, int64_t bytes)           \
    {                                                                                                        \
        __shared__ uint64_t shared[LOT_BLOCK / 32];                                                          \
                                                                                                             \
        lot_digest_body<T>(partials, from, bytes, shared);                                                   \
    }

#define LOT_COMPARE_KERNEL(name, T)                                                                          \
    extern "C" __global__ void name(lot_compare_partial *partials, const void *a, const void *b,             \
                                    int64_t count)                                                           \
    {                                                                                                        \
        __shared__ uint64_t shared[LOT_BLOCK];                                                               \
                                                                                                             \
        lot_compare_body<T>(partials, a, b, count, shared);                                                  \
    }

LOT_FILL_KERNEL(lot_k_fill_uniform_float32, lot_float32, lot_uniform_law)
LOT_FILL_KERNEL(lot_k_fill_uniform_float16, lot_float16, lot_uniform_law)
LOT_FILL_KERNEL(lot_k_fill_uniform_bfloat16, lot_bfloat16, lot_uniform_law)
LOT_FILL_KERNEL(lot_k_fill_near_normal_float32, lot_float32, lot_near_normal_law)
LOT_FILL_KERNEL(lot_k_fill_near_normal_float16, lot_float16, lot_near_normal_law)
LOT_FILL_KERNEL(lot_k_fill_near_normal_bfloat16, lot_bfloat16, lot_near_normal_law)
LOT_GELU_KERNEL(lot_k_gelu_float32, lot_float32)
LOT_GELU_KERNEL(lot_k_gelu_float16, lot_float16)
LOT_GELU_KERNEL(lot_k_gelu_bfloat16, lot_bfloat16)
LOT_DIGEST_KERNEL(lot_k_digest_float32, lot_float32)
LOT_DIGEST_KERNEL(lot_k_digest_float16, lot_float16)
LOT_DIGEST_KERNEL(lot_k_digest_bfloat16, lot_bfloat16)
LOT_COMPARE_KERNEL(lot_k_compare_float32, lot_float32)
LOT_COMPARE_KERNEL(lot_k_compare_float16, lot_float16)
LOT_COMPARE_KERNEL(lot_k_compare_bfloat16, lot_bfloat16)

#endif
