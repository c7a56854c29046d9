/* The file that collects the passes of many runs: the raw-results grid, data/raw-results.csv when empty. */
#ifndef GPULOT_IO_RAW_RESULTS_H
#define GPULOT_IO_RAW_RESULTS_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

typedef struct lot_raw_results_summary {
    int64_t added;
    int64_t present; /* rows that stood there already and were not added again */
} lot_raw_results_summary;

/* How long others may hold the grid: many runs that end together append one after the other. */
#define LOT_RAW_RESULTS_WAIT_SECONDS 60

/* Appends the rows of `text` (a grid with its header, as io/rows_csv writes it) to the file at `path`, which
 * is made where there is none. A row is known by its run_id, rank and row; one that stands there already is
 * not added. The file is locked and replaced whole (io/atomic_file).
 *
 * LOT_INPUT, and nothing changed, where the file is not CSV, has another header, or holds one of the rows
 * with other values; LOT_OUTPUT where others held its lock for LOT_RAW_RESULTS_WAIT_SECONDS. */
lot_status lot_raw_results_append(const char *path, const char *text, size_t size,
                                  lot_raw_results_summary *summary, lot_error *error);

#endif
