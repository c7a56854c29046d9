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

/* The folders of one run: one that all ranks share, or one of each host. */
typedef struct lot_spool_folders {
    const char *const *items;
    size_t count;
} lot_spool_folders;

/* Reads them: calls `each` for every rank in ascending order with a complete record. A rank without
 * an end has the outcome "lost" and what it had measured; a rank without any file has a record that holds its
 * place in the run and nothing else. Where a rank has a file in several folders the longest is taken, of
 * which the others must be the beginning. LOT_INPUT where there is no such folder or no rank in it, or a name
 * in it looks like a rank's file and is none (rank-01.jsonl, a pipe): its rank would seem lost. LOT_DAMAGED
 * where two runs are mixed, or two files of one rank differ, LOT_IO where a file is there and cannot be read.
 * One record is in memory at a time. Stops where `each` does not return LOT_OK, and returns that. */
lot_status lot_spool_read(const lot_spool_folders *folders,
                          lot_status (*each)(void *context, const lot_record *record, lot_error *error),
                          void *context, lot_error *error);

/* The same for one rank in one folder: fills *record, which the caller frees. */
lot_status lot_spool_read_rank(const char *folder, int64_t rank, lot_record *record, lot_error *error);

/* The same for the text of one rank's file: fills *record, which the caller frees. A text that holds nothing
 * gives a lost record of `rank` without a run. LOT_DAMAGED where it tells another rank; LOT_MEMORY. */
lot_status lot_spool_parse(const char *text, size_t size, int64_t rank, lot_record *record, lot_error *error);

/* The price fixed at launch, to be freed; NULL where the folders hold none. */
lot_status lot_spool_read_tariff(const lot_spool_folders *folders, char **json, lot_error *error);

#endif
