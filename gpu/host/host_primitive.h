/* One oneDNN primitive for a linear layer, with everything that an execution needs made beforehand, so that
 * running it only sets four pointers. The only place that knows the differences between oneDNN 2.x and 3.x.
 */
#ifndef GPULOT_GPU_HOST_PRIMITIVE_H
#define GPULOT_GPU_HOST_PRIMITIVE_H

#include <dnnl.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "gpu/device.h"

/* The library's two ways to compute x * w^T + b. */
typedef enum lot_host_method { LOT_HOST_INNER_PRODUCT, LOT_HOST_MATMUL } lot_host_method;

typedef struct lot_host_spec {
    lot_host_method method;
    int64_t rows;
    int64_t in_features;
    int64_t out_features;
    int64_t y_stride; /* elements from one row of y to the next; more than out_features for a matmul only */
    dnnl_data_type_t type;
    lot_activation activation;
} lot_host_spec;

typedef struct lot_host_primitive {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arguments[5]; /* x, w, b, y, scratchpad */
    void *handles[4];             /* that the first four point to now */
    int count;
    int64_t scratchpad_bytes; /* from the caller, with set_scratchpad */
    char name[96];            /* as the library calls its implementation */
} lot_host_primitive;

/* Status of this program for one of the library's. */
lot_status lot_host_dnnl_error(lot_error *error, const char *call, dnnl_status_t code);

/* Makes the primitive. LOT_UNSUPPORTED where the library has none for this type on this CPU, or only its
 * reference loop, which says nothing about the CPU. The caller ends it with destroy, also after a failure. */
lot_status lot_host_primitive_create(dnnl_engine_t engine, const lot_host_spec *spec,
                                     lot_host_primitive *made, lot_error *error);
void lot_host_primitive_destroy(lot_host_primitive *primitive);

lot_status lot_host_primitive_set_scratchpad(lot_host_primitive *primitive, void *memory, lot_error *error);

/* Runs it; the work is done when it returns. */
lot_status lot_host_primitive_run(lot_host_primitive *primitive, dnnl_stream_t stream, void *y, const void *x,
                                  const void *w, const void *b, lot_error *error);

#endif
