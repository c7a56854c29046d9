#include "analysis/localise.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "core/grown.h"

#define LAYERS 2

bool lot_localise_wanted(const lot_checked_device *device)
{
    return (device->verdicts &
            (LOT_VERDICT_BIT(LOT_VERDICT_CORRUPT) | LOT_VERDICT_BIT(LOT_VERDICT_UNDECIDED))) != 0;
}

void lot_localise_bases(const lot_check_result *result, size_t *bases)
{
    for (size_t g = 0; g < result->group_count; g++)
        bases[g] = LOT_NO_DEVICE_INDEX;
    for (size_t i = 0; i < result->device_count; i++) {
        size_t *base = &bases[result->devices[i].group];

        if (*base == LOT_NO_DEVICE_INDEX ||
            (result->devices[i].verdicts == 0 && result->devices[*base].verdicts != 0))
            *base = i;
    }
}

static lot_status append(lot_check_result *result, const lot_localised *found, lot_error *error)
{
    lot_localised *grown = lot_grown(result->localised, result->localised_count, sizeof *grown);

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

    lot_checked_count(&found->compared, base->elements);
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

static int by_element(const void *a, const void *b)
{
    const lot_difference *one = a;
    const lot_difference *other = b;

    return one->row != other->row ? (one->row > other->row) - (one->row < other->row)
                                  : (one->element > other->element) - (one->element < other->element);
}

/* What differs among one GPU's own passes: in the record already, for each pass and element. An element that
 * several passes gave other bits is one. */
static lot_status collect_layer(const lot_record *record, int64_t layer, lot_localised *found,
                                lot_error *error)
{
    lot_difference *list = malloc((record->difference_count + 1) * sizeof *list);
    size_t count = 0;

    if (list == NULL)
        return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for where passes differ");
    for (size_t i = 0; i < record->difference_count; i++)
        if (record->differences[i].layer == layer)
            list[count++] = record->differences[i];
    qsort(list, count, sizeof *list, by_element);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || by_element(&list[i - 1], &list[i]) != 0)
            note(found, list[i].row, list[i].element, list[i].bits);
        else if (list[i].bits > found->bits_most)
            found->bits_most = list[i].bits;
        found->rows += i == 0 || list[i].row != list[i - 1].row;
    }
    free(list);
    return LOT_OK;
}

lot_status lot_localise_compare(lot_localise_side base, lot_localise_side other, lot_check_result *result,
                                lot_error *error)
{
    lot_status status = LOT_OK;

    for (int64_t layer = 1; status == LOT_OK && layer <= LAYERS; layer++) {
        lot_localised found = {
            .device = other.device, .against = base.device, .layer = layer, .compared = LOT_NULL_I64};

        if (base.device == other.device)
            status = collect_layer(other.record, layer, &found, error);
        else
            compare_layer(base.record, other.record, layer, &found);
        if (status == LOT_OK && found.differing > 0)
            status = append(result, &found, error);
    }
    return status;
}

static int by_place(const void *a, const void *b)
{
    const lot_localised *one = a;
    const lot_localised *other = b;
    const bool peer = one->against != one->device, other_peer = other->against != other->device;

    if (one->device != other->device)
        return one->device > other->device ? 1 : -1;
    return peer != other_peer ? (int)peer - (int)other_peer
                              : (one->layer > other->layer) - (one->layer < other->layer);
}

void lot_localise_sort(lot_check_result *result)
{
    if (result->localised_count > 0)
        qsort(result->localised, result->localised_count, sizeof *result->localised, by_place);
}
