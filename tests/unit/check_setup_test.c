/* What must be equal and is not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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

/* The rank of GPU 2 runs at the other node, that of GPU 3 takes its memory there; the others are near theirs,
 * at either node. */
static void far_from_its_gpu(void **state)
{
    const lot_finding *f;
    lot_check_result r;
    lot_run run;

    (void)state;
    four(&run);
    for (size_t i = 0; i < 4; i++) {
        lot_environment *e = &run.devices[i].environment;

        run.devices[i].device.numa_node = (int64_t)i % 2;
        (void)snprintf(e->cpu_numa_nodes, sizeof e->cpu_numa_nodes, "%zu", i == 2 ? 1 : i % 2);
        (void)snprintf(e->memory_numa_nodes, sizeof e->memory_numa_nodes, "%s", i == 3 ? "0" : "0-1");
        e->device_cpu_distance = i == 2 ? 21 : 10;
        e->device_memory_distance = i == 3 ? 21 : 10;
    }
    check_with(&run, &plain, &r);
    assert_int_equal(OK, verdict_of(&r, 0) | verdict_of(&r, 1));
    assert_int_equal(BIT(MISCONFIGURED), verdict_of(&r, 2));
    assert_int_equal(BIT(MISCONFIGURED), verdict_of(&r, 3));
    f = finding_of(&r, 2, LOT_VERDICT_MISCONFIGURED);
    assert_string_equal("its CPUs are at NUMA node 1, the GPU at node 0, distance 21 (10 is the same node)",
                        f->text);
    assert_true(f->number == 21 && f->threshold == 10);
    assert_int_equal(LOT_EVIDENCE_RECORD, f->evidence);
    assert_string_equal("device_cpu_distance is 21; 3 of 4 have 10", f[1].text);
    assert_string_equal("device_memory_distance is 21; 3 of 4 have 10",
                        finding_of(&r, 3, LOT_VERDICT_MISCONFIGURED)->text);
    lot_check_result_free(&r);
    lot_run_free(&run);
}

/* All ranks on all CPUs: nobody is far, and nobody differs. One of them bound to its node: it differs. */
static void unbound_is_no_fault(void **state)
{
    lot_run run;

    (void)state;
    for (int bound = 0; bound <= 1; bound++) {
        four(&run);
        for (size_t i = 0; i < 4; i++) {
            lot_environment *e = &run.devices[i].environment;

            run.devices[i].device.numa_node = (int64_t)i / 2;
            (void)strcpy(e->cpu_numa_nodes, "0-1");
            e->device_cpu_distance = 21;
        }
        if (bound) {
            (void)strcpy(run.devices[3].environment.cpu_numa_nodes, "1");
            run.devices[3].environment.device_cpu_distance = 10;
        }
        EXPECT(&run, OK, OK, OK, bound ? BIT(MISCONFIGURED) : OK);
    }
}

/* A host device is where its CPUs are, and older records tell nothing. */
static void nothing_to_say_of_nodes(void **state)
{
    lot_run run;

    (void)state;
    four(&run);
    for (size_t i = 0; i < 4; i++) {
        assert_true(lot_field_copy(run.devices[i].device.kind, 8, "host"));
        run.devices[i].device.numa_node = 0;
        (void)strcpy(run.devices[i].environment.cpu_numa_nodes, "1");
    }
    EXPECT(&run, OK, OK, OK, OK);
    four(&run);
    run.devices[1].device.numa_node = 1;
    run.devices[2].environment.device_cpu_distance = 10;
    EXPECT(&run, OK, OK, OK, OK);
}

/* A link that is fast while weights are loaded and slow when passes run is what passes run over. */
static void pcie_of_the_passes_alone(void **state)
{
    lot_run run;

    (void)state;
    four(&run);
    for (size_t gpu = 0; gpu < 4; gpu++) {
        size_t count;
        lot_phase *rows = synthetic_run_rows(&run, gpu, &count);

        for (size_t k = 0; k < count; k++)
            rows[k].telemetry.pcie_generation =
                gpu == 2 && strcmp(rows[k].phase, "model_load") != 0 && strcmp(rows[k].phase, "inputs") != 0
                    ? 3
                    : 5;
    }
    EXPECT(&run, OK, OK, BIT(MISCONFIGURED), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_driver),      cmocka_unit_test(no_majority),
        cmocka_unit_test(pcie_under_load),     cmocka_unit_test(pcie_of_the_passes_alone),
        cmocka_unit_test(power_limit),         cmocka_unit_test(far_from_its_gpu),
        cmocka_unit_test(unbound_is_no_fault), cmocka_unit_test(nothing_to_say_of_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
