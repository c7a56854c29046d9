/* What a check could not have seen, and what the check and its findings cost, as text for the terminal. */
#ifndef GPULOT_CMD_CHECK_LIMITS_H
#define GPULOT_CMD_CHECK_LIMITS_H

#include <stdbool.h>

#include "core/error.h"
#include "core/verdict.h"

/* Prints to stdout; with `wide` every column. LOT_MEMORY. */
lot_status lot_check_limits_print(const lot_check_result *result, bool wide, lot_error *error);

#endif
