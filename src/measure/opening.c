/* How a rank opens its device, and what it then knows of the CPUs that it runs on. */
#include <string.h>

#include "core/clock.h"
#include "core/cpus.h"
#include "measure/host.h"
#include "measure/numa.h"
#include "measure/protocol.h"
#include "measure/rows.h"

#define ABSENT_MAX     64
#define CPU_LIST_BYTES 4096

static lot_status note_absent(lot_record *record, const lot_absent *absent, size_t count, lot_error *error)
{
    for (size_t i = 0; i < count; i++) {
        lot_absent *added = lot_record_add_absent(record);

        if (added == NULL)
            return lot_error_set(error, LOT_MEMORY, "realloc", 0,
                                 "no memory for the reasons of absent values");
        *added = absent[i];
    }
    return LOT_OK;
}

/* Whether the launcher gave this rank CPUs of its own. Those that all ranks of a host have in common are the
 * job's. One rank alone, and as long as the others' are not known, has its own. */
static int bound_by_launcher(const lot_open_request *request)
{
    const lot_environment *host = &request->protocol->record->head.environment;

    return host->cpus_bound > 0 && host->cpus_bound < host->cpus_online &&
           (request->ranks <= 1 || request->alike < request->ranks);
}

/* CPUs near the device that enumerate found, before it is opened: threads and page-locked buffers that a
 * module makes then are near it too. */
static void bind_cpus(const lot_open_request *request)
{
    lot_protocol *p = request->protocol;
    lot_device_facts *facts = &p->record->head.device;
    const int by_launcher = bound_by_launcher(request);
    int moved = 0;

    lot_worker_lock(p->worker);
    if (facts->pci_address[0] != '\0') {
        const int64_t node = lot_host_near_node(facts->pci_address);

        if (node >= 0)
            facts->numa_node = node;
        if (!p->config->no_numa && !by_launcher)
            moved = lot_host_move_near(facts->pci_address);
    }
    (void)lot_field_copy(facts->binding, sizeof facts->binding,
                         moved         ? "gpulot"
                         : by_launcher ? "launcher"
                                       : "none");
    (void)lot_host_cpus(facts->cpu_list, sizeof facts->cpu_list);
    lot_worker_unlock(p->worker);
}

static lot_status describe(lot_protocol *p, lot_error *error)
{
    lot_absent absent[ABSENT_MAX];
    const lot_device_facts bound = p->record->head.device;
    lot_device_facts facts = bound;
    size_t count = 0;
    lot_status status = p->module->describe(p->device, &facts, absent, ABSENT_MAX, &count, error);

    if (status != LOT_OK)
        return status;
    memcpy(facts.binding, bound.binding, sizeof facts.binding);
    memcpy(facts.cpu_list, bound.cpu_list, sizeof facts.cpu_list);
    if (bound.numa_node >= 0)
        facts.numa_node = bound.numa_node;
    lot_worker_lock(p->worker);
    p->record->head.device = facts;
    status = note_absent(p->record, absent, count, error);
    lot_worker_unlock(p->worker);
    return status;
}

lot_status lot_protocol_settle(void *context, lot_error *error)
{
    const lot_open_request *request = context;
    lot_protocol *p = request->protocol;
    lot_device_facts *facts = &p->record->head.device;
    lot_absent absent[LOT_NUMA_ABSENT_MAX];
    char cpus[CPU_LIST_BYTES];
    size_t count;
    lot_status status;

    if (strcmp(facts->binding, "launcher") == 0 && !bound_by_launcher(request))
        bind_cpus(request);
    (void)lot_host_cpus(cpus, sizeof cpus);
    lot_worker_lock(p->worker);
    count = lot_numa_read(&lot_numa_system, cpus, facts->numa_node, &p->record->head.environment, absent);
    status = note_absent(p->record, absent, count, error);
    lot_worker_unlock(p->worker);
    return status;
}

/* Threads that compute, or that build weights for a GPU: what was asked for, else this rank's part of the
 * CPUs that it shares with other ranks of its host, all of which load at the same time; 0 where it has them
 * to itself, as far as is known: the device counts them. */
static int threads_wanted(const lot_open_request *request)
{
    const lot_protocol *p = request->protocol;
    const lot_environment *host = &p->record->head.environment;
    const int sharers = host->cpus_bound < host->cpus_online ? request->alike : request->ranks;
    int usable;

    if (p->config->threads > 0 || sharers <= 1)
        return (int)p->config->threads;
    usable = lot_cpus_usable("");
    return usable > sharers ? usable / sharers : 1;
}

lot_status lot_protocol_list(void *context, lot_error *error)
{
    const lot_list_request *request = context;

    return request->module->enumerate(request->list, error);
}

lot_status lot_protocol_open(void *context, lot_error *error)
{
    const lot_open_request *request = context;
    lot_protocol *p = request->protocol;
    const lot_device_options options = {.ordinal = request->ordinal,
                                        .threads = threads_wanted(request),
                                        .tune_candidates = (int)p->config->tune,
                                        .telemetry_hz = (int)p->config->telemetry_hz};
    const double began = lot_clock_seconds();
    lot_status status;

    p->at = "device_open";
    p->sharing = request->sharing;
    p->module = request->module;
    bind_cpus(request);
    status = p->module->open(&options, &p->device, error);
    if (status == LOT_OK)
        status = describe(p, error);
    if (status == LOT_OK)
        status =
            p->module->supports(p->device, (lot_dtype)p->config->dtype, (lot_math)p->config->math, error);
    if (status == LOT_OK)
        status = lot_workload_fits(&p->record->head.synthetic_model, p->record->head.device.memory_bytes,
                                   request->sharing, error);
    if (status == LOT_OK && p->config->cold_l2 && p->module->flush_cache == NULL)
        status = lot_error_set(error, LOT_UNSUPPORTED, "--cold-l2", 0,
                               "--cold-l2: the device %s has no way to do it", p->module->name);
    if (status == LOT_OK)
        status = lot_rows_step(p, p->at, began, error);
    if (status != LOT_OK)
        return status;
    p->runner = (lot_runner){p->module, p->device, p->epoch_seconds};
    lot_workload_init(&p->workload, p->config, p->module, p->device);
    return LOT_OK;
}
