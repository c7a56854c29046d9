/* Values that depend on nothing but (seed, tensor, element): the same bits on every device, whatever the
 * number of threads or SMs. Plain C that a CUDA compiler reads too.
 *
 * The generator is Philox4x32-10 (J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random
 * numbers: as easy as 1, 2, 3", SC'11): key = the seed's two halves, counter = (block low, block high,
 * tensor, 0).
 *
 * Uniform: element e is word e % 4 of block e / 4. Its upper 24 bits, taken as a signed number s in
 * [-2^23, 2^23), give s * 2^-23 * bound: the first product is exact, the second rounds once.
 * Near-normal: element e takes words 2 (e % 2) and 2 (e % 2) + 1 of block e / 2; the sum of their four 16-bit
 * halves (Irwin-Hall, n = 4) has mean 131070 and variance (2^32 - 1) / 3; centred exactly in integers, then
 * multiplied once by scale / standard deviation. Its excess kurtosis is -0.3, its range +-3.46 sigma.
 *
 * No operation here can be contracted into a fused multiply-add, so that compilers agree on the bits. */
#ifndef GPULOT_GPU_GENERATOR_H
#define GPULOT_GPU_GENERATOR_H

#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define LOT_ANYWHERE __host__ __device__ static inline
#else
#define LOT_ANYWHERE static inline
#endif

/* Numbers of the network's tensors; part of the definition of every value. */
#define LOT_TENSOR_WEIGHT_1 1u
#define LOT_TENSOR_BIAS_1   2u
#define LOT_TENSOR_WEIGHT_2 3u
#define LOT_TENSOR_BIAS_2   4u
#define LOT_TENSOR_INPUT    5u

typedef struct lot_block {
    uint32_t word[4];
} lot_block;

LOT_ANYWHERE lot_block lot_philox(uint64_t seed, uint32_t tensor, uint64_t block)
{
    uint32_t key0 = (uint32_t)seed;
    uint32_t key1 = (uint32_t)(seed >> 32);
    lot_block c = {{(uint32_t)block, (uint32_t)(block >> 32), tensor, 0}};

    for (int round = 0; round < 10; round++) {
        const uint64_t product0 = (uint64_t)0xD2511F53u * c.word[0];
        const uint64_t product1 = (uint64_t)0xCD9E8D57u * c.word[2];
        const lot_block next = {{(uint32_t)(product1 >> 32) ^ c.word[1] ^ key0, (uint32_t)product1,
                                 (uint32_t)(product0 >> 32) ^ c.word[3] ^ key1, (uint32_t)product0}};

        c = next;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return c;
}

/* One uniform value in [-bound, bound) from one random word. */
LOT_ANYWHERE float lot_uniform(uint32_t word, float bound)
{
    const int32_t centred = (int32_t)(word >> 8) - 0x800000;

    return (float)centred * 0x1p-23f * bound;
}

/* The factor that brings the centred sum of four 16-bit halves to a standard deviation of `scale`:
 * scale / sqrt((2^32 - 1) / 3), in float. */
LOT_ANYWHERE float lot_normal_factor(float scale)
{
    return scale * 0x1.bb67aep-16f;
}

/* One near-normal value from two random words; factor from lot_normal_factor. */
LOT_ANYWHERE float lot_near_normal(uint32_t word0, uint32_t word1, float factor)
{
    const int32_t sum = (int32_t)(word0 & 0xFFFFu) + (int32_t)(word0 >> 16) + (int32_t)(word1 & 0xFFFFu) +
                        (int32_t)(word1 >> 16);

    return (float)(sum - 131070) * factor;
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
