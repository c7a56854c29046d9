/* Fields of plain structs, described once.
 *
 * A struct of plain numbers and short fixed strings is declared as one X-macro list; from that list come the
 * struct itself, its JSON, its HDF5 compound type, its CSV columns, its documentation and its tests. So a new
 * number is one new line.
 *
 *     #define LOT_THING_FIELDS(X)                                                   \
 *         X(I64, rank, 0, "", "position in the run, from 0")                        \
 *         X(F64, host_seconds, 0, "s", "host clock around the phase")               \
 *         X(STR, phase, 16, "", "name of the phase")
 *     typedef struct lot_thing { LOT_FIELDS_DECLARE(LOT_THING_FIELDS) } lot_thing;
 *
 * Kinds and their "not measured" value (`null` in JSON):
 *     I64   int64_t, -1      every integer here is a count, a size or an index
 *     F64   double, NaN
 *     STR   char[size], ""   UTF-8, always terminated
 *     BOOL  int8_t, -1       else 0 or 1
 */
#ifndef GPULOT_CORE_FIELD_H
#define GPULOT_CORE_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum lot_kind { LOT_KIND_I64, LOT_KIND_F64, LOT_KIND_STR, LOT_KIND_BOOL } lot_kind;

#define LOT_NULL_I64  ((int64_t)-1)
#define LOT_NULL_BOOL ((int8_t)-1)

typedef struct lot_field {
    const char *name; /* as in JSON and HDF5 */
    const char *unit; /* UCUM-like: "s", "By", "W", "Cel", "MHz", "ns", "J", "%"; "" where there is none */
    const char *help; /* one line */
    lot_kind kind;
    size_t offset; /* in its struct */
    size_t size;   /* bytes in its struct; for STR with the terminator */
} lot_field;

/* A list of fields together with where its struct lies inside a larger one. */
typedef struct lot_fields {
    const char *name; /* section name in JSON: "identity" */
    const lot_field *fields;
    size_t count;
    size_t offset; /* of the struct in its container; 0 where it stands alone */
    size_t size;   /* of the struct */
} lot_fields;

/* One named value on its own, for lists whose names are not fixed: an option's effective value. */
typedef struct lot_setting {
    char name[32];
    lot_kind kind;
    int64_t integer; /* I64 and BOOL */
    double number;   /* F64 */
    char text[160];  /* STR */
} lot_setting;

#define LOT_FIELD_C_I64(name, size)  int64_t name;
#define LOT_FIELD_C_F64(name, size)  double name;
#define LOT_FIELD_C_STR(name, size)  char name[size];
#define LOT_FIELD_C_BOOL(name, size) int8_t name;

#define LOT_FIELD_DECLARE(kind, name, size, unit, help) LOT_FIELD_C_##kind(name, size)
#define LOT_FIELDS_DECLARE(LIST)                        LIST(LOT_FIELD_DECLARE)

/* Sets every field to "not measured". */
void lot_fields_clear(const lot_fields *fields, void *record);

/* True where the field at `record` holds "not measured". */
bool lot_field_is_null(const lot_field *field, const void *record);

/* No quantity with a unit is larger, and no time that passed is smaller but 0: so no sum, ratio or rate of
 * such numbers leaves a double. */
#define LOT_QUANTITY_MOST 1e18
#define LOT_TIME_LEAST    1e-18

/* The first field that holds what nothing can be: with a unit a number larger than LOT_QUANTITY_MOST to
 * either side, or infinite; an integer below "not measured". NULL where there is none. `record` is what
 * `fields->offset` counts from. */
const lot_field *lot_fields_beyond(const lot_fields *fields, const void *record);

/* The field with that name, or NULL. */
const lot_field *lot_fields_find(const lot_fields *fields, const char *name);

/* Copies `text` into a fixed string field, cut at a UTF-8 character boundary where it is too long.
 * Returns false where it was cut. `size` counts the terminator. */
bool lot_field_copy(char *destination, size_t size, const char *text);

/* The same for the `length` bytes at `text`, which need no terminator and hold none. */
bool lot_field_set(char *destination, size_t size, const char *text, size_t length);

/* The text of a field as people read it: "-" where it is not measured. */
const char *lot_field_shown(const char *text);

#endif
