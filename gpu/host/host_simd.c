#include "gpu/host/host_simd.h"

#include <assert.h>
#include <string.h>

#include "gpu/digest.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

bool lot_simd_available(void)
{
    return __builtin_cpu_supports("avx2") != 0;
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

uint64_t lot_simd_digest(const char *words, int64_t first, int64_t count, lot_dtype dtype, unsigned *bad)
{
    (void)words, (void)first, (void)count, (void)dtype, (void)bad;
    assert(false);
    return 0;
}

#endif
