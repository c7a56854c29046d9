/* Writes an archive of known content, for the command-line cases:
 *
 *     sample_archive OUT.h5 RANKS REPEATS [KINDS]
 *
 * KINDS, with commas between them: plain (default); simulated; host (a CPU); known (an H100 SXM beyond doubt,
 * with device times); failed (rank 1 ran out of memory and its error names rank 0's host); equal (all as fast
 * as rank 0 and verified against the reference: every GPU is ok); second (the run of another lot, with GPUs
 * of its own); again (another run over the same GPUs); later (a third run over them, every time a quarter
 * longer); untimed (repeats without a time); hostile (texts that would write to a terminal what they like).
 * sample_archive --spool DIR RANKS REPEATS writes the folder that an interrupted run leaves instead: the last
 * rank has no end, rank 1 no file.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/options.h"
#include "io/archive_h5.h"
#include "io/record_json.h"
#include "io/spool.h"
#include "support/sample.h"

static void must(lot_status status, const lot_error *error)
{
    if (status == LOT_OK)
        return;
    (void)fprintf(stderr, "sample_archive: %s\n", error->text);
    exit(3);
}

static void make_known(lot_record *record)
{
    lot_device_facts *device = &record->head.device;

    sample_text(device->name, sizeof device->name, "NVIDIA H100 80GB HBM3");
    sample_text(device->compute_capability, sizeof device->compute_capability, "9.0");
    device->multiprocessors = 132;
    device->memory_bytes = INT64_C(85520809984);
    device->power_limit_default_watts = 700;
    device->sm_clock_max_mhz = 1980;
    for (size_t i = 0; i < record->phase_count; i++) {
        record->phases[i].device_seconds = 1e-4;
        record->phases[i].telemetry.sm_clock_mhz = 1755;
    }
    lot_record_count(record);
}

/* Whether `kind` is one of the words of `kinds`. */
static bool is_kind(const char *kinds, const char *kind)
{
    const size_t length = strlen(kind);

    for (const char *at = kinds; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, kind, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

static void make_equal(lot_record *record)
{
    lot_verification *v = &record->head.verification;

    for (size_t i = 0; i < record->phase_count; i++)
        if (strcmp(record->phases[i].phase, "warm_forward") == 0)
            record->phases[i].host_seconds -= 0.001 * (double)record->head.identity.rank;
    v->reference_rows = 4;
    v->reference_max_bound_ratio = 0.25;
    v->reference_passed = 1;
    lot_record_count(record);
}

#define SECOND_RUN "sample-run-0002"
#define THIRD_RUN  "sample-run-0003"

static void make_later(lot_record *record)
{
    sample_text(record->head.identity.run_id, sizeof record->head.identity.run_id, THIRD_RUN);
    for (size_t i = 0; i < record->phase_count; i++)
        record->phases[i].host_seconds *= 1.25;
    lot_record_count(record);
}

static void make_second(lot_record *record)
{
    lot_record_head *head = &record->head;
    char text[64];

    sample_text(head->identity.run_id, sizeof head->identity.run_id, SECOND_RUN);
    (void)snprintf(text, sizeof text, "other%02lld.example", (long long)(head->identity.rank / 8));
    sample_text(head->identity.host, sizeof head->identity.host, text);
    (void)snprintf(text, sizeof text, "GPU-11111111-0000-0000-0000-%012llx",
                   (unsigned long long)head->identity.rank);
    sample_text(head->device.uuid, sizeof head->device.uuid, text);
}

/* Begins every text with an escape, a line's end and what turns the order of letters round. */
static void spoil(const lot_fields *fields, void *record)
{
    for (size_t i = 0; i < fields->count; i++) {
        const lot_field *field = &fields->fields[i];
        char *at = (char *)record + fields->offset + field->offset;
        char text[512];

        if (field->kind != LOT_KIND_STR || strcmp(field->name, "run_id") == 0)
            continue;
        (void)snprintf(text, sizeof text, "\x1b\n\xE2\x80\xAE%s", at);
        sample_text(at, field->size, text);
    }
}

static void make_hostile(lot_record_head *head)
{
    size_t sections;
    const lot_fields *fields = lot_record_sections(&sections);

    for (size_t s = 0; s < sections; s++)
        spoil(&fields[s], head);
}

static void make_kind(lot_record *record, const char *kind)
{
    lot_record_head *head = &record->head;
    const lot_error memory = {LOT_DEVICE_MEMORY, 2, "cudaMalloc",
                              "cudaMalloc of 4096 bytes on 0000:02:00.0 of node00.example failed"};

    if (is_kind(kind, "equal"))
        make_equal(record);
    if (is_kind(kind, "second"))
        make_second(record);
    if (is_kind(kind, "again"))
        sample_text(head->identity.run_id, sizeof head->identity.run_id, SECOND_RUN);
    if (is_kind(kind, "later"))
        make_later(record);
    if (is_kind(kind, "simulated"))
        head->device.simulated = 1;
    if (is_kind(kind, "host")) {
        sample_text(head->device.kind, sizeof head->device.kind, "host");
        sample_text(head->device.name, sizeof head->device.name, "Sample CPU");
    }
    if (is_kind(kind, "known"))
        make_known(record);
    if (is_kind(kind, "failed") && head->identity.rank == 1) {
        record->phase_count = 4;
        lot_record_fail(record, "warm_forward", &memory);
        head->verification.passed = LOT_NULL_BOOL;
        head->outcome.warm_median_seconds = head->outcome.warm_median_device_seconds =
            record->phases[0].device_seconds;
        lot_record_count(record);
    }
    for (size_t i = 0; is_kind(kind, "untimed") && i < record->phase_count; i++)
        if (strcmp(record->phases[i].phase, "warm_forward") == 0)
            record->phases[i].host_seconds = NAN;
    if (is_kind(kind, "hostile"))
        make_hostile(head);
}

static void write_archive(const char *path, int64_t ranks, int64_t repeats, const char *kind)
{
    lot_archive_writer *writer = NULL;
    lot_run_header header;
    lot_error error = {0};

    must(lot_archive_create(path, &writer, &error), &error);
    for (int64_t rank = 0; rank < ranks; rank++) {
        lot_record record;
        char *json = NULL;
        size_t size = 0;

        sample_record(&record, rank, ranks, repeats);
        make_kind(&record, kind);
        must(lot_record_json_write(&record, &json, &size, &error), &error);
        must(lot_archive_append(writer, &record, json, size, &error), &error);
        free(json);
        lot_record_free(&record);
    }
    sample_header(&header, ranks);
    header.simulated = is_kind(kind, "simulated");
    if (is_kind(kind, "second") || is_kind(kind, "again"))
        sample_text(header.run_id, sizeof header.run_id, SECOND_RUN);
    if (is_kind(kind, "later"))
        sample_text(header.run_id, sizeof header.run_id, THIRD_RUN);
    if (is_kind(kind, "hostile"))
        spoil(lot_run_header_fields(), &header);
    must(lot_archive_finish(writer, &header, NULL, &error), &error);
}

static void write_spool(const char *folder, int64_t ranks, int64_t repeats)
{
    lot_error error = {0};

    for (int64_t rank = 0; rank < ranks; rank++) {
        lot_spool *spool = NULL;
        lot_record record;
        char *json = NULL;
        size_t size = 0;

        if (rank == 1)
            continue;
        sample_record(&record, rank, ranks, repeats);
        must(lot_spool_open(folder, rank, &spool, &error), &error);
        must(lot_spool_head(spool, &record, &error), &error);
        for (size_t i = 0; i < record.phase_count; i++)
            must(lot_spool_phase(spool, &record.phases[i], &error), &error);
        must(lot_record_json_write(&record, &json, &size, &error), &error);
        if (rank + 1 < ranks)
            must(lot_spool_end(spool, json, size, &error), &error);
        lot_spool_close(spool, false);
        free(json);
        lot_record_free(&record);
    }
}

int main(int argc, char **argv)
{
    const bool spool = argc > 1 && strcmp(argv[1], "--spool") == 0;
    const int first = spool ? 2 : 1;
    int64_t ranks, repeats;

    if (argc < first + 3 || !lot_parse_integer(argv[first + 1], &ranks) ||
        !lot_parse_integer(argv[first + 2], &repeats))
        return 2;
    if (spool)
        write_spool(argv[first], ranks, repeats);
    else
        write_archive(argv[first], ranks, repeats, argc > 4 ? argv[4] : "plain");
    return 0;
}
