#include "analysis/localise.h"

#include <stdlib.h>
#include <string.h>

#define LAYERS 2

bool lot_localise_wanted(const lot_checked_device *device)
{
    return (device->verdicts &
            (LOT_VERDICT_BIT(LOT_VERDICT_CORRUPT) | LOT_VERDICT_BIT(LOT_VERDICT_UNDECIDED))) != 0;
}

int64_t lot_localise_base(const lot_check_result *result, size_t index)
{
    const lot_checked_device *d = &result->devices[index];
    int64_t lowest = d->rank;
    int64_t lowest_ok = -1;

    for (size_t i = 0; i < result->device_count; i++) {
        const lot_checked_device *peer = &result->devices[i];

        if (peer->group != d->group)
            continue;
        if (peer->rank < lowest)
            lowest = peer->rank;
        if (peer->verdicts == 0 && (lowest_ok < 0 || peer->rank < lowest_ok))
            lowest_ok = peer->rank;
    }
    return lowest_ok >= 0 ? lowest_ok : lowest;
}

static lot_status append(lot_check_result *result, const lot_localised *found, lot_error *error)
{
    lot_localised *grown = realloc(result->localised, (result->localised_count + 1) * sizeof *grown);

    if (grown == NULL)
        return lot_error_set(error, LOT_MEMORY, "realloc", 0, "no memory for where GPUs differ");
    grown[result->localised_count++] = *found;
    result->localised = grown;
    return LOT_OK;
}

static unsigned digit_of(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
}

/* Bits in which two texts of `digits` hexadecimal digits differ. */
static int64_t bits_between(const char *a, const char *b, size_t digits)
{
    int64_t bits = 0;

    for (size_t i = 0; i < digits; i++)
        bits += __builtin_popcount(digit_of(a[i]) ^ digit_of(b[i]));
    return bits;
}

static void note(lot_localised *found, int64_t row, int64_t element, int64_t bits)
{
    if (found->differing++ == 0) {
        found->first_row = row;
        found->first_element = element;
    }
    if (bits > found->bits_most)
        found->bits_most = bits;
}

static void compare_row(const lot_trace *base, const lot_trace *other, lot_localised *found)
{
    const size_t digits = base->elements > 0 ? strlen(base->bits) / (size_t)base->elements : 0;
    const int64_t before = found->differing;

    found->compared += base->elements;
    if (strcmp(base->bits, other->bits) == 0)
        return;
    for (int64_t e = 0; e < base->elements; e++) {
        const int64_t bits =
            bits_between(base->bits + (size_t)e * digits, other->bits + (size_t)e * digits, digits);

        if (bits > 0)
            note(found, base->row, e, bits);
    }
    found->rows += found->differing > before;
}

/* The other record's trace of the same row of the same layer in the same type, or NULL. */
static const lot_trace *counterpart(const lot_record *record, const lot_trace *trace)
{
    for (size_t i = 0; i < record->trace_count; i++) {
        const lot_trace *t = &record->traces[i];

        if (t->layer == trace->layer && t->row == trace->row && t->elements == trace->elements &&
            strlen(t->bits) == strlen(trace->bits))
            return t;
    }
    return NULL;
}

static void compare_layer(const lot_record *base, const lot_record *other, int64_t layer,
                          lot_localised *found)
{
    found->compared = 0;
    for (size_t i = 0; i < base->trace_count; i++) {
        const lot_trace *same = base->traces[i].layer == layer ? counterpart(other, &base->traces[i]) : NULL;

        if (same != NULL)
            compare_row(&base->traces[i], same, found);
    }
}

/* What differs among one GPU's own passes: in the record already, element by element. */
static void collect_layer(const lot_record *record, int64_t layer, lot_localised *found)
{
    int64_t last_row = -1;

    for (size_t i = 0; i < record->difference_count; i++) {
        const lot_difference *d = &record->differences[i];

        if (d->layer != layer)
            continue;
        note(found, d->row, d->element, d->bits);
        found->rows += d->row != last_row;
        last_row = d->row;
    }
}

lot_status lot_localise_compare(const lot_record *base, const lot_record *other, lot_check_result *result,
                                lot_error *error)
{
    lot_status status = LOT_OK;

    for (int64_t layer = 1; status == LOT_OK && layer <= LAYERS; layer++) {
        lot_localised found = {.rank = other->head.identity.rank,
                               .against = base->head.identity.rank,
                               .layer = layer,
                               .compared = LOT_NULL_I64};

        if (base == other)
            collect_layer(other, layer, &found);
        else
            compare_layer(base, other, layer, &found);
        if (found.differing > 0)
            status = append(result, &found, error);
    }
    return status;
}
