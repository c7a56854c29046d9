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
#define WIDE_BLOCK_BYTES ((int64_t)2 << 20)

/* From this many products on, a matmul is faster than an inner product, which costs less to start. */
#define MATMUL_FROM ((int64_t)1 << 21)

/* oneDNN's generated matrix product ("gemm:jit") packs GEMM_SLICE input features of all output features that
 * it is given before it multiplies, in strips of GEMM_STRIP. Where that fills more than half of the level 2
 * cache, a thread is up to a tenth faster with the output features in blocks; with many rows it is slower,
 * since they are packed again for each block. */
#define GEMM_SLICE       ((int64_t)192)
#define GEMM_STRIP       ((int64_t)24)
#define GEMM_BLOCK_ROWS  ((int64_t)512)
#define GEMM_BLOCK_TIMES ((int64_t)4) /* fewer blocks than this are not worth it */

/* Values of a half type that one thread converts at a time. */
#define CONVERT_CHUNK ((int64_t)16384)

typedef struct widening {
    float *x; /* [rows, in] */
    float *w; /* [block, in] */
    float *b; /* [block] */
    float *y; /* [rows, block] */
} widening;

struct lot_plan {
    lot_plan *next;
    lot_linear linear;
    lot_host_method method;
    int64_t block;              /* output features at a time */
    lot_host_primitive *blocks; /* computes one block */
    lot_host_primitive *last;   /* computes the last, narrower block; NULL where there is none */
    void *workspace;
    bool widens;
    widening wide;
};

static lot_host_method choose_method(const lot_linear *linear)
{
    const double products = (double)linear->rows * (double)linear->in_features * (double)linear->out_features;

    return products < (double)MATMUL_FROM ? LOT_HOST_INNER_PRODUCT : LOT_HOST_MATMUL;
}

static dnnl_data_type_t library_type(lot_dtype dtype)
{
    return dtype == LOT_FLOAT32 ? dnnl_f32 : dtype == LOT_FLOAT16 ? dnnl_f16 : dnnl_bf16;
}

/* One primitive on the heap. */
static lot_status make_primitive(lot_device *device, const lot_host_spec *spec, lot_host_primitive **made,
                                 lot_error *error)
{
    lot_host_primitive *primitive = calloc(1, sizeof *primitive);
    lot_status status;

    if (primitive == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", ENOMEM, "no memory for a primitive");
    status = lot_host_primitive_create(device->engine, spec, primitive, error);
    if (status != LOT_OK) {
        lot_host_primitive_destroy(primitive);
        free(primitive);
        return status;
    }
    *made = primitive;
    return LOT_OK;
}

static void free_primitive(lot_host_primitive *primitive)
{
    if (primitive == NULL)
        return;
    lot_host_primitive_destroy(primitive);
    free(primitive);
}

/* Makes the plan's primitives for blocks of `block` output features that lie `y_stride` apart. */
static lot_status make_blocks(lot_device *device, lot_plan *plan, int64_t block, int64_t y_stride,
                              dnnl_data_type_t type, lot_error *error)
{
    const lot_linear *linear = &plan->linear;
    lot_host_spec spec = {.method = plan->method,
                          .rows = linear->rows,
                          .in_features = linear->in_features,
                          .out_features = block,
                          .y_stride = y_stride,
                          .type = type,
                          .activation = linear->activation};
    lot_status status;

    plan->block = block;
    status = make_primitive(device, &spec, &plan->blocks, error);
    spec.out_features = linear->out_features % block;
    if (status != LOT_OK || spec.out_features == 0)
        return status;
    if (y_stride == block) /* each block is by itself */
        spec.y_stride = spec.out_features;
    return make_primitive(device, &spec, &plan->last, error);
}

static void free_blocks(lot_plan *plan)
{
    free_primitive(plan->last);
    free_primitive(plan->blocks);
    plan->last = plan->blocks = NULL;
}

static int64_t scratchpad_bytes(const lot_plan *plan)
{
    const int64_t last = plan->last == NULL ? 0 : plan->last->scratchpad_bytes;

    return last > plan->blocks->scratchpad_bytes ? last : plan->blocks->scratchpad_bytes;
}

static lot_status set_scratchpad(lot_plan *plan, void *memory, lot_error *error)
{
    lot_status status = lot_host_primitive_set_scratchpad(plan->blocks, memory, error);

    if (status == LOT_OK && plan->last != NULL)
        status = lot_host_primitive_set_scratchpad(plan->last, memory, error);
    return status;
}

lot_status lot_host_supports(lot_device *device, lot_dtype dtype, lot_math math, lot_error *error)
{
    static const lot_host_spec probe = {.method = LOT_HOST_MATMUL,
                                        .rows = 16,
                                        .in_features = 64,
                                        .out_features = 64,
                                        .y_stride = 64,
                                        .type = dnnl_f16,
                                        .activation = LOT_GELU_ERF};
    lot_host_primitive *primitive = NULL;
    lot_status status;

    if (math == LOT_MATH_TF32)
        return lot_error_set(error, LOT_UNSUPPORTED, "--math", 0,
                             "tf32 is a mode of NVIDIA tensor cores: the host device computes ieee only");
    if (dtype != LOT_FLOAT16) /* bfloat16 is widened to float where the library has nothing better */
        return LOT_OK;
    status = make_primitive(device, &probe, &primitive, error);
    if (status == LOT_MEMORY)
        return status;
    if (status != LOT_OK)
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

/* Where the parts of a widened layer's workspace begin, and its size; false where it cannot be addressed. */
static bool lay_out(const lot_plan *plan, int64_t at[5], int64_t *total)
{
    const lot_linear *linear = &plan->linear;
    const int64_t sizes[4][2] = {{linear->rows, linear->in_features},
                                 {plan->block, linear->in_features},
                                 {1, plan->block},
                                 {linear->rows, plan->block}};

    at[0] = 0;
    for (int i = 0; i < 4; i++) {
        at[i + 1] = at[i];
        if (!add_floats(sizes[i][0], sizes[i][1], &at[i + 1]))
            return false;
    }
    return lot_checked_add(at[4], scratchpad_bytes(plan), total);
}

/* A layer of a half type, computed in float block by block. */
static lot_status plan_widened(lot_device *device, lot_plan *plan, int64_t *workspace_bytes, lot_error *error)
{
    const lot_linear *linear = &plan->linear;
    const int64_t fitting = WIDE_BLOCK_BYTES / (int64_t)sizeof(float) / linear->in_features / 16 * 16;
    const int64_t wanted = fitting < 64 ? 64 : fitting;
    const int64_t block = wanted < linear->out_features ? wanted : linear->out_features;
    int64_t at[5];
    char *base;
    lot_status status = make_blocks(device, plan, block, block, dnnl_f32, error);

    if (status != LOT_OK)
        return status;
    if (!lay_out(plan, at, workspace_bytes))
        return lot_error_set(error, LOT_TOO_LARGE, "plan", 0, "the layer's workspace cannot be addressed");
    status = lot_host_pool_alloc(device->pool, *workspace_bytes, &plan->workspace, error);
    if (status != LOT_OK)
        return status;
    base = plan->workspace;
    plan->wide = (widening){.x = (float *)(void *)(base + at[0]),
                            .w = (float *)(void *)(base + at[1]),
                            .b = (float *)(void *)(base + at[2]),
                            .y = (float *)(void *)(base + at[3])};
    plan->widens = true;
    return set_scratchpad(plan, base + at[4], error);
}

/* Output features at a time for a layer that the library computes in its own type. */
static int64_t choose_block(const lot_device *device, const lot_plan *plan)
{
    const lot_linear *linear = &plan->linear;
    const int64_t strips = device->cpus.l2_bytes / 2 / (GEMM_SLICE * GEMM_STRIP * (int64_t)sizeof(float));
    const int64_t fitting = strips * GEMM_STRIP;

    if (device->threads > 1 || linear->dtype != LOT_FLOAT32 || plan->method != LOT_HOST_MATMUL ||
        strncmp(plan->blocks->name, "gemm:jit", 8) != 0 || linear->rows > GEMM_BLOCK_ROWS ||
        linear->in_features < GEMM_SLICE || strips < 2 || linear->out_features / fitting < GEMM_BLOCK_TIMES)
        return linear->out_features;
    return fitting;
}

/* The layer as primitives of its own type, which need no memory but their scratchpad. */
static lot_status plan_native(lot_device *device, lot_plan *plan, int64_t *workspace_bytes, lot_error *error)
{
    const lot_linear *linear = &plan->linear;
    const dnnl_data_type_t type = library_type(linear->dtype);
    lot_status status = make_blocks(device, plan, linear->out_features, linear->out_features, type, error);
    int64_t block;

    if (status != LOT_OK)
        return status;
    block = choose_block(device, plan);
    if (block < linear->out_features) {
        free_blocks(plan);
        status = make_blocks(device, plan, block, linear->out_features, type, error);
        if (status != LOT_OK)
            return status;
    }
    *workspace_bytes = scratchpad_bytes(plan);
    if (*workspace_bytes == 0)
        return LOT_OK;
    status = lot_host_pool_alloc(device->pool, *workspace_bytes, &plan->workspace, error);
    return status == LOT_OK ? set_scratchpad(plan, plan->workspace, error) : status;
}

static void describe_plan(const lot_plan *plan, int64_t workspace_bytes, lot_plan_facts *facts)
{
    const char *dtype = lot_dtype_name(plan->linear.dtype);
    const char *method = plan->method == LOT_HOST_MATMUL ? "matmul" : "inner_product";

    memset(facts, 0, sizeof *facts);
    if (plan->block < plan->linear.out_features)
        (void)snprintf(facts->algorithm, sizeof facts->algorithm, "%s %s in blocks of %lld output features",
                       method, plan->blocks->name, (long long)plan->block);
    else
        (void)snprintf(facts->algorithm, sizeof facts->algorithm, "%s %s", method, plan->blocks->name);
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
    made->method = choose_method(linear);
    made->next = device->plans;
    device->plans = made;
    status = plan_native(device, made, &workspace_bytes, error);
    if (status == LOT_UNSUPPORTED && linear->dtype == LOT_BFLOAT16) {
        free_blocks(made);
        status = plan_widened(device, made, &workspace_bytes, error);
    }
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
    free_blocks(plan);
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

/* The block that begins at output feature `first`: how wide it is and what computes it. */
static lot_host_primitive *block_at(const lot_plan *plan, int64_t first, int64_t *columns)
{
    const int64_t left = plan->linear.out_features - first;

    *columns = left < plan->block ? left : plan->block;
    return left < plan->block ? plan->last : plan->blocks;
}

static lot_status run_widened(lot_device *device, const lot_plan *plan, uint16_t *y, const uint16_t *x,
                              const uint16_t *w, const uint16_t *b, lot_error *error)
{
    const lot_linear *linear = &plan->linear;
    const widening *wide = &plan->wide;

    widen(wide->x, x, linear->rows * linear->in_features, device->threads);
    for (int64_t first = 0; first < linear->out_features; first += plan->block) {
        int64_t columns;
        lot_host_primitive *primitive = block_at(plan, first, &columns);
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
    const int64_t item = (int64_t)lot_dtype_bytes(plan->linear.dtype);
    lot_status status = LOT_OK;

    if (plan->widens)
        return run_widened(device, plan, y, x, w, b, error);
    for (int64_t first = 0; first < plan->linear.out_features && status == LOT_OK; first += plan->block) {
        int64_t columns;
        lot_host_primitive *primitive = block_at(plan, first, &columns);

        status = lot_host_primitive_run(primitive, device->stream, (char *)y + first * item, x,
                                        (const char *)w + first * plan->linear.in_features * item,
                                        (const char *)b + first * item, error);
    }
    return status;
}
