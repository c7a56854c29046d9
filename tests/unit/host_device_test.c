/* The host device: its memory, what it tells of itself and what it refuses. */
#define _GNU_SOURCE
#include "support/host_fixture.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- memory ---- */

static void expect_counters(fixture *f, int64_t allocated, int64_t reserved, int64_t allocated_peak,
                            int64_t reserved_peak)
{
    const lot_counters c = counters(f);

    assert_int_equal(c.allocated_bytes, allocated);
    assert_int_equal(c.reserved_bytes, reserved);
    assert_int_equal(c.allocated_peak_bytes, allocated_peak);
    assert_int_equal(c.reserved_peak_bytes, reserved_peak);
}

#define MIB ((int64_t)1 << 20)

static void test_counters_by_hand(void **state)
{
    fixture *f = *state;
    void *a, *b, *c, *d;

    expect_counters(f, 0, 0, 0, 0);
    a = allocate(f, 1); /* 256 of a shared segment of 2 MiB */
    expect_counters(f, 256, 2 * MIB, 256, 2 * MIB);
    b = allocate(f, 257);
    expect_counters(f, 768, 2 * MIB, 768, 2 * MIB);
    c = allocate(f, 3 * MIB + 1); /* a segment of its own, to whole 2 MiB */
    expect_counters(f, 768 + 3 * MIB + 256, 6 * MIB, 768 + 3 * MIB + 256, 6 * MIB);
    f->module->free(f->device, c); /* the cache is kept */
    expect_counters(f, 768, 6 * MIB, 768 + 3 * MIB + 256, 6 * MIB);
    assert_int_equal(f->module->reset_peaks(f->device, &f->error), LOT_OK);
    expect_counters(f, 768, 6 * MIB, 768, 6 * MIB);
    d = allocate(f, 4 * MIB); /* from the cache: the same memory again */
    assert_ptr_equal(c, d);
    expect_counters(f, 768 + 4 * MIB, 6 * MIB, 768 + 4 * MIB, 6 * MIB);
    f->module->free(f->device, d);
    c = allocate(f, 2 * MIB); /* half of 4 MiB would lie idle: a new one */
    expect_counters(f, 768 + 2 * MIB, 8 * MIB, 768 + 4 * MIB, 8 * MIB);
    f->module->free(f->device, a);
    f->module->free(f->device, b);
    f->module->free(f->device, c);
    f->module->free(f->device, NULL);
    expect_counters(f, 0, 8 * MIB, 768 + 4 * MIB, 8 * MIB);
}

/* Freed neighbours join again, in whichever order they are freed. */
static void test_small_blocks_merge(void **state)
{
    fixture *f = *state;

    for (unsigned order = 0; order < 2; order++) {
        void *part[3];

        for (int i = 0; i < 3; i++)
            part[i] = allocate(f, MIB / 2);
        f->module->free(f->device, part[order ? 2 : 0]);
        f->module->free(f->device, part[order ? 0 : 2]);
        f->module->free(f->device, part[1]);
        expect_counters(f, 0, 2 * MIB, 3 * MIB / 2, 2 * MIB);
        part[0] = allocate(f, MIB);
        part[1] = allocate(f, MIB);
        expect_counters(f, 2 * MIB, 2 * MIB, 2 * MIB, 2 * MIB);
        f->module->free(f->device, part[0]);
        f->module->free(f->device, part[1]);
        f->module->reset_peaks(f->device, &f->error);
    }
}

/* Many allocations of mixed sizes, freed in mixed order: contents stay apart, and all comes back. */
static void test_blocks_do_not_overlap(void **state)
{
    fixture *f = *state;
    enum { SLOTS = 64, STEPS = 4000 };
    uint8_t *slot[SLOTS] = {NULL};
    int64_t bytes[SLOTS] = {0};
    uint32_t random = 1;

    for (int step = 0; step < STEPS; step++) {
        const size_t at = (random = random * 1664525u + 1013904223u) >> 26;

        if (slot[at] != NULL) {
            for (int64_t i = 0; i < bytes[at]; i += 509)
                assert_int_equal(slot[at][i], (uint8_t)at);
            assert_int_equal(slot[at][bytes[at] - 1], (uint8_t)at);
            f->module->free(f->device, slot[at]);
            slot[at] = NULL;
            continue;
        }
        bytes[at] = 1 + (int64_t)((random >> 8) % (random % 16 == 0 ? 3000000u : 60000u));
        slot[at] = allocate(f, bytes[at]);
        memset(slot[at], (int)at, (size_t)bytes[at]);
    }
    for (size_t at = 0; at < SLOTS; at++)
        f->module->free(f->device, slot[at]);
    assert_int_equal(counters(f).allocated_bytes, 0);
    for (int i = 0; i < 2; i++)
        allocate(f, MIB); /* together one whole segment, so everything was merged */
    assert_true(counters(f).reserved_bytes == counters(f).reserved_peak_bytes);
}

static void test_too_much_memory_is_refused(void **state)
{
    fixture *f = *state;
    static const int64_t sizes[] = {INT64_MAX, INT64_MAX - 255, INT64_C(1) << 60, INT64_C(1) << 46};
    void *pointer = &pointer;
    lot_device_facts facts;
    lot_absent absent[64];
    size_t count = 0;

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(f->module->alloc(f->device, sizes[i], &pointer, &f->error), LOT_DEVICE_MEMORY);
        assert_ptr_equal(pointer, &pointer);
        assert_true(strstr(f->error.text, "bytes") != NULL);
    }
    expect_counters(f, 0, 0, 0, 0);
    /* Address space for all of the machine's memory could be had; the memory could not. */
    assert_int_equal(f->module->describe(f->device, &facts, absent, 64, &count, &f->error), LOT_OK);
    assert_int_equal(f->module->alloc(f->device, facts.memory_bytes, &pointer, &f->error), LOT_DEVICE_MEMORY);
}

/* Memory that is reserved and not touched still counts as available to the system, but not here. */
static void test_untouched_memory_counts(void **state)
{
    fixture *f = *state;
    void *pointer = NULL;
    lot_device_facts facts;
    lot_absent absent[64];
    size_t count = 0;
    lot_status status = LOT_OK;
    int taken = 0;

    assert_int_equal(f->module->describe(f->device, &facts, absent, 64, &count, &f->error), LOT_OK);
    while (status == LOT_OK && taken <= 16) {
        status = f->module->alloc(f->device, facts.memory_bytes / 8, &pointer, &f->error);
        taken += status == LOT_OK;
    }
    assert_int_equal(status, LOT_DEVICE_MEMORY);
    assert_in_range(taken, 0, 8);
}

/* ---- device ---- */

static void test_enumerate_gives_this_cpu(void **state)
{
    fixture *f = *state;
    lot_device_list *list = calloc(1, sizeof *list);
    cpu_set_t cpus;

    assert_non_null(list);
    assert_int_equal(f->module->enumerate(list, &f->error), LOT_OK);
    assert_int_equal(list->count, 1);
    assert_string_equal(list->devices[0].kind, "host");
    assert_true(list->devices[0].name[0] != '\0');
    assert_int_equal(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    assert_int_equal(list->devices[0].multiprocessors, CPU_COUNT(&cpus));
    assert_true(list->devices[0].memory_bytes > 0);
    assert_int_equal(strlen(list->devices[0].uuid), strlen("HOST-01234567-0123-0123-0123-0123456789ab"));
    assert_int_equal(strncmp(list->devices[0].uuid, "HOST-", 5), 0);
    assert_true(list->library_version[0] >= '2');
    free(list);
}

/* The UUID is stable, follows the CPU set and tells nothing of the machine id. */
static void test_uuid_follows_the_cpus(void **state)
{
    fixture *f = *state;
    lot_device_list *list = calloc(3, sizeof *list);
    cpu_set_t all, one;
    size_t cpu = 0;

    assert_non_null(list);
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < 2) {
        free(list);
        skip();
    }
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(f->module->enumerate(&list[0], &f->error), LOT_OK);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(f->module->enumerate(&list[1], &f->error), LOT_OK);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(f->module->enumerate(&list[2], &f->error), LOT_OK);
    assert_string_equal(list[0].devices[0].uuid, list[2].devices[0].uuid);
    assert_string_not_equal(list[0].devices[0].uuid, list[1].devices[0].uuid);
    assert_int_equal(list[1].devices[0].multiprocessors, 1);
    assert_int_equal(strtoul(list[1].devices[0].cpu_list, NULL, 10), cpu);
    free(list);
}

static bool is_absent(const lot_absent *absent, size_t count, const char *field)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(absent[i].field, field) == 0)
            return absent[i].reason[0] != '\0';
    return false;
}

/* Every fact is there or has its reason, never both and never neither. */
static void test_every_null_has_a_reason(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *name;
        size_t offset;
        lot_kind kind;
    } fields[] = {
#define FACT(kind, name, size, unit, help)                                                                   \
    {"device." #name, offsetof(lot_device_facts, name), LOT_KIND_##kind},
        LOT_DEVICE_FIELDS(FACT)};
    lot_device_facts facts;
    lot_absent absent[64];
    size_t count = 0;

    assert_int_equal(f->module->describe(f->device, &facts, absent, 64, &count, &f->error), LOT_OK);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const lot_field field = {
            .name = fields[i].name, .kind = fields[i].kind, .offset = fields[i].offset, .size = 1};
        const bool null = lot_field_is_null(&field, &facts);

        if (strcmp(field.name, "device.binding") != 0 && null != is_absent(absent, count, field.name))
            fail_msg("%s is %s and has %s reason", field.name, null ? "null" : "set", null ? "no" : "a");
    }
    assert_true(is_absent(absent, count, "telemetry"));
    assert_int_equal(facts.granularity_bytes, 256);
    assert_int_equal(facts.reserve_step_bytes, 2 * MIB);
    assert_int_equal(facts.threads, 1);
    assert_int_equal(f->module->describe(f->device, &facts, absent, 3, &count, &f->error), LOT_OK);
    assert_int_equal(count, 3);
}

static void test_threads_are_what_was_asked(void **state)
{
    fixture *f = *state;
    static const int wanted[] = {0, -1, 2, 5};

    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        lot_device_facts facts;
        lot_absent absent[64];
        size_t count = 0;

        f->module->close(f->device);
        open_with(f, wanted[i]);
        assert_int_equal(f->module->describe(f->device, &facts, absent, 64, &count, &f->error), LOT_OK);
        assert_int_equal(facts.threads, wanted[i] > 0 ? wanted[i] : facts.multiprocessors);
    }
}

static void test_refusals(void **state)
{
    fixture *f = *state;
    const lot_device_options second = {.ordinal = 1};
    const lot_device_options many = {.threads = 1000000};
    const lot_linear tf32 = {.rows = 1, .in_features = 1, .out_features = 1, .math = LOT_MATH_TF32};
    lot_device *device = NULL;
    lot_plan *plan = NULL;
    lot_plan_facts facts;

    assert_int_equal(f->module->open(&second, &device, &f->error), LOT_NO_DEVICE);
    assert_int_equal(f->module->open(&many, &device, &f->error), LOT_USAGE);
    assert_null(device);
    assert_int_equal(f->module->supports(f->device, LOT_FLOAT32, LOT_MATH_IEEE, &f->error), LOT_OK);
    assert_int_equal(f->module->supports(f->device, LOT_BFLOAT16, LOT_MATH_IEEE, &f->error), LOT_OK);
    assert_int_equal(f->module->supports(f->device, LOT_FLOAT32, LOT_MATH_TF32, &f->error), LOT_UNSUPPORTED);
    assert_non_null(strstr(f->error.text, "tf32"));
    assert_int_equal(f->module->plan(f->device, &tf32, &plan, &facts, &f->error), LOT_UNSUPPORTED);
    assert_null(plan);
    if (f->module->supports(f->device, LOT_FLOAT16, LOT_MATH_IEEE, &f->error) != LOT_OK) {
        assert_int_equal(f->error.status, LOT_UNSUPPORTED);
        assert_non_null(strstr(f->error.text, "float16"));
        assert_non_null(strstr(f->error.text, "oneDNN"));
    }
    f->module->close(NULL);
    f->module->plan_free(f->device, NULL);
}

static void test_memory_used_is_plausible(void **state)
{
    fixture *f = *state;
    lot_device_list *list = calloc(1, sizeof *list);
    int64_t bytes = 0;

    assert_non_null(list);
    assert_int_equal(f->module->enumerate(list, &f->error), LOT_OK);
    assert_int_equal(f->module->memory_used(f->device, &bytes, &f->error), LOT_OK);
    assert_true(bytes > 0 && bytes < list->devices[0].memory_bytes);
    free(list);
}

static void test_copies(void **state)
{
    fixture *f = *state;
    uint8_t from[1000], back[1000];
    void *memory = allocate(f, sizeof from);

    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)(i * 7);
    assert_int_equal(f->module->upload(f->device, memory, from, sizeof from, &f->error), LOT_OK);
    assert_int_equal(f->module->download(f->device, back, memory, sizeof back, &f->error), LOT_OK);
    assert_memory_equal(from, back, sizeof from);
}

#ifndef __SANITIZE_ADDRESS__ /* which has mapped more than any limit would leave */

/* Bytes of address space that this process has taken. */
static rlim_t address_space(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long long pages = 0;

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%llu", &pages), 1);
    (void)fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void leave(rlim_t bytes)
{
    const struct rlimit little = {address_space() + bytes, RLIM_INFINITY};

    if (setrlimit(RLIMIT_AS, &little) != 0)
        _exit(9);
}

static void limit_address_space(void)
{
    leave((rlim_t)(16 * MIB));
}

/* Enough for two threads, but not for one with the stack that OpenMP is told to give it. */
static void limit_to_less_than_a_stack(void)
{
    leave((rlim_t)(768 * MIB));
    if (setenv("OMP_STACKSIZE", " 1 G ", 1) != 0)
        _exit(9);
}

#endif

static void limit_threads(void)
{
    const struct rlimit little = {1, 1};

    if (setrlimit(RLIMIT_NPROC, &little) != 0 ||
        (geteuid() == 0 && setuid(65534) != 0)) /* root has no limit */
        _exit(9);
}

/* Opens the device under a limit, in a process of its own, which OpenMP or oneDNN would end. */
static void expect_refusal(fixture *f, void (*limit)(void), int threads, const char *words)
{
    const pid_t child = fork();
    int status = 0;

    assert_true(child >= 0);
    if (child == 0) {
        const lot_device_options options = {.ordinal = 0, .threads = threads};
        lot_device *device = NULL;
        lot_status opened;

        limit();
        opened = f->module->open(&options, &device, &f->error);
        _exit(opened != LOT_TOO_LARGE || strstr(f->error.text, words) == NULL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_limits_that_leave_no_room_are_refused(void **state)
{
#ifndef __SANITIZE_ADDRESS__
    expect_refusal(*state, limit_address_space, 1, "address space");
    expect_refusal(*state, limit_to_less_than_a_stack, 2, "1 of 2 threads can be started");
#endif
    expect_refusal(*state, limit_threads, 4, "1 of 4 threads can be started");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_counters_by_hand),
        TEST(test_small_blocks_merge),
        TEST(test_blocks_do_not_overlap),
        TEST(test_too_much_memory_is_refused),
        TEST(test_untouched_memory_counts),
        TEST(test_enumerate_gives_this_cpu),
        TEST(test_uuid_follows_the_cpus),
        TEST(test_every_null_has_a_reason),
        TEST(test_threads_are_what_was_asked),
        TEST(test_refusals),
        TEST(test_memory_used_is_plausible),
        TEST(test_copies),
        TEST(test_limits_that_leave_no_room_are_refused),
    };

    return cmocka_run_group_tests_name("host device", tests, NULL, NULL);
}
