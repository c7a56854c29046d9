/* What the readers of whole runs and of single ranks share. */
#ifndef GPULOT_IO_ARCHIVE_READ_H
#define GPULOT_IO_ARCHIVE_READ_H

#include <hdf5.h>
#include <stdbool.h>

#include "core/record.h"
#include "core/run.h"

/* lot_archive_try, with all that is read of an archive. */
lot_status lot_archive_admit(const char *path, bool *sealed, lot_error *error);

/* Fills run->devices from an open archive. LOT_DAMAGED where /devices is missing or not in rank order. */
lot_status lot_archive_load_devices(const char *path, hid_t h5, lot_run *run, lot_error *error);

/* Whether one rank's head and all its `count` rows, in order, make sense. LOT_DAMAGED also where the head's
 * outcome tells another number of rows: some were taken out, or the table is not in order. */
lot_status lot_archive_check_rank(const char *path, const lot_record_head *head, lot_phase *rows,
                                  size_t count, lot_error *error);

#endif
