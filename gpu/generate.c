#include "gpu/generate.h"

#include <stddef.h>
#include <string.h>

#include "gpu/generator.h"

#define BLOCK_BYTES   16
#define ELEMENTS_MOST 8 /* of a block */

/* ---- one block after the other, on any CPU ---- */

static void store(void *to, int64_t at, lot_dtype dtype, float value)
{
    uint16_t half;

    if (dtype == LOT_FLOAT32) {
        memcpy((char *)to + 4 * at, &value, sizeof value);
        return;
    }
    half = dtype == LOT_FLOAT16 ? lot_to_float16(value) : lot_to_bfloat16(value);
    memcpy((char *)to + 2 * at, &half, sizeof half);
}

/* Elements [from, until) of one block. */
static void make_part(void *to, const lot_fill *fill, uint64_t block, int from, int until)
{
    const float factor = lot_fill_factor(fill->distribution, fill->dtype, fill->scale);
    const lot_block random = lot_philox(fill->seed, fill->tensor, block);

    for (int i = from; i < until; i++) {
        const int32_t number = lot_block_number(&random, fill->distribution, fill->dtype, i);

        store(to, i - from, fill->dtype, (float)number * factor);
    }
}

static void make_plain(char *to, const lot_fill *fill, uint64_t block, int64_t blocks)
{
    for (int64_t i = 0; i < blocks; i++)
        make_part(to + BLOCK_BYTES * i, fill, block + (uint64_t)i, 0, lot_block_elements(fill->dtype));
}

/* ---- sixteen blocks at a time, with AVX2: a compiler does not find that way by itself ---- */

#if defined(__x86_64__) && defined(__GNUC__)

#if defined __clang__ || __GNUC__ < 11
#include <cpuid.h>
#endif
#include <immintrin.h>

#define AVX2         __attribute__((target("avx2,f16c")))
#define WIDE         16         /* blocks of one step */
#define OCTETS       (WIDE / 8) /* side by side: within one, every step waits for the one before it */
#define MULTIPLIER_0 0xD2511F53u
#define MULTIPLIER_1 0xCD9E8D57u

/* Eight Philox blocks: word i of all of them in word[i], a block to each lane, the even blocks in the lower
 * half of the register and the odd ones in the upper. Counted within a half, the blocks stand as 0 2 1 3 in
 * words 0 and 1 and as 0 1 2 3 in words 2 and 3. So a round moves no word for the sake of order: words 0 and
 * 1 are made of word 2, words 2 and 3 of word 0, and lower() and upper() exchange the two in the middle. */
typedef struct octet {
    __m256i word[4];
} octet;

/* Products of a word's even and odd lanes, 64 bits each. */
typedef struct products {
    __m256i even, odd;
} products;

AVX2 static inline products multiply(__m256i word, uint32_t multiplier)
{
    const __m256i factor = _mm256_set1_epi64x(multiplier);

    return (products){_mm256_mul_epu32(word, factor), _mm256_mul_epu32(_mm256_srli_epi64(word, 32), factor)};
}

/* From each half register two lanes of `a` and then two of `b`, numbered in the order of the result. */
#define PICK(a, b, first, second, third, fourth)                                                             \
    _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b),                    \
                                          (first) | (second) << 2 | (third) << 4 | (fourth) << 6))

AVX2 static inline __m256i lower(products p)
{
    return PICK(p.even, p.odd, 0, 2, 0, 2);
}

AVX2 static inline __m256i upper(products p)
{
    return PICK(p.even, p.odd, 1, 3, 1, 3);
}

/* What is the same for all blocks whose numbers share their upper halves. In the first round word 2 is the
 * tensor and in the second word 0 has not yet seen the block's number, so that half of these rounds' products
 * are constants, worked out once. */
typedef struct philox_constants {
    __m256i key0[LOT_PHILOX_ROUNDS];
    __m256i key1[LOT_PHILOX_ROUNDS];
    __m256i product1_low;  /* round 1: lower half of multiplier 1 times the tensor, with round 2's key */
    __m256i product0_high; /* round 2: upper half of multiplier 0 times word 0, with round 2's key */
    __m256i product0_low;  /* round 2: its lower half */
} philox_constants;

AVX2 static philox_constants make_constants(uint64_t seed, uint32_t tensor, uint32_t block_high)
{
    const uint64_t product1 = (uint64_t)MULTIPLIER_1 * tensor;
    const uint32_t word0 = (uint32_t)(product1 >> 32) ^ block_high ^ (uint32_t)seed;
    const uint64_t product0 = (uint64_t)MULTIPLIER_0 * word0;
    philox_constants made;
    uint32_t key0[LOT_PHILOX_ROUNDS], key1[LOT_PHILOX_ROUNDS];

    for (uint32_t round = 0; round < LOT_PHILOX_ROUNDS; round++) {
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

/* Multiplier 0 times the numbers of the blocks low, low + 2, low + 1, low + 3: the even products of round 1
 * of the octet that begins with block `low`. All others, and those of the steps to come, are this and a
 * constant. */
AVX2 static inline __m256i first_products(uint32_t low)
{
    const __m256i number = _mm256_add_epi64(_mm256_set1_epi64x(low), _mm256_set_epi64x(3, 1, 2, 0));

    return _mm256_mul_epu32(number, _mm256_set1_epi64x(MULTIPLIER_0));
}

AVX2 static inline __m256i blocks_on(__m256i first, int64_t blocks)
{
    return _mm256_add_epi64(first, _mm256_set1_epi64x(blocks * MULTIPLIER_0));
}

/* Rounds 1 and 2 of the octet with these first products. */
AVX2 static inline octet begin(const philox_constants *constants, __m256i first)
{
    const products from0 = {first, blocks_on(first, 4)};
    const products from2 = multiply(_mm256_xor_si256(upper(from0), constants->key1[0]), MULTIPLIER_1);

    return (octet){{_mm256_xor_si256(upper(from2), constants->product1_low), lower(from2),
                    _mm256_xor_si256(lower(from0), constants->product0_high), constants->product0_low}};
}

/* Keeps the compiler from putting the key behind the product: a chain would be one step a round longer. */
AVX2 static inline __m256i keyed(__m256i word, __m256i key)
{
    __m256i value = _mm256_xor_si256(word, key);

    __asm__("" : "+x"(value));
    return value;
}

AVX2 static inline void one_round(const philox_constants *constants, int round, octet *o)
{
    __m256i *word = o->word;
    const __m256i keyed1 = keyed(word[1], constants->key0[round]);
    const __m256i keyed3 = keyed(word[3], constants->key1[round]);
    const products from0 = multiply(word[0], MULTIPLIER_0);
    const products from2 = multiply(word[2], MULTIPLIER_1);

    word[1] = lower(from2);
    word[3] = lower(from0);
    word[0] = _mm256_xor_si256(upper(from2), keyed1);
    word[2] = _mm256_xor_si256(upper(from0), keyed3);
}

/* The last round's products with `other`, the word that its upper halves are combined with: two words of each
 * block, the first of them above. */
AVX2 static inline products last_products(__m256i word, uint32_t multiplier, __m256i other)
{
    const products p = multiply(word, multiplier);
    const __m256i zero = _mm256_setzero_si256();

    return (products){_mm256_xor_si256(p.even, _mm256_unpacklo_epi32(zero, other)),
                      _mm256_xor_si256(p.odd, _mm256_unpackhi_epi32(zero, other))};
}

/* The last round, and the blocks' words in order: two blocks to each of `words`. */
AVX2 static inline void finish(const philox_constants *constants, const octet *o, __m256i words[4])
{
    const int round = LOT_PHILOX_ROUNDS - 1;
    const products low = last_products(o->word[2], MULTIPLIER_1,
                                       _mm256_xor_si256(o->word[1], constants->key0[round])); /* 0 2, 1 3 */
    const products high = last_products(o->word[0], MULTIPLIER_0,
                                        _mm256_xor_si256(o->word[3], constants->key1[round])); /* 0 1, 2 3 */

    words[0] = PICK(low.even, high.even, 1, 0, 1, 0);
    words[1] = PICK(low.odd, high.even, 1, 0, 3, 2);
    words[2] = PICK(low.even, high.odd, 3, 2, 1, 0);
    words[3] = PICK(low.odd, high.odd, 3, 2, 3, 2);
}

/* lot_normal_first and lot_normal_second of eight words: the bytes in pairs, then the pairs. */
AVX2 static inline __m256i normal_first(__m256i words)
{
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), words);

    return _mm256_add_epi32(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)), _mm256_set1_epi32(2));
}

AVX2 static inline __m256i normal_second(__m256i words)
{
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), words);

    return _mm256_madd_epi16(pairs, _mm256_set1_epi32((int)0xFFFF0001u));
}

/* The numbers of the first elements of eight words, and of the second ones, where there are two. */
AVX2 static inline __m256i first_numbers(__m256i words, lot_distribution distribution, lot_dtype dtype)
{
    if (distribution == LOT_NEAR_NORMAL)
        return normal_first(words);
    if (dtype == LOT_FLOAT32)
        return _mm256_and_si256(words, _mm256_set1_epi32(~0xFF));
    return _mm256_srai_epi32(_mm256_slli_epi32(words, 16), 16);
}

AVX2 static inline __m256i second_numbers(__m256i words, lot_distribution distribution)
{
    return distribution == LOT_NEAR_NORMAL ? normal_second(words) : _mm256_srai_epi32(words, 16);
}

/* lot_to_bfloat16 of eight values, in the upper halves of eight words; what is below is undefined. */
AVX2 static inline __m256i bfloat16_above(__m256 values)
{
    const __m256i bits = _mm256_castps_si256(values);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));

    return _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7FFF)), odd);
}

/* Two half values to each word, the first one below. Where the conversion is an instruction, it rounds to
 * nearest even, subnormals included, as lot_to_float16 does. */
AVX2 static inline __m256i half_words(__m256 first, __m256 second, lot_dtype dtype)
{
    __m128i low, high;

    if (dtype == LOT_BFLOAT16)
        return _mm256_blend_epi16(_mm256_srli_epi32(bfloat16_above(first), 16), bfloat16_above(second), 0xAA);
    low = _mm256_cvtps_ph(first, _MM_FROUND_TO_NEAREST_INT);
    high = _mm256_cvtps_ph(second, _MM_FROUND_TO_NEAREST_INT);
    return _mm256_set_m128i(_mm_unpackhi_epi16(low, high), _mm_unpacklo_epi16(low, high));
}

/* Eight words of the generator to the eight words of the tensor that they make. */
AVX2 static inline __m256i tensor_words(__m256i words, __m256 factor, lot_distribution distribution,
                                        lot_dtype dtype)
{
    const __m256i first = first_numbers(words, distribution, dtype);
    const __m256 values = _mm256_mul_ps(_mm256_cvtepi32_ps(first), factor);
    __m256i second;

    if (dtype == LOT_FLOAT32)
        return _mm256_castps_si256(values);
    second = second_numbers(words, distribution);
    return half_words(values, _mm256_mul_ps(_mm256_cvtepi32_ps(second), factor), dtype);
}

AVX2 static inline __attribute__((always_inline)) void
store_octet(char *to, const philox_constants *constants, const octet *o, __m256 factor,
            lot_distribution distribution, lot_dtype dtype)
{
    __m256i words[4];

    finish(constants, o, words);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        _mm256_storeu_si256((__m256i *)(void *)(to + (ptrdiff_t)32 * i),
                            tensor_words(words[i], factor, distribution, dtype));
}

/* Blocks that share the upper halves of their numbers; `count` a multiple of WIDE. Inlined for each law and
 * dtype, so that nothing is chosen within the loop. */
AVX2 static inline __attribute__((always_inline)) void make_run(char *to, const lot_fill *fill,
                                                                uint64_t block, int64_t count,
                                                                lot_distribution distribution,
                                                                lot_dtype dtype)
{
    const philox_constants constants = make_constants(fill->seed, fill->tensor, (uint32_t)(block >> 32));
    const __m256 factor = _mm256_set1_ps(lot_fill_factor(distribution, dtype, fill->scale));
    __m256i first = first_products((uint32_t)block);
    octet octets[OCTETS];

    for (int64_t i = 0; i < count; i += WIDE, first = blocks_on(first, WIDE)) {
#pragma GCC unroll 2
        for (int64_t j = 0; j < OCTETS; j++)
            octets[j] = begin(&constants, blocks_on(first, 8 * j));
#pragma GCC unroll 8
        for (int round = 2; round < LOT_PHILOX_ROUNDS - 1; round++)
#pragma GCC unroll 2
            for (int j = 0; j < OCTETS; j++)
                one_round(&constants, round, &octets[j]);
#pragma GCC unroll 2
        for (int64_t j = 0; j < OCTETS; j++)
            store_octet(to + BLOCK_BYTES * (i + 8 * j), &constants, &octets[j], factor, distribution, dtype);
    }
}

AVX2 static void make_runs(char *to, const lot_fill *fill, uint64_t block, int64_t count)
{
    if (fill->distribution == LOT_UNIFORM) {
        if (fill->dtype == LOT_FLOAT32)
            make_run(to, fill, block, count, LOT_UNIFORM, LOT_FLOAT32);
        else if (fill->dtype == LOT_FLOAT16)
            make_run(to, fill, block, count, LOT_UNIFORM, LOT_FLOAT16);
        else
            make_run(to, fill, block, count, LOT_UNIFORM, LOT_BFLOAT16);
        return;
    }
    if (fill->dtype == LOT_FLOAT32)
        make_run(to, fill, block, count, LOT_NEAR_NORMAL, LOT_FLOAT32);
    else if (fill->dtype == LOT_FLOAT16)
        make_run(to, fill, block, count, LOT_NEAR_NORMAL, LOT_FLOAT16);
    else
        make_run(to, fill, block, count, LOT_NEAR_NORMAL, LOT_BFLOAT16);
}

/* Before versions 16 and 11 the builtin of clang and gcc knows no "f16c". The instruction that is asked
 * instead is slow in a virtual machine, which catches it, so that it is for these only. */
static int has_f16c(void)
{
#if defined __clang__ || __GNUC__ < 11
    unsigned a, b, c, d;

    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
#else
    return __builtin_cpu_supports("f16c") != 0;
#endif
}

/* As many of `count` blocks as can be made WIDE at a time, without passing a multiple of 2^32. */
static int64_t make_wide(char *to, const lot_fill *fill, uint64_t block, int64_t count)
{
    const int64_t left_here = (int64_t)(UINT64_C(0x100000000) - (block & 0xFFFFFFFFu));
    const int64_t most = count < left_here ? count : left_here;
    const int64_t wide = most - most % WIDE;

    if (wide == 0 || !__builtin_cpu_supports("avx2") || !has_f16c())
        return 0;
    make_runs(to, fill, block, wide);
    return wide;
}

#else

static int64_t make_wide(char *to, const lot_fill *fill, uint64_t block, int64_t count)
{
    (void)to, (void)fill, (void)block, (void)count;
    return 0;
}

#endif

/* ---- */

/* `count` whole blocks. Where the wide way stops, one step of the plain way takes over. */
static void make_blocks(char *to, const lot_fill *fill, uint64_t block, int64_t count)
{
    while (count > 0) {
        int64_t made = make_wide(to, fill, block, count);

        if (made == 0) {
            made = count < ELEMENTS_MOST ? count : ELEMENTS_MOST;
            make_plain(to, fill, block, made);
        }
        to += BLOCK_BYTES * made;
        block += (uint64_t)made;
        count -= made;
    }
}

void lot_generate(void *to, const lot_fill *fill, int64_t first, int64_t count)
{
    const int elements = lot_block_elements(fill->dtype);
    const int64_t end = first + count, item = (int64_t)lot_dtype_bytes(fill->dtype);
    const int within = (int)(first % elements);
    int64_t block = first / elements, at = first;
    int64_t whole;

    if (count <= 0)
        return;
    if (within != 0) {
        const int until = end - first < elements - within ? within + (int)(end - first) : elements;

        make_part(to, fill, (uint64_t)block, within, until);
        at += until - within;
        block++;
    }
    whole = (end - at) / elements;
    make_blocks((char *)to + (at - first) * item, fill, (uint64_t)block, whole);
    at += whole * elements;
    if (at < end)
        make_part((char *)to + (at - first) * item, fill, (uint64_t)(block + whole), 0, (int)(end - at));
}
