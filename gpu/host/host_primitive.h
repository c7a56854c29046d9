/* One oneDNN primitive for a linear layer, with everything that an execution needs made beforehand, so that
 * running it only sets four pointers. */
#ifndef GPULOT_GPU_HOST_PRIMITIVE_H
#define GPULOT_GPU_HOST_PRIMITIVE_H

#include <oneapi/dnnl/dnnl.h>
#include <stdint.h>

#include "core/error.h"
#include "gpu/device.h"
#include "gpu/host/host_library.h"

typedef struct lot_host_spec {
    lot_host_method method;
    int64_t rows;
    int64_t in_features;
    int64_t out_features;
    dnnl_data_type_t type;
    lot_activation activation;
} lot_host_spec;

typedef struct lot_host_primitive {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arguments[5]; /* x, w, b, y, scratchpad */
    int count;
    dnnl_primitive_t pack;             /* brings w into the layout that a convolution wants, at each run */
    dnnl_exec_arg_t pack_arguments[2]; /* w as the caller has it; w in the arguments above */
    void *handles[4];                  /* what the caller's x, w, b and y are now */
    int64_t packed_bytes;              /* of the packed weights; 0 where w is taken as it is */
    int64_t workspace_bytes;           /* from the caller, with set_workspace: packed weights, scratchpad */
    char name[96];                     /* as the library calls its implementation */
} lot_host_primitive;

/* Status of this program for one of the library's. */
lot_status lot_host_dnnl_error(lot_error *error, const char *call, dnnl_status_t code);

/* Makes the primitive for row-major x [rows, in], w [out, in], b [out] and y [rows, out]. LOT_UNSUPPORTED
 * where the library has none for this type on this CPU, or only its reference loop, which says nothing about
 * the CPU. The caller ends it with destroy, also after a failure. */
lot_status lot_host_primitive_create(dnnl_engine_t engine, const lot_host_spec *spec,
                                     lot_host_primitive *made, lot_error *error);
void lot_host_primitive_destroy(lot_host_primitive *primitive);

/* `memory`: workspace_bytes, aligned to LOT_HOST_GRANULARITY. */
lot_status lot_host_primitive_set_workspace(lot_host_primitive *primitive, void *memory, lot_error *error);

/* Runs it; the work is done when it returns. */
lot_status lot_host_primitive_run(lot_host_primitive *primitive, dnnl_stream_t stream, void *y, const void *x,
                                  const void *w, const void *b, lot_error *error);

#endif
