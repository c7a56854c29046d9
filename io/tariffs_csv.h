/* A catalogue of tariffs as CSV (RFC 4180): docs/prices.md describes the format. */
#ifndef GPULOT_IO_TARIFFS_CSV_H
#define GPULOT_IO_TARIFFS_CSV_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/tariff.h"
#include "io/tariffs_columns.h"

/* How a catalogue is read. */
typedef struct lot_tariffs_reading {
    const lot_tariffs_columns *columns;
    /* Hears of each fault, in the order of the lines as far as one reading can tell: what only the whole file
     * shows comes last. `line` counts from 1; `text` is one line and valid during the call. May be NULL. */
    void (*fault)(void *context, int64_t line, const char *text);
    void *context;
} lot_tariffs_reading;

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
