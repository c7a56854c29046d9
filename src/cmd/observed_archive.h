/* An archive reduced to what check, compare and baseline work on. */
#ifndef GPULOT_CMD_OBSERVED_ARCHIVE_H
#define GPULOT_CMD_OBSERVED_ARCHIVE_H

#include "analysis/observe.h"
#include "core/error.h"

/* Reads an archive rank by rank; the rows of one rank are in memory at a time. *tariff is the price text in
 * it, or NULL; the caller frees it, and *observed with lot_observed_free. Both are set on success only.
 * `tariff` may be NULL. With `keep_repeats` the times of the repeats are kept. */
lot_status lot_observed_archive_read(const char *path, bool keep_repeats, lot_observed_run *observed,
                                     char **tariff, lot_error *error);

#endif
