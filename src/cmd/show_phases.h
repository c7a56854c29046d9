/* The phases of one rank as a table. */
#ifndef GPULOT_CMD_SHOW_PHASES_H
#define GPULOT_CMD_SHOW_PHASES_H

#include <stddef.h>

#include "core/error.h"
#include "core/run.h"

typedef enum lot_show_detail {
    LOT_SHOW_NARROW, /* one line a phase, within LOT_REPORT_WIDTH */
    LOT_SHOW_WIDE,   /* with every column */
    LOT_SHOW_ROWS    /* one line a row */
} lot_show_detail;

/* What stands behind a device's name: "", " (CPU)" or " (SIMULATED)". */
const char *lot_show_mark(const lot_record_head *head);

/* Prints the phases of run->devices[index] to stdout. LOT_MEMORY. */
lot_status lot_show_phases(const lot_run *run, size_t index, lot_show_detail detail, lot_error *error);

#endif
