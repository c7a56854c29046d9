/* gpulot export: records as they were gathered, or the raw-results grid. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "core/count.h"
#include "io/anonymise.h"
#include "io/archive_h5.h"
#include "io/json_read.h"
#include "io/raw_results.h"
#include "io/record_json.h"
#include "io/report.h"
#include "io/rows_csv.h"

typedef enum export_format { FORMAT_JSON, FORMAT_CSV } export_format;

typedef struct export_config {
    const char *file;
    int format;
    const char *rank_text;
    int64_t rank; /* -1: all */
    bool anonymise;
    const char *append_to;
} export_config;

static const lot_option options[] = {
    {.name = "FILE.h5",
     .kind = LOT_OPTION_TEXT,
     .flags = LOT_OPTION_REQUIRED,
     .offset = offsetof(export_config, file),
     .help = "the archive"},
    {.name = "--format",
     .argument = "NAME",
     .kind = LOT_OPTION_CHOICE,
     .flags = LOT_OPTION_REQUIRED,
     .offset = offsetof(export_config, format),
     .help = "records, or one line for each row of real passes",
     .choices = "json|csv"},
    {.name = "--rank",
     .argument = "N",
     .kind = LOT_OPTION_TEXT,
     .offset = offsetof(export_config, rank_text),
     .help = "this rank alone, a whole number from 0"},
    {.name = "--anonymise",
     .kind = LOT_OPTION_FLAG,
     .offset = offsetof(export_config, anonymise),
     .help = "digests for host names, UUIDs, serials and PCI addresses"},
    {.name = "--append-to",
     .argument = "FILE.csv",
     .kind = LOT_OPTION_TEXT,
     .offset = offsetof(export_config, append_to),
     .help = "with --format csv: add the rows to this file, none twice; waits 60 s for others"},
};

/* ---- json ---- */

typedef struct json_printer {
    const char *file;
    const lot_aliases *aliases; /* NULL: records as they are */
    bool array;
    size_t printed;
} json_printer;

static lot_status print_anonymous(const lot_aliases *aliases, const char *json, size_t size, lot_error *error)
{
    lot_record record;
    char *changed = NULL;
    size_t changed_size = 0;
    lot_status status = lot_record_json_read(json, size, &record, error);

    if (status != LOT_OK)
        return status;
    status = lot_anonymise_record(aliases, &record, error);
    if (status == LOT_OK)
        status = lot_record_json_write(&record, &changed, &changed_size, error);
    if (status == LOT_OK)
        (void)fwrite(changed, 1, changed_size, stdout);
    free(changed);
    lot_record_free(&record);
    return status;
}

/* Prints a record as it stands in the archive, where another program may have put something else. */
static lot_status print_verbatim(const json_printer *printer, const char *json, size_t size, lot_error *error)
{
    lot_json_reader in;
    bool no_memory;
    bool object = lot_json_read_begin(&in, json, size) && lot_json_read_kind(&in) == LOT_JSON_OBJECT &&
                  lot_json_read_skip(&in);

    object = lot_json_read_end(&in) && object;
    no_memory = in.no_memory;
    lot_json_read_free(&in);
    if (no_memory)
        return lot_error_set(error, LOT_MEMORY, "realloc", 0, "no memory for a record");
    if (!object)
        return lot_error_set(error, LOT_DAMAGED, "export", 0,
                             "%s: a record, after %zu that are, is not a JSON object", printer->file,
                             printer->printed);
    (void)fwrite(json, 1, size, stdout);
    return LOT_OK;
}

static lot_status print_record(void *context, const char *json, size_t size, lot_error *error)
{
    json_printer *printer = context;
    lot_status status = LOT_OK;

    if (printer->array)
        (void)fputs(printer->printed == 0 ? "[\n" : ",\n", stdout);
    if (printer->aliases != NULL)
        status = print_anonymous(printer->aliases, json, size, error);
    else
        status = print_verbatim(printer, json, size, error);
    printer->printed++;
    return status;
}

static lot_status export_json(const export_config *config, const lot_aliases *aliases, lot_error *error)
{
    json_printer printer = {.file = config->file, .aliases = aliases, .array = config->rank < 0};
    const lot_status status =
        lot_archive_each_record(config->file, config->rank, print_record, &printer, error);

    if (status != LOT_OK)
        return status;
    (void)fputs(!printer.array ? "\n" : printer.printed == 0 ? "[]\n" : "\n]\n", stdout);
    return LOT_OK;
}

/* ---- csv ---- */

typedef struct row_printer {
    const export_config *config;
    const lot_aliases *aliases; /* NULL: rows as they are */
    const lot_run *run;
    FILE *out;
    bool begun; /* the header is printed */
} row_printer;

static lot_status check_rows(const row_printer *printer, lot_error *error)
{
    const export_config *config = printer->config;
    const lot_run *run = printer->run;

    if (config->rank >= 0 && lot_run_device(run, config->rank) == NULL)
        return lot_error_set(error, LOT_USAGE, "--rank", 0, "%s has no rank %lld", config->file,
                             (long long)config->rank);
    if (config->append_to != NULL && run->header.simulated == 1)
        return lot_error_set(error, LOT_INPUT, "--append-to", 0,
                             "--append-to: %s was made over a simulator: it holds no real pass",
                             config->file);
    return LOT_OK;
}

static lot_status begin_rows(row_printer *printer, lot_error *error)
{
    const lot_status status = check_rows(printer, error);

    if (status == LOT_OK)
        lot_rows_csv_header(printer->out);
    printer->begun = true;
    return status;
}

static lot_status print_rows(void *context, const lot_record_head *head, const lot_phase *rows, size_t count,
                             lot_error *error)
{
    row_printer *printer = context;
    lot_record_head shown = *head;
    lot_status status = printer->begun ? LOT_OK : begin_rows(printer, error);

    if (status != LOT_OK || (printer->config->rank >= 0 && head->identity.rank != printer->config->rank))
        return status;
    if (printer->aliases != NULL)
        status = lot_anonymise_head(printer->aliases, &shown, error);
    if (status == LOT_OK)
        lot_rows_csv_rank(printer->out, &shown, rows, count);
    return status;
}

/* Writes the grid, one rank's rows in memory at a time. */
static lot_status write_rows(const export_config *config, const lot_aliases *aliases, FILE *out,
                             lot_error *error)
{
    lot_run run;
    row_printer printer = {.config = config, .aliases = aliases, .run = &run, .out = out};
    lot_status status = lot_archive_each_device(config->file, &run, print_rows, &printer, error);

    if (status == LOT_OK && !printer.begun)
        status = begin_rows(&printer, error);
    lot_run_free(&run);
    return status;
}

static lot_status append_rows(const export_config *config, const lot_aliases *aliases, lot_error *error)
{
    lot_raw_results_summary summary;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    lot_status status;

    if (out == NULL)
        return lot_error_set(error, LOT_MEMORY, "open_memstream", 0, "no memory for the rows");
    status = write_rows(config, aliases, out, error);
    if (fclose(out) != 0 && status == LOT_OK)
        status = lot_error_set(error, LOT_MEMORY, "open_memstream", 0, "no memory for the rows");
    if (status == LOT_OK)
        status = lot_raw_results_append(config->append_to, text, size, &summary, error);
    if (status == LOT_OK)
        lot_report_line(stdout, "%s: %s added, %lld already there", config->append_to,
                        lot_count(summary.added, "row").text, (long long)summary.present);
    free(text);
    return status;
}

static lot_status export_csv(const export_config *config, const lot_aliases *aliases, lot_error *error)
{
    return config->append_to != NULL ? append_rows(config, aliases, error)
                                     : write_rows(config, aliases, stdout, error);
}

/* ---- the command ---- */

static lot_status collect_aliases(const char *file, lot_aliases **aliases, lot_error *error)
{
    lot_run run;
    lot_status status = lot_archive_read_devices(file, &run, error);

    if (status != LOT_OK)
        return status;
    status = lot_aliases_collect(run.devices, run.device_count, aliases, error);
    lot_run_free(&run);
    return status;
}

static lot_status run(const void *options_given, lot_error *error)
{
    export_config config = *(const export_config *)options_given;
    lot_aliases *aliases = NULL;
    lot_status status = lot_command_rank(config.rank_text, &config.rank, error);

    if (status == LOT_OK && config.append_to != NULL && config.format != FORMAT_CSV)
        status = lot_error_set(error, LOT_USAGE, "--append-to", 0, "--append-to goes with --format csv");
    if (status == LOT_OK && config.anonymise)
        status = collect_aliases(config.file, &aliases, error);
    if (status == LOT_OK && config.format == FORMAT_JSON)
        status = export_json(&config, aliases, error);
    else if (status == LOT_OK)
        status = export_csv(&config, aliases, error);
    lot_aliases_free(aliases);
    return status;
}

const lot_command lot_command_export = {
    .name = "export",
    .summary = "an archive's records as JSON, or its passes as CSV",
    .synopsis = "FILE.h5 --format json|csv [options]",
    .description =
        "Prints an archive's records as they were gathered: an array, or with --rank one object. csv is\n"
        "the raw-results grid: one line for each row of real passes. --anonymise replaces the names that\n"
        "tell whose machine it was by short digests, the same in every export.",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .config_size = sizeof(export_config),
    .run = run,
};
