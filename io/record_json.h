/* A record as JSON and back. */
#ifndef GPULOT_IO_RECORD_JSON_H
#define GPULOT_IO_RECORD_JSON_H

#include <stddef.h>

#include "core/record.h"
#include "io/json_text.h"

/* Writes the record as compact JSON (UTF-8, no newline) into *json, which the caller frees; *size excludes
 * the terminator. Sections are objects, lists are arrays, phases an array of objects, one a row; "not
 * measured" is null. Doubles read back bit-equal; integers above 2^53 are strings. Fails with LOT_MEMORY, or
 * LOT_DAMAGED where lot_record_check does. */
lot_status lot_record_json_write(const lot_record *record, char **json, size_t *size, lot_error *error);

/* Reads what lot_record_json_write wrote, and anything else without harm: LOT_DAMAGED says what is wrong and
 * where, LOT_SCHEMA names a schema or version that is not read here. Unknown members are ignored, missing
 * ones are "not measured". The kind of a setting is not kept: a whole number is an integer. *record is set on
 * success only; the caller frees it. */
lot_status lot_record_json_read(const char *json, size_t size, lot_record *record, lot_error *error);

/* The parts that a spool is made of. A head is the record without phases and samples and is not checked: it
 * is written before there is an outcome. Reading a phase appends a row to the record. */
void lot_record_json_head(const lot_record *record, lot_json_text *text);
void lot_record_json_phase(const lot_phase *phase, lot_json_text *text);
lot_status lot_record_json_read_head(const char *json, size_t size, lot_record *record, lot_error *error);
lot_status lot_record_json_read_phase(const char *json, size_t size, lot_record *record, lot_error *error);

/* For other JSON results: one field of a struct as an object's member, null where it is not measured, and all
 * fields of the struct that lies in `base` as an object. */
void lot_json_field(lot_json_text *text, const lot_field *field, const void *record);
void lot_json_object(lot_json_text *text, const lot_fields *fields, const void *base);

#endif
