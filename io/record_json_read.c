#include <math.h>
#include <string.h>

#include "io/json_source.h"
#include "io/record_json.h"
#include "io/record_lists.h"

/* The largest text that is read: beyond anything a rank writes, and below what would hurt. */
#define JSON_MOST ((size_t)1 << 30)

/* Each reads one item of a list; of a keyed one its name was taken. */
static lot_status read_setting(lot_json_source *source, const lot_json_piece *name)
{
    lot_setting *setting = lot_record_add_setting(source->record);
    lot_json_figure figure;
    bool good = false;

    if (setting == NULL)
        return lot_json_source_no_memory(source);
    (void)lot_field_set(setting->name, sizeof setting->name, name->text, name->size);
    switch (lot_json_read_kind(&source->in)) {
    case LOT_JSON_TRUE:
    case LOT_JSON_FALSE:
        setting->kind = LOT_KIND_BOOL;
        setting->integer = lot_json_read_kind(&source->in) == LOT_JSON_TRUE;
        good = lot_json_read_skip(&source->in);
        break;
    case LOT_JSON_NUMBER:
        good = lot_json_read_number(&source->in, &figure);
        setting->kind = good && figure.whole ? LOT_KIND_I64 : LOT_KIND_F64;
        setting->integer = good ? figure.integer : 0;
        setting->number = good ? figure.value : 0;
        break;
    case LOT_JSON_STRING:
        setting->kind = LOT_KIND_STR;
        good = lot_json_source_text(source, setting->text, sizeof setting->text);
        break;
    case LOT_JSON_NULL:
        setting->kind = LOT_KIND_F64;
        setting->number = NAN;
        good = lot_json_read_skip(&source->in);
        break;
    default:
        break;
    }
    return good ? LOT_OK : lot_json_source_wrong(source, "configuration", setting->name, "a plain value");
}

static lot_status read_variable(lot_json_source *source, const lot_json_piece *name)
{
    lot_variable *variable = lot_record_add_variable(source->record);

    if (variable == NULL)
        return lot_json_source_no_memory(source);
    (void)lot_field_set(variable->name, sizeof variable->name, name->text, name->size);
    return lot_json_source_text(source, variable->value, sizeof variable->value)
               ? LOT_OK
               : lot_json_source_wrong(source, "variables", variable->name, "a text");
}

static lot_status read_step(lot_json_source *source, const lot_json_piece *name)
{
    lot_step *step = lot_record_add_step(source->record);

    (void)name;
    if (step == NULL)
        return lot_json_source_no_memory(source);
    step->seconds = NAN;
    return lot_json_source_fields(source, lot_record_lists[LOT_LIST_SETUP].fields, step, NULL);
}

static lot_status read_failure_status(lot_json_source *source, const lot_json_piece *name, void *base)
{
    lot_failure *failure = base;
    char text[32];

    if (!lot_json_piece_is(name, "status") || lot_json_read_kind(&source->in) == LOT_JSON_NULL)
        return lot_json_source_skip(source);
    if (!lot_json_source_text(source, text, sizeof text))
        return lot_json_source_wrong(source, "errors", "status", "a text");
    failure->error.status = lot_status_from_name(text);
    return LOT_OK;
}

static lot_status read_failure(lot_json_source *source, const lot_json_piece *name)
{
    lot_failure *failure = lot_record_add_error(source->record);

    (void)name;
    if (failure == NULL)
        return lot_json_source_no_memory(source);
    failure->error.status = lot_status_from_name("");
    return lot_json_source_fields(source, lot_record_lists[LOT_LIST_ERRORS].fields, failure,
                                  read_failure_status);
}

static lot_status read_absent(lot_json_source *source, const lot_json_piece *name)
{
    lot_absent *absent = lot_record_add_absent(source->record);

    (void)name;
    return absent == NULL
               ? lot_json_source_no_memory(source)
               : lot_json_source_fields(source, lot_record_lists[LOT_LIST_ABSENT].fields, absent, NULL);
}

static lot_status read_phase_telemetry(lot_json_source *source, const lot_json_piece *name, void *base)
{
    if (!lot_json_piece_is(name, "telemetry") || lot_json_read_kind(&source->in) == LOT_JSON_NULL)
        return lot_json_source_skip(source);
    if (lot_json_read_kind(&source->in) != LOT_JSON_OBJECT)
        return lot_json_source_wrong(source, "phases", "telemetry", "an object");
    return lot_json_source_fields(source, lot_telemetry_fields(), base, NULL);
}

static lot_status read_phase(lot_json_source *source, const lot_json_piece *name)
{
    lot_phase *phase = lot_record_add_phase(source->record);

    (void)name;
    return phase == NULL ? lot_json_source_no_memory(source)
                         : lot_json_source_fields(source, lot_phase_fields(), phase, read_phase_telemetry);
}

static lot_status read_sample_seconds(lot_json_source *source, const lot_json_piece *name, void *base)
{
    if (!lot_json_piece_is(name, "seconds"))
        return lot_json_source_skip(source);
    return lot_json_source_number(source, &((lot_sample *)base)->seconds)
               ? LOT_OK
               : lot_json_source_wrong(source, "telemetry_series", "seconds", "a number");
}

static lot_status read_sample(lot_json_source *source, const lot_json_piece *name)
{
    const lot_fields fields = lot_record_sample_fields();
    lot_sample *sample = lot_record_add_sample(source->record);
    lot_status status;

    (void)name;
    if (sample == NULL)
        return lot_json_source_no_memory(source);
    sample->seconds = NAN;
    status = lot_json_source_fields(source, &fields, sample, read_sample_seconds);
    if (status == LOT_OK && isnan(sample->seconds))
        status = lot_json_source_wrong(source, "telemetry_series", "seconds", "a number");
    return status;
}

/* An item all of whose fields must be whole numbers from 0. */
static lot_status read_counts(lot_json_source *source, const lot_fields *fields, void *base,
                              lot_json_source_other *other)
{
    lot_status status;

    for (size_t i = 0; i < fields->count; i++)
        *(int64_t *)(void *)((char *)base + fields->fields[i].offset) = -1;
    status = lot_json_source_fields(source, fields, base, other);
    for (size_t i = 0; status == LOT_OK && i < fields->count; i++)
        if (*(int64_t *)(void *)((char *)base + fields->fields[i].offset) < 0)
            status =
                lot_json_source_wrong(source, fields->name, fields->fields[i].name, "a whole number from 0");
    return status;
}

static lot_status read_trace_bits(lot_json_source *source, const lot_json_piece *name, void *base)
{
    lot_trace *trace = base;
    lot_json_piece piece;

    if (!lot_json_piece_is(name, "bits"))
        return lot_json_source_skip(source);
    if (trace->bits != NULL)
        return lot_json_source_twice(source, "traces", "bits");
    if (lot_json_read_kind(&source->in) != LOT_JSON_STRING || !lot_json_read_string(&source->in, &piece))
        return lot_json_source_wrong(source, "traces", "bits", "a text");
    trace->bits = strndup(piece.text, piece.size);
    return trace->bits != NULL ? LOT_OK : lot_json_source_no_memory(source);
}

static lot_status read_trace(lot_json_source *source, const lot_json_piece *name)
{
    lot_trace *trace = lot_record_add_trace(source->record);
    lot_status status;
    size_t length;

    (void)name;
    if (trace == NULL)
        return lot_json_source_no_memory(source);
    status = read_counts(source, lot_record_lists[LOT_LIST_TRACES].fields, trace, read_trace_bits);
    if (status != LOT_OK)
        return status;
    if (trace->bits == NULL)
        return lot_json_source_wrong(source, "traces", "bits", "a text");
    length = strlen(trace->bits);
    if (strspn(trace->bits, "0123456789abcdef") != length ||
        ((length % 4 != 0 || length / 4 != (uint64_t)trace->elements) &&
         (length % 8 != 0 || length / 8 != (uint64_t)trace->elements)))
        return lot_json_source_wrong(source, "traces", "bits", "4 or 8 hexadecimal digits an element");
    return LOT_OK;
}

static lot_status read_difference(lot_json_source *source, const lot_json_piece *name)
{
    lot_difference *difference = lot_record_add_difference(source->record);

    (void)name;
    return difference == NULL
               ? lot_json_source_no_memory(source)
               : read_counts(source, lot_record_lists[LOT_LIST_DIFFERENCES].fields, difference, NULL);
}

static lot_status (*const readers[LOT_RECORD_LISTS])(lot_json_source *source, const lot_json_piece *name) = {
    [LOT_LIST_CONFIGURATION] = read_setting,
    [LOT_LIST_VARIABLES] = read_variable,
    [LOT_LIST_SETUP] = read_step,
    [LOT_LIST_ERRORS] = read_failure,
    [LOT_LIST_ABSENT] = read_absent,
    [LOT_LIST_PHASES] = read_phase,
    [LOT_LIST_SAMPLES] = read_sample,
    [LOT_LIST_TRACES] = read_trace,
    [LOT_LIST_DIFFERENCES] = read_difference,
};

static lot_status read_list(lot_json_source *source, lot_record_list_id id)
{
    const lot_record_list *list = &lot_record_lists[id];
    const lot_json_kind kind = lot_json_read_kind(&source->in);
    lot_json_piece name = {"", 0};
    lot_status status = LOT_OK;

    if (kind == LOT_JSON_NULL)
        return lot_json_source_skip(source);
    if (kind != (list->keyed ? LOT_JSON_OBJECT : LOT_JSON_ARRAY))
        return lot_json_source_wrong(source, "record", list->name, list->keyed ? "an object" : "an array");
    (void)lot_json_read_enter(&source->in, list->keyed ? '{' : '[');
    while (status == LOT_OK &&
           (list->keyed ? lot_json_read_member(&source->in, &name) : lot_json_read_item(&source->in))) {
        if (!list->keyed && lot_json_read_kind(&source->in) != LOT_JSON_OBJECT)
            return lot_json_source_wrong(source, "record", list->name, "an array of objects");
        status = readers[id](source, &name);
    }
    return status == LOT_OK && source->in.failed ? lot_json_source_broken(source) : status;
}

/* ---- a whole record ---- */

/* Looks at schema and version before anything else is believed; they stand first in what we wrote. */
static lot_status check_schema(lot_json_source *source)
{
    char schema[64] = "";
    int64_t version = -1;
    lot_json_piece name;

    if (!lot_json_read_enter(&source->in, '{'))
        return lot_json_source_broken(source);
    while ((schema[0] == '\0' || version < 0) && lot_json_read_member(&source->in, &name)) {
        const bool of_schema = lot_json_piece_is(&name, "schema"),
                   of_version = lot_json_piece_is(&name, "schema_version");

        if (of_schema && lot_json_read_kind(&source->in) == LOT_JSON_STRING)
            (void)lot_json_source_text(source, schema, sizeof schema);
        else if (of_version && (!lot_json_source_integer(source, &version) || version < 1))
            return lot_json_source_wrong(source, "record", "schema_version", "a whole number from 1");
        else if (!of_version)
            (void)lot_json_read_skip(&source->in);
    }
    if (source->in.failed)
        return lot_json_source_broken(source);
    if (strcmp(schema, LOT_RECORD_SCHEMA) != 0)
        return lot_error_set(source->error, LOT_SCHEMA, "record", 0, "record: schema is '%.60s', not %s",
                             schema, LOT_RECORD_SCHEMA);
    if (version < 0)
        return lot_json_source_wrong(source, "record", "schema_version", "a whole number from 1");
    if (version > LOT_RECORD_SCHEMA_VERSION)
        return lot_error_set(source->error, LOT_SCHEMA, "record", 0,
                             "record: schema version %lld is newer than %d, which this program reads",
                             (long long)version, LOT_RECORD_SCHEMA_VERSION);
    return LOT_OK;
}

static lot_status read_section(lot_json_source *source, const lot_fields *section)
{
    const lot_json_kind kind = lot_json_read_kind(&source->in);

    if (kind == LOT_JSON_NULL)
        return lot_json_source_skip(source);
    if (kind != LOT_JSON_OBJECT)
        return lot_json_source_wrong(source, "record", section->name, "an object");
    return lot_json_source_fields(source, section, &source->record->head, NULL);
}

/* The place of a name among the sections and, behind them, the lists; behind both where it is neither. */
static size_t find_member(const lot_json_piece *name, const lot_fields *sections, size_t count)
{
    size_t found = 0;

    while (found < count && !lot_json_piece_is(name, sections[found].name))
        found++;
    while (found >= count && found < count + LOT_RECORD_LISTS &&
           !lot_json_piece_is(name, lot_record_lists[found - count].name))
        found++;
    return found;
}

/* Reads the value of one member of the record: a section, a list or nothing of ours. */
static lot_status read_member(lot_json_source *source, const lot_json_piece *name, uint64_t *seen)
{
    size_t count;
    const lot_fields *sections = lot_record_sections(&count);
    const size_t found = find_member(name, sections, count);

    if (found == count + LOT_RECORD_LISTS)
        return lot_json_source_skip(source);
    if ((*seen >> found & 1) != 0)
        return lot_json_source_twice(
            source, "record", found < count ? sections[found].name : lot_record_lists[found - count].name);
    *seen |= UINT64_C(1) << found;
    return found < count ? read_section(source, &sections[found])
                         : read_list(source, (lot_record_list_id)(found - count));
}

static lot_status read_record(lot_json_source *source)
{
    lot_json_piece name;
    uint64_t seen = 0;
    lot_status status = LOT_OK;

    (void)lot_json_read_enter(&source->in, '{');
    while (status == LOT_OK && lot_json_read_member(&source->in, &name))
        status = read_member(source, &name, &seen);
    if (status == LOT_OK && !lot_json_read_end(&source->in))
        status = lot_json_source_broken(source);
    return status;
}

/* Begins to read a text; lot_json_read_free in every case. */
static lot_status begin(lot_json_source *source, const char *json, size_t size)
{
    if (size > JSON_MOST)
        return lot_error_set(source->error, LOT_DAMAGED, "record", 0, "record: %zu bytes are too many", size);
    if (!lot_json_read_begin(&source->in, json, size))
        return lot_error_set(source->error, LOT_DAMAGED, "record", 0, "record: it is not UTF-8");
    return LOT_OK;
}

/* Reads a record, complete or only its head. */
static lot_status read_any(const char *json, size_t size, bool complete, lot_record *record, lot_error *error)
{
    lot_record read;
    lot_json_source source = {.record = &read, .error = error};
    lot_status status;

    lot_record_init(&read);
    status = begin(&source, json, size);
    if (status == LOT_OK)
        status = check_schema(&source);
    if (status == LOT_OK) {
        lot_json_read_again(&source.in);
        status = read_record(&source);
    }
    lot_json_read_free(&source.in);
    if (status == LOT_OK && complete)
        status = lot_record_check(&read, error);
    if (status != LOT_OK) {
        lot_record_free(&read);
        return status;
    }
    *record = read;
    return LOT_OK;
}

lot_status lot_record_json_read(const char *json, size_t size, lot_record *record, lot_error *error)
{
    return read_any(json, size, true, record, error);
}

lot_status lot_record_json_read_head(const char *json, size_t size, lot_record *record, lot_error *error)
{
    return read_any(json, size, false, record, error);
}

lot_status lot_record_json_read_phase(const char *json, size_t size, lot_record *record, lot_error *error)
{
    const size_t before = record->phase_count;
    const lot_json_piece none = {"", 0};
    lot_json_source source = {.record = record, .error = error};
    lot_status status = begin(&source, json, size);

    if (status == LOT_OK)
        status = read_phase(&source, &none);
    if (status == LOT_OK && !lot_json_read_end(&source.in))
        status = lot_json_source_broken(&source);
    lot_json_read_free(&source.in);
    if (status != LOT_OK)
        record->phase_count = before;
    return status;
}
