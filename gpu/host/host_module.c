/* The table of the host device: this CPU, chosen on purpose and named as such. It computes with oneDNN, its
 * memory is the host's, and its work is done when a call returns. */
#include <errno.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/cpus.h"
#include "gpu/host/host_device.h"
#include "gpu/host/host_memory.h"
#include "gpu/host/host_primitive.h"
#include "gpu/host/host_values.h"
#include "gpu/threads.h"

#define EXPORTED    __attribute__((visibility("default")))
#define THREADS_MAX 4096

#define ROW(kind, field, bytes, unit, help)                                                                  \
    {#field,                                                                                                 \
     unit,                                                                                                   \
     help,                                                                                                   \
     LOT_KIND_##kind,                                                                                        \
     offsetof(lot_device_facts, field),                                                                      \
     sizeof(((lot_device_facts *)0)->field)},

static const lot_field device_fields[] = {LOT_DEVICE_FIELDS(ROW)};

/* What a CPU has not, and why. */
static const lot_absent absences[] = {
    {"device.nvml_index", "a CPU is not a GPU"},
    {"device.pci_address", "a CPU is not a PCI device"},
    {"device.mig_parent_uuid", "a CPU has no MIG slices"},
    {"device.serial", "not read on the host device"},
    {"device.compute_capability", "a CPU has none"},
    {"device.driver_version", "a CPU needs no driver"},
    {"device.driver_api_version", "a CPU needs no driver"},
    {"device.runtime_version", "the host device uses no CUDA runtime"},
    {"device.loading_mode", "oneDNN generates its kernels when a layer is planned"},
    {"device.vbios_version", "a CPU has none"},
    {"device.compute_mode", "a CPU has none"},
    {"device.persistence_mode", "a CPU has none"},
    {"device.ecc_enabled", "not read on the host device"},
    {"device.mig_enabled", "a CPU has no MIG slices"},
    {"device.mig_siblings", "a CPU has no MIG slices"},
    {"device.mps_active", "a CPU has no MPS"},
    {"device.foreign_processes", "every process on the host uses its CPUs"},
    {"device.power_limit_watts", "not read on the host device"},
    {"device.power_limit_default_watts", "not read on the host device"},
    {"device.sm_clock_max_mhz", "a CPU has no SMs"},
    {"device.memory_clock_max_mhz", "not read on the host device"},
    {"device.pcie_generation_max", "a CPU is not a PCI device"},
    {"device.pcie_width_max", "a CPU is not a PCI device"},
    {"device.ecc_corrected_total", "not read on the host device"},
    {"device.ecc_uncorrected_total", "not read on the host device"},
    {"device.remapped_rows_corrected", "a CPU has no row remapping"},
    {"device.remapped_rows_uncorrected", "a CPU has no row remapping"},
    {"device.remap_pending", "a CPU has no row remapping"},
    {"device.remap_failed", "a CPU has no row remapping"},
    {"telemetry", "the host device has none"},
};

#define ABSENCES (sizeof absences / sizeof absences[0])

static void library_version(char *text, size_t size)
{
    const dnnl_version_t *version = dnnl_version();

    (void)snprintf(text, size, "%d.%d.%d", version->major, version->minor, version->patch);
}

/* What can be said without opening the device. */
static void fill_facts(const lot_host_cpus *cpus, lot_device_facts *facts)
{
    static const lot_fields fields = {"device", device_fields, sizeof device_fields / sizeof device_fields[0],
                                      0, sizeof(lot_device_facts)};

    lot_fields_clear(&fields, facts);
    (void)lot_field_copy(facts->kind, sizeof facts->kind, "host");
    (void)lot_field_copy(facts->name, sizeof facts->name, cpus->model);
    facts->simulated = 0;
    facts->ordinal = 0;
    (void)lot_field_copy(facts->uuid, sizeof facts->uuid, cpus->uuid);
    facts->multiprocessors = cpus->count;
    facts->memory_bytes = lot_host_memory_read("").total_bytes;
    facts->l2_cache_bytes = cpus->l2_bytes;
    (void)lot_field_copy(facts->allocator, sizeof facts->allocator, "gpulot host pool");
    (void)lot_field_copy(facts->library, sizeof facts->library, "oneDNN");
    library_version(facts->library_version, sizeof facts->library_version);
    facts->numa_node = cpus->numa_node;
    (void)lot_field_copy(facts->cpu_list, sizeof facts->cpu_list, cpus->list);
}

static lot_status host_enumerate(lot_device_list *list, lot_error *error)
{
    lot_host_cpus cpus;
    const lot_status status = lot_host_cpus_read(&cpus, error);

    if (status != LOT_OK)
        return status;
    memset(list, 0, sizeof *list);
    list->count = 1;
    fill_facts(&cpus, &list->devices[0]);
    library_version(list->library_version, sizeof list->library_version);
    return LOT_OK;
}

/* Sets the threads that this module and oneDNN compute with: both take OpenMP's number for the calling
 * thread. */
static lot_status set_threads(lot_device *device, int wanted, lot_error *error)
{
    const int limit = omp_get_thread_limit();

    if (wanted > THREADS_MAX)
        return lot_error_set(error, LOT_USAGE, "open", wanted, "%d threads are more than the %d allowed",
                             wanted, THREADS_MAX);
    device->threads = wanted > 0 ? wanted : lot_cpus_usable("");
    if (device->threads > limit)
        device->threads = limit;
    omp_set_num_threads(device->threads);
    return LOT_OK;
}

/* What the smallest allocation costs, seen on a pool of its own. */
static lot_status measure_pool(lot_device *device, lot_error *error)
{
    lot_host_pool *pool = NULL;
    void *pointer = NULL;
    lot_counters counters;
    lot_status status = lot_host_pool_create("", &pool, error);

    if (status == LOT_OK)
        status = lot_host_pool_alloc(pool, 1, &pointer, error);
    if (status == LOT_OK) {
        lot_host_pool_counters(pool, &counters);
        device->granularity_bytes = counters.allocated_bytes;
        device->reserve_step_bytes = counters.reserved_bytes;
    }
    lot_host_pool_destroy(pool);
    return status;
}

static void host_close(lot_device *device)
{
    if (device == NULL)
        return;
    while (device->plans != NULL)
        lot_host_plan_free(device, device->plans);
    lot_host_pool_destroy(device->pool);
    if (device->stream != NULL)
        (void)dnnl_stream_destroy(device->stream);
    if (device->engine != NULL)
        (void)dnnl_engine_destroy(device->engine);
    /* Ends the team's threads, which would wait for more work. */
    (void)omp_pause_resource_all(omp_pause_hard);
    free(device);
}

/* Address space that must be free: oneDNN maps up to 32 MiB beside the pool, as far as was seen, and each
 * arena that the C library makes for a thread meanwhile takes 64 MiB. */
#define ROOM_BYTES ((size_t)256 << 20)

/* Whether there is address space for the library and for the stacks of the threads beside the calling one.
 * Where a limit leaves less, oneDNN returns no error: it ends the process. */
static lot_status check_room(const lot_device *device, lot_error *error)
{
    const size_t bytes = ROOM_BYTES + (size_t)(device->threads - 1) * lot_threads_stack();
    void *room = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (room == MAP_FAILED)
        return lot_error_set(
            error, LOT_TOO_LARGE, "mmap", errno,
            "the host device needs %zu MiB of address space beside its threads, more than the limit on "
            "this process leaves (ulimit -v)",
            ROOM_BYTES >> 20);
    (void)munmap(room, bytes);
    return LOT_OK;
}

static lot_status open_library(lot_device *device, lot_error *error)
{
    dnnl_status_t code = dnnl_engine_create(&device->engine, dnnl_cpu, 0);

    if (code != dnnl_success)
        return lot_host_dnnl_error(error, "dnnl_engine_create", code);
    code = dnnl_stream_create(&device->stream, device->engine, dnnl_stream_default_flags);
    return code == dnnl_success ? LOT_OK : lot_host_dnnl_error(error, "dnnl_stream_create", code);
}

static lot_status host_open(const lot_device_options *options, lot_device **device, lot_error *error)
{
    lot_device *made;
    lot_status status;

    if (options->ordinal != 0)
        return lot_error_set(error, LOT_NO_DEVICE, "open", options->ordinal,
                             "there is one host device, 0, and no %d", options->ordinal);
    made = calloc(1, sizeof *made);
    if (made == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", ENOMEM, "no memory for the device");
    status = lot_host_cpus_read(&made->cpus, error);
    if (status == LOT_OK)
        status = set_threads(made, options->threads, error);
    if (status == LOT_OK)
        status = lot_threads_try(made->threads, error);
    if (status == LOT_OK)
        status = check_room(made, error); /* after the threads, whose arenas stay */
    if (status == LOT_OK)
        status = measure_pool(made, error);
    if (status == LOT_OK)
        status = lot_host_pool_create("", &made->pool, error);
    if (status == LOT_OK)
        status = open_library(made, error);
    if (status != LOT_OK) {
        host_close(made);
        return status;
    }
    *device = made;
    return LOT_OK;
}

static lot_status host_describe(lot_device *device, lot_device_facts *facts, lot_absent *absent,
                                size_t capacity, size_t *absent_count, lot_error *error)
{
    size_t count = 0;

    (void)error;
    fill_facts(&device->cpus, facts);
    facts->threads = device->threads;
    facts->granularity_bytes = device->granularity_bytes;
    facts->reserve_step_bytes = device->reserve_step_bytes;
    for (size_t i = 0; i < ABSENCES && count < capacity; i++)
        absent[count++] = absences[i];
    if (facts->l2_cache_bytes < 0 && count < capacity)
        absent[count++] = (lot_absent){"device.l2_cache_bytes", "the system does not say"};
    if (facts->numa_node < 0 && count < capacity)
        absent[count++] =
            (lot_absent){"device.numa_node", "the CPUs belong to several nodes, or none is named"};
    *absent_count = count;
    return LOT_OK;
}

static lot_status host_alloc(lot_device *device, int64_t bytes, void **pointer, lot_error *error)
{
    return lot_host_pool_alloc(device->pool, bytes, pointer, error);
}

static void host_free(lot_device *device, void *pointer)
{
    lot_host_pool_free(device->pool, pointer);
}

/* Device memory is host memory: both directions are one copy. */
static lot_status host_copy(lot_device *device, void *to, const void *from, int64_t bytes, lot_error *error)
{
    (void)device, (void)error;
    memcpy(to, from, (size_t)bytes);
    return LOT_OK;
}

/* Host and device are the same CPUs and the same memory: build and fill are one, with no copy in between. */
static lot_status host_fill(lot_device *device, void *to, const lot_fill *fill, lot_error *error)
{
    (void)error;
    lot_host_values_fill(to, fill, device->threads);
    return LOT_OK;
}

static lot_status host_digest(lot_device *device, const void *pointer, int64_t bytes, lot_dtype dtype,
                              uint64_t *digest, int *finite, lot_error *error)
{
    (void)error;
    lot_host_values_digest(pointer, bytes, dtype, device->threads, digest, finite);
    return LOT_OK;
}

static lot_status host_compare(lot_device *device, const void *a, const void *b, int64_t count,
                               lot_dtype dtype, int64_t *differing, int64_t *first, lot_error *error)
{
    (void)error;
    lot_host_values_compare(a, b, count, dtype, device->threads, differing, first);
    return LOT_OK;
}

static lot_status host_sync(lot_device *device, lot_error *error)
{
    const dnnl_status_t code = dnnl_stream_wait(device->stream);

    return code == dnnl_success ? LOT_OK : lot_host_dnnl_error(error, "dnnl_stream_wait", code);
}

static lot_status host_counters(lot_device *device, lot_counters *counters, lot_error *error)
{
    (void)error;
    lot_host_pool_counters(device->pool, counters);
    return LOT_OK;
}

static lot_status host_reset_peaks(lot_device *device, lot_error *error)
{
    (void)error;
    lot_host_pool_reset_peaks(device->pool);
    return LOT_OK;
}

/* The machine's memory less what can still be taken. */
static lot_status host_memory_used(lot_device *device, int64_t *bytes, lot_error *error)
{
    const lot_host_memory memory = lot_host_memory_read("");

    (void)device;
    if (memory.total_bytes <= 0)
        return lot_error_set(error, LOT_UNSUPPORTED, "/proc/meminfo", 0,
                             "the system does not say what is in use");
    *bytes = memory.total_bytes - memory.available_bytes;
    return LOT_OK;
}

EXPORTED extern const lot_device_module lot_device_table;

const lot_device_module lot_device_table = {
    .abi = LOT_DEVICE_ABI,
    .size = sizeof(lot_device_module),
    .name = "host",
    .enumerate = host_enumerate,
    .open = host_open,
    .close = host_close,
    .describe = host_describe,
    .supports = lot_host_supports,
    .alloc = host_alloc,
    .free = host_free,
    .upload = host_copy,
    .download = host_copy,
    .build = host_fill,
    .fill = host_fill,
    .plan = lot_host_plan,
    .plan_free = lot_host_plan_free,
    .run = lot_host_run,
    .digest = host_digest,
    .sync = host_sync,
    .counters = host_counters,
    .reset_peaks = host_reset_peaks,
    .memory_used = host_memory_used,
    .compare = host_compare,
};
