/* JSON text, written piece by piece into memory that grows.
 *
 * A printer of our own because a library's rounds doubles (cJSON compares with a tolerance before it stops
 * adding digits) and passes bytes on that are not UTF-8. Records are read by io/json_read, small documents by
 * cJSON.
 *
 *     lot_json_text text = {0};
 *     lot_json_open(&text, '{');
 *     lot_json_key(&text, "ranks");
 *     lot_json_integer(&text, 2);
 *     lot_json_close(&text, '}');
 *     if (text.failed) ... no memory
 *     lot_json_free(&text);
 *
 * Commas are set by these functions, blanks and line breaks by none: what a command prints, an archive keeps
 * or a file of JSON Lines holds is laid out alike. Nothing is checked but memory: a missing close gives
 * broken JSON. */
#ifndef GPULOT_IO_JSON_TEXT_H
#define GPULOT_IO_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/error.h"

typedef struct lot_json_text {
    char *data;  /* owned; terminated after every call that did not fail; NULL before the first */
    size_t size; /* without the terminator */
    size_t capacity;
    bool failed; /* memory ran out: the text is not usable, further calls do nothing */
    bool comma;  /* an item stands before the next one */
} lot_json_text;

/* Frees the text and makes it empty and usable again. */
void lot_json_free(lot_json_text *text);

/* Makes the text empty and keeps its memory. */
void lot_json_reset(lot_json_text *text);

/* Hands the whole text over as *json, to be freed by the caller, and makes *text empty. LOT_MEMORY, "no
 * memory for SUBJECT as JSON", where it failed. */
lot_status lot_json_finish(lot_json_text *text, const char *subject, char **json, lot_error *error);

/* Prints the whole text on standard output as one line, as every command does, and frees it. LOT_MEMORY, with
 * nothing printed. */
lot_status lot_json_print(lot_json_text *text, const char *subject, lot_error *error);

/* Writes to `out` what there is so far and makes the text empty; what comes next goes on behind it. For
 * answers that may be too long for memory. LOT_MEMORY, with nothing written. */
lot_status lot_json_hand_on(lot_json_text *text, FILE *out, const char *subject, lot_error *error);

/* '{' or '[', and '}' or ']'. */
void lot_json_open(lot_json_text *text, char bracket);
void lot_json_close(lot_json_text *text, char bracket);

/* The name of the member whose value comes next. */
void lot_json_key(lot_json_text *text, const char *name);

/* A string; bytes that are not UTF-8 become U+FFFD, control characters are escaped, C1 too. */
void lot_json_string(lot_json_text *text, const char *value);

/* An integer; above 2^53 in size as a string, since readers that hold numbers as doubles would change it. */
void lot_json_integer(lot_json_text *text, int64_t value);

/* The shortest decimal notation of at least 15 digits that reads back to the same bits; null for NaN,
 * "Infinity" and "-Infinity" as strings. */
void lot_json_number(lot_json_text *text, double value);

/* That notation alone, for a number that is not NaN; infinities as inf and -inf. */
#define LOT_JSON_NUMBER_SIZE 40
void lot_json_print_number(char text[LOT_JSON_NUMBER_SIZE], double value);

void lot_json_bool(lot_json_text *text, bool value);
void lot_json_null(lot_json_text *text);

/* JSON that is complete already, unchanged. */
void lot_json_raw(lot_json_text *text, const char *json, size_t size);

/* A key with its value. What is not known is null: an empty text, LOT_NULL_I64, NaN. */
void lot_json_member_text(lot_json_text *text, const char *name, const char *value);
void lot_json_member_integer(lot_json_text *text, const char *name, int64_t value);
void lot_json_member_number(lot_json_text *text, const char *name, double value);
void lot_json_member_bool(lot_json_text *text, const char *name, bool value);

#endif
