#include "gpu/host/host_primitive.h"

#include <dnnl_debug.h>
#include <stdio.h>
#include <string.h>

lot_status lot_host_dnnl_error(lot_error *error, const char *call, dnnl_status_t code)
{
    const lot_status status = code == dnnl_out_of_memory   ? LOT_DEVICE_MEMORY
                              : code == dnnl_unimplemented ? LOT_UNSUPPORTED
                              : code == dnnl_runtime_error ? LOT_DEVICE_FAULT
                                                           : LOT_INTERNAL;

    return lot_error_set(error, status, call, code, "oneDNN returned %s", dnnl_status2str(code));
}

/* ---- oneDNN 2.x has descriptors of operations and plain structs for memory; 3.x has neither ---- */

#if DNNL_VERSION_MAJOR >= 3

typedef dnnl_memory_desc_t memory_desc;

static const_dnnl_memory_desc_t desc_of(const memory_desc *desc)
{
    return *desc;
}

static dnnl_status_t make_desc(memory_desc *desc, int rank, const dnnl_dims_t dims, const dnnl_dims_t strides,
                               dnnl_data_type_t type)
{
    return dnnl_memory_desc_create_with_strides(desc, rank, dims, type, strides);
}

static void free_desc(memory_desc *desc)
{
    if (*desc != NULL)
        (void)dnnl_memory_desc_destroy(*desc);
}

static dnnl_status_t append_eltwise(dnnl_post_ops_t post_ops, dnnl_alg_kind_t kind)
{
    return dnnl_post_ops_append_eltwise(post_ops, kind, 0.0f, 0.0f);
}

static dnnl_status_t make_primitive_desc(dnnl_primitive_desc_t *made, dnnl_engine_t engine,
                                         lot_host_method method, const memory_desc desc[4],
                                         const_dnnl_primitive_attr_t attributes)
{
    if (method == LOT_HOST_MATMUL)
        return dnnl_matmul_primitive_desc_create(made, engine, desc[0], desc[1], desc[2], desc[3],
                                                 attributes);
    return dnnl_inner_product_forward_primitive_desc_create(made, engine, dnnl_forward_inference, desc[0],
                                                            desc[1], desc[2], desc[3], attributes);
}

#else

typedef dnnl_memory_desc_t memory_desc;

static const dnnl_memory_desc_t *desc_of(const memory_desc *desc)
{
    return desc;
}

static dnnl_status_t make_desc(memory_desc *desc, int rank, const dnnl_dims_t dims, const dnnl_dims_t strides,
                               dnnl_data_type_t type)
{
    return dnnl_memory_desc_init_by_strides(desc, rank, dims, type, strides);
}

static void free_desc(memory_desc *desc)
{
    (void)desc;
}

static dnnl_status_t append_eltwise(dnnl_post_ops_t post_ops, dnnl_alg_kind_t kind)
{
    return dnnl_post_ops_append_eltwise(post_ops, 1.0f, kind, 0.0f, 0.0f);
}

static dnnl_status_t make_primitive_desc(dnnl_primitive_desc_t *made, dnnl_engine_t engine,
                                         lot_host_method method, const memory_desc desc[4],
                                         const_dnnl_primitive_attr_t attributes)
{
    dnnl_matmul_desc_t matmul;
    dnnl_inner_product_desc_t inner_product;
    dnnl_status_t code;

    if (method == LOT_HOST_MATMUL) {
        code = dnnl_matmul_desc_init(&matmul, &desc[0], &desc[1], &desc[2], &desc[3]);
        return code != dnnl_success ? code
                                    : dnnl_primitive_desc_create(made, &matmul, attributes, engine, NULL);
    }
    code = dnnl_inner_product_forward_desc_init(&inner_product, dnnl_forward_inference, &desc[0], &desc[1],
                                                &desc[2], &desc[3]);
    return code != dnnl_success ? code
                                : dnnl_primitive_desc_create(made, &inner_product, attributes, engine, NULL);
}

#endif

/* ---- common to both ---- */

/* Row-major x [rows, in], w [out, in], b [out] and y [rows, out]. A matmul wants w as [in, out], the same
 * memory seen with exchanged strides, and a bias of two dimensions. */
static dnnl_status_t make_descs(const lot_host_spec *spec, memory_desc desc[4])
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
    const dnnl_dims_t y_strides = {spec->y_stride, 1};
    dnnl_status_t code = make_desc(&desc[0], 2, x_dims, x_strides, spec->type);

    if (code == dnnl_success)
        code = make_desc(&desc[1], 2, w_dims, w_strides, spec->type);
    if (code == dnnl_success)
        code = make_desc(&desc[2], matmul ? 2 : 1, b_dims, b_strides, spec->type);
    if (code == dnnl_success)
        code = make_desc(&desc[3], 2, y_dims, y_strides, spec->type);
    return code;
}

/* GELU inside the primitive, and the scratchpad from the caller, who counts it. */
static dnnl_status_t set_attributes(dnnl_primitive_attr_t attributes, lot_activation activation)
{
    dnnl_post_ops_t post_ops = NULL;
    dnnl_status_t code = dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user);

    if (code != dnnl_success || activation == LOT_ACTIVATION_NONE)
        return code;
    code = dnnl_post_ops_create(&post_ops);
    if (code == dnnl_success)
        code = append_eltwise(post_ops,
                              activation == LOT_GELU_ERF ? dnnl_eltwise_gelu_erf : dnnl_eltwise_gelu_tanh);
    if (code == dnnl_success)
        code = dnnl_primitive_attr_set_post_ops(attributes, post_ops);
    if (post_ops != NULL)
        (void)dnnl_post_ops_destroy(post_ops);
    return code;
}

/* The memory objects, with no memory behind them yet. */
static dnnl_status_t make_arguments(dnnl_engine_t engine, const memory_desc desc[4],
                                    const_dnnl_primitive_desc_t described, lot_host_primitive *made)
{
    static const int names[4] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST};
    dnnl_status_t code = dnnl_success;

    for (int i = 0; i < 4 && code == dnnl_success; i++) {
        code = dnnl_memory_create(&made->arguments[i].memory, desc_of(&desc[i]), engine, DNNL_MEMORY_NONE);
        made->arguments[i].arg = names[i];
        made->count = i + 1;
    }
    if (code == dnnl_success && made->scratchpad_bytes > 0) {
        code = dnnl_memory_create(&made->arguments[4].memory,
                                  dnnl_primitive_desc_query_md(described, dnnl_query_scratchpad_md, 0),
                                  engine, DNNL_MEMORY_NONE);
        made->arguments[4].arg = DNNL_ARG_SCRATCHPAD;
        made->count = 5;
    }
    return code;
}

/* Its name, and the scratchpad that it wants. */
static dnnl_status_t ask(const_dnnl_primitive_desc_t described, lot_host_primitive *made)
{
    const char *name = "";
    const dnnl_status_t code =
        dnnl_primitive_desc_query(described, dnnl_query_impl_info_str, 0, (void *)&name);

    (void)snprintf(made->name, sizeof made->name, "%s", name);
    made->scratchpad_bytes = (int64_t)dnnl_memory_desc_get_size(
        dnnl_primitive_desc_query_md(described, dnnl_query_scratchpad_md, 0));
    return code;
}

lot_status lot_host_primitive_create(dnnl_engine_t engine, const lot_host_spec *spec,
                                     lot_host_primitive *made, lot_error *error)
{
    memory_desc desc[4];
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_primitive_desc_t described = NULL;
    const char *call = "dnnl_memory_desc";
    dnnl_status_t code;
    lot_status status = LOT_OK;

    memset(desc, 0, sizeof desc);
    memset(made, 0, sizeof *made);
    code = make_descs(spec, desc);
    if (code == dnnl_success) {
        call = "dnnl_primitive_attr";
        code = dnnl_primitive_attr_create(&attributes);
    }
    if (code == dnnl_success)
        code = set_attributes(attributes, spec->activation);
    if (code == dnnl_success) {
        call = "dnnl_primitive_desc_create";
        code = make_primitive_desc(&described, engine, spec->method, desc, attributes);
    }
    if (code == dnnl_success)
        code = ask(described, made);
    if (code == dnnl_success && spec->type != dnnl_f32 && strncmp(made->name, "ref", 3) == 0)
        code = dnnl_unimplemented;
    if (code == dnnl_success) {
        call = "dnnl_primitive_create";
        code = dnnl_primitive_create(&made->primitive, described);
    }
    if (code == dnnl_success)
        code = make_arguments(engine, desc, described, made);
    if (code != dnnl_success)
        status = lot_host_dnnl_error(error, call, code);
    if (described != NULL)
        (void)dnnl_primitive_desc_destroy(described);
    if (attributes != NULL)
        (void)dnnl_primitive_attr_destroy(attributes);
    for (int i = 0; i < 4; i++)
        free_desc(&desc[i]);
    return status;
}

void lot_host_primitive_destroy(lot_host_primitive *primitive)
{
    for (int i = 0; i < primitive->count; i++)
        if (primitive->arguments[i].memory != NULL)
            (void)dnnl_memory_destroy(primitive->arguments[i].memory);
    if (primitive->primitive != NULL)
        (void)dnnl_primitive_destroy(primitive->primitive);
    memset(primitive, 0, sizeof *primitive);
}

lot_status lot_host_primitive_set_scratchpad(lot_host_primitive *primitive, void *memory, lot_error *error)
{
    dnnl_status_t code;

    if (primitive->count < 5)
        return LOT_OK;
    code = dnnl_memory_set_data_handle(primitive->arguments[4].memory, memory);
    return code == dnnl_success ? LOT_OK : lot_host_dnnl_error(error, "dnnl_memory_set_data_handle", code);
}

lot_status lot_host_primitive_run(lot_host_primitive *primitive, dnnl_stream_t stream, void *y, const void *x,
                                  const void *w, const void *b, lot_error *error)
{
    const void *const inputs[3] = {x, w, b};
    void *wanted[4] = {NULL, NULL, NULL, y};
    dnnl_status_t code = dnnl_success;

    /* The library takes pointers to its inputs without const; it does not write to them. */
    memcpy(wanted, inputs, sizeof inputs);
    for (int i = 0; i < 4; i++) {
        if (primitive->handles[i] == wanted[i])
            continue;
        code = dnnl_memory_set_data_handle(primitive->arguments[i].memory, wanted[i]);
        if (code != dnnl_success)
            return lot_host_dnnl_error(error, "dnnl_memory_set_data_handle", code);
        primitive->handles[i] = wanted[i];
    }
    code = dnnl_primitive_execute(primitive->primitive, stream, primitive->count, primitive->arguments);
    if (code == dnnl_success)
        code = dnnl_stream_wait(stream);
    return code == dnnl_success ? LOT_OK : lot_host_dnnl_error(error, "dnnl_primitive_execute", code);
}
