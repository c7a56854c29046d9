/* Progress of a measurement on stderr: one line rewritten in place on a terminal, plain lines elsewhere. */
#ifndef GPULOT_CMD_PROGRESS_H
#define GPULOT_CMD_PROGRESS_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct lot_progress {
    int enabled;
    int terminal;
    int color;
    int ranks;
    double began_seconds;
    double stage_began_seconds;
    double drawn_seconds;
    const char *stage;   /* "warm", "gather" */
    int64_t stage_total; /* rows or ranks expected in the stage */
    atomic_llong stage_done;
    int width; /* characters of the line now on the terminal */
} lot_progress;

/* `quiet`, or a rank other than 0, shows nothing. NO_COLOR and TERM=dumb are respected. */
void lot_progress_start(lot_progress *progress, int quiet, int rank, int ranks);

/* Says on stderr, in one line that can be pasted into a shell whatever the names hold, how to make an archive
 * of what is in `spool_folder`; `before` stands in front of it. */
void lot_progress_recovery(const char *before, const char *spool_folder, const char *output);

/* Says once how to get at what is measured if the run dies: a process that is killed cannot say it then. */
void lot_progress_note(const lot_progress *progress, const char *spool_folder, const char *output);

/* A new stage with `total` steps. */
void lot_progress_stage(lot_progress *progress, const char *stage, int64_t total);

/* One more step of the stage is done; may be called from another thread than the rest. */
void lot_progress_step(lot_progress *progress);

/* Redraws the line; at most ten times a second. `context` is a lot_progress, so that a waiting loop can call
 * it. */
void lot_progress_draw(void *context);

/* Clears the line, so that a message can be printed. */
void lot_progress_end(lot_progress *progress);

#endif
