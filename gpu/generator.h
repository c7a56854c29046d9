/* Values that depend on nothing but (seed, tensor, element, dtype): the same bits on every device, whatever
 * the number of threads or SMs. Plain C that a CUDA compiler reads too.
 *
 * The generator is Philox4x32-7 (J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random
 * numbers: as easy as 1, 2, 3", SC'11): key = the seed's two halves, counter = (block low, block high,
 * tensor, 0). Seven rounds are the fewest of Philox4x32 that pass BigCrush. (The authors' default is ten;
 * they saw suspicious p-values of seven in one test made longer than BigCrush's, not in longer ones, and none
 * of eight.) Values here have to differ from place to place and to be evenly spread, no more. A block of four
 * words makes 16 bytes of a tensor, whatever its dtype: word i the float32 element 4 b + i of block b, or the
 * two half elements 8 b + 2 i and 8 b + 2 i + 1. That is one block for each store of a GPU's thread, so that
 * filling stays as fast as its memory.
 *
 * Uniform: the word with its lower 8 bits cleared (float32), or its lower and its upper 16 bits (the two half
 * elements), taken as a signed number s of 32 or 16 bits; s * step, rounded once to float, with the float
 * step = bound * 2^-31 or bound * 2^-15. (A step below 2^-126, which no network's bound comes near, has fewer
 * bits.) Near-normal: c0 to c3 are the word's four bytes, lowest first, taken as signed. The float32 element
 * and the first half element are c0 + c1 + c2 + c3 + 2, the second half element is c0 + c1 - c2 - c3, both
 * times scale / sqrt(21845), rounded once to float. Each is a sum of four uniform numbers (Irwin-Hall, n = 4)
 * with mean 0, variance 4 (2^16 - 1) / 12 = 21845, excess kurtosis -0.3 and range +-3.45 sigma. The two
 * elements of a word are uncorrelated (their squares are not: -0.18).
 *
 * Half types are these floats rounded to nearest even. No operation here can be contracted into a fused
 * multiply-add, so that compilers agree on the bits. LOT_GENERATOR_VERSION counts the definitions that there
 * have been; equal seeds give equal values only within one. Version 1 had ten rounds. */
#ifndef GPULOT_GPU_GENERATOR_H
#define GPULOT_GPU_GENERATOR_H

#include <stdint.h>
#include <string.h>

#include "gpu/device.h"

#ifdef __CUDACC__
#define LOT_ANYWHERE __host__ __device__ static inline
#else
#define LOT_ANYWHERE static inline
#endif

#define LOT_GENERATOR_VERSION 2
#define LOT_GENERATOR_NAME    "philox4x32-7" /* the generator and its rounds */
#define LOT_PHILOX_ROUNDS     7

/* Numbers of the network's tensors; part of the definition of every value. */
#define LOT_TENSOR_WEIGHT_1 1u
#define LOT_TENSOR_BIAS_1   2u
#define LOT_TENSOR_WEIGHT_2 3u
#define LOT_TENSOR_BIAS_2   4u
#define LOT_TENSOR_INPUT    5u

typedef struct lot_block {
    uint32_t word[4];
} lot_block;

/* Upper half of a product. On a GPU by name: from the 64-bit product its compiler adds a zero to each. */
LOT_ANYWHERE uint32_t lot_product_high(uint32_t a, uint32_t b)
{
#ifdef __CUDA_ARCH__
    return __umulhi(a, b);
#else
    return (uint32_t)((uint64_t)a * b >> 32);
#endif
}

LOT_ANYWHERE lot_block lot_philox(uint64_t seed, uint32_t tensor, uint64_t block)
{
    const uint32_t multiplier0 = 0xD2511F53u, multiplier1 = 0xCD9E8D57u;
    uint32_t key0 = (uint32_t)seed;
    uint32_t key1 = (uint32_t)(seed >> 32);
    lot_block c = {{(uint32_t)block, (uint32_t)(block >> 32), tensor, 0}};

    for (int round = 0; round < LOT_PHILOX_ROUNDS; round++) {
        const lot_block next = {
            {lot_product_high(multiplier1, c.word[2]) ^ c.word[1] ^ key0, multiplier1 * c.word[2],
             lot_product_high(multiplier0, c.word[0]) ^ c.word[3] ^ key1, multiplier0 * c.word[0]}};

        c = next;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return c;
}

/* Elements of one block. */
LOT_ANYWHERE int lot_block_elements(lot_dtype dtype)
{
    return dtype == LOT_FLOAT32 ? 4 : 8;
}

/* What every value of a fill is multiplied with: the uniform law's step, or scale / sqrt(21845). */
LOT_ANYWHERE float lot_fill_factor(lot_distribution distribution, lot_dtype dtype, float scale)
{
    if (distribution == LOT_NEAR_NORMAL)
        return scale * 0x1.bb688cp-8f;
    return scale * (dtype == LOT_FLOAT32 ? 0x1p-31f : 0x1p-15f);
}

/* The uniform number of a float32 element, and of the first and the second half element of a word. */
LOT_ANYWHERE int32_t lot_uniform_single(uint32_t word)
{
    return (int32_t)(word & 0xFFFFFF00u);
}

LOT_ANYWHERE int32_t lot_uniform_first(uint32_t word)
{
    return (int16_t)(word & 0xFFFFu);
}

LOT_ANYWHERE int32_t lot_uniform_second(uint32_t word)
{
    return (int32_t)word >> 16; /* arithmetic in every compiler that this is built with, as tests check */
}

/* The near-normal number of a float32 element or a word's first half element, and of its second one. */
LOT_ANYWHERE int32_t lot_normal_first(uint32_t word)
{
#ifdef __CUDA_ARCH__
    return __dp4a((int32_t)word, 0x01010101, 2);
#else
    return (int8_t)word + (int8_t)(word >> 8) + (int8_t)(word >> 16) + (int8_t)(word >> 24) + 2;
#endif
}

LOT_ANYWHERE int32_t lot_normal_second(uint32_t word)
{
#ifdef __CUDA_ARCH__
    return __dp4a((int32_t)word, (int32_t)0xFFFF0101u, 0);
#else
    return (int8_t)word + (int8_t)(word >> 8) - (int8_t)(word >> 16) - (int8_t)(word >> 24);
#endif
}

/* The number of element `index` of a block, before the factor. */
LOT_ANYWHERE int32_t lot_block_number(const lot_block *block, lot_distribution distribution, lot_dtype dtype,
                                      int index)
{
    const uint32_t word = block->word[dtype == LOT_FLOAT32 ? index : index / 2];
    const int second = dtype != LOT_FLOAT32 && index % 2 != 0;

    if (distribution == LOT_NEAR_NORMAL)
        return second ? lot_normal_second(word) : lot_normal_first(word);
    if (dtype == LOT_FLOAT32)
        return lot_uniform_single(word);
    return second ? lot_uniform_second(word) : lot_uniform_first(word);
}

/* One element of a fill, not yet rounded to its dtype: the definition as a whole. */
LOT_ANYWHERE float lot_value(const lot_fill *fill, int64_t element)
{
    const int elements = lot_block_elements(fill->dtype);
    const lot_block block = lot_philox(fill->seed, fill->tensor, (uint64_t)(element / elements));
    const int32_t number =
        lot_block_number(&block, fill->distribution, fill->dtype, (int)(element % elements));

    return (float)number * lot_fill_factor(fill->distribution, fill->dtype, fill->scale);
}

LOT_ANYWHERE uint32_t lot_float_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* float to half types, to nearest even. Not for NaN; overflow gives infinity. */
LOT_ANYWHERE uint16_t lot_to_bfloat16(float value)
{
    const uint32_t bits = lot_float_bits(value);

    return (uint16_t)((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

LOT_ANYWHERE uint16_t lot_to_float16(float value)
{
    const uint32_t bits = lot_float_bits(value);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t magnitude = bits & 0x7FFFFFFFu;
    uint32_t significand, shift, rest, half;

    if (magnitude >= 0x477FF000u) /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7C00u);
    if (magnitude >= 0x38800000u) /* 2^-14 and above: normal */
        return (uint16_t)(sign | ((magnitude - 0x38000000u + 0xFFFu + ((magnitude >> 13) & 1u)) >> 13));
    if (magnitude < 0x33000000u) /* below 2^-25: zero */
        return (uint16_t)sign;
    significand = (magnitude & 0x7FFFFFu) | 0x800000u;
    shift = 126u - (magnitude >> 23);
    half = significand >> shift;
    rest = significand & ((1u << shift) - 1u);
    half += rest > (1u << (shift - 1)) || (rest == (1u << (shift - 1)) && (half & 1u));
    return (uint16_t)(sign | half);
}

/* Half types to float; exact. */
LOT_ANYWHERE float lot_from_bfloat16(uint16_t value)
{
    const uint32_t bits = (uint32_t)value << 16;
    float result;

    memcpy(&result, &bits, sizeof result);
    return result;
}

LOT_ANYWHERE float lot_from_float16(uint16_t value)
{
    const uint32_t sign = (uint32_t)(value & 0x8000u) << 16;
    const uint32_t exponent = (value >> 10) & 0x1Fu;
    const uint32_t fraction = value & 0x3FFu;
    uint32_t bits;
    float result;

    if (exponent == 0) { /* zero and subnormal: fraction * 2^-24 */
        result = (float)fraction * 0x1p-24f;
        return sign != 0 ? -result : result;
    }
    bits = sign | (exponent == 31u ? 0x7F800000u : (exponent + 112u) << 23) | (fraction << 13);
    memcpy(&result, &bits, sizeof result);
    return result;
}

#endif
