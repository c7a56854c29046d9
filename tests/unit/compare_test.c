/* Check-in against check-out: every change by its name, and none where nothing changed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/baseline.h"
#include "analysis/compare.h"
#include "core/field.h"
#include "io/baseline_file.h"
#include "io/compare_json.h"
#include "support/synthetic_run.h"

static const lot_compare_options plain = {.tolerance = 0.03, .level = 0.01};

/* Four GPUs with their own speeds from `seed` and repeats with noise from `day`. */
static void four(lot_run *run, uint64_t day)
{
    static const double speeds[4] = {1, 1.01, 0.99, 1.005};
    synthetic_random random = {day};
    char id[40];

    synthetic_run_make(run, 4, 9, 0.02, 1);
    (void)snprintf(id, sizeof id, "run %llu", (unsigned long long)day);
    assert_true(lot_field_copy(run->header.run_id, sizeof run->header.run_id, id));
    for (size_t i = 0; i < 4; i++)
        synthetic_run_draw_one(run, i, &random, 0.02 * speeds[i], 0, 0.003);
}

static lot_baseline baseline_of(const lot_run *runs, size_t count)
{
    lot_observed_run *observed = calloc(count, sizeof *observed);
    lot_baseline made;
    lot_error error;

    assert_non_null(observed);
    for (size_t i = 0; i < count; i++) {
        observed[i].keep_repeats = true;
        assert_int_equal(LOT_OK, lot_observed_from_run(&observed[i], &runs[i], &error));
    }
    assert_int_equal(LOT_OK, lot_baseline_make(observed, count, &made, &error));
    for (size_t i = 0; i < count; i++)
        lot_observed_free(&observed[i]);
    free(observed);
    return made;
}

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
    static const char early[] = "2026-11-30T23:59:59.999Z", late[] = "2026-12-01T00:00:00.000Z";
    lot_compare_result r;
    lot_run one, two;

    (void)state;
    four(&one, 1);
    four(&two, 2);
    comparing(&one, &two, &r); /* neither tells when it began */
    assert_false(r.backwards);
    lot_compare_result_free(&r);
    start_all(&one, early);
    start_all(&two, late);
    comparing(&one, &two, &r);
    assert_false(r.backwards);
    lot_compare_result_free(&r);
    comparing(&two, &one, &r);
    assert_true(r.backwards);
    lot_compare_result_free(&r);
    comparing(&one, &one, &r);
    assert_false(r.backwards);
    lot_compare_result_free(&r);
    lot_run_free(&one);
    lot_run_free(&two);
}

/* A reader looks for ranks; UUIDs are in no order that means anything. */
static void listed_by_rank(void **state)
{
    lot_compare_result r;
    lot_run one, two;

    (void)state;
    four(&one, 1);
    four(&two, 2);
    for (size_t i = 0; i < 4; i++) {
        char uuid[16];

        (void)snprintf(uuid, sizeof uuid, "GPU-%zu", 9 - i);
        assert_true(lot_field_copy(one.devices[i].device.uuid, sizeof one.devices[i].device.uuid, uuid));
        assert_true(lot_field_copy(two.devices[i].device.uuid, sizeof two.devices[i].device.uuid, uuid));
        two.devices[i].device.ecc_uncorrected_total = 1;
        one.devices[i].device.ecc_uncorrected_total = 0;
    }
    comparing(&one, &two, &r);
    assert_int_equal(4 * 5, r.drift_count);
    for (size_t i = 0; i < r.drift_count; i++)
        assert_int_equal(i / 5, r.drifts[i].rank_after);
    assert_int_equal(4, count_of(&r, LOT_CHANGE_ERRORS));
    for (size_t i = 1; i < r.change_count; i++)
        assert_true(r.changes[i].kind != r.changes[i - 1].kind ||
                    r.changes[i].rank_after > r.changes[i - 1].rank_after);
    lot_compare_result_free(&r);
    lot_run_free(&one);
    lot_run_free(&two);
}

/* Repeats in another schedule are not the same times: nothing was compared. */
static void another_schedule(void **state)
{
    lot_compare_result r;
    lot_run before, after;

    (void)state;
    four(&before, 1);
    four(&after, 2);
    for (size_t i = 0; i < after.phase_count; i++)
        if (strcmp(after.phases[i].phase, "warm_forward") == 0)
            (void)strcpy(after.phases[i].schedule, "solo");
    comparing(&before, &after, &r);
    assert_false(r.good);
    assert_non_null(strstr(change_of(&r, LOT_CHANGE_UNDECIDED)->text, "no counterpart"));
    lot_compare_result_free(&r);
    lot_run_free(&before);
    lot_run_free(&after);
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
    lot_run before, after;
    lot_compare_result r;
    const lot_change *c;

    (void)state;
    four(&before, 1);
    four(&after, 2);
    for (size_t k = 0; k < 9; k++) {
        lot_phase *row = synthetic_run_warm(&after, 1, k);

        row->device_seconds /= 0.94;
        synthetic_run_warm(&after, 2, k)->device_seconds *= 0.9;
        synthetic_run_warm(&after, 3, k)->device_seconds /= 0.98; /* beyond noise, within tolerance */
    }
    comparing(&before, &after, &r);
    assert_false(r.good);
    assert_int_equal(2, r.change_count);
    c = change_of(&r, LOT_CHANGE_SLOWER);
    assert_int_equal(1, c->rank_after);
    assert_string_equal("warm_forward", c->phase);
    assert_int_equal(2, change_of(&r, LOT_CHANGE_FASTER)->rank_after);
    for (size_t i = 0; i < r.drift_count; i++)
        if (r.drifts[i].rank_after == 1 && strcmp(r.drifts[i].phase, "warm_forward") == 0) {
            assert_true(fabs(r.drifts[i].slower.value - 0.06) < 0.01);
            assert_true(r.drifts[i].slower.low < 0.06 && r.drifts[i].slower.high > 0.055);
        }
    lot_compare_result_free(&r);
    lot_run_free(&before);
    lot_run_free(&after);
}

static void missing_and_new(void **state)
{
    lot_run before, after;
    lot_compare_result r;

    (void)state;
    four(&before, 1);
    four(&after, 2);
    assert_true(lot_field_copy(after.devices[2].device.uuid, 48, "GPU-another"));
    comparing(&before, &after, &r);
    assert_false(r.good);
    assert_int_equal(2, r.change_count);
    assert_int_equal(2, change_of(&r, LOT_CHANGE_MISSING)->rank_before);
    assert_string_equal("GPU-another", change_of(&r, LOT_CHANGE_NEW)->uuid);
    lot_compare_result_free(&r);
    lot_run_free(&before);
    lot_run_free(&after);
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
    lot_run before, after;
    lot_compare_result r;

    (void)state;
    synthetic_run_make(&before, 4, 9, 0.02, 1);
    synthetic_run_make(&after, 4, 9, 0.02, 1);
    swap_uuids(&after, 0, 3);
    assert_true(lot_field_copy(after.devices[1].identity.host, 64, "elsewhere"));
    comparing(&before, &after, &r);
    assert_true(r.good);
    assert_int_equal(3, r.change_count);
    assert_int_equal(2, count_of(&r, LOT_CHANGE_SWAPPED));
    assert_int_equal(1, count_of(&r, LOT_CHANGE_MOVED));
    assert_non_null(strstr(change_of(&r, LOT_CHANGE_SWAPPED)->text, "GPU-"));
    lot_compare_result_free(&r);
    lot_run_free(&before);
    lot_run_free(&after);
}

static void results_errors_environment(void **state)
{
    lot_run before, after;
    lot_compare_result r;

    (void)state;
    four(&before, 1);
    four(&after, 2);
    memcpy(after.devices[0].verification.digest, "fedcba9876543210", 17);
    before.devices[1].device.ecc_uncorrected_total = before.devices[2].device.ecc_corrected_total = 5;
    after.devices[1].device.ecc_uncorrected_total = after.devices[2].device.ecc_corrected_total = 6;
    assert_true(lot_field_copy(after.devices[3].environment.kernel, 64, "6.2.0"));
    comparing(&before, &after, &r);
    assert_false(r.good);
    assert_int_equal(4, r.change_count);
    assert_int_equal(0, change_of(&r, LOT_CHANGE_WRONG)->rank_after);
    assert_int_equal(1, change_of(&r, LOT_CHANGE_ERRORS)->rank_after);
    assert_int_equal(2, change_of(&r, LOT_CHANGE_COUNTER)->rank_after);
    assert_string_equal("6.2.0, was 6.1.0", change_of(&r, LOT_CHANGE_ENVIRONMENT)->text);
    lot_compare_result_free(&r);
    /* Another library may round otherwise: its digests are not compared. */
    assert_true(lot_field_copy(after.devices[0].device.library_version, 32, "13.0"));
    comparing(&before, &after, &r);
    assert_int_equal(0, count_of(&r, LOT_CHANGE_WRONG));
    assert_int_equal(2, count_of(&r, LOT_CHANGE_ENVIRONMENT));
    lot_compare_result_free(&r);
    lot_run_free(&before);
    lot_run_free(&after);
}

static void failed_now(void **state)
{
    lot_run before, after;
    lot_compare_result r;

    (void)state;
    four(&before, 1);
    four(&after, 2);
    assert_true(lot_field_copy(after.devices[0].outcome.status, 24, "device-fault"));
    for (size_t k = 0; k < 9; k++)
        synthetic_run_warm(&after, 1, k)->host_seconds = synthetic_run_warm(&after, 1, k)->device_seconds =
            NAN;
    comparing(&before, &after, &r);
    assert_int_equal(2, count_of(&r, LOT_CHANGE_FAILED));
    assert_false(r.good);
    lot_compare_result_free(&r);
    lot_run_free(&before);
    lot_run_free(&after);
}

static void refused(void **state)
{
    lot_error error = {.status = LOT_OK};
    lot_run before, after;
    lot_compare_result r;

    (void)state;
    four(&before, 1);
    four(&after, 2);
    after.header.simulated = 1;
    assert_int_equal(LOT_INPUT, compare_runs(&before, 1, &after, &r, &error));
    assert_non_null(strstr(error.text, "simulator"));
    after.header.simulated = 0;
    for (size_t i = 0; i < 4; i++)
        after.devices[i].synthetic_model.seed = 2;
    assert_int_equal(LOT_INPUT, compare_runs(&before, 1, &after, &r, &error));
    assert_non_null(strstr(error.text, "seed"));
    for (size_t i = 0; i < 4; i++) {
        after.devices[i].synthetic_model.seed = 1;
        after.devices[i].synthetic_model.width = 8;
    }
    assert_int_equal(LOT_INPUT, compare_runs(&before, 1, &after, &r, &error));
    assert_non_null(strstr(error.text, "width"));
    /* Values of another definition: their digests say nothing of each other. */
    for (size_t i = 0; i < 4; i++) {
        after.devices[i].synthetic_model = before.devices[i].synthetic_model;
        before.devices[i].synthetic_model.generator = 1;
        after.devices[i].synthetic_model.generator = 2;
    }
    assert_int_equal(LOT_INPUT, compare_runs(&before, 1, &after, &r, &error));
    assert_non_null(strstr(error.text, "generator 1 and 2"));
    lot_run_free(&before);
    lot_run_free(&after);
}

/* Nobody can be recognised: nothing was compared, which is not good. */
static void no_gpu_to_recognise(void **state)
{
    lot_error error = {.status = LOT_OK};
    lot_run before, after;
    lot_compare_result r;

    (void)state;
    four(&before, 1);
    four(&after, 2);
    for (size_t i = 0; i < 4; i++)
        before.devices[i].device.uuid[0] = '\0';
    assert_int_equal(LOT_INPUT, compare_runs(&before, 1, &after, &r, &error));
    assert_non_null(strstr(error.text, "UUID"));
    /* The other way round every GPU of before is missing. */
    assert_int_equal(LOT_OK, compare_runs(&after, 1, &before, &r, &error));
    assert_false(r.good);
    assert_int_equal(4, count_of(&r, LOT_CHANGE_MISSING));
    lot_compare_result_free(&r);
    lot_run_free(&before);
    lot_run_free(&after);
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
    lot_run before, after;
    lot_compare_result r;

    (void)state;
    four(&before, 1);
    four(&after, 2);
    for (size_t i = 0; i < 4; i++) {
        (void)strcpy(before.devices[i].device.uuid, "HOST-one");
        (void)strcpy(after.devices[i].device.uuid, "HOST-one");
        for (size_t k = 0; k < 9; k++) { /* every rank twice as slow as the one before */
            synthetic_run_warm(&before, i, k)->device_seconds *= (double)(1 << i);
            synthetic_run_warm(&after, i, k)->device_seconds *= (double)(1 << i);
        }
    }
    comparing(&before, &after, &r);
    assert_true(r.good);
    assert_int_equal(4, r.matched);
    assert_int_equal(4, r.matched_by_rank);
    lot_compare_result_free(&r);
    after.devices[1].device.uuid[0] = '\0'; /* lost before it told what it had */
    comparing(&before, &after, &r);
    assert_int_equal(3, r.matched);
    assert_int_equal(1, count_of(&r, LOT_CHANGE_MISSING));
    assert_int_equal(1, change_of(&r, LOT_CHANGE_MISSING)->rank_before);
    assert_int_equal(0, count_of(&r, LOT_CHANGE_SLOWER) + count_of(&r, LOT_CHANGE_FASTER));
    lot_compare_result_free(&r);
    for (size_t i = 2; i < 4; i++) /* one is left: still the one of its number */
        after.devices[i].device.uuid[0] = '\0';
    memmove(after.devices[0].device.uuid, "", 1);
    (void)strcpy(after.devices[3].device.uuid, "HOST-one");
    comparing(&before, &after, &r);
    assert_int_equal(1, r.matched);
    assert_int_equal(1, r.matched_by_rank);
    assert_int_equal(0, count_of(&r, LOT_CHANGE_SLOWER) + count_of(&r, LOT_CHANGE_FASTER));
    lot_compare_result_free(&r);
    lot_run_free(&before);
    lot_run_free(&after);
}

/* ---- baselines ---- */

/* GPUs that vary by 2 % from day to day: one archive does not know that, five do. */
static void day_of(lot_run *run, uint64_t day)
{
    synthetic_random random = {day * 77};

    four(run, day);
    for (size_t i = 0; i < 4; i++)
        synthetic_run_draw_one(run, i, &random, 0.02, 0.02, 0.003);
}

static void a_baseline_knows_the_days(void **state)
{
    const lot_compare_options strict = {.tolerance = 0.01, .level = 0.01};
    lot_baseline one, five, after;
    long false_one = 0, false_five = 0;
    lot_error error;
    lot_run days[5];

    (void)state;
    for (uint64_t i = 0; i < 5; i++)
        day_of(&days[i], i + 1);
    one = baseline_of(days, 1);
    five = baseline_of(days, 5);
    assert_int_equal(5, five.archives);
    assert_int_equal(5, five.devices[0].archives);
    for (uint64_t day = 10; day < 110; day++) {
        lot_compare_result r;
        lot_run now;

        day_of(&now, day);
        after = baseline_of(&now, 1);
        assert_int_equal(LOT_OK, lot_compare(&one, &after, &strict, &r, &error));
        false_one += !r.good;
        lot_compare_result_free(&r);
        assert_int_equal(LOT_OK, lot_compare(&five, &after, &strict, &r, &error));
        false_five += !r.good;
        lot_compare_result_free(&r);
        lot_baseline_free(&after);
        lot_run_free(&now);
    }
    assert_true(false_one > 50);
    assert_true(false_five <= 5);
    lot_baseline_free(&one);
    lot_baseline_free(&five);
    for (size_t i = 0; i < 5; i++)
        lot_run_free(&days[i]);
}

static char *compared_json(const lot_baseline *before, const lot_baseline *after)
{
    lot_compare_result r;
    lot_error error;
    char *json = NULL;

    assert_int_equal(LOT_OK, lot_compare(before, after, &plain, &r, &error));
    assert_int_equal(LOT_OK, lot_compare_json_write(&r, &json, &error));
    lot_compare_result_free(&r);
    return json;
}

/* A baseline that was written and read says the same to the last byte. */
static void written_and_read(void **state)
{
    char folder[] = "/tmp/baseline_test.XXXXXX";
    lot_baseline made, again, after;
    char path[64], *one, *other;
    lot_error error;
    lot_run days[3];

    (void)state;
    for (uint64_t i = 0; i < 3; i++)
        day_of(&days[i], i + 1);
    after = baseline_of(&days[2], 1);
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/base", folder);
    for (size_t archives = 1; archives <= 2;
         archives++) { /* one has its repeats, several the noise between them */
        made = baseline_of(days, archives);
        assert_int_equal(LOT_OK, lot_baseline_write(path, &made, &error));
        assert_int_equal(LOT_OUTPUT, lot_baseline_write(path, &made, &error));
        assert_true(lot_baseline_is_one(path));
        assert_int_equal(LOT_OK, lot_baseline_read(path, &again, &error));
        one = compared_json(&made, &after);
        other = compared_json(&again, &after);
        assert_string_equal(one, other);
        assert_non_null(strstr(one, "\"judged\":true"));
        free(one);
        free(other);
        assert_int_equal(0, unlink(path));
        lot_baseline_free(&made);
        lot_baseline_free(&again);
    }
    assert_int_equal(0, rmdir(folder));
    lot_baseline_free(&after);
    for (size_t i = 0; i < 3; i++)
        lot_run_free(&days[i]);
}

static void broken_baselines(void **state)
{
    static const char head[] = "{\"schema\":\"gpulot.baseline\",\"schema_version\":1,\"archives\":1,"
                               "\"simulated\":0,\"devices\":";
    static const struct {
        const char *rest;
        lot_status status;
    } cases[] = {
        {"0}\n", LOT_OK},
        {"0}", LOT_DAMAGED},                 /* no end of line */
        {"0}\nmore\n", LOT_DAMAGED},         /* one line too many */
        {"1}\n", LOT_DAMAGED},               /* a GPU is missing */
        {"99999999}\n", LOT_DAMAGED},        /* more than the file can hold */
        {"-1}\n", LOT_DAMAGED},              /* not a count */
        {"1}\n{}\n{}\n", LOT_SCHEMA},        /* not a record */
        {"0,\"archives\":0}\n", LOT_SCHEMA}, /* a name twice */
    };
    lot_baseline b;
    lot_error error;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        const int size = snprintf(text, sizeof text, "%s%s", head, cases[i].rest);

        if (cases[i].status != lot_baseline_parse("x", text, (size_t)size, &b, &error))
            fail_msg("case %zu: %s", i, error.text);
        if (cases[i].status == LOT_OK)
            lot_baseline_free(&b);
    }
    assert_int_equal(LOT_SCHEMA, lot_baseline_parse("x", "{}\n", 3, &b, &error));
    assert_int_equal(LOT_SCHEMA, lot_baseline_parse("x", "nothing\n", 8, &b, &error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same),
        cmocka_unit_test(in_the_wrong_order),
        cmocka_unit_test(listed_by_rank),
        cmocka_unit_test(another_schedule),
        cmocka_unit_test(another_day),
        cmocka_unit_test(slower_and_faster),
        cmocka_unit_test(missing_and_new),
        cmocka_unit_test(moved_and_swapped),
        cmocka_unit_test(results_errors_environment),
        cmocka_unit_test(failed_now),
        cmocka_unit_test(refused),
        cmocka_unit_test(no_gpu_to_recognise),
        cmocka_unit_test(statement_and_interval_agree),
        cmocka_unit_test(too_few_repeats),
        cmocka_unit_test(ranks_of_one_uuid),
        cmocka_unit_test(a_baseline_knows_the_days),
        cmocka_unit_test(written_and_read),
        cmocka_unit_test(broken_baselines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
