/* Records of a CSV text (RFC 4180, by libcsv) with the line that each begins on. The only user of libcsv. */
#ifndef GPULOT_IO_TABLE_CSV_H
#define GPULOT_IO_TABLE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/error.h"

#define LOT_TABLE_FIELDS_MAX 256
#define LOT_TABLE_RECORD_MAX 65536 /* bytes, the line's end included */

/* Who is told what a text holds, in order. Texts are valid during the call; lines count from 1. */
typedef struct lot_table_listener {
    /* A record; fields are UTF-8, terminated, and hold no control character but a tab and, where quoted, a
     * line break. Returns false where there is no memory to keep it, which ends the reading. */
    bool (*record)(void *context, int64_t line, const char *const *fields, size_t count);
    /* A line that begins with '#' outside a record, without the '#' and the line's end. NULL: there are no
     * comments, '#' begins a record like any other character. */
    void (*comment)(void *context, int64_t line, const char *text);
    /* Something that is not RFC 4180 in UTF-8, in a record or in a comment; the reading goes on after it. */
    void (*fault)(void *context, int64_t line, bool in_comment, const char *text);
    void *context;
} lot_table_listener;

/* Reads `size` bytes. A byte order mark, CRLF and blank lines are accepted, as is a last line without an end.
 * Blanks belong to the field that they stand in. Returns LOT_OK whatever the faults, LOT_MEMORY where memory
 * ran out. */
lot_status lot_table_read(const char *bytes, size_t size, const lot_table_listener *listener,
                          lot_error *error);

/* Writes one field, in quotes where it needs them. Write errors stay in `out`. */
void lot_table_write_field(FILE *out, const char *text);

#endif
