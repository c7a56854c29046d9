/* How often `check` finds a slow GPU and how often it accuses an honest one, beside published rules, over
 * rentals with a known truth. Prints the tables of docs/measurements/power.md.
 *
 *     power_bench [rentals]      10,000 without an argument */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/check.h"
#include "core/clock.h"
#include "core/stats.h"
#include "support/synthetic_run.h"

#define REPEATS   5
#define SECONDS   0.02
#define NOISE     0.005 /* of one repeat */
#define MOST_GPUS 64
#define SEED      20260101

/* ---- the rules ---- */

/* A rule says of each GPU of a rental whether it is slow, from the rates of its median repeats. */
typedef void (*rule)(const double *rates, size_t count, int *slow);

static void best_minus_10(const double *rates, size_t count, int *slow)
{
    double best = 0;

    for (size_t i = 0; i < count; i++)
        best = fmax(best, rates[i]);
    for (size_t i = 0; i < count; i++)
        slow[i] = rates[i] < 0.9 * best;
}

static void mean_minus_10(const double *rates, size_t count, int *slow)
{
    double mean = 0;

    for (size_t i = 0; i < count; i++)
        mean += rates[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        slow[i] = rates[i] < 0.9 * mean;
}

static void mad_or_10(const double *rates, size_t count, int *slow)
{
    const double median = lot_stats_median(rates, count);
    const double limit = fmax(synthetic_mad(rates, count), 0.1 * median);

    for (size_t i = 0; i < count; i++)
        slow[i] = median - rates[i] > limit;
}

/* B. Iglewicz, D. C. Hoaglin, "How to Detect and Handle Outliers", ASQC 1993. */
static void modified_z(const double *rates, size_t count, int *slow)
{
    const double median = lot_stats_median(rates, count);
    const double mad = synthetic_mad(rates, count);

    for (size_t i = 0; i < count; i++)
        slow[i] = mad > 0 && 0.6745 * (median - rates[i]) / mad > 3.5;
}

static const struct {
    const char *name;
    rule judge;
} rules[] = {
    {"best - 10 %", best_minus_10},
    {"mean - 10 %", mean_minus_10},
    {"max(MAD, 10 % of median)", mad_or_10},
    {"modified z > 3.5", modified_z},
};

#define RULE_COUNT (sizeof rules / sizeof rules[0])

/* ---- one rental ---- */

typedef struct tally {
    long hits;
    long false_alarms; /* rentals in which an honest GPU was accused */
} tally;

static void die(const char *what)
{
    (void)fprintf(stderr, "power_bench: %s\n", what);
    exit(3);
}

static int64_t slowest_index(const lot_check_result *result, int64_t rank)
{
    for (size_t i = 0; i < result->device_count; i++)
        if (result->devices[i].rank == rank)
            return (int64_t)i;
    die("a rank is missing in the result");
    return -1;
}

static void must(lot_status status, const lot_error *error)
{
    if (status != LOT_OK)
        die(error->text);
}

/* Only GPU 0 is another one from case to case: the others are reduced once a rental. */
static void observe_again(lot_observed_run *observed, lot_run *run)
{
    lot_error error;
    size_t count;
    const lot_phase *rows = synthetic_run_rows(run, 0, &count);

    lot_observation_free(&observed->observations[0]);
    must(lot_observe(rows, count, run->devices[0].verification.digest, false, &observed->observations[0],
                     &error),
         &error);
}

/* The real check over the run; *detectable as it prints it. GPU 0 is slow where `slow`. */
static void by_check(const lot_observed_run *observed, int slow, tally *t, double *detectable)
{
    const lot_check_options options = {.prior = 0.015, .level = 0.01, .soak_passes = 100};
    lot_check_result result;
    lot_error error;
    int accused = 0;
    int64_t first;

    must(lot_check(observed, 1, &options, &result, &error), &error);
    first = slowest_index(&result, 0);
    for (size_t i = 0; i < result.device_count; i++)
        accused |= result.devices[i].verdicts != 0 && !(slow && (int64_t)i == first);
    t->false_alarms += accused;
    t->hits += slow && (result.devices[first].verdicts & LOT_VERDICT_BIT(LOT_VERDICT_SLOW)) != 0;
    *detectable = result.comparisons[0].detectable;
    lot_check_result_free(&result);
}

static void by_rules(lot_run *run, int slow, tally *t)
{
    double rates[MOST_GPUS];
    int flags[MOST_GPUS];

    for (size_t i = 0; i < run->device_count; i++) {
        double seconds[REPEATS];

        for (size_t k = 0; k < REPEATS; k++)
            seconds[k] = synthetic_run_warm(run, i, k)->device_seconds;
        rates[i] = 1 / lot_stats_median(seconds, REPEATS);
    }
    for (size_t r = 0; r < RULE_COUNT; r++) {
        int accused = 0;

        rules[r].judge(rates, run->device_count, flags);
        for (size_t i = 0; i < run->device_count; i++)
            accused |= flags[i] && !(slow && i == 0);
        t[r].false_alarms += accused;
        t[r].hits += slow && flags[0];
    }
}

/* ---- one line of the tables ---- */

/* What was counted: an honest rental, one GPU 8 % slow, 5 % slow, and slow by what check says it would find
 * with 95 % probability. */
enum { HONEST, SLOW_8, SLOW_5, DETECTABLE, CASES };

typedef struct line {
    size_t gpus;
    double spread;
    long rentals;
    double detectable; /* mean of what check printed */
    tally check[CASES];
    tally rules[CASES][RULE_COUNT];
} line;

static void count_case(line *l, lot_run *run, lot_observed_run *observed, int which, double share,
                       double *detectable)
{
    const int slow = which != HONEST;

    if (slow)
        synthetic_run_slow(run, 0, share);
    observe_again(observed, run);
    by_check(observed, slow, &l->check[which], detectable);
    if (which != DETECTABLE)
        by_rules(run, slow, l->rules[which]);
    if (slow)
        synthetic_run_slow(run, 0, share / (share - 1)); /* exactly undone up to rounding */
}

static void measure(line *l)
{
    synthetic_random random = {SEED + l->gpus * 1000 + (uint64_t)(l->spread * 1e5)};
    lot_run run;

    synthetic_run_make(&run, l->gpus, REPEATS, SECONDS, 0);
    for (long r = 0; r < l->rentals; r++) {
        double detectable, unused;
        lot_observed_run observed;

        synthetic_run_draw(&run, &random, SECONDS, l->spread, NOISE);
        lot_observed_init(&observed);
        synthetic_run_observe(&run, &observed);
        count_case(l, &run, &observed, SLOW_8, 0.08, &unused);
        count_case(l, &run, &observed, SLOW_5, 0.05, &unused);
        count_case(l, &run, &observed, HONEST, 0, &detectable);
        l->detectable += detectable / (double)l->rentals;
        /* Another GPU in the place of one whose time had a say in what was printed. */
        synthetic_run_draw_one(&run, 0, &random, SECONDS, l->spread, NOISE);
        count_case(l, &run, &observed, DETECTABLE, detectable, &unused);
        lot_observed_free(&observed);
    }
    lot_run_free(&run);
}

static double percent(long count, const line *l)
{
    return 100.0 * (double)count / (double)l->rentals;
}

static void print_lines(const line *lines, size_t count)
{
    printf("| GPUs | spread | rule | false alarms per rental | 8 %% slow found | 5 %% slow found |\n"
           "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < count; i++) {
        const line *l = &lines[i];

        printf("| %zu | %.1f %% | **gpulot check** | %.2f %% | %.2f %% | %.2f %% |\n", l->gpus,
               100 * l->spread, percent(l->check[HONEST].false_alarms, l), percent(l->check[SLOW_8].hits, l),
               percent(l->check[SLOW_5].hits, l));
        for (size_t r = 0; r < RULE_COUNT; r++)
            printf("| %zu | %.1f %% | %s | %.2f %% | %.2f %% | %.2f %% |\n", l->gpus, 100 * l->spread,
                   rules[r].name, percent(l->rules[HONEST][r].false_alarms, l),
                   percent(l->rules[SLOW_8][r].hits, l), percent(l->rules[SLOW_5][r].hits, l));
    }
    printf("\n"
           "| GPUs | spread | detectable as printed, mean | found when that slow | honest GPUs accused "
           "beside an 8 %% slow one |\n"
           "|---|---|---|---|---|\n");
    for (size_t i = 0; i < count; i++)
        printf("| %zu | %.1f %% | %.2f %% | %.2f %% | %.2f %% |\n", lines[i].gpus, 100 * lines[i].spread,
               100 * lines[i].detectable, percent(lines[i].check[DETECTABLE].hits, &lines[i]),
               percent(lines[i].check[SLOW_8].false_alarms, &lines[i]));
}

/* What must hold; the bench fails where it does not. */
static int required(const line *l)
{
    const double false_alarms = percent(l->check[HONEST].false_alarms, l);
    const double hits = percent(l->check[SLOW_8].hits, l);
    int good = 1;

    if (l->spread == 0.010)
        good = hits >= 90 && false_alarms <= 1;
    else if (l->spread == 0.025 && l->gpus >= 8)
        good = false_alarms <= 5;
    if (!good)
        (void)fprintf(stderr, "power_bench: %zu GPUs, spread %.1f %%: %.2f %% found, %.2f %% false alarms\n",
                      l->gpus, 100 * l->spread, hits, false_alarms);
    return good;
}

int main(int argc, char **argv)
{
    static const size_t gpus[] = {2, 3, 4, 8, 64};
    static const double spreads[] = {0.010, 0.015, 0.025};
    const long rentals = argc > 1 ? strtol(argv[1], NULL, 10) : 10000;
    const double began = lot_clock_seconds();
    line lines[15];
    size_t count = 0;
    int good = 1;

    if (rentals <= 0)
        die("the number of rentals is not positive");
    for (size_t s = 0; s < 3; s++)
        for (size_t g = 0; g < 5; g++) {
            lines[count] = (line){.gpus = gpus[g], .spread = spreads[s], .rentals = rentals};
            measure(&lines[count]);
            good &= required(&lines[count++]);
        }
    printf("%ld rentals each, %d repeats, noise of one repeat %.1f %%, seed %d\n\n", rentals, REPEATS,
           100 * NOISE, SEED);
    print_lines(lines, count);
    (void)fprintf(stderr, "power_bench: %.1f s\n", lot_clock_seconds() - began);
    return good ? 0 : 1;
}
