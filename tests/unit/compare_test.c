/* Check-in against check-out: every change by its name, and none where nothing changed. */
#include <math.h>
#include <string.h>

#include "support/comparing.h"

static lot_status compare_runs(const lot_run *before, size_t count, const lot_run *after,
                               lot_compare_result *result, lot_error *error)
{
    lot_baseline b = baseline_of(before, count), a = baseline_of(after, 1);
    const lot_status status = lot_compare(&b, &a, &plain, result, error);

    lot_baseline_free(&b);
    lot_baseline_free(&a);
    return status;
}

static void comparing(const lot_run *before, const lot_run *after, lot_compare_result *result)
{
    lot_error error;

    assert_int_equal(LOT_OK, compare_runs(before, 1, after, result, &error));
}

/* The four GPUs on two days, and what is made of it. */
typedef struct scene {
    lot_run before;
    lot_run after;
    lot_compare_result result;
} scene;

static int two_days(void **state)
{
    static scene s;

    four(&s.before, 1);
    four(&s.after, 2);
    s.result = (lot_compare_result){0};
    *state = &s;
    return 0;
}

static int end_days(void **state)
{
    scene *s = *state;

    lot_compare_result_free(&s->result);
    lot_run_free(&s->before);
    lot_run_free(&s->after);
    return 0;
}

static void compare_days(scene *s)
{
    lot_compare_result_free(&s->result);
    comparing(&s->before, &s->after, &s->result);
}

static size_t count_of(const lot_compare_result *r, lot_change_kind kind)
{
    size_t count = 0;

    for (size_t i = 0; i < r->change_count; i++)
        count += r->changes[i].kind == kind;
    return count;
}

static const lot_change *change_of(const lot_compare_result *r, lot_change_kind kind)
{
    for (size_t i = 0; i < r->change_count; i++)
        if (r->changes[i].kind == kind)
            return &r->changes[i];
    fail_msg("there is no %s", lot_change_name(kind));
    return NULL;
}

static void the_same(void **state)
{
    lot_compare_result r;
    lot_run run;

    (void)state;
    four(&run, 1);
    comparing(&run, &run, &r);
    assert_true(r.good);
    assert_int_equal(4, r.matched);
    assert_int_equal(0, r.change_count);
    assert_int_equal(4 * 5, r.drift_count);
    for (size_t i = 0; i < r.drift_count; i++)
        assert_true(r.drifts[i].slower.value == 0 && !r.drifts[i].beyond_noise);
    lot_compare_result_free(&r);
    lot_run_free(&run);
}

static void start_all(lot_run *run, const char *utc)
{
    for (size_t i = 0; i < run->device_count; i++)
        assert_true(lot_field_copy(run->devices[i].environment.started_utc,
                                   sizeof run->devices[i].environment.started_utc, utc));
}

/* The older archive as what is now is still compared, and the answer says that it is. */
static void in_the_wrong_order(void **state)
{
    scene *s = *state;
    static const char early[] = "2026-11-30T23:59:59.999Z", late[] = "2026-12-01T00:00:00.000Z";

    compare_days(s); /* neither tells when it began */
    assert_false(s->result.backwards);
    start_all(&s->before, early);
    start_all(&s->after, late);
    compare_days(s);
    assert_false(s->result.backwards);
    lot_compare_result_free(&s->result);
    comparing(&s->after, &s->before, &s->result);
    assert_true(s->result.backwards);
    lot_compare_result_free(&s->result);
    comparing(&s->before, &s->before, &s->result);
    assert_false(s->result.backwards);
}

/* A reader looks for ranks; UUIDs are in no order that means anything. */
static void listed_by_rank(void **state)
{
    scene *s = *state;

    for (size_t i = 0; i < 4; i++) {
        char uuid[16];

        (void)snprintf(uuid, sizeof uuid, "GPU-%zu", 9 - i);
        assert_true(
            lot_field_copy(s->before.devices[i].device.uuid, sizeof s->before.devices[i].device.uuid, uuid));
        assert_true(
            lot_field_copy(s->after.devices[i].device.uuid, sizeof s->after.devices[i].device.uuid, uuid));
        s->after.devices[i].device.ecc_uncorrected_total = 1;
        s->before.devices[i].device.ecc_uncorrected_total = 0;
    }
    compare_days(s);
    assert_int_equal(4 * 5, s->result.drift_count);
    for (size_t i = 0; i < s->result.drift_count; i++)
        assert_int_equal(i / 5, s->result.drifts[i].rank_after);
    assert_int_equal(4, count_of(&s->result, LOT_CHANGE_ERRORS));
    for (size_t i = 1; i < s->result.change_count; i++)
        assert_true(s->result.changes[i].kind != s->result.changes[i - 1].kind ||
                    s->result.changes[i].rank_after > s->result.changes[i - 1].rank_after);
}

/* Repeats in another schedule are not the same times: nothing was compared. */
static void another_schedule(void **state)
{
    scene *s = *state;

    for (size_t i = 0; i < s->after.phase_count; i++)
        if (strcmp(s->after.phases[i].phase, "warm_forward") == 0)
            (void)strcpy(s->after.phases[i].schedule, "solo");
    compare_days(s);
    assert_false(s->result.good);
    assert_non_null(strstr(change_of(&s->result, LOT_CHANGE_UNDECIDED)->text, "no counterpart"));
    assert_int_equal(2, s->result.unpaired_count);
    for (size_t i = 0; i < 2; i++) {
        const lot_unpaired *u = &s->result.unpaired[i];

        assert_string_equal("warm_forward", u->phase);
        assert_string_equal(u->now ? "solo" : "together", u->schedule);
        assert_int_equal(4, u->devices);
    }
    assert_true(s->result.unpaired[0].now != s->result.unpaired[1].now);
}

static void another_day(void **state)
{
    lot_run before, after;

    (void)state;
    four(&before, 1);
    for (uint64_t day = 2; day < 200; day++) {
        lot_compare_result r;

        four(&after, day);
        comparing(&before, &after, &r);
        assert_true(r.good);
        assert_int_equal(0, r.change_count);
        lot_compare_result_free(&r);
        lot_run_free(&after);
    }
    lot_run_free(&before);
}

static void slower_and_faster(void **state)
{
    scene *s = *state;
    const lot_change *c;

    for (size_t k = 0; k < 9; k++) {
        lot_phase *row = synthetic_run_warm(&s->after, 1, k);

        row->device_seconds /= 0.94;
        synthetic_run_warm(&s->after, 2, k)->device_seconds *= 0.9;
        synthetic_run_warm(&s->after, 3, k)->device_seconds /= 0.98; /* beyond noise, within tolerance */
    }
    compare_days(s);
    assert_false(s->result.good);
    assert_int_equal(2, s->result.change_count);
    c = change_of(&s->result, LOT_CHANGE_SLOWER);
    assert_int_equal(1, c->rank_after);
    assert_string_equal("warm_forward", c->phase);
    assert_int_equal(2, change_of(&s->result, LOT_CHANGE_FASTER)->rank_after);
    for (size_t i = 0; i < s->result.drift_count; i++)
        if (s->result.drifts[i].rank_after == 1 && strcmp(s->result.drifts[i].phase, "warm_forward") == 0) {
            assert_true(fabs(s->result.drifts[i].slower.value - 0.06) < 0.01);
            assert_true(s->result.drifts[i].slower.low < 0.06 && s->result.drifts[i].slower.high > 0.055);
        }
}

static void missing_and_new(void **state)
{
    scene *s = *state;

    assert_true(lot_field_copy(s->after.devices[2].device.uuid, 48, "GPU-another"));
    compare_days(s);
    assert_false(s->result.good);
    assert_int_equal(2, s->result.change_count);
    assert_int_equal(2, change_of(&s->result, LOT_CHANGE_MISSING)->rank_before);
    assert_string_equal("GPU-another", change_of(&s->result, LOT_CHANGE_NEW)->uuid);
}

static void swap_uuids(lot_run *run, size_t one, size_t other)
{
    char kept[48];

    memcpy(kept, run->devices[one].device.uuid, sizeof kept);
    memcpy(run->devices[one].device.uuid, run->devices[other].device.uuid, sizeof kept);
    memcpy(run->devices[other].device.uuid, kept, sizeof kept);
}

/* Two GPUs changed places, a third went to another host: no fault, but named. */
static void moved_and_swapped(void **state)
{
    scene *s = *state;

    lot_run_free(&s->after);
    four(&s->after, 1); /* nothing else has changed */
    swap_uuids(&s->after, 0, 3);
    assert_true(lot_field_copy(s->after.devices[1].identity.host, 64, "elsewhere"));
    compare_days(s);
    assert_true(s->result.good);
    assert_int_equal(3, s->result.change_count);
    assert_int_equal(2, count_of(&s->result, LOT_CHANGE_SWAPPED));
    assert_int_equal(1, count_of(&s->result, LOT_CHANGE_MOVED));
    assert_non_null(strstr(change_of(&s->result, LOT_CHANGE_SWAPPED)->text, "GPU-"));
}

static void results_errors_environment(void **state)
{
    scene *s = *state;

    memcpy(s->after.devices[0].verification.digest, "fedcba9876543210", 17);
    s->before.devices[1].device.ecc_uncorrected_total = s->before.devices[2].device.ecc_corrected_total = 5;
    s->after.devices[1].device.ecc_uncorrected_total = s->after.devices[2].device.ecc_corrected_total = 6;
    assert_true(lot_field_copy(s->after.devices[3].environment.kernel, 64, "6.2.0"));
    compare_days(s);
    assert_false(s->result.good);
    assert_int_equal(4, s->result.change_count);
    assert_int_equal(0, change_of(&s->result, LOT_CHANGE_WRONG)->rank_after);
    assert_int_equal(1, change_of(&s->result, LOT_CHANGE_ERRORS)->rank_after);
    assert_int_equal(2, change_of(&s->result, LOT_CHANGE_COUNTER)->rank_after);
    assert_string_equal("6.2.0, was 6.1.0", change_of(&s->result, LOT_CHANGE_ENVIRONMENT)->text);
    /* Another library may round otherwise: its digests are not compared. */
    assert_true(lot_field_copy(s->after.devices[0].device.library_version, 32, "13.0"));
    compare_days(s);
    assert_int_equal(0, count_of(&s->result, LOT_CHANGE_WRONG));
    assert_int_equal(2, count_of(&s->result, LOT_CHANGE_ENVIRONMENT));
}

static void failed_now(void **state)
{
    scene *s = *state;

    assert_true(lot_field_copy(s->after.devices[0].outcome.status, 24, "device-fault"));
    for (size_t k = 0; k < 9; k++)
        synthetic_run_warm(&s->after, 1, k)->host_seconds =
            synthetic_run_warm(&s->after, 1, k)->device_seconds = NAN;
    compare_days(s);
    assert_int_equal(2, count_of(&s->result, LOT_CHANGE_FAILED));
    assert_false(s->result.good);
}

static void refused(void **state)
{
    scene *s = *state;
    lot_error error = {.status = LOT_OK};

    s->after.header.simulated = 1;
    assert_int_equal(LOT_INPUT, compare_runs(&s->before, 1, &s->after, &s->result, &error));
    assert_non_null(strstr(error.text, "simulator"));
    s->after.header.simulated = 0;
    for (size_t i = 0; i < 4; i++)
        s->after.devices[i].synthetic_model.seed = 2;
    assert_int_equal(LOT_INPUT, compare_runs(&s->before, 1, &s->after, &s->result, &error));
    assert_non_null(strstr(error.text, "seed"));
    for (size_t i = 0; i < 4; i++) {
        s->after.devices[i].synthetic_model.seed = 1;
        s->after.devices[i].synthetic_model.width = 8;
    }
    assert_int_equal(LOT_INPUT, compare_runs(&s->before, 1, &s->after, &s->result, &error));
    assert_non_null(strstr(error.text, "width"));
    /* Values of another definition: their digests say nothing of each other. */
    for (size_t i = 0; i < 4; i++) {
        s->after.devices[i].synthetic_model = s->before.devices[i].synthetic_model;
        s->before.devices[i].synthetic_model.generator = 1;
        s->after.devices[i].synthetic_model.generator = 2;
    }
    assert_int_equal(LOT_INPUT, compare_runs(&s->before, 1, &s->after, &s->result, &error));
    assert_non_null(strstr(error.text, "generator 1 and 2"));
}

/* Nobody can be recognised: nothing was compared, which is not good. */
static void no_gpu_to_recognise(void **state)
{
    scene *s = *state;
    lot_error error = {.status = LOT_OK};

    for (size_t i = 0; i < 4; i++)
        s->before.devices[i].device.uuid[0] = '\0';
    assert_int_equal(LOT_INPUT, compare_runs(&s->before, 1, &s->after, &s->result, &error));
    assert_non_null(strstr(error.text, "UUID"));
    /* The other way round every GPU of before is missing. */
    assert_int_equal(LOT_OK, compare_runs(&s->after, 1, &s->before, &s->result, &error));
    assert_false(s->result.good);
    assert_int_equal(4, count_of(&s->result, LOT_CHANGE_MISSING));
}

/* ---- the interval and what is said ---- */

/* Over many days and sizes of change: something is beyond noise exactly where its interval leaves 0 out, and
 * the value lies in its interval. */
static void statement_and_interval_agree(void **state)
{
    size_t beyond = 0, within = 0;
    lot_run before, after;

    (void)state;
    four(&before, 1);
    for (uint64_t day = 2; day < 60; day++) {
        lot_compare_result r;

        four(&after, day);
        synthetic_run_slow(&after, day % 4, 0.001 * (double)(day % 20));
        comparing(&before, &after, &r);
        for (size_t i = 0; i < r.drift_count; i++) {
            const lot_drift *d = &r.drifts[i];
            const bool without_0 = d->slower.low > 0 || d->slower.high < 0;

            assert_int_equal(isnan(d->coverage), isnan(d->slower.low));
            assert_int_equal(d->beyond_noise, d->judged && without_0);
            assert_false(d->slower.low > d->slower.value || d->slower.high < d->slower.value);
            beyond += d->beyond_noise;
            within += d->judged && !d->beyond_noise;
        }
        lot_compare_result_free(&r);
        lot_run_free(&after);
    }
    assert_true(beyond > 20 && within > 100);
    lot_run_free(&before);
}

/* With three repeats the widest interval covers 1 - 2/20, which is not enough to conclude anything; with four
 * it is 1 - 2/70. */
static void too_few_repeats(void **state)
{
    (void)state;
    for (int64_t repeats = 1; repeats <= 4; repeats++) {
        static const double covered[] = {0, NAN, 1 - 2.0 / 6, 1 - 2.0 / 20, 1 - 2.0 / 70};
        synthetic_random random = {9};
        lot_run before, after;
        lot_compare_result r;

        synthetic_run_make(&before, 1, repeats, 0.02, 0);
        synthetic_run_make(&after, 1, repeats, 0.02, 0);
        synthetic_run_draw(&before, &random, 0.02, 0, 0.003);
        synthetic_run_draw(&after, &random, 0.02, 0, 0.003);
        comparing(&before, &after, &r);
        assert_int_equal(1, r.drift_count);
        assert_true(repeats == 1 ? isnan(r.drifts[0].coverage)
                                 : fabs(r.drifts[0].coverage - covered[repeats]) < 1e-12);
        assert_int_equal(repeats == 4, r.drifts[0].judged);
        assert_int_equal(repeats == 4, r.good);
        if (repeats < 4)
            assert_non_null(strstr(change_of(&r, LOT_CHANGE_UNDECIDED)->text, "too few repeats"));
        lot_compare_result_free(&r);
        lot_run_free(&before);
        lot_run_free(&after);
    }
}

/* Ranks of one machine's CPU share its UUID: each is set against the one of its own number, also where one is
 * missing now, and a baseline keeps them apart in the same way. */
static void ranks_of_one_uuid(void **state)
{
    scene *s = *state;

    for (size_t i = 0; i < 4; i++) {
        (void)strcpy(s->before.devices[i].device.uuid, "HOST-one");
        (void)strcpy(s->after.devices[i].device.uuid, "HOST-one");
        for (size_t k = 0; k < 9; k++) { /* every rank twice as slow as the one before */
            synthetic_run_warm(&s->before, i, k)->device_seconds *= (double)(1 << i);
            synthetic_run_warm(&s->after, i, k)->device_seconds *= (double)(1 << i);
        }
    }
    compare_days(s);
    assert_true(s->result.good);
    assert_int_equal(4, s->result.matched);
    assert_int_equal(4, s->result.matched_by_rank);
    s->after.devices[1].device.uuid[0] = '\0'; /* lost before it told what it had */
    compare_days(s);
    assert_int_equal(3, s->result.matched);
    assert_int_equal(1, count_of(&s->result, LOT_CHANGE_MISSING));
    assert_int_equal(1, change_of(&s->result, LOT_CHANGE_MISSING)->rank_before);
    assert_int_equal(0, count_of(&s->result, LOT_CHANGE_SLOWER) + count_of(&s->result, LOT_CHANGE_FASTER));
    for (size_t i = 2; i < 4; i++) /* one is left: still the one of its number */
        s->after.devices[i].device.uuid[0] = '\0';
    memmove(s->after.devices[0].device.uuid, "", 1);
    (void)strcpy(s->after.devices[3].device.uuid, "HOST-one");
    compare_days(s);
    assert_int_equal(1, s->result.matched);
    assert_int_equal(1, s->result.matched_by_rank);
    assert_int_equal(0, count_of(&s->result, LOT_CHANGE_SLOWER) + count_of(&s->result, LOT_CHANGE_FASTER));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, two_days, end_days)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same),
        TEST(in_the_wrong_order),
        TEST(listed_by_rank),
        TEST(another_schedule),
        cmocka_unit_test(another_day),
        TEST(slower_and_faster),
        TEST(missing_and_new),
        TEST(moved_and_swapped),
        TEST(results_errors_environment),
        TEST(failed_now),
        TEST(refused),
        TEST(no_gpu_to_recognise),
        cmocka_unit_test(statement_and_interval_agree),
        cmocka_unit_test(too_few_repeats),
        TEST(ranks_of_one_uuid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
