#include "core/clock.h"

#include <stdio.h>
#include <time.h>

double lot_clock_seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void lot_clock_sleep(double seconds)
{
    struct timespec span;

    span.tv_sec = (time_t)seconds;
    span.tv_nsec = (long)((seconds - (double)span.tv_sec) * 1e9);
    (void)nanosleep(&span, NULL);
}

void lot_clock_utc(char *text, size_t size)
{
    struct timespec now;
    struct tm parts;
    char day[32];

    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &parts);
    (void)strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(text, size, "%s.%03ldZ", day, now.tv_nsec / 1000000);
}
