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

/* ---- eight blocks at a time, with AVX2: a compiler does not find that way by itself ---- */

#if defined(__x86_64__) && defined(__GNUC__)

#ifdef __clang__
#include <cpuid.h>
#endif
#include <immintrin.h>

#define AVX2         __attribute__((target("avx2,f16c")))
#define CHAINS       2            /* side by side: within one, every step waits for the one before it */
#define WIDE         (4 * CHAINS) /* blocks of one step */
#define MULTIPLIER_0 0xD2511F53u
#define MULTIPLIER_1 0xCD9E8D57u

/* Four Philox blocks, one word of each in the lower half of a 64-bit lane. The upper halves hold what earlier
 * products left there: the multiplication reads lower halves only. */
typedef struct blocks {
    __m256i word[4];
} blocks;

/* What is the same for all blocks whose numbers share their upper halves. In the first round word 2 is the
 * tensor and in the second word 0 has not yet seen the block's number, so that half of these rounds' products
 * are constants, worked out once. */
typedef struct philox_constants {
    __m256i key0[LOT_PHILOX_ROUNDS];
    __m256i key1[LOT_PHILOX_ROUNDS];
    __m256i product1_low;  /* round 1: lower half of multiplier 1 times the tensor, with round 2's key */
    __m256i product0_high; /* round 2: upper half of multiplier 0 times word 0, with round 2's key */
    __m256i product0_low;  /* round 2: its lower half, with round 3's key */
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
    made.product0_low = _mm256_set1_epi32((int)((uint32_t)product0 ^ key1[2]));
    return made;
}

/* Multiplier 0 times the numbers of the four blocks from `low` on, round 1's product. In a register the
 * blocks stand in the order 0, 2, 1, 3, in which to_words needs them. A step onwards is an addition to it. */
AVX2 static inline __m256i first_product(uint32_t low)
{
    const __m256i number = _mm256_add_epi64(_mm256_set1_epi64x(low), _mm256_set_epi64x(3, 1, 2, 0));

    return _mm256_mul_epu32(number, _mm256_set1_epi64x(MULTIPLIER_0));
}

/* Rounds 1 and 2, but for the key that round 3 puts on word 1; word 3 is a constant after them. */
AVX2 static inline void begin(const philox_constants *constants, __m256i first, blocks *c)
{
    const __m256i word2 = _mm256_xor_si256(_mm256_srli_epi64(first, 32), constants->key1[0]);
    const __m256i second = _mm256_mul_epu32(word2, _mm256_set1_epi64x(MULTIPLIER_1));

    c->word[0] = _mm256_xor_si256(_mm256_srli_epi64(second, 32), constants->product1_low);
    c->word[1] = second;
    c->word[2] = _mm256_xor_si256(first, constants->product0_high);
}

/* Keeps the compiler from putting the key behind the product's shift: a chain would be one step a round
 * longer. */
AVX2 static inline __m256i at_once(__m256i value)
{
    __asm__("" : "+x"(value));
    return value;
}

/* Words 1 and 3 with the keys of `round`. */
AVX2 static inline __m256i keyed1(const philox_constants *constants, int round, const blocks *c)
{
    return at_once(_mm256_xor_si256(c->word[1], constants->key0[round]));
}

AVX2 static inline __m256i keyed3(const philox_constants *constants, int round, const blocks *c)
{
    return round == 2 ? constants->product0_low
                      : at_once(_mm256_xor_si256(c->word[3], constants->key1[round]));
}

AVX2 static inline void one_round(const philox_constants *constants, int round, blocks *c)
{
    const __m256i next1 = keyed1(constants, round, c);
    const __m256i next3 = keyed3(constants, round, c);
    const __m256i product0 = _mm256_mul_epu32(c->word[0], _mm256_set1_epi64x(MULTIPLIER_0));
    const __m256i product1 = _mm256_mul_epu32(c->word[2], _mm256_set1_epi64x(MULTIPLIER_1));

    c->word[0] = _mm256_xor_si256(_mm256_srli_epi64(product1, 32), next1);
    c->word[1] = product1;
    c->word[2] = _mm256_xor_si256(_mm256_srli_epi64(product0, 32), next3);
    c->word[3] = product0;
}

/* The last round's two words from one product, side by side: its upper half with `keyed`, its lower half. */
AVX2 static inline __m256i last_words(__m256i product, __m256i keyed)
{
    const __m256i swapped = _mm256_shuffle_epi32(product, 0xB1);

    return _mm256_blend_epi32(_mm256_xor_si256(swapped, keyed), swapped, 0xAA);
}

/* The last round, and the words of four blocks in order: blocks 0 and 1, blocks 2 and 3. */
AVX2 static inline void finish(const philox_constants *constants, const blocks *c, __m256i words[2])
{
    const int round = LOT_PHILOX_ROUNDS - 1;
    const __m256i product0 = _mm256_mul_epu32(c->word[0], _mm256_set1_epi64x(MULTIPLIER_0));
    const __m256i product1 = _mm256_mul_epu32(c->word[2], _mm256_set1_epi64x(MULTIPLIER_1));
    const __m256i low = last_words(product1, keyed1(constants, round, c));
    const __m256i high = last_words(product0, keyed3(constants, round, c));

    words[0] = _mm256_unpacklo_epi64(low, high);
    words[1] = _mm256_unpackhi_epi64(low, high);
}

/* The words of the WIDE blocks with these first products, two blocks in each element. */
AVX2 static inline void philox_wide(const philox_constants *constants, const __m256i first[CHAINS],
                                    __m256i words[2 * CHAINS])
{
    blocks c[CHAINS];

    for (int chain = 0; chain < CHAINS; chain++)
        begin(constants, first[chain], &c[chain]);
#pragma GCC unroll 8
    for (int round = 2; round < LOT_PHILOX_ROUNDS - 1; round++)
#pragma GCC unroll 2
        for (int chain = 0; chain < CHAINS; chain++)
            one_round(constants, round, &c[chain]);
    for (int chain = 0; chain < CHAINS; chain++)
        finish(constants, &c[chain], words + (ptrdiff_t)2 * chain);
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
        return _mm256_srai_epi32(words, 8);
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

/* Blocks that share the upper halves of their numbers; `count` a multiple of WIDE. Inlined for each law and
 * dtype, so that nothing is chosen within the loop. */
AVX2 static inline __attribute__((always_inline)) void make_run(char *to, const lot_fill *fill,
                                                                uint64_t block, int64_t count,
                                                                lot_distribution distribution,
                                                                lot_dtype dtype)
{
    const philox_constants constants = make_constants(fill->seed, fill->tensor, (uint32_t)(block >> 32));
    const __m256 factor = _mm256_set1_ps(lot_fill_factor(distribution, dtype, fill->scale));
    const __m256i step = _mm256_set1_epi64x((int64_t)WIDE * MULTIPLIER_0);
    __m256i first[CHAINS], words[2 * CHAINS];

    for (uint32_t chain = 0; chain < CHAINS; chain++)
        first[chain] = first_product((uint32_t)block + 4 * chain);
    for (int64_t i = 0; i < count; i += WIDE) {
        philox_wide(&constants, first, words);
        for (int chain = 0; chain < CHAINS; chain++)
            first[chain] = _mm256_add_epi64(first[chain], step);
        for (int j = 0; j < 2 * CHAINS; j++)
            _mm256_storeu_si256((__m256i *)(void *)(to + BLOCK_BYTES * i + (ptrdiff_t)32 * j),
                                tensor_words(words[j], factor, distribution, dtype));
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

/* Before version 16 clang's builtin knows no "f16c". The instruction that it is asked with instead is slow in
 * a virtual machine, which catches it, so that it is for clang only. */
static int has_f16c(void)
{
#ifdef __clang__
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
