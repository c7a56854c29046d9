/* Faults on request: GPULOT_CUDASIM_FAULT="kind[:key=value,...][+kind...]".
 *
 * Every kind knows which keys it takes (table in sim_fault.c, words in README.md). `device` is the GPU's
 * physical index and `rank` the launcher's rank: a fault without them is for all. `at` is the number, from 1,
 * of the event on which the fault fires, counted per fault among the events that it is for, and `count` how
 * many events in a row it hits. A fault that was armed in this process and never fired is reported on stderr
 * at exit. */
#ifndef GPULOT_SIM_FAULT_H
#define GPULOT_SIM_FAULT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum sim_fault_kind {
    SIM_FAULT_OOM,           /* an allocation from a pool or by cudaMalloc fails */
    SIM_FAULT_STICKY,        /* a kernel or matrix product ends the context with `code` */
    SIM_FAULT_ECC,           /* the same with 214, and NVML counts an uncorrectable error */
    SIM_FAULT_LOST,          /* an API call and all after it fail with `code`; NVML says the GPU is lost */
    SIM_FAULT_HANG,          /* a kernel or matrix product never ends */
    SIM_FAULT_STUCK,         /* call `at` of the function `symbol` never returns */
    SIM_FAULT_SLOW,          /* device time is multiplied by `factor` from launch `at` on */
    SIM_FAULT_FLIP_GEMM,     /* bit `bit` of byte `byte` of a matrix product's output is flipped */
    SIM_FAULT_FLIP_UPLOAD,   /* the same after a copy from host to device */
    SIM_FAULT_NAN,           /* element `element` of a matrix product's output becomes a NaN */
    SIM_FAULT_GEMM_STATUS,   /* cublasLtMatmul returns `code` */
    SIM_FAULT_THROTTLE,      /* NVML counts `share` of the busy time as throttled for `reason` */
    SIM_FAULT_NO_POOLS,      /* the device has no stream-ordered memory pools */
    SIM_FAULT_POOLS_REFUSED, /* the device says it has pools, and every call about them fails with `code` */
    SIM_FAULT_DRIVER,        /* every runtime call fails with `code` (35: old driver, 802, 803 ...) */
    SIM_FAULT_BUSY,          /* no context can be made: 46 */
    SIM_FAULT_FOREIGN,       /* NVML lists a foreign compute process `pid` with `bytes` */
    SIM_FAULT_MPS,           /* the GPU is served through MPS */
    SIM_FAULT_OLD_RUNTIME,   /* device attributes that came after CUDA 12.1 are unknown */
    SIM_FAULT_NVML_INIT,     /* nvmlInit_v2 returns `code` */
    SIM_FAULT_NVML_MISSING,  /* dlsym does not find `symbol` */
    SIM_FAULT_NVML_STATUS,   /* the NVML function `symbol` returns `code` */
    SIM_FAULT_NVML_VERSION,  /* the driver's version reads `text` */
    SIM_FAULT_KIND_COUNT
} sim_fault_kind;

typedef struct sim_fault {
    sim_fault_kind kind;
    int device; /* -1: all */
    int rank;   /* -1: all */
    int64_t at;
    int64_t count;
    int code;
    double factor;
    double share;
    int64_t byte; /* also the element of SIM_FAULT_NAN and the bytes of SIM_FAULT_FOREIGN */
    int bit;
    int pid;
    int reason; /* a sim_throttle_reason */
    char text[64];
    int64_t seen;  /* events so far */
    int64_t fired; /* how often it struck */
    bool armed;    /* its device was used by this process, or it needs none */
} sim_fault;

/* Throttle reasons, in the order of the counters that NVML keeps. */
typedef enum sim_throttle_reason {
    SIM_SW_POWER,
    SIM_SW_THERMAL,
    SIM_HW_THERMAL,
    SIM_HW_BRAKE,
    SIM_SYNC_BOOST,
    SIM_THROTTLE_COUNT
} sim_throttle_reason;

/* Reads the variable; ends the process with SIM_EXIT_BAD where it is malformed. Done once, from the library's
 * constructor, so that a mistake shows even where nothing is used. */
void sim_fault_load(void);

/* Marks the faults of a GPU as ones that should fire in this process. */
void sim_fault_arm(int gpu);

/* Counts one event of this kind on this GPU; the fault that strikes it, or NULL. `gpu` -1: no GPU in play. */
const sim_fault *sim_fault_hit(sim_fault_kind kind, int gpu);

/* Counts one call of that function for the SIM_FAULT_STUCK that names it; the fault where it strikes. */
const sim_fault *sim_fault_hit_call(const char *symbol);

/* A lasting fault of this kind for this GPU, or NULL. `symbol` narrows it where it is not NULL. The caller
 * says by sim_fault_note that it made a difference. */
const sim_fault *sim_fault_find(sim_fault_kind kind, int gpu, const char *symbol);
void sim_fault_note(const sim_fault *fault);

/* Reports armed faults that never fired. */
void sim_fault_report(void);

#endif
