#include <stdlib.h>

#include "sim_leaks.h"
#include "sim_pool.h"
#include "sim_stream.h"

#define EVENT_MAGIC 0x45564e54u

static sim_event *buried;

static bool is_event(const sim_event *event)
{
    return event != NULL && event->magic == EVENT_MAGIC;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    sim_device *device;
    const cudaError_t error = sim_enter(__func__, &device);
    const unsigned known = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    sim_event *made;

    if (error != cudaSuccess || (flags & ~known) != 0)
        return sim_leave(error != cudaSuccess ? error : cudaErrorInvalidValue);
    made = calloc(1, sizeof *made);
    if (made == NULL)
        abort();
    made->magic = EVENT_MAGIC;
    made->device = device;
    made->flags = flags;
    *event = made;
    sim_count(SIM_EVENT, 1);
    return sim_leave(cudaSuccess);
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

/* A handle goes also where the context is broken and the call says so. */
cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    sim_device *device;
    const cudaError_t error = sim_enter(__func__, &device);

    if (!is_event(event))
        return sim_leave(error != cudaSuccess ? error : cudaErrorInvalidResourceHandle);
    sim_count(SIM_EVENT, -1);
    event->magic = 0; /* kept, not freed: its record may still be queued, and a second use is an error */
    event->next = buried;
    buried = event;
    return sim_leave(error);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle)
{
    sim_device *device;
    sim_stream *stream;
    const cudaError_t error = sim_enter(__func__, &device);

    if (error != cudaSuccess)
        return sim_leave(error);
    stream = sim_stream_of(device, handle);
    if (stream == NULL || !is_event(event) || event->device != device)
        return sim_leave(cudaErrorInvalidResourceHandle);
    return sim_leave(sim_stream_put_record(stream, event));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t handle, unsigned int flags)
{
    (void)flags;
    return cudaEventRecord(event, handle);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned int flags)
{
    sim_device *device;
    sim_stream *stream;
    const cudaError_t error = sim_enter(__func__, &device);

    (void)flags;
    if (error != cudaSuccess)
        return sim_leave(error);
    stream = sim_stream_of(device, handle);
    if (stream == NULL || !is_event(event))
        return sim_leave(cudaErrorInvalidResourceHandle);
    return sim_leave(sim_stream_put_wait(stream, event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    sim_device *device;
    const cudaError_t error = sim_enter(__func__, &device);

    if (error != cudaSuccess)
        return sim_leave(error);
    if (!is_event(event))
        return sim_leave(cudaErrorInvalidResourceHandle);
    sim_stream_run_to(event);
    sim_pool_release_excess(event->device);
    return sim_leave(event->device->sticky);
}

/* As cudaStreamQuery: unfinished at the first question, run at the next. */
cudaError_t cudaEventQuery(cudaEvent_t event)
{
    sim_device *device;
    const cudaError_t error = sim_enter(__func__, &device);

    if (error != cudaSuccess)
        return sim_leave(error);
    if (!is_event(event))
        return sim_leave(cudaErrorInvalidResourceHandle);
    if (event->queried)
        sim_stream_progress(event->stream);
    event->queried = event->done < event->wanted;
    if (event->queried)
        return sim_leave_quietly(cudaErrorNotReady);
    return sim_leave(event->device->sticky);
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    sim_device *device;
    const cudaError_t error = sim_enter(__func__, &device);

    if (error != cudaSuccess)
        return sim_leave(error);
    if (!is_event(start) || !is_event(end) || start->wanted == 0 || end->wanted == 0 ||
        start->device != end->device || ((start->flags | end->flags) & cudaEventDisableTiming) != 0)
        return sim_leave(cudaErrorInvalidResourceHandle);
    if (start->done < start->wanted || end->done < end->wanted)
        return sim_leave_quietly(cudaErrorNotReady);
    *milliseconds = (float)((end->seconds - start->seconds) * 1e3);
    return sim_leave(cudaSuccess);
}
