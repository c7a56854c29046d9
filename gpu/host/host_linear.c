#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "gpu/generator.h"
#include "gpu/host/host_device.h"
#include "gpu/host/host_primitive.h"

/* A layer is computed in blocks of output features where its weights are changed on the way: widened to float
 * where the library has no primitive for a half type, packed for a convolution. A block of this many bytes of
 * float for each thread is read back from the cache, and the workspace stays small. */
#define BLOCK_BYTES    ((int64_t)1 << 20)
#define BLOCK_FEATURES ((int64_t)64) /* at least */

/* From this many products on, a matmul is faster than an inner product, which costs less to start. */
#define MATMUL_FROM ((int64_t)1 << 21)

/* On a CPU with AVX2 and no more, the library's generated convolution is up to a fifth faster than its matrix
 * product, the packing of the weights in each pass included, from this many rows on (several threads: for
 * each of them). */
#define PACK_ROWS         ((int64_t)16)
#define PACK_ROWS_SEVERAL ((int64_t)64)

/* Values of a half type that one thread converts at a time. */
#define CONVERT_CHUNK ((int64_t)16384)

/* Parts of the workspace; NULL where the caller's memory is used. */
typedef struct buffers {
    float *x; /* [rows, in] */
    float *w; /* [block, in] */
    float *b; /* [block] */
    float *y; /* [rows, block] */
} buffers;

struct lot_plan {
    lot_plan *next;
    lot_linear linear;
    lot_host_method method;
    bool widens;                /* from bfloat16 to float, and back */
    int64_t block;              /* output features at a time */
    lot_host_primitive *blocks; /* computes one block */
    lot_host_primitive *last;   /* computes the last, narrower block; NULL where there is none */
    void *workspace;
    buffers parts;
};

static bool packing_pays(const lot_device *device, const lot_linear *linear)
{
    const int64_t rows = device->threads > 1 ? PACK_ROWS_SEVERAL * device->threads : PACK_ROWS;

    return dnnl_get_effective_cpu_isa() == dnnl_cpu_isa_avx2 && linear->rows >= rows;
}

static lot_host_method choose_method(const lot_device *device, const lot_linear *linear,
                                     dnnl_data_type_t type)
{
    const double products = (double)linear->rows * (double)linear->in_features * (double)linear->out_features;

    if (products < (double)MATMUL_FROM)
        return LOT_HOST_INNER_PRODUCT;
    return type == dnnl_f32 && packing_pays(device, linear) ? LOT_HOST_CONVOLUTION : LOT_HOST_MATMUL;
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

/* Output features at a time. */
static int64_t choose_block(const lot_device *device, const lot_plan *plan)
{
    const lot_linear *linear = &plan->linear;
    const int64_t fitting =
        BLOCK_BYTES * device->threads / (int64_t)sizeof(float) / linear->in_features / 16 * 16;
    const int64_t wanted = fitting < BLOCK_FEATURES ? BLOCK_FEATURES : fitting;

    if (plan->method != LOT_HOST_CONVOLUTION && !plan->widens)
        return linear->out_features;
    return wanted < linear->out_features ? wanted : linear->out_features;
}

/* Makes the plan's primitives, which compute in `type`. */
static lot_status make_blocks(lot_device *device, lot_plan *plan, dnnl_data_type_t type, lot_error *error)
{
    const lot_linear *linear = &plan->linear;
    lot_host_spec spec = {.method = plan->method,
                          .rows = linear->rows,
                          .in_features = linear->in_features,
                          .type = type,
                          .activation = linear->activation};
    lot_status status;

    plan->block = choose_block(device, plan);
    spec.out_features = plan->block;
    status = make_primitive(device, &spec, &plan->blocks, error);
    spec.out_features = linear->out_features % plan->block;
    if (status != LOT_OK || spec.out_features == 0)
        return status;
    return make_primitive(device, &spec, &plan->last, error);
}

static void free_blocks(lot_plan *plan)
{
    free_primitive(plan->last);
    free_primitive(plan->blocks);
    plan->last = plan->blocks = NULL;
}

/* What the two primitives need; they run in turn. */
static int64_t primitive_bytes(const lot_plan *plan)
{
    const int64_t last = plan->last == NULL ? 0 : plan->last->workspace_bytes;

    return last > plan->blocks->workspace_bytes ? last : plan->blocks->workspace_bytes;
}

static lot_status set_primitive_workspace(lot_plan *plan, void *memory, lot_error *error)
{
    lot_status status = lot_host_primitive_set_workspace(plan->blocks, memory, error);

    if (status == LOT_OK && plan->last != NULL)
        status = lot_host_primitive_set_workspace(plan->last, memory, error);
    return status;
}

lot_status lot_host_supports(lot_device *device, lot_dtype dtype, lot_math math, lot_error *error)
{
    static const lot_host_spec probe = {.method = LOT_HOST_MATMUL,
                                        .rows = 16,
                                        .in_features = 64,
                                        .out_features = 64,
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

/* Where the parts of the workspace begin, and its size; false where it cannot be addressed. */
static bool lay_out(const lot_plan *plan, int64_t at[5], int64_t *total)
{
    const lot_linear *linear = &plan->linear;
    const int64_t widened = plan->widens ? 1 : 0;
    const int64_t apart = plan->widens || plan->block < linear->out_features ? 1 : 0;
    const int64_t sizes[4][2] = {{widened * linear->rows, linear->in_features},
                                 {widened * plan->block, linear->in_features},
                                 {widened, plan->block},
                                 {apart * linear->rows, plan->block}};

    at[0] = 0;
    for (int i = 0; i < 4; i++) {
        at[i + 1] = at[i];
        if (!add_floats(sizes[i][0], sizes[i][1], &at[i + 1]))
            return false;
    }
    return lot_checked_add(at[4], primitive_bytes(plan), total);
}

static lot_status take_workspace(lot_device *device, lot_plan *plan, int64_t *bytes, lot_error *error)
{
    float **const parts[4] = {&plan->parts.x, &plan->parts.w, &plan->parts.b, &plan->parts.y};
    int64_t at[5];
    char *base;
    lot_status status;

    if (!lay_out(plan, at, bytes))
        return lot_error_set(error, LOT_TOO_LARGE, "plan", 0, "the layer's workspace cannot be addressed");
    if (*bytes == 0)
        return LOT_OK;
    status = lot_host_pool_alloc(device->pool, *bytes, &plan->workspace, error);
    if (status != LOT_OK)
        return status;
    base = plan->workspace;
    for (int i = 0; i < 4; i++)
        if (at[i + 1] > at[i])
            *parts[i] = (float *)(void *)(base + at[i]);
    return set_primitive_workspace(plan, base + at[4], error);
}

/* Chooses and makes the primitives: of the layer's own type, or of float where the layer is widened. */
static lot_status choose(lot_device *device, lot_plan *plan, lot_error *error)
{
    const dnnl_data_type_t type = plan->widens ? dnnl_f32 : library_type(plan->linear.dtype);
    lot_status status;

    plan->method = choose_method(device, &plan->linear, type);
    status = make_blocks(device, plan, type, error);
    if (status != LOT_UNSUPPORTED || plan->method != LOT_HOST_CONVOLUTION)
        return status;
    free_blocks(plan);
    plan->method = LOT_HOST_MATMUL;
    return make_blocks(device, plan, type, error);
}

static void describe_plan(const lot_plan *plan, int64_t workspace_bytes, lot_plan_facts *facts)
{
    static const char *const methods[] = {"inner_product", "matmul", "convolution"};
    const char *dtype = lot_dtype_name(plan->linear.dtype);
    size_t used;

    memset(facts, 0, sizeof *facts);
    used = (size_t)snprintf(facts->algorithm, sizeof facts->algorithm, "%s %s", methods[plan->method],
                            plan->blocks->name);
    if (plan->block < plan->linear.out_features)
        used += (size_t)snprintf(facts->algorithm + used, sizeof facts->algorithm - used,
                                 " in blocks of %lld output features", (long long)plan->block);
    if (plan->method == LOT_HOST_CONVOLUTION)
        (void)snprintf(facts->algorithm + used, sizeof facts->algorithm - used,
                       ", weights packed in each pass");
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
    status = choose(device, made, error);
    if (status == LOT_UNSUPPORTED && linear->dtype == LOT_BFLOAT16) {
        free_blocks(made);
        made->widens = true;
        status = choose(device, made, error);
    }
    if (status == LOT_OK)
        status = take_workspace(device, made, &workspace_bytes, error);
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

static void narrow_row(uint16_t *to, const float *from, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = narrow(from[i]);
}

/* Columns `first` to first + columns of y [rows, out] from the block's result [rows, columns]. */
static void store_block(const lot_plan *plan, void *y, int64_t first, int64_t columns, int threads)
{
    const int64_t rows = plan->linear.rows;
    const int64_t stride = plan->linear.out_features;

#pragma omp parallel for num_threads(threads)                                                                \
    schedule(static) if (threads > 1 && rows * columns > CONVERT_CHUNK)
    for (int64_t row = 0; row < rows; row++) {
        const float *from = plan->parts.y + row * columns;

        if (plan->widens)
            narrow_row((uint16_t *)y + row * stride + first, from, columns);
        else
            memcpy((float *)y + row * stride + first, from, (size_t)columns * sizeof *from);
    }
}

/* The block that begins at output feature `first`: how wide it is and what computes it. */
static lot_host_primitive *block_at(const lot_plan *plan, int64_t first, int64_t *columns)
{
    const int64_t left = plan->linear.out_features - first;

    *columns = left < plan->block ? left : plan->block;
    return left < plan->block ? plan->last : plan->blocks;
}

/* x, and w and b from the block's first output feature on. */
static lot_status run_block(lot_device *device, const lot_plan *plan, int64_t first, void *y, const void *x,
                            const void *w, const void *b, lot_error *error)
{
    const buffers *parts = &plan->parts;
    int64_t columns;
    lot_host_primitive *primitive = block_at(plan, first, &columns);
    lot_status status;

    if (plan->widens) {
        widen(parts->w, w, columns * plan->linear.in_features, device->threads);
        widen(parts->b, b, columns, 1);
    }
    status = lot_host_primitive_run(primitive, device->stream, parts->y != NULL ? parts->y : y,
                                    plan->widens ? parts->x : x, plan->widens ? parts->w : w,
                                    plan->widens ? parts->b : b, error);
    if (status == LOT_OK && parts->y != NULL)
        store_block(plan, y, first, columns, device->threads);
    return status;
}

lot_status lot_host_run(lot_device *device, const lot_plan *plan, void *y, const void *x, const void *w,
                        const void *b, lot_error *error)
{
    const lot_linear *linear = &plan->linear;
    const int64_t item = (int64_t)lot_dtype_bytes(linear->dtype);
    lot_status status = LOT_OK;

    if (plan->widens)
        widen(plan->parts.x, x, linear->rows * linear->in_features, device->threads);
    for (int64_t first = 0; first < linear->out_features && status == LOT_OK; first += plan->block)
        status = run_block(device, plan, first, y, x, (const char *)w + first * linear->in_features * item,
                           (const char *)b + first * item, error);
    return status;
}
