/* What the host device takes for available, from recorded /proc and control group files; and its SHA-256. The
 * sources are compiled in, since the module exports nothing but its table. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/host/host_memory.c"
#include "gpu/host/host_pool.c"
#include "gpu/host/host_sha256.c"
#include "support/recorded.h"

#define MIB (INT64_C(1) << 20)

/* ---- a folder of recorded files ---- */

static int set_up(void **state)
{
    if (make_folder(state) != 0)
        return 1;
    record("/proc/meminfo", "MemTotal:       1048576 kB\nMemFree:  1 kB\nMemAvailable:    819200 kB\n");
    return 0;
}

static void expect(int64_t total, int64_t available)
{
    const lot_host_memory memory = lot_host_memory_read(folder);

    assert_int_equal(memory.total_bytes, total);
    assert_int_equal(memory.available_bytes, available);
}

static void test_without_groups(void **state)
{
    (void)state;
    expect(1024 * MIB, 800 * MIB);
    record("/proc/self/cgroup", "");
    expect(1024 * MIB, 800 * MIB);
}

/* As in a container without /proc. */
static void test_without_proc(void **state)
{
    const lot_host_memory memory = lot_host_memory_read("/nonexistent");

    (void)state;
    assert_int_equal(memory.total_bytes, (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
    assert_in_range(memory.available_bytes, 1, memory.total_bytes);
}

/* The group's limit less what it uses, file pages that can be dropped left out. */
static void test_version_2(void **state)
{
    (void)state;
    record("/proc/self/cgroup", "0::/job/step\n");
    record("/sys/fs/cgroup/job/step/memory.max", "536870912\n");
    record("/sys/fs/cgroup/job/step/memory.current", "209715200\n");
    record("/sys/fs/cgroup/job/step/memory.stat", "anon 1\nfile 2\ninactive_file 104857600\nactive_file 5\n");
    expect(512 * MIB, (512 - 200 + 100) * MIB);
}

/* The group above may have less left. */
static void test_version_2_parent(void **state)
{
    (void)state;
    record("/proc/self/cgroup", "0::/job/step\n");
    record("/sys/fs/cgroup/job/step/memory.max", "max\n");
    record("/sys/fs/cgroup/job/memory.max", "314572800\n");
    record("/sys/fs/cgroup/job/memory.current", "419430400\n");
    expect(300 * MIB, 0);
}

/* In a container the path may be the host's and the group's own files lie at the mount. */
static void test_version_2_in_a_container(void **state)
{
    (void)state;
    record("/proc/self/cgroup", "0::/kubepods/of/the/host\n");
    record("/sys/fs/cgroup/memory.max", "268435456\n");
    record("/sys/fs/cgroup/memory.current", "67108864\n");
    expect(256 * MIB, 192 * MIB);
    record("/proc/self/cgroup", "0::/\n");
    expect(256 * MIB, 192 * MIB);
}

static void test_version_1(void **state)
{
    (void)state;
    record("/proc/self/cgroup",
           "9:memory_x:/wrong\n5:cpu,memory,blkio:/slurm/job_1\n1:name=systemd:/elsewhere\n0::/\n");
    record("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    record("/sys/fs/cgroup/memory/wrong/memory.limit_in_bytes", "1\n");
    record("/sys/fs/cgroup/memory/slurm/job_1/memory.limit_in_bytes", "419430400\n");
    record("/sys/fs/cgroup/memory/slurm/job_1/memory.usage_in_bytes", "104857600\n");
    record("/sys/fs/cgroup/memory/slurm/job_1/memory.stat", "cache 1\ntotal_inactive_file 52428800\n");
    expect(400 * MIB, 350 * MIB);
}

/* A limit above the machine's memory is none. */
static void test_generous_group(void **state)
{
    (void)state;
    record("/proc/self/cgroup", "0::/a\n");
    record("/sys/fs/cgroup/a/memory.max", "99999999999\n");
    record("/sys/fs/cgroup/a/memory.current", "1\n");
    expect(1024 * MIB, 800 * MIB);
}

/* ---- the pool keeps to it ---- */

static void test_pool_keeps_to_the_group(void **state)
{
    lot_host_pool *pool = NULL;
    void *pointer[2] = {NULL, NULL};
    lot_counters counters;
    lot_error error;

    (void)state;
    record("/proc/self/cgroup", "0::/a\n");
    record("/sys/fs/cgroup/a/memory.max", "134217728\n");
    record("/sys/fs/cgroup/a/memory.current", "0\n");
    assert_int_equal(lot_host_pool_create(folder, &pool, &error), LOT_OK);
    /* 128 MiB less the 64 that are left to others. */
    assert_int_equal(lot_host_pool_alloc(pool, 66 * MIB, &pointer[0], &error), LOT_DEVICE_MEMORY);
    assert_non_null(strstr(error.text, "69206016 bytes"));
    assert_int_equal(lot_host_pool_alloc(pool, 40 * MIB, &pointer[0], &error), LOT_OK);
    /* The group still uses nothing, for none of the 40 was touched. */
    assert_int_equal(lot_host_pool_alloc(pool, 30 * MIB, &pointer[1], &error), LOT_DEVICE_MEMORY);
    /* Of the cache, whole segments are given back before a request is refused. */
    lot_host_pool_free(pool, pointer[0]);
    assert_int_equal(lot_host_pool_alloc(pool, 30 * MIB, &pointer[1], &error), LOT_OK);
    lot_host_pool_counters(pool, &counters);
    assert_int_equal(counters.reserved_bytes, 30 * MIB);
    assert_int_equal(counters.reserved_peak_bytes, 40 * MIB);
    lot_host_pool_destroy(pool);
}

/* ---- SHA-256 ---- */

static void check_sha256(const char *message, const char *expected)
{
    uint8_t digest[32];
    char hex[65];

    lot_host_sha256(message, strlen(message), digest);
    for (size_t i = 0; i < 32; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(hex, expected);
}

/* FIPS 180-4's examples: empty, one block, two blocks; and one that fills its block with the length apart. */
static void test_sha256(void **state)
{
    (void)state;
    check_sha256("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_sha256("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_sha256(
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnop"
        "qrstnopqrstu",
        "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_without_groups),
        TEST(test_without_proc),
        TEST(test_version_2),
        TEST(test_version_2_parent),
        TEST(test_version_2_in_a_container),
        TEST(test_version_1),
        TEST(test_generous_group),
        TEST(test_pool_keeps_to_the_group),
        cmocka_unit_test(test_sha256),
    };

    return cmocka_run_group_tests_name("host_memory", tests, NULL, NULL);
}
