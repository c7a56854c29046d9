#include "gpu/host/host_values.h"

#include <omp.h>
#include <stdbool.h>
#include <string.h>

#include "gpu/digest.h"
#include "gpu/generate.h"
#include "gpu/host/host_simd.h"

/* Elements, or words of a digest, that one thread takes at a time: large enough to make the hand-over cheap,
 * a multiple of every block. */
#define CHUNK ((int64_t)16384)

/* Below this many elements a team of threads costs more than it saves. */
#define PARALLEL_FROM ((int64_t)65536)

/* A thread's part is made from its end to its start: a huge page that is touched near its end for the first
 * time is cleared by the kernel upwards, else downwards, which takes longer. */
void lot_host_values_fill(void *to, const lot_fill *fill, int threads)
{
    const int64_t chunks = (fill->count + CHUNK - 1) / CHUNK;
    const size_t item = lot_dtype_bytes(fill->dtype);

#pragma omp parallel num_threads(threads) if (threads > 1 && fill->count >= PARALLEL_FROM)
    {
        const int64_t thread = omp_get_thread_num(), of = omp_get_num_threads();

        for (int64_t chunk = chunks * (thread + 1) / of - 1; chunk >= chunks * thread / of; chunk--) {
            const int64_t begin = chunk * CHUNK;
            const int64_t count = fill->count - begin < CHUNK ? fill->count - begin : CHUNK;

            lot_generate((char *)to + (size_t)begin * item, fill, fill->first + begin, count);
        }
    }
}

/* Whether one of the values in a word has an exponent of all ones: infinity or NaN. */
static bool nonfinite(uint64_t word, lot_dtype dtype)
{
    const uint64_t mask = dtype == LOT_FLOAT32 ? 0x7F800000u : dtype == LOT_FLOAT16 ? 0x7C00u : 0x7F80u;
    const unsigned bits = 8 * (unsigned)lot_dtype_bytes(dtype);
    bool found = false;

    for (unsigned shift = 0; shift < 64; shift += bits)
        found = found || ((word >> shift) & mask) == mask;
    return found;
}

/* The part of the digest that `count` words give, by its definition. */
static uint64_t digest_words(const char *data, int64_t first, int64_t count, lot_dtype dtype, unsigned *bad)
{
    uint64_t sum = 0;

    for (int64_t i = 0; i < count; i++) {
        uint64_t word;

        memcpy(&word, data + 8 * i, sizeof word);
        sum += lot_digest_word(word, (uint64_t)(first + i));
        *bad |= nonfinite(word, dtype);
    }
    return sum;
}

void lot_host_values_digest(const void *data, int64_t bytes, lot_dtype dtype, int threads, uint64_t *digest,
                            int *finite)
{
    const int64_t words = bytes / 8;
    const int64_t chunks = (words + CHUNK - 1) / CHUNK;
    const char *at = data;
    uint64_t sum = 0;
    uint64_t last = 0;
    unsigned bad = 0;

#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : sum) reduction(| : bad)         \
    if (threads > 1 && words >= PARALLEL_FROM)
    for (int64_t chunk = 0; chunk < chunks; chunk++) {
        const int64_t begin = chunk * CHUNK;
        const int64_t count = words - begin < CHUNK ? words - begin : CHUNK;

        if (lot_simd_available())
            sum += lot_simd_digest(at + 8 * begin, begin, count, dtype, &bad);
        else
            sum += digest_words(at + 8 * begin, begin, count, dtype, &bad);
    }
    if (bytes % 8 != 0) { /* padded with zeros, which are finite */
        memcpy(&last, at + 8 * words, (size_t)(bytes % 8));
        sum += lot_digest_word(last, (uint64_t)words);
        bad |= nonfinite(last, dtype);
    }
    *digest = sum + (uint64_t)bytes;
    *finite = bad == 0;
}

/* Equal pieces are the rule, so only the unequal ones are looked at element by element. */
void lot_host_values_compare(const void *a, const void *b, int64_t count, lot_dtype dtype, int threads,
                             int64_t *differing, int64_t *first)
{
    const int64_t chunks = (count + CHUNK - 1) / CHUNK;
    const size_t item = lot_dtype_bytes(dtype);
    const char *p = a, *q = b;
    int64_t total = 0, least = INT64_MAX;

#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : total) reduction(min : least)   \
    if (threads > 1 && count >= PARALLEL_FROM)
    for (int64_t chunk = 0; chunk < chunks; chunk++) {
        const int64_t begin = chunk * CHUNK, end = count - begin < CHUNK ? count : begin + CHUNK;

        if (memcmp(p + (size_t)begin * item, q + (size_t)begin * item, (size_t)(end - begin) * item) == 0)
            continue;
        for (int64_t i = begin; i < end; i++)
            if (memcmp(p + (size_t)i * item, q + (size_t)i * item, item) != 0) {
                total++;
                least = i < least ? i : least;
            }
    }
    *differing = total;
    *first = total == 0 ? LOT_NULL_I64 : least;
}
