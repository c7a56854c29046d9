/* gpulot tariffs: checks a catalogue of tariffs, or prints it as a table. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/price.h"
#include "cmd/command.h"
#include "core/count.h"
#include "io/report.h"
#include "io/tariffs_csv.h"
#include "io/tariffs_json.h"

typedef enum tariffs_action { ACTION_CHECK, ACTION_LIST } tariffs_action;

typedef struct tariffs_config {
    int action;
    const char *file;
    const char *columns;
    bool json;
} tariffs_config;

static const lot_option options[] = {
    {.name = "ACTION",
     .kind = LOT_OPTION_CHOICE,
     .flags = LOT_OPTION_REQUIRED,
     .offset = offsetof(tariffs_config, action),
     .help = "list every fault, or print a table",
     .choices = "check|list"},
    {.name = "FILE",
     .kind = LOT_OPTION_TEXT,
     .flags = LOT_OPTION_REQUIRED,
     .offset = offsetof(tariffs_config, file),
     .help = "catalogue of tariffs, CSV as in prices.md"},
    {.name = "--columns",
     .argument = "MAP",
     .kind = LOT_OPTION_TEXT,
     .offset = offsetof(tariffs_config, columns),
     .help = "the catalogue's header names: gpu=NAME,days=NAME,...,ignore=NAME"},
    {.name = "--json",
     .kind = LOT_OPTION_FLAG,
     .offset = offsetof(tariffs_config, json),
     .help = "print JSON"},
};

/* Faults are the results of `check`; with `list` they are why there is no table. */
typedef struct fault_printer {
    const tariffs_config *config;
    FILE *out;
    int64_t count;
    lot_json_text *json; /* of a check's answer; NULL: lines */
} fault_printer;

static void print_fault(void *context, int64_t line, const char *text)
{
    fault_printer *printer = context;
    lot_error ignored; /* the end tells that memory ran out */

    if (printer->json != NULL)
        (void)lot_tariffs_json_fault(printer->json, line, text, &ignored);
    else
        lot_report_line(printer->out, "%s%s:%" PRId64 ": %s",
                        printer->out == stderr ? "gpulot tariffs: " : "", printer->config->file, line, text);
    printer->count++;
}

static void print_origin(const char *file, const lot_catalogue *catalogue)
{
    lot_report_line(stdout, "file      %s, SHA-256 %s", file, catalogue->sha256);
    lot_report_line(stdout, "title     %s", catalogue->title != NULL ? catalogue->title : "not told");
    lot_report_line(stdout, "date      %s",
                    catalogue->snapshot_date != NULL ? catalogue->snapshot_date : "not told");
    lot_report_line(stdout, "source    %s", catalogue->source != NULL ? catalogue->source : "not told");
    if (catalogue->is_example)
        printf("EXAMPLE PRICES: the catalogue says that they are nobody's tariff.\n");
}

static lot_status print_table(const char *file, const lot_catalogue *catalogue, lot_error *error)
{
    lot_report report;

    print_origin(file, catalogue);
    printf("\nUSD for one whole lot:\n");
    lot_report_begin(&report, 2 + LOT_TARIFF_PERIODS, "lrrrr");
    lot_report_cell(&report, "GPU");
    lot_report_cell(&report, "GPUs per lot");
    for (size_t period = 0; period < LOT_TARIFF_PERIODS; period++)
        lot_report_cell(&report, "%14s", lot_count(lot_tariff_days(period), "day").text);
    for (size_t i = 0; i < catalogue->tariff_count; i++) {
        const lot_tariff *tariff = &catalogue->tariffs[i];

        lot_report_cell(&report, "%s", tariff->gpu);
        lot_report_cell(&report, "%" PRId64, tariff->gpus_per_lot);
        for (size_t period = 0; period < LOT_TARIFF_PERIODS; period++) {
            char dollars[32];

            lot_price_dollars(tariff->lot_price_cents[period], dollars, sizeof dollars);
            lot_report_cell(&report, "%s", dollars);
        }
    }
    return lot_report_print(&report, stdout, error);
}

/* `check`: LOT_INPUT where the catalogue has a fault, and nothing more is printed of it. */
static lot_status check(const tariffs_config *config, const lot_tariffs_columns *columns,
                        lot_catalogue *catalogue, lot_error *error)
{
    lot_json_text json = {0};
    fault_printer printer = {.config = config, .out = stdout, .json = config->json ? &json : NULL};
    const lot_tariffs_reading reading = {.columns = columns, .fault = print_fault, .context = &printer};
    lot_status status, printed = LOT_OK;

    if (config->json)
        lot_tariffs_json_begin(&json);
    status = lot_tariffs_read(config->file, &reading, catalogue, error);
    if (status != LOT_OK && printer.count == 0) {
        lot_json_free(&json);
        return status;
    }
    if (status == LOT_INPUT)
        error->text[0] = '\0';
    if (config->json)
        printed = lot_tariffs_json_end(&json, config->file, status == LOT_OK ? catalogue : NULL, error);
    else if (status == LOT_OK)
        lot_report_line(stdout, "%s: %s, %s, no fault; SHA-256 %s", config->file,
                        lot_count((int64_t)catalogue->tariff_count, "model").text,
                        lot_count(catalogue->rows, "row").text, catalogue->sha256);
    return printed == LOT_OK ? status : printed;
}

static lot_status list(const tariffs_config *config, const lot_tariffs_columns *columns,
                       lot_catalogue *catalogue, lot_error *error)
{
    fault_printer printer = {.config = config, .out = stderr};
    const lot_tariffs_reading reading = {.columns = columns, .fault = print_fault, .context = &printer};
    lot_status status = lot_tariffs_read(config->file, &reading, catalogue, error);

    if (printer.count > 0)
        error->text[0] = '\0'; /* every fault is printed already */
    if (status == LOT_OK && config->json)
        status = lot_tariffs_json_list(config->file, catalogue, error);
    else if (status == LOT_OK)
        status = print_table(config->file, catalogue, error);
    return status;
}

static lot_status run(const void *options_given, lot_error *error)
{
    const tariffs_config *config = options_given;
    lot_tariffs_columns columns;
    lot_catalogue catalogue;
    lot_status status = lot_tariffs_map(config->columns, &columns, error);

    memset(&catalogue, 0, sizeof catalogue);
    if (status == LOT_OK && config->action == ACTION_CHECK)
        status = check(config, &columns, &catalogue, error);
    else if (status == LOT_OK)
        status = list(config, &columns, &catalogue, error);
    lot_catalogue_free(&catalogue);
    return status;
}

const lot_command lot_command_tariffs = {
    .name = "tariffs",
    .summary = "check a catalogue of tariffs, or print it",
    .synopsis = "check|list FILE [--columns MAP] [--json]",
    .description =
        "check lists every fault of a catalogue with its line, on standard output and with exit status 2,\n"
        "or says that there is none. list prints it as a table. --columns reads a file with other header\n"
        "names: gpu=modele,gpus_per_lot=gpu_par_lot,days=jours,price_cents_usd=prix,ignore=region.",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .config_size = sizeof(tariffs_config),
    .run = run,
};
