/* JSON, read from memory piece by piece: what stands there is taken as it comes, and no tree is built.
 *
 * For records, of which rank 0 and every reader of an archive take in a great many: ten times as fast as a
 * library that builds a tree, and stricter. Small documents are cJSON's (io/json_take.h).
 *
 *     lot_json_reader in;
 *     lot_json_read_begin(&in, json, size);
 *     if (lot_json_read_enter(&in, '{'))
 *         while (lot_json_read_member(&in, &name))
 *             if (... name ...) lot_json_read_number(&in, &number);
 *             else lot_json_read_skip(&in);
 *     if (!lot_json_read_end(&in)) ... not JSON from in.at on
 *     lot_json_read_free(&in);
 *
 * The text must be JSON as RFC 8259 has it, in UTF-8, nested at most 64 deep, without U+0000 in its strings
 * and without numbers beyond a double. Every function returns false, and sets `failed`, where it is not;
 * from then on all of them do nothing and return false. Members come in their order; a name that comes twice
 * is handed out twice. */
#ifndef GPULOT_IO_JSON_READ_H
#define GPULOT_IO_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lot_json_reader {
    const char *text;
    const char *at; /* where the next piece is read */
    const char *end;
    char *unescaped; /* owned: what the last string with escapes stood for */
    size_t capacity;
    int depth;      /* objects and arrays around `at` */
    bool first;     /* nothing was read yet of the innermost one */
    bool failed;    /* the text is not JSON, or: */
    bool no_memory; /* memory ran out */
} lot_json_reader;

/* A piece of text, not terminated; it stands until the next name or value is read. */
typedef struct lot_json_piece {
    const char *text;
    size_t size;
} lot_json_piece;

typedef struct lot_json_figure {
    double value;    /* nearest to what is written */
    int64_t integer; /* `value`, where that is whole and at most 2^53 in size */
    bool whole;      /* it is */
} lot_json_figure;

typedef enum lot_json_kind {
    LOT_JSON_NOTHING, /* no value begins here */
    LOT_JSON_OBJECT,
    LOT_JSON_ARRAY,
    LOT_JSON_STRING,
    LOT_JSON_NUMBER,
    LOT_JSON_TRUE,
    LOT_JSON_FALSE,
    LOT_JSON_NULL,
} lot_json_kind;

/* Begins to read `size` bytes, which stay the caller's; lot_json_read_free in every case. Fails where they
 * are not UTF-8, with `at` at their start. */
bool lot_json_read_begin(lot_json_reader *reader, const char *text, size_t size);
void lot_json_read_free(lot_json_reader *reader);

/* Goes back to the start of a text of which nothing failed yet. */
void lot_json_read_again(lot_json_reader *reader);

/* True where nothing but blanks is left and nothing failed. */
bool lot_json_read_end(lot_json_reader *reader);

/* The kind of the value that comes next, which is not taken. */
lot_json_kind lot_json_read_kind(lot_json_reader *reader);

/* Goes into an object '{' or array '['; fails where none comes next. */
bool lot_json_read_enter(lot_json_reader *reader, char bracket);

/* True where another item comes next in the array that was entered last, or another member of the object,
 * whose name is taken; the value must then be read. At the end the bracket is taken, and false returned. */
bool lot_json_read_item(lot_json_reader *reader);
bool lot_json_read_member(lot_json_reader *reader, lot_json_piece *name);

/* True where the piece is exactly this text. */
bool lot_json_piece_is(const lot_json_piece *piece, const char *text);

/* Each takes one value, and fails where another kind comes next. */
bool lot_json_read_string(lot_json_reader *reader, lot_json_piece *piece);
bool lot_json_read_number(lot_json_reader *reader, lot_json_figure *figure);
bool lot_json_read_skip(lot_json_reader *reader); /* any value */

#endif
