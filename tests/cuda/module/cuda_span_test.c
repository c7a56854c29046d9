/* What happens between the two clock readings of a timed span: the work, the timer's second mark, one wait,
 * and nothing else. The program's own phase runner and network run over the simulator, which logs every call
 * with its time; the linker puts a note in front of the program's clock (CMakeLists.txt: --wrap). */
#include "cuda_fixture.h"

#include <stdio.h>

#include "core/clock.h"
#include "measure/phase.h"
#include "measure/workload.h"

#define READINGS 64
#define CALLS    4096

double __real_lot_clock_seconds(void); /* NOLINT(bugprone-reserved-identifier): the linker's name */
double __wrap_lot_clock_seconds(void); /* NOLINT(bugprone-reserved-identifier) */

static double readings[READINGS];
static int reading_count;

/* A first reading of a span is the later of the two notes, a second one the earlier: what lies between the
 * notes lies between the readings. */
double __wrap_lot_clock_seconds(void) /* NOLINT(bugprone-reserved-identifier) */
{
    const double now = __real_lot_clock_seconds();

    if (reading_count < READINGS)
        readings[reading_count++] = now;
    return now;
}

typedef struct call {
    double seconds;
    char name[64];
} call;

typedef struct call_log {
    call calls[CALLS];
    int count;
} call_log;

static call_log *read_log(void)
{
    call_log *log = calloc(1, sizeof *log);
    FILE *file = fopen(getenv("GPULOT_CUDASIM_LOG"), "r");

    assert_non_null(log);
    assert_non_null(file);
    while (log->count < CALLS && fscanf(file, "%lf rank %*d thread %*d %63s", &log->calls[log->count].seconds,
                                        log->calls[log->count].name) == 2)
        log->count++;
    assert_true(log->count < CALLS);
    (void)fclose(file);
    return log;
}

/* Asserts that the calls between two readings are exactly `wanted`, in order. */
static void check_span(const call_log *log, double began, double ended, const char *const *wanted, int count)
{
    int seen = 0;

    assert_true(ended > began);
    for (int i = 0; i < log->count; i++) {
        const call *one = &log->calls[i];

        if (one->seconds < began || one->seconds > ended)
            continue;
        if (seen >= count || strcmp(one->name, wanted[seen]) != 0)
            fail_msg("call %d in the span is %s, not %s", seen, one->name,
                     seen < count ? wanted[seen] : "its end");
        seen++;
    }
    assert_int_equal(seen, count);
}

static lot_status forward(void *context, lot_error *error)
{
    return lot_workload_forward(context, error);
}

static lot_status load(void *context, lot_error *error)
{
    return lot_workload_load(context, error);
}

/* The readings of the span that the last phase made: lot_phase_begin reads once, then the span twice. */
static void last_span(double *began, double *ended)
{
    assert_true(reading_count >= 3);
    *began = readings[reading_count - 2];
    *ended = readings[reading_count - 1];
}

static void one_phase(fixture *f, const char *name, lot_work work, lot_workload *network, double *began,
                      double *ended)
{
    const lot_runner runner = {f->module, f->device, 0.0};
    lot_phase row;

    WORKS(f, lot_phase_begin(&runner, name, "together", 0, &row, &f->error));
    WORKS(f, lot_phase_span(&runner, work, network, 1, &row, &f->error));
    last_span(began, ended);
    WORKS(f, lot_phase_end(&runner, &row, &f->error));
    assert_true(row.host_seconds > 0 && row.device_seconds > 0);
}

static void test_a_forward_pass_holds_only_its_work(void **state)
{
    /* Launches show as two calls: the wrapper pushes a configuration before, and asks for an error after. */
    static const char *const pass[] = {"cudaMallocFromPoolAsync",
                                       "cublasLtMatmulDescSetAttribute",
                                       "cublasLtMatmul",
                                       "cudaLaunchKernel",
                                       "cudaGetLastError",
                                       "cudaMallocFromPoolAsync",
                                       "cublasLtMatmulDescSetAttribute",
                                       "cublasLtMatmul",
                                       "cudaFreeAsync",
                                       "cudaEventRecord",
                                       "cudaStreamSynchronize"};
    const lot_measure_config config = {.batch = 1, .context = 16, .width = 64, .hidden = 256, .seed = 1};
    fixture *f = fixture_load();
    double began[3], ended[3], load_began, load_ended;
    lot_plan_facts facts[2];
    lot_workload network;
    call_log *log;

    (void)state;
    fixture_open(f, 0, 0);
    lot_workload_init(&network, &config, f->module, f->device);
    one_phase(f, "model_load", load, &network, &load_began, &load_ended);
    WORKS(f, lot_workload_inputs(&network, &f->error));
    WORKS(f, lot_workload_plan(&network, &facts[0], &facts[1], &f->error));
    for (int i = 0; i < 3; i++) {
        one_phase(f, "warm_forward", forward, &network, &began[i], &ended[i]);
        lot_workload_drop(&network);
    }
    log = read_log();
    for (int i = 0; i < 3; i++)
        check_span(log, began[i], ended[i], pass, (int)(sizeof pass / sizeof pass[0]));
    /* Loading allocates four tensors and copies each once: they fit one staging buffer. */
    check_span(log, load_began, load_ended,
               (const char *const[]){"cudaMallocFromPoolAsync", "cudaEventSynchronize", "cudaMemcpyAsync",
                                     "cudaEventRecord", "cudaMallocFromPoolAsync", "cudaEventSynchronize",
                                     "cudaMemcpyAsync", "cudaEventRecord", "cudaMallocFromPoolAsync",
                                     "cudaEventSynchronize", "cudaMemcpyAsync", "cudaEventRecord",
                                     "cudaMallocFromPoolAsync", "cudaEventSynchronize", "cudaMemcpyAsync",
                                     "cudaEventRecord", "cudaEventRecord", "cudaStreamSynchronize"},
               18);
    free(log);
    lot_workload_free(&network);
    fixture_free(f);
}

/* The library's own GELU is part of the product. */
static void test_a_fused_pass_holds_no_launch(void **state)
{
    static const char *const pass[] = {"cudaMallocFromPoolAsync",
                                       "cublasLtMatmulDescSetAttribute",
                                       "cublasLtMatmul",
                                       "cudaMallocFromPoolAsync",
                                       "cublasLtMatmulDescSetAttribute",
                                       "cublasLtMatmul",
                                       "cudaFreeAsync",
                                       "cudaEventRecord",
                                       "cudaStreamSynchronize"};
    const lot_measure_config config = {
        .batch = 1, .context = 16, .width = 64, .hidden = 256, .seed = 1, .gelu = 1};
    fixture *f = fixture_load();
    lot_plan_facts facts[2];
    lot_workload network;
    double began, ended;
    call_log *log;

    (void)state;
    fixture_open(f, 0, 0);
    lot_workload_init(&network, &config, f->module, f->device);
    assert_int_equal(network.activation, LOT_GELU_TANH);
    WORKS(f, lot_workload_load(&network, &f->error));
    WORKS(f, lot_workload_inputs(&network, &f->error));
    WORKS(f, lot_workload_plan(&network, &facts[0], &facts[1], &f->error));
    one_phase(f, "warm_forward", forward, &network, &began, &ended);
    log = read_log();
    check_span(log, began, ended, pass, (int)(sizeof pass / sizeof pass[0]));
    free(log);
    lot_workload_free(&network);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_forward_pass_holds_only_its_work),
                                       cmocka_unit_test(test_a_fused_pass_holds_no_launch)};

    return cmocka_run_group_tests_name("cuda span", tests, NULL, NULL);
}
