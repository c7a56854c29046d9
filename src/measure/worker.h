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

/* Has the worker do `job` and waits for it. LOT_TIMEOUT where no lot_worker_alive came for longer than
 * `limit_seconds`: the worker is then given up, and every later run returns LOT_TIMEOUT at once. `idle`,
 * where not NULL, is called by the waiting thread about 20 times a second. */
lot_status lot_worker_run(lot_worker *worker, lot_job job, void *context, double limit_seconds,
                          void (*idle)(void *idle_context), void *idle_context, lot_error *error);

/* Called by the job: it is alive, the limit counts from now. */
void lot_worker_alive(lot_worker *worker);

/* The lock around everything that both threads touch. */
void lot_worker_lock(lot_worker *worker);
void lot_worker_unlock(lot_worker *worker);

/* True where the worker was given up: its thread still exists, so that the process must end by _exit. */
int lot_worker_given_up(const lot_worker *worker);

/* Ends the thread and frees the worker; a given-up one is left alone. NULL allowed. */
void lot_worker_stop(lot_worker *worker);

#endif
