/* Where the GPUs of an archive differ, read from the records of those in question alone. */
#ifndef GPULOT_CMD_LOCALISE_ARCHIVE_H
#define GPULOT_CMD_LOCALISE_ARCHIVE_H

#include "core/error.h"
#include "core/verdict.h"

/* For every GPU of the result that is corrupt or undecided: its traces in the archive at `path` against those
 * of its base and among its own passes. Appends to result->localised. Two records are in memory at a time. */
lot_status lot_localise_archive(const char *path, lot_check_result *result, lot_error *error);

#endif
