/* An earlier archive and expected rates. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/checking.h"

/* An earlier run of so many GPUs that say `digest`. */
static void make_before(lot_run *before, size_t gpus, const char *digest)
{
    synthetic_run_make(before, gpus, 5, 0.02, 1);
    assert_true(lot_field_copy(before->header.run_id, sizeof before->header.run_id, "earlier"));
    for (size_t i = 0; i < gpus; i++)
        set_digest(before, i, digest);
}

/* Wants these verdicts of the run's ranks against the earlier run; frees both. */
static void against_run(lot_run *run, lot_run *before, const unsigned *verdicts)
{
    lot_check_options options = plain;
    lot_observed_run earlier;
    lot_check_result r;

    lot_observed_init(&earlier);
    synthetic_run_observe(before, &earlier);
    options.against = &earlier;
    check_with(run, &options, &r);
    for (size_t i = 0; i < run->device_count; i++)
        assert_int_equal(verdicts[i], verdict_of(&r, (int64_t)i));
    lot_check_result_free(&r);
    lot_observed_free(&earlier);
    lot_run_free(before);
    lot_run_free(run);
}

static void against(lot_run *run, size_t earlier_gpus, const char *digest, const unsigned *verdicts)
{
    lot_run before;

    make_before(&before, earlier_gpus, digest);
    against_run(run, &before, verdicts);
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

/* Earlier GPUs that failed their verification, or that disagree among themselves, have no voice. */
static void earlier_gpus_without_a_voice(void **state)
{
    lot_run run, before;

    (void)state;
    synthetic_run_make(&run, 1, 5, 0.02, 1);
    make_before(&before, 2, OTHER);
    before.devices[0].verification.passed = before.devices[1].verification.passed = 0;
    against_run(&run, &before, (const unsigned[]){OK});
    synthetic_run_make(&run, 1, 5, 0.02, 1);
    make_before(&before, 3, OTHER);
    set_digest(&before, 1, THIRD);
    against_run(&run, &before, (const unsigned[]){OK});
}

/* The one earlier GPU is 10 % faster by the luck of its own noise, which is as large. */
static void earlier_gpu_with_noise(void **state)
{
    static const double times[] = {0.0205, 0.0164, 0.0218, 0.0180, 0.0175};
    lot_run run, before;

    (void)state;
    synthetic_run_make(&run, 1, 5, 0.02, 1);
    make_before(&before, 1, "0123456789abcdef");
    for (size_t k = 0; k < 5; k++)
        synthetic_run_warm(&before, 0, k)->device_seconds = times[k];
    against_run(&run, &before, (const unsigned[]){OK});
    synthetic_run_make(&run, 1, 5, 0.02, 1); /* a quiet one as fast */
    make_before(&before, 1, "0123456789abcdef");
    synthetic_run_slow(&before, 0, 1 - 0.02 / 0.0180);
    against_run(&run, &before, (const unsigned[]){BIT(SLOW)});
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
    const lot_check_price price = {.total_cents = 1000, .gpus = 1, .days = 3};
    lot_check_options options = plain;
    lot_check_result r;
    lot_run run;

    (void)state;
    options.expectations = &list;
    options.prices = &price;
    synthetic_run_make(&run, 1, 5, 0.02, 1);
    rate.flops_per_second = (double)run.devices[0].synthetic_model.flops_per_forward / 0.0195;
    check_with(&run, &options, &r); /* 2.5 % below, 5 % allowed */
    assert_int_equal(OK, verdict_of(&r, 0));
    lot_check_result_free(&r);
    rate.flops_per_second *= 1.05;
    check_with(&run, &options, &r);
    assert_int_equal(BIT(SLOW), verdict_of(&r, 0));
    assert_int_equal(LOT_EVIDENCE_EXPECTATION, finding_of(&r, 0, LOT_VERDICT_SLOW)->evidence);
    assert_int_equal(71429, r.cost.lost_millionths); /* 1 - 0.0195 / 0.02 / 1.05: it has no peer */
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
    synthetic_run_observe(&run, &one);
    synthetic_run_observe(&run, &other);
    other.header.simulated = 1;
    options.against = &other;
    assert_int_equal(LOT_INPUT, lot_check(&one, 1, &options, &r, &error));
    assert_non_null(strstr(error.text, "simulator"));
    other.header.simulated = 0; /* a run is no witness for itself */
    assert_int_equal(LOT_INPUT, lot_check(&one, 1, &options, &r, &error));
    assert_non_null(strstr(error.text, "not an earlier one"));
    lot_observed_free(&one);
    lot_observed_free(&other);
    lot_run_free(&run);
}

/* Another definition of the values gives other digests and wrongs nobody; each GPU is told that the earlier
 * archive said nothing, and why. */
static void another_generator(void **state)
{
    lot_check_options options = plain;
    lot_observed_run earlier;
    lot_check_result r;
    lot_run run, before;

    (void)state;
    four(&run);
    make_before(&before, 4, OTHER);
    for (size_t i = 0; i < 4; i++) {
        run.devices[i].synthetic_model.generator = 2;
        before.devices[i].synthetic_model.generator = 1;
    }
    lot_observed_init(&earlier);
    synthetic_run_observe(&before, &earlier);
    options.against = &earlier;
    check_with(&run, &options, &r);
    for (int64_t i = 0; i < 4; i++) {
        assert_int_equal(OK, verdict_of(&r, i));
        assert_string_equal("no GPU of the earlier archive is equal: generator 2 and 1",
                            finding_of(&r, i, LOT_VERDICT_INFORMATION)->text);
    }
    assert_non_null(strstr(r.groups[0].configuration, ", generator 2"));
    lot_check_result_free(&r);
    lot_observed_free(&earlier);
    lot_run_free(&before);
    lot_run_free(&run);
}

/* Of the earlier GPUs around the place of an equal one, the one that is more alike is told. */
static void the_most_alike_is_told(void **state)
{
    static const struct {
        const char *names[2];
        int64_t generators[2];
        const char *said;
    } cases[] = {
        {{"AMD", "NVIDIA H200"}, {5, 7}, "no GPU of the earlier archive is equal: generator 5 and 7"},
        {{"NVIDIA H200", "Other"}, {3, 5}, "no GPU of the earlier archive is equal: generator 5 and 3"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lot_check_options options = plain;
        lot_observed_run earlier;
        lot_check_result r;
        lot_run run, before;

        synthetic_run_make(&run, 1, 5, 0.02, 1);
        run.devices[0].synthetic_model.generator = 5;
        make_before(&before, 2, OTHER);
        for (size_t k = 0; k < 2; k++) {
            lot_record_head *head = &before.devices[k];

            head->synthetic_model.generator = cases[i].generators[k];
            assert_true(lot_field_copy(head->device.name, sizeof head->device.name, cases[i].names[k]));
        }
        lot_observed_init(&earlier);
        synthetic_run_observe(&before, &earlier);
        options.against = &earlier;
        check_with(&run, &options, &r);
        assert_string_equal(cases[i].said, finding_of(&r, 0, LOT_VERDICT_INFORMATION)->text);
        lot_check_result_free(&r);
        lot_observed_free(&earlier);
        lot_run_free(&before);
        lot_run_free(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_generator),      cmocka_unit_test(the_most_alike_is_told),
        cmocka_unit_test(golden_digest),          cmocka_unit_test(earlier_gpus_without_a_voice),
        cmocka_unit_test(earlier_gpu_with_noise), cmocka_unit_test(expectations),
        cmocka_unit_test(simulator_against_real),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
