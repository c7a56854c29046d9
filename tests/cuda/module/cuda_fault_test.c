/* The CUDA module on a device that is absent, refuses or fails. One scenario a process, for a simulated
 * machine is fixed when it starts: the argument names the scenario, the environment (CMakeLists.txt) makes
 * it. */
#define _GNU_SOURCE /* unshare */
#include "cuda_fixture.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"

typedef struct scenario {
    const char *name;
    void (*check)(fixture *f, const char *argument);
} scenario;

/* ---- before a device is open ---- */

static lot_status enumerate(fixture *f, lot_device_list *list)
{
    memset(list, 0xff, sizeof *list);
    return f->module->enumerate(list, &f->error);
}

/* "status text": enumerate fails so, and says so. */
static void enumerate_fails(fixture *f, const char *argument)
{
    lot_device_list *list = malloc(sizeof *list);
    char status[32], wanted[96];
    lot_device *device = NULL;
    const lot_device_options options = {.ordinal = 0};

    assert_non_null(list);
    assert_int_equal(sscanf(argument, "%31s %95[^\n]", status, wanted), 2);
    assert_int_equal(enumerate(f, list), lot_status_from_name(status));
    if (strstr(f->error.text, wanted) == NULL)
        fail_msg("'%s' is not in '%s'", wanted, f->error.text);
    assert_string_equal(f->error.call, "cudaGetDeviceCount");
    assert_int_equal(f->module->open(&options, &device, &f->error), lot_status_from_name(status));
    assert_null(device);
    free(list);
}

static void no_device_is_an_answer(fixture *f, const char *argument)
{
    lot_device_list *list = malloc(sizeof *list);

    (void)argument;
    assert_non_null(list);
    WORKS(f, enumerate(f, list));
    assert_int_equal(list->count, 0);
    assert_true(list->runtime_version[0] != '\0');
    free(list);
}

/* "status text": the devices are listed, but opening one fails so, whatever step it fails in. */
static void open_fails(fixture *f, const char *argument)
{
    const lot_device_options options = {.ordinal = 0, .threads = 1};
    lot_device *device = NULL;
    char status[32], wanted[96];

    assert_int_equal(sscanf(argument, "%31s %95[^\n]", status, wanted), 2);
    assert_int_equal(f->module->open(&options, &device, &f->error), lot_status_from_name(status));
    assert_null(device);
    if (strstr(f->error.text, wanted) == NULL)
        fail_msg("'%s' is not in '%s'", wanted, f->error.text);
}

/* ---- at work ---- */

/* A small forward pass as a measurement does it, until something fails; how it ended. */
static lot_status work(fixture *f)
{
    const lot_device_module *m = f->module;
    const lot_linear linear = {
        .rows = 8, .in_features = 32, .out_features = 16, .dtype = LOT_FLOAT32, .activation = LOT_GELU_ERF};
    const lot_fill fill = {.seed = 1,
                           .tensor = LOT_TENSOR_INPUT,
                           .distribution = LOT_NEAR_NORMAL,
                           .scale = 1.0f,
                           .count = 512,
                           .dtype = LOT_FLOAT32};
    void *x = NULL, *w = NULL, *y = NULL;
    lot_plan *plan = NULL;
    lot_plan_facts facts;
    uint64_t digest;
    int finite;
    lot_status status = m->alloc(f->device, 2048, &w, &f->error);

    if (status == LOT_OK)
        status = m->build(f->device, w, &fill, &f->error);
    if (status == LOT_OK)
        status = m->alloc(f->device, 2048, &x, &f->error);
    if (status == LOT_OK)
        status = m->fill(f->device, x, &fill, &f->error);
    if (status == LOT_OK)
        status = m->plan(f->device, &linear, &plan, &facts, &f->error);
    for (int i = 0; i < 3 && status == LOT_OK; i++) {
        status = m->alloc(f->device, 2048, &y, &f->error);
        if (status == LOT_OK)
            status = m->run(f->device, plan, y, x, w, w, &f->error);
        if (status == LOT_OK)
            status = m->sync(f->device, &f->error);
        if (status == LOT_OK)
            status = m->digest(f->device, y, 512, LOT_FLOAT32, &digest, &finite, &f->error);
        m->free(f->device, y);
        y = NULL;
    }
    m->plan_free(f->device, plan);
    m->free(f->device, x);
    m->free(f->device, w);
    return status;
}

/* "status code": the work ends with this status and code, and the device can be closed. */
static void work_fails(fixture *f, const char *argument)
{
    char status[32];
    int code;

    assert_int_equal(sscanf(argument, "%31s %d", status, &code), 2);
    fixture_open(f, 0, 0);
    assert_int_equal(work(f), lot_status_from_name(status));
    assert_int_equal(f->error.code, code);
    assert_true(f->error.call[0] != '\0' && f->error.text[0] != '\0');
    assert_null(strchr(f->error.call, '('));
}

/* After a failed allocation the next launch is not blamed for it. */
static void recovers_from_out_of_memory(fixture *f, const char *argument)
{
    (void)argument;
    fixture_open(f, 0, 0);
    assert_int_equal(work(f), LOT_DEVICE_MEMORY);
    assert_string_equal(f->error.call, "cudaMallocFromPoolAsync");
    WORKS(f, work(f));
}

/* A tuning candidate that the library refuses is passed over. */
static void tuning_passes_over_refused(fixture *f, const char *argument)
{
    const lot_linear linear = {.rows = 8, .in_features = 32, .out_features = 16, .dtype = LOT_FLOAT32};
    lot_plan *plan = NULL;
    lot_plan_facts facts;

    fixture_open(f, 2, 0);
    if (strcmp(argument, "all") == 0) {
        assert_int_not_equal(f->module->plan(f->device, &linear, &plan, &facts, &f->error), LOT_OK);
        assert_null(plan);
        return;
    }
    WORKS(f, f->module->plan(f->device, &linear, &plan, &facts, &f->error));
    assert_int_equal(facts.candidates_timed, 1);
    f->module->plan_free(f->device, plan);
}

/* The first launches are slow, as those of a GPU whose clocks come up from idle: of the simulator's first
 * three algorithms the second is the fastest (tests/cuda/sim/README.md). */
static void tuning_waits_for_clocks(fixture *f, const char *argument)
{
    const lot_linear linear = {.rows = 64, .in_features = 512, .out_features = 512, .dtype = LOT_FLOAT32};
    lot_plan *plan = NULL;
    lot_plan_facts facts;

    (void)argument;
    fixture_open(f, 3, 0);
    WORKS(f, f->module->plan(f->device, &linear, &plan, &facts, &f->error));
    assert_int_equal(facts.candidates_timed, 3);
    assert_non_null(strstr(facts.algorithm, "id 67 "));
    f->module->plan_free(f->device, plan);
}

/* "status": tuning ends with it, and hands back what it took. */
static void tuning_fails(fixture *f, const char *argument)
{
    const lot_linear linear = {.rows = 8, .in_features = 32, .out_features = 16, .dtype = LOT_FLOAT32};
    lot_plan *plan = NULL;
    lot_plan_facts facts;

    fixture_open(f, 2, 0);
    assert_int_equal(f->module->plan(f->device, &linear, &plan, &facts, &f->error),
                     lot_status_from_name(argument));
    assert_null(plan);
}

static void counts_without_pools(fixture *f, const char *argument)
{
    lot_counters counters;
    void *first, *second;

    (void)argument;
    fixture_open(f, 0, 0);
    fixture_describe(f);
    assert_non_null(strstr(f->facts.allocator, "cudaMalloc, counted"));
    assert_int_equal(f->facts.granularity_bytes, -1);
    assert_non_null(fixture_reason(f, "device.granularity_bytes"));
    assert_non_null(fixture_reason(f, "device.reserve_step_bytes"));
    first = fixture_alloc(f, 1000);
    second = fixture_alloc(f, 24);
    f->module->free(f->device, first);
    WORKS(f, f->module->counters(f->device, &counters, &f->error));
    assert_int_equal(counters.allocated_bytes, 24);
    assert_int_equal(counters.reserved_bytes, 24);
    assert_int_equal(counters.allocated_peak_bytes, 1024);
    assert_int_equal(counters.reserved_peak_bytes, 1024);
    WORKS(f, f->module->reset_peaks(f->device, &f->error));
    WORKS(f, f->module->counters(f->device, &counters, &f->error));
    assert_int_equal(counters.allocated_peak_bytes, 24);
    assert_int_equal(f->module->alloc(f->device, (int64_t)1 << 50, &first, &f->error), LOT_DEVICE_MEMORY);
    assert_string_equal(f->error.call, "cudaMalloc");
    WORKS(f, work(f));
    (void)second; /* close frees it */
}

static void old_device_lacks_bfloat16(fixture *f, const char *argument)
{
    (void)argument;
    fixture_open(f, 0, 0);
    WORKS(f, f->module->supports(f->device, LOT_FLOAT16, LOT_MATH_IEEE, &f->error));
    assert_int_equal(f->module->supports(f->device, LOT_BFLOAT16, LOT_MATH_IEEE, &f->error), LOT_UNSUPPORTED);
    assert_int_equal(f->module->supports(f->device, LOT_FLOAT32, LOT_MATH_TF32, &f->error), LOT_UNSUPPORTED);
}

/* ---- NVML ---- */

/* "text": all of NVML is absent, for this reason; the rest works. */
static void works_without_nvml(fixture *f, const char *argument)
{
    lot_telemetry telemetry;
    lot_sample sample;
    size_t count = 9;

    fixture_open(f, 0, 100);
    fixture_describe(f);
    assert_non_null(fixture_reason(f, "telemetry"));
    assert_non_null(fixture_reason(f, "device.serial"));
    if (strstr(fixture_reason(f, "telemetry"), argument) == NULL)
        fail_msg("'%s' is not in '%s'", argument, fixture_reason(f, "telemetry"));
    assert_int_equal(f->facts.nvml_index, -1);
    assert_int_equal(f->facts.simulated, 1);
    assert_int_equal(strncmp(f->facts.uuid, "GPU-", 4), 0);
    WORKS(f, f->module->telemetry_begin(f->device, &f->error));
    WORKS(f, f->module->telemetry_end(f->device, &telemetry, &f->error));
    assert_true(isnan(telemetry.power_watts));
    assert_int_equal(telemetry.ecc_corrected, -1);
    WORKS(f, f->module->samples(f->device, &sample, 1, &count, &f->error));
    assert_int_equal(count, 0);
    WORKS(f, work(f));
}

/* "field [text]": only this field is absent, and its reason holds the text. */
static void one_field_is_absent(fixture *f, const char *argument)
{
    char field[64], wanted[96] = "";
    const char *reason;

    assert_true(sscanf(argument, "%63s %95[^\n]", field, wanted) >= 1);
    fixture_open(f, 0, 0);
    fixture_describe(f);
    reason = fixture_reason(f, field);
    if (reason == NULL)
        fail_msg("there is no reason for %s", field);
    if (strstr(reason, wanted) == NULL)
        fail_msg("'%s' is not in '%s'", wanted, reason);
    assert_int_equal(f->facts.mig_siblings, 0);
    WORKS(f, work(f));
}

static void old_name_of_clock_events(fixture *f, const char *argument)
{
    lot_telemetry telemetry;

    (void)argument;
    fixture_open(f, 0, 0);
    fixture_describe(f);
    assert_null(fixture_reason(f, "telemetry.clock_event_bits"));
    WORKS(f, f->module->telemetry_end(f->device, &telemetry, &f->error));
    assert_true(telemetry.clock_event_bits >= 0);
}

static void foreign_process_is_counted(fixture *f, const char *argument)
{
    (void)argument;
    fixture_open(f, 0, 0);
    fixture_describe(f);
    assert_int_equal(f->facts.foreign_processes, 1);
}

/* Runs `function` as the first process of a PID namespace, as in a container: its exit status, NO_NAMESPACE
 * where the system allows none. A process between makes the namespace, for whoever did could start no other
 * process or thread once the first one has ended. */
#define NO_NAMESPACE 77

static int in_own_namespace(int (*function)(fixture *f, const char *argument), fixture *f,
                            const char *argument)
{
    int status = 0;
    const pid_t between = fork();

    if (between == 0) {
        pid_t first;

        if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
            _exit(NO_NAMESPACE);
        first = fork();
        if (first == 0)
            _exit(function(f, argument));
        _exit(first > 0 && waitpid(first, &status, 0) == first && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                                    : 1);
    }
    assert_int_equal(waitpid(between, &status, 0), between);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int foreign_is_absent(fixture *f, const char *argument)
{
    const char *reason;

    fixture_open(f, 0, 0);
    fixture_describe(f);
    reason = fixture_reason(f, "device.foreign_processes");
    return f->facts.foreign_processes == -1 && reason != NULL && strstr(reason, argument) != NULL ? 0 : 1;
}

/* Nobody is listed there but this process. */
static void foreign_processes_are_hidden(fixture *f, const char *argument)
{
    const int status = in_own_namespace(foreign_is_absent, f, argument);

    if (status == NO_NAMESPACE)
        skip();
    assert_int_equal(status, 0);
}

static void mps_is_seen(fixture *f, const char *argument)
{
    (void)argument;
    fixture_open(f, 0, 0);
    fixture_describe(f);
    assert_int_equal(f->facts.mps_active, 1);
}

static void slice_knows_its_parent(fixture *f, const char *argument)
{
    (void)argument;
    fixture_open(f, 0, 0);
    fixture_describe(f);
    assert_int_equal(strncmp(f->facts.uuid, "MIG-", 4), 0);
    assert_int_equal(strncmp(f->facts.mig_parent_uuid, "GPU-", 4), 0);
    assert_int_equal(f->facts.mig_siblings, 1);
    assert_int_equal(f->facts.mig_enabled, 1);
    assert_true(f->facts.nvml_index >= 0 && f->facts.power_limit_watts > 0); /* the GPU's */
    WORKS(f, work(f));
}

static void slice_is_known_without_nvml(fixture *f, const char *argument)
{
    (void)argument;
    fixture_open(f, 0, 0);
    fixture_describe(f);
    assert_int_equal(strncmp(f->facts.uuid, "MIG-", 4), 0);
}

static void throttling_is_counted(fixture *f, const char *argument)
{
    lot_telemetry telemetry;
    double outer, inner;

    (void)argument;
    fixture_open(f, 0, 0);
    outer = lot_clock_seconds();
    WORKS(f, f->module->telemetry_begin(f->device, &f->error));
    inner = lot_clock_seconds();
    WORKS(f, work(f));
    inner = lot_clock_seconds() - inner;
    WORKS(f, f->module->telemetry_end(f->device, &telemetry, &f->error));
    outer = lot_clock_seconds() - outer;
    assert_true(telemetry.interval_seconds >= inner && telemetry.interval_seconds <= outer);
    assert_true(telemetry.throttle_hw_thermal_nanoseconds > 0);
    assert_int_equal(telemetry.throttle_sw_power_cap_nanoseconds, 0);
}

/* NVML alone says that the GPU has gone. */
/* "status code": a reading of the telemetry ends the device so. */
static void nvml_sees_the_loss(fixture *f, const char *argument)
{
    lot_telemetry telemetry;
    char status[32];
    int code;

    assert_int_equal(sscanf(argument, "%31s %d", status, &code), 2);
    fixture_open(f, 0, 0);
    assert_int_equal(f->module->telemetry_end(f->device, &telemetry, &f->error),
                     lot_status_from_name(status));
    assert_int_equal(f->error.code, code);
}

/* ---- */

static const scenario scenarios[] = {{"enumerate_fails", enumerate_fails},
                                     {"no_device_is_an_answer", no_device_is_an_answer},
                                     {"open_fails", open_fails},
                                     {"work_fails", work_fails},
                                     {"recovers_from_out_of_memory", recovers_from_out_of_memory},
                                     {"tuning_passes_over_refused", tuning_passes_over_refused},
                                     {"tuning_waits_for_clocks", tuning_waits_for_clocks},
                                     {"tuning_fails", tuning_fails},
                                     {"counts_without_pools", counts_without_pools},
                                     {"old_device_lacks_bfloat16", old_device_lacks_bfloat16},
                                     {"works_without_nvml", works_without_nvml},
                                     {"one_field_is_absent", one_field_is_absent},
                                     {"old_name_of_clock_events", old_name_of_clock_events},
                                     {"foreign_process_is_counted", foreign_process_is_counted},
                                     {"foreign_processes_are_hidden", foreign_processes_are_hidden},
                                     {"mps_is_seen", mps_is_seen},
                                     {"slice_knows_its_parent", slice_knows_its_parent},
                                     {"slice_is_known_without_nvml", slice_is_known_without_nvml},
                                     {"throttling_is_counted", throttling_is_counted},
                                     {"nvml_sees_the_loss", nvml_sees_the_loss}};

static const scenario *chosen;
static const char *chosen_argument;

static void test_scenario(void **state)
{
    fixture *f = fixture_load();

    (void)state;
    chosen->check(f, chosen_argument);
    fixture_free(f);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scenario)};

    for (size_t i = 0; count > 1 && i < sizeof scenarios / sizeof scenarios[0]; i++)
        if (strcmp(scenarios[i].name, arguments[1]) == 0)
            chosen = &scenarios[i];
    chosen_argument = count > 2 ? arguments[2] : "";
    if (chosen == NULL) {
        (void)fprintf(stderr, "usage: %s SCENARIO [ARGUMENT]\n", arguments[0]);
        return 2;
    }
    return cmocka_run_group_tests_name(chosen->name, tests, NULL, NULL);
}
