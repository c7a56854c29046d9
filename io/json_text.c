#include "io/json_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/field.h"
#include "core/utf8.h"

#define EXACT_INTEGER (INT64_C(1) << 53)

void lot_json_free(lot_json_text *text)
{
    free(text->data);
    memset(text, 0, sizeof *text);
}

void lot_json_reset(lot_json_text *text)
{
    text->size = 0;
    text->failed = false;
    text->comma = false;
    if (text->data != NULL)
        text->data[0] = '\0';
}

static lot_status no_memory(const char *subject, lot_error *error)
{
    return lot_error_set(error, LOT_MEMORY, "realloc", 0, "no memory for %s as JSON", subject);
}

lot_status lot_json_finish(lot_json_text *text, const char *subject, char **json, lot_error *error)
{
    if (text->failed) {
        lot_json_free(text);
        return no_memory(subject, error);
    }
    *json = text->data;
    *text = (lot_json_text){0};
    return LOT_OK;
}

lot_status lot_json_print(lot_json_text *text, const char *subject, lot_error *error)
{
    char *json = NULL;
    const lot_status status = lot_json_finish(text, subject, &json, error);

    if (status == LOT_OK)
        printf("%s\n", json);
    free(json);
    return status;
}

lot_status lot_json_hand_on(lot_json_text *text, FILE *out, const char *subject, lot_error *error)
{
    const bool comma = text->comma;

    if (text->failed)
        return no_memory(subject, error);
    (void)fwrite(text->data, 1, text->size, out);
    lot_json_reset(text);
    text->comma = comma;
    return LOT_OK;
}

/* Room for `more` bytes and the terminator; NULL without memory. */
static char *reserve(lot_json_text *text, size_t more)
{
    size_t capacity = text->capacity == 0 ? 1024 : text->capacity;
    char *grown;

    if (text->failed)
        return NULL;
    while (more >= capacity - text->size && capacity <= SIZE_MAX / 2)
        capacity *= 2;
    if (capacity > text->capacity) {
        grown = more < capacity - text->size ? realloc(text->data, capacity) : NULL;
        if (grown == NULL) {
            text->failed = true;
            return NULL;
        }
        text->data = grown;
        text->capacity = capacity;
    }
    return text->data + text->size;
}

static void add(lot_json_text *text, const char *bytes, size_t size)
{
    char *at = reserve(text, size);

    if (at == NULL)
        return;
    memcpy(at, bytes, size);
    at[size] = '\0';
    text->size += size;
}

/* What must stand before a value or a key. */
static void separate(lot_json_text *text)
{
    if (text->comma)
        add(text, ",", 1);
    text->comma = true;
}

void lot_json_open(lot_json_text *text, char bracket)
{
    separate(text);
    add(text, &bracket, 1);
    text->comma = false;
}

void lot_json_close(lot_json_text *text, char bracket)
{
    add(text, &bracket, 1);
    text->comma = true;
}

static bool plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\';
}

/* Adds the one character at `at` that does not stand for itself in JSON; returns its bytes. */
static size_t add_character(lot_json_text *text, const char *at)
{
    const size_t size = lot_utf8_character(at, strnlen(at, 4));
    char escape[8];

    if (size == 0)
        add(text, "\xEF\xBF\xBD", 3);
    else if (lot_utf8_control(at, size)) /* of two bytes the second is the number */
        add(text, escape,
            (size_t)snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(unsigned char)at[size - 1]));
    else if (size > 1)
        add(text, at, size);
    else
        add(text, escape, (size_t)snprintf(escape, sizeof escape, "\\%c", *at));
    return size == 0 ? 1 : size;
}

static void add_string(lot_json_text *text, const char *value)
{
    const char *at = value;

    add(text, "\"", 1);
    while (*at != '\0') {
        size_t size = 0;

        while (plain((unsigned char)at[size]))
            size++;
        if (size > 0)
            add(text, at, size);
        at += size > 0 ? size : add_character(text, at);
    }
    add(text, "\"", 1);
}

void lot_json_key(lot_json_text *text, const char *name)
{
    separate(text);
    add_string(text, name);
    add(text, ":", 1);
    text->comma = false;
}

void lot_json_string(lot_json_text *text, const char *value)
{
    separate(text);
    add_string(text, value);
}

void lot_json_integer(lot_json_text *text, int64_t value)
{
    const bool quoted = value > EXACT_INTEGER || value < -EXACT_INTEGER;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    char digits[24];
    size_t at = sizeof digits;

    if (quoted)
        digits[--at] = '"';
    do
        digits[--at] = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (value < 0)
        digits[--at] = '-';
    if (quoted)
        digits[--at] = '"';
    separate(text);
    add(text, digits + at, sizeof digits - at);
}

void lot_json_print_number(char text[LOT_JSON_NUMBER_SIZE], double value)
{
    for (int precision = 15; precision <= 17; precision++) {
        (void)snprintf(text, LOT_JSON_NUMBER_SIZE, "%.*g", precision, value);
        if (strtod(text, NULL) == value)
            break;
    }
}

void lot_json_number(lot_json_text *text, double value)
{
    char digits[LOT_JSON_NUMBER_SIZE];

    if (isnan(value)) {
        lot_json_null(text);
        return;
    }
    if (isinf(value)) {
        lot_json_string(text, value > 0 ? "Infinity" : "-Infinity");
        return;
    }
    lot_json_print_number(digits, value);
    separate(text);
    add(text, digits, strlen(digits));
}

void lot_json_bool(lot_json_text *text, bool value)
{
    separate(text);
    add(text, value ? "true" : "false", value ? 4 : 5);
}

void lot_json_null(lot_json_text *text)
{
    separate(text);
    add(text, "null", 4);
}

void lot_json_raw(lot_json_text *text, const char *json, size_t size)
{
    separate(text);
    add(text, json, size);
}

void lot_json_member_text(lot_json_text *text, const char *name, const char *value)
{
    lot_json_key(text, name);
    if (value[0] == '\0')
        lot_json_null(text);
    else
        lot_json_string(text, value);
}

void lot_json_member_integer(lot_json_text *text, const char *name, int64_t value)
{
    lot_json_key(text, name);
    if (value == LOT_NULL_I64)
        lot_json_null(text);
    else
        lot_json_integer(text, value);
}

void lot_json_member_number(lot_json_text *text, const char *name, double value)
{
    lot_json_key(text, name);
    lot_json_number(text, value);
}

void lot_json_member_bool(lot_json_text *text, const char *name, bool value)
{
    lot_json_key(text, name);
    lot_json_bool(text, value);
}
