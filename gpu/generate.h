/* The values of gpu/generator.h, many at a time: what the modules build on the host is made here. */
#ifndef GPULOT_GPU_GENERATE_H
#define GPULOT_GPU_GENERATE_H

#include <stdint.h>

#include "gpu/device.h"

/* Writes elements [first, first + count) of the fill's tensor to `to`, which has room for `count` elements of
 * the fill's dtype and need not be aligned. The fill's own range does not matter. On the calling thread
 * alone; cannot fail. */
void lot_generate(void *to, const lot_fill *fill, int64_t first, int64_t count);

#endif
