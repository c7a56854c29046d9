/* How often `check` calls a GPU unstable whose passes change, by kind of change and number of rows. Prints
 * the table of docs/measurements/power.md, "GPUs that are not steady".
 *
 *     fault_bench [rentals]      1000 without an argument
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/check.h"
#include "support/synthetic_run.h"

#define GPUS    8
#define FAULTY  1
#define SECONDS 0.02
#define SPREAD  0.005
#define NOISE   0.003
#define SEED    20260101

/* What the fault adds to the logarithm of the time of row k of n. */
typedef double (*fault)(synthetic_random *random, size_t k, size_t n);

static double noisy(synthetic_random *random, size_t k, size_t n)
{
    (void)k, (void)n;
    return 0.05 * synthetic_normal(random);
}

static double clock_of_3(synthetic_random *random, size_t k, size_t n)
{
    (void)random, (void)n;
    return k % 10 < 4 ? 0.03 : 0;
}

static double clock_of_5(synthetic_random *random, size_t k, size_t n)
{
    return 5.0 / 3.0 * clock_of_3(random, k, n);
}

static double stall_alike(synthetic_random *random, size_t k, size_t n)
{
    (void)random, (void)n;
    return k % 4 == 3 ? 0.1 : 0;
}

static double stall_differing(synthetic_random *random, size_t k, size_t n)
{
    (void)n;
    return k % 4 == 3 ? 0.3 + 0.7 * synthetic_uniform(random) : 0;
}

static double drift_of_3(synthetic_random *random, size_t k, size_t n)
{
    (void)random;
    return 0.03 * (double)k / (double)(n - 1);
}

static double drift_of_5(synthetic_random *random, size_t k, size_t n)
{
    return 5.0 / 3.0 * drift_of_3(random, k, n);
}

/* Most of it in the first third, as of a GPU that grows warm. */
static double warming_by_3(synthetic_random *random, size_t k, size_t n)
{
    (void)random;
    return 0.03 * (1 - exp(-5.0 * (double)k / (double)n));
}

static double warming_by_5(synthetic_random *random, size_t k, size_t n)
{
    return 5.0 / 3.0 * warming_by_3(random, k, n);
}

static const struct {
    const char *name;
    fault make;
} kinds[] = {
    {"two clocks, 3 % apart, 4 rows of 10", clock_of_3},
    {"two clocks, 5 % apart, 4 rows of 10", clock_of_5},
    {"every fourth row late by 10 %", stall_alike},
    {"every fourth row late by 35 to 170 %", stall_differing},
    {"drift of 3 %", drift_of_3},
    {"drift of 5 %", drift_of_5},
    {"warming up by 3 %", warming_by_3},
    {"warming up by 5 %", warming_by_5},
    {"noise of 5 %", noisy},
};

/* Draws the rows of one phase of one GPU anew. */
static void draw(lot_run *run, size_t gpu, const char *phase, fault make, synthetic_random *random)
{
    const double own = SPREAD * synthetic_normal(random);
    size_t count, n = 0, k = 0;
    lot_phase *rows = synthetic_run_rows(run, gpu, &count);

    for (size_t i = 0; i < count; i++)
        n += strcmp(rows[i].phase, phase) == 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].phase, phase) != 0)
            continue;
        rows[i].device_seconds =
            SECONDS * (double)rows[i].passes *
            exp(own + NOISE * synthetic_normal(random) + (make != NULL ? make(random, k, n) : 0));
        rows[i].host_seconds = rows[i].device_seconds + 2e-6;
        k++;
    }
}

static bool is_unstable(const lot_run *run)
{
    const lot_check_options options = {.prior = 0.015, .level = 0.01, .soak_passes = 1};
    lot_observed_run seen;
    lot_check_result result;
    lot_error error;
    bool found;

    memset(&seen, 0, sizeof seen);
    synthetic_run_observe(run, &seen);
    if (lot_check(&seen, 1, &options, &result, &error) != LOT_OK) {
        (void)fprintf(stderr, "fault_bench: %s\n", error.text);
        exit(3);
    }
    found = (result.devices[FAULTY].verdicts & LOT_VERDICT_BIT(LOT_VERDICT_UNSTABLE)) != 0;
    lot_check_result_free(&result);
    lot_observed_free(&seen);
    return found;
}

/* Share of rentals in which the fault is found, in so many rows of the phase. */
static double found(fault make, const char *phase, size_t rows, long rentals)
{
    const bool soak = strcmp(phase, "soak") == 0;
    synthetic_random random = {SEED};
    long count = 0;
    lot_run run;

    synthetic_run_make(&run, GPUS, soak ? 5 : (int64_t)rows, SECONDS, 1);
    for (size_t gpu = 0; soak && gpu < GPUS; gpu++)
        (void)synthetic_run_append(&run, gpu, "soak", "together", rows);
    for (long i = 0; i < rentals; i++) {
        for (size_t gpu = 0; gpu < GPUS; gpu++)
            draw(&run, gpu, phase, gpu == FAULTY ? make : NULL, &random);
        count += is_unstable(&run);
    }
    lot_run_free(&run);
    return (double)count / (double)rentals;
}

int main(int argc, char **argv)
{
    const long rentals = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;

    if (rentals < 1) {
        (void)fprintf(stderr, "fault_bench: 1 rental and more\n");
        return 2;
    }
    printf("| fault | 10 repeats | 50 repeats | soak of 200 rows |\n|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        printf("| %s | %.1f %% | %.1f %% | %.1f %% |\n", kinds[i].name,
               100 * found(kinds[i].make, "warm_forward", 10, rentals),
               100 * found(kinds[i].make, "warm_forward", 50, rentals),
               100 * found(kinds[i].make, "soak", 200, rentals));
    return 0;
}
