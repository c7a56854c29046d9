/* What all kernels share: how much a thread has in flight, and how values of the three dtypes lie in a
 * vector.
 */
#ifndef GPULOT_GPU_CUDA_KERNELS_DTYPES_CUH
#define GPULOT_GPU_CUDA_KERNELS_DTYPES_CUH

#include <stdint.h>
#include <string.h>

#include "gpu/cuda/kernels.h"
#include "gpu/generator.h"

#define LOT_VECTOR 16 /* bytes read or written at once */
#define LOT_UNROLL 4  /* vectors of one thread in flight at once */
#define LOT_TILE   ((int64_t)LOT_BLOCK * LOT_UNROLL)

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

#endif
