#include "gpu/host/host_library.h"

/* A convolution of size 1: one step, no padding. */
static const dnnl_dims_t step = {1};
static const dnnl_dims_t none = {0};

#if DNNL_VERSION_MAJOR >= 3

lot_host_layout_view lot_host_layout_of(const lot_host_layout *layout)
{
    return *layout;
}

dnnl_status_t lot_host_layout_strided(lot_host_layout *layout, int rank, const dnnl_dims_t dims,
                                      const dnnl_dims_t strides, dnnl_data_type_t type)
{
    return dnnl_memory_desc_create_with_strides(layout, rank, dims, type, strides);
}

dnnl_status_t lot_host_layout_any(lot_host_layout *layout, int rank, const dnnl_dims_t dims,
                                  dnnl_data_type_t type)
{
    return dnnl_memory_desc_create_with_tag(layout, rank, dims, type, dnnl_format_tag_any);
}

void lot_host_layout_free(lot_host_layout *layout)
{
    if (*layout != NULL)
        (void)dnnl_memory_desc_destroy(*layout);
}

dnnl_status_t lot_host_append_eltwise(dnnl_post_ops_t post_ops, dnnl_alg_kind_t kind)
{
    return dnnl_post_ops_append_eltwise(post_ops, kind, 0.0f, 0.0f);
}

dnnl_status_t lot_host_describe(dnnl_primitive_desc_t *made, dnnl_engine_t engine, lot_host_method method,
                                const lot_host_layout operands[4], const_dnnl_primitive_attr_t attributes)
{
    if (method == LOT_HOST_CONVOLUTION)
        return dnnl_convolution_forward_primitive_desc_create(
            made, engine, dnnl_forward_inference, dnnl_convolution_direct, operands[0], operands[1],
            operands[2], operands[3], step, none, none, none, attributes);
    if (method == LOT_HOST_MATMUL)
        return dnnl_matmul_primitive_desc_create(made, engine, operands[0], operands[1], operands[2],
                                                 operands[3], attributes);
    return dnnl_inner_product_forward_primitive_desc_create(
        made, engine, dnnl_forward_inference, operands[0], operands[1], operands[2], operands[3], attributes);
}

dnnl_status_t lot_host_describe_next(dnnl_primitive_desc_t described)
{
    return dnnl_primitive_desc_next_impl(described) == dnnl_success ? dnnl_success : dnnl_unimplemented;
}

#else

lot_host_layout_view lot_host_layout_of(const lot_host_layout *layout)
{
    return layout;
}

dnnl_status_t lot_host_layout_strided(lot_host_layout *layout, int rank, const dnnl_dims_t dims,
                                      const dnnl_dims_t strides, dnnl_data_type_t type)
{
    return dnnl_memory_desc_init_by_strides(layout, rank, dims, type, strides);
}

dnnl_status_t lot_host_layout_any(lot_host_layout *layout, int rank, const dnnl_dims_t dims,
                                  dnnl_data_type_t type)
{
    return dnnl_memory_desc_init_by_tag(layout, rank, dims, type, dnnl_format_tag_any);
}

void lot_host_layout_free(lot_host_layout *layout)
{
    (void)layout;
}

dnnl_status_t lot_host_append_eltwise(dnnl_post_ops_t post_ops, dnnl_alg_kind_t kind)
{
    return dnnl_post_ops_append_eltwise(post_ops, 1.0f, kind, 0.0f, 0.0f);
}

dnnl_status_t lot_host_describe(dnnl_primitive_desc_t *made, dnnl_engine_t engine, lot_host_method method,
                                const lot_host_layout operands[4], const_dnnl_primitive_attr_t attributes)
{
    dnnl_convolution_desc_t convolution;
    dnnl_matmul_desc_t matmul;
    dnnl_inner_product_desc_t inner_product;
    const_dnnl_op_desc_t operation;
    dnnl_status_t code;

    if (method == LOT_HOST_CONVOLUTION) {
        code = dnnl_convolution_forward_desc_init(&convolution, dnnl_forward_inference,
                                                  dnnl_convolution_direct, &operands[0], &operands[1],
                                                  &operands[2], &operands[3], step, none, none);
        operation = &convolution;
    } else if (method == LOT_HOST_MATMUL) {
        code = dnnl_matmul_desc_init(&matmul, &operands[0], &operands[1], &operands[2], &operands[3]);
        operation = &matmul;
    } else {
        code = dnnl_inner_product_forward_desc_init(&inner_product, dnnl_forward_inference, &operands[0],
                                                    &operands[1], &operands[2], &operands[3]);
        operation = &inner_product;
    }
    return code != dnnl_success ? code
                                : dnnl_primitive_desc_create(made, operation, attributes, engine, NULL);
}

dnnl_status_t lot_host_describe_next(dnnl_primitive_desc_t described)
{
    (void)described; /* 2.x has iterators that would have to live as long */
    return dnnl_unimplemented;
}

#endif
