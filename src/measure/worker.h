/* One thread that does all work on the device, so that a call that never returns does not take the rank with
 * it: the main thread watches, gives the worker up when a row takes too long, and still hands in the record.
 *
 * What worker and main thread share is guarded by the worker's lock: a given-up worker that wakes again finds
 * the lock taken for ever and cannot touch what the main thread is writing out. */
#ifndef GPULOT_MEASURE_WORKER_H
#define GPULOT_MEASURE_WORKER_H

#include "core/error.h"

typedef struct lot_worker lot_worker;

typedef lot_status (*lot_job)(void *context, lot_error *error);

lot_status lot_worker_start(lot_worker **worker, lot_error *error);

/* How the main thread waits for a job. */
typedef struct lot_watch {
    double limit_seconds;         /* longest silence of the job */
    void (*idle)(void *context);  /* called about 20 times a second, whatever the job does; NULL allowed */
    void (*pause)(void *context); /* called at most 5 times a second while the job stands still between two
                                   * timed spans, for what would disturb one; NULL allowed */
    void *context;                /* of both */
} lot_watch;

/* Has the worker do `job` and waits for it. LOT_TIMEOUT where no lot_worker_alive came for longer than
 * the limit: the worker is then given up, and every later run returns LOT_TIMEOUT at once. */
lot_status lot_worker_run(lot_worker *worker, lot_job job, void *context, const lot_watch *watch,
                          lot_error *error);

/* Called by the job outside its timed spans: it is alive, the limit counts from now, and the main thread has
 * its pause if it wants one. */
void lot_worker_alive(lot_worker *worker);

/* The lock around everything that both threads touch. For the main thread both come back at once where it has
 * given the worker up. */
void lot_worker_lock(lot_worker *worker);
void lot_worker_unlock(lot_worker *worker);

/* True where the worker was given up: its thread still exists, so that the process must end by _exit. */
int lot_worker_given_up(const lot_worker *worker);

/* Ends the thread and frees the worker; a given-up one is left alone. NULL allowed. */
void lot_worker_stop(lot_worker *worker);

#endif
