/* A library to preload: shifts the wall clock of a host, which no namespace can. CLOCK_SHIFT holds "node2=40
 * node3=-40", seconds by host name. Other clocks stay. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long shift(void)
{
    const char *text = getenv("CLOCK_SHIFT");
    char name[80];
    size_t length;

    if (text == NULL || gethostname(name, sizeof name - 2) != 0)
        return 0;
    strcat(name, "=");
    length = strlen(name);
    for (; text != NULL; text = strchr(text, ' ')) {
        text += *text == ' ';
        if (strncmp(text, name, length) == 0)
            return atol(text + length);
    }
    return 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    int result;

    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    result = real(clock, now);
    if (result == 0 && clock == CLOCK_REALTIME)
        now->tv_sec += shift();
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec fine;
    const int result = clock_gettime(CLOCK_REALTIME, &fine);

    (void)zone;
    now->tv_sec = fine.tv_sec;
    now->tv_usec = fine.tv_nsec / 1000;
    return result;
}

time_t time(time_t *seconds)
{
    struct timespec fine;

    (void)clock_gettime(CLOCK_REALTIME, &fine);
    if (seconds != NULL)
        *seconds = fine.tv_sec;
    return fine.tv_sec;
}
