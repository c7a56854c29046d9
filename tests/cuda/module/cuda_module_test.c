/* The CUDA module on a healthy device, every function of its table, held against definitions written here.
 *
 * Runs over the simulator, which is known in every detail, and on a real GPU (gpu_check.sh), where only what
 * must hold on each is asked for. */
#include "cuda_fixture.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

static int set_up(void **state)
{
    fixture *f = fixture_load();

    fixture_open(f, 0, 0);
    *state = f;
    return 0;
}

static int set_up_tuned(void **state)
{
    fixture *f = fixture_load();

    fixture_open(f, 8, 0);
    *state = f;
    return 0;
}

static int set_up_sampled(void **state)
{
    fixture *f = fixture_load();

    fixture_open(f, 0, 200);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture_free(*state);
    return 0;
}

static bool simulated(void)
{
    return getenv("GPULOT_CUDASIM_DEVICES") != NULL;
}

/* ---- devices ---- */

static void test_enumerate(void **state)
{
    fixture *f = *state;
    lot_device_list *list = calloc(1, sizeof *list);

    assert_non_null(list);
    WORKS(f, f->module->enumerate(list, &f->error));
    assert_true(simulated() ? list->count == 2 : list->count >= 1);
    assert_true(list->runtime_version[0] != '\0' && list->library_version[0] != '\0');
    for (size_t i = 0; i < list->count; i++) {
        const lot_device_facts *device = &list->devices[i];

        assert_int_equal(device->ordinal, i);
        assert_string_equal(device->kind, "cuda");
        assert_int_equal(strlen(device->uuid), 40);
        assert_true(strncmp(device->uuid, "GPU-", 4) == 0 || !simulated());
        assert_int_equal(device->simulated, simulated());
        assert_int_equal(strcspn(device->pci_address, "ABCDEF"), strlen(device->pci_address));
        assert_true(device->multiprocessors > 0 && device->memory_bytes > 0 && device->l2_cache_bytes > 0);
        assert_int_equal(device->nvml_index, -1); /* not known before the device is opened */
        assert_true(isnan(device->power_limit_watts));
    }
    if (list->count > 1)
        assert_string_not_equal(list->devices[0].uuid, list->devices[1].uuid);
    free(list);
}

static void test_describe(void **state)
{
    fixture *f = *state;
    char list[sizeof f->facts.cpu_list];

    memset(&f->facts, 0, sizeof f->facts);
    (void)snprintf(f->facts.cpu_list, sizeof f->facts.cpu_list, "0-3");
    (void)snprintf(list, sizeof list, "0-3");
    WORKS(f, f->module->describe(f->device, &f->facts, f->absent, 128, &f->absent_count, &f->error));
    assert_string_equal(f->facts.cpu_list, list); /* not the module's to say */
    assert_string_equal(f->facts.library, "cuBLASLt");
    assert_true(f->facts.granularity_bytes > 0);
    assert_true(f->facts.reserve_step_bytes >= f->facts.granularity_bytes);
    assert_non_null(fixture_reason(f, "device.threads"));
    if (!simulated())
        return;
    assert_true(f->facts.nvml_index >= 0 && f->facts.sm_clock_max_mhz > 0 && f->facts.power_limit_watts > 0);
    assert_true(f->facts.vbios_version[0] != '\0' && f->facts.compute_mode[0] != '\0');
    assert_int_equal(f->facts.foreign_processes, 0);
    assert_int_equal(f->facts.mig_siblings, 0);
    assert_string_equal(fixture_reason(f, "device.mig_parent_uuid"), "not a MIG slice");
    assert_null(fixture_reason(f, "telemetry.power_watts"));
}

static void test_reasons_end_at_the_capacity(void **state)
{
    fixture *f = *state;

    WORKS(f, f->module->describe(f->device, &f->facts, f->absent, 1, &f->absent_count, &f->error));
    assert_int_equal(f->absent_count, 1);
}

static void test_supports(void **state)
{
    fixture *f = *state;

    if (!simulated())
        return; /* depends on the GPU */
    for (int dtype = 0; dtype < LOT_DTYPE_COUNT; dtype++)
        WORKS(f, f->module->supports(f->device, (lot_dtype)dtype, LOT_MATH_IEEE, &f->error));
    WORKS(f, f->module->supports(f->device, LOT_FLOAT32, LOT_MATH_TF32, &f->error));
    assert_int_equal(f->module->supports(f->device, LOT_FLOAT16, LOT_MATH_TF32, &f->error), LOT_UNSUPPORTED);
    assert_int_equal(setenv("NVIDIA_TF32_OVERRIDE", "0", 1), 0);
    assert_int_equal(f->module->supports(f->device, LOT_FLOAT32, LOT_MATH_TF32, &f->error), LOT_UNSUPPORTED);
    assert_non_null(strstr(f->error.text, "NVIDIA_TF32_OVERRIDE"));
    WORKS(f, f->module->supports(f->device, LOT_FLOAT32, LOT_MATH_IEEE, &f->error));
    assert_int_equal(setenv("NVIDIA_TF32_OVERRIDE", "1", 1), 0);
    WORKS(f, f->module->supports(f->device, LOT_FLOAT32, LOT_MATH_TF32, &f->error));
    WORKS(f, f->module->supports(f->device, LOT_BFLOAT16, LOT_MATH_IEEE, &f->error));
    assert_int_equal(f->module->supports(f->device, LOT_FLOAT32, LOT_MATH_IEEE, &f->error), LOT_UNSUPPORTED);
    assert_string_equal(f->error.text,
                        "NVIDIA_TF32_OVERRIDE=1 turns tf32 on in the library; unset it or use --math tf32");
    assert_int_equal(unsetenv("NVIDIA_TF32_OVERRIDE"), 0);
}

static void test_open_refuses_other_ordinals(void **state)
{
    fixture *f = *state;
    lot_device *other = NULL;

    for (int ordinal = -1; ordinal < 100; ordinal += 100) {
        const lot_device_options options = {.ordinal = ordinal};

        assert_int_equal(f->module->open(&options, &other, &f->error), LOT_NO_DEVICE);
        assert_null(other);
    }
    f->module->close(NULL);
}

/* close gives back what the caller left: more blocks than the module first has room for, and plans. Over the
 * simulator the end of the process finds what is left. */
static void test_close_frees_what_is_left(void **state)
{
    fixture *f = *state;
    const lot_linear linear = {.rows = 8, .in_features = 32, .out_features = 16, .dtype = LOT_FLOAT32};
    void *blocks[200];
    lot_plan *plans[3];
    lot_plan_facts facts;
    lot_counters counters;

    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        blocks[i] = fixture_alloc(f, 512);
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++)
        WORKS(f, f->module->plan(f->device, &linear, &plans[i], &facts, &f->error));
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i += 2)
        f->module->free(f->device, blocks[i]);
    f->module->plan_free(f->device, plans[1]);
    WORKS(f, f->module->sync(f->device, &f->error));
    WORKS(f, f->module->counters(f->device, &counters, &f->error));
    assert_true(counters.allocated_bytes >= 100 * 512);
}

/* ---- values ---- */

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

static void test_values_are_the_generators(void **state)
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
static void test_build_in_many_stages(void **state)
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

static void test_digest_is_the_definition(void **state)
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
static void test_special_values_are_seen(void **state)
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

static void test_compare_says_where(void **state)
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

/* ---- linear layers ---- */

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
    return simulated() || f->module->supports(f->device, dtype, math, &f->error) == LOT_OK;
}

static void test_linear_against_float64(void **state)
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
                assert_non_null(strstr(facts.arithmetic, "float32 sums"));
                free_layer(f, &made);
            }
}

static void test_tf32(void **state)
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

static void test_emulation_is_named(void **state)
{
    fixture *f = *state;
    layer made = {.linear = {.rows = 2, .in_features = 16, .out_features = 8, .dtype = LOT_FLOAT32}};

    make_layer(f, &made);
    assert_int_equal(setenv("CUBLAS_EMULATE_SINGLE_PRECISION", "1", 1), 0);
    assert_non_null(strstr(run_layer(f, &made).arithmetic, "emulation"));
    assert_int_equal(unsetenv("CUBLAS_EMULATE_SINGLE_PRECISION"), 0);
    free_layer(f, &made);
}

static void test_same_bits_every_time(void **state)
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
static void test_tuning_times_candidates(void **state)
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
    assert_true(facts.candidates_timed >= 1 && facts.candidates_timed <= (simulated() ? 4 : 8));
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
static void test_sums_stay_float32(void **state)
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
static void test_no_algorithm_names_the_shape(void **state)
{
    fixture *f = *state;
    lot_linear linear = {
        .rows = (int64_t)1 << 33, .in_features = 16, .out_features = 8, .dtype = LOT_BFLOAT16};
    lot_plan *plan = NULL;
    lot_plan_facts facts;

    if (!simulated())
        return; /* a library may have some */
    assert_int_equal(f->module->plan(f->device, &linear, &plan, &facts, &f->error), LOT_UNSUPPORTED);
    assert_string_equal(f->error.text,
                        "cuBLASLt has no algorithm for 8589934592 x 16 x 8 in bfloat16 on this device");
    linear.activation = LOT_GELU_TANH;
    assert_int_equal(f->module->plan(f->device, &linear, &plan, &facts, &f->error), LOT_UNSUPPORTED);
    assert_non_null(strstr(f->error.text, "8589934592 x 16 x 8 with its GELU in bfloat16"));
}

/* ---- counters, time, telemetry ---- */

static void test_counters_and_peaks(void **state)
{
    fixture *f = *state;
    lot_counters before, held, after;
    void *pointer;

    WORKS(f, f->module->sync(f->device, &f->error));
    WORKS(f, f->module->reset_peaks(f->device, &f->error));
    WORKS(f, f->module->counters(f->device, &before, &f->error));
    assert_int_equal(before.allocated_bytes, before.allocated_peak_bytes);
    assert_int_equal(before.reserved_bytes, before.reserved_peak_bytes);
    pointer = fixture_alloc(f, 1 << 20);
    WORKS(f, f->module->sync(f->device, &f->error));
    WORKS(f, f->module->counters(f->device, &held, &f->error));
    assert_true(simulated() ? held.allocated_bytes == before.allocated_bytes + (1 << 20)
                            : held.allocated_bytes >= before.allocated_bytes + (1 << 20));
    assert_true(held.reserved_bytes >= held.allocated_bytes);
    f->module->free(f->device, pointer);
    WORKS(f, f->module->sync(f->device, &f->error));
    WORKS(f, f->module->counters(f->device, &after, &f->error));
    assert_int_equal(after.allocated_bytes, before.allocated_bytes);
    assert_int_equal(after.allocated_peak_bytes, held.allocated_bytes);
    assert_int_equal(after.reserved_bytes, held.reserved_bytes); /* the cache is kept */
    WORKS(f, f->module->reset_peaks(f->device, &f->error));
    WORKS(f, f->module->counters(f->device, &after, &f->error));
    assert_int_equal(after.allocated_peak_bytes, after.allocated_bytes);
}

static void test_out_of_memory_names_both_sizes(void **state)
{
    fixture *f = *state;
    void *pointer = NULL;

    assert_int_equal(f->module->alloc(f->device, (int64_t)1 << 44, &pointer, &f->error), LOT_DEVICE_MEMORY);
    assert_null(pointer);
    assert_non_null(strstr(f->error.text, "17592186044416 bytes asked for"));
    pointer = fixture_alloc(f, 64); /* and the device still works */
    f->module->free(f->device, pointer);
    WORKS(f, f->module->sync(f->device, &f->error));
}

static void test_timer(void **state)
{
    fixture *f = *state;
    double seconds = -1.0;

    assert_int_not_equal(f->module->timer_elapsed(f->device, &seconds, &f->error), LOT_OK);
    WORKS(f, f->module->timer_start(f->device, &f->error));
    WORKS(f, f->module->flush_cache(f->device, &f->error));
    WORKS(f, f->module->timer_stop(f->device, &f->error));
    WORKS(f, f->module->sync(f->device, &f->error));
    WORKS(f, f->module->timer_elapsed(f->device, &seconds, &f->error));
    assert_true(seconds > 0.0);
}

/* The flush buffer, several times the cache, shows in what the device uses, not in the pool. */
static void test_flush_is_not_counted(void **state)
{
    fixture *f = *state;
    lot_counters before, after;
    int64_t used_before = 0, used_after = 0;

    WORKS(f, f->module->sync(f->device, &f->error));
    WORKS(f, f->module->counters(f->device, &before, &f->error));
    WORKS(f, f->module->memory_used(f->device, &used_before, &f->error));
    WORKS(f, f->module->flush_cache(f->device, &f->error));
    WORKS(f, f->module->flush_cache(f->device, &f->error));
    WORKS(f, f->module->sync(f->device, &f->error));
    WORKS(f, f->module->counters(f->device, &after, &f->error));
    WORKS(f, f->module->memory_used(f->device, &used_after, &f->error));
    assert_memory_equal(&before, &after, sizeof before);
    fixture_describe(f);
    assert_true(used_after - used_before >= 4 * f->facts.l2_cache_bytes ||
                !simulated()); /* others use a real device too */
}

static void test_telemetry_of_a_row(void **state)
{
    fixture *f = *state;
    lot_telemetry telemetry;

    WORKS(f, f->module->telemetry_end(f->device, &telemetry, &f->error));
    assert_true(isnan(telemetry.energy_joules)); /* no begin, no difference */
    assert_int_equal(telemetry.throttle_hw_thermal_nanoseconds, -1);
    WORKS(f, f->module->telemetry_begin(f->device, &f->error));
    WORKS(f, f->module->telemetry_end(f->device, &telemetry, &f->error));
    assert_true(isnan(telemetry.energy_joules) || telemetry.energy_joules > 0); /* the counter has steps */
    if (!simulated())
        return;
    assert_true(isnan(telemetry.energy_joules)); /* no work, no energy there */
    assert_true(telemetry.power_watts > 0 && telemetry.sm_clock_mhz > 0);
    assert_true(telemetry.memory_clock_mhz > 0 && telemetry.temperature_celsius > 0);
    assert_true(telemetry.memory_temperature_celsius > 0);
    assert_int_equal(telemetry.throttle_hw_thermal_nanoseconds, 0);
    assert_int_equal(telemetry.ecc_corrected, 0);
    assert_true(telemetry.pcie_generation > 0 && telemetry.pcie_width > 0 && telemetry.clock_event_bits >= 0);
}

static void test_no_samples_without_asking(void **state)
{
    fixture *f = *state;
    lot_sample sample;
    size_t count = 7;

    WORKS(f, f->module->samples(f->device, &sample, 1, &count, &f->error));
    assert_int_equal(count, 0);
}

/* However slow the machine, ten seconds give six samples of a series of two hundred a second. */
static void test_samples_come_in_order(void **state)
{
    fixture *f = *state;
    const struct timespec wait = {.tv_nsec = 50000000};
    lot_sample samples[6];
    size_t count = 0;

    for (int tries = 0; tries < 200 && count < 6; tries++) {
        size_t more = 0;

        (void)nanosleep(&wait, NULL);
        WORKS(f, f->module->samples(f->device, samples + count, count < 4 ? 4 - count : 6 - count, &more,
                                    &f->error));
        count += more;
    }
    assert_int_equal(count, 6);
    for (size_t i = 1; i < count; i++)
        assert_true(samples[i].seconds > samples[i - 1].seconds);
    assert_true(samples[0].telemetry.power_watts > 0 || !simulated());
}

#define WITH_DEVICE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DEVICE(test_enumerate),
        WITH_DEVICE(test_describe),
        WITH_DEVICE(test_reasons_end_at_the_capacity),
        WITH_DEVICE(test_supports),
        WITH_DEVICE(test_open_refuses_other_ordinals),
        WITH_DEVICE(test_close_frees_what_is_left),
        WITH_DEVICE(test_values_are_the_generators),
        WITH_DEVICE(test_build_in_many_stages),
        WITH_DEVICE(test_digest_is_the_definition),
        WITH_DEVICE(test_special_values_are_seen),
        WITH_DEVICE(test_compare_says_where),
        WITH_DEVICE(test_linear_against_float64),
        WITH_DEVICE(test_tf32),
        WITH_DEVICE(test_emulation_is_named),
        WITH_DEVICE(test_same_bits_every_time),
        cmocka_unit_test_setup_teardown(test_tuning_times_candidates, set_up_tuned, tear_down),
        cmocka_unit_test_setup_teardown(test_sums_stay_float32, set_up_tuned, tear_down),
        WITH_DEVICE(test_no_algorithm_names_the_shape),
        WITH_DEVICE(test_counters_and_peaks),
        WITH_DEVICE(test_out_of_memory_names_both_sizes),
        WITH_DEVICE(test_timer),
        WITH_DEVICE(test_flush_is_not_counted),
        WITH_DEVICE(test_telemetry_of_a_row),
        WITH_DEVICE(test_no_samples_without_asking),
        cmocka_unit_test_setup_teardown(test_samples_come_in_order, set_up_sampled, tear_down),
    };

    return cmocka_run_group_tests_name("cuda module", tests, NULL, NULL);
}
