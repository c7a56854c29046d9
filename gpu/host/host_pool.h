/* The host device's own memory pool: counted, caching, never returning memory to the system before it is
 * destroyed or short of memory.
 *
 * Requests are rounded up to LOT_HOST_GRANULARITY. Small ones share segments of LOT_HOST_SEGMENT bytes and
 * are split and merged there; a larger one gets a segment of its own, which a later request takes over where
 * at most an eighth of it would lie idle. `allocated` is the sum of the rounded requests, `reserved` the sum
 * of the segments. */
#ifndef GPULOT_GPU_HOST_POOL_H
#define GPULOT_GPU_HOST_POOL_H

#include <stdint.h>

#include "core/error.h"
#include "core/facts.h"

#define LOT_HOST_GRANULARITY ((int64_t)256)
#define LOT_HOST_SEGMENT     ((int64_t)2 << 20) /* one huge page on x86-64 */
#define LOT_HOST_SMALL       ((int64_t)1 << 20) /* largest request that shares a segment */

typedef struct lot_host_pool lot_host_pool;

/* `root` as in host_memory.h; it must outlive the pool. */
lot_status lot_host_pool_create(const char *root, lot_host_pool **pool, lot_error *error);
void lot_host_pool_destroy(lot_host_pool *pool); /* NULL allowed; frees what is still allocated */

/* `bytes` bytes, aligned to LOT_HOST_GRANULARITY, contents undefined; 0 bytes count as 1. LOT_DEVICE_MEMORY
 * where the machine or the control group has not that much left; nothing is taken from the system before that
 * is known, so that no process is killed for it. */
lot_status lot_host_pool_alloc(lot_host_pool *pool, int64_t bytes, void **pointer, lot_error *error);

/* NULL allowed. A pointer that is not of this pool, or was freed, is a programmer's error (assert). */
void lot_host_pool_free(lot_host_pool *pool, void *pointer);

void lot_host_pool_counters(const lot_host_pool *pool, lot_counters *counters);
void lot_host_pool_reset_peaks(lot_host_pool *pool);

#endif
