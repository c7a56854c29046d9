#include "gpu/host/host_primitive.h"

#include <oneapi/dnnl/dnnl_debug.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "gpu/host/host_pool.h"

enum { X, W, B, Y, SCRATCHPAD };

/* What is needed while a primitive is made. */
typedef struct making {
    dnnl_engine_t engine;
    lot_host_layout operands[4]; /* as the primitive is asked for them */
    lot_host_layout plain_w;     /* as the caller has the weights, where the primitive chooses */
    dnnl_primitive_attr_t attributes;
    dnnl_primitive_attr_t pack_attributes;
    dnnl_primitive_desc_t described;
    dnnl_primitive_desc_t pack;
} making;

lot_status lot_host_dnnl_error(lot_error *error, const char *call, dnnl_status_t code)
{
    const lot_status status = code == dnnl_out_of_memory   ? LOT_DEVICE_MEMORY
                              : code == dnnl_unimplemented ? LOT_UNSUPPORTED
                              : code == dnnl_runtime_error ? LOT_DEVICE_FAULT
                                                           : LOT_INTERNAL;

    return lot_error_set(error, status, call, code, "oneDNN returned %s", dnnl_status2str(code));
}

/* A matmul wants w as [in, out], the same memory seen with exchanged strides, and a bias of two dimensions.
 */
static dnnl_status_t lay_out_product(const lot_host_spec *spec, lot_host_layout operands[4])
{
    const bool matmul = spec->method == LOT_HOST_MATMUL;
    const dnnl_dims_t x_dims = {spec->rows, spec->in_features};
    const dnnl_dims_t x_strides = {spec->in_features, 1};
    const dnnl_dims_t w_dims = {matmul ? spec->in_features : spec->out_features,
                                matmul ? spec->out_features : spec->in_features};
    const dnnl_dims_t w_strides = {matmul ? 1 : spec->in_features, matmul ? spec->in_features : 1};
    const dnnl_dims_t b_dims = {matmul ? 1 : spec->out_features, spec->out_features};
    const dnnl_dims_t b_strides = {matmul ? spec->out_features : 1, 1};
    const dnnl_dims_t y_dims = {spec->rows, spec->out_features};
    const dnnl_dims_t y_strides = {spec->out_features, 1};
    dnnl_status_t code = lot_host_layout_strided(&operands[X], 2, x_dims, x_strides, spec->type);

    if (code == dnnl_success)
        code = lot_host_layout_strided(&operands[W], 2, w_dims, w_strides, spec->type);
    if (code == dnnl_success)
        code = lot_host_layout_strided(&operands[B], matmul ? 2 : 1, b_dims, b_strides, spec->type);
    if (code == dnnl_success)
        code = lot_host_layout_strided(&operands[Y], 2, y_dims, y_strides, spec->type);
    return code;
}

/* One image of `rows` points, the channels of a point side by side, which is row-major x and y. */
static dnnl_status_t lay_out_convolution(const lot_host_spec *spec, lot_host_layout operands[4],
                                         lot_host_layout *plain_w)
{
    const dnnl_dims_t x_dims = {1, spec->in_features, spec->rows};
    const dnnl_dims_t x_strides = {spec->rows * spec->in_features, 1, spec->in_features};
    const dnnl_dims_t w_dims = {spec->out_features, spec->in_features, 1};
    const dnnl_dims_t w_strides = {spec->in_features, 1, 1};
    const dnnl_dims_t b_dims = {spec->out_features};
    const dnnl_dims_t b_strides = {1};
    const dnnl_dims_t y_dims = {1, spec->out_features, spec->rows};
    const dnnl_dims_t y_strides = {spec->rows * spec->out_features, 1, spec->out_features};
    dnnl_status_t code = lot_host_layout_strided(&operands[X], 3, x_dims, x_strides, spec->type);

    if (code == dnnl_success)
        code = lot_host_layout_any(&operands[W], 3, w_dims, spec->type);
    if (code == dnnl_success)
        code = lot_host_layout_strided(plain_w, 3, w_dims, w_strides, spec->type);
    if (code == dnnl_success)
        code = lot_host_layout_strided(&operands[B], 1, b_dims, b_strides, spec->type);
    if (code == dnnl_success)
        code = lot_host_layout_strided(&operands[Y], 3, y_dims, y_strides, spec->type);
    return code;
}

/* GELU inside the primitive, and the scratchpad from the caller, who counts it. */
static dnnl_status_t make_attributes(dnnl_primitive_attr_t *made, lot_activation activation)
{
    dnnl_post_ops_t post_ops = NULL;
    dnnl_status_t code = dnnl_primitive_attr_create(made);

    if (code == dnnl_success)
        code = dnnl_primitive_attr_set_scratchpad_mode(*made, dnnl_scratchpad_mode_user);
    if (code != dnnl_success || activation == LOT_ACTIVATION_NONE)
        return code;
    code = dnnl_post_ops_create(&post_ops);
    if (code == dnnl_success)
        code = lot_host_append_eltwise(post_ops, activation == LOT_GELU_ERF ? dnnl_eltwise_gelu_erf
                                                                            : dnnl_eltwise_gelu_tanh);
    if (code == dnnl_success)
        code = dnnl_primitive_attr_set_post_ops(*made, post_ops);
    if (post_ops != NULL)
        (void)dnnl_post_ops_destroy(post_ops);
    return code;
}

static const char *name_of(const_dnnl_primitive_desc_t described)
{
    const char *name = "";

    (void)dnnl_primitive_desc_query(described, dnnl_query_impl_info_str, 0, (void *)&name);
    return name;
}

static bool is_named(const_dnnl_primitive_desc_t described, const char *prefix)
{
    return strncmp(name_of(described), prefix, strlen(prefix)) == 0;
}

static int64_t bytes_of(const_dnnl_primitive_desc_t described, dnnl_query_t what)
{
    return (int64_t)dnnl_memory_desc_get_size(dnnl_primitive_desc_query_md(described, what, 0));
}

/* Room for `bytes` of a workspace, so that what follows is aligned. */
static int64_t aligned(int64_t bytes)
{
    return (bytes + LOT_HOST_GRANULARITY - 1) / LOT_HOST_GRANULARITY * LOT_HOST_GRANULARITY;
}

static dnnl_status_t make_memory(dnnl_exec_arg_t *argument, int name, lot_host_layout_view layout,
                                 dnnl_engine_t engine)
{
    argument->arg = name;
    return dnnl_memory_create(&argument->memory, layout, engine, DNNL_MEMORY_NONE);
}

/* The memory objects, with no memory behind them yet. */
static dnnl_status_t make_arguments(const making *m, lot_host_primitive *made)
{
    static const int names[4] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST};
    dnnl_status_t code = dnnl_success;

    for (int i = X; i <= Y && code == dnnl_success; i++) {
        const bool chosen = i == W && m->pack != NULL;

        code = make_memory(&made->arguments[i], names[i],
                           chosen ? dnnl_primitive_desc_query_md(m->described, dnnl_query_weights_md, 0)
                                  : lot_host_layout_of(&m->operands[i]),
                           m->engine);
        made->count = i + 1;
    }
    if (code == dnnl_success && bytes_of(m->described, dnnl_query_scratchpad_md) > 0) {
        code =
            make_memory(&made->arguments[SCRATCHPAD], DNNL_ARG_SCRATCHPAD,
                        dnnl_primitive_desc_query_md(m->described, dnnl_query_scratchpad_md, 0), m->engine);
        made->count = SCRATCHPAD + 1;
    }
    return code;
}

/* Describes the layer's primitive. A reference loop is refused but for a plain product in float. */
static dnnl_status_t describe(making *m, const lot_host_spec *spec)
{
    const bool convolves = spec->method == LOT_HOST_CONVOLUTION;
    dnnl_status_t code =
        convolves ? lay_out_convolution(spec, m->operands, &m->plain_w) : lay_out_product(spec, m->operands);

    if (code == dnnl_success)
        code = make_attributes(&m->attributes, spec->activation);
    if (code == dnnl_success)
        code = lot_host_describe(&m->described, m->engine, spec->method, m->operands, m->attributes);
    /* What 3.x offers first, "brgconv_1x1:avx2", is no faster than a matmul. */
    while (code == dnnl_success && convolves && !is_named(m->described, "jit_1x1:"))
        code = lot_host_describe_next(m->described);
    if (code == dnnl_success && spec->type != dnnl_f32 && is_named(m->described, "ref"))
        code = dnnl_unimplemented;
    return code;
}

/* Describes what brings the caller's weights into the layout that the described primitive chose. */
static dnnl_status_t describe_pack(making *m)
{
    dnnl_status_t code = make_attributes(&m->pack_attributes, LOT_ACTIVATION_NONE);

    if (code == dnnl_success)
        code = dnnl_reorder_primitive_desc_create(
            &m->pack, lot_host_layout_of(&m->plain_w), m->engine,
            dnnl_primitive_desc_query_md(m->described, dnnl_query_weights_md, 0), m->engine,
            m->pack_attributes);
    if (code == dnnl_success && (is_named(m->pack, "ref") || bytes_of(m->pack, dnnl_query_scratchpad_md) > 0))
        code = dnnl_unimplemented;
    return code;
}

static dnnl_status_t make_pack(const making *m, lot_host_primitive *made)
{
    dnnl_status_t code = dnnl_primitive_create(&made->pack, m->pack);

    if (code == dnnl_success)
        code =
            make_memory(&made->pack_arguments[0], DNNL_ARG_FROM, lot_host_layout_of(&m->plain_w), m->engine);
    made->pack_arguments[1] = (dnnl_exec_arg_t){.arg = DNNL_ARG_TO, .memory = made->arguments[W].memory};
    return code;
}

/* *call is what the library was asked last. */
static dnnl_status_t make(making *m, const lot_host_spec *spec, lot_host_primitive *made, const char **call)
{
    dnnl_status_t code;

    *call = "dnnl_primitive_desc_create";
    code = describe(m, spec);
    if (code == dnnl_success && spec->method == LOT_HOST_CONVOLUTION) {
        *call = "dnnl_reorder_primitive_desc_create";
        code = describe_pack(m);
    }
    if (code != dnnl_success)
        return code;
    *call = "dnnl_primitive_create";
    (void)snprintf(made->name, sizeof made->name, "%s", name_of(m->described));
    made->packed_bytes = m->pack == NULL ? 0 : aligned(bytes_of(m->described, dnnl_query_weights_md));
    made->workspace_bytes = made->packed_bytes + bytes_of(m->described, dnnl_query_scratchpad_md);
    code = dnnl_primitive_create(&made->primitive, m->described);
    if (code == dnnl_success)
        code = make_arguments(m, made);
    if (code == dnnl_success && m->pack != NULL)
        code = make_pack(m, made);
    return code;
}

static void free_making(making *m)
{
    const dnnl_primitive_desc_t described[2] = {m->described, m->pack};
    const dnnl_primitive_attr_t attributes[2] = {m->attributes, m->pack_attributes};

    for (int i = 0; i < 2; i++) {
        if (described[i] != NULL)
            (void)dnnl_primitive_desc_destroy(described[i]);
        if (attributes[i] != NULL)
            (void)dnnl_primitive_attr_destroy(attributes[i]);
    }
    for (int i = X; i <= Y; i++)
        lot_host_layout_free(&m->operands[i]);
    lot_host_layout_free(&m->plain_w);
}

lot_status lot_host_primitive_create(dnnl_engine_t engine, const lot_host_spec *spec,
                                     lot_host_primitive *made, lot_error *error)
{
    const char *call = "";
    making m;
    dnnl_status_t code;

    memset(&m, 0, sizeof m);
    memset(made, 0, sizeof *made);
    m.engine = engine;
    code = make(&m, spec, made, &call);
    free_making(&m);
    return code == dnnl_success ? LOT_OK : lot_host_dnnl_error(error, call, code);
}

static void destroy_memory(const dnnl_exec_arg_t *argument)
{
    if (argument->memory != NULL)
        (void)dnnl_memory_destroy(argument->memory);
}

void lot_host_primitive_destroy(lot_host_primitive *primitive)
{
    for (int i = 0; i < primitive->count; i++)
        destroy_memory(&primitive->arguments[i]);
    destroy_memory(&primitive->pack_arguments[0]); /* the other is one of those above */
    if (primitive->pack != NULL)
        (void)dnnl_primitive_destroy(primitive->pack);
    if (primitive->primitive != NULL)
        (void)dnnl_primitive_destroy(primitive->primitive);
    memset(primitive, 0, sizeof *primitive);
}

lot_status lot_host_primitive_set_workspace(lot_host_primitive *primitive, void *memory, lot_error *error)
{
    dnnl_status_t code = dnnl_success;

    if (primitive->pack != NULL)
        code = dnnl_memory_set_data_handle(primitive->arguments[W].memory, memory);
    if (code == dnnl_success && primitive->count > SCRATCHPAD)
        code = dnnl_memory_set_data_handle(primitive->arguments[SCRATCHPAD].memory,
                                           (char *)memory + primitive->packed_bytes);
    return code == dnnl_success ? LOT_OK : lot_host_dnnl_error(error, "dnnl_memory_set_data_handle", code);
}

/* Points the caller's x, w, b and y at other memory where they moved. */
static dnnl_status_t set_handles(lot_host_primitive *primitive, void *const wanted[4])
{
    dnnl_status_t code = dnnl_success;

    for (int i = X; i <= Y && code == dnnl_success; i++) {
        const bool packed = i == W && primitive->pack != NULL;

        if (primitive->handles[i] == wanted[i])
            continue;
        code = dnnl_memory_set_data_handle(
            packed ? primitive->pack_arguments[0].memory : primitive->arguments[i].memory, wanted[i]);
        if (code == dnnl_success)
            primitive->handles[i] = wanted[i];
    }
    return code;
}

lot_status lot_host_primitive_run(lot_host_primitive *primitive, dnnl_stream_t stream, void *y, const void *x,
                                  const void *w, const void *b, lot_error *error)
{
    const void *const inputs[3] = {x, w, b};
    void *wanted[4] = {NULL, NULL, NULL, y};
    dnnl_status_t code;

    /* The library takes pointers to its inputs without const; it does not write to them. */
    memcpy(wanted, inputs, sizeof inputs);
    code = set_handles(primitive, wanted);
    if (code != dnnl_success)
        return lot_host_dnnl_error(error, "dnnl_memory_set_data_handle", code);
    if (primitive->pack != NULL)
        code = dnnl_primitive_execute(primitive->pack, stream, 2, primitive->pack_arguments);
    if (code == dnnl_success)
        code = dnnl_primitive_execute(primitive->primitive, stream, primitive->count, primitive->arguments);
    if (code == dnnl_success)
        code = dnnl_stream_wait(stream);
    return code == dnnl_success ? LOT_OK : lot_host_dnnl_error(error, "dnnl_primitive_execute", code);
}
