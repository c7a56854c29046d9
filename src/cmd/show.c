/* gpulot show: an archive as tables in the terminal. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/peak.h"
#include "analysis/summary.h"
#include "cmd/command.h"
#include "cmd/show_json.h"
#include "core/units.h"
#include "io/archive_h5.h"
#include "io/price_json.h"
#include "io/report.h"

/* Above this the ranks' phases are not shown unless one rank is asked for, and not all ranks are listed. */
#define RANKS_IN_FULL   8
#define RANKS_IN_A_LIST 64

typedef struct show_config {
    const char *file;
    const char *rank_text;
    int64_t rank; /* -1: all */
    bool phases;
    bool all;
    bool json;
} show_config;

static const lot_option options[] = {
    {.name = "FILE.h5",
     .kind = LOT_OPTION_TEXT,
     .flags = LOT_OPTION_REQUIRED,
     .offset = offsetof(show_config, file),
     .help = "the archive"},
    {.name = "--rank",
     .argument = "N",
     .kind = LOT_OPTION_TEXT,
     .offset = offsetof(show_config, rank_text),
     .help = "this rank alone"},
    {.name = "--phases",
     .kind = LOT_OPTION_FLAG,
     .offset = offsetof(show_config, phases),
     .help = "every phase row instead of one line a phase"},
    {.name = "--all",
     .kind = LOT_OPTION_FLAG,
     .offset = offsetof(show_config, all),
     .help = "every rank in full, however many there are"},
    {.name = "--json", .kind = LOT_OPTION_FLAG, .offset = offsetof(show_config, json), .help = "print JSON"},
};

/* ---- pieces ---- */

static const char *or_dash(const char *text)
{
    return text[0] != '\0' ? text : "-";
}

static void cell_seconds(lot_report *report, double seconds)
{
    char text[32];

    lot_unit_print_seconds(text, sizeof text, seconds);
    lot_report_cell(report, "%s", text);
}

static void cell_bytes(lot_report *report, int64_t bytes)
{
    char text[32];

    lot_unit_print_bytes(text, sizeof text, (double)bytes);
    lot_report_cell(report, "%s", text);
}

static const char *verified(const lot_record_head *head)
{
    return head->verification.passed == 1 ? "passed" : head->verification.passed == 0 ? "FAILED" : "not done";
}

static lot_status print(lot_report *report, lot_error *error)
{
    if (lot_report_print(report, stdout))
        return LOT_OK;
    return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for a table");
}

/* ---- the run ---- */

/* "batch 2", or "batch -" where it is not known. */
static void print_count(const char *before, const char *name, int64_t value)
{
    if (value < 0)
        printf("%s%s -", before, name);
    else
        printf("%s%s %" PRId64, before, name, value);
}

/* The first rank that says so speaks for all: ranks with other arguments are refused before anything is
 * measured. */
static void print_network(const lot_run *run)
{
    const lot_model *m = NULL;

    for (size_t i = 0; m == NULL && i < run->device_count; i++)
        if (run->devices[i].synthetic_model.width >= 0)
            m = &run->devices[i].synthetic_model;
    if (m == NULL)
        return;
    printf("network   Linear -> GELU (%s) -> Linear", or_dash(m->gelu));
    print_count(", ", "batch", m->batch);
    print_count(", ", "context", m->context);
    print_count(", ", "width", m->width);
    print_count(", ", "hidden", m->hidden);
    printf(", %s, math %s\n", or_dash(m->dtype), or_dash(m->math));
    print_count("passes    ", "warm-up", m->warmup);
    print_count(", ", "repeats", m->repeats);
    print_count(", ", "seed", m->seed);
    printf("\n");
}

/* The price fixed at launch, where there is one. */
static lot_status print_price(const lot_run *run, lot_error *error)
{
    lot_launch_terms terms;
    lot_status status;

    if (run->tariff_json == NULL || run->tariff_json[0] == '\0')
        return LOT_OK;
    status = lot_launch_price_read(run->tariff_json, &terms, error);
    if (status != LOT_OK)
        return status;
    printf("price     %" PRId64 " US cents for %" PRId64 " lots of %s and %" PRId64 " days, %" PRId64
           " GPUs of which %" PRId64 " idle, fixed at launch from %s%s\n",
           terms.price.total_price_cents, terms.price.lots, terms.gpu, terms.days, terms.price.gpus,
           terms.price.idle_gpus, terms.file, terms.is_example ? " (an EXAMPLE, no tariff)" : "");
    return LOT_OK;
}

static lot_status print_run(const lot_run *run, const lot_ranks_summary *ranks, lot_error *error)
{
    const lot_run_header *h = &run->header;
    lot_report report;

    lot_report_begin(&report, 2, "ll");
    lot_report_cell(&report, "run");
    lot_report_cell(&report, "%s", or_dash(h->run_id));
    if (h->label[0] != '\0') {
        lot_report_cell(&report, "label");
        lot_report_cell(&report, "%s", h->label);
    }
    lot_report_cell(&report, "created");
    lot_report_cell(&report, "%s by %s", or_dash(h->created_utc), or_dash(h->producer));
    lot_report_cell(&report, "ranks");
    lot_report_cell(&report, "%" PRId64 " launched, %zu recorded, %zu good, %zu failed, %zu of these lost",
                    h->ranks, ranks->recorded, ranks->good, ranks->failed, ranks->lost);
    lot_report_cell(&report, "verified");
    lot_report_cell(&report, "%zu passed, %zu FAILED, %zu not done", ranks->verified, ranks->unverified,
                    ranks->recorded - ranks->verified - ranks->unverified);
    lot_report_cell(&report, "ended");
    lot_report_cell(&report, "%s%s%s", or_dash(h->ended_by), h->complete == 1 ? "" : ", not complete",
                    h->recovered == 1 ? ", recovered from what was left" : "");
    lot_report_cell(&report, "seal");
    lot_report_cell(&report, "%s",
                    run->sealed ? "whole: every byte is as it was written"
                                : "none: written to since by another program, or copied without its end");
    return print(&report, error);
}

/* What a reader must know before any number. */
static void print_warnings(const lot_run *run, const lot_ranks_summary *ranks)
{
    if (run->header.simulated == 1 || ranks->simulated > 0)
        printf("SIMULATED: %zu of %zu devices are a simulator for tests. Nothing here is a measurement of a "
               "GPU.\n",
               ranks->simulated, ranks->recorded);
    if (ranks->host_devices > 0)
        printf("host device: %zu of %zu ranks measured a CPU, not a GPU.\n", ranks->host_devices,
               ranks->recorded);
    printf("A small synthetic network: not a language model, not training, not the value of a rented GPU.\n");
}

static const char *mark_of(const lot_record_head *head)
{
    if (head->device.simulated == 1)
        return " (SIMULATED)";
    return strcmp(head->device.kind, "host") == 0 ? " (CPU)" : "";
}

static void add_device(lot_report *report, const lot_record_head *head)
{
    lot_report_cell(report, "%" PRId64, head->identity.rank);
    lot_report_cell(report, "%s", or_dash(head->identity.host));
    lot_report_cell(report, "%s%s", or_dash(head->device.name), mark_of(head));
    lot_report_cell(report, "%s", or_dash(head->device.uuid));
    cell_seconds(report, head->outcome.warm_median_seconds);
    lot_report_cell(report, "%s", verified(head));
    lot_report_cell(report, "%s", or_dash(head->outcome.status));
    lot_report_cell(report, "%s%s%s", head->outcome.failed_phase,
                    head->outcome.error_text[0] != '\0' ? ": " : "", head->outcome.error_text);
}

static bool is_good(const lot_record_head *head)
{
    return strcmp(head->outcome.status, lot_status_name(LOT_OK)) == 0 && head->verification.passed != 0;
}

/* One line a rank. Of very many the bad ones and the first. */
static lot_status print_devices(const lot_run *run, const show_config *config, lot_error *error)
{
    static const char *const titles[] = {"rank",        "host",     "device",  "uuid",
                                         "warm median", "verified", "outcome", ""};
    const bool every = config->all || config->rank >= 0 || run->device_count <= RANKS_IN_A_LIST;
    lot_report report;
    size_t left_out = 0;
    lot_status status;

    lot_report_begin(&report, 8, "rlllrlll");
    for (size_t i = 0; i < 8; i++)
        lot_report_cell(&report, "%s", titles[i]);
    for (size_t i = 0; i < run->device_count; i++) {
        const lot_record_head *head = &run->devices[i];

        if (config->rank >= 0 && head->identity.rank != config->rank)
            continue;
        if (every || i < RANKS_IN_FULL || !is_good(head))
            add_device(&report, head);
        else
            left_out++;
    }
    printf("\n");
    status = print(&report, error);
    if (left_out > 0)
        printf("... and %zu more ranks, all good; --all lists them\n", left_out);
    return status;
}

static void print_spread(const lot_ranks_summary *ranks)
{
    char least[32], median[32], most[32];

    if (ranks->timed < 2)
        return;
    lot_unit_print_seconds(least, sizeof least, ranks->warm_least_seconds);
    lot_unit_print_seconds(median, sizeof median, ranks->warm_median_seconds);
    lot_unit_print_seconds(most, sizeof most, ranks->warm_most_seconds);
    printf("\nwarm medians of %zu ranks: least %s, median %s, most %s (rank %" PRId64
           "); gpulot check says what that means\n",
           ranks->timed, least, median, most, ranks->warm_most_rank);
}

/* ---- phases of a rank ---- */

static void add_group(lot_report *report, const lot_phase_summary *group)
{
    char low[32], high[32], rate[32];

    lot_unit_print_seconds(low, sizeof low, group->host.interval.low);
    lot_unit_print_seconds(high, sizeof high, group->host.interval.high);
    lot_unit_print_rate(rate, sizeof rate, group->flops_per_second);
    lot_report_cell(report, "%s", group->phase);
    lot_report_cell(report, "%s", or_dash(group->schedule));
    lot_report_cell(report, "%zu", group->rows);
    lot_report_cell(report, "%" PRId64, group->passes);
    cell_seconds(report, group->host.median);
    if (group->rows > 1)
        lot_report_cell(report, "%s .. %s (%.1f %%)", low, high, 100 * group->host.interval.coverage);
    else
        lot_report_cell(report, "-");
    cell_seconds(report, group->host.least);
    cell_seconds(report, group->device.median);
    lot_report_cell(report, "%s", rate);
    cell_bytes(report, group->allocated_bytes);
    cell_bytes(report, group->reserved_bytes);
    cell_bytes(report, group->allocated_peak_bytes);
    cell_bytes(report, group->reserved_peak_bytes);
}

/* The SM clock at the end of the group's last row, or NaN. */
static double clock_of(const lot_run *run, size_t index, const lot_phase_summary *group)
{
    double clock = NAN;

    for (size_t i = run->first_phase[index]; i < run->first_phase[index + 1]; i++)
        if (strcmp(run->phases[i].phase, group->phase) == 0 &&
            strcmp(run->phases[i].schedule, group->schedule) == 0)
            clock = run->phases[i].telemetry.sm_clock_mhz;
    return clock;
}

/* Percent of peak, with the peak, its source and the clock; nothing where the model is not beyond doubt. Over
 * the device's own time: the host's holds overheads that no peak knows of. */
static void print_peak(const lot_run *run, size_t index, const lot_phase_summary *group)
{
    const lot_record_head *head = &run->devices[index];
    const double rate = (double)head->synthetic_model.flops_per_forward / group->device.median * 1e-12;
    const double clock = clock_of(run, index, group);
    lot_peak peak;

    if (strcmp(group->phase, "warm_forward") != 0 || !(rate > 0) ||
        lot_peak_find(&head->device, head->synthetic_model.dtype, head->synthetic_model.math, &peak) != NULL)
        return;
    printf("%s %s: %.1f of %.4g TFLOP/s, %.1f %% of peak (%s, dense at boost clock: %s)", group->phase,
           or_dash(group->schedule), rate, peak.tflops, 100 * rate / peak.tflops, peak.gpu, peak.source);
    if (isnan(clock))
        printf("; SM clock not measured\n");
    else
        printf("; SM clock %.0f MHz\n", clock);
}

static lot_status print_groups(const lot_run *run, size_t index, lot_error *error)
{
    static const char *const titles[] = {
        "phase",  "schedule", "rows",      "passes",   "host median",    "interval",     "host min",
        "device", "rate",     "allocated", "reserved", "allocated peak", "reserved peak"};
    const size_t first = run->first_phase[index];
    lot_phase_summary groups[LOT_SUMMARY_GROUPS_MAX];
    lot_report report;
    size_t count = 0;
    lot_status status =
        lot_summary_phases(run->phases + first, run->first_phase[index + 1] - first,
                           run->devices[index].synthetic_model.flops_per_forward, groups, &count, error);

    if (status != LOT_OK || count == 0)
        return status;
    lot_report_begin(&report, 13, "llrrrlrrrrrrr");
    for (size_t i = 0; i < 13; i++)
        lot_report_cell(&report, "%s", titles[i]);
    for (size_t i = 0; i < count; i++)
        add_group(&report, &groups[i]);
    status = print(&report, error);
    for (size_t i = 0; status == LOT_OK && i < count; i++)
        print_peak(run, index, &groups[i]);
    return status;
}

static void add_row(lot_report *report, const lot_phase *row)
{
    lot_report_cell(report, "%" PRId64, row->row);
    lot_report_cell(report, "%s", row->phase);
    lot_report_cell(report, "%s", or_dash(row->schedule));
    lot_report_cell(report, "%" PRId64, row->repeat);
    lot_report_cell(report, "%" PRId64, row->passes);
    cell_seconds(report, row->host_seconds);
    cell_seconds(report, row->device_seconds);
    cell_bytes(report, row->allocated_start_bytes);
    cell_bytes(report, row->reserved_start_bytes);
    cell_bytes(report, row->allocated_end_bytes);
    cell_bytes(report, row->reserved_end_bytes);
    cell_bytes(report, row->allocated_peak_bytes);
    cell_bytes(report, row->reserved_peak_bytes);
    lot_report_cell(report, "%s", or_dash(row->digest));
    lot_report_cell(report, "%s", row->finite == 1 ? "yes" : row->finite == 0 ? "NO" : "-");
}

static lot_status print_rows(const lot_run *run, size_t index, lot_error *error)
{
    static const char *const titles[] = {
        "row",          "phase",          "schedule",        "repeat",         "passes",
        "host",         "device",         "allocated start", "reserved start", "allocated end",
        "reserved end", "allocated peak", "reserved peak",   "digest",         "finite"};
    lot_report report;

    lot_report_begin(&report, 15, "rllrrrrrrrrrrll");
    for (size_t i = 0; i < 15; i++)
        lot_report_cell(&report, "%s", titles[i]);
    for (size_t i = run->first_phase[index]; i < run->first_phase[index + 1]; i++)
        add_row(&report, &run->phases[i]);
    return print(&report, error);
}

static lot_status print_rank(const lot_run *run, size_t index, bool every_row, lot_error *error)
{
    lot_record_head *head = &run->devices[index];

    lot_report_clean(head->device.name);
    printf("\nrank %" PRId64 ": %s%s\n", head->identity.rank, or_dash(head->device.name), mark_of(head));
    return every_row ? print_rows(run, index, error) : print_groups(run, index, error);
}

static lot_status print_ranks(const lot_run *run, const show_config *config, lot_error *error)
{
    lot_status status = LOT_OK;

    for (size_t i = 0; status == LOT_OK && i < run->device_count; i++)
        if (config->rank < 0 || run->devices[i].identity.rank == config->rank)
            status = print_rank(run, i, config->phases, error);
    return status;
}

/* ---- the command ---- */

static lot_status print_tables(lot_run *run, const show_config *config, lot_error *error)
{
    lot_ranks_summary ranks;
    lot_status status = lot_summary_ranks(run->devices, run->device_count, &ranks, error);

    if (status == LOT_OK)
        status = print_run(run, &ranks, error);
    if (status != LOT_OK)
        return status;
    print_network(run);
    status = print_price(run, error);
    if (status != LOT_OK)
        return status;
    print_warnings(run, &ranks);
    status = print_devices(run, config, error);
    if (status == LOT_OK && run->first_phase != NULL)
        status = print_ranks(run, config, error);
    if (status != LOT_OK)
        return status;
    print_spread(&ranks);
    if (run->first_phase == NULL)
        printf("phases of %zu ranks are not shown; --rank N or --all shows them\n", run->device_count);
    return LOT_OK;
}

static lot_status check_rank(const lot_run *run, const show_config *config, lot_error *error)
{
    if (config->rank < 0)
        return LOT_OK;
    for (size_t i = 0; i < run->device_count; i++)
        if (run->devices[i].identity.rank == config->rank)
            return LOT_OK;
    return lot_error_set(error, LOT_USAGE, "--rank", 0, "%s has no rank %" PRId64, config->file,
                         config->rank);
}

/* Reads what will be shown: phase rows of very many ranks only where they are asked for. */
static lot_status read_run(const show_config *config, lot_run *run, lot_error *error)
{
    lot_status status = lot_archive_read_devices(config->file, run, error);

    if (status != LOT_OK)
        return status;
    if (run->device_count > RANKS_IN_FULL && config->rank < 0 && !config->all && !config->phases)
        return LOT_OK;
    lot_run_free(run);
    return lot_archive_read(config->file, true, run, error);
}

static lot_status run(const void *options_given, lot_error *error)
{
    show_config config = *(const show_config *)options_given;
    lot_status status = lot_command_rank(config.rank_text, &config.rank, error);
    lot_run shown;

    if (status != LOT_OK)
        return status;
    lot_run_init(&shown);
    status = read_run(&config, &shown, error);
    if (status == LOT_OK)
        status = check_rank(&shown, &config, error);
    if (status == LOT_OK)
        status = config.json ? lot_show_json(&shown, config.rank, config.phases, error)
                             : print_tables(&shown, &config, error);
    lot_run_free(&shown);
    return status;
}

const lot_command lot_command_show = {
    .name = "show",
    .summary = "an archive as tables in the terminal",
    .synopsis = "FILE.h5 [options]",
    .description = "Shows who measured what: the run, every rank's device and outcome, and its phases. Times "
                   "are medians\n"
                   "over the rows of a phase with their distribution-free interval and what that really "
                   "covers; counters\n"
                   "are the largest of any row. `allocated` is part of `reserved`: they are never added up.",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .config_size = sizeof(show_config),
    .run = run,
};
