/* How long a check of a large rental takes and how much memory, through an archive and without one.
 *
 *     build/bench/check_bench [--ranks N] [--rows R] [--folder DIR] [SECONDS MIB]
 *
 * Prints one line a size (N/4, N/2, N GPUs of R warm rows each, every size in a process of its own): seconds
 * to reduce the rows, to judge, to judge against an earlier run of as many GPUs and to write the JSON,
 * seconds to read and reduce an archive of the same, and peak resident memory of the check and of the
 * reading. Exit status 1 where the largest size reduces, judges (either way) and writes longer, or takes more
 * memory in either, than SECONDS and MIB. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analysis/check.h"
#include "core/options.h"
#include "io/archive_h5.h"
#include "io/check_json.h"
#include "io/record_json.h"
#include "support/synthetic_run.h"

typedef struct bench_result {
    double reduce_seconds;
    double judge_seconds;
    double against_seconds;
    double json_seconds;
    double archive_seconds; /* read and reduce; NaN without a folder */
    double peak_bytes;
    double archive_peak_bytes;
} bench_result;

static void must(lot_status status, const lot_error *error)
{
    if (status == LOT_OK)
        return;
    (void)fprintf(stderr, "check_bench: %s\n", error->text);
    exit(3);
}

/* Time on a CPU: then others on the machine do not count. Nothing here waits or runs in parallel. */
static double cpu_seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double peak_bytes(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return 1024.0 * (double)usage.ru_maxrss;
}

/* One rank of many: a synthetic GPU that gets another number, place and speed. */
static void next_rank(lot_run *one, synthetic_random *random, int64_t rank, int64_t ranks)
{
    lot_record_head *h = &one->devices[0];

    synthetic_run_draw(one, random, 0.02, 0.01, 0.005);
    h->identity.rank = rank;
    h->identity.size = ranks;
    (void)snprintf(h->identity.host, sizeof h->identity.host, "node%05lld", (long long)(rank / 8));
    (void)snprintf(h->device.uuid, sizeof h->device.uuid, "GPU-%012lld", (long long)(rank * 7919 % 1000003));
    for (size_t i = 0; i < one->phase_count; i++)
        one->phases[i].rank = rank;
}

/* Seconds to judge the GPUs again, against an earlier run that was just like this one. */
static double judge_against(const lot_observed_run *observed)
{
    lot_observed_run earlier = *observed;
    const lot_check_options options = {
        .prior = 0.015, .level = 0.01, .soak_passes = 100, .against = &earlier};
    const double began = cpu_seconds();
    lot_check_result found;
    lot_error error;

    (void)snprintf(earlier.header.run_id, sizeof earlier.header.run_id, "an earlier run");
    must(lot_check(observed, 1, &options, &found, &error), &error);
    lot_check_result_free(&found);
    return cpu_seconds() - began;
}

static void judge(const lot_observed_run *observed, bench_result *result)
{
    const lot_check_options options = {.prior = 0.015, .level = 0.01, .soak_passes = 100};
    const double began = cpu_seconds();
    lot_check_result found;
    lot_error error;
    char *json = NULL;
    double judged;

    must(lot_check(observed, 1, &options, &found, &error), &error);
    judged = cpu_seconds();
    must(lot_check_json_write(&found, &json, &error), &error);
    result->judge_seconds = judged - began;
    result->json_seconds = cpu_seconds() - judged;
    free(json);
    lot_check_result_free(&found);
}

static void in_memory(int64_t ranks, int64_t rows, bench_result *result)
{
    synthetic_random random = {1};
    lot_observed_run observed;
    lot_error error;
    lot_run one;

    synthetic_run_make(&one, 1, rows, 0.02, 0);
    lot_observed_init(&observed);
    observed.header = one.header;
    observed.header.ranks = ranks;
    for (int64_t rank = 0; rank < ranks; rank++) {
        double began;

        next_rank(&one, &random, rank, ranks);
        began = cpu_seconds();
        must(lot_observed_add(&observed, &one.devices[0], one.phases, one.phase_count, &error), &error);
        result->reduce_seconds += cpu_seconds() - began;
    }
    judge(&observed, result);
    result->peak_bytes = peak_bytes();
    result->against_seconds = judge_against(&observed);
    lot_observed_free(&observed);
    lot_run_free(&one);
}

/* ---- through an archive ---- */

static void write_archive(const char *path, int64_t ranks, int64_t rows)
{
    synthetic_random random = {1};
    lot_archive_writer *writer = NULL;
    lot_error error;
    lot_run one;

    synthetic_run_make(&one, 1, rows, 0.02, 0);
    must(lot_archive_create(path, &writer, &error), &error);
    for (int64_t rank = 0; rank < ranks; rank++) {
        lot_record record = {.phases = one.phases, .phase_count = one.phase_count};

        next_rank(&one, &random, rank, ranks);
        record.head = one.devices[0];
        must(lot_archive_append(writer, &record, "{}", 2, &error), &error);
    }
    one.header.ranks = ranks;
    must(lot_archive_finish(writer, &one.header, NULL, &error), &error);
    lot_run_free(&one);
}

static lot_status add(void *context, const lot_record_head *head, const lot_phase *rows, size_t count,
                      lot_error *error)
{
    return lot_observed_add(context, head, rows, count, error);
}

static void read_archive(const char *path, bench_result *result)
{
    const double began = cpu_seconds();
    bench_result unused = {0};
    lot_observed_run observed;
    lot_error error;
    lot_run run;

    lot_observed_init(&observed);
    must(lot_archive_each_device(path, &run, add, &observed, &error), &error);
    observed.header = run.header;
    lot_run_free(&run);
    result->archive_seconds = cpu_seconds() - began;
    judge(&observed, &unused);
    result->archive_peak_bytes = peak_bytes();
    lot_observed_free(&observed);
}

/* ---- processes, so that peak memory is each one's own ---- */

typedef struct bench_config {
    int64_t ranks;
    int64_t rows;
    const char *folder;
    lot_text_list limits;
} bench_config;

typedef enum step { STEP_MEMORY, STEP_WRITE, STEP_READ } step;

static void in_child(step which, const bench_config *config, int64_t ranks, const char *path,
                     bench_result *result)
{
    int ends[2], status = 0;
    pid_t child;

    if (pipe(ends) != 0 || (child = fork()) < 0)
        exit(3);
    if (child == 0) {
        if (which == STEP_MEMORY)
            in_memory(ranks, config->rows, result);
        else if (which == STEP_WRITE)
            write_archive(path, ranks, config->rows);
        else
            read_archive(path, result);
        _exit(write(ends[1], result, sizeof *result) == (ssize_t)sizeof *result ? 0 : 3);
    }
    (void)close(ends[1]);
    if (read(ends[0], result, sizeof *result) != (ssize_t)sizeof *result ||
        waitpid(child, &status, 0) != child || status != 0)
        exit(3);
    (void)close(ends[0]);
}

static bench_result measure(const bench_config *config, int64_t ranks)
{
    bench_result result = {.archive_seconds = NAN, .archive_peak_bytes = NAN};
    char path[512];

    in_child(STEP_MEMORY, config, ranks, "", &result);
    if (config->folder == NULL)
        return result;
    (void)snprintf(path, sizeof path, "%s/check_bench.%lld.h5", config->folder, (long long)getpid());
    in_child(STEP_WRITE, config, ranks, path, &result);
    in_child(STEP_READ, config, ranks, path, &result);
    (void)unlink(path);
    return result;
}

int main(int argc, char **argv)
{
    static const lot_option options[] = {
        {.name = "--ranks",
         .argument = "N",
         .fallback = "10000",
         .kind = LOT_OPTION_INTEGER,
         .least = 4,
         .most = 1000000,
         .offset = offsetof(bench_config, ranks),
         .help = "GPUs of the largest size"},
        {.name = "--rows",
         .argument = "R",
         .fallback = "100",
         .kind = LOT_OPTION_INTEGER,
         .least = 1,
         .most = 1000000,
         .offset = offsetof(bench_config, rows),
         .help = "warm rows of each"},
        {.name = "--folder",
         .argument = "DIR",
         .kind = LOT_OPTION_TEXT,
         .offset = offsetof(bench_config, folder),
         .help = "where archives are made; without it none are"},
        {.name = "LIMITS",
         .kind = LOT_OPTION_LIST,
         .offset = offsetof(bench_config, limits),
         .help = "seconds and MiB that the largest size may take"},
    };
    const lot_option_table table = {options, 4, sizeof(bench_config)};
    bench_config config;
    lot_error error;
    bool help = false;
    bench_result r = {0};
    double seconds = INFINITY, mib = INFINITY;

    must(lot_options_parse(&table, argc - 1, argv + 1, &config, &help, &error), &error);
    if (help) {
        lot_options_help(options, 4, stdout);
        return 0;
    }
    if (config.limits.count == 2 && (!lot_parse_number(config.limits.items[0], &seconds) ||
                                     !lot_parse_number(config.limits.items[1], &mib)))
        return 2;
    printf(
        "| GPUs | rows each | reduce s | judge s | judge --against s | JSON s | peak MiB | archive: read and "
        "reduce s | its peak MiB |\n|---|---|---|---|---|---|---|---|---|\n");
    for (int64_t ranks = config.ranks / 4; ranks <= config.ranks; ranks *= 2) {
        r = measure(&config, ranks);
        printf("| %lld | %lld | %.3f | %.3f | %.3f | %.3f | %.0f | %.3f | %.0f |\n", (long long)ranks,
               (long long)config.rows, r.reduce_seconds, r.judge_seconds, r.against_seconds, r.json_seconds,
               r.peak_bytes / 1048576, r.archive_seconds, r.archive_peak_bytes / 1048576);
        (void)fflush(stdout);
    }
    return r.reduce_seconds + r.judge_seconds + r.against_seconds + r.json_seconds <= seconds &&
                   r.peak_bytes / 1048576 <= mib && !(r.archive_peak_bytes / 1048576 > mib)
               ? 0
               : 1;
}
