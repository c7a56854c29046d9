#include "io/record_json.h"

#include <string.h>

#include "io/columns.h"
#include "io/record_lists.h"

/* ---- fields ---- */

void lot_json_field(lot_json_text *text, const lot_field *field, const void *record)
{
    const char *at = (const char *)record + field->offset;
    int64_t integer;
    double number;

    lot_json_key(text, field->name);
    if (field->kind != LOT_KIND_F64 && lot_field_is_null(field, record)) {
        lot_json_null(text);
        return;
    }
    switch (field->kind) {
    case LOT_KIND_I64:
        memcpy(&integer, at, sizeof integer);
        lot_json_integer(text, integer);
        break;
    case LOT_KIND_F64:
        memcpy(&number, at, sizeof number);
        lot_json_number(text, number);
        break;
    case LOT_KIND_STR:
        lot_json_string(text, at);
        break;
    case LOT_KIND_BOOL:
        lot_json_bool(text, *at != 0);
        break;
    }
}

static void write_fields(lot_json_text *text, const lot_fields *fields, const void *base)
{
    for (size_t i = 0; i < fields->count; i++)
        lot_json_field(text, &fields->fields[i], (const char *)base + fields->offset);
}

void lot_json_object(lot_json_text *text, const lot_fields *fields, const void *base)
{
    lot_json_open(text, '{');
    write_fields(text, fields, base);
    lot_json_close(text, '}');
}

/* ---- lists ---- */

/* Each writes one item of a list of the record. */
static void write_setting(lot_json_text *text, const void *item)
{
    const lot_setting *setting = item;

    lot_json_key(text, setting->name);
    switch (setting->kind) {
    case LOT_KIND_I64:
        lot_json_integer(text, setting->integer);
        break;
    case LOT_KIND_F64:
        lot_json_number(text, setting->number);
        break;
    case LOT_KIND_STR:
        lot_json_string(text, setting->text);
        break;
    case LOT_KIND_BOOL:
        lot_json_bool(text, setting->integer != 0);
        break;
    }
}

static void write_variable(lot_json_text *text, const void *item)
{
    const lot_variable *variable = item;

    lot_json_key(text, variable->name);
    lot_json_string(text, variable->value);
}

static void write_failure(lot_json_text *text, const void *item)
{
    const lot_failure *failure = item;

    lot_json_open(text, '{');
    lot_json_member_text(text, "phase", failure->phase);
    lot_json_member_text(text, "status", lot_status_name(failure->error.status));
    lot_json_member_text(text, "call", failure->error.call);
    lot_json_key(text, "code");
    lot_json_integer(text, failure->error.code); /* -1 is a code like any other */
    lot_json_member_text(text, "text", failure->error.text);
    lot_json_close(text, '}');
}

static void write_phase(lot_json_text *text, const void *item)
{
    const lot_phase *phase = item;

    lot_json_open(text, '{');
    write_fields(text, lot_phase_fields(), phase);
    lot_json_key(text, "telemetry");
    if (lot_telemetry_is_null(&phase->telemetry))
        lot_json_null(text);
    else
        lot_json_object(text, lot_telemetry_fields(), phase);
    lot_json_close(text, '}');
}

static void write_sample(lot_json_text *text, const void *item)
{
    const lot_sample *sample = item;
    const lot_fields fields = lot_record_sample_fields();

    lot_json_open(text, '{');
    lot_json_member_number(text, "seconds", sample->seconds);
    write_fields(text, &fields, sample);
    lot_json_close(text, '}');
}

static void write_trace(lot_json_text *text, const void *item)
{
    const lot_trace *trace = item;

    lot_json_open(text, '{');
    write_fields(text, lot_record_lists[LOT_LIST_TRACES].fields, trace);
    lot_json_member_text(text, "bits", trace->bits);
    lot_json_close(text, '}');
}

/* For the lists whose items are more than their fields. */
static void (*const writers[LOT_RECORD_LISTS])(lot_json_text *text, const void *item) = {
    [LOT_LIST_CONFIGURATION] = write_setting, [LOT_LIST_VARIABLES] = write_variable,
    [LOT_LIST_ERRORS] = write_failure,        [LOT_LIST_PHASES] = write_phase,
    [LOT_LIST_SAMPLES] = write_sample,        [LOT_LIST_TRACES] = write_trace,
};

static void write_list(lot_json_text *text, lot_record_list_id id, const lot_record *record)
{
    const lot_record_list *list = &lot_record_lists[id];
    const char *items;
    size_t count;

    memcpy(&items, (const char *)record + list->items, sizeof items);
    memcpy(&count, (const char *)record + list->count, sizeof count);
    lot_json_key(text, list->name);
    lot_json_open(text, list->keyed ? '{' : '[');
    for (size_t i = 0; i < count; i++) {
        if (writers[id] != NULL)
            writers[id](text, items + i * list->size);
        else
            lot_json_object(text, list->fields, items + i * list->size);
    }
    lot_json_close(text, list->keyed ? '}' : ']');
}

/* ---- a whole record ---- */

void lot_record_json_phase(const lot_phase *phase, lot_json_text *text)
{
    write_phase(text, phase);
}

/* Everything up to the phases, with the object left open. */
static void write_front(lot_json_text *text, const lot_record *record)
{
    size_t count;
    const lot_fields *sections = lot_record_sections(&count);

    lot_json_open(text, '{');
    lot_json_member_text(text, "schema", LOT_RECORD_SCHEMA);
    lot_json_member_integer(text, "schema_version", LOT_RECORD_SCHEMA_VERSION);
    for (size_t i = 0; i < count; i++) {
        lot_json_key(text, sections[i].name);
        lot_json_object(text, &sections[i], &record->head);
    }
    for (int id = 0; id < LOT_LIST_PHASES; id++)
        write_list(text, (lot_record_list_id)id, record);
}

void lot_record_json_head(const lot_record *record, lot_json_text *text)
{
    write_front(text, record);
    lot_json_close(text, '}');
}

lot_status lot_record_json_write(const lot_record *record, char **json, size_t *size, lot_error *error)
{
    lot_json_text text = {0};
    const lot_status status = lot_record_check(record, error);

    if (status != LOT_OK)
        return status;
    write_front(&text, record);
    for (int id = LOT_LIST_PHASES; id < LOT_RECORD_LISTS; id++)
        if (!lot_record_lists[id].traced || record->trace_count > 0)
            write_list(&text, (lot_record_list_id)id, record);
    lot_json_close(&text, '}');
    if (text.failed) {
        lot_json_free(&text);
        return lot_error_set(error, LOT_MEMORY, "realloc", 0, "no memory for the JSON of rank %lld",
                             (long long)record->head.identity.rank);
    }
    *json = text.data;
    *size = text.size;
    return LOT_OK;
}
