#include "measure/worker.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "core/clock.h"

#define WATCH_NANOSECONDS 50000000L
#define PAUSE_SECONDS     0.2

struct lot_worker {
    pthread_t thread;
    pthread_mutex_t lock;    /* of everything below */
    pthread_mutex_t shared;  /* of what job and main thread share */
    pthread_cond_t posted;   /* to the worker */
    pthread_cond_t finished; /* to the main thread */
    lot_job job;             /* NULL while there is nothing to do */
    void *context;
    lot_status status;
    lot_error error;
    double alive_seconds;
    int done;
    int pause_wanted; /* by the main thread */
    int paused;       /* the job stands still until the main thread takes this back */
    int ending;
    int given_up;
};

static void *serve(void *argument)
{
    lot_worker *worker = argument;

    (void)pthread_mutex_lock(&worker->lock);
    while (!worker->ending) {
        lot_job job = worker->job;
        void *context = worker->context;
        lot_error error = {0};
        lot_status status;

        if (job == NULL) {
            (void)pthread_cond_wait(&worker->posted, &worker->lock);
            continue;
        }
        worker->job = NULL;
        (void)pthread_mutex_unlock(&worker->lock);
        status = job(context, &error);
        (void)pthread_mutex_lock(&worker->lock);
        worker->status = status;
        worker->error = error;
        worker->done = 1;
        (void)pthread_cond_signal(&worker->finished);
    }
    (void)pthread_mutex_unlock(&worker->lock);
    return NULL;
}

lot_status lot_worker_start(lot_worker **worker, lot_error *error)
{
    lot_worker *made = calloc(1, sizeof *made);
    pthread_condattr_t monotonic;
    int code;

    if (made == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for the worker");
    (void)pthread_mutex_init(&made->lock, NULL);
    (void)pthread_mutex_init(&made->shared, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&made->posted, &monotonic);
    (void)pthread_cond_init(&made->finished, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    code = pthread_create(&made->thread, NULL, serve, made);
    if (code != 0) {
        free(made);
        return lot_error_errno(error, LOT_MEMORY, "pthread_create", code,
                               "the worker thread cannot be started");
    }
    *worker = made;
    return LOT_OK;
}

static struct timespec soon(void)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += WATCH_NANOSECONDS;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_nsec -= 1000000000L;
        until.tv_sec++;
    }
    return until;
}

/* Calls `function`, where there is one, without the lock, which the caller holds. */
static void call(lot_worker *worker, void (*function)(void *context), void *context)
{
    if (function == NULL)
        return;
    (void)pthread_mutex_unlock(&worker->lock);
    function(context);
    (void)pthread_mutex_lock(&worker->lock);
}

/* Waits for the job with the lock held, waking now and then to look at the clock. */
static void wait_for_job(lot_worker *worker, const lot_watch *watch)
{
    double paused_seconds = lot_clock_seconds();

    while (!worker->done) {
        const struct timespec until = soon();

        if (!worker->paused)
            (void)pthread_cond_timedwait(&worker->finished, &worker->lock, &until);
        if (worker->paused) {
            call(worker, watch->pause, watch->context);
            worker->paused = worker->pause_wanted = 0;
            worker->alive_seconds = paused_seconds = lot_clock_seconds();
            (void)pthread_cond_signal(&worker->posted);
        }
        if (!worker->done && lot_clock_seconds() - worker->alive_seconds > watch->limit_seconds) {
            worker->given_up = 1;
            return;
        }
        worker->pause_wanted = watch->pause != NULL && lot_clock_seconds() - paused_seconds > PAUSE_SECONDS;
        call(worker, watch->idle, watch->context);
    }
    worker->pause_wanted = 0;
}

/* Takes the shared lock and never gives it back. A worker that hangs while it holds the lock is not waited
 * for. */
static void keep_out(lot_worker *worker)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    (void)pthread_mutex_timedlock(&worker->shared, &until);
}

lot_status lot_worker_run(lot_worker *worker, lot_job job, void *context, const lot_watch *watch,
                          lot_error *error)
{
    int gave_up = 0;
    lot_status status;

    (void)pthread_mutex_lock(&worker->lock);
    if (!worker->given_up) {
        worker->job = job;
        worker->context = context;
        worker->done = 0;
        worker->alive_seconds = lot_clock_seconds();
        (void)pthread_cond_signal(&worker->posted);
        wait_for_job(worker, watch);
        gave_up = worker->given_up;
    }
    if (worker->given_up) {
        status = lot_error_set(error, LOT_TIMEOUT, "--phase-timeout", 0,
                               "the device did not answer within %g s: given up", watch->limit_seconds);
    } else {
        status = worker->status;
        if (status != LOT_OK)
            *error = worker->error;
    }
    (void)pthread_mutex_unlock(&worker->lock);
    /* From here on the given-up thread may wake at any time: it must not reach what the record is made of. */
    if (gave_up)
        keep_out(worker);
    return status;
}

void lot_worker_alive(lot_worker *worker)
{
    (void)pthread_mutex_lock(&worker->lock);
    worker->alive_seconds = lot_clock_seconds();
    if (worker->pause_wanted && !worker->given_up) {
        worker->paused = 1;
        (void)pthread_cond_signal(&worker->finished);
        while (worker->paused)
            (void)pthread_cond_wait(&worker->posted, &worker->lock);
    }
    (void)pthread_mutex_unlock(&worker->lock);
}

/* True for the main thread once it has given the worker up: the lock is its own for ever. The worker never
 * reads given_up here. */
static int holds_for_ever(const lot_worker *worker)
{
    return !pthread_equal(pthread_self(), worker->thread) && worker->given_up;
}

void lot_worker_lock(lot_worker *worker)
{
    if (!holds_for_ever(worker))
        (void)pthread_mutex_lock(&worker->shared);
}

void lot_worker_unlock(lot_worker *worker)
{
    if (!holds_for_ever(worker))
        (void)pthread_mutex_unlock(&worker->shared);
}

int lot_worker_given_up(const lot_worker *worker)
{
    return worker->given_up;
}

void lot_worker_stop(lot_worker *worker)
{
    if (worker == NULL || worker->given_up)
        return;
    (void)pthread_mutex_lock(&worker->lock);
    worker->ending = 1;
    (void)pthread_cond_signal(&worker->posted);
    (void)pthread_mutex_unlock(&worker->lock);
    (void)pthread_join(worker->thread, NULL);
    (void)pthread_cond_destroy(&worker->posted);
    (void)pthread_cond_destroy(&worker->finished);
    (void)pthread_mutex_destroy(&worker->lock);
    (void)pthread_mutex_destroy(&worker->shared);
    free(worker);
}
