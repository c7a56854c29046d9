/* The HDF5 archive of one run: docs/archive-format.md. Written by io/archive_write.c; read whole or record by
 * record by io/archive_read.c and rank by rank by io/archive_ranks.c. */
#ifndef GPULOT_IO_ARCHIVE_H5_H
#define GPULOT_IO_ARCHIVE_H5_H

#include <stdbool.h>
#include <stddef.h>

#include "core/run.h"

typedef struct lot_archive_writer lot_archive_writer;

/* Begins an archive that will appear at `path`. It is written under another name in the same folder; nothing
 * stands at `path` before finish (io/atomic_file.h). LOT_OUTPUT, LOT_IO, LOT_MEMORY. */
lot_status lot_archive_create(const char *path, lot_archive_writer **writer, lot_error *error);

/* Appends one rank's record with the JSON text it was gathered as. Ranks come in ascending order. Memory held
 * does not grow with the number of ranks. */
lot_status lot_archive_append(lot_archive_writer *writer, const lot_record *record, const char *json,
                              size_t size, lot_error *error);

/* Writes the header (root attributes; tariff_json may be NULL), closes, syncs and publishes the file under
 * its name, atomically and without replacing anything: LOT_OUTPUT where somebody else made the file
 * meanwhile, and the complete archive then stays under the name that the error tells. Frees the writer in
 * every case. */
lot_status lot_archive_finish(lot_archive_writer *writer, const lot_run_header *header,
                              const char *tariff_json, lot_error *error);

/* Removes what was written so far and frees the writer. NULL allowed. */
void lot_archive_abandon(lot_archive_writer *writer);

/* Reads header, devices and phases (with telemetry where `telemetry` is true). LOT_SCHEMA for a foreign or
 * newer file, LOT_DAMAGED for a truncated or inconsistent one or one whose seal (io/seal.h) is broken,
 * LOT_INPUT where it cannot be opened. *run is set on success only; free with lot_run_free. */
lot_status lot_archive_read(const char *path, bool telemetry, lot_run *run, lot_error *error);

/* The same rank by rank: *run gets header and devices, without rows, and then `each` is called for every rank
 * in order with its rows and their telemetry; the rows of one rank are in memory at a time. Stops where
 * `each` does not return LOT_OK, and returns that. *run is to be freed in every case. */
lot_status lot_archive_each_device(const char *path, lot_run *run,
                                   lot_status (*each)(void *context, const lot_record_head *head,
                                                      const lot_phase *rows, size_t count, lot_error *error),
                                   void *context, lot_error *error);

/* The same for one rank: header, all devices, and the rows of `rank` alone. In a sealed archive they are
 * found without reading those before them; of another one all rows are read, since nobody knows whether its
 * tables are in order: LOT_DAMAGED. LOT_USAGE where there is no such rank. *run is set on success only. */
lot_status lot_archive_read_rank(const char *path, int64_t rank, lot_run *run, lot_error *error);

/* Reads the header and /devices only: what a summary needs. */
lot_status lot_archive_read_devices(const char *path, lot_run *run, lot_error *error);

/* Calls `each` for the JSON text of every rank in order, or of `rank` alone where it is not negative; one
 * text is in memory at a time. Stops where `each` does not return LOT_OK, and returns that. */
lot_status lot_archive_each_record(const char *path, int64_t rank,
                                   lot_status (*each)(void *context, const char *json, size_t size,
                                                      lot_error *error),
                                   void *context, lot_error *error);

/* Version of the HDF5 library in use (io/h5.c), "1.10.8". */
void lot_archive_hdf5_version(char *text, size_t size);

#endif
