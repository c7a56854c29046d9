/* The raw-results grid: one line a row of real passes, with what is needed to compare it.
 *
 * Columns: of the rank those that say who and what (named as in the archive's /devices), then those of
 * /phases, then those of its telemetry. Model loading and inputs are no passes and have no line. "Not
 * measured" is an empty field, answers are true and false. RFC 4180, lines end with a line feed. */
#ifndef GPULOT_IO_ROWS_CSV_H
#define GPULOT_IO_ROWS_CSV_H

#include <stdio.h>

#include "core/record.h"

/* The line of column names. */
void lot_rows_csv_header(FILE *out);

/* The lines of one rank. Write errors stay in `out` for the caller to see (ferror). */
void lot_rows_csv_rank(FILE *out, const lot_record_head *head, const lot_phase *rows, size_t count);

#endif
