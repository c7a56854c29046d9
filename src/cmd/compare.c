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
#include "core/count.h"
#include "core/distributions.h"
#include "core/field.h"
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
    bool wide;
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
     .help = "the archive to compare with it"},
    {.name = "--tolerance",
     .argument = "SHARE",
     .fallback = LOT_COMPARE_TOLERANCE,
     .kind = LOT_OPTION_NUMBER,
     .least = 0,
     .most = 1,
     .offset = offsetof(compare_config, tolerance),
     .help = "share of speed that may be lost before a GPU is called slower"},
    {.name = "--level",
     .argument = "SHARE",
     .fallback = LOT_COMPARE_LEVEL,
     .kind = LOT_OPTION_NUMBER,
     .flags = LOT_OPTION_ABOVE | LOT_OPTION_BELOW,
     .least = 0,
     .most = 1,
     .offset = offsetof(compare_config, level),
     .help = "chance that noise alone is called a change"},
    {.name = "--all",
     .kind = LOT_OPTION_FLAG,
     .offset = offsetof(compare_config, all),
     .help = "list every drift, however many there are"},
    {.name = "--wide",
     .kind = LOT_OPTION_FLAG,
     .offset = offsetof(compare_config, wide),
     .help = "every column: UUIDs of the times too"},
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
    status = lot_observed_archive_read(path, true, &run, NULL, error);
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

/* ---- text ---- */

/* "3", or "3 (was 1)" where it had another number. */
typedef struct rank_name {
    char text[64];
} rank_name;

static rank_name name_of(int64_t before, int64_t after)
{
    rank_name name;

    if (before == after || before == LOT_NULL_I64)
        (void)snprintf(name.text, sizeof name.text, "%" PRId64, after);
    else if (after == LOT_NULL_I64)
        (void)snprintf(name.text, sizeof name.text, "- (was %" PRId64 ")", before);
    else
        (void)snprintf(name.text, sizeof name.text, "%" PRId64 " (was %" PRId64 ")", after, before);
    return name;
}

static const char *statement_of(const lot_drift *d)
{
    if (isnan(d->coverage))
        return "not judged";
    if (!d->judged)
        return "too few repeats";
    if (d->blind)
        return "varies too much to tell";
    if (!d->beyond_noise)
        return "no change seen";
    if (d->slower.value > 0)
        return d->tolerated ? "slower, tolerated" : "slower";
    return d->tolerated ? "faster, tolerated" : "faster";
}

static void add_drift(lot_report *report, const lot_drift *d, bool wide)
{
    lot_report_cell(report, "%s", name_of(d->rank_before, d->rank_after).text);
    if (wide)
        lot_report_cell(report, "%s", d->uuid);
    lot_report_cell(report, "%s %s", d->phase, d->schedule);
    lot_report_cell(report, "%s", d->clock);
    lot_report_seconds(report, d->before_seconds);
    lot_report_seconds(report, d->after_seconds);
    lot_report_cell(report, "%s %%", lot_unit_signed_percent(d->slower.value).text);
    if (isnan(d->coverage))
        lot_report_cell(report, "-");
    else
        lot_report_cell(report, "%s to %s (%.4g %%)", lot_unit_signed_percent(d->slower.low).text,
                        lot_unit_signed_percent(d->slower.high).text, 100 * d->coverage);
    lot_report_cell(report, "%s", statement_of(d));
}

static void begin_drifts(lot_report *report, bool wide)
{
    static const char *const titles[] = {
        "rank", "UUID", "phase", "clock", "before", "now", "slower", "interval (covers)", ""};

    lot_report_begin(report, wide ? 9 : 8, wide ? "llllrrrrl" : "lllrrrrl");
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        if (wide || i != 1)
            lot_report_cell(report, "%s", titles[i]);
}

/* What the intervals rest on where before is a baseline of several archives. */
static void print_noise(const lot_compare_result *r)
{
    if (r->archives_before < 2)
        return;
    printf("the noise between %s of %s ", lot_count(r->archives_before, "archive").text,
           lot_count((int64_t)r->matched, "GPU").text);
    if (isnan(r->noise_factor))
        printf("is not known: %s of freedom where %d are needed; more archives give them\n",
               lot_count((int64_t)r->archive_dof, "degree").text, LOT_BASELINE_LEAST_DOF);
    else
        printf(
            "is known with %.3g degrees of freedom:\n"
            "an interval reaches %.3g times that noise to either side, with very many archives %.3g times\n",
            r->archive_dof, r->noise_factor, lot_normal_quantile((1 - r->interval_level) / 2));
}

/* Times of which little can be said, and how to learn more. */
static void print_blind(const lot_compare_result *r)
{
    const char *const remedy = r->archives_before > 1 ? "a baseline of more archives" : "more repeats";
    int64_t blind = 0;

    for (size_t i = 0; i < r->drift_count; i++)
        blind += r->drifts[i].blind;
    if (blind > 0)
        printf("%s with so much noise that a loss of %.0f %% can hide in it; %s can tell more\n",
               lot_count(blind, "time").text, 100 * LOT_DRIFT_BLIND, remedy);
}

static lot_status print_drifts(const lot_compare_result *r, const compare_config *config, lot_error *error)
{
    const bool every = config->all || r->drift_count <= DRIFTS_IN_A_LIST;
    int64_t left_out = 0;
    lot_report report;
    lot_status status;

    printf("slower: share of speed lost; its intervals hold all together with %.4g %%, where the repeats are "
           "enough\n",
           100 * (1 - r->level));
    print_noise(r);
    begin_drifts(&report, config->wide);
    for (size_t i = 0; i < r->drift_count; i++)
        if (every || r->drifts[i].beyond_noise || r->drifts[i].blind)
            add_drift(&report, &r->drifts[i], config->wide);
        else
            left_out++;
    status = lot_report_print(&report, stdout, error);
    if (left_out > 0)
        printf("and %s without a change; --all lists them\n", lot_count(left_out, "time").text);
    return status;
}

/* What was measured at one of the two times only, so that nobody takes it for unchanged. */
static void print_unpaired(const lot_compare_result *r)
{
    for (size_t i = 0; i < r->unpaired_count; i++) {
        const lot_unpaired *u = &r->unpaired[i];

        lot_report_line(stdout, "not compared: %s %s, measured %s only, on %s", u->phase, u->schedule,
                        u->now ? "now" : "before", lot_count(u->devices, "GPU").text);
    }
}

/* By GPU, and within one in the order in which they stand: the worst first. */
static int by_gpu(const void *a, const void *b)
{
    const lot_change *x = *(const lot_change *const *)a;
    const lot_change *y = *(const lot_change *const *)b;
    const int order = lot_change_by_gpu(x, y);

    return order != 0 ? order : (x > y) - (x < y);
}

/* One GPU's changes. */
static lot_status print_gpu(const lot_change *const *changes, size_t count, lot_error *error)
{
    lot_report report;

    lot_report_line(stdout, "rank %s, %s", name_of(changes[0]->rank_before, changes[0]->rank_after).text,
                    changes[0]->uuid);
    lot_report_begin(&report, 3, "lll");
    for (size_t i = 0; i < count; i++) {
        const lot_change *c = changes[i];

        lot_report_cell(&report, "  %s%s", lot_change_name(c->kind),
                        lot_change_is_bad(c->kind) ? " (bad)" : "");
        lot_report_cell(&report, "%s%s%s", c->phase, c->phase[0] != '\0' ? " " : "", c->schedule);
        lot_report_cell(&report, "%s: %s", c->measure, c->text);
    }
    return lot_report_print(&report, stdout, error);
}

static lot_status print_changes(const lot_compare_result *r, lot_error *error)
{
    const lot_change **sorted = malloc((r->change_count + 1) * sizeof *sorted);
    lot_status status = LOT_OK;
    size_t end;

    if (sorted == NULL)
        return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for a table");
    if (r->change_count == 0)
        printf("no change\n");
    for (size_t i = 0; i < r->change_count; i++)
        sorted[i] = &r->changes[i];
    qsort(sorted, r->change_count, sizeof *sorted, by_gpu);
    for (size_t first = 0; status == LOT_OK && first < r->change_count; first = end) {
        for (end = first + 1; end < r->change_count; end++)
            if (strcmp(sorted[end]->uuid, sorted[first]->uuid) != 0 ||
                sorted[end]->rank_after != sorted[first]->rank_after ||
                sorted[end]->rank_before != sorted[first]->rank_before)
                break;
        status = print_gpu(&sorted[first], end - first, error);
    }
    free(sorted);
    printf("\n");
    return status;
}

/* Whether what is bad is nothing but speeds that could not be judged. */
static bool only_undecided(const lot_compare_result *r)
{
    for (size_t i = 0; i < r->change_count; i++)
        if (lot_change_is_bad(r->changes[i].kind) && r->changes[i].kind != LOT_CHANGE_UNDECIDED)
            return false;
    return true;
}

/* What is compared, so that who has the answer alone can find it. */
static lot_status print_inputs(const lot_compare_result *r, const compare_config *config, lot_error *error)
{
    lot_report report;

    lot_report_begin(&report, 3, "lll");
    lot_report_cell(&report, "before");
    lot_report_cell(&report, "%s", config->before);
    lot_report_cell(&report, "%s", r->run_id_before);
    lot_report_cell(&report, "now");
    lot_report_cell(&report, "%s", config->after);
    lot_report_cell(&report, "%s", r->run_id_after);
    return lot_report_print(&report, stdout, error);
}

static lot_status print_text(const lot_compare_result *r, const compare_config *config, lot_error *error)
{
    lot_status status;

    if (r->simulated)
        printf("SIMULATED: the devices are a simulator for tests. Nothing here is a measurement of a GPU.\n");
    status = print_inputs(r, config, error);
    if (status != LOT_OK)
        return status;
    printf("%s before (%s), %zu now, %zu the same\n", lot_count((int64_t)r->devices_before, "GPU").text,
           lot_count(r->archives_before, "archive").text, r->devices_after, r->matched);
    if (r->matched_by_rank > 0)
        printf("%zu of them share a UUID with other ranks and were matched by their rank\n",
               r->matched_by_rank);
    if (r->one_run)
        printf("before and now are the same run: nothing was measured in between\n");
    if (r->backwards)
        printf(
            "the second archive is the older one: they stand in the wrong order, and slower means faster\n");
    printf("\n");
    status = print_changes(r, error);
    if (status == LOT_OK)
        status = print_drifts(r, config, error);
    print_unpaired(r);
    printf("\n");
    print_blind(r);
    printf("judged by gpulot %s with --tolerance %g %%, --level %g %%\n", GPULOT_VERSION,
           100 * config->tolerance, 100 * config->level);
    printf("%s\n", r->good             ? "nothing got worse"
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

    if (lot_baseline_is_one(config->after))
        return lot_error_set(
            error, LOT_USAGE, "AFTER.h5", 0,
            "%.200s is a baseline, which can only be BEFORE; give the newer archive behind it",
            config->after);
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
    .summary = "what changed on the same GPUs between two times",
    .synopsis = "BEFORE AFTER.h5 [--tolerance SHARE] [--level SHARE] [--all] [--wide] [--json]",
    .description =
        "Compares the same GPUs at two times, recognised by their UUID (ranks that share one by their\n"
        "rank): missing, new, moved and swapped ones, the drift of every phase with its interval, digests\n"
        "that must be equal, error counters, and what changed in driver, settings and host. BEFORE is an\n"
        "archive or a baseline of several (gpulot baseline). Exit status 1 if something got worse beyond\n"
        "noise and tolerance, or the speed of a GPU could not be judged.",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .config_size = sizeof(compare_config),
    .run = run,
};
