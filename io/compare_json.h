/* What changed, as JSON (docs/json.md lists the members). */
#ifndef GPULOT_IO_COMPARE_JSON_H
#define GPULOT_IO_COMPARE_JSON_H

#include "core/drift.h"
#include "core/error.h"

/* Writes compact JSON without a newline into *json, which the caller frees. LOT_MEMORY. */
lot_status lot_compare_json_write(const lot_compare_result *result, char **json, lot_error *error);

#endif
