#include "core/field.h"

#include <math.h>
#include <string.h>

static void clear_one(const lot_field *field, void *at)
{
    const int64_t no_integer = LOT_NULL_I64;
    const double no_number = NAN;
    const int8_t no_answer = LOT_NULL_BOOL;

    switch (field->kind) {
    case LOT_KIND_I64:
        memcpy(at, &no_integer, sizeof no_integer);
        break;
    case LOT_KIND_F64:
        memcpy(at, &no_number, sizeof no_number);
        break;
    case LOT_KIND_STR:
        memset(at, 0, field->size);
        break;
    case LOT_KIND_BOOL:
        memcpy(at, &no_answer, sizeof no_answer);
        break;
    }
}

void lot_fields_clear(const lot_fields *fields, void *record)
{
    /* Padding too: rows are written and compared as bytes. */
    memset((char *)record + fields->offset, 0, fields->size);
    for (size_t i = 0; i < fields->count; i++)
        clear_one(&fields->fields[i], (char *)record + fields->offset + fields->fields[i].offset);
}

bool lot_field_is_null(const lot_field *field, const void *record)
{
    const char *at = (const char *)record + field->offset;
    int64_t integer;
    double number;

    switch (field->kind) {
    case LOT_KIND_I64:
        memcpy(&integer, at, sizeof integer);
        return integer == LOT_NULL_I64;
    case LOT_KIND_F64:
        memcpy(&number, at, sizeof number);
        return isnan(number);
    case LOT_KIND_STR:
        return at[0] == '\0';
    case LOT_KIND_BOOL:
        return *(const int8_t *)at == LOT_NULL_BOOL;
    }
    return true;
}

const lot_field *lot_fields_beyond(const lot_fields *fields, const void *record)
{
    for (size_t i = 0; i < fields->count; i++) {
        const lot_field *field = &fields->fields[i];
        const char *at = (const char *)record + fields->offset + field->offset;
        int64_t integer = 0;
        double number = 0;

        if (field->kind == LOT_KIND_I64)
            memcpy(&integer, at, sizeof integer);
        else if (field->kind == LOT_KIND_F64 && field->unit[0] != '\0')
            memcpy(&number, at, sizeof number);
        if (integer < LOT_NULL_I64 || fabs(number) > LOT_QUANTITY_MOST)
            return field;
    }
    return NULL;
}

const lot_field *lot_fields_find(const lot_fields *fields, const char *name)
{
    for (size_t i = 0; i < fields->count; i++)
        if (strcmp(fields->fields[i].name, name) == 0)
            return &fields->fields[i];
    return NULL;
}

bool lot_field_set(char *destination, size_t size, const char *text, size_t length)
{
    const bool fits = length < size;

    if (!fits) {
        length = size - 1;
        while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80)
            length--;
    }
    memcpy(destination, text, length);
    destination[length] = '\0';
    return fits;
}

bool lot_field_copy(char *destination, size_t size, const char *text)
{
    return lot_field_set(destination, size, text, strlen(text));
}

const char *lot_field_shown(const char *text)
{
    return text[0] != '\0' ? text : "-";
}
