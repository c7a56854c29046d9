/* gpulot show: an archive as tables in the terminal. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/price.h"
#include "analysis/summary.h"
#include "cmd/command.h"
#include "cmd/show_json.h"
#include "cmd/show_phases.h"
#include "core/count.h"
#include "core/shell.h"
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
    bool wide;
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
     .help = "this rank alone, a whole number from 0"},
    {.name = "--phases",
     .kind = LOT_OPTION_FLAG,
     .offset = offsetof(show_config, phases),
     .help = "every row instead of one line per phase"},
    {.name = "--all",
     .kind = LOT_OPTION_FLAG,
     .offset = offsetof(show_config, all),
     .help = "every rank in full, however many there are"},
    {.name = "--wide",
     .kind = LOT_OPTION_FLAG,
     .offset = offsetof(show_config, wide),
     .help = "every column: UUID, passes, shortest time, all four memory counters"},
    {.name = "--json", .kind = LOT_OPTION_FLAG, .offset = offsetof(show_config, json), .help = "print JSON"},
};

/* ---- pieces ---- */

static const char *verified(const lot_record_head *head)
{
    return head->verification.passed == 1 ? "passed" : head->verification.passed == 0 ? "FAILED" : "not done";
}

/* ---- the run ---- */

/* "batch 2", or "batch -" where it is not known. */
typedef struct named_count {
    char text[40];
} named_count;

static named_count named(const char *name, int64_t value)
{
    named_count count;

    if (value < 0)
        (void)snprintf(count.text, sizeof count.text, "%s -", name);
    else
        (void)snprintf(count.text, sizeof count.text, "%s %" PRId64, name, value);
    return count;
}

/* The first rank that says so speaks for all: ranks with other arguments are refused before anything is
 * measured. */
static void add_network(lot_report *report, const lot_run *run)
{
    const lot_model *m = NULL;

    for (size_t i = 0; m == NULL && i < run->device_count; i++)
        if (run->devices[i].synthetic_model.width >= 0)
            m = &run->devices[i].synthetic_model;
    if (m == NULL)
        return;
    lot_report_cell(report, "network");
    lot_report_cell(report, "Linear -> GELU (%s) -> Linear, %s, %s, %s, %s, %s, math %s",
                    lot_field_shown(m->gelu), named("batch", m->batch).text,
                    named("context", m->context).text, named("width", m->width).text,
                    named("hidden", m->hidden).text, lot_field_shown(m->dtype), lot_field_shown(m->math));
    lot_report_cell(report, "passes");
    lot_report_cell(report, "%s, %s, %s", named("warm-up", m->warmup).text, named("repeats", m->repeats).text,
                    named("seed", m->seed).text);
}

static void add_price(lot_report *report, const lot_launch_terms *terms)
{
    const lot_price *price = &terms->price;
    char dollars[32];

    lot_price_dollars(price->total_price_cents, dollars, sizeof dollars);
    lot_report_cell(report, "price");
    lot_report_cell(
        report, "%s = USD %s for %s of %s and %s: %s, %" PRId64 " idle; fixed at launch from %s%s",
        lot_count(price->total_price_cents, "cent").text, dollars, lot_count(price->lots, "lot").text,
        terms->gpu, lot_count(terms->days, "day").text, lot_count(price->gpus, "GPU").text, price->idle_gpus,
        terms->file, terms->is_example ? " (an EXAMPLE, no tariff)" : "");
}

static lot_status print_run(const lot_run *run, const lot_ranks_summary *ranks, lot_error *error)
{
    const lot_run_header *h = &run->header;
    const bool priced = run->tariff_json != NULL && run->tariff_json[0] != '\0';
    lot_launch_terms terms;
    lot_report report;

    if (priced) {
        const lot_status status = lot_launch_price_read(run->tariff_json, &terms, error);

        if (status != LOT_OK)
            return status;
    }
    lot_report_begin(&report, 2, "ll");
    lot_report_cell(&report, "run");
    lot_report_cell(&report, "%s", lot_field_shown(h->run_id));
    if (h->continues_run_id[0] != '\0') {
        lot_report_cell(&report, "continues");
        lot_report_cell(&report, "%s", h->continues_run_id);
    }
    if (h->label[0] != '\0') {
        lot_report_cell(&report, "label");
        lot_report_cell(&report, "%s", h->label);
    }
    lot_report_cell(&report, "created");
    lot_report_cell(&report, "%s by %s", lot_field_shown(h->created_utc), lot_field_shown(h->producer));
    lot_report_cell(&report, "ranks");
    lot_report_cell(&report, "%" PRId64 " launched, %zu recorded, %zu good, %zu failed, %zu of these lost",
                    h->ranks, ranks->recorded, ranks->good, ranks->failed, ranks->lost);
    lot_report_cell(&report, "verified");
    lot_report_cell(&report, "%zu passed, %zu FAILED, %zu not done", ranks->verified, ranks->unverified,
                    ranks->recorded - ranks->verified - ranks->unverified);
    lot_report_cell(&report, "ended");
    lot_report_cell(&report, "%s%s", lot_field_shown(h->ended_by), h->complete == 1 ? "" : ", not complete");
    lot_report_cell(&report, "seal");
    lot_report_cell(&report, "%s",
                    run->sealed ? "whole: every byte is as it was written; finds faults, not forgery"
                                : "none: written to since by another program, or copied without its end");
    add_network(&report, run);
    if (priced)
        add_price(&report, &terms);
    return lot_report_print(&report, stdout, error);
}

/* What a reader must know before any number. */
static void print_warnings(const lot_run *run, const lot_ranks_summary *ranks)
{
    if (run->header.simulated == 1 || ranks->simulated > 0)
        printf("SIMULATED: %zu of %s simulated, for tests. Nothing here is a measurement of a GPU.\n",
               ranks->simulated, lot_count((int64_t)ranks->recorded, "device").text);
    if (ranks->host_devices > 0)
        printf("host device: %zu of %s measured a CPU, not a GPU.\n", ranks->host_devices,
               lot_count((int64_t)ranks->recorded, "rank").text);
    printf("A small synthetic network: not a language model, not training, not the value of a rented GPU.\n");
}

static void add_device(lot_report *report, const lot_record_head *head, bool wide)
{
    lot_report_cell(report, "%" PRId64, head->identity.rank);
    lot_report_cell(report, "%s", lot_field_shown(head->identity.host));
    lot_report_cell(report, "%s%s", lot_field_shown(head->device.name), lot_show_mark(head));
    lot_report_cell(report, "%s", lot_field_shown(head->device.pci_address));
    if (wide)
        lot_report_cell(report, "%s", lot_field_shown(head->device.uuid));
    lot_report_seconds(report, head->outcome.warm_median_seconds);
    lot_report_cell(report, "%s", verified(head));
    lot_report_cell(report, "%s", lot_field_shown(head->outcome.status));
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
    static const char *const titles[] = {
        "rank", "host", "device", "PCI address", "UUID", "warm median", "verified", "outcome", ""};
    const bool every = config->all || config->rank >= 0 || run->device_count <= RANKS_IN_A_LIST;
    lot_report report;
    size_t left_out = 0;
    lot_status status;

    lot_report_begin(&report, config->wide ? 9 : 8, config->wide ? "rllllrlll" : "rlllrlll");
    for (size_t i = 0; i < 9; i++)
        if (config->wide || i != 4)
            lot_report_cell(&report, "%s", titles[i]);
    for (size_t i = 0; i < run->device_count; i++) {
        const lot_record_head *head = &run->devices[i];

        if (config->rank >= 0 && head->identity.rank != config->rank)
            continue;
        if (every || i < RANKS_IN_FULL || !is_good(head))
            add_device(&report, head, config->wide);
        else
            left_out++;
    }
    printf("\n");
    status = lot_report_print(&report, stdout, error);
    if (left_out > 0)
        printf("... and %s more, all good; --all lists them\n", lot_count((int64_t)left_out, "rank").text);
    return status;
}

static void print_spread(const lot_ranks_summary *ranks, const char *file)
{
    const lot_shell_argument arguments[] = {{"check", false}, {file, true}, {NULL, false}};
    char *check;
    char least[32], median[32], most[32];

    if (ranks->timed < 2)
        return;
    lot_unit_print_seconds(least, sizeof least, ranks->warm_least_seconds);
    lot_unit_print_seconds(median, sizeof median, ranks->warm_median_seconds);
    lot_unit_print_seconds(most, sizeof most, ranks->warm_most_seconds);
    check = lot_shell_command(arguments);
    printf("\nwarm medians of %s: least %s, median %s, most %s (rank %" PRId64 "); %s says what that means\n",
           lot_count((int64_t)ranks->timed, "rank").text, least, median, most, ranks->warm_most_rank,
           check != NULL ? check : "check");
    free(check);
}

static lot_status print_ranks(const lot_run *run, const show_config *config, lot_error *error)
{
    const lot_show_detail detail = config->phases ? LOT_SHOW_ROWS
                                   : config->wide ? LOT_SHOW_WIDE
                                                  : LOT_SHOW_NARROW;
    lot_status status = LOT_OK;

    for (size_t i = 0; status == LOT_OK && i < run->device_count; i++)
        if (config->rank < 0 || run->devices[i].identity.rank == config->rank)
            status = lot_show_phases(run, i, detail, error);
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
    print_warnings(run, &ranks);
    status = print_devices(run, config, error);
    if (status == LOT_OK && run->first_phase != NULL)
        status = print_ranks(run, config, error);
    if (status != LOT_OK)
        return status;
    print_spread(&ranks, config->file);
    if (run->first_phase == NULL)
        printf("phases of %s are not shown; --rank N or --all shows them\n",
               lot_count((int64_t)run->device_count, "rank").text);
    return LOT_OK;
}

/* Reads what will be shown: of one rank its rows alone, of very many ranks only where they are asked for. */
static lot_status read_run(const show_config *config, lot_run *run, lot_error *error)
{
    lot_status status;

    if (config->rank >= 0)
        return lot_archive_read_rank(config->file, config->rank, run, error);
    status = lot_archive_read_devices(config->file, run, error);

    if (status != LOT_OK)
        return status;
    if (run->device_count > RANKS_IN_FULL && !config->all && !config->phases)
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
        status = config.json ? lot_show_json(&shown, config.rank, config.phases, error)
                             : print_tables(&shown, &config, error);
    lot_run_free(&shown);
    return status;
}

const lot_command lot_command_show = {
    .name = "show",
    .summary = "an archive as tables in the terminal",
    .synopsis = "FILE.h5 [options]",
    .description =
        "Shows the run, every rank's device and outcome, and its phases. Times are medians over the rows\n"
        "of a phase, with a distribution-free interval and what it really covers. A row of warm-up or\n"
        "soak holds several passes; `per pass` marks times that were divided by them. Memory counters are\n"
        "the largest of any row. `allocated` is part of `reserved`: never add them up.",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .config_size = sizeof(show_config),
    .run = run,
};
