#include "support/synthetic_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats.h"

#define GPUS_A_HOST 8

double synthetic_uniform(synthetic_random *random)
{
    uint64_t z = random->state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    return ((double)(z >> 11) + 0.5) / 9007199254740992.0;
}

/* Box and Muller, 1958. */
double synthetic_normal(synthetic_random *random)
{
    const double radius = sqrt(-2 * log(synthetic_uniform(random)));

    return radius * cos(6.28318530717958647693 * synthetic_uniform(random));
}

static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

static void text(char *field, size_t size, const char *value)
{
    if (!lot_field_copy(field, size, value))
        abort();
}

#define TEXT(field, value) text(field, sizeof(field), value)

static void fill_device(lot_device_facts *d, size_t gpu)
{
    TEXT(d->kind, "cuda");
    TEXT(d->name, "NVIDIA H200");
    (void)snprintf(d->uuid, sizeof d->uuid, "GPU-00000000-0000-0000-0000-%012zu",
                   (gpu * 7919 + 17) % 1000003);
    (void)snprintf(d->pci_address, sizeof d->pci_address, "0000:%02zX:00.0", gpu % GPUS_A_HOST + 16);
    d->simulated = 0;
    d->multiprocessors = 132;
    d->memory_bytes = INT64_C(150000000000);
    TEXT(d->driver_version, "570.86.15");
    TEXT(d->runtime_version, "12.8");
    TEXT(d->library, "cuBLASLt");
    TEXT(d->library_version, "12.8.4");
    TEXT(d->vbios_version, "96.00.99.00.01");
    TEXT(d->compute_mode, "default");
    d->persistence_mode = d->ecc_enabled = 1;
    d->mig_enabled = d->mps_active = d->remap_pending = d->remap_failed = 0;
    d->foreign_processes = 0;
    d->power_limit_watts = d->power_limit_default_watts = 700;
    d->sm_clock_max_mhz = 1980;
    d->memory_clock_max_mhz = 3201;
    d->pcie_generation_max = 5;
    d->pcie_width_max = 16;
}

static void fill_head(lot_record_head *h, size_t gpu, size_t gpus, int64_t repeats, double seconds)
{
    lot_model *m = &h->synthetic_model;
    lot_verification *v = &h->verification;

    h->identity.rank = (int64_t)gpu;
    h->identity.size = (int64_t)gpus;
    TEXT(h->identity.run_id, "synthetic");
    (void)snprintf(h->identity.host, sizeof h->identity.host, "node%04zu", gpu / GPUS_A_HOST);
    TEXT(h->environment.kernel, "6.1.0");
    TEXT(h->environment.cpu_model, "a processor");
    h->environment.cpus_bound = 12;
    h->environment.cpus_online = 96;
    fill_device(&h->device, gpu);
    TEXT(m->dtype, "bfloat16");
    TEXT(m->math, "ieee");
    TEXT(m->gelu, "erf");
    m->batch = 8;
    m->context = 2048;
    m->width = 4096;
    m->hidden = 16384;
    m->seed = 1;
    m->warmup = 3;
    m->repeats = repeats;
    m->flops_per_forward = 4 * m->batch * m->context * m->width * m->hidden;
    TEXT(h->layer_1.algorithm, "algo 1");
    TEXT(h->layer_2.algorithm, "algo 2");
    TEXT(v->digest, "0123456789abcdef");
    v->passes = repeats + 4;
    v->digests_differing = v->nonfinite_passes = 0;
    v->reference_rows = 4;
    v->reference_max_relative_error = 1e-4;
    v->reference_max_bound_ratio = 0.1;
    v->reference_passed = v->passed = 1;
    TEXT(h->outcome.status, "ok");
    h->outcome.warm_rows = repeats;
    h->outcome.elapsed_seconds = 10 + seconds;
}

static void fill_row(lot_phase *p, const lot_record_head *head, size_t row, const char *phase, int64_t repeat,
                     double seconds)
{
    lot_fields_clear(lot_phase_fields(), p);
    lot_fields_clear(lot_telemetry_fields(), p);
    p->rank = head->identity.rank;
    p->row = (int64_t)row;
    TEXT(p->phase, phase);
    TEXT(p->schedule, "together");
    p->repeat = repeat;
    p->host_seconds = seconds * 1.01;
    p->device_seconds = seconds;
    p->allocated_start_bytes = p->allocated_end_bytes = p->allocated_peak_bytes = INT64_C(3000000000);
    p->reserved_start_bytes = p->reserved_end_bytes = p->reserved_peak_bytes = INT64_C(3200000000);
    if (strcmp(phase, "model_load") == 0 || strcmp(phase, "inputs") == 0)
        return;
    p->passes = 1;
    TEXT(p->digest, head->verification.digest);
    p->digests_differing = 0;
    p->finite = 1;
}

static size_t rows_of_one(int64_t repeats, int all_phases)
{
    return (size_t)repeats + (all_phases ? 4 : 0);
}

void synthetic_run_make(lot_run *run, size_t gpus, int64_t repeats, double seconds, int all_phases)
{
    static const char *const phases[] = {"model_load", "inputs", "cold_forward", "warmup"};
    lot_error error;
    size_t at = 0;

    lot_run_init(run);
    TEXT(run->header.run_id, "synthetic");
    TEXT(run->header.producer, "gpulot synthetic");
    TEXT(run->header.created_utc, "2026-01-01T00:00:00.000Z");
    run->header.ranks = (int64_t)gpus;
    run->header.complete = 1;
    run->header.simulated = run->header.recovered = 0;
    run->header.elapsed_seconds = 12;
    TEXT(run->header.ended_by, "completed");
    run->device_count = gpus;
    run->phase_count = gpus * rows_of_one(repeats, all_phases);
    run->devices = must(calloc(gpus + 1, sizeof *run->devices));
    run->phases = must(calloc(run->phase_count + 1, sizeof *run->phases));
    for (size_t i = 0; i < gpus; i++) {
        lot_record record;
        size_t row = 0;

        lot_record_init(&record);
        fill_head(&record.head, i, gpus, repeats, seconds);
        record.head.outcome.phase_rows = (int64_t)rows_of_one(repeats, all_phases);
        run->devices[i] = record.head;
        for (size_t k = 0; all_phases && k < 4; k++, row++)
            fill_row(&run->phases[at++], &record.head, row, phases[k], 0, seconds * 1.5);
        for (int64_t k = 0; k < repeats; k++, row++)
            fill_row(&run->phases[at++], &record.head, row, "warm_forward", k, seconds);
    }
    if (lot_run_index(run, &error) != LOT_OK)
        abort();
}

lot_phase *synthetic_run_rows(lot_run *run, size_t gpu, size_t *count)
{
    *count = run->first_phase[gpu + 1] - run->first_phase[gpu];
    return &run->phases[run->first_phase[gpu]];
}

lot_phase *synthetic_run_warm(lot_run *run, size_t gpu, size_t k)
{
    size_t count;
    lot_phase *rows = synthetic_run_rows(run, gpu, &count);

    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].phase, "warm_forward") == 0 && k-- == 0)
            return &rows[i];
    abort();
}

static void scale(lot_phase *row, double seconds)
{
    row->device_seconds = seconds;
    row->host_seconds = seconds * 1.01;
}

void synthetic_run_draw_one(lot_run *run, size_t gpu, synthetic_random *random, double seconds, double spread,
                            double noise)
{
    const double own = seconds * exp(spread * synthetic_normal(random));
    size_t count;
    lot_phase *rows = synthetic_run_rows(run, gpu, &count);

    for (size_t k = 0; k < count; k++)
        if (strcmp(rows[k].phase, "warm_forward") == 0)
            scale(&rows[k], own * exp(noise * synthetic_normal(random)));
}

void synthetic_run_draw(lot_run *run, synthetic_random *random, double seconds, double spread, double noise)
{
    for (size_t i = 0; i < run->device_count; i++)
        synthetic_run_draw_one(run, i, random, seconds, spread, noise);
}

void synthetic_run_slow(lot_run *run, size_t gpu, double share)
{
    size_t count;
    lot_phase *rows = synthetic_run_rows(run, gpu, &count);

    for (size_t k = 0; k < count; k++)
        scale(&rows[k], rows[k].device_seconds / (1 - share));
}

lot_phase *synthetic_run_append(lot_run *run, size_t gpu, const char *phase, const char *schedule,
                                size_t count)
{
    const size_t end = run->first_phase[gpu + 1];
    lot_phase *grown = must(realloc(run->phases, (run->phase_count + count + 1) * sizeof *grown));
    lot_error error;

    run->phases = grown;
    memmove(&grown[end + count], &grown[end], (run->phase_count - end) * sizeof *grown);
    for (size_t k = 0; k < count; k++) {
        grown[end + k] = grown[end - 1];
        grown[end + k].row = grown[end - 1].row + (int64_t)k + 1;
        grown[end + k].repeat = (int64_t)k;
        TEXT(grown[end + k].phase, phase);
        TEXT(grown[end + k].schedule, schedule);
    }
    run->phase_count += count;
    if (lot_run_index(run, &error) != LOT_OK)
        abort();
    return &grown[end];
}

void synthetic_run_permute(lot_run *run, const size_t *order, int keep_numbers)
{
    lot_record_head *devices = must(calloc(run->device_count + 1, sizeof *devices));
    lot_phase *phases = must(calloc(run->phase_count + 1, sizeof *phases));
    lot_error error;
    size_t at = 0;

    for (size_t i = 0; i < run->device_count; i++) {
        size_t count;
        const lot_phase *rows = synthetic_run_rows(run, order[i], &count);

        devices[i] = run->devices[order[i]];
        if (!keep_numbers)
            devices[i].identity.rank = (int64_t)i;
        for (size_t k = 0; k < count; k++) {
            phases[at] = rows[k];
            phases[at++].rank = devices[i].identity.rank;
        }
    }
    free(run->devices);
    free(run->phases);
    run->devices = devices;
    run->phases = phases;
    if (lot_run_index(run, &error) != LOT_OK)
        abort();
}

void synthetic_run_observe(const lot_run *run, lot_observed_run *observed)
{
    observed->header = run->header;
    for (size_t i = 0; i < run->device_count; i++) {
        const size_t first = run->first_phase[i];
        lot_error error;

        if (lot_observed_add(observed, &run->devices[i], &run->phases[first], run->first_phase[i + 1] - first,
                             &error) != LOT_OK)
            abort();
    }
}

double synthetic_mad(const double *values, size_t count)
{
    const double middle = lot_stats_median(values, count);
    double *distances, result;

    if (isnan(middle) || (distances = malloc(count * sizeof *distances)) == NULL)
        return NAN;
    for (size_t i = 0; i < count; i++)
        distances[i] = fabs(values[i] - middle);
    result = lot_stats_median(distances, count);
    free(distances);
    return result;
}
