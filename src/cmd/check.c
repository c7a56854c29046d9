/* gpulot check: is every GPU of the rental equal and healthy? */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/check.h"
#include "analysis/spread.h"
#include "cmd/check_text.h"
#include "cmd/command.h"
#include "cmd/localise_archive.h"
#include "cmd/observed_archive.h"
#include "core/count.h"
#include "io/check_json.h"
#include "io/expectation_json.h"
#include "io/price_json.h"

typedef struct check_config {
    lot_text_list files;
    const char *expect;
    const char *against;
    double prior;
    double level;
    int64_t soak_passes;
    bool all;
    bool wide;
    bool json;
} check_config;

static const lot_option options[] = {
    {.name = "FILES.h5",
     .kind = LOT_OPTION_LIST,
     .flags = LOT_OPTION_REQUIRED,
     .offset = offsetof(check_config, files),
     .help = "the archives of the rental; equal GPUs of all of them are peers"},
    {.name = "--expect",
     .argument = "FILE",
     .kind = LOT_OPTION_TEXT,
     .offset = offsetof(check_config, expect),
     .help = "rates expected of exact models, JSON as in consistency.md"},
    {.name = "--against",
     .argument = "EARLIER.h5",
     .kind = LOT_OPTION_TEXT,
     .offset = offsetof(check_config, against),
     .help = "an earlier archive whose equal GPUs count as peers"},
    {.name = "--prior",
     .argument = "SHARE",
     .fallback = LOT_CHECK_PRIOR,
     .kind = LOT_OPTION_NUMBER,
     .smallest = LOT_SPREAD_LEAST,
     .most = 1,
     .offset = offsetof(check_config, prior),
     .help = "spread that four of five groups of honest GPUs stay below, 1e-9 to 1"},
    {.name = "--level",
     .argument = "SHARE",
     .fallback = LOT_CHECK_LEVEL,
     .kind = LOT_OPTION_NUMBER,
     .flags = LOT_OPTION_ABOVE | LOT_OPTION_BELOW,
     .least = 0,
     .most = 1,
     .offset = offsetof(check_config, level),
     .help = "chance that times alone flag a rental of honest GPUs"},
    {.name = "--soak-passes",
     .argument = "N",
     .fallback = LOT_CHECK_SOAK_PASSES,
     .kind = LOT_OPTION_INTEGER,
     .least = 1,
     .most = INT64_MAX,
     .offset = offsetof(check_config, soak_passes),
     .help = "fewest verified passes for a soak to count"},
    {.name = "--all",
     .kind = LOT_OPTION_FLAG,
     .offset = offsetof(check_config, all),
     .help = "list every GPU, however many there are"},
    {.name = "--wide",
     .kind = LOT_OPTION_FLAG,
     .offset = offsetof(check_config, wide),
     .help = "every column: UUID, clock, spreads"},
    {.name = "--json", .kind = LOT_OPTION_FLAG, .offset = offsetof(check_config, json), .help = "print JSON"},
};

/* ---- inputs ---- */

/* All that the command reads. */
typedef struct inputs {
    lot_observed_run *runs; /* one for each file */
    lot_check_price *prices;
    lot_observed_run against;
    lot_expectations expectations;
} inputs;

static lot_status read_price(const char *tariff, lot_check_price *price, lot_error *error)
{
    lot_launch_terms terms;
    lot_status status;

    if (tariff == NULL || tariff[0] == '\0')
        return LOT_OK;
    status = lot_launch_price_read(tariff, &terms, error);
    if (status == LOT_OK)
        *price = (lot_check_price){terms.price.total_price_cents, terms.price.gpus, terms.days};
    return status;
}

static lot_status read_archive(const char *path, lot_observed_run *run, lot_check_price *price,
                               lot_error *error)
{
    char *tariff = NULL;
    lot_status status = lot_observed_archive_read(path, false, run, &tariff, error);

    if (status == LOT_OK)
        status = read_price(tariff, price, error);
    free(tariff);
    return status;
}

static lot_status read_inputs(const check_config *config, inputs *in, lot_error *error)
{
    const size_t count = config->files.count;
    lot_status status = LOT_OK;

    in->runs = calloc(count, sizeof *in->runs);
    in->prices = calloc(count, sizeof *in->prices);
    if (in->runs == NULL || in->prices == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for %s",
                             lot_count((int64_t)count, "archive").text);
    for (size_t i = 0; status == LOT_OK && i < count; i++)
        status = read_archive(config->files.items[i], &in->runs[i], &in->prices[i], error);
    if (status == LOT_OK && config->against != NULL)
        status = lot_observed_archive_read(config->against, false, &in->against, NULL, error);
    if (status == LOT_OK && config->expect != NULL)
        status = lot_expectations_read(config->expect, &in->expectations, error);
    return status;
}

static void free_inputs(inputs *in, size_t count)
{
    for (size_t i = 0; in->runs != NULL && i < count; i++)
        lot_observed_free(&in->runs[i]);
    free(in->runs);
    free(in->prices);
    lot_observed_free(&in->against);
    lot_expectations_free(&in->expectations);
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

static lot_status check(const check_config *config, const inputs *in, lot_check_result *result,
                        lot_error *error)
{
    const lot_check_options how = {.prior = config->prior,
                                   .level = config->level,
                                   .soak_passes = config->soak_passes,
                                   .against = config->against != NULL ? &in->against : NULL,
                                   .expectations = config->expect != NULL ? &in->expectations : NULL,
                                   .prices = in->prices,
                                   .files = config->files.items};

    return lot_check(in->runs, config->files.count, &how, result, error);
}

static lot_status run(const void *options_given, lot_error *error)
{
    const check_config *config = options_given;
    const lot_check_text_options how = {.all = config->all, .wide = config->wide, .against = config->against};
    inputs in = {.runs = NULL};
    lot_check_result result = {.device_count = 0};
    lot_status status;

    lot_observed_init(&in.against);
    status = read_inputs(config, &in, error);
    if (status == LOT_OK)
        status = check(config, &in, &result, error);
    if (status == LOT_OK)
        status = lot_localise_archives(config->files.items, &result, error);
    if (status == LOT_OK)
        status = config->json ? print_json(&result, error) : lot_check_text_print(&result, &how, error);
    if (status == LOT_OK && !result.all_ok)
        status = LOT_FLAGGED;
    lot_check_result_free(&result);
    free_inputs(&in, config->files.count);
    return status;
}

const lot_command lot_command_check = {
    .name = "check",
    .summary = "is every GPU of the rental equal and healthy?",
    .synopsis = "FILES.h5... [--expect FILE] [--against EARLIER.h5] [--prior SHARE] [--level SHARE] [--json]",
    .description =
        "Gives each GPU of the archives a verdict, from its own repeats, its peers, the float64 reference\n"
        "and what is expected of it: ok, or one or more of slow, throttled, corrupt, unstable,\n"
        "misconfigured, failed, lost, not-measured and undecided. Several archives, one for each lot of a\n"
        "rental, are judged together. Only equal GPUs doing equal work are compared. It also says what it\n"
        "could not have seen. Exit status 0 only if every GPU is ok. consistency.md tells how GPUs are\n"
        "judged.",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .config_size = sizeof(check_config),
    .run = run,
};
