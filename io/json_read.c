#include "io/json_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/decimal.h"
#include "core/utf8.h"

#define DEEPEST 64

bool lot_json_read_begin(lot_json_reader *reader, const char *text, size_t size)
{
    memset(reader, 0, sizeof *reader);
    reader->text = reader->at = text;
    reader->end = text + size;
    reader->failed = !lot_utf8_valid(text, size);
    return !reader->failed;
}

void lot_json_read_free(lot_json_reader *reader)
{
    free(reader->unescaped);
    memset(reader, 0, sizeof *reader);
}

void lot_json_read_again(lot_json_reader *reader)
{
    reader->at = reader->text;
    reader->depth = 0;
}

static bool fail(lot_json_reader *reader)
{
    reader->failed = true;
    return false;
}

static void pass_blanks(lot_json_reader *reader)
{
    while (reader->at < reader->end &&
           (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\n' || *reader->at == '\r'))
        reader->at++;
}

/* The next character, 0 at the end or after a failure; not taken. */
static char peek(lot_json_reader *reader)
{
    pass_blanks(reader);
    return reader->failed || reader->at == reader->end ? '\0' : *reader->at;
}

bool lot_json_read_end(lot_json_reader *reader)
{
    pass_blanks(reader);
    return !reader->failed && (reader->at == reader->end || fail(reader));
}

lot_json_kind lot_json_read_kind(lot_json_reader *reader)
{
    const char next = peek(reader);

    switch (next) {
    case '{':
        return LOT_JSON_OBJECT;
    case '[':
        return LOT_JSON_ARRAY;
    case '"':
        return LOT_JSON_STRING;
    case 't':
        return LOT_JSON_TRUE;
    case 'f':
        return LOT_JSON_FALSE;
    case 'n':
        return LOT_JSON_NULL;
    default:
        return next == '-' || (next >= '0' && next <= '9') ? LOT_JSON_NUMBER : LOT_JSON_NOTHING;
    }
}

bool lot_json_read_enter(lot_json_reader *reader, char bracket)
{
    if (peek(reader) != bracket || reader->depth == DEEPEST)
        return fail(reader);
    reader->at++;
    reader->depth++;
    reader->first = true;
    return true;
}

/* Takes what stands before the next item, or the bracket that ends the list. */
static bool another(lot_json_reader *reader, char bracket)
{
    const char next = peek(reader);

    if (next == bracket) {
        reader->at++;
        reader->depth--;
        reader->first = false;
        return false;
    }
    if (!reader->first && next != ',')
        return fail(reader);
    reader->at += reader->first ? 0 : 1;
    reader->first = false;
    return !reader->failed;
}

bool lot_json_read_item(lot_json_reader *reader)
{
    return another(reader, ']');
}

bool lot_json_read_member(lot_json_reader *reader, lot_json_piece *name)
{
    if (!another(reader, '}') || !lot_json_read_string(reader, name))
        return false;
    if (peek(reader) != ':')
        return fail(reader);
    reader->at++;
    return true;
}

/* ---- strings ---- */

/* Bytes from `at` on that stand for themselves in a string, eight at a time where none of the eight ends it.
 */
static size_t plain_bytes(const char *at, const char *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7;
    const char *start = at;

    while (end - at >= 8) {
        uint64_t word, quote, slash;

        memcpy(&word, at, sizeof word);
        quote = word ^ (ones * '"');
        slash = word ^ (ones * '\\');
        /* The high bit of each byte that is below 0x20, a quote or a backslash; a borrow may mark another
         * byte beside one of them, never one alone. */
        if ((((word - ones * 0x20) & ~word) | ((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & highs)
            break;
        at += 8;
    }
    while (at < end && (unsigned char)*at >= 0x20 && *at != '"' && *at != '\\')
        at++;
    return (size_t)(at - start);
}

/* Four hexadecimal digits; -1 where they are none. */
static long hexadecimal(const char *at, const char *end)
{
    long value = 0;

    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *digit = at[i] == '\0' ? NULL : strchr(digits, at[i]);

        if (digit == NULL)
            return -1;
        value = value * 16 + (digit - digits) % 16;
    }
    return value;
}

static size_t put_utf8(char *to, long character)
{
    if (character < 0x80) {
        to[0] = (char)character;
        return 1;
    }
    if (character < 0x800) {
        to[0] = (char)(0xC0 | character >> 6);
        to[1] = (char)(0x80 | (character & 0x3F));
        return 2;
    }
    if (character < 0x10000) {
        to[0] = (char)(0xE0 | character >> 12);
        to[1] = (char)(0x80 | (character >> 6 & 0x3F));
        to[2] = (char)(0x80 | (character & 0x3F));
        return 3;
    }
    to[0] = (char)(0xF0 | character >> 18);
    to[1] = (char)(0x80 | (character >> 12 & 0x3F));
    to[2] = (char)(0x80 | (character >> 6 & 0x3F));
    to[3] = (char)(0x80 | (character & 0x3F));
    return 4;
}

/* Takes the \uXXXX at `at`, or two of them that are one character; 0 where they are none. */
static long unicode_escape(lot_json_reader *reader)
{
    const long first = hexadecimal(reader->at + 2, reader->end);
    long second;

    if (first < 0 || (first >= 0xDC00 && first < 0xE000))
        return 0;
    reader->at += 6;
    if (first < 0xD800 || first >= 0xE000)
        return first;
    if (reader->end - reader->at < 6 || reader->at[0] != '\\' || reader->at[1] != 'u')
        return 0;
    second = hexadecimal(reader->at + 2, reader->end);
    reader->at += 6;
    return second >= 0xDC00 && second < 0xE000 ? 0x10000 + ((first - 0xD800) << 10) + second - 0xDC00 : 0;
}

/* Takes one escape and puts what it stands for at `to`, at most four bytes; 0 where it is none. */
static size_t take_escape(lot_json_reader *reader, char *to)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char name = reader->end - reader->at < 2 ? '\0' : reader->at[1];
    const char *known = name == '\0' ? NULL : strchr(names, name);

    if (known != NULL) {
        to[0] = values[known - names];
        reader->at += 2;
        return 1;
    }
    if (name == 'u') {
        const long character = unicode_escape(reader);

        return character == 0 ? 0 : put_utf8(to, character);
    }
    return 0;
}

/* Room in `unescaped` for `size` bytes. */
static bool make_room(lot_json_reader *reader, size_t size)
{
    char *grown;

    if (size <= reader->capacity)
        return true;
    grown = realloc(reader->unescaped, size);
    if (grown == NULL) {
        reader->no_memory = true;
        return fail(reader);
    }
    reader->unescaped = grown;
    reader->capacity = size;
    return true;
}

/* The rest of a string from its first escape on, `before` bytes of which stand before `at`. */
static bool unescape(lot_json_reader *reader, size_t before, lot_json_piece *piece)
{
    const char *quote = reader->at;
    size_t size = before;

    /* What is written is never shorter than what it stands for. */
    while (quote < reader->end && *quote != '"')
        quote += *quote == '\\' && reader->end - quote > 1 ? 2 : 1;
    if (quote == reader->end || !make_room(reader, (size_t)(quote - reader->at) + before))
        return fail(reader);
    memcpy(reader->unescaped, reader->at - before, before);
    while (*reader->at != '"') {
        const size_t plain = plain_bytes(reader->at, quote);
        size_t step = plain;

        if (plain > 0) {
            memcpy(reader->unescaped + size, reader->at, plain);
            reader->at += plain;
        } else if (*reader->at == '\\') {
            step = take_escape(reader, reader->unescaped + size);
        }
        if (step == 0)
            return fail(reader);
        size += step;
    }
    reader->at++;
    piece->text = reader->unescaped;
    piece->size = size;
    return true;
}

bool lot_json_read_string(lot_json_reader *reader, lot_json_piece *piece)
{
    size_t size;

    if (peek(reader) != '"')
        return fail(reader);
    reader->at++;
    size = plain_bytes(reader->at, reader->end);
    piece->text = reader->at;
    piece->size = size;
    reader->at += size;
    if (reader->at < reader->end && *reader->at == '\\')
        return unescape(reader, size, piece);
    if (reader->at == reader->end || *reader->at != '"')
        return fail(reader);
    reader->at++;
    return true;
}

bool lot_json_piece_is(const lot_json_piece *piece, const char *text)
{
    return strncmp(piece->text, text, piece->size) == 0 && text[piece->size] == '\0';
}

/* ---- numbers ---- */

/* A number as it is written: digits * 10^exponent. */
typedef struct notation {
    const char *start;
    bool negative;
    uint64_t digits;
    size_t count; /* of digits, without leading zeros; above 19 `digits` is not all of them */
    int64_t exponent;
} notation;

static bool is_digit(const lot_json_reader *reader)
{
    return reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9';
}

/* Takes digits, at least one. */
static bool take_digits(lot_json_reader *reader, notation *number)
{
    const char *at = reader->at;
    uint64_t digits = number->digits;
    size_t count = number->count;

    for (; at < reader->end && *at >= '0' && *at <= '9'; at++) {
        const uint64_t digit = (uint64_t)(*at - '0');

        if (count < 19)
            digits = digits * 10 + digit;
        count += count > 0 || digit > 0 ? 1 : 0;
    }
    if (at == reader->at)
        return false;
    reader->at = at;
    number->digits = digits;
    number->count = count;
    return true;
}

static bool take_exponent(lot_json_reader *reader, notation *number)
{
    bool negative = false;
    int64_t exponent = 0;

    reader->at++;
    if (reader->at < reader->end && (*reader->at == '+' || *reader->at == '-'))
        negative = *reader->at++ == '-';
    if (!is_digit(reader))
        return false;
    for (; is_digit(reader); reader->at++)
        if (exponent < INT64_C(1) << 40) /* beyond any number of digits after the point */
            exponent = exponent * 10 + (*reader->at - '0');
    number->exponent += negative ? -exponent : exponent;
    return true;
}

static bool take_notation(lot_json_reader *reader, notation *number)
{
    const char *dot;

    number->start = reader->at;
    number->negative = *reader->at == '-';
    reader->at += number->negative ? 1 : 0;
    if (is_digit(reader) && *reader->at == '0')
        reader->at++; /* nothing may follow a zero in front */
    else if (!take_digits(reader, number))
        return false;
    if (reader->at < reader->end && *reader->at == '.') {
        dot = ++reader->at;
        if (!take_digits(reader, number))
            return false;
        number->exponent = -(int64_t)(reader->at - dot);
    }
    if (reader->at < reader->end && (*reader->at == 'e' || *reader->at == 'E'))
        return take_exponent(reader, number);
    return !is_digit(reader);
}

/* What is neither short nor simple is the C library's, which wants a terminated text. */
static bool convert(lot_json_reader *reader, const notation *number, double *value)
{
    const size_t size = (size_t)(reader->at - number->start);

    if (!make_room(reader, size + 1))
        return false;
    memcpy(reader->unescaped, number->start, size);
    reader->unescaped[size] = '\0';
    *value = fabs(strtod(reader->unescaped, NULL));
    return isfinite(*value) || fail(reader);
}

bool lot_json_read_number(lot_json_reader *reader, lot_json_figure *figure)
{
    const double most = 9007199254740992.0; /* 2^53 */
    notation number = {.digits = 0};
    double value;

    if (peek(reader) == '\0' || !take_notation(reader, &number))
        return fail(reader);
    if (number.count == 0)
        value = 0;
    else if (number.count <= 19 && number.exponent == 0)
        value = (double)number.digits;
    else if (number.count <= 19 && number.exponent < 0 && number.exponent >= -LOT_DECIMAL_POWER_MOST)
        value = lot_decimal_divide(number.digits, (int)-number.exponent);
    else if (!convert(reader, &number, &value))
        return false;
    figure->value = number.negative ? -value : value;
    figure->whole = value <= most && (double)(int64_t)value == value;
    figure->integer = figure->whole ? (int64_t)figure->value : 0;
    return true;
}

/* ---- anything ---- */

static bool take_word(lot_json_reader *reader, const char *word)
{
    const size_t size = strlen(word);

    if ((size_t)(reader->end - reader->at) < size || memcmp(reader->at, word, size) != 0)
        return fail(reader);
    reader->at += size;
    return true;
}

static bool skip_list(lot_json_reader *reader, char bracket)
{
    lot_json_piece name;

    if (!lot_json_read_enter(reader, bracket))
        return false;
    while (bracket == '{' ? lot_json_read_member(reader, &name) : lot_json_read_item(reader))
        if (!lot_json_read_skip(reader))
            return false;
    return !reader->failed;
}

bool lot_json_read_skip(lot_json_reader *reader)
{
    lot_json_piece piece;
    lot_json_figure figure;

    switch (lot_json_read_kind(reader)) {
    case LOT_JSON_OBJECT:
        return skip_list(reader, '{');
    case LOT_JSON_ARRAY:
        return skip_list(reader, '[');
    case LOT_JSON_STRING:
        return lot_json_read_string(reader, &piece);
    case LOT_JSON_NUMBER:
        return lot_json_read_number(reader, &figure);
    case LOT_JSON_TRUE:
        return take_word(reader, "true");
    case LOT_JSON_FALSE:
        return take_word(reader, "false");
    case LOT_JSON_NULL:
        return take_word(reader, "null");
    case LOT_JSON_NOTHING:
        break;
    }
    return fail(reader);
}
