/* NUMA nodes and distances from recorded files of machines that this one is not; and lists of ranges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/ranges.h"
#include "measure/numa.h"
#include "support/recorded.h"

static char status_path[128];
static lot_numa_files files;

static int set_up(void **state)
{
    const int failed = make_folder(state);

    (void)snprintf(status_path, sizeof status_path, "%s/status", folder);
    files = (lot_numa_files){folder, status_path};
    return failed;
}

/* Two sockets as `numactl --hardware` prints them: hyperthreads of a socket are two ranges. */
static void two_sockets(void)
{
    record("online", "0-1\n");
    record("node0/cpulist", "0-7,16-23\n");
    record("node1/cpulist", "8-15,24-31\n");
    record("node0/distance", "10 21\n");
    record("node1/distance", "21 10\n");
    record("status", "Name:\tx\nMems_allowed:\t3\nMems_allowed_list:\t0-1\n");
}

static void test_near_far_and_both(void **state)
{
    static const struct {
        const char *cpus;
        int64_t node;
        const char *nodes;
        int64_t distance;
    } cases[] = {{"0-3", 0, "0", 10},
                 {"0-3", 1, "0", 21},
                 {"20", 0, "0", 10},
                 {"4-9", 0, "0-1", 21},
                 {"31", 1, "1", 10}};
    lot_absent absent[LOT_NUMA_ABSENT_MAX];

    (void)state;
    two_sockets();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lot_environment e;

        memset(&e, 0, sizeof e);
        assert_int_equal(0, lot_numa_read(&files, cases[i].cpus, cases[i].node, &e, absent));
        assert_string_equal(cases[i].nodes, e.cpu_numa_nodes);
        assert_string_equal("0-1", e.memory_numa_nodes);
        assert_int_equal(cases[i].distance, e.device_cpu_distance);
        assert_int_equal(10, e.device_memory_distance);
    }
}

/* Memory of the far node alone, as a cgroup may say. */
static void test_memory(void **state)
{
    lot_absent absent[LOT_NUMA_ABSENT_MAX];
    lot_environment e;

    (void)state;
    two_sockets();
    record("status", "Mems_allowed_list:\t1\n");
    assert_int_equal(0, lot_numa_read(&files, "0", 0, &e, absent));
    assert_string_equal("1", e.memory_numa_nodes);
    assert_int_equal(10, e.device_cpu_distance);
    assert_int_equal(21, e.device_memory_distance);
}

/* Distances stand in the order of the nodes that are online, not by their numbers. */
static void test_sparse_nodes(void **state)
{
    lot_absent absent[LOT_NUMA_ABSENT_MAX];
    lot_environment e;

    (void)state;
    record("online", "0,8,252-253\n");
    record("node0/cpulist", "0-63\n");
    record("node8/cpulist", "64-127\n");
    record("node252/cpulist", "\n");
    record("node253/cpulist", "\n");
    record("node0/distance", "10 40 80 81\n");
    record("node8/distance", "40 10 82 83\n");
    record("status", "Mems_allowed_list:\t0,8,252-253\n");
    assert_int_equal(0,
                     lot_numa_read(&files, "64-67", 253, &e, absent) - 1); /* node 252 tells no distances */
    assert_string_equal("environment.device_memory_distance", absent[0].field);
    assert_string_equal("8", e.cpu_numa_nodes);
    assert_string_equal("0,8,252-253", e.memory_numa_nodes);
    assert_int_equal(83, e.device_cpu_distance);
}

static void test_what_is_not_known(void **state)
{
    lot_absent absent[LOT_NUMA_ABSENT_MAX];
    lot_environment e;

    (void)state;
    two_sockets();
    assert_int_equal(2, lot_numa_read(&files, "0", -1, &e, absent));
    assert_string_equal("environment.device_cpu_distance", absent[0].field);
    assert_non_null(strstr(absent[0].reason, "node of the device"));
    assert_string_equal("0", e.cpu_numa_nodes);
    assert_int_equal(2, lot_numa_read(&files, "0", 7, &e, absent)); /* no such node */
    assert_non_null(strstr(absent[1].reason, "no distance"));
    record("node1/distance",
           "\n"); /* of two nodes one is not told: neither is the farthest, nor the nearest */
    assert_int_equal(2, lot_numa_read(&files, "4-9", 0, &e, absent));
    assert_string_equal("0-1", e.cpu_numa_nodes);
    assert_true(e.device_cpu_distance == LOT_NULL_I64 && e.device_memory_distance == LOT_NULL_I64);
    files.nodes = "/nowhere";
    files.status = "/nowhere";
    assert_int_equal(4, lot_numa_read(&files, "0", 0, &e, absent));
    assert_string_equal("", e.cpu_numa_nodes);
    assert_true(e.device_cpu_distance == LOT_NULL_I64 && e.device_memory_distance == LOT_NULL_I64);
}

static void test_ranges(void **state)
{
    const char *at = "0-3,8,10-9";
    lot_range range;
    char list[16] = "";

    (void)state;
    assert_true(lot_ranges_next(&at, &range) && range.first == 0 && range.last == 3);
    assert_true(lot_ranges_next(&at, &range) && range.first == 8 && range.last == 8);
    assert_false(lot_ranges_next(&at, &range));
    assert_false(lot_ranges_hold("", 0) || lot_ranges_hold("x", 0) || lot_ranges_hold("0-99999999999", 0));
    assert_true(lot_ranges_hold("0-3,8", 8) && !lot_ranges_hold("0-3,8", 4));
    assert_int_equal(4, lot_ranges_place("0-3,8", 8));
    assert_true(lot_ranges_meet("0-3,8", "5,8-9") && !lot_ranges_meet("0-3,8", "4-7,9"));
    for (int64_t i = 0; i < 3; i++)
        lot_ranges_add(list, sizeof list, i);
    lot_ranges_add(list, sizeof list, 7);
    assert_string_equal("0-2,7", list);
    lot_ranges_add(list, sizeof list, 100);
    assert_string_equal("0-2,7,100", list);
    lot_ranges_add(list, sizeof list, 200);
    assert_string_equal("0-2,7,100,...", list);
    lot_ranges_add(list, sizeof list, 300);
    assert_string_equal("0-2,7,100,...", list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_near_far_and_both, set_up, remove_folder),
        cmocka_unit_test_setup_teardown(test_memory, set_up, remove_folder),
        cmocka_unit_test_setup_teardown(test_sparse_nodes, set_up, remove_folder),
        cmocka_unit_test_setup_teardown(test_what_is_not_known, set_up, remove_folder),
        cmocka_unit_test(test_ranges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
