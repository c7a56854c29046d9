/* What the readers of whole runs and of single ranks share. */
#ifndef GPULOT_IO_ARCHIVE_READ_H
#define GPULOT_IO_ARCHIVE_READ_H

#include <hdf5.h>
#include <stdbool.h>

#include "core/run.h"

/* lot_archive_try, with all that is read of an archive. */
lot_status lot_archive_admit(const char *path, bool *sealed, lot_error *error);

/* Fills run->devices from an open archive. LOT_DAMAGED where /devices is missing or not in rank order. */
lot_status lot_archive_load_devices(const char *path, hid_t h5, lot_run *run, lot_error *error);

#endif
