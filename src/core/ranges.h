/* Lists of whole numbers as Linux writes them: "0-3,8". A text that is no such list ends where it stops being
 * one. */
#ifndef GPULOT_CORE_RANGES_H
#define GPULOT_CORE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lot_range {
    int64_t first;
    int64_t last; /* not below first, and at most LOT_RANGE_MOST */
} lot_range;

#define LOT_RANGE_MOST 65535

/* Takes the next range and moves *list behind it; false where there is none. */
bool lot_ranges_next(const char **list, lot_range *range);

/* Whether the list holds the number; whether two lists have one in common. */
bool lot_ranges_hold(const char *list, int64_t number);
bool lot_ranges_meet(const char *one, const char *other);

/* How many numbers of the list are below `number`; -1 where the list does not hold it. */
int64_t lot_ranges_place(const char *list, int64_t number);

/* Appends a number larger than all in the list; "..." where it does not fit into list[size]. */
void lot_ranges_add(char *list, size_t size, int64_t number);

#endif
