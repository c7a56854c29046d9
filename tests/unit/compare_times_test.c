/* Check-in against check-out: times, what noise may explain of them, and what is not judged. */
#include <math.h>
#include <string.h>

#include "core/shift.h"
#include "support/comparing.h"

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

/* An archive of a later version may hold phases that this one does not know: all of them are named. */
static void many_unpaired(void **state)
{
    scene *s = *state;
    char phase[16];

    for (int i = 0; i < 50; i++) {
        (void)snprintf(phase, sizeof phase, "phase %d", i);
        synthetic_run_append(&s->after, 0, phase, "together", 1);
    }
    compare_days(s);
    assert_int_equal(50, s->result.unpaired_count);
    assert_string_equal("phase 49", s->result.unpaired[49].phase);
    assert_int_equal(1, s->result.unpaired[49].devices);
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

static const lot_drift *warm_drift_of(const lot_compare_result *r, int64_t rank)
{
    for (size_t i = 0; i < r->drift_count; i++)
        if (r->drifts[i].rank_after == rank && strcmp(r->drifts[i].phase, "warm_forward") == 0)
            return &r->drifts[i];
    fail_msg("rank %lld has no such drift", (long long)rank);
    return NULL;
}

/* Repeats from half to twice the time: judged, but a large loss can hide in them, and so the GPU is not good.
 */
static void varies_too_much(void **state)
{
    scene *s = *state;

    for (size_t k = 0; k < 9; k++)
        synthetic_run_warm(&s->after, 1, k)->device_seconds = 0.02 * exp2(((double)(k * 4 % 9) - 4) / 4);
    compare_days(s);
    assert_true(warm_drift_of(&s->result, 1)->judged && warm_drift_of(&s->result, 1)->blind);
    assert_int_equal(1, count_of(&s->result, LOT_CHANGE_UNDECIDED));
    assert_int_equal(1, change_of(&s->result, LOT_CHANGE_UNDECIDED)->rank_after);
    assert_non_null(strstr(change_of(&s->result, LOT_CHANGE_UNDECIDED)->text, "a loss of 25 % can hide"));
    assert_false(s->result.good);
}

/* What an interval covers depends on the repeats of that very GPU, whatever the one before it had. */
static void fewer_repeats_of_one(void **state)
{
    scene *s = *state;

    for (size_t k = 5; k < 9; k++)
        synthetic_run_warm(&s->after, 1, k)->device_seconds =
            synthetic_run_warm(&s->after, 1, k)->host_seconds = NAN;
    compare_days(s);
    for (int64_t rank = 0; rank < 4; rank++)
        assert_true(warm_drift_of(&s->result, rank)->coverage ==
                    lot_shift_rank_for(9, rank == 1 ? 5 : 9, s->result.interval_level).coverage);
    assert_true(warm_drift_of(&s->result, 1)->coverage != warm_drift_of(&s->result, 0)->coverage);
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same),
        TEST(listed_by_rank),
        TEST(another_schedule),
        TEST(many_unpaired),
        cmocka_unit_test(another_day),
        TEST(slower_and_faster),
        TEST(varies_too_much),
        TEST(fewer_repeats_of_one),
        cmocka_unit_test(statement_and_interval_agree),
        cmocka_unit_test(too_few_repeats),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
