#include "io/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK ((size_t)1 << 20)
#define STEP  UINT64_C(0x9E3779B97F4A7C15)
#define MIX   UINT64_C(0xBF58476D1CE4E5B9)

/* Words are little-endian, so that a file keeps its digest wherever it is read. */
static uint64_t word_at(const unsigned char *at)
{
    uint64_t word = 0;

    for (int i = 0; i < 8; i++)
        word |= (uint64_t)at[i] << (8 * i);
    return word;
}

/* The sum over `size` bytes, a multiple of 8, whose first word has the index `index`. */
static uint64_t sum_words(const unsigned char *bytes, size_t size, uint64_t index)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < size; i += 8) {
        uint64_t m = word_at(bytes + i) + (++index) * STEP;

        m ^= m >> 32;
        m *= MIX;
        sum += m ^ (m >> 29);
    }
    return sum;
}

/* Reads exactly `size` bytes at `offset`: 0 or an errno value. */
static int read_at(int file, unsigned char *bytes, size_t size, int64_t offset)
{
    size_t done = 0;

    while (done < size) {
        const ssize_t got = pread(file, bytes + done, size - done, (off_t)offset + (off_t)done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? errno : EIO;
        done += (size_t)got;
    }
    return 0;
}

static lot_status digest(int file, const char *path, int64_t size, uint64_t *result, lot_error *error)
{
    unsigned char *block = malloc(BLOCK);
    uint64_t sum = (uint64_t)size;
    lot_status status = LOT_OK;

    if (block == NULL)
        return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory to check %s", path);
    for (int64_t at = 0; status == LOT_OK && at < size; at += (int64_t)BLOCK) {
        const size_t part = size - at < (int64_t)BLOCK ? (size_t)(size - at) : BLOCK;
        const size_t padded = (part + 7) / 8 * 8;
        const int reason = read_at(file, block, part, at);

        if (reason != 0) {
            status = lot_error_errno(error, LOT_IO, "read", reason, "%s cannot be read", path);
        } else {
            memset(block + part, 0, padded - part);
            sum += sum_words(block, padded, (uint64_t)at / 8);
        }
    }
    free(block);
    *result = sum;
    return status;
}

/* The seal's line, padded to its size. */
static void print_seal(char line[LOT_SEAL_BYTES + 1], uint64_t sum, int64_t size)
{
    char text[LOT_SEAL_BYTES];

    (void)snprintf(text, sizeof text, "\ngpulot-seal-1 %016" PRIx64 " %" PRId64, sum, size);
    (void)snprintf(line, LOT_SEAL_BYTES + 1, "%-*s\n", LOT_SEAL_BYTES - 1, text);
}

static lot_status append_seal(int file, const char *path, lot_error *error)
{
    char line[LOT_SEAL_BYTES + 1];
    struct stat info;
    uint64_t sum = 0;
    lot_status status;

    if (fstat(file, &info) != 0)
        return lot_error_errno(error, LOT_IO, "fstat", errno, "%s cannot be read", path);
    status = digest(file, path, info.st_size, &sum, error);
    if (status != LOT_OK)
        return status;
    print_seal(line, sum, info.st_size);
    errno = 0;
    if (pwrite(file, line, LOT_SEAL_BYTES, info.st_size) != LOT_SEAL_BYTES)
        return lot_error_errno(error, LOT_IO, "write", errno != 0 ? errno : ENOSPC, "%s cannot be written",
                               path);
    return LOT_OK;
}

lot_status lot_seal_write(const char *path, lot_error *error)
{
    const int file = open(path, O_RDWR | O_CLOEXEC);
    lot_status status;

    if (file < 0)
        return lot_error_errno(error, LOT_IO, "open", errno, "%s cannot be sealed", path);
    status = append_seal(file, path, error);
    (void)close(file);
    return status;
}

lot_status lot_seal_check(int file, const char *path, lot_seal *seal, lot_error *error)
{
    static const char start[] = "\ngpulot-seal-";
    char line[LOT_SEAL_BYTES + 1], expected[LOT_SEAL_BYTES + 1];
    struct stat info;
    uint64_t sum = 0;
    int64_t size;
    lot_status status;

    if (fstat(file, &info) != 0)
        return lot_error_errno(error, LOT_IO, "fstat", errno, "%s cannot be read", path);
    size = info.st_size - LOT_SEAL_BYTES;
    *seal = LOT_SEAL_NONE;
    if (size <= 0 || read_at(file, (unsigned char *)line, LOT_SEAL_BYTES, size) != 0 ||
        memcmp(line, start, sizeof start - 1) != 0)
        return LOT_OK;
    status = digest(file, path, size, &sum, error);
    if (status != LOT_OK)
        return status;
    print_seal(expected, sum, size);
    *seal = memcmp(line, expected, LOT_SEAL_BYTES) == 0 ? LOT_SEAL_WHOLE : LOT_SEAL_BROKEN;
    return LOT_OK;
}
