/* The digest's inner loop with the CPU's widest instructions that this file knows (AVX2 on x86-64). */
#ifndef GPULOT_GPU_HOST_SIMD_H
#define GPULOT_GPU_HOST_SIMD_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/device.h"

/* Whether this CPU has the instructions; lot_simd_digest may be called only then. */
bool lot_simd_available(void);

/* What the words `first` to first + count, which lie at `words`, give to the digest; sets *bad where one of
 * the values in them is not finite. */
uint64_t lot_simd_digest(const char *words, int64_t first, int64_t count, lot_dtype dtype, unsigned *bad);

#endif
