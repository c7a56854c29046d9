#include "measure/workload.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/checked.h"
#include "core/units.h"
#include "gpu/generator.h"

float lot_workload_bound(int64_t fan_in)
{
    return (float)(1.0 / sqrt((double)fan_in));
}

/* ---- sizes ---- */

/* a * b * c, or false where it does not fit. */
static bool product(int64_t a, int64_t b, int64_t c, int64_t *result)
{
    return lot_checked_mul(a, b, result) && lot_checked_mul(*result, c, result);
}

static bool sizes(int64_t rows, int64_t width, int64_t hidden, int64_t element, lot_model *model)
{
    int64_t weights, flops;

    return lot_checked_mul(width, hidden, &weights) && product(weights, 2, 1, &model->parameters) &&
           lot_checked_add(model->parameters, hidden + width, &model->parameters) &&
           lot_checked_mul(model->parameters, element, &model->weight_bytes) &&
           product(rows, width, element, &model->input_bytes) &&
           product(rows, width, element, &model->output_bytes) &&
           product(rows, hidden, element, &model->hidden_bytes) && product(rows, width, hidden, &flops) &&
           lot_checked_mul(flops, 4, &model->flops_per_forward);
}

static const char *const gelu_names[] = {"erf", "tanh"};
static const char *const math_names[] = {"ieee", "tf32"};

lot_status lot_workload_model(const lot_measure_config *config, lot_model *model, lot_error *error)
{
    const int64_t element = (int64_t)lot_dtype_bytes((lot_dtype)config->dtype);
    int64_t rows;

    model->batch = config->batch;
    model->context = config->context;
    model->width = config->width;
    model->hidden = config->hidden;
    model->seed = config->seed;
    model->generator = LOT_GENERATOR_VERSION;
    (void)lot_field_copy(model->generator_name, sizeof model->generator_name, LOT_GENERATOR_NAME);
    model->warmup = config->warmup;
    model->repeats = config->repeats;
    (void)lot_field_copy(model->dtype, sizeof model->dtype, lot_dtype_name((lot_dtype)config->dtype));
    (void)lot_field_copy(model->gelu, sizeof model->gelu, gelu_names[config->gelu]);
    (void)lot_field_copy(model->math, sizeof model->math, math_names[config->math]);
    if (!lot_checked_mul(config->batch, config->context, &rows) ||
        !sizes(rows, config->width, config->hidden, element, model))
        return lot_error_set(error, LOT_TOO_LARGE, "--batch, --context, --width, --hidden", 0,
                             "batch %lld, context %lld, width %lld and hidden %lld make a size beyond 2^63",
                             (long long)config->batch, (long long)config->context, (long long)config->width,
                             (long long)config->hidden);
    return LOT_OK;
}

lot_status lot_workload_fits(const lot_model *model, int64_t memory_bytes, int sharing, lot_error *error)
{
    char needed[32], there[32];
    int64_t sum = model->weight_bytes;
    const bool small = lot_checked_add(sum, model->input_bytes, &sum) &&
                       lot_checked_add(sum, model->hidden_bytes, &sum) &&
                       lot_checked_add(sum, model->output_bytes, &sum) && lot_checked_mul(sum, sharing, &sum);

    if (small && (memory_bytes < 0 || sum <= memory_bytes))
        return LOT_OK;
    lot_unit_print_bytes(needed, sizeof needed, small ? (double)sum : 0x1p63);
    lot_unit_print_bytes(there, sizeof there, (double)memory_bytes);
    return lot_error_set(
        error, LOT_TOO_LARGE, "memory", 0,
        "weights, input, hidden activation and output need %s%s for %d rank%s, the device has %s",
        small ? "" : "more than ", needed, sharing, sharing == 1 ? "" : "s", there);
}

/* ---- the network ---- */

void lot_workload_init(lot_workload *workload, const lot_measure_config *config,
                       const lot_device_module *module, lot_device *device)
{
    memset(workload, 0, sizeof *workload);
    workload->module = module;
    workload->device = device;
    workload->seed = (uint64_t)config->seed;
    workload->rows = config->batch * config->context;
    workload->width = config->width;
    workload->hidden = config->hidden;
    workload->dtype = (lot_dtype)config->dtype;
    workload->math = (lot_math)config->math;
    workload->activation = lot_measure_activation(config);
}

static int64_t bytes(const lot_workload *workload, int64_t rows, int64_t columns)
{
    return rows * columns * (int64_t)lot_dtype_bytes(workload->dtype);
}

static lot_status build(lot_workload *workload, void **tensor, uint32_t number, int64_t rows, int64_t columns,
                        int64_t fan_in, lot_error *error)
{
    const lot_fill fill = {.seed = workload->seed,
                           .tensor = number,
                           .distribution = LOT_UNIFORM,
                           .scale = lot_workload_bound(fan_in),
                           .count = rows * columns,
                           .dtype = workload->dtype};
    lot_status status =
        workload->module->alloc(workload->device, bytes(workload, rows, columns), tensor, error);

    if (status == LOT_OK)
        status = workload->module->build(workload->device, *tensor, &fill, error);
    return status;
}

lot_status lot_workload_load(lot_workload *workload, lot_error *error)
{
    const int64_t width = workload->width;
    const int64_t hidden = workload->hidden;
    lot_status status =
        build(workload, &workload->weight_1, LOT_TENSOR_WEIGHT_1, hidden, width, width, error);

    if (status == LOT_OK)
        status = build(workload, &workload->bias_1, LOT_TENSOR_BIAS_1, hidden, 1, width, error);
    if (status == LOT_OK)
        status = build(workload, &workload->weight_2, LOT_TENSOR_WEIGHT_2, width, hidden, hidden, error);
    if (status == LOT_OK)
        status = build(workload, &workload->bias_2, LOT_TENSOR_BIAS_2, width, 1, hidden, error);
    return status;
}

lot_status lot_workload_fill(lot_workload *workload, void *to, lot_error *error)
{
    const lot_fill fill = {.seed = workload->seed,
                           .tensor = LOT_TENSOR_INPUT,
                           .distribution = LOT_NEAR_NORMAL,
                           .scale = 1,
                           .count = workload->rows * workload->width,
                           .dtype = workload->dtype};

    return workload->module->fill(workload->device, to, &fill, error);
}

lot_status lot_workload_inputs(lot_workload *workload, lot_error *error)
{
    lot_status status = workload->module->alloc(
        workload->device, bytes(workload, workload->rows, workload->width), &workload->input, error);

    return status == LOT_OK ? lot_workload_fill(workload, workload->input, error) : status;
}

lot_status lot_workload_plan(lot_workload *workload, lot_plan_facts *layer_1, lot_plan_facts *layer_2,
                             lot_error *error)
{
    lot_linear linear = {.rows = workload->rows,
                         .in_features = workload->width,
                         .out_features = workload->hidden,
                         .dtype = workload->dtype,
                         .math = workload->math,
                         .activation = workload->activation};
    lot_status status = workload->module->plan(workload->device, &linear, &workload->layer_1, layer_1, error);

    if (status != LOT_OK)
        return status;
    linear.in_features = workload->hidden;
    linear.out_features = workload->width;
    linear.activation = LOT_ACTIVATION_NONE;
    return workload->module->plan(workload->device, &linear, &workload->layer_2, layer_2, error);
}

/* The output is allocated only when the first layer is queued, as a script's allocator would see it. */
static lot_status pass(lot_workload *workload, const void *input, void **output, lot_error *error)
{
    const lot_device_module *module = workload->module;
    lot_device *device = workload->device;
    void *hidden = NULL;
    lot_status status =
        module->alloc(device, bytes(workload, workload->rows, workload->hidden), &hidden, error);

    if (status == LOT_OK)
        status = module->run(device, workload->layer_1, hidden, input, workload->weight_1, workload->bias_1,
                             error);
    if (status == LOT_OK && *output == NULL)
        status = module->alloc(device, bytes(workload, workload->rows, workload->width), output, error);
    if (status == LOT_OK)
        status = module->run(device, workload->layer_2, *output, hidden, workload->weight_2, workload->bias_2,
                             error);
    module->free(device, hidden);
    return status;
}

lot_status lot_workload_layers(lot_workload *workload, const void *input, void *hidden, void *output,
                               lot_error *error)
{
    const lot_device_module *module = workload->module;
    lot_status status = module->run(workload->device, workload->layer_1, hidden, input, workload->weight_1,
                                    workload->bias_1, error);

    if (status == LOT_OK)
        status = module->run(workload->device, workload->layer_2, output, hidden, workload->weight_2,
                             workload->bias_2, error);
    return status;
}

lot_status lot_workload_pass(lot_workload *workload, const void *input, void *output, lot_error *error)
{
    return pass(workload, input, &output, error);
}

lot_status lot_workload_forward(lot_workload *workload, lot_error *error)
{
    return pass(workload, workload->input, &workload->output, error);
}

void lot_workload_drop(lot_workload *workload)
{
    workload->module->free(workload->device, workload->output);
    workload->output = NULL;
}

void lot_workload_free(lot_workload *workload)
{
    void **const tensors[] = {&workload->output,   &workload->input,  &workload->bias_2,
                              &workload->weight_2, &workload->bias_1, &workload->weight_1};

    if (workload->module == NULL)
        return;
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
        workload->module->free(workload->device, *tensors[i]);
        *tensors[i] = NULL;
    }
    workload->module->plan_free(workload->device, workload->layer_2);
    workload->module->plan_free(workload->device, workload->layer_1);
    workload->layer_1 = workload->layer_2 = NULL;
}
