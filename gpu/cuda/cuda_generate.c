/* gpu/generator.h's values, eight blocks of the generator at a time. The same operations on the same numbers
 * as there, so the same bits; tests hold the two together.
 *
 * On x86-64 with AVX2 they are done in vector registers: a compiler does not find that way by itself, and one
 * core then makes values several times as fast. Elsewhere the plain functions are used. */
#include <string.h>

#include "gpu/cuda/cuda_internal.h"
#include "gpu/generator.h"

#define LANES 8
#define MOST  (4 * LANES) /* elements of eight blocks, at most */

/* Makes the values of blocks [block, block + LANES). */
typedef void (*make_lanes)(float *values, const lot_fill *fill, uint64_t block);

/* Rounds `count` values to a dtype. */
typedef void (*round_lanes)(void *to, const float *values, size_t count);

static void make_uniform(float *values, const lot_fill *fill, uint64_t block)
{
    for (uint64_t i = 0; i < LANES; i++) {
        const lot_block random = lot_philox(fill->seed, fill->tensor, block + i);

        for (int j = 0; j < 4; j++)
            *values++ = lot_uniform(random.word[j], fill->scale);
    }
}

static void make_near_normal(float *values, const lot_fill *fill, uint64_t block)
{
    const float factor = lot_normal_factor(fill->scale);

    for (uint64_t i = 0; i < LANES; i++) {
        const lot_block random = lot_philox(fill->seed, fill->tensor, block + i);

        *values++ = lot_near_normal(random.word[0], random.word[1], factor);
        *values++ = lot_near_normal(random.word[2], random.word[3], factor);
    }
}

static void round_float32(void *to, const float *values, size_t count)
{
    memcpy(to, values, count * sizeof *values);
}

static void round_bfloat16(void *to, const float *values, size_t count)
{
    uint16_t *out = to;

    for (size_t i = 0; i < count; i++)
        out[i] = lot_to_bfloat16(values[i]);
}

static void round_float16(void *to, const float *values, size_t count)
{
    uint16_t *out = to;

    for (size_t i = 0; i < count; i++)
        out[i] = lot_to_float16(values[i]);
}

#ifdef __x86_64__
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,f16c")))

/* Upper and lower halves of eight products a * b. */
AVX2 static inline void wide_products(__m256i a, __m256i b, __m256i *high, __m256i *low)
{
    const __m256i even = _mm256_mul_epu32(a, b);
    const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), b);

    *high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
    *low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
}

AVX2 static inline void philox_avx2(__m256i word[4], const lot_fill *fill, uint64_t block)
{
    const __m256i factor0 = _mm256_set1_epi32((int)0xD2511F53u);
    const __m256i factor1 = _mm256_set1_epi32((int)0xCD9E8D57u);
    uint32_t key0 = (uint32_t)fill->seed, key1 = (uint32_t)(fill->seed >> 32);
    uint32_t low[LANES], high[LANES];

    for (uint64_t i = 0; i < LANES; i++) {
        low[i] = (uint32_t)(block + i);
        high[i] = (uint32_t)((block + i) >> 32);
    }
    word[0] = _mm256_loadu_si256((const __m256i *)(const void *)low);
    word[1] = _mm256_loadu_si256((const __m256i *)(const void *)high);
    word[2] = _mm256_set1_epi32((int)fill->tensor);
    word[3] = _mm256_setzero_si256();
    for (int round = 0; round < 10; round++) {
        __m256i high0, low0, high1, low1;

        wide_products(word[0], factor0, &high0, &low0);
        wide_products(word[2], factor1, &high1, &low1);
        word[0] = _mm256_xor_si256(_mm256_xor_si256(high1, word[1]), _mm256_set1_epi32((int)key0));
        word[1] = low1;
        word[2] = _mm256_xor_si256(_mm256_xor_si256(high0, word[3]), _mm256_set1_epi32((int)key1));
        word[3] = low0;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
}

/* lot_uniform on eight words. */
AVX2 static inline __m256 uniform_avx2(__m256i word, __m256 bound)
{
    const __m256i centred = _mm256_sub_epi32(_mm256_srli_epi32(word, 8), _mm256_set1_epi32(0x800000));

    return _mm256_mul_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(centred), _mm256_set1_ps(0x1p-23f)), bound);
}

/* Lane i of the four registers becomes values 4 i to 4 i + 3. */
AVX2 static void make_uniform_avx2(float *values, const lot_fill *fill, uint64_t block)
{
    const __m256 bound = _mm256_set1_ps(fill->scale);
    __m256i word[4];
    __m256 a, b, c, d, low, high;

    philox_avx2(word, fill, block);
    a = uniform_avx2(word[0], bound);
    b = uniform_avx2(word[1], bound);
    c = uniform_avx2(word[2], bound);
    d = uniform_avx2(word[3], bound);
    low = _mm256_unpacklo_ps(a, b); /* a0 b0 a1 b1 | a4 b4 a5 b5 */
    high = _mm256_unpacklo_ps(c, d);
    a = _mm256_unpackhi_ps(a, b); /* a2 b2 a3 b3 | a6 b6 a7 b7 */
    c = _mm256_unpackhi_ps(c, d);
    b = _mm256_shuffle_ps(low, high, 0x44); /* block 0 | block 4 */
    d = _mm256_shuffle_ps(low, high, 0xEE); /* block 1 | block 5 */
    low = _mm256_shuffle_ps(a, c, 0x44);    /* block 2 | block 6 */
    high = _mm256_shuffle_ps(a, c, 0xEE);   /* block 3 | block 7 */
    _mm256_storeu_ps(values, _mm256_permute2f128_ps(b, d, 0x20));
    _mm256_storeu_ps(values + 8, _mm256_permute2f128_ps(low, high, 0x20));
    _mm256_storeu_ps(values + 16, _mm256_permute2f128_ps(b, d, 0x31));
    _mm256_storeu_ps(values + 24, _mm256_permute2f128_ps(low, high, 0x31));
}

/* lot_near_normal on eight pairs of words. */
AVX2 static inline __m256 near_normal_avx2(__m256i word0, __m256i word1, __m256 factor)
{
    const __m256i lower = _mm256_set1_epi32(0xFFFF);
    const __m256i sum0 = _mm256_add_epi32(_mm256_and_si256(word0, lower), _mm256_srli_epi32(word0, 16));
    const __m256i sum1 = _mm256_add_epi32(_mm256_and_si256(word1, lower), _mm256_srli_epi32(word1, 16));
    const __m256i sum = _mm256_sub_epi32(_mm256_add_epi32(sum0, sum1), _mm256_set1_epi32(131070));

    return _mm256_mul_ps(_mm256_cvtepi32_ps(sum), factor);
}

AVX2 static void make_near_normal_avx2(float *values, const lot_fill *fill, uint64_t block)
{
    const __m256 factor = _mm256_set1_ps(lot_normal_factor(fill->scale));
    __m256i word[4];
    __m256 a, b, low, high;

    philox_avx2(word, fill, block);
    a = near_normal_avx2(word[0], word[1], factor);
    b = near_normal_avx2(word[2], word[3], factor);
    low = _mm256_unpacklo_ps(a, b); /* blocks 0 1 | 4 5 */
    high = _mm256_unpackhi_ps(a, b);
    _mm256_storeu_ps(values, _mm256_permute2f128_ps(low, high, 0x20));
    _mm256_storeu_ps(values + 8, _mm256_permute2f128_ps(low, high, 0x31));
}

/* lot_to_bfloat16 on eight values, in the lower halves of eight words. */
AVX2 static inline __m256i bfloat16_avx2(const float *values)
{
    const __m256i bits = _mm256_castps_si256(_mm256_loadu_ps(values));
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i sum = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7FFF)), odd);

    return _mm256_srli_epi32(sum, 16);
}

AVX2 static void round_bfloat16_avx2(void *to, const float *values, size_t count)
{
    uint16_t *out = to;
    size_t i = 0;

    for (; i + 16 <= count; i += 16) {
        const __m256i packed = _mm256_packus_epi32(bfloat16_avx2(values + i), bfloat16_avx2(values + i + 8));

        _mm256_storeu_si256((__m256i *)(void *)(out + i), _mm256_permute4x64_epi64(packed, 0xD8));
    }
    round_bfloat16(out + i, values + i, count - i);
}

/* The instruction rounds to nearest even, subnormals included, as lot_to_float16 does. */
AVX2 static void round_float16_avx2(void *to, const float *values, size_t count)
{
    uint16_t *out = to;
    size_t i = 0;

    for (; i + 8 <= count; i += 8) {
        const __m128i packed = _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT);

        _mm_storeu_si128((__m128i *)(void *)(out + i), packed);
    }
    round_float16(out + i, values + i, count - i);
}
#endif

/* The functions for a distribution and a dtype on this CPU. */
static void choose(lot_distribution distribution, lot_dtype dtype, make_lanes *make, round_lanes *rounded)
{
    static const make_lanes plain_make[2] = {make_uniform, make_near_normal};
    static const round_lanes plain_round[LOT_DTYPE_COUNT] = {round_float32, round_float16, round_bfloat16};

    *make = plain_make[distribution];
    *rounded = plain_round[dtype];
#ifdef __x86_64__
    /* Every CPU with AVX2 has the conversions of F16C. */
    if (__builtin_cpu_supports("avx2")) {
        static const make_lanes wide_make[2] = {make_uniform_avx2, make_near_normal_avx2};
        static const round_lanes wide_round[LOT_DTYPE_COUNT] = {round_float32, round_float16_avx2,
                                                                round_bfloat16_avx2};

        *make = wide_make[distribution];
        *rounded = wide_round[dtype];
    }
#endif
}

void lot_generate(void *to, const lot_fill *fill, int64_t first, int64_t count)
{
    const int64_t in_block = fill->distribution == LOT_UNIFORM ? 4 : 2;
    const int64_t width = in_block * LANES;
    const size_t bytes = lot_dtype_bytes(fill->dtype);
    const int64_t end = first + count;
    float values[MOST];
    make_lanes make;
    round_lanes rounded;

    choose(fill->distribution, fill->dtype, &make, &rounded);
    for (int64_t start = first / width * width; start < end; start += width) {
        const int64_t from = start < first ? first : start;
        const int64_t until = start + width < end ? start + width : end;

        make(values, fill, (uint64_t)(start / in_block));
        rounded((char *)to + (size_t)(from - first) * bytes, values + (from - start), (size_t)(until - from));
    }
}
