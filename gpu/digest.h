/* Digest of a whole buffer: says whether two outputs are equal bit for bit, at the speed of memory, whatever
 * the number of threads. Plain C that a CUDA compiler reads too.
 *
 * The buffer is read as little-endian 64-bit words, the last one padded with zero bytes. Word w at index i
 * becomes m = w + (i + 1) * K; m ^= m >> 32; m *= M; m ^= m >> 29, and the digest is the sum of all m modulo
 * 2^64, plus the number of bytes. Each step from w to m can be undone, so a change in one word always changes
 * the digest; changes in several words go unseen with a probability of about 2^-64. The sum does not depend
 * on the order. It is a check against faults, not against forgery. K is the odd number nearest to 2^64 /
 * golden ratio, M is the first multiplier of splitmix64's mixer (G. L. Steele, D. Lea, C. H. Flood, "Fast
 * splittable pseudorandom number generators", OOPSLA 2014). */
#ifndef GPULOT_GPU_DIGEST_H
#define GPULOT_GPU_DIGEST_H

#include <stdint.h>

#include "gpu/generator.h"

#define LOT_DIGEST_STEP 0x9E3779B97F4A7C15ull
#define LOT_DIGEST_MIX  0xBF58476D1CE4E5B9ull

/* The contribution of the word at `index`. */
LOT_ANYWHERE uint64_t lot_digest_word(uint64_t word, uint64_t index)
{
    uint64_t m = word + (index + 1u) * LOT_DIGEST_STEP;

    m ^= m >> 32;
    m *= LOT_DIGEST_MIX;
    return m ^ (m >> 29);
}

#endif
