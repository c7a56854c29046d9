/* The host that a rank runs on: its environment section, its CPUs, and moving near a device. */
#ifndef GPULOT_MEASURE_HOST_H
#define GPULOT_MEASURE_HOST_H

#include <stddef.h>

#include "core/record.h"

/* Host name as the others see it; "unknown" where there is none. */
void lot_host_name(char *name, size_t size);

/* Fills everything but mpi_library and hdf5_version. What the system does not tell stays "not measured". */
void lot_host_environment(lot_environment *environment);

/* The CPUs that the calling thread may run on as a list, "0-3,8"; returns how many, 0 where it is not known.
 */
int lot_host_cpus(char *list, size_t size);

/* The NUMA node nearest to the PCI device `address` ("0000:17:00.0"), as sysfs tells it; -1 where it is not
 * known. */
int64_t lot_host_near_node(const char *address);

/* Moves the calling thread to the CPUs nearest to the PCI device, as sysfs lists them, as far as it may run
 * there already. Returns 1 where it moved, 0 where there was nothing to do or to know; never an error, since
 * a measurement goes on without it. */
int lot_host_move_near(const char *address);

#endif
