/* The models of a catalogue by name, while it is read. */
#ifndef GPULOT_IO_TARIFF_MODELS_H
#define GPULOT_IO_TARIFF_MODELS_H

#include <stddef.h>
#include <stdint.h>

#include "core/tariff.h"

typedef struct lot_tariff_slot lot_tariff_slot;

/* All zero but for the catalogue: no model yet. */
typedef struct lot_tariff_models {
    lot_catalogue *catalogue; /* whose tariffs these are; not owned */
    size_t capacity;          /* of catalogue->tariffs */
    lot_tariff_slot *slots;   /* open addressing by the name of the model; owned */
    size_t slot_count;        /* a power of two, 0 before the first model */
    size_t last;              /* index of the model that was asked for last */
} lot_tariff_models;

/* The catalogue's model with that name, a new one that stands first in `line` where there is none yet; NULL
 * without memory. The catalogue owns it, and may move it when the next model is added. */
lot_tariff *lot_tariff_models_take(lot_tariff_models *models, const char *gpu, int64_t line);

/* Frees the names' table, not the catalogue. */
void lot_tariff_models_free(lot_tariff_models *models);

#endif
