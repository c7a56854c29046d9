/* A whole file in memory. */
#ifndef GPULOT_IO_FILE_BYTES_H
#define GPULOT_IO_FILE_BYTES_H

#include <stddef.h>

#include "core/error.h"

/* Reads `path` whole, pipes too. *bytes has *size bytes and a terminator after them; the caller frees it.
 * LOT_INPUT where it cannot be opened, is a folder or is larger than `limit` bytes; LOT_IO where reading
 * fails. */
lot_status lot_file_read(const char *path, size_t limit, char **bytes, size_t *size, lot_error *error);

/* The same for a file that is open, from where it stands; `path` is for messages. */
lot_status lot_file_read_open(int file, const char *path, size_t limit, char **bytes, size_t *size,
                              lot_error *error);

#endif
