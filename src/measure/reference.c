#include "measure/reference.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/generator.h"
#include "measure/workload.h"

#define ROWS        LOT_REFERENCE_ROWS
#define BLOCK       256 /* weights made at a time; a multiple of every block of the generator */
#define UNITS_TAKEN 16  /* output units that a thread takes at a time */
#define THREADS_MAX 256

/* lambda of the probabilistic rounding error bound of N. J. Higham and T. Mary, "A new approach to
 * probabilistic rounding error analysis", SIAM J. Sci. Comput. 41 (2019): it fails with a probability of 2
 * exp(-lambda^2 / 2). */
#define LAMBDA         6.0
#define UNIT_FLOAT32   0x1p-24
#define UNIT_FLOAT16   0x1p-11
#define UNIT_BFLOAT16  0x1p-8
#define ROUNDING_TF32  0x1p-10 /* of one operand, whichever way it is cut to 10 bits */
#define GELU_SLOPE     1.13    /* largest |gelu'|: 1.1289 for both forms */
#define GELU_ERF_ERROR 0x1p-21 /* of gelu(a) / a in float: erf to 1.5e-7 and a few roundings */
/* tanh in hardware has a relative error of up to 2^-11, half of it enters. */
#define GELU_TANH_ERROR 0x1p-12

int lot_reference_sample(int64_t rows, int64_t sampled[LOT_REFERENCE_ROWS])
{
    const int64_t wanted[ROWS] = {0, rows / 3, (2 * rows) / 3, rows - 1};
    int count = 0;

    for (int i = 0; i < ROWS; i++)
        if (count == 0 || wanted[i] > sampled[count - 1])
            sampled[count++] = wanted[i];
    return count;
}

static double unit_roundoff(lot_dtype dtype)
{
    return dtype == LOT_FLOAT32 ? UNIT_FLOAT32 : dtype == LOT_FLOAT16 ? UNIT_FLOAT16 : UNIT_BFLOAT16;
}

static float rounded(float value, lot_dtype dtype)
{
    if (dtype == LOT_BFLOAT16)
        return lot_from_bfloat16(lot_to_bfloat16(value));
    if (dtype == LOT_FLOAT16)
        return lot_from_float16(lot_to_float16(value));
    return value;
}

static double loaded(const void *values, int64_t index, lot_dtype dtype)
{
    if (dtype == LOT_FLOAT32)
        return ((const float *)values)[index];
    if (dtype == LOT_BFLOAT16)
        return lot_from_bfloat16(((const uint16_t *)values)[index]);
    return lot_from_float16(((const uint16_t *)values)[index]);
}

/* Uniform values [first, first + count) of a tensor, first at the start of a block of the generator, count at
 * most BLOCK. */
static void make_weights(const lot_reference_task *task, uint32_t tensor, int64_t first, int64_t count,
                         float bound, double *values)
{
    const float factor = lot_fill_factor(LOT_UNIFORM, task->dtype, bound);
    const int elements = lot_block_elements(task->dtype);

    for (int64_t i = 0; i < count; i += elements) {
        const lot_block block = lot_philox(task->seed, tensor, (uint64_t)((first + i) / elements));

        for (int j = 0; j < elements && i + j < count; j++) {
            const int32_t number = lot_block_number(&block, LOT_UNIFORM, task->dtype, j);

            values[i + j] = rounded((float)number * factor, task->dtype);
        }
    }
}

/* One element of a tensor. */
static double one_value(const lot_reference_task *task, uint32_t tensor, lot_distribution distribution,
                        float scale, int64_t index)
{
    const lot_fill fill = {.seed = task->seed,
                           .tensor = tensor,
                           .distribution = distribution,
                           .scale = scale,
                           .dtype = task->dtype};

    return rounded(lot_value(&fill, index), task->dtype);
}

/* One layer for all sampled rows at once, its units shared out among threads. x and x_error are [count][in];
 * y, majorant and error are [count][out]. */
typedef struct layer {
    const lot_reference_task *task;
    int count;
    int64_t in;
    int64_t out;
    uint32_t weight;
    uint32_t bias;
    const double *x;
    const double *x_error; /* bound of the error that x already carries; NULL where it is exact */
    double *y;             /* before the activation */
    double *majorant;      /* |b| + sum |w| |x| */
    double *error; /* bound of the error of y in the device's arithmetic, before it is rounded to the dtype */
    atomic_llong next;
} layer;

/* What one unit accumulates for each sampled row. */
typedef struct sums {
    double value[ROWS];
    double magnitude[ROWS];
    double inherited[ROWS];
} sums;

static void accumulate(const layer *l, int64_t first, int64_t count, const double *weights, sums *s)
{
    for (int r = 0; r < l->count; r++) {
        const double *x = l->x + r * l->in + first;
        double value = 0;
        double magnitude = 0;

        for (int64_t i = 0; i < count; i++) {
            value += weights[i] * x[i];
            magnitude += fabs(weights[i] * x[i]);
        }
        s->value[r] += value;
        s->magnitude[r] += magnitude;
        if (l->x_error != NULL) {
            const double *x_error = l->x_error + r * l->in + first;

            for (int64_t i = 0; i < count; i++)
                s->inherited[r] += fabs(weights[i]) * x_error[i];
        }
    }
}

/* The row of weights of unit `unit` may begin inside a block of the generator: the first few come one by one.
 */
static void unit_sums(const layer *l, int64_t unit, float bound, sums *s)
{
    const int64_t base = unit * l->in;
    double weights[BLOCK];
    int64_t at = 0;

    memset(s, 0, sizeof *s);
    for (; at < l->in && (base + at) % lot_block_elements(l->task->dtype) != 0; at++) {
        weights[0] = one_value(l->task, l->weight, LOT_UNIFORM, bound, base + at);
        accumulate(l, at, 1, weights, s);
    }
    while (at < l->in) {
        const int64_t count = l->in - at < BLOCK ? l->in - at : BLOCK;

        make_weights(l->task, l->weight, base + at, count, bound, weights);
        accumulate(l, at, count, weights, s);
        at += count;
    }
}

/* Relative size of the accumulated rounding error of `terms` additions in float32, per unit of majorant. */
static double accumulation_error(const lot_reference_task *task, int64_t terms)
{
    const double operands = task->math == LOT_MATH_TF32 ? 2 * ROUNDING_TF32 : 0;

    return LAMBDA * sqrt((double)terms + 1) * UNIT_FLOAT32 + operands;
}

static void *work(void *context)
{
    layer *l = context;
    const float bound = lot_workload_bound(l->in);
    const double relative = accumulation_error(l->task, l->in);

    for (;;) {
        const int64_t first = atomic_fetch_add(&l->next, UNITS_TAKEN);
        const int64_t last = first + UNITS_TAKEN < l->out ? first + UNITS_TAKEN : l->out;

        if (first >= l->out)
            return NULL;
        for (int64_t unit = first; unit < last; unit++) {
            const double bias = one_value(l->task, l->bias, LOT_UNIFORM, bound, unit);
            sums s;

            unit_sums(l, unit, bound, &s);
            for (int r = 0; r < l->count; r++) {
                const int64_t at = r * l->out + unit;

                l->y[at] = s.value[r] + bias;
                l->majorant[at] = s.magnitude[r] + fabs(bias);
                l->error[at] = s.inherited[r] + relative * (l->majorant[at] + s.inherited[r]);
            }
        }
    }
}

static lot_status run_layer(layer *l, lot_error *error)
{
    pthread_t threads[THREADS_MAX];
    const int wanted = l->task->threads < THREADS_MAX ? l->task->threads : THREADS_MAX;
    int started = 0;

    atomic_store(&l->next, 0);
    while (started < wanted - 1 && pthread_create(&threads[started], NULL, work, l) == 0)
        started++;
    (void)work(l); /* this thread too; fewer helpers only make it slower */
    for (int i = 0; i < started; i++)
        if (pthread_join(threads[i], NULL) != 0)
            return lot_error_set(error, LOT_INTERNAL, "pthread_join", 0,
                                 "a reference thread cannot be joined");
    return LOT_OK;
}

static double gelu(double a, lot_activation activation)
{
    const double root_2_over_pi = 0.79788456080286535588;

    if (activation == LOT_GELU_ERF)
        return 0.5 * a * (1 + erf(a * 0.70710678118654752440));
    return 0.5 * a * (1 + tanh(root_2_over_pi * (a + 0.044715 * a * a * a)));
}

/* From the first layer's sums to what the second one reads: value and bound of its error, in place. */
static void activate(const lot_reference_task *task, int64_t count, double *value, double *error)
{
    const double unit = unit_roundoff(task->dtype);
    const double evaluation = task->activation == LOT_GELU_ERF ? GELU_ERF_ERROR : GELU_TANH_ERROR;

    for (int64_t i = 0; i < count; i++) {
        const double a = value[i];

        value[i] = gelu(a, task->activation);
        /* The pre-activation may have been stored in the dtype; the activation is. */
        error[i] = GELU_SLOPE * (error[i] + unit * fabs(a)) + evaluation * fabs(a) + unit * fabs(value[i]);
    }
}

/* The sampled rows of the input, in float64. */
static void make_inputs(const lot_reference_task *task, const int64_t *sampled, int count, double *x)
{
    for (int r = 0; r < count; r++)
        for (int64_t k = 0; k < task->width; k++)
            x[r * task->width + k] =
                one_value(task, LOT_TENSOR_INPUT, LOT_NEAR_NORMAL, 1, sampled[r] * task->width + k);
}

/* Keeps the worst; a NaN is, and stays. A distance of nothing is nothing, whatever its measure. */
static void keep_worst(double *worst, double distance, double measure)
{
    const double one = distance == 0 ? 0 : distance / measure;

    if (isnan(one) || one > *worst)
        *worst = one;
}

static void judge(const layer *second, const void *outputs, lot_verification *verification)
{
    const lot_reference_task *task = second->task;
    const double unit = unit_roundoff(task->dtype);
    double worst_relative = 0;
    double worst_ratio = 0;

    for (int64_t i = 0; i < second->count * second->out; i++) {
        const double distance = fabs(loaded(outputs, i, task->dtype) - second->y[i]);
        const double bound = second->error[i] + unit * (fabs(second->y[i]) + second->error[i]);

        keep_worst(&worst_relative, distance, second->majorant[i]);
        keep_worst(&worst_ratio, distance, bound);
    }
    verification->reference_rows = second->count;
    verification->reference_max_relative_error = worst_relative;
    verification->reference_max_bound_ratio = worst_ratio;
    verification->reference_passed = worst_ratio <= 1;
}

lot_status lot_reference_compare(const lot_reference_task *task, const int64_t *sampled, int count,
                                 const void *outputs, lot_verification *verification, lot_error *error)
{
    const size_t in = (size_t)count * (size_t)task->width;
    const size_t middle = (size_t)count * (size_t)task->hidden;
    double *memory = calloc(4 * in + 3 * middle, sizeof *memory);
    layer first = {.task = task,
                   .count = count,
                   .in = task->width,
                   .out = task->hidden,
                   .weight = LOT_TENSOR_WEIGHT_1,
                   .bias = LOT_TENSOR_BIAS_1};
    layer second = {.task = task,
                    .count = count,
                    .in = task->hidden,
                    .out = task->width,
                    .weight = LOT_TENSOR_WEIGHT_2,
                    .bias = LOT_TENSOR_BIAS_2};
    lot_status status;

    if (memory == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for the float64 reference of %d rows",
                             count);
    make_inputs(task, sampled, count, memory);
    first.x = memory;
    first.y = memory + in;
    first.majorant = first.y + middle;
    first.error = first.majorant + middle;
    second.y = first.error + middle;
    second.majorant = second.y + in;
    second.error = second.majorant + in;
    status = run_layer(&first, error);
    if (status == LOT_OK) {
        activate(task, (int64_t)middle, first.y, first.error);
        second.x = first.y;
        second.x_error = first.error;
        status = run_layer(&second, error);
    }
    if (status == LOT_OK)
        judge(&second, outputs, verification);
    free(memory);
    return status;
}
