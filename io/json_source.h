/* The values of a record as they are read from its JSON, with one line for each fault. */
#ifndef GPULOT_IO_JSON_SOURCE_H
#define GPULOT_IO_JSON_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/field.h"
#include "core/record.h"
#include "io/json_read.h"

typedef struct lot_json_source {
    lot_json_reader in;
    lot_record *record; /* what is filled */
    lot_error *error;   /* what a fault is told to */
} lot_json_source;

/* LOT_DAMAGED: the text is not JSON from source->in.at on; LOT_MEMORY where memory ran out over it. */
lot_status lot_json_source_broken(lot_json_source *source);
lot_status lot_json_source_no_memory(lot_json_source *source);

/* LOT_DAMAGED, "WHERE.NAME is not EXPECTED", or lot_json_source_broken where reading it failed. */
lot_status lot_json_source_wrong(lot_json_source *source, const char *where, const char *name,
                                 const char *expected);

/* LOT_DAMAGED, "WHERE.NAME is there twice". */
lot_status lot_json_source_twice(lot_json_source *source, const char *where, const char *name);

/* Passes over one value. */
lot_status lot_json_source_skip(lot_json_source *source);

/* Each takes one value; false where it is another kind or not JSON. An integer may be a string of one, as it
 * is written above 2^53; a number may be "Infinity" or "-Infinity"; a text is cut to `size`. */
bool lot_json_source_integer(lot_json_source *source, int64_t *value);
bool lot_json_source_number(lot_json_source *source, double *value);
bool lot_json_source_text(lot_json_source *source, char *text, size_t size);

/* Reads the value of a member of `base` that is none of the fields. */
typedef lot_status lot_json_source_other(lot_json_source *source, const lot_json_piece *name, void *base);

/* Fills the fields, at most 64, of `base` from an object's members, which may come in any order but each only
 * once; missing and null ones stay as they are. `other` takes the members that are no fields; NULL passes
 * over them. */
lot_status lot_json_source_fields(lot_json_source *source, const lot_fields *fields, void *base,
                                  lot_json_source_other *other);

#endif
