/* The lists of a record as JSON has them, in their order: what io/record_json.c and io/record_json_read.c
 * share. */
#ifndef GPULOT_IO_RECORD_LISTS_H
#define GPULOT_IO_RECORD_LISTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/record.h"

typedef enum lot_record_list_id {
    LOT_LIST_CONFIGURATION,
    LOT_LIST_VARIABLES,
    LOT_LIST_SETUP,
    LOT_LIST_ERRORS,
    LOT_LIST_ABSENT,
    LOT_LIST_PHASES, /* a head has the lists before this one */
    LOT_LIST_SAMPLES,
    LOT_LIST_TRACES,
    LOT_LIST_DIFFERENCES,
    LOT_RECORD_LISTS,
} lot_record_list_id;

typedef struct lot_record_list {
    const char *name;
    bool keyed;               /* an object with free names, not an array of objects */
    bool traced;              /* there only where something was localised */
    size_t items;             /* where in lot_record the pointer to the items lies, */
    size_t count;             /* and where the number of them */
    size_t size;              /* of an item */
    const lot_fields *fields; /* of an item, as far as it has fixed ones; NULL: keyed, or the record's own */
} lot_record_list;

extern const lot_record_list lot_record_lists[LOT_RECORD_LISTS];

/* The telemetry of one item of the samples. */
lot_fields lot_record_sample_fields(void);

#endif
