/* Internals of the simulated NVML: results, handles, and how a function is published. */
#ifndef GPULOT_SIM_NVML_H
#define GPULOT_SIM_NVML_H

#include "sim_core.h"

/* nvmlReturn_t */
enum {
    NVML_OK = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_IS_LOST = 15,
    NVML_VERSION_MISMATCH = 25
};

typedef void *nvml_handle;

/* The GPU or slice behind a handle; false where there is none. */
bool sim_nvml_unit(nvml_handle handle, sim_unit *unit);
nvml_handle sim_nvml_handle(sim_unit unit);

/* For functions that only a whole GPU answers: NVML_OK and the GPU's index, NOT_SUPPORTED for a slice. */
int sim_nvml_gpu(nvml_handle handle, int *gpu);

/* What this process knows of a GPU, over its slices too. */
typedef struct sim_activity {
    double busy_seconds;
    uint64_t used_bytes;
    uint64_t ecc_uncorrectable;
    bool in_use; /* this process has a context on it */
    bool lost;
} sim_activity;

sim_activity sim_nvml_activity(sim_unit unit); /* slice -1: all of the GPU */

/* Called around every function: logs, takes the lock, and answers for uninitialised, lost and refused. */
int sim_nvml_begin(const char *name, bool needs_init);
int sim_nvml_end(int result);

/* What dlsym is to find: the function, or NULL under an `nvml-missing` fault. */
bool sim_nvml_present(const char *name);

/* Defines the public function `name`. What follows is its body, which runs under the lock:
 *
 *     NVML(nvmlDeviceGetCount_v2, (unsigned *count), (count))
 *     {
 *         ...
 *     }
 *
 * The symbol is an indirect one, resolved when dlsym asks for it, so that a test can make it absent. */
#define NVML_WITH(name, parameters, arguments, needs_init)                                                   \
    int name parameters;                                                                                     \
    static int body_##name parameters;                                                                       \
    static int entry_##name parameters                                                                       \
    {                                                                                                        \
        const int refusal = sim_nvml_begin(#name, needs_init);                                               \
                                                                                                             \
        return sim_nvml_end(refusal != NVML_OK ? refusal : body_##name arguments);                           \
    }                                                                                                        \
    static __typeof__(entry_##name) *resolve_##name(void)                                                    \
    {                                                                                                        \
        return sim_nvml_present(#name) ? entry_##name : NULL;                                                \
    }                                                                                                        \
    int name parameters __attribute__((ifunc("resolve_" #name)));                                            \
    static int body_##name parameters

#define NVML(name, parameters, arguments) NVML_WITH(name, parameters, arguments, true)

#endif
