/* The vendor's peak rate of a device, where its model is beyond doubt. The table is data/gpus.csv, compiled
 * in. */
#ifndef GPULOT_ANALYSIS_PEAK_H
#define GPULOT_ANALYSIS_PEAK_H

#include "core/facts.h"

/* What a peak is a peak of. All strings live as long as the program. */
typedef struct lot_peak {
    double tflops;      /* dense, at the vendor's boost clock */
    double memory_gb_s; /* memory bandwidth, 10^9 bytes a second; 0 where not known */
    const char *gpu;    /* the table's name of the model */
    const char *source; /* where the figure comes from */
} lot_peak;

/* Looks a device up. `dtype` and `math` are those of a record's synthetic_model: "float32", "float16",
 * "bfloat16"; "ieee", "tf32". Returns NULL on success, else in one line why no peak is known: then no
 * percentage may be printed. A MIG slice and a simulator have none.
 *
 *     const lot_model *m = &head->synthetic_model;
 *     lot_peak peak;
 *     const char *why = lot_peak_find(&head->device, m->dtype, m->math, &peak); */
const char *lot_peak_find(const lot_device_facts *device, const char *dtype, const char *math,
                          lot_peak *peak);

#endif
