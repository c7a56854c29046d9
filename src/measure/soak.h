/* Soak: verified passes over as many independent buffers as the memory share allows, until the time is up. */
#ifndef GPULOT_MEASURE_SOAK_H
#define GPULOT_MEASURE_SOAK_H

#include "measure/protocol.h"

/* Runs the soak of --soak seconds. One row is about a second of passes, each digested and compared with the
 * rank's first output: all buffers hold the same input, so that every one must give the same bits.
 * LOT_DEVICE_MEMORY where not even one pair of buffers fits. */
lot_status lot_soak_run(lot_protocol *p, lot_error *error);

#endif
