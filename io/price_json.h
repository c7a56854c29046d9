/* A price as JSON: what `price --json` prints, and what an archive keeps of the price at launch. */
#ifndef GPULOT_IO_PRICE_JSON_H
#define GPULOT_IO_PRICE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/tariff.h"
#include "io/protocol_json.h"

#define LOT_LAUNCH_PRICE_SCHEMA         "gpulot.launch-price"
#define LOT_LAUNCH_PRICE_SCHEMA_VERSION 1

#define LOT_NOTES_MAX 16
#define LOT_NOTE_SIZE 320

/* Sentences that belong to a price. */
typedef struct lot_notes {
    char text[LOT_NOTES_MAX][LOT_NOTE_SIZE];
    size_t count;
} lot_notes;

/* Appends a sentence; beyond LOT_NOTES_MAX nothing. */
void lot_notes_add(lot_notes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A price with all that it stands on. */
typedef struct lot_price_report {
    const char *file; /* of the catalogue, as given */
    const lot_catalogue *catalogue;
    const lot_tariff *tariff;
    size_t period;
    const lot_price *price;
    const lot_notes *notes;
    const char *protocol_file;    /* NULL: no quality protocol */
    const lot_protocol *protocol; /* NULL with it */
    bool protocol_before_run;     /* it was checked; else there was no run to check it against */
} lot_price_report;

/* Writes what `price --json` prints, without a newline at its end; the caller frees *json. Integers above
 * 2^53 are strings; what is not known is null. */
lot_status lot_price_json_write(const lot_price_report *report, char **json, lot_error *error);

/* The price that an archive keeps. */
typedef struct lot_launch_terms {
    char gpu[96];
    int64_t days;
    char sha256[65]; /* of the catalogue */
    char file[256];  /* name of the catalogue without its folder */
    char title[256];
    char snapshot_date[11];
    char source[256];
    int64_t line; /* of the row in the catalogue */
    bool is_example;
    lot_price price; /* without a unit cost */
} lot_launch_terms;

/* Writes the compact text that an archive keeps; the caller frees *json. Of the catalogue's path only the
 * name is kept. Integers above 2^53 are strings. */
lot_status lot_launch_price_write(const lot_price_report *report, char **json, lot_error *error);

/* Reads what lot_launch_price_write wrote. LOT_SCHEMA for another schema or version, LOT_DAMAGED where
 * something is missing or the numbers do not belong together. */
lot_status lot_launch_price_read(const char *json, lot_launch_terms *terms, lot_error *error);

#endif
