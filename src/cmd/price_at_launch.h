/* The price of a run, worked out before it is measured, for the archive to keep. */
#ifndef GPULOT_CMD_PRICE_AT_LAUNCH_H
#define GPULOT_CMD_PRICE_AT_LAUNCH_H

#include <stdint.h>

#include "core/error.h"

typedef struct lot_launch_price {
    const char *tariffs; /* --tariffs: path of the catalogue */
    const char *gpu;     /* --gpu: the model as the catalogue writes it */
    int64_t days;        /* --days: 3, 7 or 30 */
    int64_t lots;        /* --lots; 0: as many as the ranks need */
    const char *columns; /* --columns: the catalogue's header names; NULL: the usual ones */
} lot_launch_price;

/* Reads the catalogue, finds the tariff and computes the price for `ranks` ranks (at least 1). *json is then
 * the text that the archive keeps as its tariff (docs/archive-format.md); the caller frees it.
 *
 * To be called by rank 0 alone, before anything is measured. LOT_USAGE where an option is missing or the lots
 * cannot hold the ranks, LOT_INPUT where the catalogue has a fault (the first one is told, with how many
 * there are) or does not know the model, LOT_TOO_LARGE where the total does not fit. */
lot_status lot_price_at_launch(const lot_launch_price *request, int64_t ranks, char **json, lot_error *error);

#endif
