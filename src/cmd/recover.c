/* gpulot recover: an archive from what an interrupted run left. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "core/clock.h"
#include "core/count.h"
#include "io/archive_h5.h"
#include "io/price_json.h"
#include "io/record_json.h"
#include "io/report.h"
#include "io/spool_read.h"

typedef struct recover_config {
    lot_text_list folders;
    const char *output;
} recover_config;

static const lot_option options[] = {
    {.name = "DIR",
     .kind = LOT_OPTION_LIST,
     .flags = LOT_OPTION_REQUIRED,
     .offset = offsetof(recover_config, folders),
     .help = "the folder that the run left, or all of them if its hosts kept their own"},
    {.name = "--output",
     .argument = "FILE.h5",
     .kind = LOT_OPTION_TEXT,
     .flags = LOT_OPTION_REQUIRED | LOT_OPTION_PRIVATE,
     .offset = offsetof(recover_config, output),
     .help = "the archive to make; an existing file is never overwritten"},
};

/* What has been taken over so far. */
typedef struct recovery {
    lot_archive_writer *writer;
    lot_run_header header;
    int64_t lost;
    int64_t failed;
    int64_t stopped; /* by a signal, or since another rank was gone */
    int64_t rows;
    char first_lost[64]; /* "1, 3, ..." */
} recovery;

static void note_lost(recovery *r, int64_t rank)
{
    const size_t used = strlen(r->first_lost);

    if (r->lost < 8)
        (void)snprintf(r->first_lost + used, sizeof r->first_lost - used, "%s%" PRId64, used > 0 ? ", " : "",
                       rank);
    else if (r->lost == 8)
        (void)snprintf(r->first_lost + used, sizeof r->first_lost - used, ", ...");
    r->lost++;
}

static lot_status take_record(void *context, const lot_record *record, lot_error *error)
{
    recovery *r = context;
    const lot_record_head *head = &record->head;
    char *json = NULL;
    size_t size = 0;
    lot_status status = lot_record_json_write(record, &json, &size, error);

    if (status == LOT_OK)
        status = lot_archive_append(r->writer, record, json, size, error);
    free(json);
    if (status != LOT_OK)
        return status;
    (void)lot_field_copy(r->header.run_id, sizeof r->header.run_id, head->identity.run_id);
    if (head->identity.continues_run_id[0] != '\0')
        (void)lot_field_copy(r->header.continues_run_id, sizeof r->header.continues_run_id,
                             head->identity.continues_run_id);
    (void)lot_field_copy(r->header.label, sizeof r->header.label, head->identity.label);
    r->header.ranks = head->identity.size;
    if (head->device.simulated == 1)
        r->header.simulated = 1;
    r->rows += (int64_t)record->phase_count;
    if (strcmp(head->outcome.status, lot_status_name(LOT_LOST)) == 0)
        note_lost(r, head->identity.rank);
    else if (strcmp(head->outcome.status, lot_status_name(LOT_INTERRUPTED)) == 0)
        r->stopped++;
    else if (strcmp(head->outcome.status, lot_status_name(LOT_OK)) != 0)
        r->failed++;
    return LOT_OK;
}

static void begin_header(lot_run_header *header)
{
    lot_fields_clear(lot_run_header_fields(), header);
    (void)lot_field_copy(header->producer, sizeof header->producer, "gpulot " GPULOT_VERSION);
    lot_clock_utc(header->created_utc, sizeof header->created_utc);
    (void)lot_field_copy(header->ended_by, sizeof header->ended_by, "interrupted; made by recover");
    header->recovered = 1;
    header->simulated = 0;
}

/* Says in one line what became of the run; the exit status says whether that is good. */
static lot_status report(const recovery *r, const recover_config *config, lot_error *error)
{
    const lot_counted ranks = lot_count(r->header.ranks, "rank");
    const lot_counted rows = lot_count(r->rows, "phase row");

    if (config->folders.count == 1)
        lot_report_line(stdout, "%s: %s, %s; the folder %s is kept", config->output, ranks.text, rows.text,
                        config->folders.items[0]);
    else
        lot_report_line(stdout, "%s: %s, %s; the %zu folders are kept", config->output, ranks.text, rows.text,
                        config->folders.count);
    if (r->lost > 0)
        return lot_error_set(error, LOT_RANK_FAILED, "recover", 0,
                             "%" PRId64 " of %s lost: %s; what was measured is in %s", r->lost, ranks.text,
                             r->first_lost, config->output);
    if (r->failed > 0)
        return lot_error_set(error, LOT_RANK_FAILED, "recover", 0, "%" PRId64 " of %s failed; %s says how",
                             r->failed, ranks.text, config->output);
    if (r->stopped > 0)
        return lot_error_set(error, LOT_RANK_FAILED, "recover", 0,
                             "%" PRId64 " of %s ended early; %s says how", r->stopped, ranks.text,
                             config->output);
    return LOT_OK;
}

/* The price fixed at launch, NULL where there is none or where it is damaged, which is said: the archive
 * could not be shown with it. */
static lot_status find_price(const lot_spool_folders *folders, char **json, lot_error *error)
{
    lot_launch_terms terms;
    lot_error damage;
    lot_status status = lot_spool_read_tariff(folders, json, error);

    if (status != LOT_OK || *json == NULL)
        return status;
    status = lot_launch_price_read(*json, &terms, &damage);
    if (status == LOT_OK)
        return LOT_OK;
    free(*json);
    *json = NULL;
    if (status == LOT_MEMORY) {
        *error = damage;
        return status;
    }
    (void)fprintf(stderr, "gpulot recover: the price fixed at launch is left out: %s\n", damage.text);
    return LOT_OK;
}

static lot_status run(const void *options_given, lot_error *error)
{
    const recover_config *config = options_given;
    const lot_spool_folders folders = {config->folders.items, config->folders.count};
    recovery r = {.lost = 0};
    char *tariff = NULL;
    lot_status status = lot_archive_create(config->output, &r.writer, error);

    if (status != LOT_OK)
        return status;
    begin_header(&r.header);
    status = lot_spool_read(&folders, take_record, &r, error);
    if (status == LOT_OK)
        status = find_price(&folders, &tariff, error);
    if (status != LOT_OK) {
        lot_archive_abandon(r.writer);
        return status;
    }
    r.header.complete = r.lost == 0 ? 1 : 0;
    status = lot_archive_finish(r.writer, &r.header, tariff, error);
    free(tariff);
    return status == LOT_OK ? report(&r, config, error) : status;
}

const lot_command lot_command_recover = {
    .name = "recover",
    .summary = "an archive from what an interrupted run left",
    .synopsis = "DIR... --output FILE.h5",
    .description =
        "Makes an archive from the folder in which a run's ranks kept what they measured, or from the\n"
        "folders of its hosts, copied to one machine. A rank that ended without saying so is recorded as\n"
        "lost, with all that it had measured, and so is a rank that left nothing. If a rank's file lies\n"
        "in several folders, the longest one counts, and the others must be its beginning. The folders\n"
        "are kept. Exit status 1 if a rank is lost, failed or was stopped.",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .config_size = sizeof(recover_config),
    .run = run,
};
