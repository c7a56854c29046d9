/* What must be equal and is not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/checking.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_driver),
        cmocka_unit_test(no_majority),
        cmocka_unit_test(pcie_under_load),
        cmocka_unit_test(power_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
