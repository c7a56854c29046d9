#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "gpu/generator.h"
#include "gpu/host/host_device.h"
#include "gpu/host/host_primitive.h"

/* Where the library has no primitive for a half type, values of the half type are widened to float, computed
 * in float and rounded once. The weights are widened in blocks of output features, so that a block is read
 * back from the cache and the workspace stays small. */
#define BLOCK_BYTES ((int64_t)2 << 20)

/* Values of a half type that one thread converts at a time. */
#define CONVERT_CHUNK ((int64_t)16384)

typedef struct widening {
    int64_t block; /* output features at a time */
    float *x;      /* [rows, in] */
    float *w;      /* [block, in] */
    float *b;      /* [block] */
    float *y;      /* [rows, block] */
} widening;

struct lot_plan {
    lot_plan *next;
    lot_linear linear;
    lot_host_primitive *whole; /* everything, or one block of a widened layer */
    lot_host_primitive *last;  /* the last, narrower block; NULL where there is none */
    void *workspace;
    bool widens;
    widening wide;
};

static lot_host_method choose_method(const lot_linear *linear)
{
    (void)linear;
    return LOT_HOST_INNER_PRODUCT;
}

static dnnl_data_type_t library_type(lot_dtype dtype)
{
    return dtype == LOT_FLOAT32 ? dnnl_f32 : dtype == LOT_FLOAT16 ? dnnl_f16 : dnnl_bf16;
}

/* One primitive on the heap; NULL with *error. */
static lot_host_primitive *make_primitive(lot_device *device, const lot_linear *linear, int64_t out_features,
                                          dnnl_data_type_t type, lot_error *error)
{
    const lot_host_spec spec = {.method = choose_method(linear),
                                .rows = linear->rows,
                                .in_features = linear->in_features,
                                .out_features = out_features,
                                .type = type,
                                .activation = linear->activation};
    lot_host_primitive *made = calloc(1, sizeof *made);

    if (made == NULL) {
        (void)lot_error_set(error, LOT_MEMORY, "calloc", ENOMEM, "no memory for a primitive");
        return NULL;
    }
    if (lot_host_primitive_create(device->engine, &spec, made, error) == LOT_OK)
        return made;
    lot_host_primitive_destroy(made);
    free(made);
    return NULL;
}

static void free_primitive(lot_host_primitive *primitive)
{
    if (primitive == NULL)
        return;
    lot_host_primitive_destroy(primitive);
    free(primitive);
}

lot_status lot_host_supports(lot_device *device, lot_dtype dtype, lot_math math, lot_error *error)
{
    const lot_linear probe = {
        .rows = 16, .in_features = 64, .out_features = 64, .dtype = dtype, .activation = LOT_GELU_ERF};
    lot_host_primitive *primitive;

    if (math == LOT_MATH_TF32)
        return lot_error_set(error, LOT_UNSUPPORTED, "--math", 0,
                             "tf32 is a mode of NVIDIA tensor cores: the host device computes ieee only");
    if (dtype != LOT_FLOAT16) /* bfloat16 is widened to float where the library has nothing better */
        return LOT_OK;
    primitive = make_primitive(device, &probe, probe.out_features, dnnl_f16, error);
    if (primitive == NULL && error->status == LOT_MEMORY)
        return LOT_MEMORY;
    if (primitive == NULL)
        return lot_error_set(error, LOT_UNSUPPORTED, "--dtype", error->code,
                             "oneDNN %d.%d.%d has no float16 linear layer for this CPU (%.95s)",
                             dnnl_version()->major, dnnl_version()->minor, dnnl_version()->patch,
                             device->cpus.model);
    free_primitive(primitive);
    return LOT_OK;
}

/* Bytes of `rows` x `columns` floats, rounded up so that what follows is aligned; false where it does not
 * fit. */
static bool add_floats(int64_t rows, int64_t columns, int64_t *total)
{
    int64_t bytes;

    if (!lot_checked_mul(rows, columns, &bytes) || !lot_checked_mul(bytes, (int64_t)sizeof(float), &bytes) ||
        !lot_checked_add(bytes, LOT_HOST_GRANULARITY - 1, &bytes))
        return false;
    bytes -= bytes % LOT_HOST_GRANULARITY;
    return lot_checked_add(*total, bytes, total);
}

/* Takes the workspace of a widened layer, followed by the scratchpad of its primitives. */
static lot_status take_wide_workspace(lot_device *device, lot_plan *plan, int64_t scratchpad_bytes,
                                      int64_t *bytes, lot_error *error)
{
    const lot_linear *linear = &plan->linear;
    widening *wide = &plan->wide;
    int64_t w_at = 0, b_at, y_at, scratchpad_at, total;
    lot_status status;
    char *base;

    if (!add_floats(linear->rows, linear->in_features, &w_at))
        return lot_error_set(error, LOT_TOO_LARGE, "plan", 0, "the layer's workspace cannot be addressed");
    b_at = w_at;
    if (!add_floats(wide->block, linear->in_features, &b_at))
        return lot_error_set(error, LOT_TOO_LARGE, "plan", 0, "the layer's workspace cannot be addressed");
    y_at = b_at;
    if (!add_floats(1, wide->block, &y_at))
        return lot_error_set(error, LOT_TOO_LARGE, "plan", 0, "the layer's workspace cannot be addressed");
    scratchpad_at = y_at;
    if (!add_floats(linear->rows, wide->block, &scratchpad_at) ||
        !lot_checked_add(scratchpad_at, scratchpad_bytes, &total))
        return lot_error_set(error, LOT_TOO_LARGE, "plan", 0, "the layer's workspace cannot be addressed");
    status = lot_host_pool_alloc(device->pool, total, &plan->workspace, error);
    if (status != LOT_OK)
        return status;
    base = plan->workspace;
    wide->x = (float *)(void *)base;
    wide->w = (float *)(void *)(base + w_at);
    wide->b = (float *)(void *)(base + b_at);
    wide->y = (float *)(void *)(base + y_at);
    *bytes = total;
    status = lot_host_primitive_set_scratchpad(plan->whole, base + scratchpad_at, error);
    if (status == LOT_OK && plan->last != NULL)
        status = lot_host_primitive_set_scratchpad(plan->last, base + scratchpad_at, error);
    return status;
}

/* A layer of a half type, computed in float block by block. */
static lot_status plan_widened(lot_device *device, lot_plan *plan, int64_t *workspace_bytes, lot_error *error)
{
    const lot_linear *linear = &plan->linear;
    const int64_t fitting = BLOCK_BYTES / (int64_t)sizeof(float) / linear->in_features / 16 * 16;
    int64_t block = fitting < 64 ? 64 : fitting;
    int64_t scratchpad_bytes;

    if (block > linear->out_features)
        block = linear->out_features;
    plan->widens = true;
    plan->wide.block = block;
    plan->whole = make_primitive(device, linear, block, dnnl_f32, error);
    if (plan->whole == NULL)
        return error->status;
    scratchpad_bytes = plan->whole->scratchpad_bytes;
    if (linear->out_features % block != 0) {
        plan->last = make_primitive(device, linear, linear->out_features % block, dnnl_f32, error);
        if (plan->last == NULL)
            return error->status;
        if (plan->last->scratchpad_bytes > scratchpad_bytes)
            scratchpad_bytes = plan->last->scratchpad_bytes;
    }
    return take_wide_workspace(device, plan, scratchpad_bytes, workspace_bytes, error);
}

/* The whole layer as one primitive of its own type. */
static lot_status plan_native(lot_device *device, lot_plan *plan, int64_t *workspace_bytes, lot_error *error)
{
    lot_status status = LOT_OK;

    plan->whole = make_primitive(device, &plan->linear, plan->linear.out_features,
                                 library_type(plan->linear.dtype), error);
    if (plan->whole == NULL)
        return error->status;
    *workspace_bytes = plan->whole->scratchpad_bytes;
    if (*workspace_bytes == 0)
        return LOT_OK;
    status = lot_host_pool_alloc(device->pool, *workspace_bytes, &plan->workspace, error);
    if (status == LOT_OK)
        status = lot_host_primitive_set_scratchpad(plan->whole, plan->workspace, error);
    return status;
}

static void describe_plan(const lot_plan *plan, int64_t workspace_bytes, lot_plan_facts *facts)
{
    const char *dtype = lot_dtype_name(plan->linear.dtype);
    const char *method = choose_method(&plan->linear) == LOT_HOST_MATMUL ? "matmul" : "inner_product";

    memset(facts, 0, sizeof *facts);
    (void)snprintf(facts->algorithm, sizeof facts->algorithm, "%s %s", method, plan->whole->name);
    if (plan->widens)
        (void)snprintf(facts->arithmetic, sizeof facts->arithmetic, "%s stored, float32 products and sums",
                       dtype);
    else
        (void)snprintf(facts->arithmetic, sizeof facts->arithmetic, "%s products, float32 sums", dtype);
    facts->workspace_bytes = workspace_bytes;
    facts->activation_fused = plan->linear.activation != LOT_ACTIVATION_NONE ? 1 : 0;
    facts->candidates_timed = 0;
}

lot_status lot_host_plan(lot_device *device, const lot_linear *linear, lot_plan **plan, lot_plan_facts *facts,
                         lot_error *error)
{
    int64_t workspace_bytes = 0;
    lot_plan *made;
    lot_status status = lot_host_supports(device, linear->dtype, linear->math, error);

    if (status != LOT_OK)
        return status;
    made = calloc(1, sizeof *made);
    if (made == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", ENOMEM, "no memory for a plan");
    made->linear = *linear;
    made->next = device->plans;
    device->plans = made;
    status = plan_native(device, made, &workspace_bytes, error);
    if (status == LOT_UNSUPPORTED && linear->dtype == LOT_BFLOAT16)
        status = plan_widened(device, made, &workspace_bytes, error);
    if (status != LOT_OK) {
        lot_host_plan_free(device, made);
        return status;
    }
    describe_plan(made, workspace_bytes, facts);
    *plan = made;
    return LOT_OK;
}

void lot_host_plan_free(lot_device *device, lot_plan *plan)
{
    lot_plan **at = &device->plans;

    if (plan == NULL)
        return;
    while (*at != plan)
        at = &(*at)->next;
    *at = plan->next;
    free_primitive(plan->last);
    free_primitive(plan->whole);
    lot_host_pool_free(device->pool, plan->workspace);
    free(plan);
}

/* `count` values of bfloat16 as float. */
static void widen(float *to, const uint16_t *from, int64_t count, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && count > CONVERT_CHUNK)
    for (int64_t i = 0; i < count; i++)
        to[i] = lot_from_bfloat16(from[i]);
}

/* A float as bfloat16, to nearest even; a NaN stays a NaN. */
static uint16_t narrow(float value)
{
    return value != value ? (uint16_t)0x7FC0u : lot_to_bfloat16(value);
}

/* Columns `first` to first + columns of y [rows, out] from the block's result [rows, columns]. */
static void narrow_block(const lot_plan *plan, uint16_t *y, int64_t first, int64_t columns, int threads)
{
    const int64_t rows = plan->linear.rows;
    const int64_t stride = plan->linear.out_features;

#pragma omp parallel for num_threads(threads)                                                                \
    schedule(static) if (threads > 1 && rows * columns > CONVERT_CHUNK)
    for (int64_t row = 0; row < rows; row++) {
        const float *from = plan->wide.y + row * columns;
        uint16_t *to = y + row * stride + first;

        for (int64_t i = 0; i < columns; i++)
            to[i] = narrow(from[i]);
    }
}

static lot_status run_widened(lot_device *device, const lot_plan *plan, uint16_t *y, const uint16_t *x,
                              const uint16_t *w, const uint16_t *b, lot_error *error)
{
    const lot_linear *linear = &plan->linear;
    const widening *wide = &plan->wide;

    widen(wide->x, x, linear->rows * linear->in_features, device->threads);
    for (int64_t first = 0; first < linear->out_features; first += wide->block) {
        const int64_t left = linear->out_features - first;
        const int64_t columns = left < wide->block ? left : wide->block;
        lot_host_primitive *primitive = columns < wide->block ? plan->last : plan->whole;
        lot_status status;

        widen(wide->w, w + first * linear->in_features, columns * linear->in_features, device->threads);
        widen(wide->b, b + first, columns, 1);
        status = lot_host_primitive_run(primitive, device->stream, wide->y, wide->x, wide->w, wide->b, error);
        if (status != LOT_OK)
            return status;
        narrow_block(plan, y, first, columns, device->threads);
    }
    return LOT_OK;
}

lot_status lot_host_run(lot_device *device, const lot_plan *plan, void *y, const void *x, const void *w,
                        const void *b, lot_error *error)
{
    if (plan->widens)
        return run_widened(device, plan, y, x, w, b, error);
    return lot_host_primitive_run(plan->whole, device->stream, y, x, w, b, error);
}
