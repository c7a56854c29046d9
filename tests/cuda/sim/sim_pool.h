/* Stream-ordered memory pools, exact in their model: used bytes are the sizes rounded up to a grain, reserved
 * bytes are the used ones rounded up to a chunk and stay until a trim or a synchronisation takes them back.
 */
#ifndef GPULOT_SIM_POOL_H
#define GPULOT_SIM_POOL_H

#include "sim_core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a device's default pool. */
void sim_pool_open(sim_device *device);

/* Bytes that all pools of the device have reserved. */
uint64_t sim_pool_reserved_bytes(const sim_device *device);

/* Charges a free to its pool. The bytes count as used, to a reader, until the free has run. */
void sim_pool_begin_free(sim_block *block);
void sim_pool_end_free(sim_block *block);

/* What a synchronisation does: gives back what lies above each pool's release threshold. */
void sim_pool_release_excess(sim_device *device);

/* Gives back all that is not used, so that another allocation can have it. */
void sim_pool_release_all(sim_device *device);

#ifdef __cplusplus
}
#endif
#endif
