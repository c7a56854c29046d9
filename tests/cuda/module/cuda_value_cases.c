/* Values, digests and comparisons of the CUDA module. */
#include "cuda_fixture.h"
#include "cuda_module_cases.h"

/* Compares device memory with the generator, element by element. */
static void check_values(fixture *f, const void *device, const lot_fill *fill)
{
    const int64_t bytes = fill->count * (int64_t)lot_dtype_bytes(fill->dtype);
    void *host = malloc((size_t)bytes);

    assert_non_null(host);
    WORKS(f, f->module->download(f->device, host, device, bytes, &f->error));
    for (int64_t i = 0; i < fill->count; i++) {
        const float value = lot_value(fill, fill->first + i);
        const float wanted = fill->dtype == LOT_FLOAT32   ? value
                             : fill->dtype == LOT_FLOAT16 ? lot_from_float16(lot_to_float16(value))
                                                          : lot_from_bfloat16(lot_to_bfloat16(value));
        const float got = fixture_at(host, fill->dtype, i);

        if (lot_float_bits(got) != lot_float_bits(wanted))
            fail_msg("dtype %d distribution %d first %lld: element %lld is %a, not %a", (int)fill->dtype,
                     (int)fill->distribution, (long long)fill->first, (long long)i, (double)got,
                     (double)wanted);
    }
    free(host);
}

void test_values_are_the_generators(void **state)
{
    static const int64_t ranges[][2] = {{0, 1}, {0, 8}, {0, 4096}, {3, 5}, {7, 1030}, {8, 24}, {5, 8200}};
    fixture *f = *state;
    void *device = fixture_alloc(f, 8200 * 4);

    for (int distribution = LOT_UNIFORM; distribution <= LOT_NEAR_NORMAL; distribution++)
        for (int dtype = 0; dtype < LOT_DTYPE_COUNT; dtype++)
            for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
                const lot_fill fill = {.seed = 0x0123456789abcdefu,
                                       .tensor = LOT_TENSOR_INPUT,
                                       .distribution = (lot_distribution)distribution,
                                       .scale = 0.7f,
                                       .first = ranges[i][0],
                                       .count = ranges[i][1],
                                       .dtype = (lot_dtype)dtype};

                WORKS(f, f->module->fill(f->device, device, &fill, &f->error));
                check_values(f, device, &fill);
                WORKS(f, f->module->build(f->device, device, &fill, &f->error));
                check_values(f, device, &fill);
            }
    f->module->free(f->device, device);
}

/* From one stage to more than all staging buffers hold, so that each is used again while its last copy may be
 * under way. */
void test_build_in_many_stages(void **state)
{
    static const int64_t counts[] = {32768, 32769, 262143, 262145, 1048583, 6 * 1024 * 1024 + 13};
    fixture *f = *state;

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const lot_fill fill = {.seed = 5,
                               .tensor = LOT_TENSOR_WEIGHT_1,
                               .distribution = LOT_UNIFORM,
                               .scale = 0.03125f,
                               .first = 3,
                               .count = counts[i],
                               .dtype = LOT_FLOAT32};
        void *built = fixture_alloc(f, fill.count * 4);
        void *filled = fixture_alloc(f, fill.count * 4);
        int64_t differing = -1, first = 0;

        WORKS(f, f->module->build(f->device, built, &fill, &f->error));
        WORKS(f, f->module->fill(f->device, filled, &fill, &f->error));
        WORKS(f, f->module->compare(f->device, built, filled, fill.count, LOT_FLOAT32, &differing, &first,
                                    &f->error));
        assert_int_equal(differing, 0);
        assert_int_equal(first, -1);
        f->module->free(f->device, built);
        f->module->free(f->device, filled);
    }
    f->module->free(f->device, NULL);
}

void test_digest_is_the_definition(void **state)
{
    static const int64_t sizes[] = {1, 2, 7, 8, 9, 15, 16, 17, 100, 4096, 65536, 65538, 1000003};
    fixture *f = *state;
    const int64_t most = 1000003;
    unsigned char *host = malloc((size_t)most);
    void *device = fixture_alloc(f, most);

    assert_non_null(host);
    for (int64_t i = 0; i < most; i++)
        host[i] = (unsigned char)((i * 37 + i / 251) % 60); /* no such bytes make an infinity or a NaN */
    WORKS(f, f->module->upload(f->device, device, host, most, &f->error));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int dtype = 0; dtype < LOT_DTYPE_COUNT; dtype++) {
            uint64_t digest = 0;
            int finite = -1;

            WORKS(f, f->module->digest(f->device, device, sizes[i], (lot_dtype)dtype, &digest, &finite,
                                       &f->error));
            assert_int_equal(digest, fixture_digest(host, sizes[i]));
            assert_int_equal(finite, 1);
        }
    free(host);
    f->module->free(f->device, device);
}

/* One infinity or NaN in any place and of any dtype is seen; the largest finite values are not taken for one.
 */
void test_special_values_are_seen(void **state)
{
    static const uint32_t special[LOT_DTYPE_COUNT][3] = {
        {0x7F800000u, 0xFF800000u, 0x7FC00001u}, {0x7C00u, 0xFC00u, 0x7E01u}, {0x7F80u, 0xFF80u, 0x7FC1u}};
    static const uint32_t largest[LOT_DTYPE_COUNT] = {0x7F7FFFFFu, 0x7BFFu, 0xFF7Fu};
    static const int64_t places[] = {0, 1, 2, 3, 7, 8, 1000, 1029, 1030};
    fixture *f = *state;
    void *device = fixture_alloc(f, 4 * 1031);
    char host[4 * 1031];

    for (int dtype = 0; dtype < LOT_DTYPE_COUNT; dtype++)
        for (size_t place = 0; place < sizeof places / sizeof places[0]; place++)
            for (int kind = 0; kind < 4; kind++) {
                const size_t bytes = lot_dtype_bytes((lot_dtype)dtype);
                const uint32_t value = kind < 3 ? special[dtype][kind] : largest[dtype];
                uint64_t digest;
                int finite = -1;

                memset(host, 0, sizeof host);
                memcpy(host + (size_t)places[place] * bytes, &value, bytes);
                WORKS(f, f->module->upload(f->device, device, host, (int64_t)(1031 * bytes), &f->error));
                WORKS(f, f->module->digest(f->device, device, (int64_t)(1031 * bytes), (lot_dtype)dtype,
                                           &digest, &finite, &f->error));
                assert_int_equal(finite, kind == 3);
            }
    f->module->free(f->device, device);
}

void test_compare_says_where(void **state)
{
    static const int64_t places[] = {0, 5, 255, 4000, 4098};
    fixture *f = *state;

    for (int dtype = 0; dtype < LOT_DTYPE_COUNT; dtype++) {
        const size_t bytes = lot_dtype_bytes((lot_dtype)dtype);
        char *host = calloc(4099, bytes);
        void *a = fixture_alloc(f, (int64_t)(4099 * bytes));
        void *b = fixture_alloc(f, (int64_t)(4099 * bytes));
        int64_t differing = -1, first = -1;

        assert_non_null(host);
        WORKS(f, f->module->upload(f->device, a, host, (int64_t)(4099 * bytes), &f->error));
        for (size_t i = 1; i < sizeof places / sizeof places[0]; i++)
            host[(size_t)places[i] * bytes] = 1;
        WORKS(f, f->module->upload(f->device, b, host, (int64_t)(4099 * bytes), &f->error));
        WORKS(f, f->module->compare(f->device, a, b, 4099, (lot_dtype)dtype, &differing, &first, &f->error));
        assert_int_equal(differing, 4);
        assert_int_equal(first, 5);
        f->module->free(f->device, a);
        f->module->free(f->device, b);
        free(host);
    }
}
