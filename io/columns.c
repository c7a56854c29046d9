#include "io/columns.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void add(lot_columns *columns, const char *prefix, const lot_field *field, size_t offset)
{
    lot_column *column = &columns->items[columns->count];

    assert(columns->count < LOT_COLUMNS_MAX);
    (void)snprintf(column->name, sizeof column->name, "%s%s%s", prefix, prefix[0] != '\0' ? "_" : "",
                   field->name);
    column->field = field;
    column->from = offset + field->offset;
    column->at = columns->row_bytes;
    columns->row_bytes += field->size;
    columns->count++;
}

static void add_all(lot_columns *columns, const char *prefix, const lot_fields *fields, size_t offset)
{
    for (size_t i = 0; i < fields->count; i++)
        add(columns, prefix, &fields->fields[i], offset);
}

static void begin(lot_columns *columns, const char *table)
{
    memset(columns, 0, sizeof *columns);
    columns->table = table;
}

void lot_columns_devices(lot_columns *columns)
{
    size_t count;
    const lot_fields *sections = lot_record_sections(&count);

    begin(columns, "devices");
    for (size_t i = 0; i < count; i++)
        add_all(columns, strcmp(sections[i].name, "identity") == 0 ? "" : sections[i].name, &sections[i],
                sections[i].offset);
}

void lot_columns_phases(lot_columns *columns)
{
    begin(columns, "phases");
    add_all(columns, "", lot_phase_fields(), lot_phase_fields()->offset);
}

void lot_columns_phase_telemetry(lot_columns *columns)
{
    begin(columns, "phase_telemetry");
    add(columns, "", lot_fields_find(lot_phase_fields(), "rank"), 0);
    add(columns, "", lot_fields_find(lot_phase_fields(), "row"), 0);
    add_all(columns, "", lot_telemetry_fields(), lot_telemetry_fields()->offset);
}

void lot_columns_samples(lot_columns *columns)
{
    static const lot_field rank = {"rank",
                                   "",
                                   "position of the rank in the run, from 0",
                                   LOT_KIND_I64,
                                   offsetof(lot_sample_row, rank),
                                   sizeof(int64_t)};
    static const lot_field seconds = {"seconds",
                                      "s",
                                      "of the sample, since the rank's start, as start_seconds of /phases",
                                      LOT_KIND_F64,
                                      offsetof(lot_sample_row, sample.seconds),
                                      sizeof(double)};

    begin(columns, "telemetry");
    add(columns, "", &rank, 0);
    add(columns, "", &seconds, 0);
    add_all(columns, "", lot_telemetry_fields(), offsetof(lot_sample_row, sample.telemetry));
}

const lot_column *lot_columns_find(const lot_columns *columns, const char *name)
{
    for (size_t i = 0; i < columns->count; i++)
        if (strcmp(columns->items[i].name, name) == 0)
            return &columns->items[i];
    return NULL;
}

void lot_columns_pack(const lot_columns *columns, const void *record, void *row)
{
    for (size_t i = 0; i < columns->count; i++) {
        const lot_column *column = &columns->items[i];
        const char *from = (const char *)record + column->from;
        char *to = (char *)row + column->at;

        if (column->field->kind == LOT_KIND_STR) {
            /* What stands behind a text's end is nobody's business and would differ from run to run. */
            const size_t length = strnlen(from, column->field->size - 1);

            memcpy(to, from, length);
            memset(to + length, 0, column->field->size - length);
        } else {
            memcpy(to, from, column->field->size);
        }
    }
}

void lot_columns_unpack(const lot_columns *columns, const void *row, void *record)
{
    for (size_t i = 0; i < columns->count; i++) {
        const lot_column *column = &columns->items[i];
        char *to = (char *)record + column->from;

        memcpy(to, (const char *)row + column->at, column->field->size);
        if (column->field->kind == LOT_KIND_STR)
            to[column->field->size - 1] = '\0';
        else if (column->field->kind == LOT_KIND_BOOL && *to != 0 && *to != 1)
            *to = LOT_NULL_BOOL;
    }
}

bool lot_telemetry_is_null(const lot_telemetry *telemetry)
{
    const lot_fields *fields = lot_telemetry_fields();

    for (size_t i = 0; i < fields->count; i++)
        if (!lot_field_is_null(&fields->fields[i], telemetry))
            return false;
    return true;
}
