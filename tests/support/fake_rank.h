/* One rank over the fake device: what tests of the protocol share. */
#ifndef GPULOT_TESTS_FAKE_RANK_H
#define GPULOT_TESTS_FAKE_RANK_H

#include "measure/protocol.h"
#include "support/fake_device.h"

static lot_measure_config config;
static lot_record record;
static lot_worker *worker;
static lot_protocol protocol;
static lot_stop stop;
static const lot_watch minute = {.limit_seconds = 60};
static int rows_seen; /* by on_row */

static inline lot_status on_row(void *context, const lot_phase *row, lot_error *error)
{
    (void)context, (void)row, (void)error;
    rows_seen++;
    return LOT_OK;
}

/* A rank of width 4 and hidden 8: weights 2 * 4 * 8 + 8 + 4 = 76 floats. */
static inline int start_rank(int64_t batch, int64_t context)
{
    lot_error error;
    lot_open_request request = {
        .protocol = &protocol, .module = &fake_module, .ranks = 1, .alike = 1, .sharing = 1};

    memset(&fake, 0, sizeof fake);
    fake.device_seconds = 0.5;
    stop = (lot_stop){.rank = -1};
    rows_seen = 0;
    memset(&config, 0, sizeof config);
    config.batch = batch;
    config.context = context;
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
    assert_int_equal(lot_worker_run(worker, lot_protocol_settle, &request, &minute, &error), LOT_OK);
    return 0;
}

/* Six rows: input and output 24 floats, hidden 48. */
static inline int setup(void **state)
{
    (void)state;
    return start_rank(2, 3);
}

static inline lot_status run(lot_group group, lot_error *error)
{
    lot_group_request request = {.protocol = &protocol, .group = group};
    const lot_watch watch = {.limit_seconds = config.phase_timeout_seconds};

    return lot_worker_run(worker, lot_protocol_run, &request, &watch, error);
}

static inline void run_all(void)
{
    lot_error error;

    for (int group = 0; group < LOT_GROUP_COUNT; group++)
        (void)run((lot_group)group, &error);
}

static inline void conclude(void)
{
    lot_error error;

    if (!lot_worker_given_up(worker))
        assert_int_equal(lot_worker_run(worker, lot_protocol_close, &protocol, &minute, &error), LOT_OK);
    lot_protocol_conclude(&protocol);
}

static inline int teardown(void **state)
{
    (void)state;
    lot_worker_stop(worker);
    lot_record_free(&record);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
