#include "io/tariff_models.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The hash stands beside the index so that most steps of a search touch the table alone. */
struct lot_tariff_slot {
    uint32_t hash;
    uint32_t number; /* index in the catalogue's tariffs + 1; 0: free */
};

/* FNV-1a, with the upper bits folded in because the table takes the lower ones. */
static uint32_t hash(const char *text)
{
    uint64_t value = 14695981039346656037u;

    for (; *text != '\0'; text++)
        value = (value ^ (unsigned char)*text) * 1099511628211u;
    return (uint32_t)(value ^ (value >> 32));
}

/* The slot of the model with that name, or the free one where it would stand. */
static lot_tariff_slot *find_slot(const lot_tariff_models *models, const char *gpu, uint32_t hashed)
{
    const lot_tariff *tariffs = models->catalogue->tariffs;
    size_t slot = hashed & (models->slot_count - 1);

    while (models->slots[slot].number != 0 && (models->slots[slot].hash != hashed ||
                                               strcmp(tariffs[models->slots[slot].number - 1].gpu, gpu) != 0))
        slot = (slot + 1) & (models->slot_count - 1);
    return &models->slots[slot];
}

/* Room for one more model; the table stays at most half full. */
static bool make_room(lot_tariff_models *models)
{
    lot_catalogue *catalogue = models->catalogue;
    const size_t capacity = models->capacity == 0 ? 64 : 2 * models->capacity;
    lot_tariff *tariffs;
    lot_tariff_slot *slots;
    lot_tariff_slot *old = models->slots;
    const size_t old_count = models->slot_count;

    if (catalogue->tariff_count < models->capacity)
        return true;
    slots = calloc(2 * capacity, sizeof *slots);
    tariffs = realloc(catalogue->tariffs, capacity * sizeof *tariffs);
    if (tariffs != NULL)
        catalogue->tariffs = tariffs;
    if (slots == NULL || tariffs == NULL) {
        free(slots);
        return false;
    }
    models->slots = slots;
    models->slot_count = 2 * capacity;
    models->capacity = capacity;
    for (size_t i = 0; i < old_count; i++)
        if (old[i].number != 0)
            *find_slot(models, tariffs[old[i].number - 1].gpu, old[i].hash) = old[i];
    free(old);
    return true;
}

/* The model with that name where it is the one of the row before or the next one: rows are sorted, nearly
 * always, by model or by period, and the table of names need not be searched then. Else NULL. */
static lot_tariff *expected_model(lot_tariff_models *models, const char *gpu)
{
    for (size_t i = models->last; i < models->last + 2 && i < models->catalogue->tariff_count; i++)
        if (strcmp(models->catalogue->tariffs[i].gpu, gpu) == 0) {
            models->last = i;
            return &models->catalogue->tariffs[i];
        }
    return NULL;
}

lot_tariff *lot_tariff_models_take(lot_tariff_models *models, const char *gpu, int64_t line)
{
    lot_catalogue *catalogue = models->catalogue;
    lot_tariff *tariff = expected_model(models, gpu);
    const uint32_t hashed = tariff == NULL ? hash(gpu) : 0;
    lot_tariff_slot *slot;

    if (tariff != NULL)
        return tariff;
    if (!make_room(models))
        return NULL;
    slot = find_slot(models, gpu, hashed);
    models->last = slot->number != 0 ? slot->number - 1 : catalogue->tariff_count;
    if (slot->number != 0)
        return &catalogue->tariffs[models->last];
    tariff = &catalogue->tariffs[catalogue->tariff_count];
    memset(tariff, 0, sizeof *tariff);
    tariff->gpu = strdup(gpu);
    tariff->first_line = line;
    if (tariff->gpu == NULL)
        return NULL;
    slot->hash = hashed;
    slot->number = (uint32_t)++catalogue->tariff_count;
    return tariff;
}

void lot_tariff_models_free(lot_tariff_models *models)
{
    free(models->slots);
    models->slots = NULL;
    models->slot_count = 0;
}
