/* Which of some known words a mistyped one was meant to be. */
#ifndef GPULOT_CORE_NEAREST_H
#define GPULOT_CORE_NEAREST_H

#include <stddef.h>

/* What was typed, not terminated, and the nearest known word so far; `name` begins as NULL. */
typedef struct lot_nearest {
    const char *typed;
    size_t length;
    const char *name;
    size_t distance; /* of `name`, in edits */
} lot_nearest;

/* Takes `name`, which is kept and not copied, where it is nearer than the one before: at most two edits, and
 * fewer than half the letters, or one word begins with the other, of three letters at least. Leading dashes
 * count as none. An edit is a letter more, less, changed or exchanged with its neighbour (optimal string
 * alignment distance). */
void lot_nearest_offer(lot_nearest *nearest, const char *name);

#define LOT_NEAREST_HINT_MAX 64

/* " (did you mean NAME?)" for an error's text, or nothing where no name is near, in `text`, which has room
 * for `size` bytes (LOT_NEAREST_HINT_MAX is enough for names of 40); returns it. */
const char *lot_nearest_hint(const lot_nearest *nearest, char *text, size_t size);

#endif
