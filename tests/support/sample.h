/* Records with known content, for tests and benches. Values are plain arithmetic of rank and row. */
#ifndef GPULOT_TESTS_SAMPLE_H
#define GPULOT_TESTS_SAMPLE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/record.h"
#include "core/run.h"

static inline void sample_text(char *to, size_t size, const char *text)
{
    (void)lot_field_copy(to, size, text);
}

static inline void sample_phase(lot_record *record, const char *name, int64_t repeat, int64_t passes,
                                double seconds)
{
    const int64_t row = (int64_t)record->phase_count;
    lot_phase *phase = lot_record_add_phase(record);

    if (phase == NULL)
        abort();
    phase->rank = record->head.identity.rank;
    phase->row = row;
    sample_text(phase->phase, sizeof phase->phase, name);
    sample_text(phase->schedule, sizeof phase->schedule, "together");
    phase->repeat = repeat;
    phase->passes = passes;
    phase->start_seconds = 0.125 * (double)row;
    phase->host_seconds = seconds;
    phase->allocated_start_bytes = 1024 * row;
    phase->reserved_start_bytes = 2097152;
    phase->allocated_end_bytes = 1024 * row + 512;
    phase->reserved_end_bytes = 2097152;
    phase->allocated_peak_bytes = 1024 * row + 768;
    phase->reserved_peak_bytes = 2097152;
    if (passes > 0) {
        sample_text(phase->digest, sizeof phase->digest, "00112233aabbccdd");
        phase->digests_differing = 0;
        phase->finite = 1;
    }
}

/* A good record: the five phases with `repeats` warm rows of 0.001 * (rank + 1) + 1e-6 * repeat seconds. */
static inline void sample_record(lot_record *record, int64_t rank, int64_t size, int64_t repeats)
{
    lot_record_head *head = &record->head;
    char text[64];

    lot_record_init(record);
    head->identity.rank = rank;
    head->identity.size = size;
    sample_text(head->identity.run_id, sizeof head->identity.run_id, "sample-run-0001");
    sample_text(head->identity.label, sizeof head->identity.label, "sample");
    (void)snprintf(text, sizeof text, "node%02lld.example", (long long)(rank / 8));
    sample_text(head->identity.host, sizeof head->identity.host, text);
    head->identity.local_rank = rank % 8;
    head->identity.local_size = size < 8 ? size : 8;
    sample_text(head->identity.device_spec, sizeof head->identity.device_spec, "cuda:local");
    sample_text(head->environment.tool_version, sizeof head->environment.tool_version, "0.1.0");
    sample_text(head->device.kind, sizeof head->device.kind, "cuda");
    sample_text(head->device.name, sizeof head->device.name, "Sample GPU");
    (void)snprintf(text, sizeof text, "GPU-00000000-0000-0000-0000-%012llx", (unsigned long long)rank);
    sample_text(head->device.uuid, sizeof head->device.uuid, text);
    (void)snprintf(text, sizeof text, "0000:%02X:00.0", (unsigned)(rank % 8 + 1));
    sample_text(head->device.pci_address, sizeof head->device.pci_address, text);
    head->device.simulated = 0;
    head->device.memory_bytes = INT64_C(85899345920);
    head->synthetic_model.batch = 2;
    head->synthetic_model.context = 128;
    head->synthetic_model.width = 1024;
    head->synthetic_model.hidden = 4096;
    sample_text(head->synthetic_model.dtype, sizeof head->synthetic_model.dtype, "float32");
    sample_text(head->synthetic_model.gelu, sizeof head->synthetic_model.gelu, "erf");
    head->synthetic_model.warmup = 2;
    head->synthetic_model.repeats = repeats;
    head->synthetic_model.flops_per_forward = INT64_C(4294967296);
    sample_text(head->verification.digest, sizeof head->verification.digest, "00112233aabbccdd");
    head->verification.passes = repeats + 3;
    head->verification.digests_differing = 0;
    head->verification.nonfinite_passes = 0;
    head->verification.passed = 1;
    sample_text(head->outcome.status, sizeof head->outcome.status, "ok");
    sample_phase(record, "model_load", 0, 0, 0.5);
    sample_phase(record, "inputs", 0, 0, 0.25);
    sample_phase(record, "cold_forward", 0, 1, 0.125);
    sample_phase(record, "warmup", 0, 2, 0.0625);
    for (int64_t i = 0; i < repeats; i++)
        sample_phase(record, "warm_forward", i, 1, 0.001 * (double)(rank + 1) + 1e-6 * (double)i);
    lot_record_count(record);
}

static inline void sample_header(lot_run_header *header, int64_t ranks)
{
    lot_fields_clear(lot_run_header_fields(), header);
    sample_text(header->producer, sizeof header->producer, "gpulot 0.1.0");
    sample_text(header->created_utc, sizeof header->created_utc, "2026-09-24T12:34:56.789Z");
    sample_text(header->run_id, sizeof header->run_id, "sample-run-0001");
    sample_text(header->label, sizeof header->label, "sample");
    header->ranks = ranks;
    header->complete = 1;
    header->recovered = 0;
    header->simulated = 0;
    sample_text(header->ended_by, sizeof header->ended_by, "completed");
    header->elapsed_seconds = 1.5;
}

#endif
