/* What show prints as tables, as JSON on standard output. */
#ifndef GPULOT_CMD_SHOW_JSON_H
#define GPULOT_CMD_SHOW_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "core/run.h"

/* One object: the run, and its ranks (or `rank` alone where it is not negative) with a summary of every
 * phase, or with `every_row` its rows. Ranks of a run whose phases were not read have none. */
lot_status lot_show_json(const lot_run *run, int64_t rank, bool every_row, lot_error *error);

#endif
