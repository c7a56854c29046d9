/* The kernels, under names that a C++ compiler does not mangle. kernels.cu compiles them, and the files that
 * they are made of, for GPUs; the tests compile them a second time with a C++ compiler, so there is nothing
 * there but threadIdx, blockIdx, blockDim, gridDim, __shared__, __syncthreads, __shfl_*_sync and plain C++.
 *
 * Memory is read and written 16 bytes at a time: one `uint4` holds four float32 or eight half values. Buffers
 * are aligned to that; what does not fill a vector at the end is done value by value. */
#ifndef GPULOT_GPU_CUDA_KERNELS_BODY_CUH
#define GPULOT_GPU_CUDA_KERNELS_BODY_CUH

#include "gpu/cuda/kernels_fill.cuh"
#include "gpu/cuda/kernels_gelu.cuh"
#include "gpu/cuda/kernels_reduce.cuh"

#define LOT_FILL_KERNEL(name, T, D)                                                                          \
    extern "C" __global__ void name(void *to, uint64_t seed, uint32_t tensor, float scale, int64_t first,    \
                                    int64_t count)                                                           \
    {                                                                                                        \
        lot_fill_body<T, D>(to, seed, tensor, scale, first, count);                                          \
    }

#define LOT_GELU_KERNEL(name, T)                                                                             \
    extern "C" __global__ void name(void *values, int64_t count)                                             \
    {                                                                                                        \
        lot_gelu_body<T>(values, count);                                                                     \
    }

#define LOT_DIGEST_KERNEL(name, T)                                                                           \
    extern "C" __global__ void name(lot_digest_partial *partials, const void *from, int64_t bytes)           \
    {                                                                                                        \
        __shared__ uint64_t shared[LOT_BLOCK / 32];                                                          \
                                                                                                             \
        lot_digest_body<T>(partials, from, bytes, shared);                                                   \
    }

#define LOT_COMPARE_KERNEL(name, T)                                                                          \
    extern "C" __global__ void name(lot_compare_partial *partials, const void *a, const void *b,             \
                                    int64_t count)                                                           \
    {                                                                                                        \
        __shared__ uint64_t shared[LOT_BLOCK];                                                               \
                                                                                                             \
        lot_compare_body<T>(partials, a, b, count, shared);                                                  \
    }

LOT_FILL_KERNEL(lot_k_fill_uniform_float32, lot_float32, lot_uniform_law)
LOT_FILL_KERNEL(lot_k_fill_uniform_float16, lot_float16, lot_uniform_law)
LOT_FILL_KERNEL(lot_k_fill_uniform_bfloat16, lot_bfloat16, lot_uniform_law)
LOT_FILL_KERNEL(lot_k_fill_near_normal_float32, lot_float32, lot_near_normal_law)
LOT_FILL_KERNEL(lot_k_fill_near_normal_float16, lot_float16, lot_near_normal_law)
LOT_FILL_KERNEL(lot_k_fill_near_normal_bfloat16, lot_bfloat16, lot_near_normal_law)
LOT_GELU_KERNEL(lot_k_gelu_float32, lot_float32)
LOT_GELU_KERNEL(lot_k_gelu_float16, lot_float16)
LOT_GELU_KERNEL(lot_k_gelu_bfloat16, lot_bfloat16)
LOT_DIGEST_KERNEL(lot_k_digest_float32, lot_float32)
LOT_DIGEST_KERNEL(lot_k_digest_float16, lot_float16)
LOT_DIGEST_KERNEL(lot_k_digest_bfloat16, lot_bfloat16)
LOT_COMPARE_KERNEL(lot_k_compare_float32, lot_float32)
LOT_COMPARE_KERNEL(lot_k_compare_float16, lot_float16)
LOT_COMPARE_KERNEL(lot_k_compare_bfloat16, lot_bfloat16)

#endif
