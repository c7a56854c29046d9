/* How often `check` accuses an honest GPU and `compare` sees a change that is none, where the noise of the
 * repeats is not normal or not independent. Prints the tables of docs/measurements/power.md from
 * "Noise that is not normal" on.
 *
 *     noise_bench [rentals [repeats]]      2000 and 10 without arguments; of 64 GPUs an eighth of the rentals
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/baseline.h"
#include "analysis/check.h"
#include "analysis/compare.h"
#include "support/synthetic_run.h"

#define MOST_REPEATS 100
#define MOST_GPUS    64
#define SPREAD       0.01
#define DAY_NOISE    0.01 /* of a GPU from one day to the next */
#define MOST_DAYS    9
#define SEED         20260101

/* Fills `log_ratio` with the noise of one GPU's repeats, as logarithms of their ratio to its speed. */
typedef void (*noise_maker)(synthetic_random *random, size_t gpu, double *log_ratio, size_t count);

static void normal(synthetic_random *random, size_t gpu, double *e, size_t count)
{
    (void)gpu;
    for (size_t i = 0; i < count; i++)
        e[i] = 0.005 * synthetic_normal(random);
}

/* Each repeat keeps nine tenths of the deviation of the one before. */
static void autocorrelated(synthetic_random *random, size_t gpu, double *e, size_t count)
{
    (void)gpu;
    for (size_t i = 0; i < count; i++)
        e[i] = i == 0 ? 0.005 * synthetic_normal(random)
                      : 0.9 * e[i - 1] + 0.005 * sqrt(1 - 0.81) * synthetic_normal(random);
}

/* Student's t with 2 degrees of freedom, which has no variance. */
static void heavy(synthetic_random *random, size_t gpu, double *e, size_t count)
{
    (void)gpu;
    for (size_t i = 0; i < count; i++)
        e[i] = 0.003 * synthetic_normal(random) / sqrt(-log(synthetic_uniform(random)));
}

/* One pass in twenty comes late, by 10 % in the mean. */
static void delayed(synthetic_random *random, size_t gpu, double *e, size_t count)
{
    (void)gpu;
    for (size_t i = 0; i < count; i++) {
        e[i] = 0.003 * synthetic_normal(random);
        if (synthetic_uniform(random) < 0.05)
            e[i] -= 0.1 * log(synthetic_uniform(random));
    }
}

/* Every GPU becomes 1.5 % slower from the first to the last repeat. */
static void warming(synthetic_random *random, size_t gpu, double *e, size_t count)
{
    (void)gpu;
    for (size_t i = 0; i < count; i++)
        e[i] = 0.003 * synthetic_normal(random) + 0.015 * (double)i / (double)(count - 1);
}

/* The first GPU's repeats vary ten times as much as those of the others. */
static void one_noisy(synthetic_random *random, size_t gpu, double *e, size_t count)
{
    for (size_t i = 0; i < count; i++)
        e[i] = (gpu == 0 ? 0.05 : 0.005) * synthetic_normal(random);
}

static const struct {
    const char *name;
    noise_maker make;
    double seconds; /* of a pass */
    double step;    /* of the clock */
} kinds[] = {
    {"normal, 0.5 %", normal, 0.02, 0},
    {"autocorrelated 0.9, 0.5 %", autocorrelated, 0.02, 0},
    {"Student's t, 2 degrees, 0.3 %", heavy, 0.02, 0},
    {"one in twenty late by 10 %", delayed, 0.02, 0},
    {"warming up by 1.5 %", warming, 0.02, 0},
    {"one GPU of 5 %", one_noisy, 0.02, 0},
    {"10 us on a clock of 0.5 us", normal, 10e-6, 0.5e-6},
};

typedef struct tally {
    long slow, unstable;     /* rentals in which `check` says so of any GPU */
    long changed, undecided; /* in which `compare` says so of two days that differ by noise */
} tally;

static void must(lot_status status, const lot_error *error)
{
    if (status == LOT_OK)
        return;
    (void)fprintf(stderr, "noise_bench: %s\n", error->text);
    exit(3);
}

/* The difference of two readings of a clock that goes by steps. */
static double read_clock(synthetic_random *random, double seconds, double step)
{
    const double begin = step * synthetic_uniform(random);

    return step > 0 ? step * fmax(1, floor((begin + seconds) / step)) : seconds;
}

/* One day of a rental whose GPUs have these speeds. */
static void measure(lot_run *run, size_t kind, size_t day, const double *seconds, synthetic_random *random,
                    lot_observed_run *seen)
{
    const size_t repeats = (size_t)run->devices[0].synthetic_model.repeats;
    double log_ratio[MOST_REPEATS];

    (void)snprintf(run->header.run_id, sizeof run->header.run_id, "day %zu", day);
    for (size_t gpu = 0; gpu < run->device_count; gpu++) {
        memcpy(run->devices[gpu].identity.run_id, run->header.run_id, sizeof run->header.run_id);
        kinds[kind].make(random, gpu, log_ratio, repeats);
        for (size_t k = 0; k < repeats; k++) {
            lot_phase *row = synthetic_run_warm(run, gpu, k);

            row->device_seconds = read_clock(random, seconds[gpu] * exp(log_ratio[k]), kinds[kind].step);
            row->host_seconds = row->device_seconds + 2e-6;
        }
    }
    memset(seen, 0, sizeof *seen);
    seen->keep_repeats = true;
    synthetic_run_observe(run, seen);
}

static void by_check(const lot_observed_run *seen, tally *t)
{
    const lot_check_options options = {.prior = 0.015, .level = 0.01, .soak_passes = 100};
    lot_check_result result;
    lot_error error;
    unsigned verdicts = 0;

    must(lot_check(seen, 1, &options, &result, &error), &error);
    for (size_t i = 0; i < result.device_count; i++)
        verdicts |= result.devices[i].verdicts;
    t->slow += (verdicts & LOT_VERDICT_BIT(LOT_VERDICT_SLOW)) != 0;
    t->unstable += (verdicts & LOT_VERDICT_BIT(LOT_VERDICT_UNSTABLE)) != 0;
    lot_check_result_free(&result);
}

/* The last of the days against those before. */
static void by_compare(const lot_observed_run *days, size_t count, double tolerance, tally *t)
{
    const lot_compare_options options = {.tolerance = tolerance, .level = 0.01};
    lot_baseline before, after;
    lot_compare_result result;
    lot_error error;
    int changed = 0, undecided = 0;

    must(lot_baseline_make(days, count - 1, &before, &error), &error);
    must(lot_baseline_make(&days[count - 1], 1, &after, &error), &error);
    must(lot_compare(&before, &after, &options, &result, &error), &error);
    for (size_t i = 0; i < result.change_count; i++) {
        changed |= result.changes[i].kind == LOT_CHANGE_SLOWER || result.changes[i].kind == LOT_CHANGE_FASTER;
        undecided |= result.changes[i].kind == LOT_CHANGE_UNDECIDED;
    }
    t->changed += changed;
    t->undecided += undecided;
    lot_compare_result_free(&result);
    lot_baseline_free(&before);
    lot_baseline_free(&after);
}

/* Many rentals of one kind, all GPUs of them honest. */
static void rent(size_t kind, size_t gpus, long rentals, long repeats)
{
    synthetic_random random = {SEED};
    tally t = {0, 0, 0, 0};
    double seconds[MOST_GPUS];
    lot_observed_run days[2];
    lot_run run;

    synthetic_run_make(&run, gpus, repeats, kinds[kind].seconds, 1);
    for (long i = 0; i < rentals; i++) {
        for (size_t gpu = 0; gpu < gpus; gpu++)
            seconds[gpu] = kinds[kind].seconds * exp(SPREAD * synthetic_normal(&random));
        for (size_t day = 0; day < 2; day++)
            measure(&run, kind, day, seconds, &random, &days[day]);
        by_check(&days[0], &t);
        by_compare(days, 2, 0.03, &t);
        lot_observed_free(&days[0]);
        lot_observed_free(&days[1]);
    }
    printf("| %s | %zu | %.2f %% | %.2f %% | %.2f %% | %.2f %% |\n", kinds[kind].name, gpus,
           100.0 * (double)t.slow / (double)rentals, 100.0 * (double)t.unstable / (double)rentals,
           100.0 * (double)t.changed / (double)rentals, 100.0 * (double)t.undecided / (double)rentals);
    (void)fflush(stdout);
    lot_run_free(&run);
}

/* Many rentals of whose archives one is compared with a baseline of those before, without a tolerance. */
static void keep(size_t archives, size_t gpus, long rentals)
{
    synthetic_random random = {SEED};
    tally t = {0, 0, 0, 0};
    double speeds[MOST_GPUS], seconds[MOST_GPUS];
    lot_observed_run days[MOST_DAYS];
    lot_run run;

    synthetic_run_make(&run, gpus, 10, kinds[0].seconds, 0);
    for (long i = 0; i < rentals; i++) {
        for (size_t gpu = 0; gpu < gpus; gpu++)
            speeds[gpu] = kinds[0].seconds * exp(SPREAD * synthetic_normal(&random));
        for (size_t day = 0; day <= archives; day++) {
            for (size_t gpu = 0; gpu < gpus; gpu++)
                seconds[gpu] = speeds[gpu] * exp(DAY_NOISE * synthetic_normal(&random));
            measure(&run, 0, day, seconds, &random, &days[day]);
        }
        by_compare(days, archives + 1, 0, &t);
        for (size_t day = 0; day <= archives; day++)
            lot_observed_free(&days[day]);
    }
    printf("| %zu | %zu | %.2f %% | %.2f %% |\n", archives, gpus, 100.0 * (double)t.changed / (double)rentals,
           100.0 * (double)t.undecided / (double)rentals);
    (void)fflush(stdout);
    lot_run_free(&run);
}

int main(int argc, char **argv)
{
    static const size_t gpus[] = {2, 3, 8, MOST_GPUS};
    const long rentals = argc > 1 ? strtol(argv[1], NULL, 10) : 2000;
    const long repeats = argc > 2 ? strtol(argv[2], NULL, 10) : 10;

    if (rentals < 8 || repeats < 2 || repeats > MOST_REPEATS) {
        (void)fprintf(stderr, "noise_bench: 8 rentals and more, 2 to %d repeats\n", MOST_REPEATS);
        return 2;
    }
    printf("%ld rentals each, %ld of 64 GPUs, %ld repeats, spread 1 %%, seed %d\n\n", rentals, rentals / 8,
           repeats, SEED);
    printf("| noise of a repeat | GPUs | check: slow | unstable | compare: changed | undecided |\n"
           "|---|---|---|---|---|---|\n");
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++)
        for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++)
            rent(kind, gpus[i], gpus[i] == MOST_GPUS ? rentals / 8 : rentals, repeats);
    printf("\n| archives before | GPUs | changed | undecided |\n|---|---|---|---|\n");
    for (size_t archives = 2; archives < MOST_DAYS; archives += archives < 3 ? 1 : archives < 5 ? 2 : 3)
        for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++)
            keep(archives, gpus[i], gpus[i] == MOST_GPUS ? rentals / 8 : rentals);
    return 0;
}
