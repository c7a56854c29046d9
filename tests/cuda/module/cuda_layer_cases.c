/* Linear layers of the CUDA module against float64. */
#include "cuda_fixture.h"
#include "cuda_module_cases.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct layer {
    lot_linear linear;
    void *x, *w, *b, *y;
} layer;

static void *tensor(fixture *f, uint32_t number, lot_distribution distribution, float scale, int64_t count,
                    lot_dtype dtype)
{
    const lot_fill fill = {.seed = 11,
                           .tensor = number,
                           .distribution = distribution,
                           .scale = scale,
                           .count = count,
                           .dtype = dtype};
    void *pointer = fixture_alloc(f, count * (int64_t)lot_dtype_bytes(dtype));

    WORKS(f, f->module->fill(f->device, pointer, &fill, &f->error));
    return pointer;
}

static void make_layer(fixture *f, layer *made)
{
    const lot_linear *l = &made->linear;
    const float bound = 1.0f / sqrtf((float)l->in_features);

    made->x = tensor(f, LOT_TENSOR_INPUT, LOT_NEAR_NORMAL, 1.0f, l->rows * l->in_features, l->dtype);
    made->w = tensor(f, LOT_TENSOR_WEIGHT_1, LOT_UNIFORM, bound, l->out_features * l->in_features, l->dtype);
    made->b = tensor(f, LOT_TENSOR_BIAS_1, LOT_UNIFORM, bound, l->out_features, l->dtype);
    made->y = fixture_alloc(f, l->rows * l->out_features * (int64_t)lot_dtype_bytes(l->dtype));
}

static void free_layer(fixture *f, const layer *made)
{
    f->module->free(f->device, made->y);
    f->module->free(f->device, made->b);
    f->module->free(f->device, made->w);
    f->module->free(f->device, made->x);
}

static void *fetch(fixture *f, const void *device, int64_t count, lot_dtype dtype)
{
    const int64_t bytes = count * (int64_t)lot_dtype_bytes(dtype);
    void *host = malloc((size_t)bytes);

    assert_non_null(host);
    WORKS(f, f->module->download(f->device, host, device, bytes, &f->error));
    return host;
}

static double activate(lot_activation activation, double z)
{
    const double pi = 3.14159265358979323846;

    switch (activation) {
    case LOT_GELU_ERF:
        return 0.5 * z * (1.0 + erf(z * sqrt(0.5)));
    case LOT_GELU_TANH:
        return 0.5 * z * (1.0 + tanh(sqrt(2.0 / pi) * (z + 0.044715 * z * z * z)));
    default:
        return z;
    }
}

/* Every element against float64: the sum is off by at most k + 2 roundings of float32 (or tf32's of the
 * products), the store by one of the dtype; GELU's slope is below 1.13. */
static void check_layer(fixture *f, const layer *made)
{
    const lot_linear *l = &made->linear;
    const double unit = l->dtype == LOT_FLOAT32 ? 0x1p-24 : l->dtype == LOT_FLOAT16 ? 0x1p-11 : 0x1p-8;
    const double product = l->math == LOT_MATH_TF32 ? 0x1p-9 : 0.0; /* both operands, if they are cut off */
    void *x = fetch(f, made->x, l->rows * l->in_features, l->dtype);
    void *w = fetch(f, made->w, l->out_features * l->in_features, l->dtype);
    void *b = fetch(f, made->b, l->out_features, l->dtype);
    void *y = fetch(f, made->y, l->rows * l->out_features, l->dtype);

    for (int64_t r = 0; r < l->rows; r++)
        for (int64_t c = 0; c < l->out_features; c++) {
            double sum = (double)fixture_at(b, l->dtype, c), majorant = fabs(sum), wanted, bound;
            const double got = (double)fixture_at(y, l->dtype, r * l->out_features + c);

            for (int64_t k = 0; k < l->in_features; k++) {
                const double one = (double)fixture_at(x, l->dtype, r * l->in_features + k) *
                                   (double)fixture_at(w, l->dtype, c * l->in_features + k);

                sum += one;
                majorant += fabs(one);
            }
            wanted = activate(l->activation, sum);
            bound = 1.13 * majorant * (((double)l->in_features + 2) * 0x1p-24 + product) +
                    2 * unit * (fabs(sum) + fabs(wanted)) + 1e-7;
            /* The pre-activation may be rounded to the dtype, and a GPU's tanh is an instruction, off by up
             * to 2^-11, half of which enters. */
            if (l->activation == LOT_GELU_TANH)
                bound += 2 * unit * majorant + 0x1p-12 * fabs(sum);
            if (!(fabs(got - wanted) <= bound))
                fail_msg("dtype %d activation %d row %lld column %lld: %g, not %g within %g", (int)l->dtype,
                         (int)l->activation, (long long)r, (long long)c, got, wanted, bound);
        }
    free(x);
    free(w);
    free(b);
    free(y);
}

static lot_plan_facts run_layer(fixture *f, const layer *made)
{
    lot_plan *plan = NULL;
    lot_plan_facts facts;

    WORKS(f, f->module->plan(f->device, &made->linear, &plan, &facts, &f->error));
    WORKS(f, f->module->run(f->device, plan, made->y, made->x, made->w, made->b, &f->error));
    WORKS(f, f->module->sync(f->device, &f->error));
    f->module->plan_free(f->device, plan);
    return facts;
}

/* A GPU may lack a dtype or tf32; the simulated one has all. */
static bool supported(fixture *f, lot_dtype dtype, lot_math math)
{
    return fixture_simulated() || f->module->supports(f->device, dtype, math, &f->error) == LOT_OK;
}

void test_linear_against_float64(void **state)
{
    static const int64_t shapes[][3] = {{1, 16, 8}, {5, 64, 24}, {33, 72, 40}, {17, 40, 129}};
    fixture *f = *state;

    for (int dtype = 0; dtype < LOT_DTYPE_COUNT; dtype++)
        for (int activation = LOT_ACTIVATION_NONE; activation <= LOT_GELU_TANH; activation++)
            for (size_t i = 0;
                 i < sizeof shapes / sizeof shapes[0] && supported(f, (lot_dtype)dtype, LOT_MATH_IEEE); i++) {
                layer made = {.linear = {.rows = shapes[i][0],
                                         .in_features = shapes[i][1],
                                         .out_features = shapes[i][2],
                                         .dtype = (lot_dtype)dtype,
                                         .activation = (lot_activation)activation}};
                lot_plan_facts facts;

                make_layer(f, &made);
                facts = run_layer(f, &made);
                check_layer(f, &made);
                assert_int_equal(facts.activation_fused, activation == LOT_GELU_TANH);
                assert_int_equal(facts.candidates_timed, 0);
                assert_int_equal(strlen(facts.algorithm_bytes), 128);
                assert_non_null(strstr(facts.algorithm, "id "));
                assert_true(!fixture_simulated() || strstr(facts.algorithm, "-1") == NULL); /* it has all */
                assert_non_null(strstr(facts.arithmetic, "float32 sums"));
                free_layer(f, &made);
            }
}

void test_tf32(void **state)
{
    fixture *f = *state;
    layer made = {.linear = {.rows = 8,
                             .in_features = 64,
                             .out_features = 32,
                             .dtype = LOT_FLOAT32,
                             .math = LOT_MATH_TF32,
                             .activation = LOT_GELU_ERF}};
    lot_plan_facts facts;

    if (!supported(f, LOT_FLOAT32, LOT_MATH_TF32))
        return;
    make_layer(f, &made);
    facts = run_layer(f, &made);
    check_layer(f, &made);
    assert_non_null(strstr(facts.arithmetic, "tf32"));
    free_layer(f, &made);
}

void test_emulation_is_named(void **state)
{
    fixture *f = *state;
    layer made = {.linear = {.rows = 2, .in_features = 16, .out_features = 8, .dtype = LOT_FLOAT32}};

    make_layer(f, &made);
    assert_int_equal(setenv("CUBLAS_EMULATE_SINGLE_PRECISION", "1", 1), 0);
    assert_non_null(strstr(run_layer(f, &made).arithmetic, "emulation"));
    assert_int_equal(unsetenv("CUBLAS_EMULATE_SINGLE_PRECISION"), 0);
    free_layer(f, &made);
}

void test_same_bits_every_time(void **state)
{
    fixture *f = *state;
    layer made = {.linear = {.rows = 16,
                             .in_features = 64,
                             .out_features = 64,
                             .dtype = LOT_BFLOAT16,
                             .activation = LOT_GELU_ERF}};
    const int64_t bytes = 16 * 64 * 2;
    uint64_t digests[2] = {0, 1};
    int finite = 0;

    if (!supported(f, LOT_BFLOAT16, LOT_MATH_IEEE))
        return;
    make_layer(f, &made);
    for (int i = 0; i < 2; i++) {
        (void)run_layer(f, &made);
        WORKS(f, f->module->digest(f->device, made.y, bytes, LOT_BFLOAT16, &digests[i], &finite, &f->error));
        assert_int_equal(finite, 1);
    }
    assert_int_equal(digests[0], digests[1]);
    free_layer(f, &made);
}

/* Tuning leaves nothing in the counted pool but the workspace. */
void test_tuning_times_candidates(void **state)
{
    fixture *f = *state;
    layer made = {.linear = {.rows = 32,
                             .in_features = 64,
                             .out_features = 64,
                             .dtype = LOT_FLOAT16,
                             .activation = LOT_GELU_TANH}};
    lot_counters before, after;
    lot_plan *plan = NULL;
    lot_plan_facts facts;

    make_layer(f, &made);
    WORKS(f, f->module->sync(f->device, &f->error));
    WORKS(f, f->module->counters(f->device, &before, &f->error));
    WORKS(f, f->module->plan(f->device, &made.linear, &plan, &facts, &f->error));
    WORKS(f, f->module->counters(f->device, &after, &f->error));
    assert_true(facts.candidates_timed >= 1 && facts.candidates_timed <= (fixture_simulated() ? 4 : 8));
    if (facts.workspace_bytes == 0)
        assert_int_equal(after.allocated_bytes, before.allocated_bytes);
    else
        assert_true(after.allocated_bytes >= before.allocated_bytes + facts.workspace_bytes);
    WORKS(f, f->module->run(f->device, plan, made.y, made.x, made.w, made.b, &f->error));
    check_layer(f, &made);
    f->module->plan_free(f->device, plan);
    f->module->plan_free(f->device, NULL);
    free_layer(f, &made);
}

/* Whatever is found fastest, its partial sums are added in float32: in place and in the output's type are the
 * library's numbers 1 and 4. */
void test_sums_stay_float32(void **state)
{
    static const int64_t shapes[][3] = {{8, 4096, 64}, {32, 64, 64}, {1, 8192, 16}};
    fixture *f = *state;

    for (int dtype = 0; dtype < LOT_DTYPE_COUNT; dtype++)
        for (size_t i = 0;
             i < sizeof shapes / sizeof shapes[0] && supported(f, (lot_dtype)dtype, LOT_MATH_IEEE); i++) {
            const lot_linear linear = {.rows = shapes[i][0],
                                       .in_features = shapes[i][1],
                                       .out_features = shapes[i][2],
                                       .dtype = (lot_dtype)dtype};
            lot_plan *plan = NULL;
            lot_plan_facts facts;
            long long parts = -1, reduction = -1;

            WORKS(f, f->module->plan(f->device, &linear, &plan, &facts, &f->error));
            assert_int_equal(
                sscanf(strstr(facts.algorithm, "split-k"), "split-k %lld reduction %lld", &parts, &reduction),
                2);
            assert_true(reduction <= 0 || reduction == 2);
            f->module->plan_free(f->device, plan);
        }
}

/* Nothing that has algorithms for it: the message says for what. */
void test_no_algorithm_names_the_shape(void **state)
{
    fixture *f = *state;
    lot_linear linear = {
        .rows = (int64_t)1 << 33, .in_features = 16, .out_features = 8, .dtype = LOT_BFLOAT16};
    lot_plan *plan = NULL;
    lot_plan_facts facts;

    if (!fixture_simulated())
        return; /* a library may have some */
    assert_int_equal(f->module->plan(f->device, &linear, &plan, &facts, &f->error), LOT_UNSUPPORTED);
    assert_string_equal(f->error.text,
                        "cuBLASLt has no algorithm for 8589934592 x 16 x 8 in bfloat16 on this device");
    linear.activation = LOT_GELU_TANH;
    assert_int_equal(f->module->plan(f->device, &linear, &plan, &facts, &f->error), LOT_UNSUPPORTED);
    assert_non_null(strstr(f->error.text, "8589934592 x 16 x 8 with its GELU in bfloat16"));
}
