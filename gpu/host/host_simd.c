#include "gpu/host/host_simd.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "gpu/digest.h"
#include "gpu/generator.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#define AVX2   __attribute__((target("avx2")))
#define ROUNDS 10

bool lot_simd_available(void)
{
    return __builtin_cpu_supports("avx2") != 0;
}

/* Four Philox blocks, one word of each in the lower half of a 64-bit lane. The upper halves hold what earlier
 * products left there: the multiplication reads lower halves only. */
typedef struct blocks {
    __m256i word[4];
} blocks;

/* What is the same for all blocks whose numbers share their upper halves. In the first round word 2 is the
 * tensor and in the second word 0 has not yet seen the block's number, so that half of these rounds' products
 * are constants, worked out once. */
typedef struct philox_constants {
    __m256i key0[ROUNDS];
    __m256i key1[ROUNDS];
    __m256i product1_low;  /* round 1: lower half of multiplier 1 times the tensor, with round 2's key */
    __m256i product0_high; /* round 2: upper half of multiplier 0 times word 0, with round 2's key */
    __m256i product0_low;  /* round 2: its lower half */
} philox_constants;

#define MULTIPLIER_0 0xD2511F53u
#define MULTIPLIER_1 0xCD9E8D57u

AVX2 static philox_constants make_constants(uint64_t seed, uint32_t tensor, uint32_t block_high)
{
    const uint64_t product1 = (uint64_t)MULTIPLIER_1 * tensor;
    const uint32_t word0 = (uint32_t)(product1 >> 32) ^ block_high ^ (uint32_t)seed;
    const uint64_t product0 = (uint64_t)MULTIPLIER_0 * word0;
    philox_constants made;
    uint32_t key0[ROUNDS], key1[ROUNDS];

    for (uint32_t round = 0; round < ROUNDS; round++) {
        key0[round] = (uint32_t)seed + round * 0x9E3779B9u;
        key1[round] = (uint32_t)(seed >> 32) + round * 0xBB67AE85u;
        made.key0[round] = _mm256_set1_epi32((int)key0[round]);
        made.key1[round] = _mm256_set1_epi32((int)key1[round]);
    }
    made.product1_low = _mm256_set1_epi32((int)((uint32_t)product1 ^ key0[1]));
    made.product0_high = _mm256_set1_epi32((int)((uint32_t)(product0 >> 32) ^ key1[1]));
    made.product0_low = _mm256_set1_epi32((int)(uint32_t)product0);
    return made;
}

/* Keeps the compiler from putting the key behind the product's shift: a chain would be one step a round
 * longer. */
AVX2 static inline __m256i at_once(__m256i value)
{
    __asm__("" : "+x"(value));
    return value;
}

/* Blocks `low` to low + 3 and low + 4 to low + 7 of the constants' upper half. Two chains side by side:
 * within one, every step waits for the one before it. */
AVX2 static inline void philox8(const philox_constants *constants, uint32_t low, blocks c[2])
{
    const __m256i multiplier0 = _mm256_set1_epi64x(MULTIPLIER_0);
    const __m256i multiplier1 = _mm256_set1_epi64x(MULTIPLIER_1);

    for (int chain = 0; chain < 2; chain++) {
        const __m256i number = _mm256_add_epi64(_mm256_set1_epi64x((long long)low + INT64_C(4) * chain),
                                                _mm256_set_epi64x(3, 2, 1, 0));
        /* Round 1: words 0 and 1 become constants, words 2 and 3 the two halves of the number's product. */
        const __m256i first = _mm256_mul_epu32(number, multiplier0);
        const __m256i word2 = _mm256_xor_si256(_mm256_srli_epi64(first, 32), constants->key1[0]);
        /* Round 2: word 3 becomes a constant. */
        const __m256i second = _mm256_mul_epu32(word2, multiplier1);

        c[chain].word[0] = _mm256_xor_si256(_mm256_srli_epi64(second, 32), constants->product1_low);
        c[chain].word[1] = second;
        c[chain].word[2] = _mm256_xor_si256(first, constants->product0_high);
        c[chain].word[3] = constants->product0_low;
    }
    for (int round = 2; round < ROUNDS; round++) {
#pragma GCC unroll 2
        for (int chain = 0; chain < 2; chain++) {
            __m256i *word = c[chain].word;
            const __m256i keyed1 = at_once(_mm256_xor_si256(word[1], constants->key0[round]));
            const __m256i keyed3 = at_once(_mm256_xor_si256(word[3], constants->key1[round]));
            const __m256i product0 = _mm256_mul_epu32(word[0], multiplier0);
            const __m256i product1 = _mm256_mul_epu32(word[2], multiplier1);

            word[0] = _mm256_xor_si256(_mm256_srli_epi64(product1, 32), keyed1);
            word[1] = product1;
            word[2] = _mm256_xor_si256(_mm256_srli_epi64(product0, 32), keyed3);
            word[3] = product0;
        }
    }
}

/* Lower halves of `even` and `odd` in turn: even0 odd0 even1 odd1 ... */
AVX2 static inline __m256i interleave(__m256i even, __m256i odd)
{
    return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
}

/* 16 uniform values: words 0 to 3 of each of the four blocks. Both products of the definition in one: `step`
 * is 2^-23 * bound, which is exact, so that the result is rounded once as there. */
AVX2 static inline void store_uniform(float *to, blocks c, __m256 step)
{
    const __m256i centre = _mm256_set1_epi32(0x800000);
    const __m256i low = interleave(c.word[0], c.word[1]);
    const __m256i high = interleave(c.word[2], c.word[3]);
    const __m256i even = _mm256_unpacklo_epi64(low, high); /* blocks 0 and 2 */
    const __m256i odd = _mm256_unpackhi_epi64(low, high);  /* blocks 1 and 3 */
    __m256i first = _mm256_permute2x128_si256(even, odd, 0x20);
    __m256i second = _mm256_permute2x128_si256(even, odd, 0x31);

    first = _mm256_sub_epi32(_mm256_srli_epi32(first, 8), centre);
    second = _mm256_sub_epi32(_mm256_srli_epi32(second, 8), centre);
    _mm256_storeu_ps(to, _mm256_mul_ps(_mm256_cvtepi32_ps(first), step));
    _mm256_storeu_ps(to + 8, _mm256_mul_ps(_mm256_cvtepi32_ps(second), step));
}

/* The two 16-bit halves of each lower word, added. */
AVX2 static inline __m256i halves(__m256i words)
{
    const __m256i mask = _mm256_set1_epi64x(0xFFFF);

    return _mm256_add_epi64(_mm256_and_si256(words, mask),
                            _mm256_and_si256(_mm256_srli_epi64(words, 16), mask));
}

/* 8 near-normal values: words 0 and 1, then words 2 and 3 of each of the four blocks. */
AVX2 static inline void store_normal(float *to, blocks c, __m256 factor)
{
    const __m256i even = _mm256_add_epi64(halves(c.word[0]), halves(c.word[1]));
    const __m256i odd = _mm256_add_epi64(halves(c.word[2]), halves(c.word[3]));
    const __m256i sums = _mm256_sub_epi32(interleave(even, odd), _mm256_set1_epi32(131070));

    _mm256_storeu_ps(to, _mm256_mul_ps(_mm256_cvtepi32_ps(sums), factor));
}

/* Values of blocks that share the upper halves of their numbers. */
AVX2 static void fill_run(float *to, const lot_fill *fill, uint64_t block, int64_t count)
{
    const philox_constants constants = make_constants(fill->seed, fill->tensor, (uint32_t)(block >> 32));
    const __m256 step = _mm256_set1_ps(fill->scale * 0x1p-23f);
    const __m256 factor = _mm256_set1_ps(lot_normal_factor(fill->scale));
    uint32_t low = (uint32_t)block;
    blocks c[2];

    if (fill->distribution == LOT_UNIFORM) {
        for (int64_t i = 0; i < count; i += 32, low += 8) {
            philox8(&constants, low, c);
            store_uniform(to + i, c[0], step);
            store_uniform(to + i + 16, c[1], step);
        }
        return;
    }
    for (int64_t i = 0; i < count; i += 16, low += 8) {
        philox8(&constants, low, c);
        store_normal(to + i, c[0], factor);
        store_normal(to + i + 8, c[1], factor);
    }
}

bool lot_simd_can_fill(const lot_fill *fill)
{
    /* The product 2^-23 * bound must not be subnormal, nor the smallest value. */
    return lot_simd_available() && (fill->distribution != LOT_UNIFORM || fabsf(fill->scale) >= 0x1p-80f);
}

void lot_simd_fill(float *to, const lot_fill *fill, int64_t first, int64_t count)
{
    const int64_t values_a_block = fill->distribution == LOT_UNIFORM ? 4 : 2;
    uint64_t block = (uint64_t)(first / values_a_block);
    int64_t done = 0;

    assert(first % LOT_SIMD_VALUES == 0 && count % LOT_SIMD_VALUES == 0);
    while (done < count) {
        const int64_t left_here = (int64_t)(UINT64_C(0x100000000) - (block & 0xFFFFFFFFu)) * values_a_block;
        const int64_t now = count - done < left_here ? count - done : left_here;

        fill_run(to + done, fill, block, now);
        done += now;
        block += (uint64_t)(now / values_a_block);
    }
}

/* Lower 64 bits of x * LOT_DIGEST_MIX in each lane. */
AVX2 static inline __m256i mix(__m256i x)
{
    const __m256i low = _mm256_set1_epi64x((long long)(LOT_DIGEST_MIX & 0xFFFFFFFFu));
    const __m256i high = _mm256_set1_epi64x((long long)(LOT_DIGEST_MIX >> 32));
    const __m256i cross =
        _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(x, 32), low), _mm256_mul_epu32(x, high));

    return _mm256_add_epi64(_mm256_mul_epu32(x, low), _mm256_slli_epi64(cross, 32));
}

/* All ones in each value whose exponent is all ones. */
AVX2 static inline __m256i nonfinite(__m256i values, __m256i mask, lot_dtype dtype)
{
    const __m256i exponent = _mm256_and_si256(values, mask);

    return dtype == LOT_FLOAT32 ? _mm256_cmpeq_epi32(exponent, mask) : _mm256_cmpeq_epi16(exponent, mask);
}

AVX2 uint64_t lot_simd_digest(const char *words, int64_t first, int64_t count, lot_dtype dtype, unsigned *bad)
{
    const __m256i mask = dtype == LOT_FLOAT32   ? _mm256_set1_epi32(0x7F800000)
                         : dtype == LOT_FLOAT16 ? _mm256_set1_epi16(0x7C00)
                                                : _mm256_set1_epi16(0x7F80);
    const __m256i step = _mm256_set1_epi64x((long long)(4 * LOT_DIGEST_STEP));
    const int64_t wide = count - count % 4;
    uint64_t offsets[4], sums[4], rest[4] = {0}; /* the words after the last whole vector, zeros after them */
    __m256i offset, sum = _mm256_setzero_si256(), found = _mm256_setzero_si256();

    for (uint64_t lane = 0; lane < 4; lane++)
        offsets[lane] = ((uint64_t)first + lane + 1) * LOT_DIGEST_STEP;
    offset = _mm256_loadu_si256((const __m256i *)offsets);
    for (int64_t i = 0; i < wide; i += 4) {
        const __m256i values = _mm256_loadu_si256((const __m256i *)(words + 8 * i));
        __m256i m = _mm256_add_epi64(values, offset);

        m = mix(_mm256_xor_si256(m, _mm256_srli_epi64(m, 32)));
        sum = _mm256_add_epi64(sum, _mm256_xor_si256(m, _mm256_srli_epi64(m, 29)));
        found = _mm256_or_si256(found, nonfinite(values, mask, dtype));
        offset = _mm256_add_epi64(offset, step);
    }
    _mm256_storeu_si256((__m256i *)sums, sum);
    memcpy(rest, words + 8 * wide, (size_t)(8 * (count - wide)));
    for (int64_t i = 0; i < count - wide; i++)
        sums[i] += lot_digest_word(rest[i], (uint64_t)(first + wide + i));
    found = _mm256_or_si256(found, nonfinite(_mm256_loadu_si256((const __m256i *)rest), mask, dtype));
    if (!_mm256_testz_si256(found, found))
        *bad = 1;
    return sums[0] + sums[1] + sums[2] + sums[3];
}

#else

bool lot_simd_available(void)
{
    return false;
}

bool lot_simd_can_fill(const lot_fill *fill)
{
    (void)fill;
    return false;
}

void lot_simd_fill(float *to, const lot_fill *fill, int64_t first, int64_t count)
{
    (void)to, (void)fill, (void)first, (void)count;
    assert(false);
}

uint64_t lot_simd_digest(const char *words, int64_t first, int64_t count, lot_dtype dtype, unsigned *bad)
{
    (void)words, (void)first, (void)count, (void)dtype, (void)bad;
    assert(false);
    return 0;
}

#endif
