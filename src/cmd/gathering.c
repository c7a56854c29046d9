#include "cmd/gathering.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/count.h"
#include "io/archive_h5.h"
#include "io/record_json.h"
#include "io/spool_read.h"

#define INTERRUPTED_TELLS 1
#define PATIENCE_LEAST    5.0 /* seconds that even the last of many silent ranks gets */

/* What was seen while the records went by. */
typedef struct tally {
    int failed;  /* by themselves, the lost ones with them */
    int stopped; /* by a signal or since another rank had failed */
    int lost;
    int simulated;
    int64_t named; /* the failed rank that tells most */
    int named_tells;
    char named_text[256];
    double patience_seconds; /* left for ranks that do not answer */
} tally;

/* How much a failure tells of its cause: when one rank dies, its launcher interrupts the others. */
static int tells(const lot_outcome *outcome)
{
    if (strcmp(outcome->status, lot_status_name(LOT_INTERRUPTED)) == 0)
        return INTERRUPTED_TELLS;
    return strcmp(outcome->status, lot_status_name(LOT_LOST)) == 0 ? 3 : 2;
}

static void count(tally *seen, const lot_record *record)
{
    const lot_outcome *outcome = &record->head.outcome;

    seen->simulated |= record->head.device.simulated == 1;
    if (strcmp(outcome->status, lot_status_name(LOT_OK)) == 0)
        return;
    if (tells(outcome) > seen->named_tells) {
        seen->named_tells = tells(outcome);
        seen->named = record->head.identity.rank;
        (void)lot_field_copy(seen->named_text, sizeof seen->named_text, outcome->error_text);
    }
    if (tells(outcome) == INTERRUPTED_TELLS)
        seen->stopped++;
    else
        seen->failed++;
    seen->lost += strcmp(outcome->status, lot_status_name(LOT_LOST)) == 0;
}

/* What a rank that does not answer has left on disk, where rank 0 can see it; else a record that says only
 * that. */
static lot_status make_lost(const lot_gathering *gathering, int rank, const lot_error *why, char **json,
                            size_t *size, lot_error *error)
{
    lot_record record;
    lot_error lost;
    lot_status status = lot_spool_read_rank(gathering->spool_folder, rank, &record, error);

    if (status != LOT_OK)
        lot_record_init(&record);
    if (strcmp(record.head.identity.run_id, gathering->run_id) != 0) {
        lot_record_free(&record);
        record.head.identity.rank = rank;
        record.head.identity.size = gathering->team->facts.size;
        (void)lot_field_copy(record.head.identity.run_id, sizeof record.head.identity.run_id,
                             gathering->run_id);
        (void)lot_error_set(&lost, LOT_LOST, why->call, why->code, "the rank did not hand in its record: %s",
                            why->text);
        lot_record_fail(&record, "gather", &lost);
        record.head.outcome.phase_rows = record.head.outcome.warm_rows = 0;
    }
    if (strcmp(record.head.outcome.status, lot_status_name(LOT_LOST)) == 0)
        (void)snprintf(record.head.outcome.error_text, sizeof record.head.outcome.error_text,
                       "the rank did not hand in its record: %.200s", why->text);
    status = lot_record_json_write(&record, json, size, error);
    lot_record_free(&record);
    return status;
}

static lot_status append(lot_archive_writer *writer, const char *json, size_t size, tally *seen,
                         lot_error *error)
{
    lot_record record;
    lot_status status = lot_record_json_read(json, size, &record, error);

    if (status != LOT_OK)
        return status;
    count(seen, &record);
    status = lot_archive_append(writer, &record, json, size, error);
    lot_record_free(&record);
    return status;
}

/* One limit for all ranks that do not answer, however many they are. */
static lot_status fetch(const lot_gathering *gathering, int rank, tally *seen, char **json, size_t *size,
                        lot_error *error)
{
    const lot_team *team = gathering->team;
    const double limit = seen->patience_seconds > PATIENCE_LEAST ? seen->patience_seconds : PATIENCE_LEAST;
    const double began = lot_clock_seconds();
    void *text = NULL;
    const lot_status status = team->module->receive(team->comm, rank, &text, size, limit, error);

    *json = text;
    if (status == LOT_TIMEOUT || status == LOT_LOST) {
        const lot_error why = *error;

        seen->patience_seconds -= lot_clock_seconds() - began;
        return make_lost(gathering, rank, &why, json, size, error);
    }
    return status;
}

/* Appends all records in rank order. `writer` is NULL where there will be no archive and *error says why: the
 * others are then asked all the same, since they wait for it, and what they send is dropped. */
static lot_status write_all(lot_gathering *gathering, lot_archive_writer *writer, const char *own_json,
                            size_t own_size, tally *seen, lot_error *error)
{
    lot_status status = writer != NULL ? append(writer, own_json, own_size, seen, error) : error->status;

    gathering->header.gather_seconds = 0;
    for (int rank = 1; rank < gathering->team->facts.size; rank++) {
        char *json = NULL;
        size_t size = 0;
        lot_error later = {0};
        const double began = lot_clock_seconds();
        lot_status fetched = fetch(gathering, rank, seen, &json, &size, &later);

        gathering->header.gather_seconds += lot_clock_seconds() - began;
        if (fetched == LOT_OK && status == LOT_OK)
            fetched = append(writer, json, size, seen, &later);
        free(json);
        if (status == LOT_OK && fetched != LOT_OK) {
            status = fetched;
            *error = later;
        }
        lot_progress_step(gathering->progress);
        lot_progress_show(gathering->progress);
    }
    return status;
}

/* What would have been a refusal at the start is a failure now: the ranks have measured, and it is kept for
 * recover. */
static lot_status after_measuring(lot_error *error)
{
    if (lot_status_exit(error->status) == lot_status_exit(LOT_USAGE))
        error->status = LOT_IO;
    return error->status;
}

/* What the run says in the end. A rank that was stopped did not fail: where others did, it is told apart. */
static lot_status conclude(const tally *seen, int size, lot_error *error)
{
    const int bad = seen->failed > 0 ? seen->failed : seen->stopped;
    char stopped[64] = "";

    if (bad == 0)
        return LOT_OK;
    if (seen->failed > 0 && seen->stopped > 0)
        (void)snprintf(stopped, sizeof stopped, " and %d %s stopped", seen->stopped,
                       seen->stopped > 1 ? "were" : "was");
    return lot_error_set(error, seen->lost > 0 ? LOT_LOST : LOT_RANK_FAILED, "measure", bad,
                         "%d of %s %s%s, %srank %lld: %s", bad, lot_count(size, "rank").text,
                         seen->failed > 0 ? "failed" : "ended early", stopped,
                         stopped[0] != '\0' ? "failed: "
                         : bad > 1          ? "among them "
                                            : "",
                         (long long)seen->named, seen->named_text);
}

lot_status lot_gathering_collect(lot_gathering *gathering, const char *own_json, size_t size,
                                 lot_error *error)
{
    lot_run_header *header = &gathering->header;
    lot_archive_writer *writer = NULL;
    tally seen = {.patience_seconds = gathering->team->limit_seconds};
    lot_error failure = {0};
    lot_status status;

    lot_clock_utc(header->created_utc, sizeof header->created_utc);
    if (own_json != NULL)
        (void)lot_archive_create(gathering->output, &writer, &failure);
    else
        (void)lot_error_set(&failure, LOT_MEMORY, "malloc", 0, "no memory for the record of rank 0");
    status = write_all(gathering, writer, own_json, size, &seen, &failure);
    if (status != LOT_OK) {
        lot_archive_abandon(writer);
        *error = failure;
        return after_measuring(error);
    }
    if (seen.lost > 0 && strcmp(header->ended_by, "completed") == 0)
        (void)snprintf(header->ended_by, sizeof header->ended_by, "completed without %d of the ranks",
                       seen.lost);
    (void)snprintf(header->producer, sizeof header->producer, "gpulot %s", GPULOT_VERSION);
    (void)lot_field_copy(header->run_id, sizeof header->run_id, gathering->run_id);
    header->ranks = gathering->team->facts.size;
    header->complete = seen.lost == 0;
    header->recovered = 0;
    header->simulated = (int8_t)seen.simulated;
    status = lot_archive_finish(writer, header, gathering->tariff_json, error);
    if (status != LOT_OK)
        return after_measuring(error);
    return conclude(&seen, gathering->team->facts.size, error);
}

lot_status lot_gathering_hand_in(const lot_gathering *gathering, const char *json, size_t size,
                                 lot_error *error)
{
    const lot_team *team = gathering->team;

    return team->module->send(team->comm, json, size, team->limit_seconds, error);
}
