/* How near to its device a rank runs: NUMA nodes and distances, as Linux lists them. */
#ifndef GPULOT_MEASURE_NUMA_H
#define GPULOT_MEASURE_NUMA_H

#include <stddef.h>
#include <stdint.h>

#include "core/facts.h"
#include "core/record.h"

/* Where the system's files lie; another root for tests. */
typedef struct lot_numa_files {
    const char *nodes;  /* "/sys/devices/system/node": online, node0/cpulist, node0/distance, ... */
    const char *status; /* "/proc/thread-self/status", for Mems_allowed_list */
} lot_numa_files;

extern const lot_numa_files lot_numa_system;

#define LOT_NUMA_ABSENT_MAX 4

/* Fills cpu_numa_nodes, memory_numa_nodes, device_cpu_distance and device_memory_distance of *environment for
 * a thread that may run on `cpus` ("0-3,8") and a device at NUMA node `device_node` (-1: not known). What
 * cannot be told is "not measured", with a reason in absent[]; returns the number of reasons. The distances
 * are those of the firmware's table (ACPI SLIT): 10 for the same node. */
size_t lot_numa_read(const lot_numa_files *files, const char *cpus, int64_t device_node,
                     lot_environment *environment, lot_absent absent[LOT_NUMA_ABSENT_MAX]);

#endif
