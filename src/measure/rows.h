/* What the parts of the protocol do alike: digest a row's output, keep it, note a step, look for a signal. */
#ifndef GPULOT_MEASURE_ROWS_H
#define GPULOT_MEASURE_ROWS_H

#include "measure/protocol.h"

/* Not 0 where a signal asked the rank to stop. */
int lot_rows_stopped(const lot_protocol *p);

/* Digests the output of the pass just made, compares it with the rank's first and counts it in the
 * verification. A row of several passes keeps the digest of the first that deviates. Never inside a timed
 * span. */
lot_status lot_rows_digest(lot_protocol *p, const void *output, lot_phase *row, lot_error *error);

/* Counts so many more bytes of device memory as written and read back. */
void lot_rows_touched(lot_protocol *p, int64_t bytes);

/* Notes a step of the setup, which is timed outside every phase and began at `began`. LOT_MEMORY. */
lot_status lot_rows_step(lot_protocol *p, const char *name, double began, lot_error *error);

/* Appends the finished row to the record and hands it out. */
lot_status lot_rows_keep(lot_protocol *p, lot_phase *row, lot_error *error);

#endif
