/* A seal behind the end of a file: says later whether its bytes are still those that were written.
 *
 * HDF5's checksums cover table rows and nothing else, and HDF5 itself does not survive every damaged file.
 * The seal covers every byte, and is looked at before HDF5 is. It is one line of 64 bytes behind what HDF5
 * calls the end of the file, where every HDF5 reader passes over it; a program that changes the file takes it
 * off:
 *
 *     "\ngpulot-seal-1 " DIGEST " " SIZE blanks "\n"
 *
 * DIGEST is 16 hexadecimal digits over the SIZE bytes before the seal: the sum, modulo 2^64, of a mix of
 * every 64-bit word and its place, as in gpu/digest.h. It is a check against faults, not against forgery. */
#ifndef GPULOT_IO_SEAL_H
#define GPULOT_IO_SEAL_H

#include "core/error.h"

#define LOT_SEAL_BYTES 64

typedef enum lot_seal {
    LOT_SEAL_WHOLE,  /* the bytes are those that were sealed */
    LOT_SEAL_NONE,   /* no seal: never sealed, or written to since by a program that took it off, or cut short
                      */
    LOT_SEAL_BROKEN, /* there is a seal, and the bytes are others */
} lot_seal;

/* Appends a seal to a complete file. LOT_IO where it cannot be read or written. */
lot_status lot_seal_write(const char *path, lot_error *error);

/* Looks at the seal of an open file; its position is left alone. LOT_IO where it cannot be read. */
lot_status lot_seal_check(int file, const char *path, lot_seal *seal, lot_error *error);

#endif
