/* Rank 0's collecting of all records into one archive, and the others' handing in. */
#ifndef GPULOT_CMD_GATHERING_H
#define GPULOT_CMD_GATHERING_H

#include <stddef.h>

#include "cmd/progress.h"
#include "core/error.h"
#include "core/run.h"
#include "measure/comm.h"

typedef struct lot_gathering {
    const lot_team *team;
    const char *output; /* path of the archive */
    const char *run_id;
    const char *spool_folder; /* where a rank that does not answer may have left what it measured */
    const char *tariff_json;  /* NULL where there is none */
    lot_run_header header;    /* continues_run_id, label, ended_by and elapsed_seconds set by the caller; the
                                 rest is filled here */
    lot_progress *progress;
} lot_gathering;

/* Rank 0: writes the archive from its own record and those of all others, in rank order, of which a bounded
 * number is in memory at a time (measure/comm.h). All ranks that do not answer share one limit. Such a rank
 * is typed lost, with what of it lies in the spool folder. `own_json` is NULL where rank 0 could not make its
 * record: the others are heard all the same, since they wait for it. The archive is there with LOT_LOST,
 * where a rank did not answer, and with LOT_RANK_FAILED, where a record says that its rank failed. Other
 * failures mean that there is none. */
lot_status lot_gathering_collect(lot_gathering *gathering, const char *own_json, size_t size,
                                 lot_error *error);

/* Other ranks: hands in the record when rank 0 asks for it; `json` is NULL where there is none. */
lot_status lot_gathering_hand_in(const lot_gathering *gathering, const char *json, size_t size,
                                 lot_error *error);

#endif
