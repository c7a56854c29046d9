#include "core/status.h"

#include <string.h>

static const struct {
    const char *name;
    int exit_status;
    const char *meaning;
} rows[LOT_STATUS_COUNT] = {
#define LOT_STATUS_ROW(code, name, exit_status, meaning) [code] = {name, exit_status, meaning},
    LOT_STATUS_LIST(LOT_STATUS_ROW)
#undef LOT_STATUS_ROW
};

static lot_status known(lot_status status)
{
    return (unsigned)status < LOT_STATUS_COUNT ? status : LOT_INTERNAL;
}

const char *lot_status_name(lot_status status)
{
    return rows[known(status)].name;
}

const char *lot_status_meaning(lot_status status)
{
    return rows[known(status)].meaning;
}

int lot_status_exit(lot_status status)
{
    return rows[known(status)].exit_status;
}

lot_status lot_status_from_name(const char *name)
{
    for (int i = 0; i < LOT_STATUS_COUNT; i++)
        if (strcmp(rows[i].name, name) == 0)
            return (lot_status)i;
    return LOT_INTERNAL;
}
