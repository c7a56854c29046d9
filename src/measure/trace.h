/* --localise: passes outside every phase that keep what each layer gave, so that a difference between GPUs,
 * or between the passes of one, can be traced to a layer, its elements and their bits. */
#ifndef GPULOT_MEASURE_TRACE_H
#define GPULOT_MEASURE_TRACE_H

#include "measure/protocol.h"

/* Runs as many passes as there are repeats. The first one's sampled rows go into the record as traces (at
 * most 16 rows spread evenly, and about 2^18 elements); elements of later passes that have other bits are
 * listed, the first 64 of them. Rows are the same for equal sizes, whatever the device. */
lot_status lot_trace_run(lot_protocol *p, lot_error *error);

#endif
