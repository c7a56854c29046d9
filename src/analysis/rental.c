#include "analysis/rental.h"

#include <stdlib.h>
#include <string.h>

#include "core/count.h"
#include "core/grown.h"

static bool added_before(const lot_rental *rental, const char *run_id)
{
    if (run_id[0] == '\0')
        return false;
    for (size_t i = 0; i < rental->run_count; i++)
        if (strcmp(rental->run_ids[i], run_id) == 0)
            return true;
    return false;
}

static lot_status no_memory(lot_error *error)
{
    return lot_error_set(error, LOT_MEMORY, "realloc", 0, "no memory for the ranks of a rental");
}

static lot_status add_run_id(lot_rental *rental, const char *run_id, lot_error *error)
{
    char(*grown)[40] = lot_grown(rental->run_ids, rental->run_count, sizeof *grown);

    if (grown == NULL)
        return no_memory(error);
    rental->run_ids = grown;
    (void)lot_field_copy(grown[rental->run_count++], sizeof grown[0], run_id);
    return LOT_OK;
}

static lot_status add_rank(lot_rental *rental, const lot_device_facts *device, lot_error *error)
{
    lot_rental_rank *grown = lot_grown(rental->ranks, rental->rank_count, sizeof *grown);
    lot_rental_rank *rank;

    if (grown == NULL)
        return no_memory(error);
    rental->ranks = grown;
    rank = &grown[rental->rank_count++];
    memset(rank, 0, sizeof *rank);
    rank->run = rental->run_count;
    rank->host = strcmp(device->kind, "host") == 0;
    (void)lot_field_copy(rank->uuid, sizeof rank->uuid,
                         device->mig_parent_uuid[0] != '\0' ? device->mig_parent_uuid : device->uuid);
    return LOT_OK;
}

static void note_device(lot_rental *rental, const lot_device_facts *device)
{
    rental->any_host |= strcmp(device->kind, "host") == 0;
    if (device->name[0] == '\0')
        return;
    if (rental->device_name[0] == '\0')
        (void)lot_field_copy(rental->device_name, sizeof rental->device_name, device->name);
    else if (strcmp(rental->device_name, device->name) != 0)
        rental->names_differ = true;
}

static bool simulated(const lot_run *run)
{
    bool any = run->header.simulated == 1;

    for (size_t i = 0; i < run->device_count && !any; i++)
        any = run->devices[i].device.simulated == 1;
    return any;
}

lot_status lot_rental_add(lot_rental *rental, const lot_run *run, lot_error *error)
{
    const char *begun = run->header.created_utc;
    lot_status status = LOT_OK;

    if (simulated(run))
        return lot_error_set(error, LOT_INPUT, "--archive", 0,
                             "made over a simulator: nobody rents one, so it has no price");
    if (run->header.ranks < 1 || (uint64_t)run->header.ranks < run->device_count)
        return lot_error_set(error, LOT_INPUT, "--archive", 0, "tells %s launched and holds %zu",
                             lot_count(run->header.ranks, "rank").text, run->device_count);
    if (run->header.ranks > INT32_MAX)
        return lot_error_set(error, LOT_INPUT, "--archive", 0, "tells %s, more than MPI can number",
                             lot_count(run->header.ranks, "rank").text);
    if (added_before(rental, run->header.run_id)) {
        rental->repeated_runs++;
        return LOT_OK;
    }
    for (size_t i = 0; status == LOT_OK && i < run->device_count; i++) {
        note_device(rental, &run->devices[i].device);
        rental->failed_ranks += strcmp(run->devices[i].outcome.status, lot_status_name(LOT_OK)) != 0;
        status = add_rank(rental, &run->devices[i].device, error);
    }
    rental->silent_ranks += (size_t)run->header.ranks - run->device_count;
    rental->failed_ranks += (size_t)run->header.ranks - run->device_count;
    if (begun[0] != '\0' && (rental->earliest_utc[0] == '\0' || strcmp(begun, rental->earliest_utc) < 0))
        (void)lot_field_copy(rental->earliest_utc, sizeof rental->earliest_utc, begun);
    if (status == LOT_OK)
        status = add_run_id(rental, run->header.run_id, error);
    return status;
}

static int by_uuid_and_run(const void *a, const void *b)
{
    const lot_rental_rank *one = a;
    const lot_rental_rank *other = b;
    const int order = strcmp(one->uuid, other->uuid);

    return order != 0 ? order : (one->run > other->run) - (one->run < other->run);
}

/* The largest number of ranks that one run had among ranks[0..count), all of one device. */
static int64_t most_in_one_run(const lot_rental_rank *ranks, size_t count)
{
    int64_t most = 0;
    int64_t now = 0;

    for (size_t i = 0; i < count; i++) {
        now = i > 0 && ranks[i].run == ranks[i - 1].run ? now + 1 : 1;
        most = now > most ? now : most;
    }
    return most;
}

lot_rental_need lot_rental_count(lot_rental *rental)
{
    lot_rental_need need = {.ranks = (int64_t)(rental->rank_count + rental->silent_ranks),
                            .gpus = (int64_t)rental->silent_ranks,
                            .unknown = (int64_t)rental->silent_ranks};
    size_t end;

    if (rental->rank_count > 0)
        qsort(rental->ranks, rental->rank_count, sizeof *rental->ranks, by_uuid_and_run);
    for (size_t at = 0; at < rental->rank_count; at = end) {
        const lot_rental_rank *ranks = &rental->ranks[at];

        for (end = at + 1; end < rental->rank_count; end++)
            if (strcmp(rental->ranks[end].uuid, ranks->uuid) != 0)
                break;
        if (ranks->uuid[0] == '\0') {
            need.unknown += (int64_t)(end - at);
            need.gpus += (int64_t)(end - at);
        } else {
            need.gpus += ranks->host ? most_in_one_run(ranks, end - at) : 1;
        }
    }
    return need;
}

void lot_rental_free(lot_rental *rental)
{
    free(rental->ranks);
    free(rental->run_ids);
    memset(rental, 0, sizeof *rental);
}
