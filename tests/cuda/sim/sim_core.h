/* The state of the simulated runtime in this process, and how an API call enters and leaves it.
 *
 * Every public function begins with sim_enter or sim_enter_driver and ends with sim_leave; in between it
 * holds the one lock. The lock is given up while queued work runs (sim_stream.c), so that a call from another
 * thread can look at a device that hangs. All other functions of the simulator expect the lock to be held. */
#ifndef GPULOT_SIM_CORE_H
#define GPULOT_SIM_CORE_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim_config.h"
#include "sim_fault.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CUmemPoolHandle_st sim_pool;
typedef struct CUstream_st sim_stream;
typedef struct CUevent_st sim_event;

/* One allocation on a device. */
typedef struct sim_block {
    char *address; /* as the product sees it */
    size_t size;   /* as asked for */
    size_t charged;
    sim_pool *pool; /* NULL: cudaMalloc */
    bool live;
    bool freeing; /* freed by the product, the free has not run yet */
} sim_block;

/* A device's addresses: a window that faults when the host touches it, and behind it, at a fixed distance,
 * the alias through which the simulator works. */
typedef struct sim_window {
    char *base;
    char *alias;
    size_t size;
    size_t used;       /* addresses below base + used were handed out; never handed out again */
    sim_block *blocks; /* by address */
    size_t block_count;
    size_t block_capacity;
} sim_window;

typedef struct sim_device {
    int index;     /* in sim_config.units */
    sim_unit unit; /* which GPU, which slice */
    bool ready;    /* has a context */
    bool lost;
    cudaError_t sticky; /* what ended the context */
    sim_window window;
    uint64_t direct_bytes;  /* cudaMalloc */
    uint64_t context_bytes; /* taken by the context and by loaded kernels */
    sim_pool *pools;        /* the default pool and those that were made */
    sim_pool *default_pool;
    sim_pool *current_pool;
    sim_stream *streams; /* the default stream and those that were made */
    sim_stream *default_stream;
    double clock_seconds;       /* the device's own time: the sum of all work so far */
    uint64_t operations;        /* work done so far; numbers the noise */
    uint64_t ecc_uncorrectable; /* errors that NVML is to count */
} sim_device;

/* Logs the call, takes the lock and checks the driver: 35 without one, or what a driver fault asks for. */
cudaError_t sim_enter_driver(const char *call);

/* The same for a call that needs a context on the thread's device, which is made where it is missing; the
 * device's lasting error is returned. On success *device is set. */
cudaError_t sim_enter(const char *call, sim_device **device);

/* Gives the lock up, notes the error for cudaGetLastError and returns it. */
cudaError_t sim_leave(cudaError_t error);

/* The same without noting it: "not ready" is an answer, not an error. */
cudaError_t sim_leave_quietly(cudaError_t error);

/* The lock, for code that runs work (sim_stream.c) and for the other two libraries. */
void sim_lock(void);
void sim_unlock(void);
void sim_wait_change(void);   /* gives the lock up until sim_notify_change */
void sim_notify_change(void); /* wakes all waiters */

/* Notes that a thread waits for ever within the driver: exit() will not end the process either. */
void sim_note_stuck(void);

/* A call of one of the three libraries begins: one line in GPULOT_CUDASIM_LOG. Under a `stuck` fault it does
 * not come back. The lock must not be held. */
void sim_call(const char *call);

/* One line on stderr. */
void sim_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The device behind a runtime ordinal, or NULL where there is none; no context is made. */
sim_device *sim_device_at(int ordinal);
sim_device *sim_device_of_unit(int unit);

/* Makes the context; cudaErrorDevicesUnavailable under a `busy` fault. */
cudaError_t sim_device_ready(sim_device *device);

/* The calling thread's current ordinal. */
int sim_current_ordinal(void);
void sim_set_current_ordinal(int ordinal);

/* Ends the context with an error; the first one stays. */
void sim_device_break(sim_device *device, cudaError_t error);

/* Bytes in use on the device: context, cudaMalloc and what all pools have reserved. */
uint64_t sim_device_used_bytes(const sim_device *device);

/* The thread's last error, in sim_error.c. */
void sim_error_note(cudaError_t error);

/* The mark by which the product recognises the simulator. */
extern const char gpulot_cudasim[];

#ifdef __cplusplus
}
#endif
#endif
