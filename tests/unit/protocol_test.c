/* The protocol of one rank: its rows, what is timed, and what becomes of a fault. */
#include "core/cpus.h"
#include "support/fake_rank.h"

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
    for (size_t i = 0; i < record.phase_count; i++) {
        const lot_phase *row = &record.phases[i];

        assert_int_equal(row->reserved_start_bytes, row->allocated_start_bytes + FAKE_RESERVED);
        assert_int_equal(row->reserved_end_bytes, row->allocated_end_bytes + FAKE_RESERVED);
        assert_int_equal(row->reserved_peak_bytes, row->allocated_peak_bytes + FAKE_RESERVED_PEAK);
    }
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

/* A device that failed is not asked for more. */
static void test_nothing_runs_after_a_failure(void **state)
{
    (void)state;
    fake.fail_run = 2; /* of the cold pass */
    run_all();
    assert_int_equal(fake.runs, 2);
    conclude();
    assert_int_equal(record.phase_count, 2);
    assert_string_equal(record.head.outcome.failed_phase, "cold_forward");
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

/* The row keeps the digest that deviates, although the first pass was right. */
static void test_a_flipped_bit_in_the_last_warm_up_pass(void **state)
{
    (void)state;
    fake.flip_run = 2 * 3;
    run_all();
    conclude();
    assert_int_equal(record.phases[3].digests_differing, 1);
    assert_string_not_equal(record.phases[3].digest, record.head.verification.digest);
    assert_string_equal(record.phases[2].digest, record.head.verification.digest);
}

/* A row of several passes: its times are those of all, and it is finite where all were. */
static void test_a_row_of_two_passes(void **state)
{
    (void)state;
    fake.run_seconds = 0.02;
    fake.nan_run = 2 * 2; /* the first of the two warm-up passes */
    run_all();
    conclude();
    assert_int_equal(record.phases[3].passes, 2);
    assert_true(record.phases[3].host_seconds >= 4 * 0.02);
    assert_int_equal(record.phases[3].finite, 0);
    assert_int_equal(record.phases[4].finite, 1);
    assert_int_equal(record.head.verification.nonfinite_passes, 1);
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

static void stop_in_warmup(int number)
{
    if (number == 2 * 2) /* the second layer of the first warm-up pass */
        stop.signal = 15;
}

/* The passes that were made are a whole row: what the device holds behind them is read, as at every row's
 * end. */
static void test_a_signal_among_the_warm_up_passes(void **state)
{
    (void)state;
    config.warmup = 5;
    fake.on_run = stop_in_warmup;
    run_all();
    conclude();
    assert_int_equal(record.phase_count, 4);
    assert_int_equal(record.phases[3].passes, 1);
    assert_int_equal(record.phases[3].allocated_end_bytes, 304 + 96 + 96); /* weights, input, output */
    assert_int_equal(fake.live_bytes, 0);
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

static void test_the_series_in_seconds_of_the_rank(void **state)
{
    (void)state;
    config.telemetry_hz = 10;
    fake.samples_left = 100;
    fake.sample_seconds = protocol.epoch_seconds + 2.5;
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
    fake.samples_left = 3;
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

/* Three of the host's eight CPUs, for one of two ranks: as long as the other's are not known, or where they
 * are others, the launcher bound it; where they are the same they are the job's, and shared out. */
static void test_cpus_that_all_ranks_share_were_bound_by_nobody(void **state)
{
    const int usable = lot_cpus_usable("");
    lot_device_facts *device = &record.head.device;
    lot_open_request request = {.protocol = &protocol, .module = &fake_module, .ranks = 2, .sharing = 1};
    lot_error error;

    (void)state;
    record.head.environment.cpus_bound = 3;
    record.head.environment.cpus_online = 8;
    assert_int_equal(lot_worker_run(worker, lot_protocol_open, &request, &minute, &error), LOT_OK);
    assert_string_equal(device->binding, "launcher");
    assert_int_equal(fake.threads, 0);
    request.alike = 1;
    assert_int_equal(lot_worker_run(worker, lot_protocol_settle, &request, &minute, &error), LOT_OK);
    assert_string_equal(device->binding, "launcher");
    request.alike = 2;
    assert_int_equal(lot_worker_run(worker, lot_protocol_settle, &request, &minute, &error), LOT_OK);
    assert_string_equal(device->binding, "none");
    assert_int_equal(lot_worker_run(worker, lot_protocol_open, &request, &minute, &error), LOT_OK);
    assert_string_equal(device->binding, "none");
    assert_int_equal(fake.threads, usable > 2 ? usable / 2 : 1);
    /* Two of four: a socket of its own for each pair. */
    request.ranks = 4;
    assert_int_equal(lot_worker_run(worker, lot_protocol_open, &request, &minute, &error), LOT_OK);
    assert_string_equal(device->binding, "launcher");
    assert_int_equal(fake.threads, usable > 2 ? usable / 2 : 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rows_and_their_numbers),
        TEST(test_nothing_but_work_is_timed),
        TEST(test_a_failure_keeps_what_was_measured),
        TEST(test_nothing_runs_after_a_failure),
        TEST(test_a_flipped_bit_is_a_wrong_result),
        TEST(test_a_flipped_bit_among_the_warm_up_passes),
        TEST(test_a_flipped_bit_in_the_last_warm_up_pass),
        TEST(test_a_row_of_two_passes),
        TEST(test_nan_is_a_wrong_result),
        TEST(test_a_signal_ends_at_the_next_pass),
        TEST(test_a_signal_among_the_warm_up_passes),
        TEST(test_sizes),
        TEST(test_cpus_that_all_ranks_share_were_bound_by_nobody),
        TEST(test_the_series_in_seconds_of_the_rank),
        /* Threads that were given up stay until the end: behind these nothing else may run. */
        TEST(test_a_series_that_comes_too_late),
        TEST(test_a_hang_is_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
