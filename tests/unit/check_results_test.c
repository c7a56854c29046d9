/* Wrong results: by a GPU itself, by the reference, by its peers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/checking.h"

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
    assert_true(isnan(r.groups[0].corruption_bound) && r.groups[0].corrupt);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

/* The soak knows how much of an output was wrong: element 1030 of rows of `width` elements. */
static void a_bit_or_a_tile(void **state)
{
    const lot_finding *f;
    lot_check_result r;
    lot_run run;

    (void)state;
    four(&run);
    for (size_t i = 0; i < 4; i++) {
        lot_phase *rows = synthetic_run_append(&run, i, "soak", "together", 40);

        run.devices[i].synthetic_model.width = 256;
        if (i == 1) {
            memcpy(rows[3].digest, OTHER, 17);
            rows[3].digests_differing = 1;
            rows[3].elements_differing = 1;
            rows[3].first_element_differing = 1030;
        }
    }
    check_with(&run, &plain, &r);
    f = finding_of(&r, 1, LOT_VERDICT_CORRUPT);
    assert_string_equal("soak", f->phase);
    assert_non_null(strstr(f->text, "; in one of them 1 other element, first in row 4, column 6"));
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

/* The distance of an output that is no number cannot be told as one. */
static void reference_missed_by_no_number(void **state)
{
    static const double ratios[] = {NAN, INFINITY};
    lot_check_result r;
    lot_run run;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        four(&run);
        run.devices[1].verification.reference_passed = 0;
        run.devices[1].verification.reference_rows = 2;
        run.devices[1].verification.reference_max_bound_ratio = ratios[i];
        check_with(&run, &plain, &r);
        assert_string_equal("the float64 reference of 2 sampled rows is missed by more than can be told",
                            finding_of(&r, 1, LOT_VERDICT_CORRUPT)->text);
        lot_check_result_free(&r);
        lot_run_free(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_bit_in_one_pass), cmocka_unit_test(a_bit_or_a_tile),
        cmocka_unit_test(one_bit_in_one_pass), cmocka_unit_test(wrong_weight_among_four),
        cmocka_unit_test(two_disagree),        cmocka_unit_test(reference_decides),
        cmocka_unit_test(not_a_number),        cmocka_unit_test(reference_missed_by_no_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
