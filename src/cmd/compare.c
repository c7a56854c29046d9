/* gpulot compare: what changed between two times. */
#include "analysis/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/baseline.h"
#include "cmd/command.h"
#include "cmd/observed_archive.h"
#include "core/units.h"
#include "io/baseline_file.h"
#include "io/compare_json.h"
#include "io/report.h"

/* Above this only drifts beyond noise are listed, unless all are asked for. */
#define DRIFTS_IN_A_LIST 64

typedef struct compare_config {
    const char *before;
    const char *after;
    double tolerance;
    double level;
    bool all;
    bool json;
} compare_config;

static const lot_option options[] = {
    {.name = "BEFORE",
     .kind = LOT_OPTION_TEXT,
     .flags = LOT_OPTION_REQUIRED,
     .offset = offsetof(compare_config, before),
     .help = "an archive, or a baseline of several"},
    {.name = "AFTER.h5",
     .kind = LOT_OPTION_TEXT,
     .flags = LOT_OPTION_REQUIRED,
     .offset = offsetof(compare_config, after),
     .help = "the archive that is compared with it"},
    {.name = "--tolerance",
     .argument = "SHARE",
     .fallback = LOT_COMPARE_TOLERANCE,
     .kind = LOT_OPTION_NUMBER,
     .least = 0,
     .most = 1,
     .offset = offsetof(compare_config, tolerance),
     .help = "share of speed that may be lost without being called slower"},
    {.name = "--level",
     .argument = "SHARE",
     .fallback = LOT_COMPARE_LEVEL,
     .kind = LOT_OPTION_NUMBER,
     .least = 0,
     .most = 1,
     .offset = offsetof(compare_config, level),
     .help = "chance that noise alone is called a change"},
    {.name = "--all",
     .kind = LOT_OPTION_FLAG,
     .offset = offsetof(compare_config, all),
     .help = "list every drift, however many there are"},
    {.name = "--json",
     .kind = LOT_OPTION_FLAG,
     .offset = offsetof(compare_config, json),
     .help = "print JSON"},
};

/* ---- inputs ---- */

static lot_status read_archive(const char *path, lot_baseline *baseline, lot_error *error)
{
    lot_observed_run run;
    lot_status status;

    lot_observed_init(&run);
    status = lot_observed_archive_read(path, &run, NULL, error);
    if (status == LOT_OK)
        status = lot_baseline_make(&run, 1, baseline, error);
    lot_observed_free(&run);
    return status;
}

static lot_status read_before(const char *path, lot_baseline *baseline, lot_error *error)
{
    return lot_baseline_is_one(path) ? lot_baseline_read(path, baseline, error)
                                     : read_archive(path, baseline, error);
}

/* ---- tables ---- */

static lot_status print(lot_report *report, lot_error *error)
{
    if (lot_report_print(report, stdout))
        return LOT_OK;
    return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for a table");
}

static void cell_seconds(lot_report *report, double seconds)
{
    char text[32];

    lot_unit_print_seconds(text, sizeof text, seconds);
    lot_report_cell(report, "%s", text);
}

static void add_drift(lot_report *report, const lot_drift *d)
{
    lot_report_cell(report, "%s", d->uuid);
    lot_report_cell(report, "%s %s", d->phase, d->schedule);
    lot_report_cell(report, "%s", d->clock);
    cell_seconds(report, d->before_seconds);
    cell_seconds(report, d->after_seconds);
    lot_report_cell(report, "%+.2f %%", 100 * d->slower.value);
    if (isnan(d->slower.low))
        lot_report_cell(report, "-");
    else
        lot_report_cell(report, "%+.2f to %+.2f %%", 100 * d->slower.low, 100 * d->slower.high);
    lot_report_cell(report, "%s",
                    isnan(d->noise_limit) ? "noise not known"
                    : d->beyond_noise     ? "beyond noise"
                                          : "within noise");
}

static lot_status print_drifts(const lot_compare_result *r, bool all, lot_error *error)
{
    static const char *const titles[] = {"uuid",  "phase",  "clock",         "before",
                                         "after", "slower", "95 % interval", ""};
    const bool every = all || r->drift_count <= DRIFTS_IN_A_LIST;
    size_t left_out = 0;
    lot_report report;
    lot_status status;

    lot_report_begin(&report, 8, "lllrrrrl");
    for (size_t i = 0; i < 8; i++)
        lot_report_cell(&report, "%s", titles[i]);
    for (size_t i = 0; i < r->drift_count; i++)
        if (every || r->drifts[i].beyond_noise)
            add_drift(&report, &r->drifts[i]);
        else
            left_out++;
    status = print(&report, error);
    if (left_out > 0)
        printf("and %zu times within noise; --all lists them\n", left_out);
    return status;
}

static lot_status print_changes(const lot_compare_result *r, lot_error *error)
{
    lot_report report;

    if (r->change_count == 0) {
        printf("no change\n\n");
        return LOT_OK;
    }
    lot_report_begin(&report, 5, "lllll");
    for (size_t i = 0; i < r->change_count; i++) {
        const lot_change *c = &r->changes[i];

        lot_report_cell(&report, "%s%s", lot_change_name(c->kind),
                        lot_change_is_bad(c->kind) ? " (bad)" : "");
        lot_report_cell(&report, "%s", c->uuid);
        lot_report_cell(&report, "%s%s%s", c->phase, c->phase[0] != '\0' ? " " : "", c->schedule);
        lot_report_cell(&report, "%s", c->measure);
        lot_report_cell(&report, "%s", c->text);
    }
    if (!lot_report_print(&report, stdout))
        return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for a table");
    printf("\n");
    return LOT_OK;
}

/* Whether what is bad is nothing but speeds that could not be judged. */
static bool only_undecided(const lot_compare_result *r)
{
    for (size_t i = 0; i < r->change_count; i++)
        if (lot_change_is_bad(r->changes[i].kind) && r->changes[i].kind != LOT_CHANGE_UNDECIDED)
            return false;
    return true;
}

static lot_status print_text(const lot_compare_result *r, const compare_config *config, lot_error *error)
{
    lot_status status;

    if (r->simulated)
        printf("SIMULATED: the devices are a simulator for tests. Nothing here is a measurement of a GPU.\n");
    printf("%zu GPUs before (%" PRId64 " archives), %zu now, %zu the same\n\n", r->devices_before,
           r->archives_before, r->devices_after, r->matched);
    status = print_changes(r, error);
    if (status == LOT_OK)
        status = print_drifts(r, config->all, error);
    printf("\n%s\n", r->good             ? "nothing got worse"
                     : only_undecided(r) ? "not every speed could be judged"
                                         : "something got worse");
    return status;
}

static lot_status print_json(const lot_compare_result *result, lot_error *error)
{
    char *json = NULL;
    const lot_status status = lot_compare_json_write(result, &json, error);

    if (status == LOT_OK)
        printf("%s\n", json);
    free(json);
    return status;
}

static lot_status run(const void *options_given, lot_error *error)
{
    const compare_config *config = options_given;
    const lot_compare_options how = {.tolerance = config->tolerance, .level = config->level};
    lot_compare_result result = {.drift_count = 0};
    lot_baseline before = {0}, after = {0};
    lot_status status;

    if (config->level <= 0 || config->level >= 1)
        return lot_error_set(error, LOT_USAGE, "--level", 0,
                             "--level must lie between 0 and 1, neither of them");
    status = read_before(config->before, &before, error);
    if (status == LOT_OK)
        status = read_archive(config->after, &after, error);
    if (status == LOT_OK)
        status = lot_compare(&before, &after, &how, &result, error);
    if (status == LOT_OK)
        status = config->json ? print_json(&result, error) : print_text(&result, config, error);
    if (status == LOT_OK && !result.good)
        status = LOT_FLAGGED;
    lot_compare_result_free(&result);
    lot_baseline_free(&before);
    lot_baseline_free(&after);
    return status;
}

const lot_command lot_command_compare = {
    .name = "compare",
    .summary = "what changed between two times",
    .synopsis = "BEFORE AFTER.h5 [--tolerance SHARE] [--level SHARE] [--json]",
    .description =
        "The same GPUs at two times, recognised by their UUID: missing, new, moved and swapped ones, drift "
        "of\n"
        "every phase with its interval, digests that must be equal, counters of errors, and what changed in\n"
        "driver, settings and host. BEFORE is an archive or a baseline of several (gpulot baseline). Exit\n"
        "status 1 where something got worse beyond noise and tolerance, or the speed of a GPU could not be\n"
        "judged.",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .config_size = sizeof(compare_config),
    .run = run,
};
