/* A record as JSON and back. */
#ifndef GPULOT_IO_RECORD_JSON_H
#define GPULOT_IO_RECORD_JSON_H

#include <stddef.h>

#include "core/record.h"

/* Writes the record as compact JSON (UTF-8, no newline) into *json, which the caller frees; *size excludes the
 * terminator. Sections are objects, lists are arrays, phases an array of objects, one a row; "not measured" is
 * null. Doubles read back bit-equal; integers above 2^53 are strings. Fails with LOT_MEMORY, or LOT_DAMAGED where
 * lot_record_check does. */
lot_status lot_record_json_write(const lot_record *record, char **json, size_t *size, lot_error *error);

/* Reads what lot_record_json_write wrote, and anything else without harm: LOT_DAMAGED says what is wrong and
 * where, LOT_SCHEMA names a schema or version that is not read here. Unknown members are ignored. *record is set
 * on success only; the caller frees it. */
lot_status lot_record_json_read(const char *json, size_t size, lot_record *record, lot_error *error);

#endif
