/* The records of a run from what its ranks left on disk (io/spool.h). */
#ifndef GPULOT_IO_SPOOL_READ_H
#define GPULOT_IO_SPOOL_READ_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/record.h"

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
