/* Values, digests and comparisons of the host device: what gpu/generator.h and gpu/digest.h define, with
 * every CPU that the device has and its widest instructions. The bits depend neither on the number of threads
 * nor on the CPU. */
#ifndef GPULOT_GPU_HOST_VALUES_H
#define GPULOT_GPU_HOST_VALUES_H

#include <stdint.h>

#include "gpu/device.h"

/* Writes fill->count values to `to`, which is aligned to the size of one value. fill->first and fill->count
 * are not negative and their sum fits. */
void lot_host_values_fill(void *to, const lot_fill *fill, int threads);

/* The digest of `bytes` bytes at `data` (aligned to 8), and whether all of them are finite as `dtype`. */
void lot_host_values_digest(const void *data, int64_t bytes, lot_dtype dtype, int threads, uint64_t *digest,
                            int *finite);

/* How many of `count` elements of `dtype` differ bit by bit, and the index of the first, -1 where none does.
 */
void lot_host_values_compare(const void *a, const void *b, int64_t count, lot_dtype dtype, int threads,
                             int64_t *differing, int64_t *first);

#endif
