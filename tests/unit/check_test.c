/* The whole answer: nothing called a fault that is none, groups, cost, and that neither scale nor order
 * matter. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/check_json.h"
#include "support/checking.h"

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

/* Three passes without a mismatch bound the share of wrong ones at 3 / 3: that is none. */
static void few_passes(void **state)
{
    lot_check_result r;
    lot_run run;

    (void)state;
    for (int64_t passes = 3; passes <= 4; passes++) {
        synthetic_run_make(&run, 1, 5, 0.02, 1);
        run.devices[0].verification.passes = passes;
        check_with(&run, &plain, &r);
        assert_int_equal(passes, r.groups[0].verified_passes);
        assert_true(passes == 3 ? isnan(r.groups[0].corruption_bound)
                                : r.groups[0].corruption_bound == 3.0 / 4);
        assert_false(r.groups[0].corrupt);
        lot_check_result_free(&r);
        lot_run_free(&run);
    }
}

/* Two GPUs that tell more passes than fit into a sum: the bound is that of the largest, not of a wrapped one.
 */
static void too_many_passes(void **state)
{
    lot_check_result r;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 2, 5, 0.02, 1);
    run.devices[0].verification.passes = run.devices[1].verification.passes = INT64_MAX;
    check_with(&run, &plain, &r);
    assert_true(r.groups[0].verified_passes == INT64_MAX);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

static void alone(void **state)
{
    lot_check_result r;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 1, 5, 0.02, 1);
    check_with(&run, &plain, &r);
    assert_int_equal(BIT(UNDECIDED), verdict_of(&r, 0));
    assert_int_equal(LOT_HEARD_GOOD, r.devices[0].heard[LOT_EVIDENCE_REPEAT]);
    assert_true(isnan(r.comparisons[0].typical_threshold) && isnan(r.devices[0].slower.value));
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

/* Two GPUs that no line of the answer tells apart, and why they are not compared. */
static void another_power_limit(void **state)
{
    lot_check_result r;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 2, 5, 0.02, 1);
    run.devices[0].device.power_limit_watts = 700;
    run.devices[1].device.power_limit_watts = 650;
    check_with(&run, &plain, &r);
    assert_int_equal(2, r.group_count);
    assert_string_equal("", r.groups[0].difference);
    assert_string_equal("power_limit_watts 650 and 700", r.groups[1].difference);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

/* A name within another's is another dtype; the same one twice is listed once. */
static void precisions(void **state)
{
    static const char *const dtypes[] = {"bfloat16", "float16", "float32", "float32", "bfloat16"};
    lot_check_result r;
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 5, 5, 0.02, 1);
    for (size_t i = 0; i < 5; i++) {
        lot_model *m = &run.devices[i].synthetic_model;

        assert_true(lot_field_copy(m->dtype, sizeof m->dtype, dtypes[i]));
        assert_true(lot_field_copy(m->math, sizeof m->math, i == 3 ? "tf32" : "ieee"));
    }
    check_with(&run, &plain, &r);
    assert_string_equal("bfloat16, float16, float32, float32 (tf32)", r.precisions);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

static void more_ranks_than_mpi_has(void **state)
{
    lot_observed_run observed;
    lot_error error;
    lot_check_result r;
    lot_run run;

    (void)state;
    four(&run);
    run.header.ranks = INT64_MAX;
    lot_observed_init(&observed);
    synthetic_run_observe(&run, &observed);
    assert_int_equal(LOT_INPUT, lot_check(&observed, 1, &plain, &r, &error));
    assert_non_null(strstr(error.text, "9223372036854775807"));
    lot_observed_free(&observed);
    lot_run_free(&run);
}

static void cost(void **state)
{
    const lot_check_price price = {.total_cents = 123456789, .gpus = 4, .days = 7};
    lot_check_options options = plain;
    lot_check_result r;
    lot_run run;

    (void)state;
    four(&run);
    set_status(&run, 0, LOT_LOST);
    options.prices = &price;
    check_with(&run, &options, &r);
    assert_true(r.cost.known);
    assert_int_equal(12000, r.cost.check_milliseconds);
    assert_int_equal(13717421, r.cost.check_numerator); /* 123456789 x 12000 / (7 x 86400000) by hand */
    assert_int_equal(5600, r.cost.check_denominator);
    assert_int_equal(1000000, r.cost.lost_millionths);
    assert_true(r.cost.lost_gpu_hour_millionths == INT64_C(168000000));
    assert_true(r.cost.lost_numerator == 123456789 && r.cost.lost_denominator == 4);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

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

/* GPUs are listed by rank, whatever their UUIDs are. */
static void listed_by_rank(void **state)
{
    const size_t order[9] = {8, 3, 5, 1, 0, 7, 2, 6, 4};
    lot_check_result r;
    lot_run run;
    size_t last = 0;

    (void)state;
    eventful(&run, 4);
    synthetic_run_permute(&run, order, 0);
    check_with(&run, &plain, &r);
    assert_true(r.finding_count > 0);
    for (size_t i = 0; i < r.device_count; i++)
        assert_int_equal((int64_t)i, r.devices[i].rank);
    for (size_t i = 0; i < r.finding_count; i++) {
        assert_true(r.findings[i].device >= last);
        last = r.findings[i].device;
        assert_true(last == LOT_NO_DEVICE_INDEX || r.findings[i].verdict == LOT_VERDICT_INFORMATION ||
                    (r.devices[last].verdicts & LOT_VERDICT_BIT(r.findings[i].verdict)) != 0);
    }
    lot_check_result_free(&r);
    lot_run_free(&run);
}

static size_t by_uuid(const lot_check_result *r, const char *uuid)
{
    size_t at = 0;

    while (at < r->device_count && strcmp(r->devices[at].uuid, uuid) != 0)
        at++;
    assert_true(at < r->device_count);
    return at;
}

/* The findings about device `a` of one answer are those about device `b` of the other. */
static void assert_same_findings(const lot_check_result *one, size_t a, const lot_check_result *other,
                                 size_t b)
{
    size_t next = 0;

    for (size_t i = 0; i < one->finding_count; i++) {
        lot_finding found;

        if (one->findings[i].device != a)
            continue;
        while (next < other->finding_count && other->findings[next].device != b)
            next++;
        assert_true(next < other->finding_count);
        found = other->findings[next++];
        found.device = a;
        assert_memory_equal(&one->findings[i], &found, sizeof found);
    }
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
        const size_t same = by_uuid(&other, one.devices[i].uuid);

        one.devices[i].rank = other.devices[same].rank;
        assert_memory_equal(&one.devices[i], &other.devices[same], sizeof one.devices[i]);
        assert_same_findings(&one, i, &other, same);
    }
    lot_check_result_free(&one);
    lot_check_result_free(&other);
    lot_run_free(&run);
}

/* A recovered run tells no time of its own: it took at least what its longest rank did. */
static void elapsed_of_a_recovered_run(void **state)
{
    lot_check_result r;
    lot_run run;

    (void)state;
    four(&run);
    run.header.elapsed_seconds = NAN;
    for (size_t i = 0; i < 4; i++)
        run.devices[i].outcome.elapsed_seconds = i == 1 ? 42 : i == 2 ? NAN : 30;
    check_with(&run, &plain, &r);
    assert_true(r.elapsed_seconds == 42);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(healthy),
        cmocka_unit_test(few_passes),
        cmocka_unit_test(too_many_passes),
        cmocka_unit_test(alone),
        cmocka_unit_test(mixed_rental),
        cmocka_unit_test(another_power_limit),
        cmocka_unit_test(cost),
        cmocka_unit_test(elapsed_of_a_recovered_run),
        cmocka_unit_test(precisions),
        cmocka_unit_test(more_ranks_than_mpi_has),
        cmocka_unit_test(scaling_changes_no_verdict),
        cmocka_unit_test(permuting_ranks_changes_no_byte),
        cmocka_unit_test(listed_by_rank),
        cmocka_unit_test(renumbering_changes_only_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
