/* One rank's measurement, from its arguments to the archive: what the parts of `gpulot measure` share. */
#ifndef GPULOT_CMD_MEASUREMENT_H
#define GPULOT_CMD_MEASUREMENT_H

#include <limits.h>

#include "cmd/progress.h"
#include "core/record.h"
#include "io/spool.h"
#include "measure/config.h"
#include "measure/launch.h"
#include "measure/protocol.h"
#include "measure/team.h"
#include "measure/worker.h"

typedef struct lot_measurement {
    lot_measure_config config;
    lot_launch launch;
    lot_team team;
    lot_worker *worker;
    lot_stop *stop; /* what the signal handler sets */
    lot_protocol protocol;
    lot_list_request listing;
    lot_device_list found;    /* the devices there are; a given-up worker may write there yet */
    lot_open_request opening; /* which of them to open; it may read here yet, too */
    lot_record record;
    lot_progress progress;
    lot_news news;                  /* what this rank tells of itself; the main thread's */
    double latest_flops_per_second; /* of the worker's last row; read while it stands still */
    lot_talk talk;
    lot_spool *spool;
    char spool_folder[PATH_MAX];
    int spool_was_there; /* --spool's folder: before any rank of this run could make it */
    int spool_is_own;    /* in this host's temporary folder, not where the other ranks' is */
    char run_id[40];
    char continues_run_id[40];
    char *tariff_json;
    int begun;    /* all ranks have met: from here on there is something to keep */
    int archived; /* rank 0: the archive is there */
    int pairs;    /* pairs of ranks on the fullest host */
    double mpi_start_seconds;
    int opened;      /* the device was asked for, whether it opened or not */
    lot_error ended; /* what ended the phases early; LOT_OK where nothing did */
} lot_measurement;

/* ---- rounds.c ---- */

/* All groups of phases, every rank beginning each one together. LOT_OK also where a signal ended them early
 * or this rank failed: it is in m->ended or in the record. Else what all ranks agreed on, or LOT_TIMEOUT
 * where rank 0 does not answer. */
lot_status lot_rounds_run(lot_measurement *m, lot_error *error);

/* ---- keeping.c ---- */

/* A step of the setup. Without memory for it the record lacks it; what is measured is not worse for it. */
void lot_keeping_step(lot_measurement *m, const char *name, double seconds);

/* Notes whether --spool's folder is there. To be called before the ranks first meet: behind that another one
 * may have made it. */
void lot_keeping_look(lot_measurement *m);

/* The record's fixed part, and the rank's progress on disk, begun with it. LOT_MEMORY, LOT_OUTPUT, LOT_IO. */
lot_status lot_keeping_begin(lot_measurement *m, lot_error *error);

/* The protocol's callback for a finished row; `context` is the lot_measurement. */
lot_status lot_keeping_row(void *context, const lot_phase *row, lot_error *error);

/* Ends the rank's record and brings it to rank 0, which makes the archive. LOT_OK, or what is wrong with the
 * run as a whole. */
lot_status lot_keeping_conclude(lot_measurement *m, lot_error *error);

/* Ends the record of a rank that has nobody to bring it to, as *why says: on disk alone, as interrupted. */
void lot_keeping_abandon(lot_measurement *m, const lot_error *why);

/* Removes the rank's progress on disk, and its folder where this run made it and it is empty. */
void lot_keeping_discard(lot_measurement *m);

/* The progress on disk after the run ended as `verdict` says: removed where every rank handed in its record,
 * else kept, with a line on how to make an archive of it. */
void lot_keeping_end(lot_measurement *m, lot_status verdict);

/* ---- measure.c ---- */

/* Closes the device, unless its worker was given up; once is enough. LOT_TIMEOUT where it does not come back
 * within the limit of a row, or half a minute where that is longer. */
lot_status lot_measurement_close_device(lot_measurement *m, lot_error *error);

#endif
