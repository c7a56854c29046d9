/* A catalogue of 1,000,002 rows: how long its validation takes and how much memory, inside this process and
 * as `gpulot tariffs check`. The limits are 1 s and 200 MiB for a million rows. Exit status 1 beyond them. */
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "io/tariffs_csv.h"

#define MODELS        333334
#define ROUNDS        5
#define LIMIT_SECONDS 1.0
#define LIMIT_MIB     200.0

/* Models first by period, so that a model's rows lie far apart. */
static bool write_catalogue(const char *path)
{
    FILE *out = fopen(path, "w");

    if (out == NULL)
        return false;
    (void)fprintf(out, "# title: bench\n# date: 2026-08-22\ngpu,gpus_per_lot,days,price_cents_usd\n");
    for (size_t period = 0; period < LOT_TARIFF_PERIODS; period++)
        for (int i = 0; i < MODELS; i++)
            (void)fprintf(out, "Model-%06d-%s,%d,%" PRId64 ",%d\n", i, i % 2 != 0 ? "SXM" : "PCIE",
                          1 << i % 4, lot_tariff_days(period), 1000 + i);
    return fclose(out) == 0;
}

/* User and system time so far, which tells more than the clock where others use the machine too. */
static double cpu_seconds(int who)
{
    struct rusage usage;

    if (getrusage(who, &usage) != 0)
        return 0;
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static double mib(int who)
{
    struct rusage usage;

    return getrusage(who, &usage) == 0 ? (double)usage.ru_maxrss / 1024.0 : -1;
}

static double read_once(const char *path, int64_t *rows)
{
    lot_tariffs_columns columns;
    const lot_tariffs_reading how = {.columns = &columns};
    lot_catalogue catalogue;
    lot_error error;
    double seconds = lot_clock_seconds();

    if (lot_tariffs_map(NULL, &columns, &error) != LOT_OK ||
        lot_tariffs_read(path, &how, &catalogue, &error) != LOT_OK) {
        (void)fprintf(stderr, "tariffs_bench: %s\n", error.text);
        exit(3);
    }
    seconds = lot_clock_seconds() - seconds;
    *rows = catalogue.rows;
    lot_catalogue_free(&catalogue);
    return seconds;
}

static double run_once(const char *program, const char *path)
{
    char check[] = "check";
    char tariffs[] = "tariffs";
    char *const arguments[] = {(char *)(uintptr_t)program, tariffs, check, (char *)(uintptr_t)path, NULL};
    char *const environment[] = {NULL};
    const double start = lot_clock_seconds();
    int status = -1;
    pid_t child;

    if (posix_spawn(&child, program, NULL, NULL, arguments, environment) != 0 ||
        waitpid(child, &status, 0) != child || status != 0) {
        (void)fprintf(stderr, "tariffs_bench: %s tariffs check failed\n", program);
        exit(3);
    }
    return lot_clock_seconds() - start;
}

static int ascending(const void *a, const void *b)
{
    const double one = *(const double *)a;
    const double other = *(const double *)b;

    return (one > other) - (one < other);
}

static bool report(const char *what, double *seconds, double cpu, double memory_mib)
{
    qsort(seconds, ROUNDS, sizeof *seconds, ascending);
    printf("%-24s median %.3f s, shortest %.3f s, CPU %.3f s, peak %.1f MiB\n", what, seconds[ROUNDS / 2],
           seconds[0], cpu / ROUNDS, memory_mib);
    return seconds[ROUNDS / 2] <= LIMIT_SECONDS && memory_mib <= LIMIT_MIB;
}

/* Usage: tariffs_bench [GPULOT] */
int main(int argc, char **argv)
{
    char path[] = "/tmp/tariffs_bench_XXXXXX";
    const int file = mkstemp(path);
    double inside[ROUNDS];
    double whole[ROUNDS];
    int64_t rows = 0;
    double cpu;
    bool good;

    if (file < 0 || !write_catalogue(path)) {
        perror(path);
        return 3;
    }
    (void)close(file);
    cpu = cpu_seconds(RUSAGE_SELF);
    for (int i = 0; i < ROUNDS; i++)
        inside[i] = read_once(path, &rows);
    cpu = cpu_seconds(RUSAGE_SELF) - cpu;
    printf("%" PRId64 " rows, %d rounds; limits %.0f s and %.0f MiB\n", rows, ROUNDS, LIMIT_SECONDS,
           LIMIT_MIB);
    good = report("read in this process", inside, cpu, mib(RUSAGE_SELF));
    (void)fflush(stdout);
    for (int i = 0; i < ROUNDS && argc > 1; i++)
        whole[i] = run_once(argv[1], path);
    if (argc > 1)
        good =
            report("gpulot tariffs check", whole, cpu_seconds(RUSAGE_CHILDREN), mib(RUSAGE_CHILDREN)) && good;
    (void)unlink(path);
    return good ? 0 : 1;
}
