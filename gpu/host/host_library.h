/* The only place that knows the differences between oneDNN 2.x and 3.x: 2.x has descriptors of operations and
 * plain structs for memory, 3.x has neither. Every function returns the library's own status. */
#ifndef GPULOT_GPU_HOST_LIBRARY_H
#define GPULOT_GPU_HOST_LIBRARY_H

#include <oneapi/dnnl/dnnl.h>
#include <stdint.h>

/* The library's ways to compute x * w^T + b. The convolution is one of size 1 over a line of `rows` points
 * with `in_features` channels each: the same sums, for which the library has kernels of its own. */
typedef enum lot_host_method {
    LOT_HOST_INNER_PRODUCT,
    LOT_HOST_MATMUL,
    LOT_HOST_CONVOLUTION
} lot_host_method;

/* How a tensor lies in memory. Zeroed is "none"; what was made is freed with lot_host_layout_free. */
typedef dnnl_memory_desc_t lot_host_layout;

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t lot_host_layout_view;
#else
typedef const dnnl_memory_desc_t *lot_host_layout_view;
#endif

/* The same as the library's functions take it and as its queries give it. */
lot_host_layout_view lot_host_layout_of(const lot_host_layout *layout);

/* `rank` dimensions with the given distances, in elements, from one to the next. */
dnnl_status_t lot_host_layout_strided(lot_host_layout *layout, int rank, const dnnl_dims_t dims,
                                      const dnnl_dims_t strides, dnnl_data_type_t type);

/* The layout is left to the primitive, which is asked for it later. */
dnnl_status_t lot_host_layout_any(lot_host_layout *layout, int rank, const dnnl_dims_t dims,
                                  dnnl_data_type_t type);

void lot_host_layout_free(lot_host_layout *layout);

dnnl_status_t lot_host_append_eltwise(dnnl_post_ops_t post_ops, dnnl_alg_kind_t kind);

/* Describes the primitive of `method` for x, w, b and y. The caller destroys *made. */
dnnl_status_t lot_host_describe(dnnl_primitive_desc_t *made, dnnl_engine_t engine, lot_host_method method,
                                const lot_host_layout operands[4], const_dnnl_primitive_attr_t attributes);

/* Goes on to the library's next implementation of the same; dnnl_unimplemented where it has no other, or does
 * not say. */
dnnl_status_t lot_host_describe_next(dnnl_primitive_desc_t described);

#endif
