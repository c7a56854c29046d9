/* The simulator's own tests: one program, one case a run, so that each case has its own environment. A case
 * returns when all its checks held; the first that does not hold ends the process with 1. */
#ifndef GPULOT_SIM_CASES_H
#define GPULOT_SIM_CASES_H

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            (void)fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);             \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

/* The call returns exactly this error. */
#define EXPECT(error, call)                                                                                  \
    do {                                                                                                     \
        const int expected_ = (int)(error), got_ = (int)(call);                                              \
        if (got_ != expected_) {                                                                             \
            (void)fprintf(stderr, "%s:%d: %s: %d instead of %d\n", __FILE__, __LINE__, #call, got_,          \
                          expected_);                                                                        \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

#define OK(call) EXPECT(cudaSuccess, call)

typedef struct sim_case {
    const char *name;
    void (*run)(void);
} sim_case;

extern const sim_case memory_cases[], stream_cases[], kernel_cases[], gemm_cases[], nvml_cases[],
    fault_cases[];

/* kernels of kernel_cases.cc: values[i] += by, for i < count. */
void launch_add(int *values, int by, int64_t count, cudaStream_t stream);

/* A pool on device 0 that keeps what it has. */
cudaMemPool_t make_pool(void);
uint64_t pool_value(cudaMemPool_t pool, enum cudaMemPoolAttr attribute);

#ifdef __cplusplus
}
#endif
#endif
