/* A file of expected rates per exact model; docs/consistency.md describes it. */
#ifndef GPULOT_IO_EXPECTATION_JSON_H
#define GPULOT_IO_EXPECTATION_JSON_H

#include <stddef.h>

#include "core/error.h"
#include "core/expectation.h"

#define LOT_EXPECTATION_SCHEMA         "gpulot.expectation"
#define LOT_EXPECTATION_SCHEMA_VERSION 1

/* Reads expectations from memory; `name` stands for the file in messages. LOT_INPUT where it is not such a
 * file or a rate lacks something; LOT_SCHEMA for another schema or version. *expectations is set on success
 * only; free with lot_expectations_free. */
lot_status lot_expectations_parse(const char *name, const char *bytes, size_t size,
                                  lot_expectations *expectations, lot_error *error);

/* The same from a file of at most 1 MiB. */
lot_status lot_expectations_read(const char *path, lot_expectations *expectations, lot_error *error);

void lot_expectations_free(lot_expectations *expectations);

#endif
