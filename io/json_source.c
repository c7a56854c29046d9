#include "io/json_source.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/options.h"

lot_status lot_json_source_no_memory(lot_json_source *source)
{
    return lot_error_set(source->error, LOT_MEMORY, "realloc", 0, "no memory to read a record");
}

lot_status lot_json_source_broken(lot_json_source *source)
{
    if (source->in.no_memory)
        return lot_json_source_no_memory(source);
    return lot_error_set(
        source->error, LOT_DAMAGED, "record", 0, "record: not one JSON object (at byte %zu of %zu)",
        (size_t)(source->in.at - source->in.text), (size_t)(source->in.end - source->in.text));
}

lot_status lot_json_source_wrong(lot_json_source *source, const char *where, const char *name,
                                 const char *expected)
{
    if (source->in.failed)
        return lot_json_source_broken(source);
    return lot_error_set(source->error, LOT_DAMAGED, "record", 0, "record: %s.%s is not %s", where, name,
                         expected);
}

lot_status lot_json_source_twice(lot_json_source *source, const char *where, const char *name)
{
    return lot_error_set(source->error, LOT_DAMAGED, "record", 0, "record: %s.%s is there twice", where,
                         name);
}

lot_status lot_json_source_skip(lot_json_source *source)
{
    return lot_json_read_skip(&source->in) ? LOT_OK : lot_json_source_broken(source);
}

bool lot_json_source_integer(lot_json_source *source, int64_t *value)
{
    lot_json_figure figure;
    lot_json_piece piece;
    char digits[32];
    const lot_json_kind kind = lot_json_read_kind(&source->in);

    if (kind == LOT_JSON_STRING)
        return lot_json_read_string(&source->in, &piece) &&
               lot_field_set(digits, sizeof digits, piece.text, piece.size) &&
               lot_parse_integer(digits, value);
    if (kind != LOT_JSON_NUMBER || !lot_json_read_number(&source->in, &figure) || !figure.whole)
        return false;
    *value = figure.integer;
    return true;
}

bool lot_json_source_number(lot_json_source *source, double *value)
{
    lot_json_figure figure;
    lot_json_piece piece;

    if (lot_json_read_kind(&source->in) == LOT_JSON_NUMBER && lot_json_read_number(&source->in, &figure)) {
        *value = figure.value;
        return true;
    }
    if (lot_json_read_kind(&source->in) != LOT_JSON_STRING || !lot_json_read_string(&source->in, &piece) ||
        (!lot_json_piece_is(&piece, "Infinity") && !lot_json_piece_is(&piece, "-Infinity")))
        return false;
    *value = piece.text[0] == '-' ? -INFINITY : INFINITY;
    return true;
}

bool lot_json_source_text(lot_json_source *source, char *to, size_t size)
{
    lot_json_piece piece;

    if (lot_json_read_kind(&source->in) != LOT_JSON_STRING || !lot_json_read_string(&source->in, &piece))
        return false;
    (void)lot_field_set(to, size, piece.text, piece.size);
    return true;
}

static bool take_answer(lot_json_source *source, int8_t *value)
{
    const lot_json_kind kind = lot_json_read_kind(&source->in);

    if ((kind != LOT_JSON_TRUE && kind != LOT_JSON_FALSE) || !lot_json_read_skip(&source->in))
        return false;
    *value = kind == LOT_JSON_TRUE;
    return true;
}

static lot_status read_field(lot_json_source *source, const char *where, const lot_field *field, char *at)
{
    int64_t integer;
    double number;
    int8_t answer;

    switch (field->kind) {
    case LOT_KIND_I64:
        if (!lot_json_source_integer(source, &integer))
            return lot_json_source_wrong(source, where, field->name, "a whole number");
        memcpy(at, &integer, sizeof integer);
        break;
    case LOT_KIND_F64:
        if (!lot_json_source_number(source, &number))
            return lot_json_source_wrong(source, where, field->name, "a number");
        memcpy(at, &number, sizeof number);
        break;
    case LOT_KIND_STR:
        if (!lot_json_source_text(source, at, field->size))
            return lot_json_source_wrong(source, where, field->name, "a text");
        break;
    case LOT_KIND_BOOL:
        if (!take_answer(source, &answer))
            return lot_json_source_wrong(source, where, field->name, "true or false");
        memcpy(at, &answer, sizeof answer);
        break;
    }
    return LOT_OK;
}

/* The place of a name among the fields, looked for from `hint` on and around: members in their usual order
 * are found at once, in any order they are found too. fields->count where it is none of them. */
static size_t find_field(const lot_fields *fields, size_t hint, const lot_json_piece *name)
{
    for (size_t i = hint; i < fields->count; i++)
        if (lot_json_piece_is(name, fields->fields[i].name))
            return i;
    for (size_t i = 0; i < hint; i++)
        if (lot_json_piece_is(name, fields->fields[i].name))
            return i;
    return fields->count;
}

lot_status lot_json_source_fields(lot_json_source *source, const lot_fields *fields, void *base,
                                  lot_json_source_other *other)
{
    lot_json_piece name;
    uint64_t seen = 0;
    size_t next = 0;
    lot_status status = LOT_OK;

    assert(fields->count <= 64);
    if (!lot_json_read_enter(&source->in, '{'))
        return lot_json_source_broken(source);
    while (status == LOT_OK && lot_json_read_member(&source->in, &name)) {
        const size_t found = find_field(fields, next, &name);
        const lot_field *field = &fields->fields[found];

        if (found == fields->count) {
            status = other != NULL ? other(source, &name, base) : lot_json_source_skip(source);
            continue;
        }
        next = found + 1;
        if ((seen >> found & 1) != 0)
            return lot_json_source_twice(source, fields->name, field->name);
        seen |= UINT64_C(1) << found;
        status = lot_json_read_kind(&source->in) == LOT_JSON_NULL
                     ? lot_json_source_skip(source)
                     : read_field(source, fields->name, field, (char *)base + fields->offset + field->offset);
    }
    return status == LOT_OK && source->in.failed ? lot_json_source_broken(source) : status;
}
