#include "gpu/threads.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

/* Takes what a thread has of its own: its stack, and the arena of its first allocation, which later threads
 * use again. */
static void *live(void *gate)
{
    void *volatile first = malloc(1);

    (void)pthread_mutex_lock(gate);
    (void)pthread_mutex_unlock(gate);
    free(first);
    return NULL;
}

lot_status lot_threads_try(int threads, lot_error *error)
{
    const size_t wanted = (size_t)threads - 1;
    pthread_t *started = calloc((size_t)threads, sizeof *started);
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    size_t count = 0;
    int reason = 0;

    if (started == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", ENOMEM, "no memory for %d threads", threads);
    (void)pthread_mutex_lock(&gate);
    while (count < wanted && (reason = pthread_create(&started[count], NULL, live, &gate)) == 0)
        count++;
    (void)pthread_mutex_unlock(&gate);
    for (size_t i = 0; i < count; i++)
        (void)pthread_join(started[i], NULL);
    free(started);
    if (reason == 0)
        return LOT_OK;
    return lot_error_errno(error, LOT_TOO_LARGE, "pthread_create", reason,
                           "%zu of %d threads can be started (ulimit -u, ulimit -v, a container's limit)",
                           count + 1, threads);
}
