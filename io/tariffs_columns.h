/* The columns of a catalogue of tariffs, and how a file may call them (docs/prices.md). */
#ifndef GPULOT_IO_TARIFFS_COLUMNS_H
#define GPULOT_IO_TARIFFS_COLUMNS_H

#include <stddef.h>

#include "core/error.h"

/* What a catalogue says of a lot; each has a column. */
#define LOT_TARIFFS_COLUMN_LIST(X)                                                                           \
    X(LOT_TARIFFS_COLUMN_GPU, "gpu")                                                                         \
    X(LOT_TARIFFS_COLUMN_GPUS_PER_LOT, "gpus_per_lot")                                                       \
    X(LOT_TARIFFS_COLUMN_DAYS, "days")                                                                       \
    X(LOT_TARIFFS_COLUMN_PRICE, "price_cents_usd")

typedef enum lot_tariffs_column {
#define LOT_TARIFFS_COLUMN_ENUM(code, name) code,
    LOT_TARIFFS_COLUMN_LIST(LOT_TARIFFS_COLUMN_ENUM)
#undef LOT_TARIFFS_COLUMN_ENUM
        LOT_TARIFFS_COLUMN_COUNT
} lot_tariffs_column;

#define LOT_TARIFFS_COLUMN_NAME_SIZE   96
#define LOT_TARIFFS_COLUMN_IGNORED_MAX 32

/* How a file's header calls the columns. */
typedef struct lot_tariffs_columns {
    char name[LOT_TARIFFS_COLUMN_COUNT][LOT_TARIFFS_COLUMN_NAME_SIZE];
    char ignored[LOT_TARIFFS_COLUMN_IGNORED_MAX]
                [LOT_TARIFFS_COLUMN_NAME_SIZE]; /* columns that may be there and are not read */
    size_t ignored_count;
} lot_tariffs_columns;

/* Reads "gpu=modele,days=jours,ignore=region": columns not named keep their usual names, `ignore` may stand
 * several times, an item with a comma in it is quoted as in CSV. NULL gives the usual names. LOT_USAGE tells
 * what is wrong with the text. */
lot_status lot_tariffs_map(const char *text, lot_tariffs_columns *columns, lot_error *error);

#endif
