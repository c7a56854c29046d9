/* Streams and events: work is queued and runs at a synchronising call, not before ("lazy"), so that a missing
 * synchronisation shows on every run. The device has a clock of its own that work advances by what a model
 * says it takes; events read that clock. */
#ifndef GPULOT_SIM_STREAM_H
#define GPULOT_SIM_STREAM_H

#include "sim_core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a piece of work counts as, for the faults that count such work. */
typedef enum sim_work_kind { SIM_WORK_OTHER, SIM_WORK_KERNEL, SIM_WORK_GEMM, SIM_WORK_UPLOAD } sim_work_kind;

typedef struct sim_work {
    const char *name;
    sim_work_kind kind;
    void (*run)(void *argument); /* called without the lock */
    void *argument;              /* from malloc; freed after the work ran or was dropped */
    double seconds;              /* on the device's clock, before slow factor and noise */
    const void *output;   /* device address of what is written first; NULL where nothing can be damaged */
    size_t element_bytes; /* of the output */
} sim_work;

struct CUstream_st {
    uint32_t magic;
    sim_device *device;
    unsigned flags;
    int priority;
    bool busy;    /* its first operation runs */
    bool queried; /* was asked for while unfinished */
    struct sim_op *head;
    struct sim_op *tail;
    sim_stream *next;
};

struct CUevent_st {
    uint32_t magic;
    sim_device *device;
    unsigned flags;
    sim_stream *stream; /* of the last record */
    uint64_t wanted;    /* number of the last record; 0 = never recorded */
    uint64_t done;      /* number of the last record that was reached */
    double seconds;     /* the device's clock then */
    bool queried;
    sim_event *next; /* among destroyed ones */
};

/* Makes a device's default stream. */
void sim_stream_open(sim_device *device);

/* The stream behind a handle, NULL where it is none of this device's. */
sim_stream *sim_stream_of(sim_device *device, cudaStream_t handle);

/* Queues work; takes over work.argument in every case. */
cudaError_t sim_stream_put(sim_device *device, cudaStream_t handle, sim_work work);

/* The event's next record, and a wait for its last one, in the order of the stream. */
cudaError_t sim_stream_put_record(sim_stream *stream, sim_event *event);
cudaError_t sim_stream_put_wait(sim_stream *stream, sim_event *event);

/* Runs what is queued: all of a stream, up to an event, all of a device. Gives the lock up meanwhile. */
void sim_stream_run(sim_stream *stream);
void sim_stream_run_to(sim_event *event);
void sim_stream_run_device(sim_device *device);

/* The same up to work that would never end, which stays queued. For questions that must not block. */
void sim_stream_progress(sim_stream *stream);

/* Nothing queued and nothing running. */
bool sim_stream_idle(const sim_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
