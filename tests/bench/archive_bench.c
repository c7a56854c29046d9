/* How fast the archive takes in synthetic ranks through the real writer, and gives them back.
 *
 *     build/bench/archive_bench [--ranks N] [--rows R] [--alone] [--folder DIR] [--cpu]
 *                                [--limits SECONDS MIB]
 *
 * Prints one line a size (N/8, N/4, N/2, N ranks of R phase rows each, with --alone the last only, every size
 * in a process of its own, so that peak memory is its own): seconds that a rank spends on its JSON text, and
 * that rank 0 spends on reading it, on appending it and on finishing the file; the file; peak resident
 * memory; seconds to read devices and all rows. Exit status 1 where the largest size takes longer (read,
 * append and finish) or more memory than --limits. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/options.h"
#include "core/record.h"
#include "io/archive_h5.h"
#include "io/record_json.h"
#include "support/sample.h"

typedef struct bench_result {
    double json_seconds;
    double read_json_seconds;
    double append_seconds;
    double finish_seconds;
    double read_devices_seconds;
    double read_rows_seconds;
    double file_bytes;
    double write_peak_bytes;
    double read_peak_bytes;
} bench_result;

/* Seconds of the wall clock, or with --cpu of this process on a CPU: then others on the machine do not count.
 */
static double seconds_of(clockid_t id)
{
    struct timespec now;

    (void)clock_gettime(id, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double peak_bytes(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return 1024.0 * (double)usage.ru_maxrss;
}

static void must(lot_status status, const lot_error *error)
{
    if (status == LOT_OK)
        return;
    (void)fprintf(stderr, "archive_bench: %s\n", error->text);
    exit(3);
}

/* Times and counters that look measured: digits down to the last bit, so that they neither compress nor print
 * better than real ones. */
static void make_real(lot_record *record)
{
    uint64_t state = 0x9E3779B97F4A7C15u + (uint64_t)record->head.identity.rank;

    for (size_t i = 0; i < record->phase_count; i++) {
        lot_phase *phase = &record->phases[i];

        state = state * 6364136223846793005u + 1442695040888963407u;
        phase->host_seconds = 1e-3 * (1 + ldexp((double)(state >> 11), -53));
        phase->start_seconds = 1e-3 * (double)i + 1e-4 * ldexp((double)(state >> 11), -53);
        phase->device_seconds = 0.97 * phase->host_seconds;
        phase->device_used_bytes = 4000000000 + (int64_t)(state >> 44);
    }
    lot_record_count(record);
}

static void add_rank(lot_archive_writer *writer, int64_t rank, int64_t ranks, int64_t rows,
                     clockid_t clock_id, bench_result *result)
{
    lot_record record, read;
    lot_error error = {0};
    char *json = NULL;
    size_t size = 0;
    double start;

    sample_record(&record, rank, ranks, rows - 4);
    make_real(&record);
    start = seconds_of(clock_id);
    must(lot_record_json_write(&record, &json, &size, &error), &error);
    result->json_seconds += seconds_of(clock_id) - start;
    start = seconds_of(clock_id);
    must(lot_record_json_read(json, size, &read, &error), &error);
    result->read_json_seconds += seconds_of(clock_id) - start;
    start = seconds_of(clock_id);
    must(lot_archive_append(writer, &read, json, size, &error), &error);
    result->append_seconds += seconds_of(clock_id) - start;
    free(json);
    lot_record_free(&read);
    lot_record_free(&record);
}

static void write_archive(const char *path, int64_t ranks, int64_t rows, clockid_t clock_id,
                          bench_result *result)
{
    lot_archive_writer *writer = NULL;
    lot_run_header header;
    lot_error error = {0};
    struct stat info;
    double start;

    must(lot_archive_create(path, &writer, &error), &error);
    for (int64_t rank = 0; rank < ranks; rank++)
        add_rank(writer, rank, ranks, rows, clock_id, result);
    sample_header(&header, ranks);
    start = seconds_of(clock_id);
    must(lot_archive_finish(writer, &header, NULL, &error), &error);
    result->finish_seconds = seconds_of(clock_id) - start;
    if (stat(path, &info) == 0)
        result->file_bytes = (double)info.st_size;
    result->write_peak_bytes = peak_bytes();
}

static void read_archive(const char *path, clockid_t clock_id, bench_result *result)
{
    lot_run run;
    lot_error error = {0};
    double start = seconds_of(clock_id);

    must(lot_archive_read_devices(path, &run, &error), &error);
    lot_run_free(&run);
    result->read_devices_seconds = seconds_of(clock_id) - start;
    start = seconds_of(clock_id);
    must(lot_archive_read(path, false, &run, &error), &error);
    lot_run_free(&run);
    result->read_rows_seconds = seconds_of(clock_id) - start;
    result->read_peak_bytes = peak_bytes();
}

/* Runs one size in a process of its own and hands back what it found. */
static bench_result run_apart(const char *path, int64_t ranks, int64_t rows, clockid_t clock_id,
                              bool write_it)
{
    bench_result result = {0};
    int ends[2];
    pid_t child;

    if (pipe(ends) != 0 || (child = fork()) < 0) {
        perror("archive_bench");
        exit(3);
    }
    if (child == 0) {
        if (write_it)
            write_archive(path, ranks, rows, clock_id, &result);
        else
            read_archive(path, clock_id, &result);
        _exit(write(ends[1], &result, sizeof result) == sizeof result ? 0 : 3);
    }
    (void)close(ends[1]);
    if (read(ends[0], &result, sizeof result) != sizeof result)
        exit(3);
    (void)close(ends[0]);
    (void)waitpid(child, NULL, 0);
    return result;
}

static double rank0_seconds(const bench_result *r)
{
    return r->read_json_seconds + r->append_seconds + r->finish_seconds;
}

static bench_result bench_size(const char *folder, int64_t ranks, int64_t rows, clockid_t clock_id)
{
    char path[512];
    bench_result written, read;

    (void)snprintf(path, sizeof path, "%s/archive_bench.%ld.h5", folder, (long)getpid());
    written = run_apart(path, ranks, rows, clock_id, true);
    read = run_apart(path, ranks, rows, clock_id, false);
    (void)unlink(path);
    printf("%8lld %6lld %9.2f %9.2f %8.2f %8.2f %9.2f %9.1f %9.0f %9.1f %9.3f %9.2f %9.1f\n",
           (long long)ranks, (long long)rows, written.json_seconds, written.read_json_seconds,
           written.append_seconds, written.finish_seconds, rank0_seconds(&written), written.file_bytes / 1e6,
           written.file_bytes / (double)ranks, written.write_peak_bytes / 1048576, read.read_devices_seconds,
           read.read_rows_seconds, read.read_peak_bytes / 1048576);
    (void)fflush(stdout);
    return written;
}

int main(int argc, char **argv)
{
    int64_t ranks = 10000, rows = 100;
    double most_seconds = INFINITY, most_mib = INFINITY;
    const char *folder = "/tmp";
    int64_t parts = 8;
    bench_result last = {0};
    clockid_t clock_id = CLOCK_MONOTONIC;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--ranks") == 0 && i + 1 < argc && lot_parse_integer(argv[i + 1], &ranks))
            i++;
        else if (strcmp(argv[i], "--rows") == 0 && i + 1 < argc && lot_parse_integer(argv[i + 1], &rows))
            i++;
        else if (strcmp(argv[i], "--alone") == 0)
            parts = 1;
        else if (strcmp(argv[i], "--cpu") == 0)
            clock_id = CLOCK_PROCESS_CPUTIME_ID;
        else if (strcmp(argv[i], "--folder") == 0 && i + 1 < argc)
            folder = argv[++i];
        else if (strcmp(argv[i], "--limits") == 0 && i + 2 < argc &&
                 lot_parse_number(argv[i + 1], &most_seconds) && lot_parse_number(argv[i + 2], &most_mib))
            i += 2;
        else
            return (void)fprintf(stderr, "archive_bench: '%s' is not known\n", argv[i]), 2;
    }
    printf("%8s %6s %9s %9s %8s %8s %9s %9s %9s %9s %9s %9s %9s\n", "ranks", "rows", "json s", "parse s",
           "append s", "finish s", "rank 0 s", "file MB", "B/rank", "peak MiB", "devices s", "rows s",
           "peak MiB");
    for (int64_t part = parts; part >= 1; part /= 2)
        last = bench_size(folder, ranks / part, rows, clock_id);
    return rank0_seconds(&last) > most_seconds || last.write_peak_bytes / 1048576 > most_mib;
}
