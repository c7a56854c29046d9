/* Device memory: addresses that the host cannot touch, guarded at the end, never reused.
 *
 * A block ends at a page that cannot be read (rounded up to 256 bytes, which is the alignment that the
 * product may rely on; the rounding is a canary that is checked when the block is freed). New memory holds
 * 0xA5. */
#ifndef GPULOT_SIM_MEMORY_H
#define GPULOT_SIM_MEMORY_H

#include "sim_core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reserves a device's addresses. */
void sim_memory_open(sim_device *device);

/* Hands out `size` bytes of address space that count as `charged` bytes; NULL where there is none left. */
char *sim_memory_new(sim_device *device, size_t size, size_t charged, sim_pool *pool);

/* The block that holds this address, freed or not; NULL where there is none. */
sim_block *sim_memory_find(sim_device *device, const void *pointer);

/* Takes the memory away; later use of the address faults. */
void sim_memory_release(sim_device *device, sim_block *block);

/* The device whose address this is, or NULL for host memory. Needs no lock. */
sim_device *sim_memory_owner(const void *pointer);

/* Where the simulator reaches a device address; host addresses stay as they are. Needs no lock. */
void *sim_memory_alias(const void *pointer);

/* True where [pointer, pointer + length) lies in one block that is not freed, or is host memory. */
bool sim_memory_inside(const void *pointer, size_t length);

/* Bytes from the pointer to the end of its block; 0 for host memory. */
size_t sim_memory_extent(const void *pointer);

/* For work that runs on `device` (the lock not held): the alias of the range, or NULL after the device was
 * broken with 700 because the range is not inside one live block of it. */
void *sim_memory_check(sim_device *device, const void *pointer, size_t length, const char *what);

/* Runs `run(argument)`; false where it touched memory that is not there. Needs no lock. */
bool sim_memory_guarded(void (*run)(void *argument), void *argument);

/* One line for every block that was never freed; how many there are. */
int sim_memory_report_leaks(const sim_device *device);

#ifdef __cplusplus
}
#endif
#endif
