/* Tables and lines for the terminal: cells in, aligned columns out.
 *
 *     lot_report report;
 *     lot_report_begin(&report, 2, "lr");      left, right
 *     lot_report_cell(&report, "rank");        row by row
 *     lot_report_cell(&report, "%.3f", 1.5);
 *     lot_report_print(&report, stdout, error);       and free
 *
 * Texts come from files that anybody may have made: control characters, format characters such as those that
 * turn the order of letters round, and what is not UTF-8 are shown as '?', so that no archive can write to
 * the terminal what it likes. */
#ifndef GPULOT_IO_REPORT_H
#define GPULOT_IO_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/error.h"

typedef struct lot_report {
    char **cells;
    size_t count;
    size_t columns;
    const char *align; /* one letter a column: l or r */
    bool failed;       /* memory ran out */
} lot_report;

void lot_report_begin(lot_report *report, size_t columns, const char *align);

/* Appends the next cell of the current row; printf's format. */
void lot_report_cell(lot_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same with a time in a unit that suits it. */
void lot_report_seconds(lot_report *report, double seconds);

/* Where a text in the last column goes on in the next line. */
#define LOT_REPORT_WIDTH 110

/* Prints all whole rows, two blanks between columns and none at the end of a line; frees the cells. A text on
 * the left of the last column that would end beyond LOT_REPORT_WIDTH is broken at blanks, as far as it has
 * any. LOT_MEMORY, with nothing printed, where memory ran out. */
lot_status lot_report_print(lot_report *report, FILE *out, lot_error *error);

/* Prints one line, its texts shown as in a cell; printf's format without the line break. Where memory runs
 * out a long line is cut. */
void lot_report_line(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
