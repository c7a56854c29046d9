/* Whether the threads that a module computes with can be started. */
#ifndef GPULOT_GPU_THREADS_H
#define GPULOT_GPU_THREADS_H

#include <stddef.h>

#include "core/error.h"

/* Bytes of the stack of a thread that OpenMP starts: OMP_STACKSIZE, in KiB or with B, K, M or G behind it
 * (OpenMP 5.2, section 21.2.3), else what every thread has; 0 where nobody says. */
size_t lot_threads_stack(void);

/* Starts as many threads at once as OpenMP will for `threads`, 1 or more, the calling one included, and ends
 * them. Returns LOT_TOO_LARGE where a limit on this process is in the way: OpenMP returns no error there, it
 * ends the process. LOT_MEMORY. */
lot_status lot_threads_try(int threads, lot_error *error);

#endif
