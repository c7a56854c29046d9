/* The one owner of time. */
#ifndef GPULOT_CORE_CLOCK_H
#define GPULOT_CORE_CLOCK_H

#include <stddef.h>

/* Seconds on CLOCK_MONOTONIC; only differences mean anything. */
double lot_clock_seconds(void);

/* Waits for about `seconds`; returns early where a signal arrives. */
void lot_clock_sleep(double seconds);

/* Now in UTC as 2026-09-24T12:34:56.789Z. `size` at least 25. */
void lot_clock_utc(char *text, size_t size);

#endif
