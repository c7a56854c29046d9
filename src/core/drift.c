#include "core/drift.h"

#include <stdlib.h>
#include <string.h>

void lot_baseline_free(lot_baseline *baseline)
{
    for (size_t i = 0; i < baseline->device_count; i++) {
        lot_baseline_device *d = &baseline->devices[i];

        for (size_t k = 0; k < d->series_count; k++)
            for (int clock = 0; clock < 2; clock++)
                free(d->series[k].repeats[clock]);
        free(d->series);
    }
    free(baseline->devices);
    memset(baseline, 0, sizeof *baseline);
}

const char *lot_change_name(lot_change_kind kind)
{
    static const char *const names[] = {
#define LOT_CHANGE_NAME(code, name, bad, meaning) [code] = name,
        LOT_CHANGE_LIST(LOT_CHANGE_NAME)
#undef LOT_CHANGE_NAME
    };

    return names[kind];
}

bool lot_change_is_bad(lot_change_kind kind)
{
    static const bool bad_ones[] = {
#define LOT_CHANGE_BAD(code, name, bad, meaning) [code] = bad,
        LOT_CHANGE_LIST(LOT_CHANGE_BAD)
#undef LOT_CHANGE_BAD
    };

    return bad_ones[kind];
}

int lot_change_by_gpu(const lot_change *a, const lot_change *b)
{
    const int64_t x = a->rank_after != LOT_NULL_I64 ? a->rank_after : a->rank_before;
    const int64_t y = b->rank_after != LOT_NULL_I64 ? b->rank_after : b->rank_before;

    return x != y ? (x > y) - (x < y) : strcmp(a->uuid, b->uuid);
}

void lot_compare_result_free(lot_compare_result *result)
{
    free(result->drifts);
    free(result->changes);
    free(result->unpaired);
    memset(result, 0, sizeof *result);
}
