#include "sim_core.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sim_leaks.h"
#include "sim_memory.h"
#include "sim_pool.h"
#include "sim_stream.h"

const char gpulot_cudasim[] = "simulated CUDA runtime for tests: nothing here measures a GPU";

static sim_device devices[SIM_MAX_UNITS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static _Thread_local int current_ordinal;
static int log_file = -1;
static atomic_bool stuck;

void sim_say(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)fprintf(stderr, "gpulot-cudasim: ");
    (void)vfprintf(stderr, format, arguments);
    (void)fprintf(stderr, "\n");
    va_end(arguments);
}

/* ---- loading and unloading ---- */

static void open_log(const char *path)
{
    log_file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (log_file < 0)
        sim_config_die("%sLOG=%s: cannot be opened", SIM_PREFIX, path);
}

__attribute__((constructor)) static void loaded(void)
{
    const sim_config *config = sim_config_get();

    for (int i = 0; i < SIM_MAX_UNITS; i++)
        devices[i].index = -1;
    sim_fault_load();
    if (config->log_path != NULL)
        open_log(config->log_path);
    if (config->gpu_count == 0) {
        if (!config->quiet)
            sim_say("no %sDEVICES: acting as a machine without a driver", SIM_PREFIX);
        return;
    }
    if (access("/dev/nvidiactl", F_OK) == 0 && !config->force) {
        sim_say("a real NVIDIA driver is present: refusing to simulate");
        _exit(SIM_EXIT_REFUSED);
    }
    if (!config->quiet)
        sim_say("SIMULATED CUDA devices: no number of this process measures a GPU");
}

__attribute__((destructor)) static void unloaded(void)
{
    int context = 1;
    int left = 0;

    while (atomic_load(&stuck)) /* a real driver waits here for the thread and the work that it still has */
        (void)pause();
    sim_fault_report();
    if (!sim_config_get()->leaks)
        return;
    for (int i = 0; i < SIM_MAX_UNITS; i++) {
        if (!devices[i].ready)
            continue;
        if (devices[i].sticky == cudaSuccess)
            left += sim_memory_report_leaks(&devices[i]);
        else
            context = 0;
    }
    left += sim_report_left(context);
    if (left == 0)
        return;
    (void)fflush(NULL);
    _exit(SIM_EXIT_LEAKS);
}

/* ---- log and lock ---- */

void sim_note_stuck(void)
{
    atomic_store(&stuck, true);
}

static void write_log(const char *call)
{
    struct timespec now;
    char line[160];
    int length;

    if (log_file < 0)
        return;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    length = snprintf(line, sizeof line, "%lld.%09ld rank %d thread %ld %s\n", (long long)now.tv_sec,
                      now.tv_nsec, sim_config_get()->rank, (long)syscall(SYS_gettid), call);
    if (length > 0 && write(log_file, line, (size_t)length) != length)
        sim_config_die("the call log cannot be written");
}

void sim_call(const char *call)
{
    write_log(call);
    if (sim_fault_hit_call(call) == NULL)
        return;
    sim_note_stuck();
    for (;;)
        (void)pause();
}

void sim_lock(void)
{
    (void)pthread_mutex_lock(&lock);
}

void sim_unlock(void)
{
    (void)pthread_mutex_unlock(&lock);
}

void sim_wait_change(void)
{
    (void)pthread_cond_wait(&change, &lock);
}

void sim_notify_change(void)
{
    (void)pthread_cond_broadcast(&change);
}

/* ---- devices ---- */

sim_device *sim_device_of_unit(int unit)
{
    sim_device *device = &devices[unit];

    if (device->index < 0) {
        device->index = unit;
        device->unit = sim_config_get()->units[unit];
    }
    return device;
}

sim_device *sim_device_at(int ordinal)
{
    const sim_config *config = sim_config_get();

    if (ordinal < 0 || ordinal >= config->visible_count)
        return NULL;
    return sim_device_of_unit(config->visible[ordinal]);
}

cudaError_t sim_device_ready(sim_device *device)
{
    const sim_fault *busy;

    if (device->ready)
        return cudaSuccess;
    sim_fault_arm(device->unit.gpu);
    busy = sim_fault_hit(SIM_FAULT_BUSY, device->unit.gpu);
    if (busy != NULL)
        return (cudaError_t)busy->code;
    (void)dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL); /* beside this library; stays loaded */
    device->context_bytes = SIM_CONTEXT_BYTES;
    sim_memory_open(device);
    sim_pool_open(device);
    sim_stream_open(device);
    device->ready = true;
    return cudaSuccess;
}

int sim_current_ordinal(void)
{
    return current_ordinal;
}

void sim_set_current_ordinal(int ordinal)
{
    current_ordinal = ordinal;
}

void sim_device_break(sim_device *device, cudaError_t error)
{
    if (device->sticky == cudaSuccess)
        device->sticky = error;
}

uint64_t sim_device_used_bytes(const sim_device *device)
{
    return device->context_bytes + device->direct_bytes + sim_pool_reserved_bytes(device);
}

/* ---- entering and leaving ---- */

cudaError_t sim_enter_driver(const char *call)
{
    const sim_fault *fault;

    sim_call(call);
    sim_lock();
    if (sim_config_get()->gpu_count == 0)
        return cudaErrorInsufficientDriver;
    fault = sim_fault_hit(SIM_FAULT_DRIVER, -1);
    return fault != NULL ? (cudaError_t)fault->code : cudaSuccess;
}

cudaError_t sim_enter(const char *call, sim_device **device)
{
    cudaError_t error = sim_enter_driver(call);
    sim_device *found;
    const sim_fault *lost;

    if (error != cudaSuccess)
        return error;
    found = sim_device_at(current_ordinal);
    if (found == NULL)
        return cudaErrorNoDevice;
    error = sim_device_ready(found);
    if (error != cudaSuccess)
        return error;
    lost = sim_fault_hit(SIM_FAULT_LOST, found->unit.gpu);
    if (lost != NULL) {
        found->lost = true;
        sim_device_break(found, (cudaError_t)lost->code);
    }
    *device = found;
    return found->sticky;
}

cudaError_t sim_leave_quietly(cudaError_t error)
{
    sim_unlock();
    return error;
}

cudaError_t sim_leave(cudaError_t error)
{
    sim_error_note(error);
    return sim_leave_quietly(error);
}
