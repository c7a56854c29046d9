#include "gpu/host/host_simd.h"

#include <assert.h>
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

/* The keys of the ten rounds. */
typedef struct round_keys {
    uint32_t key0[ROUNDS];
    uint32_t key1[ROUNDS];
} round_keys;

static round_keys make_keys(uint64_t seed)
{
    round_keys keys;

    for (uint32_t round = 0; round < ROUNDS; round++) {
        keys.key0[round] = (uint32_t)seed + round * 0x9E3779B9u;
        keys.key1[round] = (uint32_t)(seed >> 32) + round * 0xBB67AE85u;
    }
    return keys;
}

AVX2 static inline blocks philox4(const round_keys *keys, uint32_t tensor, uint64_t block)
{
    const __m256i multiplier0 = _mm256_set1_epi64x(0xD2511F53);
    const __m256i multiplier1 = _mm256_set1_epi64x(0xCD9E8D57);
    const __m256i number =
        _mm256_add_epi64(_mm256_set1_epi64x((long long)block), _mm256_set_epi64x(3, 2, 1, 0));
    blocks c = {{number, _mm256_srli_epi64(number, 32), _mm256_set1_epi64x((long long)tensor),
                 _mm256_setzero_si256()}};

    for (int round = 0; round < ROUNDS; round++) {
        const __m256i product0 = _mm256_mul_epu32(c.word[0], multiplier0);
        const __m256i product1 = _mm256_mul_epu32(c.word[2], multiplier1);
        const __m256i key0 = _mm256_set1_epi32((int)keys->key0[round]);
        const __m256i key1 = _mm256_set1_epi32((int)keys->key1[round]);

        c.word[0] = _mm256_xor_si256(_mm256_srli_epi64(product1, 32), _mm256_xor_si256(c.word[1], key0));
        c.word[1] = product1;
        c.word[2] = _mm256_xor_si256(_mm256_srli_epi64(product0, 32), _mm256_xor_si256(c.word[3], key1));
        c.word[3] = product0;
    }
    return c;
}

/* Lower halves of `even` and `odd` in turn: even0 odd0 even1 odd1 ... */
AVX2 static inline __m256i interleave(__m256i even, __m256i odd)
{
    return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
}

/* 16 uniform values: words 0 to 3 of each of the four blocks. */
AVX2 static inline void store_uniform(float *to, blocks c, __m256 bound)
{
    const __m256i centre = _mm256_set1_epi32(0x800000);
    const __m256 step = _mm256_set1_ps(0x1p-23f);
    const __m256i low = interleave(c.word[0], c.word[1]);
    const __m256i high = interleave(c.word[2], c.word[3]);
    const __m256i even = _mm256_unpacklo_epi64(low, high); /* blocks 0 and 2 */
    const __m256i odd = _mm256_unpackhi_epi64(low, high);  /* blocks 1 and 3 */
    __m256i first = _mm256_permute2x128_si256(even, odd, 0x20);
    __m256i second = _mm256_permute2x128_si256(even, odd, 0x31);

    first = _mm256_sub_epi32(_mm256_srli_epi32(first, 8), centre);
    second = _mm256_sub_epi32(_mm256_srli_epi32(second, 8), centre);
    _mm256_storeu_ps(to, _mm256_mul_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(first), step), bound));
    _mm256_storeu_ps(to + 8, _mm256_mul_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(second), step), bound));
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

AVX2 void lot_simd_fill(float *to, const lot_fill *fill, int64_t first, int64_t count)
{
    const round_keys keys = make_keys(fill->seed);
    const uint64_t element = (uint64_t)first;
    const __m256 bound = _mm256_set1_ps(fill->scale);
    const __m256 factor = _mm256_set1_ps(lot_normal_factor(fill->scale));

    assert(first % LOT_SIMD_VALUES == 0 && count % LOT_SIMD_VALUES == 0);
    if (fill->distribution == LOT_UNIFORM) {
        for (int64_t i = 0; i < count; i += 32) {
            const uint64_t block = (element + (uint64_t)i) / 4;
            const blocks one = philox4(&keys, fill->tensor, block);
            const blocks two = philox4(&keys, fill->tensor, block + 4);

            store_uniform(to + i, one, bound);
            store_uniform(to + i + 16, two, bound);
        }
        return;
    }
    for (int64_t i = 0; i < count; i += 16) {
        const uint64_t block = (element + (uint64_t)i) / 2;
        const blocks one = philox4(&keys, fill->tensor, block);
        const blocks two = philox4(&keys, fill->tensor, block + 4);

        store_normal(to + i, one, factor);
        store_normal(to + i + 8, two, factor);
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
