/* The host device, driven through its table as a measurement drives it, held against definitions written
 * here. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/device.h"
#include "gpu/digest.h"
#include "gpu/generator.h"
#include "gpu/loader.h"

typedef struct fixture {
    const lot_device_module *module;
    lot_device *device;
    lot_error error;
} fixture;

static void open_with(fixture *f, int threads)
{
    const lot_device_options options = {.ordinal = 0, .threads = threads};

    assert_int_equal(f->module->open(&options, &f->device, &f->error), LOT_OK);
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    assert_int_equal(setenv("GPULOT_MODULE_DIR", TEST_MODULE_DIR, 1), 0);
    assert_int_equal(lot_loader_load("host", &f->module, &f->error), LOT_OK);
    open_with(f, 1);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;

    f->module->close(f->device);
    free(f);
    return 0;
}

static void *allocate(fixture *f, int64_t bytes)
{
    void *pointer = NULL;

    assert_int_equal(f->module->alloc(f->device, bytes, &pointer, &f->error), LOT_OK);
    assert_int_equal((uintptr_t)pointer % 256, 0);
    return pointer;
}

static lot_counters counters(fixture *f)
{
    lot_counters c;

    assert_int_equal(f->module->counters(f->device, &c, &f->error), LOT_OK);
    return c;
}

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

/* ---- the layer ---- */

static double to_double(const void *data, int64_t i, lot_dtype dtype)
{
    if (dtype == LOT_FLOAT32)
        return ((const float *)data)[i];
    return (double)lot_from_bfloat16(((const uint16_t *)data)[i]);
}

static double activate(double x, lot_activation activation)
{
    if (activation == LOT_GELU_ERF)
        return 0.5 * x * (1.0 + erf(x / sqrt(2.0)));
    if (activation == LOT_GELU_TANH)
        return 0.5 * x * (1.0 + tanh(sqrt(2.0 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
    return x;
}

/* The layer's rows that are checked: all of a few, and of many the first, the last and some between. */
static int64_t next_row(const lot_linear *l, int64_t row)
{
    return l->rows <= 64 || row == l->rows - 1 ? row + 1 : row + 13 < l->rows ? row + 13 : l->rows - 1;
}

/* Every element within a bound: the sum's rounding, the type's last rounding and GELU's own error. */
static void check_layer(const lot_linear *l, const void *y, const void *x, const void *w, const void *b)
{
    const double unit = l->dtype == LOT_FLOAT32 ? 0x1p-24 : 0x1p-8;

    for (int64_t row = 0; row < l->rows; row = next_row(l, row))
        for (int64_t out = 0; out < l->out_features; out++) {
            double sum = to_double(b, out, l->dtype);
            double majorant = fabs(sum);
            double expected, found, bound;

            for (int64_t in = 0; in < l->in_features; in++) {
                const double term = to_double(x, row * l->in_features + in, l->dtype) *
                                    to_double(w, out * l->in_features + in, l->dtype);

                sum += term;
                majorant += fabs(term);
            }
            expected = activate(sum, l->activation);
            found = to_double(y, row * l->out_features + out, l->dtype);
            bound = (double)(l->in_features + 2) * 0x1p-24 * 1.2 * majorant + unit * fabs(expected) + 1e-6;
            if (!(fabs(found - expected) <= bound))
                fail_msg("row %lld out %lld: %.9g, expected %.9g", (long long)row, (long long)out, found,
                         expected);
        }
}

static void *values(fixture *f, uint32_t tensor, int64_t count, float scale, lot_dtype dtype)
{
    const lot_fill fill = {.seed = 7,
                           .tensor = tensor,
                           .distribution = tensor == LOT_TENSOR_INPUT ? LOT_NEAR_NORMAL : LOT_UNIFORM,
                           .scale = scale,
                           .count = count,
                           .dtype = dtype};
    void *to = allocate(f, count * (int64_t)lot_dtype_bytes(dtype));

    assert_int_equal(f->module->build(f->device, to, &fill, &f->error), LOT_OK);
    return to;
}

/* Whether oneDNN sees a CPU with AVX2 and no AVX-512. The variable hides what the CPU has beyond it. */
static bool only_avx2(void)
{
#if defined(__x86_64__)
    const char *limit = getenv("DNNL_MAX_CPU_ISA");

    if (limit != NULL)
        return strcmp(limit, "AVX2") == 0 && __builtin_cpu_supports("avx2");
    return __builtin_cpu_supports("avx2") && !__builtin_cpu_supports("avx512f");
#else
    return false;
#endif
}

/* Runs the layer twice and checks it. What the plan takes of the pool is what it says. */
static void run_layer(fixture *f, const lot_linear *l, lot_plan_facts *facts)
{
    const int64_t item = (int64_t)lot_dtype_bytes(l->dtype);
    const float bound = 1.0f / sqrtf((float)l->in_features);
    void *x = values(f, LOT_TENSOR_INPUT, l->rows * l->in_features, 1.0f, l->dtype);
    void *w = values(f, LOT_TENSOR_WEIGHT_1, l->out_features * l->in_features, bound, l->dtype);
    void *b = values(f, LOT_TENSOR_BIAS_1, l->out_features, bound, l->dtype);
    uint8_t *y = allocate(f, l->rows * l->out_features * item + 8);
    const size_t y_bytes = (size_t)(l->rows * l->out_features * item);
    const int64_t before = counters(f).allocated_bytes;
    uint64_t digest[2];
    int finite;
    lot_plan *plan = NULL;

    assert_int_equal(f->module->plan(f->device, l, &plan, facts, &f->error), LOT_OK);
    assert_true(facts->algorithm[0] != '\0');
    assert_true(facts->arithmetic[0] != '\0');
    assert_int_equal(counters(f).allocated_bytes - before, (facts->workspace_bytes + 255) / 256 * 256);
    for (int pass = 0; pass < 2; pass++) {
        memset(y, 0xFF, y_bytes + 8); /* NaN in every type */
        assert_int_equal(f->module->run(f->device, plan, y, x, w, b, &f->error), LOT_OK);
        assert_int_equal(f->module->sync(f->device, &f->error), LOT_OK);
        if (pass == 0) /* the second has the same digest */
            check_layer(l, y, x, w, b);
        for (size_t i = 0; i < 8; i++)
            assert_int_equal(y[y_bytes + i], 0xFF);
        assert_int_equal(
            f->module->digest(f->device, y, (int64_t)y_bytes, l->dtype, &digest[pass], &finite, &f->error),
            LOT_OK);
        assert_int_equal(finite, 1);
    }
    assert_true(digest[0] == digest[1]);
    f->module->plan_free(f->device, plan);
    f->module->free(f->device, y);
    f->module->free(f->device, b);
    f->module->free(f->device, w);
    f->module->free(f->device, x);
}

static void test_layer_against_float64(void **state)
{
    fixture *f = *state;
    /* rows, in, out: one element, odd sizes, the small configuration, and several blocks for half types and,
     * in the last, for float. */
    static const int64_t shapes[][3] = {{1, 1, 1},      {1, 16, 64},   {1, 64, 16},
                                        {3, 5, 7},      {16, 64, 256}, {16, 256, 64},
                                        {33, 129, 257}, {3, 8192, 70}, {5, 200, 4160}};

    for (int threads = 1; threads <= 3; threads++) {
        f->module->close(f->device);
        open_with(f, threads);
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
            for (int kind = 0; kind < 6; kind++) {
                const lot_linear linear = {.rows = shapes[i][0],
                                           .in_features = shapes[i][1],
                                           .out_features = shapes[i][2],
                                           .dtype = kind % 2 ? LOT_BFLOAT16 : LOT_FLOAT32,
                                           .activation = (lot_activation)(kind / 2)};
                lot_plan_facts facts;

                run_layer(f, &linear, &facts);
            }
    }
}

/* Layers whose weights are packed where the CPU has AVX2 and no more: one block and several, sizes that are
 * no multiples of a vector, one thread and two. */
static void test_packed_layers_against_float64(void **state)
{
    fixture *f = *state;
    static const int64_t shapes[][3] = {{16, 1100, 303}, {16, 256, 512}, {130, 4100, 120}, {128, 129, 131}};

    for (int threads = 1; threads <= 2; threads++) {
        f->module->close(f->device);
        open_with(f, threads);
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
            for (int kind = 0; kind < 4; kind++) {
                const lot_linear linear = {.rows = shapes[i][0],
                                           .in_features = shapes[i][1],
                                           .out_features = shapes[i][2],
                                           .dtype = kind % 2 ? LOT_BFLOAT16 : LOT_FLOAT32,
                                           .activation = kind / 2 ? LOT_GELU_ERF : LOT_ACTIVATION_NONE};
                lot_plan_facts facts;

                run_layer(f, &linear, &facts);
                if (only_avx2() && (threads == 1 || linear.rows >= 128)) {
                    assert_int_equal(strncmp(facts.algorithm, "convolution ", 12), 0);
                    assert_non_null(strstr(facts.algorithm, "weights packed in each pass"));
                } else if (!only_avx2()) {
                    assert_null(strstr(facts.algorithm, "convolution"));
                }
            }
    }
}

/* A plan runs with other buffers than those of its first run. */
static void test_plan_takes_new_buffers(void **state)
{
    fixture *f = *state;
    const lot_linear linear = {.rows = 2, .in_features = 16, .out_features = 16, .dtype = LOT_FLOAT32};
    float *x = values(f, LOT_TENSOR_INPUT, 32, 1.0f, LOT_FLOAT32);
    float *w[2], *b[2], *y[2];
    lot_plan *plan = NULL;
    lot_plan_facts facts;

    assert_int_equal(f->module->plan(f->device, &linear, &plan, &facts, &f->error), LOT_OK);
    for (int i = 0; i < 2; i++) {
        w[i] = values(f, LOT_TENSOR_WEIGHT_1 + 2 * (uint32_t)i, 256, 0.25f, LOT_FLOAT32);
        b[i] = values(f, LOT_TENSOR_BIAS_1 + 2 * (uint32_t)i, 16, 0.25f, LOT_FLOAT32);
        y[i] = allocate(f, 128);
        assert_int_equal(f->module->run(f->device, plan, y[i], x, w[i], b[i], &f->error), LOT_OK);
    }
    for (int i = 0; i < 2; i++)
        check_layer(&linear, y[i], x, w[i], b[i]);
    assert_memory_not_equal(y[0], y[1], 128);
}

/* ---- memory ---- */

static void expect_counters(fixture *f, int64_t allocated, int64_t reserved, int64_t allocated_peak,
                            int64_t reserved_peak)
{
    const lot_counters c = counters(f);

    assert_int_equal(c.allocated_bytes, allocated);
    assert_int_equal(c.reserved_bytes, reserved);
    assert_int_equal(c.allocated_peak_bytes, allocated_peak);
    assert_int_equal(c.reserved_peak_bytes, reserved_peak);
}

#define MIB ((int64_t)1 << 20)

static void test_counters_by_hand(void **state)
{
    fixture *f = *state;
    void *a, *b, *c, *d;

    expect_counters(f, 0, 0, 0, 0);
    a = allocate(f, 1); /* 256 of a shared segment of 2 MiB */
    expect_counters(f, 256, 2 * MIB, 256, 2 * MIB);
    b = allocate(f, 257);
    expect_counters(f, 768, 2 * MIB, 768, 2 * MIB);
    c = allocate(f, 3 * MIB + 1); /* a segment of its own, to whole 2 MiB */
    expect_counters(f, 768 + 3 * MIB + 256, 6 * MIB, 768 + 3 * MIB + 256, 6 * MIB);
    f->module->free(f->device, c); /* the cache is kept */
    expect_counters(f, 768, 6 * MIB, 768 + 3 * MIB + 256, 6 * MIB);
    assert_int_equal(f->module->reset_peaks(f->device, &f->error), LOT_OK);
    expect_counters(f, 768, 6 * MIB, 768, 6 * MIB);
    d = allocate(f, 4 * MIB); /* from the cache: the same memory again */
    assert_ptr_equal(c, d);
    expect_counters(f, 768 + 4 * MIB, 6 * MIB, 768 + 4 * MIB, 6 * MIB);
    f->module->free(f->device, d);
    c = allocate(f, 2 * MIB); /* half of 4 MiB would lie idle: a new one */
    expect_counters(f, 768 + 2 * MIB, 8 * MIB, 768 + 4 * MIB, 8 * MIB);
    f->module->free(f->device, a);
    f->module->free(f->device, b);
    f->module->free(f->device, c);
    f->module->free(f->device, NULL);
    expect_counters(f, 0, 8 * MIB, 768 + 4 * MIB, 8 * MIB);
}

/* Freed neighbours join again, in whichever order they are freed. */
static void test_small_blocks_merge(void **state)
{
    fixture *f = *state;

    for (unsigned order = 0; order < 2; order++) {
        void *part[3];

        for (int i = 0; i < 3; i++)
            part[i] = allocate(f, MIB / 2);
        f->module->free(f->device, part[order ? 2 : 0]);
        f->module->free(f->device, part[order ? 0 : 2]);
        f->module->free(f->device, part[1]);
        expect_counters(f, 0, 2 * MIB, 3 * MIB / 2, 2 * MIB);
        part[0] = allocate(f, MIB);
        part[1] = allocate(f, MIB);
        expect_counters(f, 2 * MIB, 2 * MIB, 2 * MIB, 2 * MIB);
        f->module->free(f->device, part[0]);
        f->module->free(f->device, part[1]);
        f->module->reset_peaks(f->device, &f->error);
    }
}

/* Many allocations of mixed sizes, freed in mixed order: contents stay apart, and all comes back. */
static void test_blocks_do_not_overlap(void **state)
{
    fixture *f = *state;
    enum { SLOTS = 64, STEPS = 4000 };
    uint8_t *slot[SLOTS] = {NULL};
    int64_t bytes[SLOTS] = {0};
    uint32_t random = 1;

    for (int step = 0; step < STEPS; step++) {
        const size_t at = (random = random * 1664525u + 1013904223u) >> 26;

        if (slot[at] != NULL) {
            for (int64_t i = 0; i < bytes[at]; i += 509)
                assert_int_equal(slot[at][i], (uint8_t)at);
            assert_int_equal(slot[at][bytes[at] - 1], (uint8_t)at);
            f->module->free(f->device, slot[at]);
            slot[at] = NULL;
            continue;
        }
        bytes[at] = 1 + (int64_t)((random >> 8) % (random % 16 == 0 ? 3000000u : 60000u));
        slot[at] = allocate(f, bytes[at]);
        memset(slot[at], (int)at, (size_t)bytes[at]);
    }
    for (size_t at = 0; at < SLOTS; at++)
        f->module->free(f->device, slot[at]);
    assert_int_equal(counters(f).allocated_bytes, 0);
    for (int i = 0; i < 2; i++)
        allocate(f, MIB); /* together one whole segment, so everything was merged */
    assert_true(counters(f).reserved_bytes == counters(f).reserved_peak_bytes);
}

static void test_too_much_memory_is_refused(void **state)
{
    fixture *f = *state;
    static const int64_t sizes[] = {INT64_MAX, INT64_MAX - 255, INT64_C(1) << 60, INT64_C(1) << 46};
    void *pointer = &pointer;
    lot_device_facts facts;
    lot_absent absent[64];
    size_t count = 0;

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(f->module->alloc(f->device, sizes[i], &pointer, &f->error), LOT_DEVICE_MEMORY);
        assert_ptr_equal(pointer, &pointer);
        assert_true(strstr(f->error.text, "bytes") != NULL);
    }
    expect_counters(f, 0, 0, 0, 0);
    /* Address space for all of the machine's memory could be had; the memory could not. */
    assert_int_equal(f->module->describe(f->device, &facts, absent, 64, &count, &f->error), LOT_OK);
    assert_int_equal(f->module->alloc(f->device, facts.memory_bytes, &pointer, &f->error), LOT_DEVICE_MEMORY);
}

/* Memory that is reserved and not touched still counts as available to the system, but not here. */
static void test_untouched_memory_counts(void **state)
{
    fixture *f = *state;
    void *pointer = NULL;
    lot_device_facts facts;
    lot_absent absent[64];
    size_t count = 0;
    lot_status status = LOT_OK;
    int taken = 0;

    assert_int_equal(f->module->describe(f->device, &facts, absent, 64, &count, &f->error), LOT_OK);
    while (status == LOT_OK && taken <= 16) {
        status = f->module->alloc(f->device, facts.memory_bytes / 8, &pointer, &f->error);
        taken += status == LOT_OK;
    }
    assert_int_equal(status, LOT_DEVICE_MEMORY);
    assert_in_range(taken, 0, 8);
}

/* ---- device ---- */

static void test_enumerate_gives_this_cpu(void **state)
{
    fixture *f = *state;
    lot_device_list *list = calloc(1, sizeof *list);
    cpu_set_t cpus;

    assert_non_null(list);
    assert_int_equal(f->module->enumerate(list, &f->error), LOT_OK);
    assert_int_equal(list->count, 1);
    assert_string_equal(list->devices[0].kind, "host");
    assert_true(list->devices[0].name[0] != '\0');
    assert_int_equal(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    assert_int_equal(list->devices[0].multiprocessors, CPU_COUNT(&cpus));
    assert_true(list->devices[0].memory_bytes > 0);
    assert_int_equal(strlen(list->devices[0].uuid), strlen("HOST-01234567-0123-0123-0123-0123456789ab"));
    assert_int_equal(strncmp(list->devices[0].uuid, "HOST-", 5), 0);
    assert_true(list->library_version[0] >= '2');
    free(list);
}

/* The UUID is stable, follows the CPU set and tells nothing of the machine id. */
static void test_uuid_follows_the_cpus(void **state)
{
    fixture *f = *state;
    lot_device_list *list = calloc(3, sizeof *list);
    cpu_set_t all, one;
    size_t cpu = 0;

    assert_non_null(list);
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < 2) {
        free(list);
        skip();
    }
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(f->module->enumerate(&list[0], &f->error), LOT_OK);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(f->module->enumerate(&list[1], &f->error), LOT_OK);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(f->module->enumerate(&list[2], &f->error), LOT_OK);
    assert_string_equal(list[0].devices[0].uuid, list[2].devices[0].uuid);
    assert_string_not_equal(list[0].devices[0].uuid, list[1].devices[0].uuid);
    assert_int_equal(list[1].devices[0].multiprocessors, 1);
    assert_int_equal(strtoul(list[1].devices[0].cpu_list, NULL, 10), cpu);
    free(list);
}

static bool is_absent(const lot_absent *absent, size_t count, const char *field)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(absent[i].field, field) == 0)
            return absent[i].reason[0] != '\0';
    return false;
}

/* Every fact is there or has its reason, never both and never neither. */
static void test_every_null_has_a_reason(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *name;
        size_t offset;
        lot_kind kind;
    } fields[] = {
#define FACT(kind, name, size, unit, help)                                                                   \
    {"device." #name, offsetof(lot_device_facts, name), LOT_KIND_##kind},
        LOT_DEVICE_FIELDS(FACT)};
    lot_device_facts facts;
    lot_absent absent[64];
    size_t count = 0;

    assert_int_equal(f->module->describe(f->device, &facts, absent, 64, &count, &f->error), LOT_OK);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const lot_field field = {
            .name = fields[i].name, .kind = fields[i].kind, .offset = fields[i].offset, .size = 1};
        const bool null = lot_field_is_null(&field, &facts);

        if (strcmp(field.name, "device.binding") != 0 && null != is_absent(absent, count, field.name))
            fail_msg("%s is %s and has %s reason", field.name, null ? "null" : "set", null ? "no" : "a");
    }
    assert_true(is_absent(absent, count, "telemetry"));
    assert_int_equal(facts.granularity_bytes, 256);
    assert_int_equal(facts.reserve_step_bytes, 2 * MIB);
    assert_int_equal(facts.threads, 1);
    assert_int_equal(f->module->describe(f->device, &facts, absent, 3, &count, &f->error), LOT_OK);
    assert_int_equal(count, 3);
}

static void test_threads_are_what_was_asked(void **state)
{
    fixture *f = *state;
    static const int wanted[] = {0, -1, 2, 5};

    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        lot_device_facts facts;
        lot_absent absent[64];
        size_t count = 0;

        f->module->close(f->device);
        open_with(f, wanted[i]);
        assert_int_equal(f->module->describe(f->device, &facts, absent, 64, &count, &f->error), LOT_OK);
        assert_int_equal(facts.threads, wanted[i] > 0 ? wanted[i] : facts.multiprocessors);
    }
}

static void test_refusals(void **state)
{
    fixture *f = *state;
    const lot_device_options second = {.ordinal = 1};
    const lot_device_options many = {.threads = 1000000};
    const lot_linear tf32 = {.rows = 1, .in_features = 1, .out_features = 1, .math = LOT_MATH_TF32};
    lot_device *device = NULL;
    lot_plan *plan = NULL;
    lot_plan_facts facts;

    assert_int_equal(f->module->open(&second, &device, &f->error), LOT_NO_DEVICE);
    assert_int_equal(f->module->open(&many, &device, &f->error), LOT_USAGE);
    assert_null(device);
    assert_int_equal(f->module->supports(f->device, LOT_FLOAT32, LOT_MATH_IEEE, &f->error), LOT_OK);
    assert_int_equal(f->module->supports(f->device, LOT_BFLOAT16, LOT_MATH_IEEE, &f->error), LOT_OK);
    assert_int_equal(f->module->supports(f->device, LOT_FLOAT32, LOT_MATH_TF32, &f->error), LOT_UNSUPPORTED);
    assert_non_null(strstr(f->error.text, "tf32"));
    assert_int_equal(f->module->plan(f->device, &tf32, &plan, &facts, &f->error), LOT_UNSUPPORTED);
    assert_null(plan);
    if (f->module->supports(f->device, LOT_FLOAT16, LOT_MATH_IEEE, &f->error) != LOT_OK) {
        assert_int_equal(f->error.status, LOT_UNSUPPORTED);
        assert_non_null(strstr(f->error.text, "float16"));
        assert_non_null(strstr(f->error.text, "oneDNN"));
    }
    f->module->close(NULL);
    f->module->plan_free(f->device, NULL);
}

static void test_memory_used_is_plausible(void **state)
{
    fixture *f = *state;
    lot_device_list *list = calloc(1, sizeof *list);
    int64_t bytes = 0;

    assert_non_null(list);
    assert_int_equal(f->module->enumerate(list, &f->error), LOT_OK);
    assert_int_equal(f->module->memory_used(f->device, &bytes, &f->error), LOT_OK);
    assert_true(bytes > 0 && bytes < list->devices[0].memory_bytes);
    free(list);
}

static void test_copies(void **state)
{
    fixture *f = *state;
    uint8_t from[1000], back[1000];
    void *memory = allocate(f, sizeof from);

    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)(i * 7);
    assert_int_equal(f->module->upload(f->device, memory, from, sizeof from, &f->error), LOT_OK);
    assert_int_equal(f->module->download(f->device, back, memory, sizeof back, &f->error), LOT_OK);
    assert_memory_equal(from, back, sizeof from);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* With an argument, only the tests whose names match this pattern. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_values_are_the_definition),
        TEST(test_digest_is_the_definition),
        TEST(test_compare_counts_and_finds_the_first),
        TEST(test_digest_sees_nonfinite),
        TEST(test_layer_against_float64),
        TEST(test_packed_layers_against_float64),
        TEST(test_plan_takes_new_buffers),
        TEST(test_counters_by_hand),
        TEST(test_small_blocks_merge),
        TEST(test_blocks_do_not_overlap),
        TEST(test_too_much_memory_is_refused),
        TEST(test_untouched_memory_counts),
        TEST(test_enumerate_gives_this_cpu),
        TEST(test_uuid_follows_the_cpus),
        TEST(test_every_null_has_a_reason),
        TEST(test_threads_are_what_was_asked),
        TEST(test_refusals),
        TEST(test_memory_used_is_plausible),
        TEST(test_copies),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
