/* Sets of CPUs, also of machines with more of them than this one. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "core/cpus.h"
#include "support/recorded.h"

/* Text, the same as it is printed, and how many CPUs. */
static void test_lists(void **state)
{
    static const struct {
        const char *text, *printed;
        int count;
    } cases[] = {{"0", "0", 1},
                 {"0-3,8", "0-3,8", 5},
                 {"0-23,96-119\n", "0-23,96-119", 48},
                 {"63,64,65", "63-65", 3},
                 {"1023-1024,8191", "1023-1024,8191", 3},
                 {"8190-9000", "8190-8191", 2},
                 {"", "", 0},
                 {"none", "", 0}};
    char list[64];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lot_cpus cpus;

        lot_cpus_parse(cases[i].text, &cpus);
        assert_int_equal(lot_cpus_count(&cpus), cases[i].count);
        lot_cpus_print(&cpus, list, sizeof list);
        assert_string_equal(list, cases[i].printed);
    }
}

/* A list ends in whole numbers as long as there would be room for more to be said by ",...". */
static void test_room_to_the_byte(void **state)
{
    lot_cpus cpus;
    char list[64];

    (void)state;
    lot_cpus_parse("0,12", &cpus);
    lot_cpus_print(&cpus, list, sizeof "0,12" + sizeof ",..." - 1);
    assert_string_equal(list, "0,12");
    lot_cpus_print(&cpus, list, sizeof "0,12" + sizeof ",..." - 2);
    assert_string_equal(list, "0,...");
}

/* Every second CPU of 64, as a launcher that leaves out hyperthreads binds: no number is cut in two. */
static void test_long_list_is_cut_between_numbers(void **state)
{
    lot_cpus cpus = {{UINT64_C(0x5555555555555555)}};
    char list[64];

    (void)state;
    assert_int_equal(lot_cpus_count(&cpus), 32);
    for (size_t size = 16; size <= sizeof list; size++) {
        const char *at = list;

        memset(list, 'x', sizeof list);
        lot_cpus_print(&cpus, list, size);
        assert_true(strlen(list) < size);
        assert_string_equal(list + strlen(list) - 4, ",...");
        for (int cpu = 0; at[0] != '.'; cpu += 2) {
            char expected[16];

            (void)snprintf(expected, sizeof expected, "%d,", cpu);
            assert_memory_equal(at, expected, strlen(expected));
            at += strlen(expected);
        }
    }
}

static void test_keep(void **state)
{
    lot_cpus near, allowed;
    char list[64];

    (void)state;
    lot_cpus_parse("0-63,128-191", &near);
    lot_cpus_parse("60-130", &allowed);
    lot_cpus_keep(&near, &allowed);
    lot_cpus_print(&near, list, sizeof list);
    assert_string_equal(list, "60-63,128-130");
    assert_true(lot_cpus_have(&near, 128));
    assert_false(lot_cpus_have(&near, 127));
    assert_false(lot_cpus_have(&near, -1));
    assert_false(lot_cpus_have(&near, LOT_CPUS_MOST));
}

/* What the system says, and what it is told. */
static void test_this_thread(void **state)
{
    cpu_set_t system;
    lot_cpus all, one, now;
    int cpu = 0;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof system, &system), 0);
    assert_true(lot_cpus_read(&all));
    assert_int_equal(lot_cpus_count(&all), CPU_COUNT(&system));
    for (int i = 0; i < CPU_SETSIZE; i++)
        assert_int_equal(lot_cpus_have(&all, i), CPU_ISSET((size_t)i, &system) != 0);
    while (!lot_cpus_have(&all, cpu))
        cpu++;
    memset(&one, 0, sizeof one);
    assert_false(lot_cpus_apply(&one)); /* a thread must run somewhere */
    one.words[cpu / 64] = UINT64_C(1) << (cpu % 64);
    assert_true(lot_cpus_apply(&one));
    assert_true(lot_cpus_read(&now));
    assert_memory_equal(&now, &one, sizeof one);
    assert_true(lot_cpus_apply(&all));
    assert_true(lot_cpus_read(&now));
    assert_memory_equal(&now, &all, sizeof all);
}

/* What a container's groups give of the CPUs' time, in whole CPUs; this machine has one at least. */
static void test_time_of_a_group(void **state)
{
    lot_cpus cpus;
    char more[32];
    int all;

    (void)state;
    assert_true(lot_cpus_read(&cpus));
    all = lot_cpus_count(&cpus);
    assert_int_equal(lot_cpus_usable("/nonexistent"), all);
    record("/proc/self/cgroup", "0::/pod/container\n");
    record("/sys/fs/cgroup/pod/container/cpu.max", "max 100000\n");
    record("/sys/fs/cgroup/pod/cpu.max", "409600000 100000\n");
    assert_int_equal(lot_cpus_usable(folder), all);
    (void)snprintf(more, sizeof more, "%d00000 100000\n", all + 1); /* a limit that is none adds no CPU */
    record("/sys/fs/cgroup/pod/cpu.max", more);
    assert_int_equal(lot_cpus_usable(folder), all);
    record("/sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
    assert_int_equal(lot_cpus_usable(folder), 1);
    record("/sys/fs/cgroup/pod/cpu.max", "40000 100000\n"); /* less than one */
    assert_int_equal(lot_cpus_usable(folder), 1);
    record("/sys/fs/cgroup/pod/cpu.max", "max 100000\n");
    record("/sys/fs/cgroup/cpu.max", "100000 50000\n"); /* the container's own group, mounted at the top */
    assert_int_equal(lot_cpus_usable(folder), all < 2 ? all : 2);
}

static void test_time_of_a_group_of_version_1(void **state)
{
    lot_cpus cpus;
    int all;

    (void)state;
    assert_true(lot_cpus_read(&cpus));
    all = lot_cpus_count(&cpus);
    record("/proc/self/cgroup", "3:cpuset:/\n2:cpu,cpuacct:/docker/1\n");
    record("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "-1\n");
    record("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us", "100000\n");
    assert_int_equal(lot_cpus_usable(folder), all);
    record("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "100000\n");
    assert_int_equal(lot_cpus_usable(folder), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_room_to_the_byte),
        cmocka_unit_test(test_long_list_is_cut_between_numbers),
        cmocka_unit_test(test_keep),
        cmocka_unit_test(test_this_thread),
        cmocka_unit_test_setup_teardown(test_time_of_a_group, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_time_of_a_group_of_version_1, make_folder, remove_folder),
    };

    return cmocka_run_group_tests_name("cpus", tests, NULL, NULL);
}
