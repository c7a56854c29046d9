/* The float64 reference: right results pass, whatever the type; results that a fault could make do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/generator.h"
#include "measure/reference.h"

enum { ROWS = 9, WIDTH = 6, HIDDEN = 10 };

/* The number of one element, one at a time and without any of the reference's code: two half elements lie in
 * a word of the generator, and one float32 element. */
static int64_t signed_of(uint32_t bits, int width)
{
    const int64_t sign = INT64_C(1) << (width - 1);

    return ((int64_t)bits ^ sign) - sign;
}

static double rounded(float value, lot_dtype dtype)
{
    return dtype == LOT_FLOAT32   ? (double)value
           : dtype == LOT_FLOAT16 ? (double)lot_from_float16(lot_to_float16(value))
                                  : (double)lot_from_bfloat16(lot_to_bfloat16(value));
}

static uint32_t word_of(uint32_t tensor, int64_t element, lot_dtype dtype)
{
    const int64_t word = dtype == LOT_FLOAT32 ? element : element / 2;

    return lot_philox(42, tensor, (uint64_t)(word / 4)).word[word % 4];
}

static double weight(uint32_t tensor, int64_t element, int64_t fan_in, lot_dtype dtype)
{
    const uint32_t word = word_of(tensor, element, dtype);
    const uint32_t half = element % 2 == 0 ? word & 0xFFFFu : word >> 16;
    const double unit = dtype == LOT_FLOAT32 ? (double)signed_of(word >> 8, 24) / 8388608.0
                                             : (double)signed_of(half, 16) / 32768.0;

    return rounded((float)(unit * (double)(float)(1 / sqrt((double)fan_in))), dtype);
}

static double input(int64_t element, lot_dtype dtype)
{
    const uint32_t word = word_of(LOT_TENSOR_INPUT, element, dtype);
    const int64_t sign = dtype != LOT_FLOAT32 && element % 2 != 0 ? -1 : 1;
    const int64_t low = signed_of(word & 0xFFu, 8) + signed_of(word >> 8 & 0xFFu, 8);
    const int64_t high = signed_of(word >> 16 & 0xFFu, 8) + signed_of(word >> 24, 8);
    const int64_t number = low + sign * high + (sign > 0 ? 2 : 0);

    return rounded((float)((double)number * (double)(float)(1 / sqrt(21845.0))), dtype);
}

static double stored(double value, lot_dtype dtype)
{
    return dtype == LOT_FLOAT32   ? (double)(float)value
           : dtype == LOT_FLOAT16 ? (double)lot_from_float16(lot_to_float16((float)value))
                                  : (double)lot_from_bfloat16(lot_to_bfloat16((float)value));
}

/* The network in plain double loops, rounded to the dtype where a device stores. */
static double output(int64_t row, int64_t column, lot_dtype dtype, lot_activation activation)
{
    double y = weight(LOT_TENSOR_BIAS_2, column, HIDDEN, dtype);

    for (int64_t j = 0; j < HIDDEN; j++) {
        double a = weight(LOT_TENSOR_BIAS_1, j, WIDTH, dtype);

        for (int64_t k = 0; k < WIDTH; k++)
            a += input(row * WIDTH + k, dtype) * weight(LOT_TENSOR_WEIGHT_1, j * WIDTH + k, WIDTH, dtype);
        a = activation == LOT_GELU_ERF
                ? a * 0.5 * erfc(-a * 0.70710678118654752440)
                : a / (1 + exp(-2 * sqrt(2 / 3.14159265358979323846) * (a + 0.044715 * a * a * a)));
        y += stored(a, dtype) * weight(LOT_TENSOR_WEIGHT_2, column * HIDDEN + j, HIDDEN, dtype);
    }
    return stored(y, dtype);
}

static void fill(void *outputs, const int64_t *sampled, int count, lot_dtype dtype, lot_activation activation)
{
    for (int i = 0; i < count; i++)
        for (int64_t c = 0; c < WIDTH; c++) {
            const float y = (float)output(sampled[i], c, dtype, activation);

            if (dtype == LOT_FLOAT32)
                ((float *)outputs)[i * WIDTH + c] = y;
            else
                ((uint16_t *)outputs)[i * WIDTH + c] =
                    dtype == LOT_FLOAT16 ? lot_to_float16(y) : lot_to_bfloat16(y);
        }
}

static lot_verification compare(const void *outputs, const int64_t *sampled, int count, lot_dtype dtype,
                                lot_activation activation, int threads)
{
    const lot_reference_task task = {.seed = 42,
                                     .rows = ROWS,
                                     .width = WIDTH,
                                     .hidden = HIDDEN,
                                     .dtype = dtype,
                                     .activation = activation,
                                     .threads = threads};
    lot_verification verification;
    lot_error error;

    assert_int_equal(lot_reference_compare(&task, sampled, count, outputs, &verification, &error), LOT_OK);
    return verification;
}

static void test_right_results_pass(void **state)
{
    int64_t sampled[LOT_REFERENCE_ROWS];
    const int count = lot_reference_sample(ROWS, sampled);

    (void)state;
    assert_int_equal(count, 4);
    for (int dtype = 0; dtype < LOT_DTYPE_COUNT; dtype++)
        for (int activation = LOT_GELU_ERF; activation <= LOT_GELU_TANH; activation++) {
            float outputs[LOT_REFERENCE_ROWS * WIDTH];
            lot_verification v;

            fill(outputs, sampled, count, (lot_dtype)dtype, (lot_activation)activation);
            v = compare(outputs, sampled, count, (lot_dtype)dtype, (lot_activation)activation, 1 + dtype);
            assert_int_equal(v.reference_passed, 1);
            assert_int_equal(v.reference_rows, 4);
            assert_true(v.reference_max_bound_ratio > 0 && v.reference_max_bound_ratio < 1);
        }
}

static void test_wrong_results_do_not(void **state)
{
    int64_t sampled[LOT_REFERENCE_ROWS];
    const int count = lot_reference_sample(ROWS, sampled);
    float outputs[LOT_REFERENCE_ROWS * WIDTH];

    (void)state;
    fill(outputs, sampled, count, LOT_FLOAT32, LOT_GELU_ERF);
    outputs[7] += 0.0005f;
    assert_int_equal(compare(outputs, sampled, count, LOT_FLOAT32, LOT_GELU_ERF, 2).reference_passed, 0);
    for (int64_t i = 0; i < WIDTH * count; i++) { /* a NaN anywhere, not only where nothing comes after it */
        lot_verification found;

        fill(outputs, sampled, count, LOT_FLOAT32, LOT_GELU_ERF);
        outputs[i] = NAN;
        found = compare(outputs, sampled, count, LOT_FLOAT32, LOT_GELU_ERF, 2);
        assert_int_equal(found.reference_passed, 0);
        assert_true(isnan(found.reference_max_bound_ratio) && isnan(found.reference_max_relative_error));
    }
    /* The other form of GELU is another function: at these sizes float32 tells them apart. */
    fill(outputs, sampled, count, LOT_FLOAT32, LOT_GELU_TANH);
    assert_int_equal(compare(outputs, sampled, count, LOT_FLOAT32, LOT_GELU_ERF, 2).reference_passed, 0);
    /* Two rows in each other's place. */
    fill(outputs, sampled, count, LOT_BFLOAT16, LOT_GELU_ERF);
    for (int64_t c = 0; c < WIDTH; c++) {
        const uint16_t first = ((uint16_t *)outputs)[c];

        ((uint16_t *)outputs)[c] = ((uint16_t *)outputs)[WIDTH + c];
        ((uint16_t *)outputs)[WIDTH + c] = first;
    }
    assert_int_equal(compare(outputs, sampled, count, LOT_BFLOAT16, LOT_GELU_ERF, 2).reference_passed, 0);
}

static void test_threads_change_nothing(void **state)
{
    int64_t sampled[LOT_REFERENCE_ROWS];
    const int count = lot_reference_sample(ROWS, sampled);
    float outputs[LOT_REFERENCE_ROWS * WIDTH];
    lot_verification one, many;

    (void)state;
    fill(outputs, sampled, count, LOT_FLOAT32, LOT_GELU_ERF);
    one = compare(outputs, sampled, count, LOT_FLOAT32, LOT_GELU_ERF, 1);
    many = compare(outputs, sampled, count, LOT_FLOAT32, LOT_GELU_ERF, 7);
    assert_true(one.reference_max_bound_ratio == many.reference_max_bound_ratio);
    assert_true(one.reference_max_relative_error == many.reference_max_relative_error);
}

static void test_the_sample(void **state)
{
    int64_t sampled[LOT_REFERENCE_ROWS];

    (void)state;
    assert_int_equal(lot_reference_sample(1, sampled), 1);
    assert_int_equal(sampled[0], 0);
    assert_int_equal(lot_reference_sample(2, sampled), 2);
    assert_int_equal(lot_reference_sample(3, sampled), 3);
    assert_int_equal(lot_reference_sample(1000, sampled), 4);
    assert_int_equal(sampled[3], 999);
    assert_int_equal(sampled[1], 333);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_results_pass),
        cmocka_unit_test(test_wrong_results_do_not),
        cmocka_unit_test(test_threads_change_nothing),
        cmocka_unit_test(test_the_sample),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
