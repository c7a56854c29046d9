/* What a check found, as JSON (docs/json.md lists the members). */
#ifndef GPULOT_IO_CHECK_JSON_H
#define GPULOT_IO_CHECK_JSON_H

#include "core/error.h"
#include "core/verdict.h"

/* Writes compact JSON without a newline into *json, which the caller frees. The same result gives the same
 * bytes. LOT_MEMORY. */
lot_status lot_check_json_write(const lot_check_result *result, char **json, lot_error *error);

#endif
