/* The CUDA module on a healthy device, every function of its table, held against definitions written here.
 *
 * Runs over the simulator, which is known in every detail, and on a real GPU (gpu_check.sh), where only what
 * must hold on each is asked for. */
#include "cuda_fixture.h"
#include "cuda_module_cases.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int set_up(void **state)
{
    fixture *f = fixture_load();

    fixture_open(f, 0, 0);
    *state = f;
    return 0;
}

static int set_up_tuned(void **state)
{
    fixture *f = fixture_load();

    fixture_open(f, 8, 0);
    *state = f;
    return 0;
}

static int set_up_sampled(void **state)
{
    fixture *f = fixture_load();

    fixture_open(f, 0, 200);
    *state = f;
    return 0;
}

/* As in a container that was given CUDA's libraries and not NVML. */
static bool without_nvml(fixture *f)
{
    fixture_describe(f);
    return fixture_reason(f, "telemetry") != NULL;
}

static int tear_down(void **state)
{
    fixture_free(*state);
    return 0;
}

/* ---- devices ---- */

static void test_enumerate(void **state)
{
    fixture *f = *state;
    lot_device_list *list = calloc(1, sizeof *list);

    assert_non_null(list);
    WORKS(f, f->module->enumerate(list, &f->error));
    assert_true(fixture_simulated() ? list->count == 2 : list->count >= 1);
    assert_true(list->runtime_version[0] != '\0' && list->library_version[0] != '\0');
    for (size_t i = 0; i < list->count; i++) {
        const lot_device_facts *device = &list->devices[i];

        assert_int_equal(device->ordinal, i);
        assert_string_equal(device->kind, "cuda");
        assert_int_equal(strlen(device->uuid), 40);
        assert_true(strncmp(device->uuid, "GPU-", 4) == 0 || !fixture_simulated());
        assert_int_equal(device->simulated, fixture_simulated());
        assert_int_equal(strcspn(device->pci_address, "ABCDEF"), strlen(device->pci_address));
        assert_true(device->multiprocessors > 0 && device->memory_bytes > 0 && device->l2_cache_bytes > 0);
        assert_int_equal(device->nvml_index, -1); /* not known before the device is opened */
        assert_true(isnan(device->power_limit_watts));
    }
    if (list->count > 1)
        assert_string_not_equal(list->devices[0].uuid, list->devices[1].uuid);
    free(list);
}

static void test_describe(void **state)
{
    fixture *f = *state;
    char list[sizeof f->facts.cpu_list];

    memset(&f->facts, 0, sizeof f->facts);
    (void)snprintf(f->facts.cpu_list, sizeof f->facts.cpu_list, "0-3");
    (void)snprintf(list, sizeof list, "0-3");
    WORKS(f, f->module->describe(f->device, &f->facts, f->absent, 128, &f->absent_count, &f->error));
    assert_string_equal(f->facts.cpu_list, list); /* not the module's to say */
    assert_string_equal(f->facts.library, "cuBLASLt");
    assert_true(f->facts.granularity_bytes > 0);
    assert_true(f->facts.reserve_step_bytes >= f->facts.granularity_bytes);
    assert_non_null(fixture_reason(f, "device.threads"));
    if (!fixture_simulated() || without_nvml(f))
        return;
    assert_true(f->facts.nvml_index >= 0 && f->facts.sm_clock_max_mhz > 0 && f->facts.power_limit_watts > 0);
    assert_true(f->facts.vbios_version[0] != '\0' && f->facts.compute_mode[0] != '\0');
    assert_int_equal(f->facts.foreign_processes, fixture_in_container() ? -1 : 0);
    assert_int_equal(f->facts.mig_siblings, 0);
    assert_string_equal(fixture_reason(f, "device.mig_parent_uuid"), "not a MIG slice");
    assert_null(fixture_reason(f, "telemetry.power_watts"));
}

static void test_reasons_end_at_the_capacity(void **state)
{
    fixture *f = *state;

    WORKS(f, f->module->describe(f->device, &f->facts, f->absent, 1, &f->absent_count, &f->error));
    assert_int_equal(f->absent_count, 1);
}

static void test_supports(void **state)
{
    fixture *f = *state;

    if (!fixture_simulated())
        return; /* depends on the GPU */
    for (int dtype = 0; dtype < LOT_DTYPE_COUNT; dtype++)
        WORKS(f, f->module->supports(f->device, (lot_dtype)dtype, LOT_MATH_IEEE, &f->error));
    WORKS(f, f->module->supports(f->device, LOT_FLOAT32, LOT_MATH_TF32, &f->error));
    assert_int_equal(f->module->supports(f->device, LOT_FLOAT16, LOT_MATH_TF32, &f->error), LOT_UNSUPPORTED);
    assert_int_equal(setenv("NVIDIA_TF32_OVERRIDE", "0", 1), 0);
    assert_int_equal(f->module->supports(f->device, LOT_FLOAT32, LOT_MATH_TF32, &f->error), LOT_UNSUPPORTED);
    assert_non_null(strstr(f->error.text, "NVIDIA_TF32_OVERRIDE"));
    WORKS(f, f->module->supports(f->device, LOT_FLOAT32, LOT_MATH_IEEE, &f->error));
    assert_int_equal(setenv("NVIDIA_TF32_OVERRIDE", "1", 1), 0);
    WORKS(f, f->module->supports(f->device, LOT_FLOAT32, LOT_MATH_TF32, &f->error));
    WORKS(f, f->module->supports(f->device, LOT_BFLOAT16, LOT_MATH_IEEE, &f->error));
    assert_int_equal(f->module->supports(f->device, LOT_FLOAT32, LOT_MATH_IEEE, &f->error), LOT_UNSUPPORTED);
    assert_string_equal(f->error.text,
                        "NVIDIA_TF32_OVERRIDE=1 turns tf32 on in the library; unset it or use --math tf32");
    assert_int_equal(unsetenv("NVIDIA_TF32_OVERRIDE"), 0);
}

static void test_open_refuses_other_ordinals(void **state)
{
    fixture *f = *state;
    lot_device *other = NULL;

    for (int ordinal = -1; ordinal < 100; ordinal += 100) {
        const lot_device_options options = {.ordinal = ordinal};

        assert_int_equal(f->module->open(&options, &other, &f->error), LOT_NO_DEVICE);
        assert_null(other);
    }
    f->module->close(NULL);
}

/* close gives back what the caller left: more blocks than the module first has room for, and plans. Over the
 * simulator the end of the process finds what is left. */
static void test_close_frees_what_is_left(void **state)
{
    fixture *f = *state;
    const lot_linear linear = {.rows = 8, .in_features = 32, .out_features = 16, .dtype = LOT_FLOAT32};
    void *blocks[200];
    lot_plan *plans[3];
    lot_plan_facts facts;
    lot_counters counters;

    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        blocks[i] = fixture_alloc(f, 512);
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++)
        WORKS(f, f->module->plan(f->device, &linear, &plans[i], &facts, &f->error));
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i += 2)
        f->module->free(f->device, blocks[i]);
    f->module->plan_free(f->device, plans[1]);
    WORKS(f, f->module->sync(f->device, &f->error));
    WORKS(f, f->module->counters(f->device, &counters, &f->error));
    assert_true(counters.allocated_bytes >= 100 * 512);
}

/* ---- counters, time, telemetry ---- */

static void test_counters_and_peaks(void **state)
{
    fixture *f = *state;
    lot_counters before, held, after;
    void *pointer;

    WORKS(f, f->module->sync(f->device, &f->error));
    WORKS(f, f->module->reset_peaks(f->device, &f->error));
    WORKS(f, f->module->counters(f->device, &before, &f->error));
    assert_int_equal(before.allocated_bytes, before.allocated_peak_bytes);
    assert_int_equal(before.reserved_bytes, before.reserved_peak_bytes);
    pointer = fixture_alloc(f, 1 << 20);
    WORKS(f, f->module->sync(f->device, &f->error));
    WORKS(f, f->module->counters(f->device, &held, &f->error));
    assert_true(fixture_simulated() ? held.allocated_bytes == before.allocated_bytes + (1 << 20)
                                    : held.allocated_bytes >= before.allocated_bytes + (1 << 20));
    assert_true(held.reserved_bytes >= held.allocated_bytes);
    f->module->free(f->device, pointer);
    WORKS(f, f->module->sync(f->device, &f->error));
    WORKS(f, f->module->counters(f->device, &after, &f->error));
    assert_int_equal(after.allocated_bytes, before.allocated_bytes);
    assert_int_equal(after.allocated_peak_bytes, held.allocated_bytes);
    assert_int_equal(after.reserved_bytes, held.reserved_bytes); /* the cache is kept */
    WORKS(f, f->module->reset_peaks(f->device, &f->error));
    WORKS(f, f->module->counters(f->device, &after, &f->error));
    assert_int_equal(after.allocated_peak_bytes, after.allocated_bytes);
}

static void test_out_of_memory_names_both_sizes(void **state)
{
    fixture *f = *state;
    void *pointer = NULL;

    assert_int_equal(f->module->alloc(f->device, (int64_t)1 << 44, &pointer, &f->error), LOT_DEVICE_MEMORY);
    assert_null(pointer);
    assert_non_null(strstr(f->error.text, "17592186044416 bytes asked for"));
    pointer = fixture_alloc(f, 64); /* and the device still works */
    f->module->free(f->device, pointer);
    WORKS(f, f->module->sync(f->device, &f->error));
}

static void test_timer(void **state)
{
    fixture *f = *state;
    double seconds = -1.0;

    assert_int_not_equal(f->module->timer_elapsed(f->device, &seconds, &f->error), LOT_OK);
    WORKS(f, f->module->timer_start(f->device, &f->error));
    WORKS(f, f->module->flush_cache(f->device, &f->error));
    WORKS(f, f->module->timer_stop(f->device, &f->error));
    WORKS(f, f->module->sync(f->device, &f->error));
    WORKS(f, f->module->timer_elapsed(f->device, &seconds, &f->error));
    assert_true(seconds > 0.0);
}

/* The flush buffer, several times the cache, shows in what the device uses, not in the pool. */
static void test_flush_is_not_counted(void **state)
{
    fixture *f = *state;
    lot_counters before, after;
    int64_t used_before = 0, used_after = 0;

    WORKS(f, f->module->sync(f->device, &f->error));
    WORKS(f, f->module->counters(f->device, &before, &f->error));
    WORKS(f, f->module->memory_used(f->device, &used_before, &f->error));
    WORKS(f, f->module->flush_cache(f->device, &f->error));
    WORKS(f, f->module->flush_cache(f->device, &f->error));
    WORKS(f, f->module->sync(f->device, &f->error));
    WORKS(f, f->module->counters(f->device, &after, &f->error));
    WORKS(f, f->module->memory_used(f->device, &used_after, &f->error));
    assert_memory_equal(&before, &after, sizeof before);
    fixture_describe(f);
    assert_true(used_after - used_before >= 4 * f->facts.l2_cache_bytes ||
                !fixture_simulated()); /* others use a real device too */
}

static void test_telemetry_of_a_row(void **state)
{
    fixture *f = *state;
    lot_telemetry telemetry;

    WORKS(f, f->module->telemetry_end(f->device, &telemetry, &f->error));
    assert_true(isnan(telemetry.energy_joules) &&
                isnan(telemetry.interval_seconds)); /* no begin, no difference */
    assert_int_equal(telemetry.throttle_hw_thermal_nanoseconds, -1);
    WORKS(f, f->module->telemetry_begin(f->device, &f->error));
    WORKS(f, f->module->telemetry_end(f->device, &telemetry, &f->error));
    assert_true(isnan(telemetry.energy_joules) || telemetry.energy_joules > 0); /* the counter has steps */
    if (!fixture_simulated() || without_nvml(f))
        return;
    assert_true(isnan(telemetry.energy_joules)); /* no work, no energy there */
    assert_true(telemetry.power_watts > 0 && telemetry.sm_clock_mhz > 0);
    assert_true(telemetry.memory_clock_mhz > 0 && telemetry.temperature_celsius > 0);
    assert_true(telemetry.memory_temperature_celsius > 0);
    assert_int_equal(telemetry.throttle_hw_thermal_nanoseconds, 0);
    assert_int_equal(telemetry.ecc_corrected, 0);
    assert_true(telemetry.pcie_generation > 0 && telemetry.pcie_width > 0 && telemetry.clock_event_bits >= 0);
}

static void test_no_samples_without_asking(void **state)
{
    fixture *f = *state;
    lot_sample sample;
    size_t count = 7;

    WORKS(f, f->module->samples(f->device, &sample, 1, &count, &f->error));
    assert_int_equal(count, 0);
}

/* However slow the machine, ten seconds give six samples of a series of two hundred a second. */
static void test_samples_come_in_order(void **state)
{
    fixture *f = *state;
    const struct timespec wait = {.tv_nsec = 50000000};
    lot_sample samples[6];
    size_t count = 0;

    if (without_nvml(f))
        return;
    for (int tries = 0; tries < 200 && count < 6; tries++) {
        size_t more = 0;

        (void)nanosleep(&wait, NULL);
        WORKS(f, f->module->samples(f->device, samples + count, count < 4 ? 4 - count : 6 - count, &more,
                                    &f->error));
        count += more;
    }
    assert_int_equal(count, 6);
    for (size_t i = 1; i < count; i++)
        assert_true(samples[i].seconds > samples[i - 1].seconds);
    assert_true(samples[0].telemetry.power_watts > 0 || !fixture_simulated());
}

enum { REFUSED, OTHERWISE, NO_LIMIT, NOT_LIMITED };

/* What open says where no thread can be started. Root has no limit; nor has anybody in a sandbox that keeps
 * none, where open would go on, with a device that a forked process must not touch. */
static int open_under_limit(fixture *f)
{
    const struct rlimit one = {1, 1};
    const lot_device_options options = {.threads = 4};
    lot_device *device = NULL;
    lot_status opened;
    pid_t another;

    if (setrlimit(RLIMIT_NPROC, &one) != 0 || (geteuid() == 0 && setuid(65534) != 0))
        return NO_LIMIT;
    another = fork();
    if (another == 0)
        _exit(0);
    if (another > 0)
        return waitpid(another, NULL, 0) == another ? NOT_LIMITED : OTHERWISE;
    opened = f->module->open(&options, &device, &f->error);
    return opened == LOT_TOO_LARGE && strstr(f->error.text, "1 of 4 threads can be started") != NULL
               ? REFUSED
               : OTHERWISE;
}

/* In a process of its own, which OpenMP would end. */
static void test_threads_that_cannot_be_started_are_refused(void **state)
{
    const pid_t child = fork();
    int end = 0;

    assert_true(child >= 0);
    if (child == 0)
        _exit(open_under_limit(*state));
    assert_int_equal(waitpid(child, &end, 0), child);
    assert_true(WIFEXITED(end));
    if (WEXITSTATUS(end) == NOT_LIMITED && !fixture_simulated())
        skip();
    assert_int_equal(WEXITSTATUS(end), REFUSED);
}

#define WITH_DEVICE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DEVICE(test_enumerate),
        WITH_DEVICE(test_describe),
        WITH_DEVICE(test_reasons_end_at_the_capacity),
        WITH_DEVICE(test_supports),
        WITH_DEVICE(test_open_refuses_other_ordinals),
        WITH_DEVICE(test_threads_that_cannot_be_started_are_refused),
        WITH_DEVICE(test_close_frees_what_is_left),
        WITH_DEVICE(test_values_are_the_generators),
        WITH_DEVICE(test_build_in_many_stages),
        WITH_DEVICE(test_digest_is_the_definition),
        WITH_DEVICE(test_special_values_are_seen),
        WITH_DEVICE(test_compare_says_where),
        WITH_DEVICE(test_linear_against_float64),
        WITH_DEVICE(test_tf32),
        WITH_DEVICE(test_emulation_is_named),
        WITH_DEVICE(test_same_bits_every_time),
        cmocka_unit_test_setup_teardown(test_tuning_times_candidates, set_up_tuned, tear_down),
        cmocka_unit_test_setup_teardown(test_sums_stay_float32, set_up_tuned, tear_down),
        WITH_DEVICE(test_no_algorithm_names_the_shape),
        WITH_DEVICE(test_counters_and_peaks),
        WITH_DEVICE(test_out_of_memory_names_both_sizes),
        WITH_DEVICE(test_timer),
        WITH_DEVICE(test_flush_is_not_counted),
        WITH_DEVICE(test_telemetry_of_a_row),
        WITH_DEVICE(test_no_samples_without_asking),
        cmocka_unit_test_setup_teardown(test_samples_come_in_order, set_up_sampled, tear_down),
    };

    return cmocka_run_group_tests_name("cuda module", tests, NULL, NULL);
}
