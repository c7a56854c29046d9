/* SHA-256 by OpenSSL's libcrypto; docs/prices.md says why that library. The only user of it. */
#ifndef GPULOT_IO_SHA256_H
#define GPULOT_IO_SHA256_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

#define LOT_SHA256_TEXT_SIZE 65

/* The digest of `size` bytes as 64 lower-case hexadecimal digits. */
lot_status lot_sha256_bytes(const void *bytes, size_t size, char text[LOT_SHA256_TEXT_SIZE],
                            lot_error *error);

/* The digest and the number of bytes of what an open file holds from its present position to its end. `path`
 * is for the error text; LOT_IO where reading fails. */
lot_status lot_sha256_file(int file, const char *path, char text[LOT_SHA256_TEXT_SIZE], int64_t *size,
                           lot_error *error);

#endif
