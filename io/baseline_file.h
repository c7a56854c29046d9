/* A baseline as a file of JSON Lines: one for the whole, then two for each GPU, its record (io/record_json.h)
 * without lists and its times. docs/consistency.md lists the members. */
#ifndef GPULOT_IO_BASELINE_FILE_H
#define GPULOT_IO_BASELINE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/drift.h"
#include "core/error.h"

#define LOT_BASELINE_SCHEMA         "gpulot.baseline"
#define LOT_BASELINE_SCHEMA_VERSION 1

/* Writes a new file, which appears complete or not at all and replaces nothing: LOT_OUTPUT. */
lot_status lot_baseline_write(const char *path, const lot_baseline *baseline, lot_error *error);

/* Reads what lot_baseline_write wrote. LOT_SCHEMA for another schema or version, LOT_DAMAGED names the line.
 * *baseline is set on success only; free with lot_baseline_free. */
lot_status lot_baseline_read(const char *path, lot_baseline *baseline, lot_error *error);

/* The same from memory; `name` stands for the file in messages. */
lot_status lot_baseline_parse(const char *name, const char *bytes, size_t size, lot_baseline *baseline,
                              lot_error *error);

/* True where the file begins as a baseline does, false for anything else and what cannot be opened. */
bool lot_baseline_is_one(const char *path);

#endif
