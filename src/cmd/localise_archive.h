/* Where the GPUs of archives differ, read from the records of those in question alone. */
#ifndef GPULOT_CMD_LOCALISE_ARCHIVE_H
#define GPULOT_CMD_LOCALISE_ARCHIVE_H

#include "core/error.h"
#include "core/verdict.h"

/* For every GPU of the result that is corrupt or undecided: its traces in its archive, of which paths[i] is
 * the i-th, against those of its base and among its own passes. Appends to result->localised. The records of
 * the archives are gone through twice, whatever the number of such GPUs; in memory is one at a time and one
 * for each group in question. */
lot_status lot_localise_archives(const char *const *paths, lot_check_result *result, lot_error *error);

#endif
