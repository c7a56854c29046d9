/* That a run is to end early, and why: a signal that reached this rank, or another one. */
#ifndef GPULOT_MEASURE_STOP_H
#define GPULOT_MEASURE_STOP_H

#include <stdatomic.h>

/* Written by a signal handler or by the main thread, read by the worker: lock-free atomics serve both. Once
 * `signal` is set both stay. */
typedef struct lot_stop {
    atomic_int signal; /* its number; 0: go on */
    atomic_int rank;   /* who got it; -1: this rank */
} lot_stop;

#endif
