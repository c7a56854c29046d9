#include "core/run.h"

#include <stdlib.h>
#include <string.h>

#define ROW(kind, name, bytes, unit, help)                                                                   \
    {#name, unit, help, LOT_KIND_##kind, offsetof(lot_run_header, name), sizeof(((lot_run_header *)0)->name)},

static const lot_field fields[] = {LOT_RUN_FIELDS(ROW)};

static const lot_fields table = {"run", fields, sizeof fields / sizeof fields[0], 0, sizeof(lot_run_header)};

const lot_fields *lot_run_header_fields(void)
{
    return &table;
}

void lot_run_init(lot_run *run)
{
    memset(run, 0, sizeof *run);
    lot_fields_clear(&table, &run->header);
}

void lot_run_free(lot_run *run)
{
    free(run->tariff_json);
    free(run->devices);
    free(run->phases);
    free(run->first_phase);
    lot_run_init(run);
}

const lot_record_head *lot_run_device(const lot_run *run, int64_t rank)
{
    size_t low = 0, high = run->device_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (run->devices[middle].identity.rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < run->device_count && run->devices[low].identity.rank == rank ? &run->devices[low] : NULL;
}

lot_status lot_run_index(lot_run *run, lot_error *error)
{
    size_t next = 0;

    free(run->first_phase);
    run->first_phase = calloc(run->device_count + 1, sizeof *run->first_phase);
    if (run->first_phase == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for the index of %zu ranks",
                             run->device_count);
    for (size_t i = 0; i < run->device_count; i++) {
        run->first_phase[i] = next;
        while (next < run->phase_count && run->phases[next].rank == run->devices[i].identity.rank)
            next++;
    }
    run->first_phase[run->device_count] = next;
    if (next != run->phase_count)
        return lot_error_set(error, LOT_DAMAGED, "phases", 0,
                             "phase row %zu belongs to rank %lld, which is not next", next,
                             (long long)run->phases[next].rank);
    return LOT_OK;
}
