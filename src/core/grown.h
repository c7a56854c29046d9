/* Lists that grow by one item at a time and know nothing but their count: room is there for the next power of
 * two.
 *
 *     lot_step *grown = lot_grown(list->steps, list->count, sizeof *grown);
 *     if (grown == NULL) ... no memory; the list is as it was
 *     list->steps = grown;
 *     grown[list->count++] = step;
 *
 * The memory is free()'s. Items may be taken off the end again. */
#ifndef GPULOT_CORE_GROWN_H
#define GPULOT_CORE_GROWN_H

#include <stdint.h>
#include <stdlib.h>

/* The items, perhaps in another place, with room for one more than `count`; NULL without memory. `items` is
 * NULL or came from here. */
static inline void *lot_grown(void *items, size_t count, size_t size)
{
    const size_t room = count == 0 ? 1 : 2 * count;

    if (count != 0 && (count & (count - 1)) != 0) /* neither empty nor a power of two: there is room */
        return items;
    return count > SIZE_MAX / 2 || room > SIZE_MAX / size ? NULL : realloc(items, room * size);
}

#endif
