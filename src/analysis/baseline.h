/* What GPUs did before, from one archive or several. */
#ifndef GPULOT_ANALYSIS_BASELINE_H
#define GPULOT_ANALYSIS_BASELINE_H

#include "analysis/observe.h"
#include "core/drift.h"

/* Makes a baseline of runs, oldest first. GPUs are recognised by their UUID; ranks that share one (those
 * of a host device on one machine) by UUID and rank. With one run its repeats go along, where the run keeps
 * them. LOT_INPUT where the runs did different work, or some over a simulator and some not, or one run stands
 * there twice; LOT_MEMORY. *baseline is set on success only; free with lot_baseline_free. */
lot_status lot_baseline_make(const lot_observed_run *runs, size_t count, lot_baseline *baseline,
                             lot_error *error);

/* LOT_INPUT where no GPU of it can be recognised: nothing can be compared with it. */
lot_status lot_baseline_usable(const lot_baseline *baseline, lot_error *error);

/* With fewer degrees of freedom the noise between archives is not known. */
#define LOT_BASELINE_LEAST_DOF 2

/* Degrees of freedom of the noise between the archives, as the middle over so many of its GPUs tells it; NaN
 * with one archive. */
double lot_baseline_dof(const lot_baseline *baseline, size_t devices);

/* Says whether two heads can be set against each other: LOT_INPUT names what differs in the work. */
lot_status lot_baseline_same_work(const lot_record_head *a, const lot_record_head *b, lot_error *error);

#endif
