/* The host device: values, digests and comparisons, held against definitions written here. */
#include "support/host_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/digest.h"
#include "gpu/generator.h"

/* ---- values ---- */

/* The bits of one element, by the definition in gpu/generator.h. */
static uint32_t expected_bits(const lot_fill *fill, int64_t element)
{
    const float value = lot_value(fill, element);

    if (fill->dtype == LOT_FLOAT32)
        return lot_float_bits(value);
    return fill->dtype == LOT_FLOAT16 ? lot_to_float16(value) : lot_to_bfloat16(value);
}

/* Fills and compares every element; the element after the last one must keep its bytes. */
static void check_fill(fixture *f, const lot_fill *fill, bool build)
{
    const size_t item = lot_dtype_bytes(fill->dtype);
    const size_t bytes = (size_t)fill->count * item;
    uint8_t *to = allocate(f, (int64_t)(bytes + item));

    memset(to, 0xA5, bytes + item);
    assert_int_equal((build ? f->module->build : f->module->fill)(f->device, to, fill, &f->error), LOT_OK);
    for (int64_t i = 0; i < fill->count; i++) {
        uint32_t bits = 0;

        memcpy(&bits, to + (size_t)i * item, item);
        if (bits != expected_bits(fill, fill->first + i))
            fail_msg("element %lld: %08x, expected %08x", (long long)i, bits,
                     expected_bits(fill, fill->first + i));
    }
    for (size_t i = 0; i < item; i++)
        assert_int_equal(to[bytes + i], 0xA5);
    f->module->free(f->device, to);
}

static void test_values_are_the_definition(void **state)
{
    fixture *f = *state;
    static const int64_t firsts[] = {0,
                                     1,
                                     2,
                                     31,
                                     32,
                                     33,
                                     1000003,
                                     (INT64_C(1) << 34) + 5,
                                     (INT64_C(1) << 34) - 40,
                                     (INT64_C(1) << 34) - 200,
                                     (INT64_C(1) << 35) - 400,
                                     (INT64_C(1) << 33) - 70};
    static const float scales[] = {0.03125f * 1.1f, 1.0f, 0x1.8p-100f, 0.0f, 0x1p100f};
    static const int64_t counts[] = {0, 1, 3, 31, 32, 64, 100, 16384 + 35, 200001};

    for (int threads = 1; threads <= 3; threads++) {
        f->module->close(f->device);
        open_with(f, threads);
        for (size_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++)
            for (size_t j = 0; j < sizeof counts / sizeof counts[0]; j++)
                for (unsigned kind = 0; kind < 2 * LOT_DTYPE_COUNT; kind++) {
                    const lot_fill fill = {.seed = 0x0123456789ABCDEFull + i,
                                           .tensor = LOT_TENSOR_WEIGHT_1 + (uint32_t)kind,
                                           .distribution = kind % 2 ? LOT_NEAR_NORMAL : LOT_UNIFORM,
                                           .scale = scales[(i + j) % (sizeof scales / sizeof scales[0])],
                                           .first = firsts[i],
                                           .count = counts[j],
                                           .dtype = (lot_dtype)(kind / 2)};

                    /* Only the longest is shared among threads. */
                    if (counts[j] < 200001 ? threads == 1 : i == 3)
                        check_fill(f, &fill, j % 2 != 0);
                }
    }
}

/* ---- digest ---- */

static uint64_t expected_digest(const uint8_t *data, size_t bytes)
{
    uint64_t sum = bytes;

    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = 0;

        for (size_t byte = 0; byte < 8 && i + byte < bytes; byte++)
            word |= (uint64_t)data[i + byte] << (8 * byte);
        sum += lot_digest_word(word, i / 8);
    }
    return sum;
}

/* Elements that differ lie where the test put them, at the borders of what a thread takes at once. */
static void test_compare_counts_and_finds_the_first(void **state)
{
    fixture *f = *state;
    static const int64_t places[] = {0, 1, 16383, 16384, 99999, 100000};
    const int64_t count = 100001, places_count = sizeof places / sizeof places[0];

    for (lot_dtype dtype = LOT_FLOAT32; dtype < LOT_DTYPE_COUNT; dtype++) {
        const size_t item = lot_dtype_bytes(dtype), bytes = (size_t)count * item;
        unsigned char *a = allocate(f, (int64_t)bytes), *b = allocate(f, (int64_t)bytes);
        int64_t differing = 7, first = 7;

        memset(a, 0x11, bytes);
        memset(b, 0x11, bytes);
        assert_int_equal(f->module->compare(f->device, a, b, count, dtype, &differing, &first, &f->error),
                         LOT_OK);
        assert_true(differing == 0 && first == -1);
        for (int64_t i = places_count - 1; i >= 0; i--) {
            b[(size_t)places[i] * item + item - 1] ^= 1;
            assert_int_equal(f->module->compare(f->device, a, b, count, dtype, &differing, &first, &f->error),
                             LOT_OK);
            assert_true(differing == places_count - i && first == places[i]);
        }
        f->module->free(f->device, a);
        f->module->free(f->device, b);
    }
}

static void test_digest_is_the_definition(void **state)
{
    fixture *f = *state;
    static const size_t sizes[] = {0, 2, 4, 6, 8, 10, 30, 32, 34, 256, 131072, 131080, 1048576 + 12};
    uint8_t *data = allocate(f, 2 << 20);

    for (size_t i = 0; i < 2 << 20; i++)
        data[i] = (uint8_t)(i * 2654435761u >> 13) & 0x3F; /* finite in every type */
    for (int threads = 1; threads <= 3; threads += 2)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            uint64_t digest = 0;
            int finite = 0;

            assert_int_equal(f->module->digest(f->device, data, (int64_t)sizes[i],
                                               sizes[i] % 4 ? LOT_FLOAT16 : LOT_FLOAT32, &digest, &finite,
                                               &f->error),
                             LOT_OK);
            assert_true(digest == expected_digest(data, sizes[i]));
            assert_int_equal(finite, 1);
        }
}

/* One infinity or NaN anywhere is seen, in vectors and in the rest after them; the largest finite value is
 * not. */
static void test_digest_sees_nonfinite(void **state)
{
    fixture *f = *state;
    static const struct {
        lot_dtype dtype;
        uint32_t infinity, nan, largest;
    } kinds[] = {{LOT_FLOAT32, 0x7F800000u, 0xFFC00001u, 0x7F7FFFFFu},
                 {LOT_FLOAT16, 0x7C00u, 0xFE01u, 0x7BFFu},
                 {LOT_BFLOAT16, 0xFF80u, 0x7FC1u, 0xFF7Fu}};
    const size_t count = 77;
    uint8_t *data = allocate(f, (int64_t)count * 4);

    for (size_t kind = 0; kind < 3; kind++) {
        const size_t item = lot_dtype_bytes(kinds[kind].dtype);

        for (size_t i = 0; i < 3 * count; i++) {
            const uint32_t values[3] = {kinds[kind].infinity, kinds[kind].nan, kinds[kind].largest};
            uint64_t digest = 0;
            int finite = -1;

            memset(data, 0, count * 4);
            memcpy(data + i / 3 * item, &values[i % 3], item);
            assert_int_equal(f->module->digest(f->device, data, (int64_t)(count * item), kinds[kind].dtype,
                                               &digest, &finite, &f->error),
                             LOT_OK);
            assert_int_equal(finite, i % 3 == 2);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_values_are_the_definition),
        TEST(test_compare_counts_and_finds_the_first),
        TEST(test_digest_is_the_definition),
        TEST(test_digest_sees_nonfinite),
    };

    return cmocka_run_group_tests_name("host values", tests, NULL, NULL);
}
