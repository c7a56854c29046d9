/* What a rank has measured so far, kept on disk so that it survives the death of any process.
 *
 * One file a rank in the run's spool folder: JSON Lines, appended to. The first line is the record without its
 * lists of phases and errors, then one line a phase row or error, and at the end the complete record. A line that
 * was not written to its end is ignored when read. */
#ifndef GPULOT_IO_SPOOL_H
#define GPULOT_IO_SPOOL_H

#include <stddef.h>

#include "core/record.h"

typedef struct lot_spool lot_spool;

/* Makes the folder where it is missing and a file for the rank in it. */
lot_status lot_spool_open(const char *folder, int64_t rank, lot_spool **spool, lot_error *error);

/* Appends the record's fixed part, replacing for a reader any earlier one. */
lot_status lot_spool_head(lot_spool *spool, const lot_record *record, lot_error *error);

/* Appends one phase row. Rows are handed to the system at latest 20 ms after they came, when the next call comes,
 * so that short passes are not disturbed by one write each. */
lot_status lot_spool_phase(lot_spool *spool, const lot_phase *phase, lot_error *error);

/* Appends the complete record as gathered: from here on the rank is not lost. */
lot_status lot_spool_end(lot_spool *spool, const char *json, size_t size, lot_error *error);

/* Hands everything to the system, and to the disk where `to_disk`. */
lot_status lot_spool_flush(lot_spool *spool, int to_disk, lot_error *error);

/* Closes; removes the rank's file where `remove_file`. NULL allowed. */
void lot_spool_close(lot_spool *spool, int remove_file);

/* Removes the folder if it is empty. */
void lot_spool_remove_folder(const char *folder);

/* Reads a spool folder: calls `each` for every rank in ascending order with a complete record. A rank without an
 * end has the outcome "lost" and what it had measured; a rank without any file has a record that holds its number
 * and nothing else. LOT_INPUT where there is no such folder or no rank
 * in it, LOT_DAMAGED where two runs are mixed in it. One record is in memory at a time. */
lot_status lot_spool_read(const char *folder,
                          lot_status (*each)(void *context, const lot_record *record, lot_error *error),
                          void *context, lot_error *error);

#endif
