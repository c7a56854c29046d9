/* How an archive is opened: with care, since HDF5 does not survive every file. */
#ifndef GPULOT_IO_ARCHIVE_OPEN_H
#define GPULOT_IO_ARCHIVE_OPEN_H

#include <hdf5.h>
#include <stdbool.h>

#include "core/error.h"

/* Looks at the file before HDF5 does: LOT_INPUT where it cannot be opened or is no file, LOT_SCHEMA where it
 * is not HDF5, LOT_DAMAGED where its seal is broken. *sealed says whether it has a seal. Without one nobody
 * knows whether it is damaged: `read_all` reads it in a process of its own first, and LOT_DAMAGED is returned
 * where that does not end by itself, within CPU time that grows with the file: 5 s and 1 s for each MiB. */
lot_status lot_archive_try(const char *path, void (*read_all)(const char *path), bool *sealed,
                           lot_error *error);

/* Opens an archive of ours; the caller closes *h5. LOT_DAMAGED where HDF5 cannot open it, and the failures of
 * lot_archive_header_check. */
lot_status lot_archive_open(const char *path, hid_t *h5, lot_error *error);

#endif
