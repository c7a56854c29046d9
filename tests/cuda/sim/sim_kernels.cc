// The product's kernels, compiled for the host from the same bodies.
#include "emul.hpp"

#include "gpu/cuda/kernels_body.cuh"

SIM_KERNEL(lot_k_fill_uniform_float32);
SIM_KERNEL(lot_k_fill_uniform_float16);
SIM_KERNEL(lot_k_fill_uniform_bfloat16);
SIM_KERNEL(lot_k_fill_near_normal_float32);
SIM_KERNEL(lot_k_fill_near_normal_float16);
SIM_KERNEL(lot_k_fill_near_normal_bfloat16);
SIM_KERNEL(lot_k_gelu_float32);
SIM_KERNEL(lot_k_gelu_float16);
SIM_KERNEL(lot_k_gelu_bfloat16);
SIM_KERNEL(lot_k_digest_float32);
SIM_KERNEL(lot_k_digest_float16);
SIM_KERNEL(lot_k_digest_bfloat16);
SIM_KERNEL(lot_k_compare_float32);
SIM_KERNEL(lot_k_compare_float16);
SIM_KERNEL(lot_k_compare_bfloat16);
