/* Every fault by its name, and nothing else called one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/check.h"
#include "core/field.h"
#include "io/check_json.h"
#include "support/synthetic_run.h"

#define OK        0u
#define BIT(name) LOT_VERDICT_BIT(LOT_VERDICT_##name)

static const lot_check_options plain = {.prior = 0.015, .level = 0.01, .soak_passes = 100};

static void check_with(const lot_run *run, const lot_check_options *options, lot_check_result *result)
{
    lot_observed_run observed;
    lot_error error;

    lot_observed_init(&observed);
    assert_int_equal(LOT_OK, lot_observed_from_run(&observed, run, &error));
    assert_int_equal(LOT_OK, lot_check(&observed, options, result, &error));
    lot_observed_free(&observed);
}

static const lot_checked_device *device_of(const lot_check_result *r, int64_t rank)
{
    for (size_t i = 0; i < r->device_count; i++)
        if (r->devices[i].rank == rank)
            return &r->devices[i];
    fail_msg("no rank %lld", (long long)rank);
    return NULL;
}

static unsigned verdict_of(const lot_check_result *r, int64_t rank)
{
    return device_of(r, rank)->verdicts;
}

/* The first finding of that verdict about the rank. */
static const lot_finding *finding_of(const lot_check_result *r, int64_t rank, lot_verdict verdict)
{
    for (size_t i = 0; i < r->finding_count; i++)
        if (r->findings[i].verdict == verdict && r->findings[i].device != LOT_NO_DEVICE_INDEX &&
            r->devices[r->findings[i].device].rank == rank)
            return &r->findings[i];
    fail_msg("rank %lld has no such finding", (long long)rank);
    return NULL;
}

/* Checks the run, wants these verdicts of ranks 0.. and frees both. */
static void expect(lot_run *run, const unsigned *verdicts, size_t count)
{
    lot_check_result r;

    check_with(run, &plain, &r);
    for (size_t i = 0; i < count; i++) {
        char text[160];

        lot_verdicts_print(text, sizeof text, verdict_of(&r, (int64_t)i));
        if (verdict_of(&r, (int64_t)i) != verdicts[i])
            fail_msg("rank %zu is %s", i, text);
    }
    lot_check_result_free(&r);
    lot_run_free(run);
}

#define EXPECT(run, ...)                                                                                     \
    expect(run, (const unsigned[]){__VA_ARGS__}, sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

/* Four equal GPUs with a little honest spread. */
static void four(lot_run *run)
{
    synthetic_random random = {7};

    synthetic_run_make(run, 4, 5, 0.02, 1);
    synthetic_run_draw(run, &random, 0.02, 0.005, 0.003);
}

static void set_digest(lot_run *run, size_t gpu, const char *digest)
{
    size_t count;
    lot_phase *rows = synthetic_run_rows(run, gpu, &count);

    memcpy(run->devices[gpu].verification.digest, digest, 17);
    for (size_t i = 0; i < count; i++)
        if (rows[i].digest[0] != '\0')
            memcpy(rows[i].digest, digest, 17);
}

#define OTHER "fedcba9876543210"
#define THIRD "1111222233334444"

/* ---- nothing wrong ---- */

static void healthy(void **state)
{
    lot_check_result r;
    lot_run run;

    (void)state;
    four(&run);
    check_with(&run, &plain, &r);
    assert_true(r.all_ok);
    assert_int_equal(0, r.finding_count);
    assert_int_equal(1, r.group_count);
    assert_int_equal(1, r.comparison_count);
    assert_string_equal("device", r.comparisons[0].clock);
    assert_int_equal(36, r.groups[0].verified_passes);
    assert_true(fabs(r.groups[0].corruption_bound - 3.0 / 36) < 1e-15);
    assert_true(fabs(r.devices[0].written_share - 0.02) < 1e-12);
    assert_string_equal("bfloat16", r.precisions);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

/* ---- slow ---- */

static void slow_among_two(void **state)
{
    const lot_checked_device *d;
    const lot_finding *f;
    lot_check_result r;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 2, 5, 0.02, 1);
    synthetic_run_slow(&run, 1, 0.08);
    check_with(&run, &plain, &r);
    assert_false(r.all_ok);
    assert_int_equal(OK, verdict_of(&r, 0));
    assert_int_equal(BIT(SLOW), verdict_of(&r, 1));
    f = finding_of(&r, 1, LOT_VERDICT_SLOW);
    d = device_of(&r, 1);
    assert_int_equal(LOT_EVIDENCE_PEER, f->evidence);
    assert_string_equal("device_seconds", f->measure);
    assert_string_equal("warm_forward", f->phase);
    assert_true(fabs(f->number - 0.08) < 1e-9 && f->threshold < 0.08 && f->threshold > 0.03);
    assert_true(f->low < 0.08 && f->high > 0.08 && d->slower.low == f->low);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

/* Two of five are slow: they do not hide one another. */
static void two_slow(void **state)
{
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 5, 5, 0.02, 1);
    synthetic_run_slow(&run, 1, 0.15);
    synthetic_run_slow(&run, 4, 0.15);
    EXPECT(&run, OK, BIT(SLOW), OK, OK, BIT(SLOW));
}

/* A fast GPU is no fault, and does not make its peers slow. */
static void fast_is_no_fault(void **state)
{
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 4, 5, 0.02, 1);
    synthetic_run_slow(&run, 2, -0.3);
    EXPECT(&run, OK, OK, OK, OK);
}

/* Where one GPU has no device clock, all are compared on the host's, and that is said. */
static void one_clock_for_all(void **state)
{
    lot_check_result r;
    lot_run run;

    (void)state;
    four(&run);
    for (size_t k = 0; k < 5; k++)
        synthetic_run_warm(&run, 2, k)->device_seconds = NAN;
    check_with(&run, &plain, &r);
    assert_string_equal("host", r.comparisons[0].clock);
    assert_int_equal(4, r.comparisons[0].devices);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

/* Times that say nothing are no fault of a GPU, but must not pass for a comparison. */
static void too_noisy(void **state)
{
    synthetic_random random = {3};
    lot_check_result r;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 4, 3, 0.02, 1);
    synthetic_run_draw(&run, &random, 0.02, 0.01, 0.3);
    check_with(&run, &plain, &r);
    assert_true(r.comparisons[0].detectable > 0.25);
    assert_int_equal(LOT_NO_DEVICE_INDEX, r.findings[r.finding_count - 1].device);
    assert_string_equal("detectable", r.findings[r.finding_count - 1].measure);
    assert_int_equal(LOT_VERDICT_INFORMATION, r.findings[r.finding_count - 1].verdict);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

/* ---- corrupt ---- */

static void one_bit_in_one_pass(void **state)
{
    const lot_finding *f;
    lot_check_result r;
    lot_run run;

    (void)state;
    four(&run);
    memcpy(synthetic_run_warm(&run, 2, 3)->digest, OTHER, 17);
    synthetic_run_warm(&run, 2, 3)->digests_differing = 1;
    run.devices[2].verification.digests_differing = 1;
    run.devices[2].verification.passed = 0;
    check_with(&run, &plain, &r);
    for (int64_t i = 0; i < 4; i++)
        assert_int_equal(i == 2 ? BIT(CORRUPT) : OK, verdict_of(&r, i));
    f = finding_of(&r, 2, LOT_VERDICT_CORRUPT);
    assert_int_equal(LOT_EVIDENCE_REPEAT, f->evidence);
    assert_string_equal("warm_forward", f->phase);
    assert_true(f->number == 1 && strstr(f->text, OTHER) != NULL);
    assert_true(isnan(r.groups[0].corruption_bound));
    lot_check_result_free(&r);
    lot_run_free(&run);
}

static void wrong_weight_among_four(void **state)
{
    lot_run run;

    (void)state;
    four(&run);
    set_digest(&run, 3, OTHER);
    EXPECT(&run, OK, OK, OK, BIT(CORRUPT));
}

/* Two disagree and both are sure of themselves: nobody can say who is wrong. */
static void two_disagree(void **state)
{
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 2, 5, 0.02, 1);
    set_digest(&run, 1, OTHER);
    EXPECT(&run, BIT(UNDECIDED), BIT(UNDECIDED));
}

/* Two disagree, and one of them with the reference too. */
static void reference_decides(void **state)
{
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 2, 5, 0.02, 1);
    set_digest(&run, 1, OTHER);
    run.devices[1].verification.reference_passed = 0;
    run.devices[1].verification.reference_max_bound_ratio = 7;
    EXPECT(&run, OK, BIT(CORRUPT));
}

static void not_a_number(void **state)
{
    lot_run run;

    (void)state;
    four(&run);
    synthetic_run_warm(&run, 0, 1)->finite = 0;
    run.devices[0].verification.nonfinite_passes = 1;
    EXPECT(&run, BIT(CORRUPT), OK, OK, OK);
}

/* Against an earlier archive of `earlier_gpus` GPUs that say `digest`. */
static void against(lot_run *run, size_t earlier_gpus, const char *digest, const unsigned *verdicts)
{
    lot_check_options options = plain;
    lot_observed_run earlier;
    lot_check_result r;
    lot_error error;
    lot_run before;

    synthetic_run_make(&before, earlier_gpus, 5, 0.02, 1);
    for (size_t i = 0; i < earlier_gpus; i++)
        set_digest(&before, i, digest);
    lot_observed_init(&earlier);
    assert_int_equal(LOT_OK, lot_observed_from_run(&earlier, &before, &error));
    options.against = &earlier;
    check_with(run, &options, &r);
    for (size_t i = 0; i < run->device_count; i++)
        assert_int_equal(verdicts[i], verdict_of(&r, (int64_t)i));
    lot_check_result_free(&r);
    lot_observed_free(&earlier);
    lot_run_free(&before);
    lot_run_free(run);
}

static void golden_digest(void **state)
{
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 2, 5, 0.02, 1);
    set_digest(&run, 1, OTHER);
    against(&run, 1, OTHER, (const unsigned[]){BIT(CORRUPT), OK}); /* 2 of 3 voices */
    synthetic_run_make(&run, 2, 5, 0.02, 1);
    set_digest(&run, 1, OTHER);
    against(&run, 1, THIRD, (const unsigned[]){BIT(UNDECIDED), BIT(UNDECIDED)});
    synthetic_run_make(&run, 1, 5, 0.02, 1);
    against(&run, 2, OTHER, (const unsigned[]){BIT(CORRUPT)});
    synthetic_run_make(&run, 1, 5, 0.02, 1);
    against(&run, 1, OTHER, (const unsigned[]){BIT(UNDECIDED)});
    synthetic_run_make(&run, 1, 5, 0.02, 1);
    against(&run, 1, "0123456789abcdef", (const unsigned[]){OK}); /* alone, but compared */
    synthetic_run_make(&run, 1, 5, 0.02, 1);
    synthetic_run_slow(&run, 0, 0.15);
    against(&run, 1, "0123456789abcdef", (const unsigned[]){BIT(SLOW)});
    four(&run);
    against(&run, 1, OTHER,
            (const unsigned[]){BIT(UNDECIDED), BIT(UNDECIDED), BIT(UNDECIDED), BIT(UNDECIDED)});
}

/* ---- throttled, unstable ---- */

static void throttled(void **state)
{
    lot_run run;

    (void)state;
    four(&run);
    for (size_t k = 0; k < 5; k++) {
        synthetic_run_warm(&run, 1, k)->telemetry.throttle_hw_thermal_nanoseconds = 2000000; /* 10 % */
        synthetic_run_warm(&run, 2, k)->telemetry.throttle_sw_power_cap_nanoseconds = 15000000;
        synthetic_run_warm(&run, 3, k)->telemetry.throttle_hw_power_brake_nanoseconds = 0;
        synthetic_run_warm(&run, 3, k)->telemetry.clock_event_bits = 0x80; /* an event of no length */
    }
    EXPECT(&run, OK, BIT(THROTTLED), OK, OK);
}

/* Without counters the state at the end of each row speaks. */
static void throttled_by_state(void **state)
{
    lot_run run;

    (void)state;
    four(&run);
    for (size_t k = 0; k < 5; k++)
        synthetic_run_warm(&run, 0, k)->telemetry.clock_event_bits = k == 2 ? 0x20 : 0x04;
    EXPECT(&run, BIT(THROTTLED), OK, OK, OK);
}

static void drifting(void **state)
{
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 4, 20, 0.02, 1);
    for (size_t k = 0; k < 20; k++) /* 6 % over the repeats, with a little up and down */
        synthetic_run_warm(&run, 2, k)->device_seconds =
            0.0195 * (1 + 0.003 * (double)k) * (k % 2 ? 1.001 : 1);
    EXPECT(&run, OK, OK, BIT(UNSTABLE), OK);
}

static void bimodal(void **state)
{
    lot_run run;

    (void)state;
    four(&run);
    for (size_t k = 0; k < 5; k++)
        synthetic_run_warm(&run, 1, k)->device_seconds = k % 2 ? 0.0215 : 0.02;
    EXPECT(&run, OK, BIT(UNSTABLE), OK, OK);
}

/* ---- misconfigured ---- */

static void another_driver(void **state)
{
    lot_check_result r;
    lot_run run;

    (void)state;
    four(&run);
    assert_true(lot_field_copy(run.devices[1].device.driver_version, 32, "560.1"));
    check_with(&run, &plain, &r);
    assert_int_equal(BIT(MISCONFIGURED), verdict_of(&r, 1));
    assert_int_equal(OK, verdict_of(&r, 0) | verdict_of(&r, 2) | verdict_of(&r, 3));
    assert_string_equal("driver_version is 560.1; 3 of 4 have 570.86.15",
                        finding_of(&r, 1, LOT_VERDICT_MISCONFIGURED)->text);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

static void no_majority(void **state)
{
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 2, 5, 0.02, 1);
    run.devices[1].device.ecc_enabled = 0;
    EXPECT(&run, BIT(MISCONFIGURED), BIT(MISCONFIGURED));
}

/* PCIe is judged under load: the best that a GPU reached. */
static void pcie_under_load(void **state)
{
    lot_run run;

    (void)state;
    four(&run);
    for (size_t gpu = 0; gpu < 4; gpu++)
        for (size_t k = 0; k < 5; k++) {
            synthetic_run_warm(&run, gpu, k)->telemetry.pcie_width = gpu == 3 ? 8 : 16;
            synthetic_run_warm(&run, gpu, k)->telemetry.pcie_generation = k == 0 ? 5 : 1;
        }
    EXPECT(&run, OK, OK, OK, BIT(MISCONFIGURED));
}

/* A lower power limit makes another group, and is named among its model. */
static void power_limit(void **state)
{
    lot_check_result r;
    lot_run run;

    (void)state;
    four(&run);
    run.devices[0].device.power_limit_watts = 500;
    check_with(&run, &plain, &r);
    assert_int_equal(2, r.group_count);
    assert_int_equal(BIT(MISCONFIGURED), verdict_of(&r, 0));
    lot_check_result_free(&r);
    lot_run_free(&run);
}

static void faults_of_its_own(void **state)
{
    lot_run run;

    (void)state;
    four(&run);
    run.devices[0].device.foreign_processes = 1;
    run.devices[1].device.remap_failed = 1;
    run.devices[2].device.remap_pending = 1;
    synthetic_run_warm(&run, 3, 0)->telemetry.ecc_uncorrected = 1;
    EXPECT(&run, BIT(MISCONFIGURED), BIT(FAILED), BIT(MISCONFIGURED), BIT(CORRUPT));
}

/* ---- failed, lost, not measured ---- */

static void set_status(lot_run *run, size_t gpu, lot_status status)
{
    assert_true(lot_field_copy(run->devices[gpu].outcome.status, 24, lot_status_name(status)));
}

static void failed_and_lost(void **state)
{
    lot_run run;

    (void)state;
    four(&run);
    set_status(&run, 1, LOT_DEVICE_FAULT);
    set_status(&run, 2, LOT_LOST);
    EXPECT(&run, OK, BIT(FAILED), BIT(LOST), OK);
}

static void not_measured(void **state)
{
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 4, 5, 0.02, 1);
    run.devices[0].verification.reference_rows = 0;
    run.devices[1].verification.passes = LOT_NULL_I64;
    for (size_t k = 0; k < 5; k++)
        synthetic_run_warm(&run, 2, k)->device_seconds = synthetic_run_warm(&run, 2, k)->host_seconds = NAN;
    synthetic_run_warm(&run, 3, 4)->host_seconds = synthetic_run_warm(&run, 3, 4)->device_seconds = NAN;
    EXPECT(&run, BIT(NOT_MEASURED), BIT(NOT_MEASURED), BIT(NOT_MEASURED), BIT(NOT_MEASURED));
}

static void zero_repeats(void **state)
{
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 2, 0, 0.02, 1);
    EXPECT(&run, BIT(NOT_MEASURED), BIT(NOT_MEASURED));
}

/* A rank that told nothing at all: a spool that recover found empty. */
static void nothing_known(void **state)
{
    lot_record empty;
    lot_run run;

    (void)state;
    four(&run);
    lot_record_init(&empty);
    empty.head.identity.rank = 3;
    empty.head.identity.size = 4;
    run.devices[3] = empty.head;
    run.phase_count = run.first_phase[3];
    run.first_phase[4] = run.phase_count;
    set_status(&run, 3, LOT_LOST);
    EXPECT(&run, OK, OK, OK, BIT(LOST) | BIT(NOT_MEASURED));
}

static void ranks_without_record(void **state)
{
    lot_check_result r;
    lot_run run;

    (void)state;
    four(&run);
    run.header.ranks = 6;
    check_with(&run, &plain, &r);
    assert_int_equal(2, r.missing);
    assert_false(r.all_ok);
    assert_int_equal(LOT_NO_DEVICE_INDEX, r.findings[r.finding_count - 1].device);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

/* ---- alone, groups, expectations ---- */

static void alone(void **state)
{
    lot_check_result r;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 1, 5, 0.02, 1);
    check_with(&run, &plain, &r);
    assert_int_equal(BIT(UNDECIDED), verdict_of(&r, 0));
    assert_int_equal(LOT_HEARD_GOOD, r.devices[0].heard[LOT_EVIDENCE_REPEAT]);
    assert_true(isnan(r.comparisons[0].threshold) && isnan(r.devices[0].slower.value));
    lot_check_result_free(&r);
    lot_run_free(&run);
}

static void mixed_rental(void **state)
{
    lot_check_result r;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 5, 5, 0.02, 1);
    for (size_t i = 0; i < 2; i++) {
        assert_true(lot_field_copy(run.devices[i].device.name, 96, "NVIDIA A100"));
        run.devices[i].device.multiprocessors = 108;
        synthetic_run_slow(&run, i, 0.5);
        set_digest(&run, i, OTHER);
    }
    check_with(&run, &plain, &r);
    assert_int_equal(2, r.group_count);
    assert_true(r.all_ok);
    assert_int_equal(2, r.groups[0].devices);
    assert_string_equal("NVIDIA A100", r.groups[0].name);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

static void expectations(void **state)
{
    lot_expectation rate = {.model = "NVIDIA H200",
                            .dtype = "bfloat16",
                            .math = "ieee",
                            .batch = LOT_NULL_I64,
                            .context = LOT_NULL_I64,
                            .width = 4096,
                            .hidden = LOT_NULL_I64,
                            .tolerance = 0.05,
                            .source = "a test"};
    const lot_expectations list = {&rate, 1};
    lot_check_options options = plain;
    lot_check_result r;
    lot_run run;

    (void)state;
    options.expectations = &list;
    synthetic_run_make(&run, 1, 5, 0.02, 1);
    rate.flops_per_second = (double)run.devices[0].synthetic_model.flops_per_forward / 0.0195;
    check_with(&run, &options, &r); /* 2.5 % below, 5 % allowed */
    assert_int_equal(OK, verdict_of(&r, 0));
    lot_check_result_free(&r);
    rate.flops_per_second *= 1.05;
    check_with(&run, &options, &r);
    assert_int_equal(BIT(SLOW), verdict_of(&r, 0));
    assert_int_equal(LOT_EVIDENCE_EXPECTATION, finding_of(&r, 0, LOT_VERDICT_SLOW)->evidence);
    lot_check_result_free(&r);
    rate.width = 4097; /* of other work: says nothing */
    check_with(&run, &options, &r);
    assert_int_equal(BIT(UNDECIDED), verdict_of(&r, 0));
    lot_check_result_free(&r);
    lot_run_free(&run);
}

static void simulator_against_real(void **state)
{
    lot_check_options options = plain;
    lot_observed_run one, other;
    lot_check_result r;
    lot_error error = {.status = LOT_OK};
    lot_run run;

    (void)state;
    four(&run);
    lot_observed_init(&one);
    lot_observed_init(&other);
    assert_int_equal(LOT_OK, lot_observed_from_run(&one, &run, &error));
    assert_int_equal(LOT_OK, lot_observed_from_run(&other, &run, &error));
    other.header.simulated = 1;
    options.against = &other;
    assert_int_equal(LOT_INPUT, lot_check(&one, &options, &r, &error));
    assert_non_null(strstr(error.text, "simulator"));
    lot_observed_free(&one);
    lot_observed_free(&other);
    lot_run_free(&run);
}

/* ---- schedules and soak ---- */

static void contention(void **state)
{
    const lot_checked_device *d;
    lot_check_result r;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 2, 5, 0.02, 1);
    for (size_t gpu = 0; gpu < 2; gpu++) {
        synthetic_run_append(&run, gpu, "warm_forward", "solo", 5);
        for (size_t k = 0; k < 5; k++)
            synthetic_run_warm(&run, gpu, k)->device_seconds = 0.022 * (1 + 0.001 * (double)k);
    }
    check_with(&run, &plain, &r);
    d = device_of(&r, 1);
    assert_true(r.all_ok);
    assert_int_equal(2, r.comparison_count);
    assert_true(fabs(d->contention.value - 1.1 * 1.002) < 1e-9);
    assert_true(d->contention.low < d->contention.value && d->contention.low > 1.09);
    assert_true(d->contention.high > d->contention.value && d->contention.high < 1.12);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

static void soak(void **state)
{
    const lot_checked_device *d;
    lot_check_result r;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 3, 5, 0.02, 1);
    for (size_t gpu = 0; gpu < 3; gpu++) {
        size_t count;
        lot_phase *rows;

        synthetic_run_append(&run, gpu, "soak", "together", gpu == 2 ? 40 : 60);
        rows = synthetic_run_rows(&run, gpu, &count);
        for (size_t k = 9; k < count; k++) {
            rows[k].passes = 2;
            rows[k].device_seconds = 0.04 * (gpu == 1 ? 1 + 0.001 * (double)(k - 9) : 1);
        }
    }
    check_with(&run, &plain, &r);
    d = device_of(&r, 1);
    assert_int_equal(OK, verdict_of(&r, 0));
    assert_true((verdict_of(&r, 1) & BIT(UNSTABLE)) != 0);
    assert_true(fabs(d->soak_drift.value - 1.059) < 0.002 && d->soak_drift.low < d->soak_drift.high);
    assert_int_equal(BIT(NOT_MEASURED), verdict_of(&r, 2));
    lot_check_result_free(&r);
    lot_run_free(&run);
}

/* ---- cost ---- */

static void cost(void **state)
{
    const lot_check_price price = {.total_cents = 123456789, .gpus = 4, .days = 7};
    lot_check_options options = plain;
    lot_check_result r;
    lot_run run;

    (void)state;
    four(&run);
    set_status(&run, 0, LOT_LOST);
    options.price = &price;
    check_with(&run, &options, &r);
    assert_true(r.cost.known);
    assert_int_equal(12000, r.cost.check_milliseconds);
    assert_true(r.cost.check_numerator == INT64_C(123456789) * 12000);
    assert_true(r.cost.check_denominator == INT64_C(7) * 86400000);
    assert_int_equal(1000000, r.cost.lost_millionths);
    assert_true(r.cost.lost_gpu_hour_millionths == INT64_C(168000000));
    assert_true(r.cost.lost_numerator == INT64_C(123456789000000) && r.cost.lost_denominator == 4000000);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

/* ---- properties ---- */

/* A rental with something of everything. */
static void eventful(lot_run *run, uint64_t seed)
{
    synthetic_random random = {seed};

    synthetic_run_make(run, 9, 6, 0.02, 1);
    synthetic_run_draw(run, &random, 0.02, 0.02, 0.01);
    synthetic_run_slow(run, 4, 0.12);
    set_digest(run, 5, OTHER);
    set_status(run, 6, LOT_DEVICE_FAULT);
    run->devices[7].device.ecc_enabled = 0;
    run->devices[8].device.power_limit_watts = 300;
    synthetic_run_append(run, 2, "warm_forward", "solo", 6);
    synthetic_run_append(run, 3, "warm_forward", "solo", 6);
}

static void scaling_changes_no_verdict(void **state)
{
    static const double factors[] = {1e-6, 0.37, 3, 1e5};
    lot_check_result one, other;
    lot_run run;

    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++)
        for (size_t f = 0; f < 4; f++) {
            eventful(&run, seed);
            check_with(&run, &plain, &one);
            for (size_t i = 0; i < run.phase_count; i++) {
                run.phases[i].device_seconds *= factors[f];
                run.phases[i].host_seconds *= factors[f];
            }
            check_with(&run, &plain, &other);
            assert_int_equal(one.finding_count, other.finding_count);
            for (size_t i = 0; i < one.device_count; i++)
                assert_int_equal(one.devices[i].verdicts, other.devices[i].verdicts);
            lot_check_result_free(&one);
            lot_check_result_free(&other);
            lot_run_free(&run);
        }
}

static char *json_of(const lot_run *run)
{
    lot_check_result r;
    lot_error error;
    char *json = NULL;

    check_with(run, &plain, &r);
    assert_int_equal(LOT_OK, lot_check_json_write(&r, &json, &error));
    lot_check_result_free(&r);
    return json;
}

/* The order in which ranks stand changes no byte. */
static void permuting_ranks_changes_no_byte(void **state)
{
    synthetic_random random = {99};
    char *first, *again;
    lot_run run;

    (void)state;
    eventful(&run, 3);
    first = json_of(&run);
    for (int round = 0; round < 100; round++) {
        size_t order[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8};

        for (size_t i = 8; i > 0; i--) {
            const size_t j = (size_t)(synthetic_uniform(&random) * (double)(i + 1));
            const size_t kept = order[i];

            order[i] = order[j];
            order[j] = kept;
        }
        synthetic_run_permute(&run, order, 1);
        again = json_of(&run);
        assert_string_equal(first, again);
        free(again);
    }
    free(first);
    lot_run_free(&run);
}

/* Which rank measured which GPU changes nothing but the rank's number. */
static void renumbering_changes_only_numbers(void **state)
{
    const size_t order[9] = {8, 3, 5, 1, 0, 7, 2, 6, 4};
    lot_check_result one, other;
    lot_run run;

    (void)state;
    eventful(&run, 4);
    check_with(&run, &plain, &one);
    synthetic_run_permute(&run, order, 0);
    check_with(&run, &plain, &other);
    assert_int_equal(one.finding_count, other.finding_count);
    for (size_t i = 0; i < one.device_count; i++) {
        assert_string_equal(one.devices[i].uuid, other.devices[i].uuid);
        assert_int_equal(one.devices[i].verdicts, other.devices[i].verdicts);
        one.devices[i].rank = other.devices[i].rank;
    }
    assert_memory_equal(one.devices, other.devices, one.device_count * sizeof *one.devices);
    assert_memory_equal(one.findings, other.findings, one.finding_count * sizeof *one.findings);
    lot_check_result_free(&one);
    lot_check_result_free(&other);
    lot_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(healthy),
        cmocka_unit_test(slow_among_two),
        cmocka_unit_test(two_slow),
        cmocka_unit_test(fast_is_no_fault),
        cmocka_unit_test(one_clock_for_all),
        cmocka_unit_test(too_noisy),
        cmocka_unit_test(one_bit_in_one_pass),
        cmocka_unit_test(wrong_weight_among_four),
        cmocka_unit_test(two_disagree),
        cmocka_unit_test(reference_decides),
        cmocka_unit_test(not_a_number),
        cmocka_unit_test(golden_digest),
        cmocka_unit_test(throttled),
        cmocka_unit_test(throttled_by_state),
        cmocka_unit_test(drifting),
        cmocka_unit_test(bimodal),
        cmocka_unit_test(another_driver),
        cmocka_unit_test(no_majority),
        cmocka_unit_test(pcie_under_load),
        cmocka_unit_test(power_limit),
        cmocka_unit_test(faults_of_its_own),
        cmocka_unit_test(failed_and_lost),
        cmocka_unit_test(not_measured),
        cmocka_unit_test(zero_repeats),
        cmocka_unit_test(nothing_known),
        cmocka_unit_test(ranks_without_record),
        cmocka_unit_test(alone),
        cmocka_unit_test(mixed_rental),
        cmocka_unit_test(expectations),
        cmocka_unit_test(simulator_against_real),
        cmocka_unit_test(contention),
        cmocka_unit_test(soak),
        cmocka_unit_test(cost),
        cmocka_unit_test(scaling_changes_no_verdict),
        cmocka_unit_test(permuting_ranks_changes_no_byte),
        cmocka_unit_test(renumbering_changes_only_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
