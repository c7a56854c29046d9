/* How much memory this machine has and may still be used by this process. */
#ifndef GPULOT_GPU_HOST_MEMORY_H
#define GPULOT_GPU_HOST_MEMORY_H

#include <stdint.h>

typedef struct lot_host_memory {
    int64_t total_bytes;     /* memory of the machine, or the control group's limit where that is smaller */
    int64_t available_bytes; /* what can be taken now without pushing others out */
} lot_host_memory;

/* Reads /proc/meminfo and the limits of the control groups (versions 1 and 2) above this process. `root` is
 * put before every path: "" in use, a folder of recorded files in tests. Without /proc/meminfo sysinfo(2)
 * tells the memory, and of what is available that which is free. Never fails: what cannot be read sets no
 * limit. */
lot_host_memory lot_host_memory_read(const char *root);

#endif
