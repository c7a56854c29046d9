/* The synthetic network on one device: Linear -> GELU -> Linear, y = W2 gelu(W1 x + b1) + b2. */
#ifndef GPULOT_MEASURE_WORKLOAD_H
#define GPULOT_MEASURE_WORKLOAD_H

#include "core/error.h"
#include "core/record.h"
#include "gpu/device.h"
#include "measure/config.h"

typedef struct lot_workload {
    const lot_device_module *module;
    lot_device *device;
    uint64_t seed;
    int64_t rows; /* batch x context */
    int64_t width;
    int64_t hidden;
    lot_dtype dtype;
    lot_math math;
    lot_activation activation;
    void *weight_1; /* [hidden, width] */
    void *bias_1;   /* [hidden] */
    void *weight_2; /* [width, hidden] */
    void *bias_2;   /* [width] */
    void *input;    /* [rows, width] */
    void *output;   /* [rows, width]; NULL unless a pass has run and was not dropped */
    lot_plan *layer_1;
    lot_plan *layer_2;
} lot_workload;

/* Works out every size from the configuration alone: *model. LOT_TOO_LARGE where one does not fit 63 bits. */
lot_status lot_workload_model(const lot_measure_config *config, lot_model *model, lot_error *error);

/* LOT_TOO_LARGE where weights, input, hidden activation and output do not fit `memory_bytes` together, for
 * each of `sharing` ranks that have it in common. A negative memory (not known) is not a limit. */
lot_status lot_workload_fits(const lot_model *model, int64_t memory_bytes, int sharing, lot_error *error);

/* Prepares *workload for an open device; takes nothing from it yet. */
void lot_workload_init(lot_workload *workload, const lot_measure_config *config,
                       const lot_device_module *module, lot_device *device);

/* model_load: allocates and builds both layers. */
lot_status lot_workload_load(lot_workload *workload, lot_error *error);

/* inputs: allocates the input and makes it on the device. */
lot_status lot_workload_inputs(lot_workload *workload, lot_error *error);

/* Chooses how both layers are computed. */
lot_status lot_workload_plan(lot_workload *workload, lot_plan_facts *layer_1, lot_plan_facts *layer_2,
                             lot_error *error);

/* Both layers from `input` into `output`, two buffers of the model's sizes; queued, not waited for. */
lot_status lot_workload_pass(lot_workload *workload, const void *input, void *output, lot_error *error);

/* The same with a hidden activation of the caller's, which can then be read. */
lot_status lot_workload_layers(lot_workload *workload, const void *input, void *hidden, void *output,
                               lot_error *error);

/* Makes the network's input in `to`, which holds input_bytes: the same bits in every buffer. */
lot_status lot_workload_fill(lot_workload *workload, void *to, lot_error *error);

/* One pass from the network's input into a new output, which stays until lot_workload_drop; queued likewise.
 */
lot_status lot_workload_forward(lot_workload *workload, lot_error *error);

/* Frees the output. */
void lot_workload_drop(lot_workload *workload);

/* Frees everything that belongs to the device. */
void lot_workload_free(lot_workload *workload);

/* The bound of a layer's uniform weights and biases: 1 / sqrt(fan_in) in float. */
float lot_workload_bound(int64_t fan_in);

#endif
