/* The archive's header: the root attributes of docs/archive-format.md. */
#ifndef GPULOT_IO_ARCHIVE_HEADER_H
#define GPULOT_IO_ARCHIVE_HEADER_H

#include <hdf5.h>
#include <stdbool.h>

#include "core/run.h"

/* Writes schema, schema_version, description, the header's fields that are known, and tariff_json where it is
 * not NULL. False on failure, with HDF5's error stack still there. */
bool lot_archive_header_write(hid_t h5, const lot_run_header *header, const char *tariff_json);

/* LOT_SCHEMA where an open file is not an archive of ours or is of a newer version; LOT_DAMAGED where its
 * version is no number. */
lot_status lot_archive_header_check(const char *path, hid_t h5, lot_error *error);

/* Fills run->header and run->tariff_json; what the file lacks is "not measured". LOT_DAMAGED where a time is
 * beyond LOT_QUANTITY_MOST or the number of ranks negative. */
lot_status lot_archive_header_read(const char *path, hid_t h5, lot_run *run, lot_error *error);

#endif
