/* What of a rank's measurement is kept: its record, its progress on disk, and the handing over. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/gathering.h"
#include "cmd/measurement.h"
#include "core/clock.h"
#include "core/utf8.h"
#include "io/archive_h5.h"
#include "io/atomic_file.h"
#include "io/record_json.h"
#include "measure/host.h"

/* ---- the record's fixed part ---- */

void lot_keeping_step(lot_measurement *m, const char *name, double seconds)
{
    lot_step *step;

    lot_worker_lock(m->worker);
    step = lot_record_add_step(&m->record);
    if (step != NULL) {
        (void)lot_field_copy(step->step, sizeof step->step, name);
        step->seconds = seconds;
    }
    lot_worker_unlock(m->worker);
}

static void fill_identity(lot_measurement *m)
{
    lot_identity *identity = &m->record.head.identity;

    identity->rank = m->team.facts.rank;
    identity->size = m->team.facts.size;
    identity->local_rank = m->launch.local_rank;
    identity->local_size = m->launch.local_size;
    lot_host_name(identity->host, sizeof identity->host);
    lot_launch_identity(&m->launch, identity);
    (void)lot_field_copy(identity->run_id, sizeof identity->run_id, m->run_id);
    (void)lot_field_copy(identity->continues_run_id, sizeof identity->continues_run_id, m->continues_run_id);
    (void)lot_field_copy(identity->label, sizeof identity->label,
                         m->config.label != NULL ? m->config.label : "");
    (void)lot_field_copy(identity->device_spec, sizeof identity->device_spec, m->config.device);
    (void)lot_field_copy(m->record.head.environment.mpi_library,
                         sizeof m->record.head.environment.mpi_library, m->team.facts.library);
    lot_archive_hdf5_version(m->record.head.environment.hdf5_version,
                             sizeof m->record.head.environment.hdf5_version);
}

static lot_status fill_variables(lot_record *record, lot_error *error)
{
    const char *name;

    for (size_t i = 0; (name = lot_launch_variable(i)) != NULL; i++) {
        const char *value = getenv(name);
        lot_variable *added;

        if (value == NULL)
            continue;
        added = lot_record_add_variable(record);
        if (added == NULL)
            return lot_error_set(error, LOT_MEMORY, "realloc", 0,
                                 "no memory for the environment's variables");
        (void)lot_field_copy(added->name, sizeof added->name, name);
        (void)lot_field_copy(added->value, sizeof added->value, value);
    }
    return LOT_OK;
}

/* ---- progress on disk ---- */

/* The folder that was asked for, or one beside the archive. A host that does not share the archive's file
 * system keeps its ranks' progress in its own temporary folder. */
static lot_status open_spool(lot_measurement *m, lot_error *error)
{
    const char *temporary = getenv("TMPDIR");
    lot_status status;

    if (m->config.spool != NULL)
        (void)snprintf(m->spool_folder, sizeof m->spool_folder, "%s", m->config.spool);
    else
        (void)snprintf(m->spool_folder, sizeof m->spool_folder, "%s.spool-%s", m->config.output, m->run_id);
    status = lot_spool_open(m->spool_folder, m->team.facts.rank, &m->spool, error);
    if (status != LOT_OK && m->config.spool == NULL && m->team.facts.rank != 0) {
        (void)snprintf(m->spool_folder, sizeof m->spool_folder, "%s/gpulot-spool-%s",
                       temporary != NULL && temporary[0] == '/' ? temporary : "/tmp", m->run_id);
        m->spool_is_own = 1;
        status = lot_spool_open(m->spool_folder, m->team.facts.rank, &m->spool, error);
    }
    if (status == LOT_OK)
        status = lot_spool_head(m->spool, &m->record, error);
    if (status == LOT_OK && m->tariff_json != NULL)
        status = lot_spool_tariff(m->spool, m->tariff_json, error);
    return status;
}

lot_status lot_keeping_begin(lot_measurement *m, lot_error *error)
{
    lot_status status;

    fill_identity(m);
    status = fill_variables(&m->record, error);
    if (status == LOT_OK)
        status = lot_measure_config_echo(&m->config, &m->record, error);
    if (status == LOT_OK)
        status = open_spool(m, error);
    /* The folder of the progress may be in the archive's place. */
    if (status == LOT_OK && m->team.facts.rank == 0)
        status = lot_atomic_check(m->config.output, error);
    return status;
}

lot_status lot_keeping_row(void *context, const lot_phase *row, lot_error *error)
{
    lot_measurement *m = context;

    if (row->passes > 0 && row->host_seconds > 0)
        m->latest_flops_per_second = (double)row->passes *
                                     (double)m->record.head.synthetic_model.flops_per_forward /
                                     row->host_seconds;
    lot_progress_step(&m->progress);
    return lot_spool_phase(m->spool, row, error);
}

/* ---- the end ---- */

static lot_status hand_over(lot_measurement *m, const char *json, size_t size, lot_error *error)
{
    lot_gathering gathering = {.team = &m->team,
                               .output = m->config.output,
                               .run_id = m->run_id,
                               .spool_folder = m->spool_folder,
                               .tariff_json = m->tariff_json,
                               .progress = &m->progress};
    lot_status status;

    if (m->team.facts.rank != 0)
        return lot_gathering_hand_in(&gathering, json, size, error);
    lot_fields_clear(lot_run_header_fields(), &gathering.header);
    (void)lot_field_copy(gathering.header.label, sizeof gathering.header.label,
                         m->config.label != NULL ? m->config.label : "");
    (void)lot_field_copy(gathering.header.continues_run_id, sizeof gathering.header.continues_run_id,
                         m->continues_run_id);
    (void)lot_field_copy(gathering.header.ended_by, sizeof gathering.header.ended_by,
                         m->ended.status == LOT_INTERRUPTED || m->ended.status == LOT_TIMEOUT ? m->ended.text
                                                                                              : "completed");
    gathering.header.elapsed_seconds = lot_clock_seconds() - m->protocol.epoch_seconds;
    lot_progress_stage(&m->progress, "gather", LOT_GROUP_COUNT, m->team.facts.size - 1);
    status = lot_gathering_collect(&gathering, json, size, error);
    m->archived = lot_status_exit(status) <= 1;
    return status;
}

/* The whole record on disk. It is on its way into the archive as well, so that a full disk loses nothing yet:
 * it is only said. */
static void spool_record(lot_measurement *m, const char *json, size_t size)
{
    lot_error error;

    if (lot_spool_end(m->spool, json, size, &error) == LOT_OK &&
        lot_spool_flush(m->spool, true, &error) == LOT_OK)
        return;
    lot_progress_end(&m->progress);
    (void)fprintf(stderr, "gpulot measure: rank %d: %s; its record is handed in all the same\n",
                  m->team.facts.rank, error.text);
}

/* Ends the record, at `where` if it was stopped, and puts it on disk: its JSON, NULL where *made says why
 * not. */
static char *end_record(lot_measurement *m, const char *where, size_t *size, lot_error *made)
{
    char *json = NULL;
    lot_error closing = {0};

    if (lot_measurement_close_device(m, &closing) != LOT_OK)
        lot_record_fail(&m->record, "device_close", &closing);
    if (m->ended.status == LOT_INTERRUPTED)
        lot_record_fail(&m->record, where, &m->ended);
    lot_protocol_conclude(&m->protocol);
    if (lot_record_json_write(&m->record, &json, size, made) == LOT_OK)
        spool_record(m, json, *size);
    return json;
}

void lot_keeping_abandon(lot_measurement *m, const lot_error *why)
{
    size_t size = 0;
    lot_error made = {0};

    m->ended = *why;
    m->ended.status = LOT_INTERRUPTED;
    free(end_record(m, "meeting", &size, &made));
}

lot_status lot_keeping_conclude(lot_measurement *m, lot_error *error)
{
    size_t size = 0;
    lot_error made = {0};
    char *json = end_record(m, "signal", &size, &made);
    lot_status status;

    /* A rank without a record says so: the others wait for it. */
    status = hand_over(m, json, size, error);
    free(json);
    if (made.status != LOT_OK || (status == LOT_OK && m->ended.status != LOT_OK)) {
        *error = made.status != LOT_OK ? made : m->ended;
        status = error->status;
    }
    return status;
}

void lot_keeping_look(lot_measurement *m)
{
    struct stat info;

    m->spool_was_there = m->config.spool != NULL && lstat(m->config.spool, &info) == 0;
}

void lot_keeping_discard(lot_measurement *m)
{
    lot_spool_close(m->spool, true);
    m->spool = NULL;
    if (!m->spool_was_there)
        lot_spool_remove_folder(m->spool_folder);
}

/* Somebody has removed what was kept, or moved it: nothing is promised of it. */
static void say_gone(const lot_measurement *m)
{
    char folder[sizeof m->spool_folder];

    (void)snprintf(folder, sizeof folder, "%s", m->spool_folder);
    lot_utf8_clean(folder);
    (void)fprintf(stderr, "gpulot measure: what was measured was kept in %s, which is no longer there\n",
                  folder);
}

/* One rank says it for all that share a folder, and one of each host that has its own. Rank 1 does where rank
 * 0 may be gone. */
static void say_kept(const lot_measurement *m, lot_status verdict)
{
    const int archived = m->archived || verdict == LOT_LOST;
    const int speaks = m->team.facts.rank == 0 || (m->team.facts.rank == 1 && verdict == LOT_TIMEOUT);
    struct stat info;
    /* Another run may have taken the name meanwhile. */
    const bool taken = archived || lstat(m->config.output, &info) == 0;
    const char *output = taken ? "ANOTHER.h5" : m->config.output;
    char before[160];

    if (lstat(m->spool_folder, &info) != 0 && errno == ENOENT) {
        if (!archived && (speaks || m->spool_is_own))
            say_gone(m);
    } else if (speaks && !m->spool_is_own) {
        lot_progress_recovery(archived
                                  ? "gpulot measure: the archive is there; should a lost rank have "
                                    "written more since, an archive with that is made by"
                                  : "gpulot measure: what was measured is kept; to make an archive of it",
                              m->spool_folder, output);
    } else if (m->spool_is_own && m->launch.local_rank == 0) {
        (void)snprintf(before, sizeof before,
                       "gpulot measure: host %s has kept its part itself; bring it to the rest and name both",
                       m->record.head.identity.host);
        lot_utf8_clean(before);
        lot_progress_recovery(before, m->spool_folder, output);
    }
}

void lot_keeping_end(lot_measurement *m, lot_status verdict)
{
    if (m->spool == NULL)
        return;
    /* Where a rank is lost the others' files stay too: an archive made of its own alone would lack them. */
    if (lot_status_exit(verdict) <= 1 && verdict != LOT_TIMEOUT && verdict != LOT_LOST) {
        lot_keeping_discard(m);
        return;
    }
    lot_spool_close(m->spool, false);
    m->spool = NULL;
    say_kept(m, verdict);
}
