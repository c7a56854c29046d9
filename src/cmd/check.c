/* gpulot check: is every GPU of the rental equal and healthy? */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/check.h"
#include "cmd/command.h"
#include "cmd/localise_archive.h"
#include "cmd/observed_archive.h"
#include "core/units.h"
#include "io/check_json.h"
#include "io/expectation_json.h"
#include "io/price_json.h"
#include "io/report.h"

/* Above this only GPUs that are not ok are listed, unless all are asked for. */
#define GPUS_IN_A_LIST 64

typedef struct check_config {
    const char *file;
    const char *expect;
    const char *against;
    double prior;
    double level;
    int64_t soak_passes;
    bool all;
    bool json;
} check_config;

static const lot_option options[] = {
    {.name = "FILE.h5",
     .kind = LOT_OPTION_TEXT,
     .flags = LOT_OPTION_REQUIRED,
     .offset = offsetof(check_config, file),
     .help = "the archive"},
    {.name = "--expect",
     .argument = "FILE",
     .kind = LOT_OPTION_TEXT,
     .offset = offsetof(check_config, expect),
     .help = "rates that are expected of exact models"},
    {.name = "--against",
     .argument = "EARLIER.h5",
     .kind = LOT_OPTION_TEXT,
     .offset = offsetof(check_config, against),
     .help = "an earlier archive whose equal GPUs count as peers"},
    {.name = "--prior",
     .argument = "SHARE",
     .fallback = LOT_CHECK_PRIOR,
     .kind = LOT_OPTION_NUMBER,
     .least = 0,
     .most = 1,
     .offset = offsetof(check_config, prior),
     .help = "four of five groups of honest GPUs spread less than this"},
    {.name = "--level",
     .argument = "SHARE",
     .fallback = LOT_CHECK_LEVEL,
     .kind = LOT_OPTION_NUMBER,
     .least = 0,
     .most = 1,
     .offset = offsetof(check_config, level),
     .help = "chance that a rental of honest GPUs is flagged for its times"},
    {.name = "--soak-passes",
     .argument = "N",
     .fallback = LOT_CHECK_SOAK_PASSES,
     .kind = LOT_OPTION_INTEGER,
     .least = 1,
     .most = INT64_MAX,
     .offset = offsetof(check_config, soak_passes),
     .help = "a soak with fewer verified passes is none"},
    {.name = "--all",
     .kind = LOT_OPTION_FLAG,
     .offset = offsetof(check_config, all),
     .help = "list every GPU, however many there are"},
    {.name = "--json", .kind = LOT_OPTION_FLAG, .offset = offsetof(check_config, json), .help = "print JSON"},
};

/* ---- tables ---- */

static const char *or_dash(const char *text)
{
    return text[0] != '\0' ? text : "-";
}

static void cell_percent(lot_report *report, double share)
{
    if (isnan(share))
        lot_report_cell(report, "-");
    else
        lot_report_cell(report, "%.2f %%", 100 * share);
}

static void cell_seconds(lot_report *report, double seconds)
{
    char text[32];

    lot_unit_print_seconds(text, sizeof text, seconds);
    lot_report_cell(report, "%s", text);
}

static lot_status print(lot_report *report, lot_error *error)
{
    if (lot_report_print(report, stdout))
        return LOT_OK;
    return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for a table");
}

static lot_status print_groups(const lot_check_result *r, lot_error *error)
{
    lot_report report;

    lot_report_begin(&report, 5, "lrlll");
    for (size_t i = 0; i < r->group_count; i++) {
        const lot_checked_group *g = &r->groups[i];

        lot_report_cell(&report, "group %zu", i + 1);
        lot_report_cell(&report, "%zu x", g->devices);
        lot_report_cell(&report, "%s", g->name);
        lot_report_cell(&report, "%s; %s", g->configuration, g->library);
        lot_report_cell(&report, "%s", g->devices > 1 ? "" : "alone: no verdict by peers");
    }
    return print(&report, error);
}

static void add_device(lot_report *report, const lot_checked_device *d)
{
    char verdicts[160];

    lot_verdicts_print(verdicts, sizeof verdicts, d->verdicts);
    lot_report_cell(report, "%" PRId64, d->rank);
    lot_report_cell(report, "%s", or_dash(d->host));
    lot_report_cell(report, "%s", or_dash(d->uuid));
    lot_report_cell(report, "%zu", d->group + 1);
    cell_seconds(report, d->median_seconds);
    lot_report_cell(report, "%s", or_dash(d->clock));
    if (isnan(d->slower.value))
        lot_report_cell(report, "-");
    else
        lot_report_cell(report, "%+.2f %% (%+.2f to %+.2f)", 100 * d->slower.value, 100 * d->slower.low,
                        100 * d->slower.high);
    if (isnan(d->contention.value))
        lot_report_cell(report, "-");
    else
        lot_report_cell(report, "%.3f (%.3f to %.3f)", d->contention.value, d->contention.low,
                        d->contention.high);
    lot_report_cell(report, "%s", verdicts);
}

static lot_status print_devices(const lot_check_result *r, bool all, lot_error *error)
{
    static const char *const titles[] = {"rank",  "host",   "uuid",       "group",  "warm median",
                                         "clock", "slower", "contention", "verdict"};
    const bool every = all || r->device_count <= GPUS_IN_A_LIST;
    size_t left_out = 0;
    lot_report report;
    lot_status status;

    lot_report_begin(&report, 9, "rllrrlrrl");
    for (size_t i = 0; i < 9; i++)
        lot_report_cell(&report, "%s", titles[i]);
    for (size_t i = 0; i < r->device_count; i++)
        if (every || r->devices[i].verdicts != 0)
            add_device(&report, &r->devices[i]);
        else
            left_out++;
    status = print(&report, error);
    if (left_out > 0)
        printf("and %zu GPUs that are ok; --all lists them\n", left_out);
    return status;
}

static lot_status print_findings(const lot_check_result *r, lot_error *error)
{
    lot_report report;

    lot_report_begin(&report, 5, "lllll");
    for (size_t i = 0; i < r->finding_count; i++) {
        const lot_finding *f = &r->findings[i];

        if (f->device == LOT_NO_DEVICE_INDEX)
            lot_report_cell(&report, "run");
        else
            lot_report_cell(&report, "rank %" PRId64, r->devices[f->device].rank);
        lot_report_cell(&report, "%s", lot_verdict_name(f->verdict));
        lot_report_cell(&report, "%s", lot_evidence_name(f->evidence));
        lot_report_cell(&report, "%s%s%s", f->phase, f->schedule[0] != '\0' ? " " : "", f->schedule);
        lot_report_cell(&report, "%s", f->text);
    }
    if (r->finding_count > 0)
        printf("\nfindings: verdict, what decided, where\n");
    return print(&report, error);
}

/* Undecided is also what had nothing to compare its speed with. */
static bool bits_in_question(const lot_finding *f)
{
    return f->verdict == LOT_VERDICT_CORRUPT ||
           (f->verdict == LOT_VERDICT_UNDECIDED && strcmp(f->measure, "digest") == 0);
}

/* Where the bits differ; or, where bits are in question and nothing was kept, how to find out. */
static void print_localised(const lot_check_result *r)
{
    bool wanted = false;

    for (size_t i = 0; i < r->finding_count; i++)
        wanted |= bits_in_question(&r->findings[i]);
    if (wanted && r->localised_count == 0)
        printf("\nno sampled row says where the bits differ; gpulot measure --localise keeps some of them\n");
    for (size_t i = 0; i < r->localised_count; i++) {
        const lot_localised *l = &r->localised[i];

        printf("%srank %" PRId64 " against ", i == 0 ? "\nwhere the bits differ, in sampled rows\n" : "",
               l->rank);
        if (l->against == l->rank)
            printf("its own first pass");
        else
            printf("rank %" PRId64, l->against);
        printf(": layer %" PRId64 " (%s), %" PRId64, l->layer,
               l->layer == 1 ? "Linear and GELU" : "Linear, the output", l->differing);
        if (l->compared != LOT_NULL_I64)
            printf(" of %" PRId64, l->compared);
        printf(" elements in %" PRId64 " rows, first row %" PRId64 " element %" PRId64 ", at most %" PRId64
               " bits of one\n",
               l->rows, l->first_row, l->first_element, l->bits_most);
    }
}

/* ---- what it could not have seen, and what it cost ---- */

static lot_status print_limits(const lot_check_result *r, lot_error *error)
{
    static const char *const titles[] = {"group",      "times",       "GPUs",       "repeats",     "noise",
                                         "own spread", "used spread", "slow above", "sure to find"};
    lot_report report;

    lot_report_begin(&report, 9, "rlrrrrrrr");
    for (size_t i = 0; i < 9; i++)
        lot_report_cell(&report, "%s", titles[i]);
    for (size_t i = 0; i < r->comparison_count; i++) {
        const lot_comparison *n = &r->comparisons[i];

        lot_report_cell(&report, "%zu", n->group + 1);
        lot_report_cell(&report, "%s %s (%s clock)", n->phase, n->schedule, n->clock);
        lot_report_cell(&report, "%zu", n->devices);
        lot_report_cell(&report, "%" PRId64, n->repeats);
        cell_percent(&report, n->repeat_noise);
        cell_percent(&report, n->own_spread);
        cell_percent(&report, n->used_spread);
        cell_percent(&report, n->threshold);
        cell_percent(&report, n->detectable);
    }
    printf("\nwhat it could not have seen: a GPU less slow than \"sure to find\" may be missed (95 %%)\n");
    return print(&report, error);
}

static void print_blindness(const lot_check_result *r)
{
    double written = NAN;

    for (size_t i = 0; i < r->group_count; i++)
        if (isnan(r->groups[i].corruption_bound))
            printf("group %zu: %" PRId64 " passes verified, not without a fault\n", i + 1,
                   r->groups[i].verified_passes);
        else
            printf("group %zu: %" PRId64
                   " passes verified without a mismatch: at most %.3g of passes are wrong "
                   "(95 %%)\n",
                   i + 1, r->groups[i].verified_passes, r->groups[i].corruption_bound);
    for (size_t i = 0; i < r->device_count; i++)
        written = fmin(written, r->devices[i].written_share);
    if (isnan(written))
        printf("share of device memory written and read back: not known\n");
    else
        printf("of each GPU's memory at least %.2f %% was written and read back; the rest was not touched\n",
               100 * written);
    printf("precisions tried: %s\n", or_dash(r->precisions));
}

/* Nearest cent, halves up; both are exact integers. */
static int64_t nearest(int64_t numerator, int64_t denominator)
{
    return numerator / denominator + (numerator % denominator >= denominator - numerator % denominator);
}

static void print_cost(const lot_check_result *r)
{
    const lot_check_cost *c = &r->cost;
    char text[32];

    lot_unit_print_seconds(text, sizeof text, r->elapsed_seconds);
    printf("time used: %s on %" PRId64 " ranks\n", text, r->ranks);
    if (!c->known) {
        printf("cost: not known, the archive holds no price\n");
        return;
    }
    printf("the check cost %" PRId64 "/%" PRId64 " cents, about %" PRId64 ", of %" PRId64 " for %" PRId64
           " days\n",
           c->check_numerator, c->check_denominator, nearest(c->check_numerator, c->check_denominator),
           c->total_cents, c->days);
    printf("missing throughput: %.6f GPUs, %.6f GPU-hours and %" PRId64 "/%" PRId64 " cents, about %" PRId64
           ", over the rental\n",
           (double)c->lost_millionths / 1e6, (double)c->lost_gpu_hour_millionths / 1e6, c->lost_numerator,
           c->lost_denominator, nearest(c->lost_numerator, c->lost_denominator));
}

static void print_conclusion(const lot_check_result *r)
{
    size_t good = 0;

    for (size_t i = 0; i < r->device_count; i++)
        good += r->devices[i].verdicts == 0;
    printf("\n%zu of %" PRId64 " GPUs ok\n", good, r->ranks);
}

static lot_status print_text(const lot_check_result *r, const check_config *config, lot_error *error)
{
    lot_status status;

    if (r->simulated)
        printf("SIMULATED: the devices are a simulator for tests. Nothing here is a measurement of a GPU.\n");
    status = print_groups(r, error);
    printf("\n");
    if (status == LOT_OK)
        status = print_devices(r, config->all, error);
    if (status == LOT_OK)
        status = print_findings(r, error);
    print_localised(r);
    if (status == LOT_OK)
        status = print_limits(r, error);
    print_blindness(r);
    print_cost(r);
    print_conclusion(r);
    return status;
}

/* ---- inputs ---- */

/* All that the command reads. */
typedef struct inputs {
    lot_observed_run run;
    lot_observed_run against;
    lot_expectations expectations;
    lot_check_price price;
    char *tariff;
} inputs;

static lot_status read_price(inputs *in, lot_error *error)
{
    lot_launch_terms terms;
    lot_status status;

    if (in->tariff == NULL || in->tariff[0] == '\0')
        return LOT_OK;
    status = lot_launch_price_read(in->tariff, &terms, error);
    if (status == LOT_OK)
        in->price = (lot_check_price){terms.price.total_price_cents, terms.price.gpus, terms.days};
    return status;
}

static lot_status read_inputs(const check_config *config, inputs *in, lot_error *error)
{
    lot_status status = lot_observed_archive_read(config->file, &in->run, &in->tariff, error);

    if (status == LOT_OK)
        status = read_price(in, error);
    if (status == LOT_OK && config->against != NULL)
        status = lot_observed_archive_read(config->against, &in->against, NULL, error);
    if (status == LOT_OK && config->expect != NULL)
        status = lot_expectations_read(config->expect, &in->expectations, error);
    return status;
}

static lot_status print_json(const lot_check_result *result, lot_error *error)
{
    char *json = NULL;
    const lot_status status = lot_check_json_write(result, &json, error);

    if (status == LOT_OK)
        printf("%s\n", json);
    free(json);
    return status;
}

static lot_status run(const void *options_given, lot_error *error)
{
    const check_config *config = options_given;
    inputs in = {.price = {0, 0, 0}};
    lot_check_options check = {
        .prior = config->prior, .level = config->level, .soak_passes = config->soak_passes};
    lot_check_result result = {.device_count = 0};
    lot_status status;

    if (config->prior <= 0 || config->level <= 0 || config->level >= 1)
        return lot_error_set(error, LOT_USAGE, config->prior <= 0 ? "--prior" : "--level", 0,
                             "--prior must be above 0, --level between 0 and 1, neither of them 0");
    lot_observed_init(&in.run);
    lot_observed_init(&in.against);
    status = read_inputs(config, &in, error);
    check.against = config->against != NULL ? &in.against : NULL;
    check.expectations = config->expect != NULL ? &in.expectations : NULL;
    check.price = in.price.gpus > 0 ? &in.price : NULL;
    if (status == LOT_OK)
        status = lot_check(&in.run, &check, &result, error);
    if (status == LOT_OK)
        status = lot_localise_archive(config->file, &result, error);
    if (status == LOT_OK)
        status = config->json ? print_json(&result, error) : print_text(&result, config, error);
    if (status == LOT_OK && !result.all_ok)
        status = LOT_FLAGGED;
    lot_check_result_free(&result);
    lot_observed_free(&in.run);
    lot_observed_free(&in.against);
    lot_expectations_free(&in.expectations);
    free(in.tariff);
    return status;
}

const lot_command lot_command_check = {
    .name = "check",
    .summary = "is every GPU of the rental equal and healthy?",
    .synopsis = "FILE.h5 [--expect FILE] [--against EARLIER.h5] [--prior SHARE] [--level SHARE] [--json]",
    .description =
        "A verdict for each GPU of an archive, from its own repeats, its peers, the float64 reference and\n"
        "what is expected of it: ok, slow, throttled, corrupt, unstable, misconfigured, failed, lost,\n"
        "not-measured or undecided; several may hold. Only equals are compared. It tells what it could not\n"
        "have seen. Exit status 0 only where every GPU is ok.",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .config_size = sizeof(check_config),
    .run = run,
};
