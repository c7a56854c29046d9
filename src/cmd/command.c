#include "cmd/command.h"

lot_status lot_command_rank(const char *text, int64_t *rank, lot_error *error)
{
    int64_t parsed = -1;

    if (text != NULL && (!lot_parse_integer(text, &parsed) || parsed < 0))
        return lot_error_set(error, LOT_USAGE, "--rank", 0,
                             "--rank: '%.80s' is not allowed: a whole number from 0", text);
    *rank = parsed;
    return LOT_OK;
}
