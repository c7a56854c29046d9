/* A catalogue of tariffs as CSV (RFC 4180): docs/prices.md describes the format. */
#ifndef GPULOT_IO_TARIFFS_CSV_H
#define GPULOT_IO_TARIFFS_CSV_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/tariff.h"

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

/* How a catalogue is read. */
typedef struct lot_tariffs_reading {
    const lot_tariffs_columns *columns;
    /* Hears of each fault, in the order of the lines as far as one reading can tell: what only the whole file
     * shows comes last. `line` counts from 1; `text` is one line and valid during the call. May be NULL. */
    void (*fault)(void *context, int64_t line, const char *text);
    void *context;
} lot_tariffs_reading;

/* Reads "gpu=modele,days=jours,ignore=region": columns not named keep their usual names, `ignore` may stand
 * several times, an item with a comma in it is quoted as in CSV. NULL gives the usual names. LOT_USAGE tells
 * what is wrong with the text. */
lot_status lot_tariffs_map(const char *text, lot_tariffs_columns *columns, lot_error *error);

/* Reads a catalogue from memory. LOT_INPUT where there is at least one fault: the error tells the first and
 * how many there are; `name` stands for the file in it. *catalogue is set on success only; free with
 * lot_catalogue_free. */
lot_status lot_tariffs_parse(const char *name, const char *bytes, size_t size,
                             const lot_tariffs_reading *reading, lot_catalogue *catalogue, lot_error *error);

/* The same from a file of at most 256 MiB. LOT_INPUT where it cannot be opened. */
lot_status lot_tariffs_read(const char *path, const lot_tariffs_reading *reading, lot_catalogue *catalogue,
                            lot_error *error);

/* Frees what a catalogue holds and makes it empty. */
void lot_catalogue_free(lot_catalogue *catalogue);

#endif
