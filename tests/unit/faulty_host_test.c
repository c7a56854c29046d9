/* The host device with faults does what its comment says, each time in a process of its own: faults are read
 * when the module is loaded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "gpu/generator.h"
#include "gpu/loader.h"
#include "measure/workload.h"

#define FAULTY TEST_MODULE_DIR "/../../tests/faulty_host"
#define PASSES 4

/* What a child saw: the digest of each pass, whether it was finite, the first failure. */
typedef struct sight {
    uint64_t digest[PASSES];
    int finite[PASSES];
    float value[PASSES]; /* element 5 of the output */
    double seconds;
    lot_status status;
    int step; /* 0 open, 1 load, 2 inputs, 3 plan, 4 + k pass k, 4 + PASSES the end */
    char uuid[48];
    char text[512];
} sight;

static lot_status measure(const lot_device_module *module, lot_device *device, sight *s, lot_error *error)
{
    lot_workload w = {.module = module,
                      .device = device,
                      .seed = 1,
                      .rows = 16,
                      .width = 64,
                      .hidden = 256,
                      .activation = LOT_GELU_ERF};
    lot_plan_facts facts[2];
    lot_status status;
    double start;

    s->step = 1;
    status = lot_workload_load(&w, error);
    if (status == LOT_OK && ++s->step > 0)
        status = lot_workload_inputs(&w, error);
    if (status == LOT_OK && ++s->step > 0)
        status = lot_workload_plan(&w, &facts[0], &facts[1], error);
    start = lot_clock_seconds();
    for (int pass = 0; pass < PASSES && status == LOT_OK; pass++) {
        s->step++;
        status = lot_workload_forward(&w, error);
        if (status == LOT_OK) {
            memcpy(&s->value[pass], (const float *)w.output + 5, sizeof s->value[pass]);
            status = module->digest(device, w.output, w.rows * w.width * 4, LOT_FLOAT32, &s->digest[pass],
                                    &s->finite[pass], error);
        }
        lot_workload_drop(&w);
    }
    s->seconds = lot_clock_seconds() - start;
    if (status == LOT_OK)
        s->step++;
    lot_workload_free(&w);
    return status;
}

/* The child: measures, and sends what it saw. Its stderr goes to the file `log`. */
static void child(int to, const char *log)
{
    static lot_device_list list;
    const lot_device_options options = {.threads = 1};
    const lot_device_module *module = NULL;
    lot_device *device = NULL;
    lot_error error = {.text = ""};
    sight s = {.step = 0};

    if (freopen(log, "w", stderr) == NULL)
        _exit(3);
    (void)setenv("GPULOT_MODULE_DIR", FAULTY, 1);
    s.status = lot_loader_load("host", &module, &error);
    if (s.status == LOT_OK)
        s.status = module->enumerate(&list, &error);
    if (s.status == LOT_OK) {
        memcpy(s.uuid, list.devices[0].uuid, sizeof s.uuid);
        s.status = module->open(&options, &device, &error);
    }
    if (s.status == LOT_OK)
        s.status = measure(module, device, &s, &error);
    if (module != NULL)
        module->close(device);
    memcpy(s.text, error.text, sizeof s.text);
    (void)fflush(stderr);
    _exit(write(to, &s, sizeof s) == (ssize_t)sizeof s ? 0 : 3);
}

typedef struct setting {
    const char *name, *value;
} setting;

/* Runs a child with up to three variables set. Returns its wait status; what it wrote to stderr goes to
 * `log`. */
static int run_child(const setting settings[3], sight *s, char *log, size_t size)
{
    char path[] = "/tmp/faulty_host_test.XXXXXX";
    const int file = mkstemp(path);
    int ends[2], status = 0;
    ssize_t got;
    pid_t pid;

    assert_true(file >= 0);
    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        for (int i = 0; i < 3 && settings[i].name != NULL; i++)
            (void)setenv(settings[i].name, settings[i].value, 1);
        child(ends[1], path);
    }
    (void)close(ends[1]);
    memset(s, 0, sizeof *s);
    got = read(ends[0], s, sizeof *s);
    (void)close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status))
        assert_true(got == (ssize_t)sizeof *s);
    got = read(file, log, size - 1);
    log[got > 0 ? got : 0] = '\0';
    (void)close(file);
    (void)unlink(path);
    return status;
}

static sight see(const setting settings[3])
{
    char log[512];
    sight s;

    assert_int_equal(run_child(settings, &s, log, sizeof log), 0);
    if (log[0] != '\0')
        fail_msg("on stderr: %s", log);
    return s;
}

static void test_without_faults_it_is_the_host_device(void **state)
{
    const sight s = see((const setting[3]){{NULL, NULL}});

    (void)state;
    assert_int_equal(s.status, LOT_OK);
    assert_int_equal(s.step, 4 + PASSES);
    for (int pass = 0; pass < PASSES; pass++) {
        assert_true(s.digest[pass] == s.digest[0] && s.digest[0] != 0);
        assert_int_equal(s.finite[pass], 1);
    }
}

static void test_one_bit_in_one_pass(void **state)
{
    const sight clean = see((const setting[3]){{NULL, NULL}});
    const sight s = see((const setting[3]){{"GPULOT_FAULT_OUTPUT_BIT", "2:5:22"}});

    (void)state;
    assert_int_equal(s.status, LOT_OK);
    for (int pass = 0; pass < PASSES; pass++) {
        const uint32_t difference = lot_float_bits(s.value[pass]) ^ lot_float_bits(clean.value[pass]);

        assert_int_equal(difference, pass == 2 ? 1u << 22 : 0);
        assert_int_equal(s.digest[pass] == clean.digest[pass], pass != 2);
    }
}

static void test_nan_in_one_pass(void **state)
{
    const sight s = see((const setting[3]){{"GPULOT_FAULT_OUTPUT_NAN", "1:5"}});

    (void)state;
    for (int pass = 0; pass < PASSES; pass++) {
        assert_int_equal(s.finite[pass], pass != 1);
        assert_int_equal(isnan(s.value[pass]) != 0, pass == 1);
    }
}

static void test_a_weight_stays_wrong(void **state)
{
    const sight clean = see((const setting[3]){{NULL, NULL}});

    (void)state;
    for (int tensor = 1; tensor <= 5; tensor++) {
        char value[32];
        sight s;

        (void)snprintf(value, sizeof value, "%d:7:30", tensor);
        s = see((const setting[3]){{"GPULOT_FAULT_WEIGHT_BIT", value}});
        assert_int_equal(s.status, LOT_OK);
        assert_true(s.digest[0] != clean.digest[0] && s.digest[PASSES - 1] == s.digest[0]);
    }
}

static void test_calls_fail_where_asked(void **state)
{
    static const struct {
        const char *value;
        lot_status status;
        int step;
    } cases[] = {{"open:0:device-busy", LOT_DEVICE_BUSY, 0},
                 {"alloc:0", LOT_DEVICE_MEMORY, 1},
                 {"alloc:4", LOT_DEVICE_MEMORY, 2},
                 {"build:2", LOT_DEVICE_FAULT, 1},
                 {"fill:0:device-lost", LOT_DEVICE_LOST, 2},
                 {"plan:1", LOT_DEVICE_FAULT, 3},
                 {"run:0", LOT_DEVICE_FAULT, 4},
                 {"run:5:device-ecc", LOT_DEVICE_ECC, 6}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const sight s = see((const setting[3]){{"GPULOT_FAULT_CALL", cases[i].value}});

        assert_int_equal(s.status, cases[i].status);
        assert_int_equal(s.step, cases[i].step);
        assert_non_null(strstr(s.text, "made for a test"));
    }
}

static void test_kill(void **state)
{
    char log[512];
    sight s;
    const int status =
        run_child((const setting[3]){{"GPULOT_FAULT_CALL", "run:2:kill"}}, &s, log, sizeof log);

    (void)state;
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

/* Ten thousand percent: no machine is so busy that the wait does not show. */
static void test_slow(void **state)
{
    const sight clean = see((const setting[3]){{NULL, NULL}});
    const sight s = see((const setting[3]){{"GPULOT_FAULT_SLOW", "1000000:1"}});

    (void)state;
    assert_int_equal(s.status, LOT_OK);
    assert_true(s.digest[3] == clean.digest[3]);
    assert_true(s.seconds > 0.010); /* six runs of a microsecond or more, each ten thousand times as long */
}

static void test_only_on_some_ranks(void **state)
{
    const setting here[3] = {
        {"GPULOT_FAULT_CALL", "run:0"}, {"GPULOT_FAULT_RANKS", "2,11"}, {"OMPI_COMM_WORLD_RANK", "11"}};
    const setting elsewhere[3] = {
        {"GPULOT_FAULT_CALL", "run:0"}, {"GPULOT_FAULT_RANKS", "2,11"}, {"OMPI_COMM_WORLD_RANK", "1"}};

    (void)state;
    assert_int_equal(see(here).status, LOT_DEVICE_FAULT);
    assert_int_equal(see(elsewhere).status, LOT_OK);
}

static void test_uuid_of_a_rank(void **state)
{
    const sight clean = see((const setting[3]){{NULL, NULL}});
    const sight s = see((const setting[3]){{"GPULOT_FAULT_OWN_UUID", "1"}, {"OMPI_COMM_WORLD_RANK", "37"}});
    const size_t length = strlen(clean.uuid);

    (void)state;
    assert_int_equal(strlen(s.uuid), length);
    assert_string_equal(s.uuid + length - 4, "0037");
    assert_memory_equal(s.uuid, clean.uuid, length - 4);
}

static void test_what_did_not_happen_is_said(void **state)
{
    static const setting cases[] = {
        {"GPULOT_FAULT_OUTPUT_BIT", "99:5:22"}, {"GPULOT_FAULT_OUTPUT_BIT", "0:99999:22"},
        {"GPULOT_FAULT_OUTPUT_BIT", "0:0:32"},  {"GPULOT_FAULT_WEIGHT_BIT", "6:0:0"},
        {"GPULOT_FAULT_CALL", "run:99"},        {"GPULOT_FAULT_SLOW", "10:99"}};
    char log[512];
    sight s;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(run_child((const setting[3]){cases[i]}, &s, log, sizeof log), 0);
        assert_int_equal(s.status, LOT_OK);
        assert_non_null(strstr(log, cases[i].name));
        assert_non_null(strstr(log, "did not happen"));
    }
}

static void test_what_cannot_be_read_is_refused(void **state)
{
    static const setting cases[] = {
        {"GPULOT_FAULT_OUTPUT_BIT", "2:5"},  {"GPULOT_FAULT_OUTPUT_BIT", "2:5:1:1"},
        {"GPULOT_FAULT_OUTPUT_NAN", "-1:5"}, {"GPULOT_FAULT_CALL", "run"},
        {"GPULOT_FAULT_CALL", ""},           {"GPULOT_FAULT_OWN_UUID", "yes"},
        {"GPULOT_FAULT_OUTPUTBIT", "2:5:1"}, {"GPULOT_FAULT_SLOW", "ten"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const sight s = see((const setting[3]){cases[i]});

        assert_int_equal(s.status, LOT_USAGE);
        assert_non_null(strstr(s.text, cases[i].name));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_faults_it_is_the_host_device),
        cmocka_unit_test(test_one_bit_in_one_pass),
        cmocka_unit_test(test_nan_in_one_pass),
        cmocka_unit_test(test_a_weight_stays_wrong),
        cmocka_unit_test(test_calls_fail_where_asked),
        cmocka_unit_test(test_kill),
        cmocka_unit_test(test_slow),
        cmocka_unit_test(test_only_on_some_ranks),
        cmocka_unit_test(test_uuid_of_a_rank),
        cmocka_unit_test(test_what_did_not_happen_is_said),
        cmocka_unit_test(test_what_cannot_be_read_is_refused),
    };

    return cmocka_run_group_tests_name("faulty_host", tests, NULL, NULL);
}
