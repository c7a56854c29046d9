/* What a rank has measured so far, kept on disk so that it survives the death of any process.
 *
 * One file a rank in the run's spool folder, `rank-N.jsonl`: JSON Lines, appended to. Every line is an object
 * with one member: "head" (the record without phases), "phase" (one row) or "record" (the complete record, at
 * the end). A later head replaces an earlier one. A line that was not written to its end is ignored when
 * read. */
#ifndef GPULOT_IO_SPOOL_H
#define GPULOT_IO_SPOOL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/record.h"

typedef struct lot_spool lot_spool;

/* Makes the folder where it is missing and a file for the rank in it. LOT_OUTPUT where the rank has one
 * already or the folder cannot be made. */
lot_status lot_spool_open(const char *folder, int64_t rank, lot_spool **spool, lot_error *error);

/* Appends the record's fixed part, replacing for a reader any earlier one, and hands everything to the
 * system. */
lot_status lot_spool_head(lot_spool *spool, const lot_record *record, lot_error *error);

/* Appends one phase row. It is handed to the system at once where the last hand-over is 20 ms ago or more,
 * and else with a later call, so that short passes are not disturbed by one write each. */
lot_status lot_spool_phase(lot_spool *spool, const lot_phase *phase, lot_error *error);

/* Appends the price fixed at launch, as JSON on one line: what was paid for stands even where nothing else
 * does. */
lot_status lot_spool_tariff(lot_spool *spool, const char *json, lot_error *error);

/* Appends the complete record as gathered: from here on the rank is not lost. */
lot_status lot_spool_end(lot_spool *spool, const char *json, size_t size, lot_error *error);

/* Hands everything to the system, and to the disk where `to_disk`. */
lot_status lot_spool_flush(lot_spool *spool, bool to_disk, lot_error *error);

/* Closes; removes the rank's file where `remove_file`. NULL allowed. */
void lot_spool_close(lot_spool *spool, bool remove_file);

/* Removes the folder if it is empty. */
void lot_spool_remove_folder(const char *folder);

/* The path of a rank's file in a folder, to be freed; NULL without memory. */
char *lot_spool_file(const char *folder, int64_t rank);

#endif
