/* The host device: layers, held against float64. */
#include "support/host_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/generator.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_layer_against_float64),
        TEST(test_packed_layers_against_float64),
        TEST(test_plan_takes_new_buffers),
    };

    return cmocka_run_group_tests_name("host layer", tests, NULL, NULL);
}
