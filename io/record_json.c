#include "io/record_json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/options.h"
#include "core/utf8.h"
#include "io/columns.h"

/* ---- writing ---- */

static void write_field(lot_json_text *text, const lot_field *field, const char *at)
{
    int64_t integer;
    double number;

    lot_json_key(text, field->name);
    if (field->kind != LOT_KIND_F64 && lot_field_is_null(field, at - field->offset)) {
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

void lot_json_fields(lot_json_text *text, const lot_fields *fields, const void *base)
{
    for (size_t i = 0; i < fields->count; i++)
        write_field(text, &fields->fields[i], (const char *)base + fields->offset + fields->fields[i].offset);
}

void lot_json_object(lot_json_text *text, const lot_fields *fields, const void *base)
{
    lot_json_open(text, '{');
    lot_json_fields(text, fields, base);
    lot_json_close(text, '}');
}

static void write_setting(lot_json_text *text, const lot_setting *setting)
{
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

void lot_record_json_phase(const lot_phase *phase, lot_json_text *text)
{
    lot_json_open(text, '{');
    lot_json_fields(text, lot_phase_fields(), phase);
    lot_json_key(text, "telemetry");
    if (lot_telemetry_is_null(&phase->telemetry))
        lot_json_null(text);
    else
        lot_json_object(text, lot_telemetry_fields(), phase);
    lot_json_close(text, '}');
}

static void write_error(lot_json_text *text, const lot_failure *failure)
{
    lot_json_open(text, '{');
    lot_json_key(text, "phase");
    lot_json_string(text, failure->phase);
    lot_json_key(text, "status");
    lot_json_string(text, lot_status_name(failure->error.status));
    lot_json_key(text, "call");
    lot_json_string(text, failure->error.call);
    lot_json_key(text, "code");
    lot_json_integer(text, failure->error.code);
    lot_json_key(text, "text");
    lot_json_string(text, failure->error.text);
    lot_json_close(text, '}');
}

static void write_small_lists(lot_json_text *text, const lot_record *record)
{
    lot_json_key(text, "configuration");
    lot_json_open(text, '{');
    for (size_t i = 0; i < record->configuration_count; i++)
        write_setting(text, &record->configuration[i]);
    lot_json_close(text, '}');
    lot_json_key(text, "variables");
    lot_json_open(text, '{');
    for (size_t i = 0; i < record->variable_count; i++) {
        lot_json_key(text, record->variables[i].name);
        lot_json_string(text, record->variables[i].value);
    }
    lot_json_close(text, '}');
    lot_json_key(text, "setup");
    lot_json_open(text, '[');
    for (size_t i = 0; i < record->setup_count; i++) {
        lot_json_open(text, '{');
        lot_json_key(text, "step");
        lot_json_string(text, record->setup[i].step);
        lot_json_key(text, "seconds");
        lot_json_number(text, record->setup[i].seconds);
        lot_json_close(text, '}');
    }
    lot_json_close(text, ']');
    lot_json_key(text, "errors");
    lot_json_open(text, '[');
    for (size_t i = 0; i < record->error_count; i++)
        write_error(text, &record->errors[i]);
    lot_json_close(text, ']');
    lot_json_key(text, "absent");
    lot_json_open(text, '[');
    for (size_t i = 0; i < record->absent_count; i++) {
        lot_json_open(text, '{');
        lot_json_key(text, "field");
        lot_json_string(text, record->absent[i].field);
        lot_json_key(text, "reason");
        lot_json_string(text, record->absent[i].reason);
        lot_json_close(text, '}');
    }
    lot_json_close(text, ']');
}

/* Everything up to the phases, with the object left open. */
static void write_front(lot_json_text *text, const lot_record *record)
{
    size_t count;
    const lot_fields *sections = lot_record_sections(&count);

    lot_json_open(text, '{');
    lot_json_key(text, "schema");
    lot_json_string(text, LOT_RECORD_SCHEMA);
    lot_json_key(text, "schema_version");
    lot_json_integer(text, LOT_RECORD_SCHEMA_VERSION);
    for (size_t i = 0; i < count; i++) {
        lot_json_key(text, sections[i].name);
        lot_json_object(text, &sections[i], &record->head);
    }
    write_small_lists(text, record);
}

void lot_record_json_head(const lot_record *record, lot_json_text *text)
{
    write_front(text, record);
    lot_json_close(text, '}');
}

static void write_samples(lot_json_text *text, const lot_record *record)
{
    const lot_fields *known = lot_telemetry_fields();
    const lot_fields fields = {known->name, known->fields, known->count, offsetof(lot_sample, telemetry),
                               known->size};

    lot_json_key(text, "telemetry_series");
    lot_json_open(text, '[');
    for (size_t i = 0; i < record->sample_count; i++) {
        lot_json_open(text, '{');
        lot_json_key(text, "seconds");
        lot_json_number(text, record->samples[i].seconds);
        lot_json_fields(text, &fields, &record->samples[i]);
        lot_json_close(text, '}');
    }
    lot_json_close(text, ']');
}

static const struct {
    const char *name;
    size_t offset;
} difference_members[] = {
    {"pass", offsetof(lot_difference, pass)}, {"layer", offsetof(lot_difference, layer)},
    {"row", offsetof(lot_difference, row)},   {"element", offsetof(lot_difference, element)},
    {"bits", offsetof(lot_difference, bits)},
};

/* Both lists are there only where something was localised. */
static void write_traces(lot_json_text *text, const lot_record *record)
{
    if (record->trace_count == 0)
        return;
    lot_json_key(text, "traces");
    lot_json_open(text, '[');
    for (size_t i = 0; i < record->trace_count; i++) {
        lot_json_open(text, '{');
        lot_json_key(text, "layer");
        lot_json_integer(text, record->traces[i].layer);
        lot_json_key(text, "row");
        lot_json_integer(text, record->traces[i].row);
        lot_json_key(text, "elements");
        lot_json_integer(text, record->traces[i].elements);
        lot_json_key(text, "bits");
        lot_json_string(text, record->traces[i].bits);
        lot_json_close(text, '}');
    }
    lot_json_close(text, ']');
    lot_json_key(text, "differences");
    lot_json_open(text, '[');
    for (size_t i = 0; i < record->difference_count; i++) {
        lot_json_open(text, '{');
        for (size_t member = 0; member < sizeof difference_members / sizeof difference_members[0]; member++) {
            lot_json_key(text, difference_members[member].name);
            lot_json_integer(text, *(const int64_t *)(const void *)((const char *)&record->differences[i] +
                                                                    difference_members[member].offset));
        }
        lot_json_close(text, '}');
    }
    lot_json_close(text, ']');
}

lot_status lot_record_json_write(const lot_record *record, char **json, size_t *size, lot_error *error)
{
    lot_json_text text = {0};
    const lot_status status = lot_record_check(record, error);

    if (status != LOT_OK)
        return status;
    write_front(&text, record);
    lot_json_key(&text, "phases");
    lot_json_open(&text, '[');
    for (size_t i = 0; i < record->phase_count; i++)
        lot_record_json_phase(&record->phases[i], &text);
    lot_json_close(&text, ']');
    write_samples(&text, record);
    write_traces(&text, record);
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

/* ---- reading ---- */

/* The largest text that is read: beyond anything a rank writes, and below what would hurt. */
#define JSON_MOST ((size_t)1 << 30)

static lot_status wrong(lot_error *error, const char *where, const char *name, const char *expected)
{
    return lot_error_set(error, LOT_DAMAGED, "record", 0, "record: %s.%s is not %s", where, name, expected);
}

/* The member `name` of `object`, looked for from *hint on and around: members in their usual order are found
 * at once, in any order they are found too. NULL where there is none. */
static const cJSON *member(const cJSON *object, const cJSON **hint, const char *name)
{
    for (const cJSON *at = *hint; at != NULL; at = at->next)
        if (at->string != NULL && strcmp(at->string, name) == 0) {
            *hint = at->next;
            return at;
        }
    for (const cJSON *at = object->child; at != NULL && at != *hint; at = at->next)
        if (at->string != NULL && strcmp(at->string, name) == 0)
            return at;
    return NULL;
}

/* A whole number, or a string of one where it is too large for a double. */
static bool get_integer(const cJSON *item, int64_t *value)
{
    const double most = 9007199254740992.0; /* 2^53 */

    if (cJSON_IsString(item))
        return lot_parse_integer(item->valuestring, value);
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= -most && item->valuedouble <= most) ||
        floor(item->valuedouble) != item->valuedouble)
        return false;
    *value = (int64_t)item->valuedouble;
    return true;
}

static bool get_number(const cJSON *item, double *value)
{
    if (cJSON_IsNumber(item))
        *value = item->valuedouble;
    else if (cJSON_IsString(item) && strcmp(item->valuestring, "Infinity") == 0)
        *value = INFINITY;
    else if (cJSON_IsString(item) && strcmp(item->valuestring, "-Infinity") == 0)
        *value = -INFINITY;
    else
        return false;
    return true;
}

static lot_status read_field(const cJSON *item, const char *where, const lot_field *field, char *at,
                             lot_error *error)
{
    int64_t integer;
    double number;

    switch (field->kind) {
    case LOT_KIND_I64:
        if (!get_integer(item, &integer))
            return wrong(error, where, field->name, "a whole number");
        memcpy(at, &integer, sizeof integer);
        break;
    case LOT_KIND_F64:
        if (!get_number(item, &number))
            return wrong(error, where, field->name, "a number");
        memcpy(at, &number, sizeof number);
        break;
    case LOT_KIND_STR:
        if (!cJSON_IsString(item))
            return wrong(error, where, field->name, "a text");
        (void)lot_field_copy(at, field->size, item->valuestring);
        break;
    case LOT_KIND_BOOL:
        if (!cJSON_IsBool(item))
            return wrong(error, where, field->name, "true or false");
        *at = cJSON_IsTrue(item) ? 1 : 0;
        break;
    }
    return LOT_OK;
}

/* Fills the fields from an object's members; missing and null ones stay as they are. */
static lot_status read_fields(const cJSON *object, const lot_fields *fields, void *base, lot_error *error)
{
    const cJSON *hint = object->child;

    for (size_t i = 0; i < fields->count; i++) {
        const lot_field *field = &fields->fields[i];
        const cJSON *item = member(object, &hint, field->name);
        lot_status status;

        if (item == NULL || cJSON_IsNull(item))
            continue;
        status = read_field(item, fields->name, field, (char *)base + fields->offset + field->offset, error);
        if (status != LOT_OK)
            return status;
    }
    return LOT_OK;
}

static lot_status no_memory(lot_error *error)
{
    return lot_error_set(error, LOT_MEMORY, "realloc", 0, "no memory to read a record");
}

/* The text of a member, "" where it is missing; into a fixed string. */
static void take_text(const cJSON *object, const char *name, char *to, size_t size)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

    (void)lot_field_copy(to, size, cJSON_IsString(item) ? item->valuestring : "");
}

static lot_status read_setting(const cJSON *item, lot_record *record, lot_error *error)
{
    lot_setting *setting = lot_record_add_setting(record);

    if (setting == NULL)
        return no_memory(error);
    (void)lot_field_copy(setting->name, sizeof setting->name, item->string);
    if (cJSON_IsBool(item)) {
        setting->kind = LOT_KIND_BOOL;
        setting->integer = cJSON_IsTrue(item) ? 1 : 0;
    } else if (cJSON_IsNumber(item)) {
        setting->kind = get_integer(item, &setting->integer) ? LOT_KIND_I64 : LOT_KIND_F64;
        setting->number = item->valuedouble;
    } else if (cJSON_IsString(item)) {
        setting->kind = LOT_KIND_STR;
        (void)lot_field_copy(setting->text, sizeof setting->text, item->valuestring);
    } else if (cJSON_IsNull(item)) {
        setting->kind = LOT_KIND_F64;
        setting->number = NAN;
    } else {
        return wrong(error, "configuration", setting->name, "a plain value");
    }
    return LOT_OK;
}

static lot_status read_variable(const cJSON *item, lot_record *record, lot_error *error)
{
    lot_variable *variable = lot_record_add_variable(record);

    if (variable == NULL)
        return no_memory(error);
    (void)lot_field_copy(variable->name, sizeof variable->name, item->string);
    if (!cJSON_IsString(item))
        return wrong(error, "variables", variable->name, "a text");
    (void)lot_field_copy(variable->value, sizeof variable->value, item->valuestring);
    return LOT_OK;
}

static lot_status read_step(const cJSON *item, lot_record *record, lot_error *error)
{
    lot_step *step = lot_record_add_step(record);
    const cJSON *seconds = cJSON_GetObjectItemCaseSensitive(item, "seconds");

    if (step == NULL)
        return no_memory(error);
    take_text(item, "step", step->step, sizeof step->step);
    step->seconds = NAN;
    if (seconds != NULL && !cJSON_IsNull(seconds) && !get_number(seconds, &step->seconds))
        return wrong(error, "setup", "seconds", "a number");
    return LOT_OK;
}

static lot_status read_error(const cJSON *item, lot_record *record, lot_error *error)
{
    lot_failure *failure = lot_record_add_error(record);
    const cJSON *code = cJSON_GetObjectItemCaseSensitive(item, "code");
    char name[32];

    if (failure == NULL)
        return no_memory(error);
    take_text(item, "phase", failure->phase, sizeof failure->phase);
    take_text(item, "status", name, sizeof name);
    take_text(item, "call", failure->error.call, sizeof failure->error.call);
    take_text(item, "text", failure->error.text, sizeof failure->error.text);
    failure->error.status = lot_status_from_name(name);
    if (code != NULL && !cJSON_IsNull(code) && !get_integer(code, &failure->error.code))
        return wrong(error, "errors", "code", "a whole number");
    return LOT_OK;
}

static lot_status read_absent(const cJSON *item, lot_record *record, lot_error *error)
{
    lot_absent *absent = lot_record_add_absent(record);

    if (absent == NULL)
        return no_memory(error);
    take_text(item, "field", absent->field, sizeof absent->field);
    take_text(item, "reason", absent->reason, sizeof absent->reason);
    return LOT_OK;
}

static lot_status read_phase(const cJSON *item, lot_record *record, lot_error *error)
{
    const cJSON *telemetry = cJSON_GetObjectItemCaseSensitive(item, "telemetry");
    lot_phase *phase = lot_record_add_phase(record);
    lot_status status;

    if (phase == NULL)
        return no_memory(error);
    status = read_fields(item, lot_phase_fields(), phase, error);
    if (status != LOT_OK || telemetry == NULL || cJSON_IsNull(telemetry))
        return status;
    if (!cJSON_IsObject(telemetry))
        return wrong(error, "phases", "telemetry", "an object");
    return read_fields(telemetry, lot_telemetry_fields(), phase, error);
}

static lot_status read_sample(const cJSON *item, lot_record *record, lot_error *error)
{
    const lot_fields *known = lot_telemetry_fields();
    const lot_fields fields = {known->name, known->fields, known->count, offsetof(lot_sample, telemetry),
                               known->size};
    const cJSON *seconds = cJSON_GetObjectItemCaseSensitive(item, "seconds");
    lot_sample *sample = lot_record_add_sample(record);

    if (sample == NULL)
        return no_memory(error);
    if (!get_number(seconds, &sample->seconds))
        return wrong(error, "telemetry_series", "seconds", "a number");
    return read_fields(item, &fields, sample, error);
}

/* A member that must be a whole number from 0. */
static lot_status take_count(const cJSON *item, const char *list, const char *name, int64_t *value,
                             lot_error *error)
{
    if (get_integer(cJSON_GetObjectItemCaseSensitive(item, name), value) && *value >= 0)
        return LOT_OK;
    return wrong(error, list, name, "a whole number from 0");
}

static lot_status read_trace(const cJSON *item, lot_record *record, lot_error *error)
{
    const cJSON *bits = cJSON_GetObjectItemCaseSensitive(item, "bits");
    lot_trace *trace = lot_record_add_trace(record);
    lot_status status;
    size_t length;

    if (trace == NULL)
        return no_memory(error);
    status = take_count(item, "traces", "layer", &trace->layer, error);
    if (status == LOT_OK)
        status = take_count(item, "traces", "row", &trace->row, error);
    if (status == LOT_OK)
        status = take_count(item, "traces", "elements", &trace->elements, error);
    if (status != LOT_OK)
        return status;
    if (!cJSON_IsString(bits))
        return wrong(error, "traces", "bits", "a text");
    length = strlen(bits->valuestring);
    if (strspn(bits->valuestring, "0123456789abcdef") != length ||
        (length / 4 != (uint64_t)trace->elements && length / 8 != (uint64_t)trace->elements) ||
        length % 4 != 0)
        return wrong(error, "traces", "bits", "4 or 8 hexadecimal digits an element");
    trace->bits = strdup(bits->valuestring);
    return trace->bits != NULL ? LOT_OK : no_memory(error);
}

static lot_status read_difference(const cJSON *item, lot_record *record, lot_error *error)
{
    lot_difference *difference = lot_record_add_difference(record);
    lot_status status = LOT_OK;

    if (difference == NULL)
        return no_memory(error);
    for (size_t i = 0; status == LOT_OK && i < sizeof difference_members / sizeof difference_members[0]; i++)
        status = take_count(item, "differences", difference_members[i].name,
                            (int64_t *)(void *)((char *)difference + difference_members[i].offset), error);
    return status;
}

/* The lists beside the sections; `keyed` ones are objects with free names. */
static const struct list {
    const char *name;
    bool keyed;
    lot_status (*read)(const cJSON *item, lot_record *record, lot_error *error);
} lists[] = {
    {"configuration", true, read_setting},
    {"variables", true, read_variable},
    {"setup", false, read_step},
    {"errors", false, read_error},
    {"absent", false, read_absent},
    {"phases", false, read_phase},
    {"telemetry_series", false, read_sample},
    {"traces", false, read_trace},
    {"differences", false, read_difference},
};

static lot_status read_list(const cJSON *root, const struct list *list, lot_record *record, lot_error *error)
{
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(root, list->name);
    const cJSON *item;

    if (array == NULL || cJSON_IsNull(array))
        return LOT_OK;
    if (list->keyed ? !cJSON_IsObject(array) : !cJSON_IsArray(array))
        return wrong(error, "record", list->name, list->keyed ? "an object" : "an array");
    cJSON_ArrayForEach(item, array)
    {
        lot_status status;

        if (!list->keyed && !cJSON_IsObject(item))
            return wrong(error, "record", list->name, "an array of objects");
        status = list->read(item, record, error);
        if (status != LOT_OK)
            return status;
    }
    return LOT_OK;
}

static lot_status check_schema(const cJSON *root, lot_error *error)
{
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(root, "schema");
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(root, "schema_version");
    int64_t number;

    if (!cJSON_IsString(schema) || strcmp(schema->valuestring, LOT_RECORD_SCHEMA) != 0)
        return lot_error_set(error, LOT_SCHEMA, "record", 0, "record: schema is '%.60s', not %s",
                             cJSON_IsString(schema) ? schema->valuestring : "", LOT_RECORD_SCHEMA);
    if (!get_integer(version, &number) || number < 1)
        return wrong(error, "record", "schema_version", "a whole number from 1");
    if (number > LOT_RECORD_SCHEMA_VERSION)
        return lot_error_set(error, LOT_SCHEMA, "record", 0,
                             "record: schema version %lld is newer than %d, which this program reads",
                             (long long)number, LOT_RECORD_SCHEMA_VERSION);
    return LOT_OK;
}

static lot_status read_record(const cJSON *root, lot_record *record, lot_error *error)
{
    size_t count;
    const lot_fields *sections = lot_record_sections(&count);
    lot_status status = check_schema(root, error);

    for (size_t i = 0; status == LOT_OK && i < count; i++) {
        const cJSON *section = cJSON_GetObjectItemCaseSensitive(root, sections[i].name);

        if (section == NULL || cJSON_IsNull(section))
            continue;
        if (!cJSON_IsObject(section))
            return wrong(error, "record", sections[i].name, "an object");
        status = read_fields(section, &sections[i], &record->head, error);
    }
    for (size_t i = 0; status == LOT_OK && i < sizeof lists / sizeof lists[0]; i++)
        status = read_list(root, &lists[i], record, error);
    return status;
}

/* True where the whole text is UTF-8; a record's is nearly all ASCII, eight bytes of which are passed over at
 * once. */
static bool is_utf8(const char *text, size_t size)
{
    const uint64_t high = UINT64_C(0x8080808080808080);
    size_t at = 0;

    while (at < size) {
        uint64_t word = high;
        size_t length;

        if (size - at >= sizeof word)
            memcpy(&word, text + at, sizeof word);
        length = (word & high) == 0 ? sizeof word : lot_utf8_character(text + at, size - at);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Parses the whole text as one object; the caller deletes *root. */
static lot_status parse(const char *json, size_t size, cJSON **root, lot_error *error)
{
    const char *end = json;
    cJSON *parsed;

    if (size > JSON_MOST)
        return lot_error_set(error, LOT_DAMAGED, "cJSON_Parse", 0, "record: %zu bytes are too many", size);
    if (!is_utf8(json, size))
        return lot_error_set(error, LOT_DAMAGED, "record", 0, "record: it is not UTF-8");
    parsed = cJSON_ParseWithLengthOpts(json, size, &end, 0);
    while (parsed != NULL && end < json + size && is_blank(*end))
        end++;
    if (!cJSON_IsObject(parsed) || end != json + size) {
        cJSON_Delete(parsed);
        return lot_error_set(error, LOT_DAMAGED, "cJSON_Parse", 0,
                             "record: not one JSON object (at byte %zu of %zu)", (size_t)(end - json), size);
    }
    *root = parsed;
    return LOT_OK;
}

/* Reads a record, complete or only its head. */
static lot_status read_any(const char *json, size_t size, bool complete, lot_record *record, lot_error *error)
{
    lot_record read;
    cJSON *root = NULL;
    lot_status status = parse(json, size, &root, error);

    if (status != LOT_OK)
        return status;
    lot_record_init(&read);
    status = read_record(root, &read, error);
    cJSON_Delete(root);
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
    cJSON *root = NULL;
    lot_status status = parse(json, size, &root, error);

    if (status != LOT_OK)
        return status;
    status = read_phase(root, record, error);
    cJSON_Delete(root);
    if (status != LOT_OK)
        record->phase_count = before;
    return status;
}
