#include "core/record.h"

#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "core/grown.h"
#include "core/stats.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* The field table of one struct, made from its X-macro list. */
#define ROW(kind, name, bytes, unit, help)                                                                   \
    {#name, unit, help, LOT_KIND_##kind, offsetof(STRUCT, name), sizeof(((STRUCT *)0)->name)},

#define STRUCT lot_identity
static const lot_field identity_fields[] = {LOT_IDENTITY_FIELDS(ROW)};
#undef STRUCT
#define STRUCT lot_environment
static const lot_field environment_fields[] = {LOT_ENVIRONMENT_FIELDS(ROW)};
#undef STRUCT
#define STRUCT lot_device_facts
static const lot_field device_fields[] = {LOT_DEVICE_FIELDS(ROW)};
#undef STRUCT
#define STRUCT lot_model
static const lot_field model_fields[] = {LOT_MODEL_FIELDS(ROW)};
#undef STRUCT
#define STRUCT lot_plan_facts
static const lot_field plan_fields[] = {LOT_PLAN_FIELDS(ROW)};
#undef STRUCT
#define STRUCT lot_verification
static const lot_field verification_fields[] = {LOT_VERIFICATION_FIELDS(ROW)};
#undef STRUCT
#define STRUCT lot_outcome
static const lot_field outcome_fields[] = {LOT_OUTCOME_FIELDS(ROW)};
#undef STRUCT
#define STRUCT lot_phase
static const lot_field phase_fields[] = {LOT_PHASE_FIELDS(ROW)};
#undef STRUCT
#define STRUCT lot_telemetry
static const lot_field telemetry_fields[] = {LOT_TELEMETRY_FIELDS(ROW)};
#undef STRUCT

#define SECTION(member, list)                                                                                \
    {                                                                                                        \
#member, list, COUNT(list), offsetof(lot_record_head, member),                                       \
            sizeof(((lot_record_head *)0)->member)                                                           \
    }

static const lot_fields sections[] = {
    SECTION(identity, identity_fields),
    SECTION(environment, environment_fields),
    SECTION(device, device_fields),
    SECTION(synthetic_model, model_fields),
    SECTION(layer_1, plan_fields),
    SECTION(layer_2, plan_fields),
    SECTION(verification, verification_fields),
    SECTION(outcome, outcome_fields),
};

static const lot_fields phase_table = {"phases", phase_fields, COUNT(phase_fields), 0,
                                       offsetof(lot_phase, telemetry)};
static const lot_fields telemetry_table = {"telemetry", telemetry_fields, COUNT(telemetry_fields),
                                           offsetof(lot_phase, telemetry), sizeof(lot_telemetry)};

const lot_fields *lot_record_sections(size_t *count)
{
    *count = COUNT(sections);
    return sections;
}

const lot_fields *lot_phase_fields(void)
{
    return &phase_table;
}

const lot_fields *lot_telemetry_fields(void)
{
    return &telemetry_table;
}

void lot_record_init(lot_record *record)
{
    memset(record, 0, sizeof *record);
    for (size_t i = 0; i < COUNT(sections); i++)
        lot_fields_clear(&sections[i], &record->head);
}

void lot_record_free(lot_record *record)
{
    free(record->configuration);
    free(record->variables);
    free(record->setup);
    free(record->phases);
    free(record->errors);
    free(record->absent);
    free(record->samples);
    for (size_t i = 0; i < record->trace_count; i++)
        free(record->traces[i].bits);
    free(record->traces);
    free(record->differences);
    lot_record_init(record);
}

/* One more zeroed item at the end of a list; NULL without memory. */
#define DEFINE_ADD(name, type, list, count)                                                                  \
    type *name(lot_record *record)                                                                           \
    {                                                                                                        \
        type *grown = lot_grown(record->list, record->count, sizeof *grown);                                 \
                                                                                                             \
        if (grown == NULL)                                                                                   \
            return NULL;                                                                                     \
        record->list = grown;                                                                                \
        return memset(&grown[record->count++], 0, sizeof *grown);                                            \
    }

DEFINE_ADD(lot_record_add_setting, lot_setting, configuration, configuration_count)
DEFINE_ADD(lot_record_add_variable, lot_variable, variables, variable_count)
DEFINE_ADD(lot_record_add_step, lot_step, setup, setup_count)
DEFINE_ADD(lot_record_add_error, lot_failure, errors, error_count)
DEFINE_ADD(lot_record_add_absent, lot_absent, absent, absent_count)
DEFINE_ADD(lot_record_add_trace, lot_trace, traces, trace_count)
DEFINE_ADD(lot_record_add_difference, lot_difference, differences, difference_count)

lot_phase *lot_record_add_phase(lot_record *record)
{
    lot_phase *grown = lot_grown(record->phases, record->phase_count, sizeof *grown);
    lot_phase *phase;

    if (grown == NULL)
        return NULL;
    record->phases = grown;
    phase = memset(&grown[record->phase_count++], 0, sizeof *phase);
    lot_fields_clear(&phase_table, phase);
    lot_fields_clear(&telemetry_table, phase);
    return phase;
}

lot_sample *lot_record_add_sample(lot_record *record)
{
    const lot_fields fields = {"", telemetry_fields, COUNT(telemetry_fields), offsetof(lot_sample, telemetry),
                               sizeof(lot_telemetry)};
    lot_sample *grown = lot_grown(record->samples, record->sample_count, sizeof *grown);
    lot_sample *sample;

    if (grown == NULL)
        return NULL;
    record->samples = grown;
    sample = memset(&grown[record->sample_count++], 0, sizeof *sample);
    lot_fields_clear(&fields, sample);
    return sample;
}

void lot_record_fail(lot_record *record, const char *phase, const lot_error *error)
{
    lot_failure *failure = lot_record_add_error(record);
    lot_outcome *outcome = &record->head.outcome;

    if (failure != NULL) {
        (void)lot_field_copy(failure->phase, sizeof failure->phase, phase);
        failure->error = *error;
    }
    if (outcome->error_text[0] == '\0') {
        (void)lot_field_copy(outcome->status, sizeof outcome->status, lot_status_name(error->status));
        (void)lot_field_copy(outcome->failed_phase, sizeof outcome->failed_phase, phase);
        (void)lot_field_copy(outcome->error_text, sizeof outcome->error_text, error->text);
    }
}

/* The schedule whose warm rows make the medians: the last one run, so that solo and together are never mixed.
 */
static const char *last_schedule(const lot_record *record)
{
    for (size_t i = record->phase_count; i > 0; i--)
        if (strcmp(record->phases[i - 1].phase, "warm_forward") == 0)
            return record->phases[i - 1].schedule;
    return "";
}

void lot_record_count_digests(lot_record *record)
{
    lot_verification *v = &record->head.verification;
    bool finite = true;

    if (v->digest[0] != '\0')
        return;
    for (size_t i = 0; i < record->phase_count; i++) {
        const lot_phase *row = &record->phases[i];

        if (row->digest[0] == '\0' || row->digests_differing < 0 || row->passes < 0)
            continue;
        if (v->digest[0] == '\0') {
            if (row->digests_differing > 0) /* its digest is not the first pass's */
                continue;
            memcpy(v->digest, row->digest, sizeof v->digest);
            v->passes = v->digests_differing = 0;
        }
        lot_checked_count(&v->passes, row->passes);
        lot_checked_count(&v->digests_differing, row->digests_differing);
        finite = finite && row->finite == 1;
    }
    if (v->digest[0] != '\0' && finite)
        v->nonfinite_passes = 0;
}

void lot_record_count(lot_record *record)
{
    lot_outcome *outcome = &record->head.outcome;
    const char *schedule = last_schedule(record);
    const size_t rows = record->phase_count;
    double *values = rows == 0 ? NULL : calloc(2 * rows, sizeof *values);
    size_t count = 0;

    outcome->phase_rows = (int64_t)rows;
    outcome->warm_rows = 0;
    for (size_t i = 0; i < rows; i++) {
        const lot_phase *phase = &record->phases[i];

        if (strcmp(phase->phase, "warm_forward") != 0)
            continue;
        outcome->warm_rows++;
        if (values == NULL || strcmp(phase->schedule, schedule) != 0)
            continue;
        values[count] = phase->host_seconds;
        values[rows + count++] = phase->device_seconds;
    }
    if (values != NULL) {
        outcome->warm_median_seconds = lot_stats_median(values, count);
        outcome->warm_median_device_seconds = lot_stats_median(values + rows, count);
    }
    free(values);
}

static lot_status broken(lot_error *error, const lot_record *record, const char *what)
{
    return lot_error_set(error, LOT_DAMAGED, "record", 0, "record of rank %lld: %s",
                         (long long)record->head.identity.rank, what);
}

static bool terminated(const lot_fields *fields, const void *base)
{
    for (size_t i = 0; i < fields->count; i++) {
        const lot_field *field = &fields->fields[i];

        if (field->kind == LOT_KIND_STR &&
            memchr((const char *)base + fields->offset + field->offset, '\0', field->size) == NULL)
            return false;
    }
    return true;
}

static bool known_phase(const char *name)
{
    static const char *const names[] = {"model_load", "inputs",       "cold_forward",
                                        "warmup",     "warm_forward", "soak"};

    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool too_short(double seconds)
{
    return seconds > 0 && seconds < LOT_TIME_LEAST;
}

/* NULL, or what does not hold in this row. */
static const char *phase_fault(const lot_phase *p, int64_t rank, size_t row)
{
    if (!terminated(&phase_table, p) || !known_phase(p->phase))
        return "a phase row has no known phase name";
    if (p->rank != rank || p->row != (int64_t)row)
        return "phase rows are not in order";
    if (p->host_seconds < 0 || p->device_seconds < 0)
        return "a phase row has a negative time";
    if (too_short(p->host_seconds) || too_short(p->device_seconds))
        return "a phase row has a time that is not 0 and shorter than any";
    if (p->allocated_end_bytes > p->reserved_end_bytes || p->allocated_start_bytes > p->reserved_start_bytes)
        return "a phase row has more allocated than reserved";
    if (p->allocated_peak_bytes < p->allocated_start_bytes ||
        p->allocated_peak_bytes < p->allocated_end_bytes ||
        p->reserved_peak_bytes < p->reserved_start_bytes || p->reserved_peak_bytes < p->reserved_end_bytes)
        return "a phase row has a peak below its start or end";
    return NULL;
}

/* What is larger than anything that can be measured, and what is counted below zero. */
static lot_status check_quantities(const lot_record *record, lot_error *error)
{
    const lot_field *field = NULL;

    for (size_t i = 0; field == NULL && i < COUNT(sections); i++)
        field = lot_fields_beyond(&sections[i], &record->head);
    for (size_t i = 0; field == NULL && i < record->phase_count; i++) {
        field = lot_fields_beyond(&phase_table, &record->phases[i]);
        if (field == NULL)
            field = lot_fields_beyond(&telemetry_table, &record->phases[i]);
    }
    if (field == NULL)
        return LOT_OK;
    if (field->kind == LOT_KIND_I64)
        return lot_error_set(error, LOT_DAMAGED, "record", 0, "record of rank %lld: %s is negative",
                             (long long)record->head.identity.rank, field->name);
    return lot_error_set(error, LOT_DAMAGED, "record", 0,
                         "record of rank %lld: %s is beyond what can be measured, %g %s at most",
                         (long long)record->head.identity.rank, field->name, LOT_QUANTITY_MOST, field->unit);
}

lot_status lot_record_check(const lot_record *record, lot_error *error)
{
    const lot_identity *identity = &record->head.identity;

    for (size_t i = 0; i < COUNT(sections); i++)
        if (!terminated(&sections[i], &record->head))
            return broken(error, record, "a text is not terminated");
    if (identity->rank < 0 || identity->size <= identity->rank)
        return broken(error, record, "rank does not lie within size");
    if (record->head.outcome.status[0] == '\0')
        return broken(error, record, "it has no outcome");
    for (size_t i = 0; i < record->phase_count; i++) {
        const char *fault = phase_fault(&record->phases[i], identity->rank, i);

        if (fault != NULL)
            return broken(error, record, fault);
    }
    return check_quantities(record, error);
}
