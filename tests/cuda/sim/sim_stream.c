#include "sim_stream.h"
#include "sim_leaks.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim_memory.h"
#include "sim_pool.h"

#define STREAM_MAGIC 0x53545245u

typedef enum op_kind { OP_WORK, OP_RECORD, OP_WAIT } op_kind;

/* One entry of a queue. Faults are drawn when it is queued, so that their counts follow the order of calls.
 */
typedef struct sim_op {
    struct sim_op *next;
    op_kind kind;
    sim_work work;
    sim_event *event;
    uint64_t number; /* of the record */
    double slow;
    bool hang;
    const sim_fault *end;  /* ends the context */
    const sim_fault *flip; /* damages the output */
    const sim_fault *nan;
} sim_op;

static sim_stream *buried;

static void *must_allocate(size_t size)
{
    void *memory = calloc(1, size);

    if (memory == NULL)
        abort();
    return memory;
}

static sim_stream *new_stream(sim_device *device, unsigned flags, int priority)
{
    sim_stream *stream = must_allocate(sizeof *stream);

    *stream = (sim_stream){.magic = STREAM_MAGIC,
                           .device = device,
                           .flags = flags,
                           .priority = priority,
                           .next = device->streams};
    device->streams = stream;
    return stream;
}

void sim_stream_open(sim_device *device)
{
    device->default_stream = new_stream(device, 0, 0);
}

sim_stream *sim_stream_of(sim_device *device, cudaStream_t handle)
{
    if (handle == NULL || handle == cudaStreamLegacy || handle == cudaStreamPerThread)
        return device->default_stream;
    return handle->magic == STREAM_MAGIC && handle->device == device ? handle : NULL;
}

bool sim_stream_idle(const sim_stream *stream)
{
    return stream->head == NULL && !stream->busy;
}

/* ---- running ---- */

/* A number in [-1, 1) that depends on seed, GPU and the number of the operation only (splitmix64). */
static double noise(const sim_device *device)
{
    uint64_t x = sim_config_get()->seed + 0x9E3779B97F4A7C15ull * (device->operations + 1) +
                 ((uint64_t)device->unit.gpu << 48);

    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    x ^= x >> 31;
    return (double)(x >> 11) * 0x1p-52 - 1.0;
}

/* Called without the lock: other threads read the clock meanwhile. */
static void advance_clock(sim_device *device, const sim_op *op)
{
    double seconds, host;
    struct timespec wait;

    sim_lock();
    seconds = op->work.seconds * op->slow * (1.0 + sim_config_get()->noise * noise(device));
    device->clock_seconds += seconds;
    device->operations++;
    sim_unlock();
    host = seconds * sim_config_get()->pace;
    if (host <= 0)
        return;
    wait.tv_sec = (time_t)host;
    wait.tv_nsec = (long)((host - (double)wait.tv_sec) * 1e9);
    (void)nanosleep(&wait, NULL);
}

/* Writes into what the work made: one bit, or a NaN of the element's size. */
static void damage(sim_device *device, const sim_op *op)
{
    static const uint16_t half_nan = 0x7FFF; /* a NaN in float16 and in bfloat16 */
    static const uint32_t nan = 0x7FC00000;
    char *target;

    if (op->flip != NULL) {
        target = sim_memory_check(device, (const char *)op->work.output + op->flip->byte, 1, "flip fault");
        if (target != NULL)
            *target = (char)(*target ^ (1 << op->flip->bit));
    }
    if (op->nan != NULL) {
        const size_t bytes = op->work.element_bytes;

        target = sim_memory_check(device, (const char *)op->work.output + (size_t)op->nan->byte * bytes,
                                  bytes, "nan fault");
        if (target != NULL)
            memcpy(target, bytes == 2 ? (const void *)&half_nan : (const void *)&nan, bytes);
    }
}

/* The lock is not held: devices run at the same time, and a hang must not stop the others. */
static void execute(sim_device *device, const sim_op *op)
{
    cudaError_t error = cudaSuccess;

    if (op->end != NULL)
        error = (cudaError_t)op->end->code;
    else if (!sim_memory_guarded(op->work.run, op->work.argument))
        error = cudaErrorIllegalAddress;
    else
        damage(device, op);
    advance_clock(device, op);
    if (error == cudaSuccess)
        return;
    sim_say("device %d: %s ends with %d %s", device->unit.gpu, op->work.name, (int)error,
            cudaGetErrorName(error));
    sim_lock();
    sim_device_break(device, error);
    device->ecc_uncorrectable += error == cudaErrorECCUncorrectable;
    sim_unlock();
}

static void run_to_record(sim_event *event, uint64_t number);

static void run_first(sim_stream *stream)
{
    sim_device *device = stream->device;
    sim_op *op;

    while (stream->busy)
        sim_wait_change();
    op = stream->head;
    if (op == NULL)
        return;
    stream->busy = true;
    if (op->hang)
        sim_note_stuck();
    while (op->hang) /* for ever: nothing clears it; the lock is free for other threads meanwhile */
        sim_wait_change();
    if (op->kind == OP_WAIT) {
        run_to_record(op->event, op->number);
    } else if (op->kind == OP_RECORD) {
        op->event->seconds = device->clock_seconds;
        op->event->done = op->number;
    } else if (device->sticky == cudaSuccess) {
        sim_unlock();
        execute(device, op);
        sim_lock();
    }
    stream->head = op->next;
    if (stream->head == NULL)
        stream->tail = NULL;
    stream->busy = false;
    sim_notify_change();
    free(op->work.argument);
    free(op);
}

void sim_stream_run(sim_stream *stream)
{
    while (!sim_stream_idle(stream))
        run_first(stream);
    stream->queried = false;
}

void sim_stream_progress(sim_stream *stream)
{
    while (stream->head != NULL && !stream->busy && !stream->head->hang)
        run_first(stream);
}

static void run_to_record(sim_event *event, uint64_t number)
{
    while (event->done < number && !sim_stream_idle(event->stream))
        run_first(event->stream);
}

void sim_stream_run_to(sim_event *event)
{
    run_to_record(event, event->wanted);
    event->queried = false;
}

void sim_stream_run_device(sim_device *device)
{
    for (sim_stream *stream = device->streams; stream != NULL; stream = stream->next)
        sim_stream_run(stream);
}

/* ---- queueing ---- */

static void append(sim_stream *stream, sim_op *op)
{
    sim_device *device = stream->device;

    if (stream ==
        device->default_stream) { /* the legacy default stream waits for the others and they for it */
        for (sim_stream *other = device->streams; other != NULL; other = other->next)
            if (other != stream && (other->flags & cudaStreamNonBlocking) == 0)
                sim_stream_run(other);
    } else if ((stream->flags & cudaStreamNonBlocking) == 0) {
        sim_stream_run(device->default_stream);
    }
    if (stream->tail != NULL)
        stream->tail->next = op;
    else
        stream->head = op;
    stream->tail = op;
    if (sim_config_get()->eager)
        sim_stream_progress(stream);
}

/* Draws the faults of one piece of work. */
static void draw_faults(sim_op *op, int gpu)
{
    const sim_work_kind kind = op->work.kind;
    const sim_fault *slow;

    if (kind == SIM_WORK_KERNEL || kind == SIM_WORK_GEMM) {
        op->end = sim_fault_hit(SIM_FAULT_STICKY, gpu);
        if (op->end == NULL)
            op->end = sim_fault_hit(SIM_FAULT_ECC, gpu);
        op->hang = sim_fault_hit(SIM_FAULT_HANG, gpu) != NULL;
        slow = sim_fault_hit(SIM_FAULT_SLOW, gpu);
        op->slow = slow != NULL ? slow->factor : 1.0;
    }
    if (kind == SIM_WORK_GEMM) {
        op->flip = sim_fault_hit(SIM_FAULT_FLIP_GEMM, gpu);
        op->nan = sim_fault_hit(SIM_FAULT_NAN, gpu);
    }
    if (kind == SIM_WORK_UPLOAD)
        op->flip = sim_fault_hit(SIM_FAULT_FLIP_UPLOAD, gpu);
}

cudaError_t sim_stream_put(sim_device *device, cudaStream_t handle, sim_work work)
{
    sim_stream *stream = sim_stream_of(device, handle);
    sim_op *op;

    if (stream == NULL) {
        free(work.argument);
        return cudaErrorInvalidResourceHandle;
    }
    op = must_allocate(sizeof *op);
    *op = (sim_op){.kind = OP_WORK, .work = work, .slow = 1.0};
    draw_faults(op, device->unit.gpu);
    append(stream, op);
    return cudaSuccess;
}

cudaError_t sim_stream_put_record(sim_stream *stream, sim_event *event)
{
    static uint64_t records;
    sim_op *op = must_allocate(sizeof *op);

    event->wanted = ++records;
    event->stream = stream;
    event->queried = false;
    *op = (sim_op){.kind = OP_RECORD, .event = event, .number = event->wanted};
    append(stream, op);
    return cudaSuccess;
}

cudaError_t sim_stream_put_wait(sim_stream *stream, sim_event *event)
{
    sim_op *op;

    if (event->done >= event->wanted)
        return cudaSuccess;
    op = must_allocate(sizeof *op);
    *op = (sim_op){.kind = OP_WAIT, .event = event, .number = event->wanted};
    append(stream, op);
    return cudaSuccess;
}

/* ---- the API ---- */

static cudaError_t create(const char *call, cudaStream_t *stream, unsigned flags, int priority)
{
    sim_device *device;
    cudaError_t error = sim_enter(call, &device);

    if (error == cudaSuccess && (flags & ~(unsigned)cudaStreamNonBlocking) != 0)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        *stream = new_stream(device, flags, priority);
    if (error == cudaSuccess)
        sim_count(SIM_STREAM, 1);
    return sim_leave(error);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return create(__func__, stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    return create(__func__, stream, flags, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
    return create(__func__, stream, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t handle)
{
    sim_device *device;
    sim_stream *stream;
    const cudaError_t error = sim_enter(__func__, &device);

    if (error != cudaSuccess)
        return sim_leave(error);
    stream = handle != NULL ? sim_stream_of(device, handle) : NULL;
    if (stream == NULL || stream == device->default_stream)
        return sim_leave(cudaErrorInvalidResourceHandle);
    sim_stream_run(stream); /* the real one lets queued work end later: also an order that is allowed */
    for (sim_stream **link = &device->streams; *link != NULL; link = &(*link)->next) {
        if (*link == stream) {
            *link = stream->next;
            break;
        }
    }
    sim_count(SIM_STREAM, -1);
    stream->magic = 0; /* kept, not freed: a second use is an error and not a crash */
    stream->next = buried;
    buried = stream;
    return sim_leave(cudaSuccess);
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
    sim_device *device;
    sim_stream *stream;
    const cudaError_t error = sim_enter(__func__, &device);

    if (error != cudaSuccess)
        return sim_leave(error);
    stream = sim_stream_of(device, handle);
    if (stream == NULL)
        return sim_leave(cudaErrorInvalidResourceHandle);
    if (stream == device->default_stream)
        sim_stream_run_device(device);
    else
        sim_stream_run(stream);
    sim_pool_release_excess(device);
    return sim_leave(device->sticky);
}

/* The first question about unfinished work is answered "not ready"; the work runs at the next. */
cudaError_t cudaStreamQuery(cudaStream_t handle)
{
    sim_device *device;
    sim_stream *stream;
    const cudaError_t error = sim_enter(__func__, &device);

    if (error != cudaSuccess)
        return sim_leave(error);
    stream = sim_stream_of(device, handle);
    if (stream == NULL)
        return sim_leave(cudaErrorInvalidResourceHandle);
    if (stream->queried)
        sim_stream_progress(stream);
    stream->queried = !sim_stream_idle(stream);
    if (stream->queried)
        return sim_leave_quietly(cudaErrorNotReady);
    return sim_leave(device->sticky);
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned int *flags)
{
    sim_device *device;
    const cudaError_t error = sim_enter(__func__, &device);
    const sim_stream *stream = error == cudaSuccess ? sim_stream_of(device, handle) : NULL;

    if (error != cudaSuccess || stream == NULL)
        return sim_leave(error != cudaSuccess ? error : cudaErrorInvalidResourceHandle);
    *flags = stream->flags;
    return sim_leave(cudaSuccess);
}

typedef struct callback_work {
    cudaHostFn_t function;
    void *data;
} callback_work;

static void run_callback(void *argument)
{
    const callback_work *work = argument;

    work->function(work->data);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    sim_device *device;
    callback_work *work;
    const cudaError_t error = sim_enter(__func__, &device);

    if (error != cudaSuccess)
        return sim_leave(error);
    work = must_allocate(sizeof *work);
    *work = (callback_work){.function = function, .data = data};
    return sim_leave(sim_stream_put(
        device, stream, (sim_work){.name = "host function", .run = run_callback, .argument = work}));
}
