/* The protocol of one rank over a device made for this test: plain loops, a log of every call, and faults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "gpu/digest.h"
#include "gpu/generator.h"
#include "measure/protocol.h"

/* ---- the device ---- */

struct lot_plan {
    lot_linear linear;
};

static struct {
    char log[4096]; /* one letter a call */
    int64_t live_bytes;
    int64_t peak_bytes;
    int runs;         /* layers run so far */
    int fail_run;     /* the run that fails, from 1; 0: none */
    int flip_run;     /* the run whose first output gets a flipped bit, */
    int flip_on;      /* and whether it stays so from then on */
    int nan_run;      /* the run whose first output becomes NaN */
    int hang_run;     /* the run that never returns */
    int hang_samples; /* the series comes when it was given up */
    double device_seconds;
} fake;

static void note(char letter)
{
    const size_t used = strlen(fake.log);

    if (used + 1 < sizeof fake.log)
        fake.log[used] = letter;
}

static lot_status fake_open(const lot_device_options *options, lot_device **device, lot_error *error)
{
    static int one;

    (void)options, (void)error;
    *device = (lot_device *)(void *)&one;
    return LOT_OK;
}

static void fake_close(lot_device *device)
{
    (void)device;
    note('X');
}

static lot_status fake_describe(lot_device *device, lot_device_facts *facts, lot_absent *absent,
                                size_t capacity, size_t *count, lot_error *error)
{
    (void)device, (void)absent, (void)capacity, (void)error;
    strcpy(facts->kind, "fake");
    facts->memory_bytes = 1 << 20;
    *count = 0;
    return LOT_OK;
}

static lot_status fake_supports(lot_device *device, lot_dtype dtype, lot_math math, lot_error *error)
{
    (void)device, (void)dtype, (void)math, (void)error;
    return LOT_OK;
}

static lot_status fake_alloc(lot_device *device, int64_t bytes, void **pointer, lot_error *error)
{
    int64_t *block = malloc((size_t)bytes + 16);

    (void)device, (void)error;
    note('a');
    block[0] = bytes;
    *pointer = block + 2;
    fake.live_bytes += bytes;
    if (fake.live_bytes > fake.peak_bytes)
        fake.peak_bytes = fake.live_bytes;
    return LOT_OK;
}

static void fake_free(lot_device *device, void *pointer)
{
    (void)device;
    if (pointer == NULL)
        return;
    note('f');
    fake.live_bytes -= ((int64_t *)pointer)[-2];
    free((int64_t *)pointer - 2);
}

static lot_status fake_download(lot_device *device, void *to, const void *from, int64_t bytes,
                                lot_error *error)
{
    (void)device, (void)error;
    note('D');
    memcpy(to, from, (size_t)bytes);
    return LOT_OK;
}

static lot_status fake_fill(lot_device *device, void *to, const lot_fill *fill, lot_error *error)
{
    float *values = to;

    (void)device, (void)error;
    note('v');
    for (int64_t i = 0; i < fill->count; i++)
        values[i] = lot_value(fill, i);
    return LOT_OK;
}

static lot_status fake_plan(lot_device *device, const lot_linear *linear, lot_plan **plan,
                            lot_plan_facts *facts, lot_error *error)
{
    (void)device, (void)error;
    note('p');
    *plan = malloc(sizeof **plan);
    (*plan)->linear = *linear;
    strcpy(facts->algorithm, "loops");
    return LOT_OK;
}

static void fake_plan_free(lot_device *device, lot_plan *plan)
{
    (void)device;
    free(plan);
}

static lot_status fake_run(lot_device *device, const lot_plan *plan, void *y, const void *x, const void *w,
                           const void *b, lot_error *error)
{
    const lot_linear *l = &plan->linear;

    (void)device;
    note('R');
    fake.runs++;
    if (fake.runs == fake.fail_run)
        return lot_error_set(error, LOT_DEVICE_FAULT, "fake_run", 700, "the fake device failed at run %d",
                             fake.runs);
    while (fake.runs == fake.hang_run)
        lot_clock_sleep(0.01);
    for (int64_t r = 0; r < l->rows; r++)
        for (int64_t o = 0; o < l->out_features; o++) {
            float sum = ((const float *)b)[o];

            for (int64_t i = 0; i < l->in_features; i++)
                sum +=
                    ((const float *)x)[r * l->in_features + i] * ((const float *)w)[o * l->in_features + i];
            if (l->activation == LOT_GELU_ERF)
                sum = 0.5f * sum * (1 + erff(sum * 0.70710678f));
            ((float *)y)[r * l->out_features + o] = sum;
        }
    if (fake.runs == fake.flip_run || (fake.flip_on && fake.runs >= fake.flip_run && fake.runs % 2 == 0))
        ((uint32_t *)y)[0] ^= 1u;
    if (fake.runs == fake.nan_run)
        ((float *)y)[0] = NAN;
    return LOT_OK;
}

static lot_status fake_digest(lot_device *device, const void *pointer, int64_t bytes, lot_dtype dtype,
                              uint64_t *digest, int *finite, lot_error *error)
{
    (void)device, (void)dtype, (void)error;
    note('d');
    *digest = (uint64_t)bytes;
    *finite = 1;
    for (int64_t i = 0; i < bytes / 8; i++)
        *digest += lot_digest_word(((const uint64_t *)pointer)[i], (uint64_t)i);
    for (int64_t i = 0; i < bytes / 4; i++)
        *finite &= isfinite(((const float *)pointer)[i]) != 0;
    return LOT_OK;
}

static lot_status fake_compare(lot_device *device, const void *a, const void *b, int64_t count,
                               lot_dtype dtype, int64_t *differing, int64_t *first, lot_error *error)
{
    (void)device, (void)dtype, (void)error;
    *differing = 0;
    *first = -1;
    for (int64_t i = count - 1; i >= 0; i--)
        if (((const uint32_t *)a)[i] != ((const uint32_t *)b)[i]) {
            ++*differing;
            *first = i;
        }
    return LOT_OK;
}

/* The series that is still to be handed over. */
static size_t samples_left;
static double sample_seconds;

static lot_status fake_samples(lot_device *device, lot_sample *samples, size_t capacity, size_t *count,
                               lot_error *error)
{
    (void)device, (void)error;
    if (fake.hang_samples)
        lot_clock_sleep(0.6);
    *count = samples_left < capacity ? samples_left : capacity;
    samples_left -= *count;
    for (size_t i = 0; i < *count; i++)
        samples[i] = (lot_sample){.seconds = sample_seconds};
    return LOT_OK;
}

static lot_status fake_sync(lot_device *device, lot_error *error)
{
    (void)device, (void)error;
    note('s');
    return LOT_OK;
}

static lot_status fake_counters(lot_device *device, lot_counters *counters, lot_error *error)
{
    (void)device, (void)error;
    note('c');
    *counters = (lot_counters){fake.live_bytes, fake.live_bytes, fake.peak_bytes, fake.peak_bytes};
    return LOT_OK;
}

static lot_status fake_reset(lot_device *device, lot_error *error)
{
    (void)device, (void)error;
    note('r');
    fake.peak_bytes = fake.live_bytes;
    return LOT_OK;
}

static lot_status fake_timer_start(lot_device *device, lot_error *error)
{
    (void)device, (void)error;
    note('<');
    return LOT_OK;
}

static lot_status fake_timer_stop(lot_device *device, lot_error *error)
{
    (void)device, (void)error;
    note('>');
    return LOT_OK;
}

static lot_status fake_timer_elapsed(lot_device *device, double *seconds, lot_error *error)
{
    (void)device, (void)error;
    note('=');
    *seconds = fake.device_seconds;
    return LOT_OK;
}

static const lot_device_module module = {
    .abi = LOT_DEVICE_ABI,
    .size = sizeof(lot_device_module),
    .name = "fake",
    .open = fake_open,
    .close = fake_close,
    .describe = fake_describe,
    .supports = fake_supports,
    .alloc = fake_alloc,
    .free = fake_free,
    .download = fake_download,
    .build = fake_fill,
    .fill = fake_fill,
    .plan = fake_plan,
    .plan_free = fake_plan_free,
    .run = fake_run,
    .digest = fake_digest,
    .sync = fake_sync,
    .counters = fake_counters,
    .reset_peaks = fake_reset,
    .timer_start = fake_timer_start,
    .timer_stop = fake_timer_stop,
    .timer_elapsed = fake_timer_elapsed,
    .compare = fake_compare,
    .samples = fake_samples,
};

/* ---- one rank over it ---- */

static lot_measure_config config;
static lot_record record;
static lot_worker *worker;
static lot_protocol protocol;
static lot_stop stop;
static const lot_watch minute = {.limit_seconds = 60};
static int rows_seen;

static lot_status on_row(void *context, const lot_phase *row, lot_error *error)
{
    (void)context, (void)row, (void)error;
    rows_seen++;
    return LOT_OK;
}

static int setup(void **state)
{
    lot_error error;
    lot_open_request request = {.protocol = &protocol, .module = &module, .sharing = 1};

    (void)state;
    memset(&fake, 0, sizeof fake);
    fake.device_seconds = 0.5;
    stop = (lot_stop){.rank = -1};
    rows_seen = 0;
    memset(&config, 0, sizeof config);
    config.batch = 2;
    config.context = 3;
    config.width = 4;
    config.hidden = 8;
    config.warmup = 2;
    config.repeats = 3;
    config.phase_timeout_seconds = 60;
    lot_record_init(&record);
    record.head.identity.rank = 0;
    record.head.identity.size = 1;
    assert_int_equal(lot_workload_model(&config, &record.head.synthetic_model, &error), LOT_OK);
    assert_int_equal(lot_worker_start(&worker, &error), LOT_OK);
    protocol = (lot_protocol){.config = &config,
                              .record = &record,
                              .worker = worker,
                              .stop = &stop,
                              .row = on_row,
                              .epoch_seconds = lot_clock_seconds(),
                              .schedule = "together"};
    assert_int_equal(lot_worker_run(worker, lot_protocol_open, &request, &minute, &error), LOT_OK);
    return 0;
}

static lot_status run(lot_group group, lot_error *error)
{
    lot_group_request request = {.protocol = &protocol, .group = group};
    const lot_watch watch = {.limit_seconds = config.phase_timeout_seconds};

    return lot_worker_run(worker, lot_protocol_run, &request, &watch, error);
}

static void run_all(void)
{
    lot_error error;

    for (int group = 0; group < LOT_GROUP_COUNT; group++)
        (void)run((lot_group)group, &error);
}

static void conclude(void)
{
    lot_error error;

    if (!lot_worker_given_up(worker))
        assert_int_equal(lot_worker_run(worker, lot_protocol_close, &protocol, &minute, &error), LOT_OK);
    lot_protocol_conclude(&protocol);
}

static int teardown(void **state)
{
    (void)state;
    lot_worker_stop(worker);
    lot_record_free(&record);
    return 0;
}

/* ---- tests ---- */

static void test_rows_and_their_numbers(void **state)
{
    /* width 4, hidden 8, 6 rows: weights 2*4*8 + 8 + 4 = 76 floats, input and output 24, hidden 48. */
    const int64_t weights = 304, input = 96, hidden = 192, output = 96;
    lot_error error;

    (void)state;
    run_all();
    conclude();
    assert_int_equal(record.phase_count, 7);
    assert_int_equal(rows_seen, 7);
    assert_int_equal(lot_record_check(&record, &error), LOT_OK);
    assert_string_equal(record.phases[0].phase, "model_load");
    assert_int_equal(record.phases[0].allocated_start_bytes, 0);
    assert_int_equal(record.phases[0].allocated_end_bytes, weights);
    assert_string_equal(record.phases[1].phase, "inputs");
    assert_int_equal(record.phases[1].allocated_end_bytes, weights + input);
    assert_string_equal(record.phases[2].phase, "cold_forward");
    assert_int_equal(record.phases[2].passes, 1);
    assert_int_equal(record.phases[2].allocated_start_bytes, weights + input);
    assert_int_equal(record.phases[2].allocated_peak_bytes, weights + input + hidden + output);
    assert_int_equal(record.phases[2].allocated_end_bytes, weights + input + output);
    assert_string_equal(record.phases[3].phase, "warmup");
    assert_int_equal(record.phases[3].passes, 2);
    assert_true(record.phases[3].device_seconds == 1.0);
    for (int i = 4; i < 7; i++) {
        assert_string_equal(record.phases[i].phase, "warm_forward");
        assert_int_equal(record.phases[i].repeat, i - 4);
        assert_int_equal(record.phases[i].allocated_start_bytes, weights + input);
        assert_true(record.phases[i].device_seconds == 0.5);
        assert_string_equal(record.phases[i].digest, record.head.verification.digest);
    }
    assert_string_equal(record.head.outcome.status, "ok");
    assert_int_equal(record.head.verification.passes, 6);
    assert_int_equal(record.head.verification.passed, 1);
    assert_true(record.head.outcome.warm_median_device_seconds == 0.5);
    assert_int_equal(fake.live_bytes, 0);
    assert_int_equal(record.head.synthetic_model.flops_per_forward, 4 * 6 * 4 * 8);
}

/* One warm row, call by call. Between the timer marks lie the work and nothing else; before the first and
 * after the synchronise lies everything else. */
static void test_nothing_but_work_is_timed(void **state)
{
    lot_error error;

    (void)state;
    config.repeats = 1;
    assert_int_equal(run(LOT_GROUP_LOAD, &error), LOT_OK);
    memset(fake.log, 0, sizeof fake.log);
    assert_int_equal(run(LOT_GROUP_WARM, &error), LOT_OK);
    /* begin: sync, counters, reset; span: mark, alloc, run, alloc, run, free, mark, sync, read; end:
     * counters; digest; and the output is freed after the digest. */
    assert_string_equal(fake.log, "scr"
                                  "<aRaRf>s="
                                  "c"
                                  "d"
                                  "f");
    conclude();
}

static void test_a_failure_keeps_what_was_measured(void **state)
{
    (void)state;
    fake.fail_run = 2 * 4 + 1; /* cold, two warm-up passes and one repeat are eight layers */
    run_all();
    conclude();
    assert_int_equal(record.phase_count, 5);
    assert_string_equal(record.head.outcome.status, "device-fault");
    assert_string_equal(record.head.outcome.failed_phase, "warm_forward");
    assert_int_equal(record.errors[0].error.code, 700);
    assert_int_equal(fake.live_bytes, 0);
    assert_int_equal(fake.log[strlen(fake.log) - 1], 'X');
}

static void test_a_flipped_bit_is_a_wrong_result(void **state)
{
    (void)state;
    fake.flip_run = 2 * 5; /* second layer of the fifth pass: the second repeat */
    run_all();
    conclude();
    assert_string_equal(record.head.outcome.status, "wrong-result");
    assert_int_equal(record.head.verification.digests_differing, 1);
    assert_int_equal(record.head.verification.passed, 0);
    assert_int_equal(record.phases[5].digests_differing, 1);
    assert_int_equal(record.phases[4].digests_differing, 0);
}

static void test_a_flipped_bit_among_the_warm_up_passes(void **state)
{
    (void)state;
    fake.flip_run = 2 * 2; /* the first of the two warm-up passes */
    run_all();
    conclude();
    assert_int_equal(record.phases[3].digests_differing, 1);
    assert_string_not_equal(record.phases[3].digest, record.head.verification.digest);
    assert_string_equal(record.head.outcome.status, "wrong-result");
}

static void test_nan_is_a_wrong_result(void **state)
{
    (void)state;
    fake.nan_run = 2;
    run_all();
    conclude();
    assert_int_equal(record.phases[2].finite, 0);
    assert_int_equal(record.head.verification.nonfinite_passes, 1);
    assert_int_equal(record.head.verification.passed, 0);
}

static void test_a_signal_ends_at_the_next_pass(void **state)
{
    lot_error error;

    (void)state;
    assert_int_equal(run(LOT_GROUP_LOAD, &error), LOT_OK);
    stop.signal = 15;
    assert_int_equal(run(LOT_GROUP_WARM, &error), LOT_INTERRUPTED);
    assert_int_equal(record.phase_count, 2);
    conclude();
    assert_int_equal(record.head.verification.passed, LOT_NULL_BOOL);
}

static void test_a_hang_is_given_up(void **state)
{
    lot_error error;

    (void)state;
    config.phase_timeout_seconds = 0.2;
    fake.hang_run = 3;
    assert_int_equal(run(LOT_GROUP_LOAD, &error), LOT_OK);
    assert_int_equal(run(LOT_GROUP_COLD, &error), LOT_OK);
    assert_int_equal(run(LOT_GROUP_WARMUP, &error), LOT_TIMEOUT);
    assert_true(lot_worker_given_up(worker));
    assert_int_equal(run(LOT_GROUP_WARM, &error), LOT_TIMEOUT);
    assert_int_equal(record.phase_count, 3);
    /* The thread hangs on until the program ends. What it no longer reaches is freed here, since nobody else
     * can. */
    lot_protocol_conclude(&protocol);
    lot_workload_free(&protocol.workload);
}

/* Rows of phase soak, from the back. */
static const lot_phase *soak_row(size_t from_last)
{
    const lot_phase *row = &record.phases[record.phase_count - 1 - from_last];

    assert_string_equal(row->phase, "soak");
    return row;
}

/* From the soak's fourth pass on every output is wrong in one element. In its first row that is found by an
 * output that was right; by the second row all of those are written over, and nothing is left to say it. */
static void test_a_soak_that_goes_wrong_for_good(void **state)
{
    (void)state;
    config.soak_seconds = 1.5;
    config.soak_memory = 0.005; /* nine pairs of buffers */
    fake.flip_run = 2 * (6 + 4);
    fake.flip_on = 1;
    run_all();
    conclude();
    assert_true(soak_row(1)->passes > 2 * 9);
    assert_int_equal(soak_row(1)->digests_differing, soak_row(1)->passes - 3);
    assert_int_equal(soak_row(1)->elements_differing, 1);
    assert_int_equal(soak_row(1)->first_element_differing, 0);
    assert_int_equal(soak_row(0)->digests_differing, soak_row(0)->passes);
    assert_int_equal(soak_row(0)->elements_differing, LOT_NULL_I64);
    assert_int_equal(soak_row(0)->first_element_differing, LOT_NULL_I64);
    /* Weights, input, hidden and output, and nine pairs of an input and an output: 96 bytes each. */
    assert_int_equal(record.head.verification.memory_bytes, 304 + 96 + 192 + 96 + 9 * (96 + 96));
    assert_int_equal(fake.live_bytes, 0);
}

static void test_the_series_in_seconds_of_the_rank(void **state)
{
    (void)state;
    config.telemetry_hz = 10;
    samples_left = 100;
    sample_seconds = protocol.epoch_seconds + 2.5;
    run_all();
    conclude();
    assert_int_equal(record.sample_count, 100);
    assert_true(fabs(record.samples[99].seconds - 2.5) < 1e-6);
}

/* What a thread that was given up fetches after all does not come into a record that is being written. */
static void test_a_series_that_comes_too_late(void **state)
{
    const lot_watch short_of_time = {.limit_seconds = 0.2};
    lot_error error;

    (void)state;
    config.telemetry_hz = 10;
    samples_left = 3;
    fake.hang_samples = 1;
    run_all();
    assert_int_equal(lot_worker_run(worker, lot_protocol_close, &protocol, &short_of_time, &error),
                     LOT_TIMEOUT);
    lot_protocol_conclude(&protocol);
    lot_clock_sleep(1.0);
    assert_int_equal(record.sample_count, 0);
    lot_workload_free(&protocol.workload);
}

static void test_sizes(void **state)
{
    lot_model model;
    lot_error error;

    (void)state;
    /* 7 + 5 ... by hand: width 3, hidden 5, bfloat16: 2 * 15 + 8 = 38 parameters of 2 bytes. */
    config.batch = 1;
    config.context = 7;
    config.width = 3;
    config.hidden = 5;
    config.dtype = LOT_BFLOAT16;
    assert_int_equal(lot_workload_model(&config, &model, &error), LOT_OK);
    assert_int_equal(model.parameters, 38);
    assert_int_equal(model.weight_bytes, 76);
    assert_int_equal(model.input_bytes, 42);
    assert_int_equal(model.hidden_bytes, 70);
    assert_int_equal(model.flops_per_forward, 420);
    assert_int_equal(lot_workload_fits(&model, 76 + 42 + 70 + 42, 1, &error), LOT_OK);
    assert_int_equal(lot_workload_fits(&model, 76 + 42 + 70 + 41, 1, &error), LOT_TOO_LARGE);
    assert_int_equal(lot_workload_fits(&model, 2 * (76 + 42 + 70 + 42) - 1, 2, &error), LOT_TOO_LARGE);
    assert_int_equal(lot_workload_fits(&model, -1, 1000, &error), LOT_OK);
    config.batch = config.context = config.width = config.hidden = INT32_MAX;
    assert_int_equal(lot_workload_model(&config, &model, &error), LOT_TOO_LARGE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_rows_and_their_numbers),
        TEST(test_nothing_but_work_is_timed),
        TEST(test_a_failure_keeps_what_was_measured),
        TEST(test_a_flipped_bit_is_a_wrong_result),
        TEST(test_a_flipped_bit_among_the_warm_up_passes),
        TEST(test_nan_is_a_wrong_result),
        TEST(test_a_signal_ends_at_the_next_pass),
        TEST(test_sizes),
        TEST(test_a_soak_that_goes_wrong_for_good),
        TEST(test_the_series_in_seconds_of_the_rank),
        /* Threads that were given up stay until the end: behind these nothing else may run. */
        TEST(test_a_series_that_comes_too_late),
        TEST(test_a_hang_is_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
