/* Kernels: how a launch finds the host's copy of a kernel and keeps its arguments until it runs. */
#ifndef GPULOT_SIM_KERNEL_H
#define GPULOT_SIM_KERNEL_H

#include "sim_core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sim_launch {
    dim3 grid;
    dim3 block;
    size_t shared_bytes;
    sim_device *device;
} sim_launch;

/* What a launch touches, as its pointer arguments tell: for the model of its duration and for damage. */
typedef struct sim_footprint {
    const void *output; /* the first pointer to what is not const */
    size_t bytes;       /* from each pointer to the end of its allocation */
} sim_footprint;

typedef struct sim_kernel {
    const char *name; /* as the compiler registers it */
    /* Copies the arguments into one piece from malloc, and says what they touch. */
    void *(*pack)(const struct sim_kernel *kernel, const sim_launch *launch, void **arguments,
                  sim_footprint *footprint);
    void (*run)(void *packed);
    struct sim_kernel *next;
} sim_kernel;

/* Makes a kernel known; the struct stays the caller's and must last. */
void sim_kernel_add(sim_kernel *kernel);

#ifdef __cplusplus
}
#endif
#endif
