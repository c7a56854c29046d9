#include "core/ranges.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool take_number(const char **at, int64_t *number)
{
    char *end;

    if (!isdigit((unsigned char)**at))
        return false;
    *number = strtoll(*at, &end, 10);
    *at = end;
    return *number <= LOT_RANGE_MOST;
}

bool lot_ranges_next(const char **list, lot_range *range)
{
    const char *at = *list;

    if (!take_number(&at, &range->first))
        return false;
    range->last = range->first;
    if (*at == '-') {
        at++;
        if (!take_number(&at, &range->last) || range->last < range->first)
            return false;
    }
    *list = *at == ',' ? at + 1 : at;
    return true;
}

bool lot_ranges_hold(const char *list, int64_t number)
{
    return lot_ranges_place(list, number) >= 0;
}

bool lot_ranges_meet(const char *one, const char *other)
{
    lot_range a, b;

    while (lot_ranges_next(&one, &a))
        for (const char *at = other; lot_ranges_next(&at, &b);)
            if (a.first <= b.last && b.first <= a.last)
                return true;
    return false;
}

int64_t lot_ranges_place(const char *list, int64_t number)
{
    lot_range range;
    int64_t below = 0;

    while (lot_ranges_next(&list, &range)) {
        if (number >= range.first && number <= range.last)
            return below + number - range.first;
        below += range.last - range.first + 1;
    }
    return -1;
}

/* Where the list's last range begins, and that range. */
static char *last_range(char *list, lot_range *range)
{
    char *comma = strrchr(list, ',');
    char *begin = comma != NULL ? comma + 1 : list;
    const char *at = begin;

    return lot_ranges_next(&at, range) ? begin : NULL;
}

void lot_ranges_add(char *list, size_t size, int64_t number)
{
    const size_t used = strlen(list);
    lot_range last;
    char *begin = last_range(list, &last);
    char part[64];

    if (begin == NULL && used > 0)
        return; /* ends in "..." */
    if (begin != NULL && last.last + 1 == number) {
        (void)snprintf(part, sizeof part, "%" PRId64 "-%" PRId64, last.first, number);
    } else {
        (void)snprintf(part, sizeof part, "%s%" PRId64, used > 0 ? "," : "", number);
        begin = list + used;
    }
    if ((size_t)(begin - list) + strlen(part) + sizeof ",..." <= size)
        memcpy(begin, part, strlen(part) + 1);
    else
        (void)snprintf(list + used, size - used, ",...");
}
