/* Check-in against check-out: who is there, what changed, and what is refused. */
#include <math.h>
#include <string.h>

#include "support/comparing.h"

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

/* Three GPUs went round: each is where another one was, and no two have changed places. */
static void moved_in_a_circle(void **state)
{
    scene *s = *state;

    lot_run_free(&s->after);
    four(&s->after, 1);
    swap_uuids(&s->after, 0, 1);
    swap_uuids(&s->after, 1, 2);
    compare_days(s);
    assert_int_equal(3, count_of(&s->result, LOT_CHANGE_MOVED));
    assert_int_equal(0, count_of(&s->result, LOT_CHANGE_SWAPPED));
}

/* A counter that fell, as after a reset, tells of no new error. */
static void a_counter_that_fell(void **state)
{
    scene *s = *state;

    s->before.devices[1].device.ecc_uncorrected_total = 6;
    s->after.devices[1].device.ecc_uncorrected_total = 5;
    compare_days(s);
    assert_int_equal(0, count_of(&s->result, LOT_CHANGE_ERRORS));
    assert_string_equal("ecc_uncorrected_total", change_of(&s->result, LOT_CHANGE_COUNTER)->measure);
    assert_true(s->result.good);
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

/* A baseline whose archives disagree about an output cannot vouch for the one of now, equal to the last or
 * not. */
static void archives_that_disagreed(void **state)
{
    lot_run before[2], after;
    lot_compare_result r;
    lot_error error;

    (void)state;
    four(&before[0], 1);
    four(&before[1], 2);
    four(&after, 3);
    memcpy(before[0].devices[2].verification.digest, "fedcba9876543210", 17);
    assert_int_equal(LOT_OK, compare_runs(before, 2, &after, &r, &error));
    assert_int_equal(1, count_of(&r, LOT_CHANGE_WRONG));
    assert_int_equal(2, change_of(&r, LOT_CHANGE_WRONG)->rank_after);
    assert_non_null(
        strstr(change_of(&r, LOT_CHANGE_WRONG)->text, "already differed among the earlier archives"));
    lot_compare_result_free(&r);
    for (size_t i = 0; i < 2; i++)
        lot_run_free(&before[i]);
    lot_run_free(&after);
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
    const struct CMUnitTest tests[] = {
        TEST(in_the_wrong_order),
        TEST(missing_and_new),
        TEST(moved_and_swapped),
        TEST(moved_in_a_circle),
        TEST(a_counter_that_fell),
        TEST(results_errors_environment),
        cmocka_unit_test(archives_that_disagreed),
        TEST(failed_now),
        TEST(refused),
        TEST(no_gpu_to_recognise),
        TEST(ranks_of_one_uuid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
