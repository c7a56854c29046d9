#include "gpu/threads.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* 0 where the variable is not set or cannot be read: OpenMP passes over it then. */
static size_t stack_by_variable(void)
{
    static const char units[] = "bkmg";
    const char *text = getenv("OMP_STACKSIZE"), *unit = units + 1;
    char *end;
    unsigned long long number;
    int shift;

    if (text == NULL)
        return 0;
    errno = 0;
    number = strtoull(text, &end, 10);
    if (end == text || errno != 0)
        return 0;
    end += strspn(end, " \t");
    if (*end != '\0' && (unit = strchr(units, tolower((unsigned char)*end))) != NULL)
        end++;
    if (unit == NULL || end[strspn(end, " \t")] != '\0')
        return 0;
    shift = 10 * (int)(unit - units);
    return number <= SIZE_MAX >> shift ? (size_t)number << shift : 0;
}

size_t lot_threads_stack(void)
{
    const size_t wanted = stack_by_variable();
    pthread_attr_t usual;
    size_t stack = 0;

    if (pthread_attr_init(&usual) != 0)
        return wanted;
    if (wanted > 0)
        (void)pthread_attr_setstacksize(&usual, wanted); /* what is too little is passed over, as by OpenMP */
    (void)pthread_attr_getstacksize(&usual, &stack);
    (void)pthread_attr_destroy(&usual);
    return stack;
}

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
    pthread_attr_t like;
    size_t count = 0;
    int reason;

    if (started == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", ENOMEM, "no memory for %d threads", threads);
    reason = pthread_attr_init(&like);
    if (reason == 0) {
        (void)pthread_attr_setstacksize(&like, lot_threads_stack());
        (void)pthread_mutex_lock(&gate);
        while (count < wanted && (reason = pthread_create(&started[count], &like, live, &gate)) == 0)
            count++;
        (void)pthread_mutex_unlock(&gate);
        (void)pthread_attr_destroy(&like);
    }
    for (size_t i = 0; i < count; i++)
        (void)pthread_join(started[i], NULL);
    free(started);
    if (reason == 0)
        return LOT_OK;
    return lot_error_errno(error, LOT_TOO_LARGE, "pthread_create", reason,
                           "%zu of %d threads can be started (ulimit -u, ulimit -v, a container's limit)",
                           count + 1, threads);
}
