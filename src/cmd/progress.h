/* Progress of a measurement on stderr: one line rewritten in place on a terminal, plain lines elsewhere. */
#ifndef GPULOT_CMD_PROGRESS_H
#define GPULOT_CMD_PROGRESS_H

#include <stdatomic.h>
#include <stdint.h>

#include "measure/comm.h"

typedef struct lot_progress {
    int enabled;
    int terminal;
    int color;
    int ranks;
    lot_news *news; /* of every rank, where this one shows anything; NULL: unknown */
    double began_seconds;
    double stage_began_seconds;
    double shown_seconds;
    const char *stage;   /* "warm", "gather" */
    int stage_number;    /* as in lot_news */
    int64_t stage_total; /* rows or ranks expected in the stage */
    atomic_llong stage_done;
    _Atomic double stage_first_seconds;  /* when the first of them was done */
    _Atomic double stage_latest_seconds; /* and the latest */
    int width;                           /* characters of the line now on the terminal */
} lot_progress;

/* `quiet`, or a rank other than 0, shows nothing. NO_COLOR and TERM=dumb are respected. */
void lot_progress_start(lot_progress *progress, int quiet, int rank, int ranks);

/* Says on stderr, in one line that can be pasted into a shell whatever the names hold, how to make an archive
 * of what is in `spool_folder`; `before` stands in front of it. */
void lot_progress_recovery(const char *before, const char *spool_folder, const char *output);

/* Says once how to get at what is measured if the run dies: a process that is killed cannot say it then. */
void lot_progress_note(const lot_progress *progress, const char *spool_folder, const char *output);

/* A new stage with `total` steps; `number` as in the ranks' news. */
void lot_progress_stage(lot_progress *progress, const char *stage, int number, int64_t total);

/* One more step of the stage is done; may be called from another thread than the rest. */
void lot_progress_step(lot_progress *progress);

/* Shows how far the stage is: redraws the line on a terminal, at most ten times a second; elsewhere a plain
 * line when the stage has taken 2, 4, 8, 16, 32, 64 s, and once a minute from then on. `context` is a
 * lot_progress, so that a waiting loop can call it. */
void lot_progress_show(void *context);

/* Says that the archive is made, which is the last that a run says where all is well. */
void lot_progress_archived(lot_progress *progress, const char *output);

/* Ends the showing: clears the line, so that a message can be printed, and frees what was taken. */
void lot_progress_end(lot_progress *progress);

#endif
