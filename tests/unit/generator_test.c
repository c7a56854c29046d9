/* The generator and the half types, held against published vectors and against definitions written another
 * way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/digest.h"
#include "gpu/generator.h"

/* ---- Philox ---- */

/* Philox4x32 as the paper writes it, for any counter and seven rounds: (L, R) pairs, high and low halves of
 * two products, keys bumped before every round but the first. */
static void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t result[4])
{
    uint32_t r0 = counter[0], l0 = counter[1], r1 = counter[2], l1 = counter[3];

    for (int round = 0; round < 7; round++) {
        const uint32_t k0 = key[0] + (uint32_t)round * 0x9E3779B9u;
        const uint32_t k1 = key[1] + (uint32_t)round * 0xBB67AE85u;
        const uint64_t wide0 = UINT64_C(0xD2511F53) * r0;
        const uint64_t wide1 = UINT64_C(0xCD9E8D57) * r1;

        r0 = (uint32_t)(wide1 >> 32) ^ k0 ^ l0;
        l0 = (uint32_t)(wide1 & 0xFFFFFFFFu);
        r1 = (uint32_t)(wide0 >> 32) ^ k1 ^ l1;
        l1 = (uint32_t)(wide0 & 0xFFFFFFFFu);
    }
    result[0] = r0;
    result[1] = l0;
    result[2] = r1;
    result[3] = l1;
}

/* Random123's known answers for philox4x32 with 7 rounds (kat_vectors): counter, key, result. They hold for
 * the function above, which takes all of the counter; the product's has a zero as its last word. */
static void test_known_answers(void **state)
{
    static const struct {
        uint32_t counter[4], key[2], result[4];
    } vectors[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        uint32_t result[4];

        philox(vectors[i].counter, vectors[i].key, result);
        assert_memory_equal(result, vectors[i].result, sizeof result);
    }
}

static void test_zero_vector_of_the_product(void **state)
{
    static const uint32_t expected[4] = {0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48};
    const lot_block block = lot_philox(0, 0, 0);

    (void)state;
    assert_memory_equal(block.word, expected, sizeof expected);
}

static uint64_t scramble(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* key = halves of the seed, low first; counter = block low, block high, tensor, 0. */
static void test_mapping_of_seed_tensor_and_block(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        const uint64_t seed = scramble(3 * i) >> (i % 3 * 16);
        const uint64_t number = scramble(3 * i + 1) >> (i % 5 * 12);
        const uint32_t tensor = (uint32_t)scramble(3 * i + 2);
        const uint32_t counter[4] = {(uint32_t)(number & 0xFFFFFFFFu), (uint32_t)(number >> 32), tensor, 0};
        const uint32_t key[2] = {(uint32_t)(seed & 0xFFFFFFFFu), (uint32_t)(seed >> 32)};
        const lot_block block = lot_philox(seed, tensor, number);
        uint32_t expected[4];

        philox(counter, key, expected);
        assert_memory_equal(block.word, expected, sizeof expected);
    }
}

/* ---- from words to values ---- */

/* Two's complement of `width` bits. */
static int64_t signed_of(uint64_t bits, int width)
{
    const int64_t sign = INT64_C(1) << (width - 1);

    return ((int64_t)bits ^ sign) - sign;
}

static void test_numbers_of_a_word(void **state)
{
    static const uint32_t ends[] = {0,           0xFFFFFFFFu, 0x80000000u, 0x7FFFFFFFu, 0x00008000u,
                                    0x00007FFFu, 0x80808080u, 0x7F7F7F7Fu, 0x80807F7Fu, 0x7F7F8080u};

    (void)state;
    for (uint64_t i = 0; i < 100000; i++) {
        const uint32_t word = i < sizeof ends / sizeof ends[0] ? ends[i] : (uint32_t)scramble(i);
        int64_t byte[4];

        for (int b = 0; b < 4; b++)
            byte[b] = signed_of(word >> 8 * b & 0xFFu, 8);
        assert_int_equal(lot_uniform_single(word), 256 * signed_of(word >> 8, 24));
        assert_int_equal(lot_uniform_first(word), signed_of(word & 0xFFFFu, 16));
        assert_int_equal(lot_uniform_second(word), signed_of(word >> 16, 16));
        assert_int_equal(lot_normal_first(word), byte[0] + byte[1] + byte[2] + byte[3] + 2);
        assert_int_equal(lot_normal_second(word), byte[0] + byte[1] - byte[2] - byte[3]);
    }
}

/* Each value is its number times one factor: 2^-31, 2^-15, or 1 / the standard deviation of four bytes. */
static void test_factors(void **state)
{
    (void)state;
    for (lot_dtype dtype = LOT_FLOAT32; dtype < LOT_DTYPE_COUNT; dtype++) {
        const float normal = lot_fill_factor(LOT_NEAR_NORMAL, dtype, 1.0f);

        assert_true((double)normal == (double)(float)(1 / sqrt(4 * (65536.0 - 1) / 12)));
        assert_true(lot_fill_factor(LOT_NEAR_NORMAL, dtype, 8.0f) == 8.0f * normal);
        assert_true(lot_fill_factor(LOT_UNIFORM, dtype, 0.1f) ==
                    ldexpf(0.1f, dtype == LOT_FLOAT32 ? -31 : -15));
    }
}

/* Which block and which word of it makes an element. */
static void test_place_of_an_element(void **state)
{
    lot_fill fill = {.seed = 99, .tensor = 3, .scale = 1.0f};

    (void)state;
    for (int64_t element = INT64_C(1) << 33; element < (INT64_C(1) << 33) + 100; element++) {
        const lot_block singles = lot_philox(99, 3, (uint64_t)element / 4);
        const uint32_t single = singles.word[element % 4];
        const lot_block halves = lot_philox(99, 3, (uint64_t)element / 8);
        const uint32_t half = halves.word[element % 8 / 2];

        fill.dtype = LOT_FLOAT32;
        assert_true(lot_value(&fill, element) == (float)signed_of(single >> 8, 24) * 0x1p-23f);
        fill.dtype = LOT_BFLOAT16;
        assert_true(lot_value(&fill, element) ==
                    (float)signed_of(element % 2 == 0 ? half & 0xFFFFu : half >> 16, 16) * 0x1p-15f);
    }
}

typedef struct moments {
    double mean, variance, skewness, excess, lag, least, most;
} moments;

static moments measure(const float *values, size_t count)
{
    moments m = {.least = (double)values[0], .most = (double)values[0]};
    double third = 0, fourth = 0;

    for (size_t i = 0; i < count; i++)
        m.mean += (double)values[i] / (double)count;
    for (size_t i = 0; i < count; i++) {
        const double d = (double)values[i] - m.mean;

        m.variance += d * d / (double)count;
        third += d * d * d / (double)count;
        fourth += d * d * d * d / (double)count;
        if (i > 0)
            m.lag += d * ((double)values[i - 1] - m.mean) / (double)count;
        m.least = fmin(m.least, (double)values[i]);
        m.most = fmax(m.most, (double)values[i]);
    }
    m.skewness = third / pow(m.variance, 1.5);
    m.excess = fourth / (m.variance * m.variance) - 3.0;
    m.lag /= m.variance;
    return m;
}

#define SAMPLES ((size_t)1 << 21)

/* Five standard errors, which the fixed seeds below stay within; sqrt(24 / n) is the kurtosis's of a normal
 * law and larger than that of both laws here. */
static double tolerance(double standard_deviation)
{
    return 5.0 * standard_deviation / sqrt((double)SAMPLES);
}

static void test_near_normal_moments(void **state)
{
    float *values = malloc(SAMPLES * sizeof *values);

    (void)state;
    assert_non_null(values);
    for (uint32_t tensor = 1; tensor <= 6; tensor++) {
        const lot_fill fill = {.seed = 20240924,
                               .tensor = tensor,
                               .distribution = LOT_NEAR_NORMAL,
                               .scale = 2.0f,
                               .dtype = (lot_dtype)(tensor % 3)};
        moments m;

        for (size_t i = 0; i < SAMPLES; i++)
            values[i] = lot_value(&fill, (int64_t)i);
        m = measure(values, SAMPLES);
        assert_true(fabs(m.mean) < tolerance(2.0));
        assert_true(fabs(m.variance - 4.0) < tolerance(4.0 * sqrt(2.0)));
        assert_true(fabs(m.skewness) < tolerance(sqrt(6.0)));
        assert_true(fabs(m.excess + 0.3) < tolerance(sqrt(24.0))); /* Irwin-Hall: -6 / (5 n), less 4e-5 */
        assert_true(fabs(m.lag) < tolerance(1.0));
        assert_true(m.least >= -2 * 3.4507 && m.most <= 2 * 3.4507 && m.most > 6.0);
    }
    free(values);
}

/* Over all pairs of byte sums: the two half elements of a word are uncorrelated; their squares are as the
 * header says. */
static void test_two_elements_of_a_word(void **state)
{
    double product = 0, squares = 0, square = 0, fourth = 0, weights = 0;

    (void)state;
    for (int p = -256; p <= 254; p++)
        for (int q = -256; q <= 254; q++) {
            const double weight = (double)(256 - abs(p + 1)) * (double)(256 - abs(q + 1));
            const double first = p + q + 2, second = p - q;

            weights += weight;
            product += weight * first * second;
            square += weight * first * first;
            squares += weight * first * first * second * second;
            fourth += weight * first * first * first * first;
        }
    square /= weights;
    assert_true(fabs(square - 21845.0) < 1e-6);
    assert_true(fabs(product / weights) < 1e-6);
    assert_true(fabs((squares / weights - square * square) / (fourth / weights - square * square) + 0.18) <
                0.005);
}

static void check_uniform(lot_dtype dtype)
{
    enum { BINS = 256 };
    const lot_fill fill = {.seed = 7, .tensor = LOT_TENSOR_WEIGHT_2, .scale = 0.5f, .dtype = dtype};
    float *values = malloc(SAMPLES * sizeof *values);
    double bins[BINS] = {0}, chi_square = 0;
    moments m;

    assert_non_null(values);
    for (size_t i = 0; i < SAMPLES; i++) {
        values[i] = lot_value(&fill, (int64_t)i);
        bins[(size_t)(((double)values[i] + 0.5) * BINS)] += 1;
    }
    m = measure(values, SAMPLES);
    for (size_t i = 0; i < BINS; i++)
        chi_square += pow(bins[i] - (double)SAMPLES / BINS, 2) / ((double)SAMPLES / BINS);
    assert_true(fabs(m.mean) < tolerance(0.5 / sqrt(3.0)));
    assert_true(fabs(m.variance - 0.25 / 3.0) < tolerance(0.25 / 3.0 * sqrt(2.0)));
    assert_true(fabs(m.excess + 1.2) < tolerance(sqrt(24.0)));
    assert_true(fabs(m.lag) < tolerance(1.0));
    assert_true(m.least >= -0.5 && m.most < 0.5 && m.most > 0.499);
    assert_true(chi_square > 145 && chi_square < 396); /* 255 degrees of freedom: one in a million outside */
    free(values);
}

static void test_uniform_moments_and_bins(void **state)
{
    (void)state;
    for (lot_dtype dtype = LOT_FLOAT32; dtype < LOT_DTYPE_COUNT; dtype++)
        check_uniform(dtype);
}

/* Another seed or another tensor gives values that have nothing to do with the first ones. */
static void test_streams_are_unrelated(void **state)
{
    enum { COUNT = 100000 };
    static const struct {
        uint64_t seed;
        uint32_t tensor;
    } others[] = {{2, 1}, {1, 2}, {1 + (UINT64_C(1) << 32), 1}, {1, 5}};

    (void)state;
    for (size_t other = 0; other < sizeof others / sizeof others[0]; other++) {
        double product = 0;
        unsigned equal = 0;

        for (uint64_t i = 0; i < COUNT; i++) {
            const lot_block a = lot_philox(1, 1, i);
            const lot_block b = lot_philox(others[other].seed, others[other].tensor, i);

            product += (double)lot_uniform_single(a.word[0]) * 0x1p-31 *
                       (double)lot_uniform_single(b.word[0]) * 0x1p-31;
            equal += a.word[0] == b.word[0];
        }
        assert_true(fabs(product) < 5.0 * sqrt(COUNT / 9.0));
        assert_int_equal(equal, 0);
    }
}

/* ---- half types ---- */

/* The value of a half type by its definition: `fraction_bits` of fraction, exponent bias, no hidden bit and
 * the smallest exponent where the exponent is 0. */
static double half_value(uint16_t bits, int fraction_bits, int bias)
{
    const int exponent = (bits & 0x7FFF) >> fraction_bits;
    const double fraction = (double)(bits & ((1 << fraction_bits) - 1)) / (double)(1 << fraction_bits);
    const double magnitude =
        exponent == 0 ? ldexp(fraction, 1 - bias) : ldexp(1.0 + fraction, exponent - bias);

    return bits & 0x8000 ? -magnitude : magnitude;
}

/* The nearest half type by search among all of them, the even one where two are equally near. The value after
 * the largest finite one counts as infinity, as IEEE 754 rounds. */
static uint16_t nearest(double value, int fraction_bits, int bias)
{
    const double magnitude = fabs(value);
    uint16_t low = 0;
    uint16_t high = (uint16_t)(0x7FFF >> fraction_bits << fraction_bits); /* infinity's bits */
    double below, above;

    while (high - low > 1) {
        const uint16_t middle = (uint16_t)((low + high) / 2);

        if (half_value(middle, fraction_bits, bias) <= magnitude)
            low = middle;
        else
            high = middle;
    }
    below = magnitude - half_value(low, fraction_bits, bias);
    above = half_value(high, fraction_bits, bias) - magnitude;
    if (above < below || (above == below && low % 2 != 0))
        low = high;
    return (uint16_t)(low | (signbit(value) ? 0x8000 : 0));
}

static void check_rounding(float value)
{
    assert_int_equal(lot_to_float16(value), nearest((double)value, 10, 15));
    assert_int_equal(lot_to_bfloat16(value), nearest((double)value, 7, 127));
}

static float from_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Every half value comes back, and the two types' values are those of their definitions. */
static void test_every_half_value(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        if ((bits & 0x7C00) != 0x7C00) {
            assert_true((double)lot_from_float16((uint16_t)bits) == half_value((uint16_t)bits, 10, 15));
            assert_int_equal(lot_to_float16(lot_from_float16((uint16_t)bits)), bits);
        }
        if ((bits & 0x7F80) != 0x7F80) {
            assert_true((double)lot_from_bfloat16((uint16_t)bits) == half_value((uint16_t)bits, 7, 127));
            assert_int_equal(lot_to_bfloat16(lot_from_bfloat16((uint16_t)bits)), bits);
        }
    }
    assert_true(isinf(lot_from_float16(0x7C00)) && lot_from_float16(0xFC00) < 0);
    assert_true(isnan(lot_from_float16(0x7E00)) && isnan(lot_from_bfloat16(0x7FC0)));
    assert_true(isinf(lot_from_bfloat16(0xFF80)));
}

/* Halfway between two neighbours of either type, and one float to either side of it. */
static void test_rounding_at_every_midpoint(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 0x7C00; bits++) {
        const double middle =
            (half_value((uint16_t)bits, 10, 15) + half_value((uint16_t)(bits + 1), 10, 15)) / 2;

        check_rounding((float)middle);
        check_rounding(-nextafterf((float)middle, 0.0f));
        check_rounding(nextafterf((float)middle, 1e30f));
    }
    for (uint32_t bits = 0; bits < 0x7F80; bits++) {
        const uint32_t middle = bits << 16 | 0x8000u;

        check_rounding(from_bits(middle));
        check_rounding(from_bits(middle - 1));
        check_rounding(-from_bits(middle + 1));
    }
}

static void test_rounding_of_random_floats(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 300000; i++) {
        const float value = from_bits((uint32_t)scramble(i));

        if (isfinite(value))
            check_rounding(value);
    }
    assert_int_equal(lot_to_float16(65519.996f), 0x7BFF);
    assert_int_equal(lot_to_float16(65520.0f), 0x7C00);
    assert_int_equal(lot_to_float16(-INFINITY), 0xFC00);
    assert_int_equal(lot_to_bfloat16(INFINITY), 0x7F80);
    assert_int_equal(lot_to_float16(-0.0f), 0x8000);
}

/* ---- digest ---- */

/* Every step can be undone, so a change in one word changes its contribution; the index counts too. */
static void test_digest_of_one_word(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 1000; i++) {
        const uint64_t word = scramble(i);

        for (unsigned bit = 0; bit < 64; bit++)
            assert_true(lot_digest_word(word, i) != lot_digest_word(word ^ UINT64_C(1) << bit, i));
        assert_true(lot_digest_word(word, i) != lot_digest_word(word, i + 1));
    }
    /* m = 1 + K; m ^= m >> 32; m *= M; m ^= m >> 29, worked out by hand with integers of any size. */
    assert_true(lot_digest_word(1, 0) == UINT64_C(0xE827B284BC773268));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_zero_vector_of_the_product),
        cmocka_unit_test(test_mapping_of_seed_tensor_and_block),
        cmocka_unit_test(test_numbers_of_a_word),
        cmocka_unit_test(test_factors),
        cmocka_unit_test(test_place_of_an_element),
        cmocka_unit_test(test_near_normal_moments),
        cmocka_unit_test(test_two_elements_of_a_word),
        cmocka_unit_test(test_uniform_moments_and_bins),
        cmocka_unit_test(test_streams_are_unrelated),
        cmocka_unit_test(test_every_half_value),
        cmocka_unit_test(test_rounding_at_every_midpoint),
        cmocka_unit_test(test_rounding_of_random_floats),
        cmocka_unit_test(test_digest_of_one_word),
    };

    return cmocka_run_group_tests_name("generator", tests, NULL, NULL);
}
