/* What this process's CPUs are. */
#ifndef GPULOT_GPU_HOST_CPUS_H
#define GPULOT_GPU_HOST_CPUS_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

typedef struct lot_host_cpus {
    int count;         /* CPUs that this process may run on */
    char list[64];     /* "0-3,8", cut with "..." where it is too long */
    char model[96];    /* as the CPU names itself */
    char uuid[48];     /* HOST-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx */
    int64_t l2_bytes;  /* of one of the CPUs; -1 where it is not known */
    int64_t l3_bytes;  /* likewise */
    int64_t numa_node; /* that all of the CPUs belong to; -1 where there is more than one */
} lot_host_cpus;

/* Looks at the CPUs that the calling thread may run on. The UUID is the SHA-256 of machine id and CPU list,
 * cut to 128 bits: stable over restarts, the same for ranks that share their CPUs, and no way back to the
 * machine id. The host name takes the place of the machine id where there is none. */
lot_status lot_host_cpus_read(lot_host_cpus *cpus, lot_error *error);

#endif
