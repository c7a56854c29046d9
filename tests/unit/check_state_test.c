/* What the record says of itself: failed, lost, not measured, counters of faults. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/checking.h"

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

static void failed_and_lost(void **state)
{
    lot_run run;

    (void)state;
    four(&run);
    set_status(&run, 1, LOT_DEVICE_FAULT);
    set_status(&run, 2, LOT_LOST);
    EXPECT(&run, OK, BIT(FAILED), BIT(LOST), OK);
}

/* Whether a finding of that measure says so. */
static bool says(const lot_check_result *r, const char *measure, const char *text)
{
    for (size_t i = 0; i < r->finding_count; i++)
        if (strcmp(r->findings[i].measure, measure) == 0 && strstr(r->findings[i].text, text) != NULL)
            return true;
    return false;
}

/* What ended the test without a fault of the GPU does not accuse it, nor is it paid for as lost. */
static void ended_from_outside(void **state)
{
    static const lot_status causes[] = {LOT_INTERRUPTED, LOT_IO, LOT_OUTPUT, LOT_MEMORY};

    (void)state;
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++) {
        lot_run run;

        four(&run);
        set_status(&run, 1, causes[i]);
        EXPECT(&run, OK, BIT(NOT_MEASURED), OK, OK);
    }
}

/* An archive of a later version may know more of them. */
static void an_outcome_of_another_version(void **state)
{
    lot_check_result r;
    lot_run run;

    (void)state;
    four(&run);
    (void)strcpy(run.devices[1].outcome.status, "elsewhere");
    check_with(&run, &plain, &r);
    assert_true(says(&r, "status", "elsewhere: an outcome that this version does not know"));
    lot_check_result_free(&r);
    lot_run_free(&run);
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

/* "No output was digested" only where no row carries a digest either. */
static void undigested_only_where_true(void **state)
{
    lot_check_result r;
    lot_run run;

    (void)state;
    four(&run);
    set_status(&run, 1, LOT_LOST);
    run.devices[1].verification.digest[0] = '\0';
    check_with(&run, &plain, &r);
    assert_true(says(&r, "digest", "outputs were digested"));
    assert_false(says(&r, "digest", "no output was digested"));
    lot_check_result_free(&r);
    for (size_t i = run.first_phase[1]; i < run.first_phase[2]; i++) {
        run.phases[i].digest[0] = '\0';
        run.phases[i].digests_differing = LOT_NULL_I64;
    }
    check_with(&run, &plain, &r);
    assert_true(says(&r, "digest", "no output was digested"));
    lot_check_result_free(&r);
    lot_run_free(&run);
}

static void zero_repeats(void **state)
{
    lot_run run;

    (void)state;
    synthetic_run_make(&run, 2, 0, 0.02, 1);
    EXPECT(&run, BIT(NOT_MEASURED), BIT(NOT_MEASURED));
}

/* Nor is a rank measured whose repeats have no usable time, also where nobody knows how many were asked for.
 */
static void repeats_without_a_time(void **state)
{
    lot_run run;

    (void)state;
    four(&run);
    run.devices[1].synthetic_model.repeats = LOT_NULL_I64;
    for (size_t k = 0; k < 5; k++)
        synthetic_run_warm(&run, 1, k)->device_seconds = synthetic_run_warm(&run, 1, k)->host_seconds = NAN;
    EXPECT(&run, OK, BIT(NOT_MEASURED), OK, OK);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_of_its_own),
        cmocka_unit_test(failed_and_lost),
        cmocka_unit_test(not_measured),
        cmocka_unit_test(ended_from_outside),
        cmocka_unit_test(an_outcome_of_another_version),
        cmocka_unit_test(undigested_only_where_true),
        cmocka_unit_test(zero_repeats),
        cmocka_unit_test(repeats_without_a_time),
        cmocka_unit_test(nothing_known),
        cmocka_unit_test(ranks_without_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
