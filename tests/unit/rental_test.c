/* How many GPUs several runs needed together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rental.h"

/* A run whose ranks have the GPUs of `uuids`, a letter each; '-' is a rank that told nothing before it was
 * lost. */
static lot_run run_of(const char *id, const char *kind, const char *uuids)
{
    lot_run run;

    lot_run_init(&run);
    run.device_count = strlen(uuids);
    run.devices = calloc(run.device_count + 1, sizeof *run.devices);
    assert_non_null(run.devices);
    run.header.ranks = (int64_t)run.device_count;
    run.header.simulated = 0;
    (void)lot_field_copy(run.header.run_id, sizeof run.header.run_id, id);
    (void)lot_field_copy(run.header.created_utc, sizeof run.header.created_utc, "2026-09-24T10:00:00.000Z");
    for (size_t i = 0; i < run.device_count; i++) {
        lot_device_facts *device = &run.devices[i].device;

        (void)snprintf(run.devices[i].outcome.status, sizeof run.devices[i].outcome.status, "%s",
                       uuids[i] == '-' ? "lost" : "ok");
        if (uuids[i] == '-')
            continue;
        (void)snprintf(device->kind, sizeof device->kind, "%s", kind);
        (void)snprintf(device->name, sizeof device->name, "NVIDIA B200");
        (void)snprintf(device->uuid, sizeof device->uuid, "GPU-%c", uuids[i]);
    }
    return run;
}

static lot_status add(lot_rental *rental, lot_run run)
{
    lot_error error = {0};
    const lot_status status = lot_rental_add(rental, &run, &error);

    lot_run_free(&run);
    return status;
}

static void expect(lot_rental *rental, int64_t gpus, int64_t ranks, int64_t unknown)
{
    const lot_rental_need need = lot_rental_count(rental);

    assert_int_equal(gpus, need.gpus);
    assert_int_equal(ranks, need.ranks);
    assert_int_equal(unknown, need.unknown);
    lot_rental_free(rental);
}

static void a_run_needs_a_gpu_a_rank(void **state)
{
    lot_rental rental = {0};

    (void)state;
    assert_int_equal(LOT_OK, add(&rental, run_of("r1", "cuda", "abcd")));
    assert_string_equal("NVIDIA B200", rental.device_name);
    assert_string_equal("2026-09-24T10:00:00.000Z", rental.earliest_utc);
    assert_int_equal(0, rental.failed_ranks);
    expect(&rental, 4, 4, 0);
}

static void a_lost_rank_was_paid_for(void **state)
{
    lot_rental rental = {0};

    (void)state;
    assert_int_equal(LOT_OK, add(&rental, run_of("r1", "cuda", "ab-d-")));
    assert_int_equal(2, rental.failed_ranks);
    expect(&rental, 5, 5, 2);
}

static void ranks_that_left_no_row_were_paid_for(void **state)
{
    lot_rental rental = {0};
    lot_run run = run_of("r1", "cuda", "ab");

    (void)state;
    run.header.ranks = 5;
    assert_int_equal(LOT_OK, add(&rental, run));
    assert_int_equal(3, rental.failed_ranks);
    expect(&rental, 5, 5, 3);
}

/* The most ranks that MPI can number are counted without memory for each; more are no number of ranks. */
static void however_many_left_no_row(void **state)
{
    lot_rental rental = {0};
    lot_run run = run_of("r1", "cuda", "a-");

    (void)state;
    run.header.ranks = INT32_MAX;
    assert_int_equal(LOT_OK, add(&rental, run));
    assert_int_equal(2, rental.rank_count);
    assert_int_equal(INT32_MAX - 1, rental.failed_ranks);
    run = run_of("r2", "cuda", "ab");
    run.header.ranks = (int64_t)INT32_MAX + 1;
    assert_int_equal(LOT_INPUT, add(&rental, run));
    expect(&rental, INT32_MAX, INT32_MAX, INT32_MAX - 1);
}

static void runs_of_one_rental_share_its_gpus(void **state)
{
    lot_rental rental = {0};

    (void)state;
    assert_int_equal(LOT_OK, add(&rental, run_of("r1", "cuda", "ab")));
    assert_int_equal(LOT_OK, add(&rental, run_of("r2", "cuda", "bc")));
    assert_int_equal(LOT_OK, add(&rental, run_of("r3", "cuda", "c")));
    expect(&rental, 3, 5, 0);
}

static void a_run_given_twice_counts_once(void **state)
{
    lot_rental rental = {0};

    (void)state;
    assert_int_equal(LOT_OK, add(&rental, run_of("r1", "cuda", "a-")));
    assert_int_equal(LOT_OK, add(&rental, run_of("r1", "cuda", "a-")));
    assert_int_equal(1, rental.repeated_runs);
    expect(&rental, 2, 2, 1);
}

static void ranks_that_share_a_gpu_need_one(void **state)
{
    lot_rental rental = {0};
    lot_run run = run_of("r1", "cuda", "abc");

    (void)state;
    for (size_t i = 0; i < 3; i++) /* three MIG slices, two of one GPU */
        (void)snprintf(run.devices[i].device.mig_parent_uuid, 48, "GPU-%c", i < 2 ? 'p' : 'q');
    assert_int_equal(LOT_OK, add(&rental, run));
    expect(&rental, 2, 3, 0);
}

/* On a CPU every rank stands for a GPU, even where all ranks have one UUID. */
static void ranks_on_a_cpu_stand_for_gpus(void **state)
{
    lot_rental rental = {0};

    (void)state;
    assert_int_equal(LOT_OK, add(&rental, run_of("r1", "host", "aaab")));
    assert_int_equal(LOT_OK, add(&rental, run_of("r2", "host", "aabb")));
    assert_true(rental.any_host);
    expect(&rental, 5, 8, 0);
}

static void different_models_are_noted(void **state)
{
    lot_rental rental = {0};
    lot_run run = run_of("r1", "cuda", "ab");

    (void)state;
    (void)snprintf(run.devices[1].device.name, sizeof run.devices[1].device.name, "NVIDIA H100 PCIe");
    assert_int_equal(LOT_OK, add(&rental, run));
    assert_true(rental.names_differ);
    lot_rental_free(&rental);
}

static void a_simulator_has_no_price(void **state)
{
    lot_rental rental = {0};
    lot_run run = run_of("r1", "cuda", "ab");

    (void)state;
    run.devices[1].device.simulated = 1;
    assert_int_equal(LOT_INPUT, add(&rental, run));
    run = run_of("r1", "cuda", "ab");
    run.header.simulated = 1;
    assert_int_equal(LOT_INPUT, add(&rental, run));
    lot_rental_free(&rental);
}

static void a_run_without_ranks_is_refused(void **state)
{
    lot_rental rental = {0};
    lot_run run = run_of("r1", "cuda", "");

    (void)state;
    assert_int_equal(LOT_INPUT, add(&rental, run));
    run = run_of("r1", "cuda", "abc");
    run.header.ranks = 2;
    assert_int_equal(LOT_INPUT, add(&rental, run));
    lot_rental_free(&rental);
}

static void the_earliest_run_is_known(void **state)
{
    lot_rental rental = {0};
    lot_run run = run_of("r2", "cuda", "a");

    (void)state;
    assert_int_equal(LOT_OK, add(&rental, run_of("r1", "cuda", "a")));
    (void)snprintf(run.header.created_utc, sizeof run.header.created_utc, "2026-09-23T10:00:00.000Z");
    assert_int_equal(LOT_OK, add(&rental, run));
    assert_string_equal("2026-09-23T10:00:00.000Z", rental.earliest_utc);
    lot_rental_free(&rental);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_needs_a_gpu_a_rank),
        cmocka_unit_test(a_lost_rank_was_paid_for),
        cmocka_unit_test(ranks_that_left_no_row_were_paid_for),
        cmocka_unit_test(however_many_left_no_row),
        cmocka_unit_test(runs_of_one_rental_share_its_gpus),
        cmocka_unit_test(a_run_given_twice_counts_once),
        cmocka_unit_test(ranks_that_share_a_gpu_need_one),
        cmocka_unit_test(ranks_on_a_cpu_stand_for_gpus),
        cmocka_unit_test(different_models_are_noted),
        cmocka_unit_test(a_simulator_has_no_price),
        cmocka_unit_test(a_run_without_ranks_is_refused),
        cmocka_unit_test(the_earliest_run_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
