/* What a check cost, and what missing throughput costs over the rental. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/judge.h"
#include "core/checked.h"

#define MILLIONTHS       1000000
#define HOURS_A_DAY      24
#define MILLISECONDS_DAY INT64_C(86400000)

/* A GPU in one archive. Several archives may hold the same rented GPU: it is paid for once. */
typedef struct rented {
    const char *uuid; /* of a MIG slice its GPU's; "": not known, so that it is none of the others */
    int64_t rank;     /* a CPU's, where every rank stands for a GPU; else 0 */
    size_t archive;
    int64_t lost_millionths; /* of its throughput */
} rented;

/* A slow GPU lacks its share, one that failed or was lost all of it. */
static int64_t lost_of(const lot_judged *gpu, const lot_checked_device *d)
{
    if ((d->verdicts & (LOT_VERDICT_BIT(LOT_VERDICT_LOST) | LOT_VERDICT_BIT(LOT_VERDICT_FAILED))) != 0)
        return MILLIONTHS;
    return llround(gpu->missed_share * MILLIONTHS);
}

static int by_gpu(const void *a, const void *b)
{
    const rented *x = a, *y = b;
    const int uuid = strcmp(x->uuid, y->uuid);

    if (uuid != 0)
        return uuid;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->archive > y->archive) - (x->archive < y->archive);
}

static bool is_same(const rented *a, const rented *b)
{
    return a->uuid[0] != '\0' && strcmp(a->uuid, b->uuid) == 0 && a->rank == b->rank;
}

/* Sorted by GPU, then archive; NULL without memory. */
static rented *list_rented(const lot_case *c)
{
    rented *list = malloc((c->count + 1) * sizeof *list);

    if (list == NULL)
        return NULL;
    for (size_t i = 0; i < c->count; i++) {
        const lot_device_facts *device = &c->gpus[i].head->device;

        list[i].uuid = device->mig_parent_uuid[0] != '\0' ? device->mig_parent_uuid : device->uuid;
        list[i].rank = strcmp(device->kind, "host") == 0 ? c->gpus[i].head->identity.rank : 0;
        list[i].archive = c->gpus[i].archive;
        list[i].lost_millionths = lost_of(&c->gpus[i], &c->result->devices[i]);
    }
    if (c->count > 0)
        qsort(list, c->count, sizeof *list, by_gpu);
    return list;
}

/* Whether an archive holds GPUs of an earlier one, and whether it holds others. */
typedef struct shared {
    bool again;
    bool fresh;
} shared;

/* Fills one `shared` an archive, and returns the millionths that all GPUs lack: of one that several archives
 * hold, what it lacked most. */
static int64_t go_through(const lot_case *c, const rented *list, shared *archives)
{
    int64_t lost = (int64_t)c->result->missing * MILLIONTHS;
    size_t end;

    for (size_t first = 0; first < c->count; first = end) {
        int64_t most = 0;

        for (end = first; end == first || (end < c->count && is_same(&list[first], &list[end])); end++) {
            if (list[end].archive == list[first].archive)
                archives[list[end].archive].fresh = true;
            else
                archives[list[end].archive].again = true;
            most = list[end].lost_millionths > most ? list[end].lost_millionths : most;
        }
        lost += most;
    }
    return lost;
}

/* Adds one archive's price where its GPUs are `fresh`, and its time at that price. False where it has none,
 * where a GPU and a day of it cost something else than those before, or where a number does not fit. */
static bool add_price(const lot_check_price *price, double elapsed_seconds, bool fresh, lot_check_cost *cost)
{
    const bool first = cost->gpus == 0;
    int64_t milliseconds, part, one, other;

    if (price->gpus <= 0 || price->days <= 0 || !(elapsed_seconds >= 0) || elapsed_seconds > 1e12)
        return false;
    milliseconds = llround(elapsed_seconds * 1000);
    if (!first && (price->days != cost->days || !lot_checked_mul(price->total_cents, cost->gpus, &one) ||
                   !lot_checked_mul(cost->total_cents, price->gpus, &other) || one != other))
        return false;
    cost->days = price->days;
    return lot_checked_mul(price->total_cents, milliseconds, &part) &&
           lot_checked_add(cost->check_numerator, part, &cost->check_numerator) &&
           lot_checked_add(cost->check_milliseconds, milliseconds, &cost->check_milliseconds) &&
           (!fresh || (lot_checked_add(cost->total_cents, price->total_cents, &cost->total_cents) &&
                       lot_checked_add(cost->gpus, price->gpus, &cost->gpus)));
}

/* Archives of one rental are paid once; of one that holds some GPUs of another it is not known what they
 * share. */
static bool add_prices(const lot_case *c, const shared *archives, lot_check_cost *cost)
{
    for (size_t i = 0; i < c->run_count; i++)
        if ((archives[i].again && (archives[i].fresh || c->result->archives[i].missing > 0)) ||
            !add_price(&c->options->prices[i], c->result->archives[i].elapsed_seconds, !archives[i].again,
                       cost))
            return false;
    return true;
}

/* Whether there is a price for every archive. */
static bool all_priced(const lot_case *c)
{
    for (size_t i = 0; i < c->run_count; i++)
        if (c->options->prices[i].gpus <= 0)
            return false;
    return true;
}

static void work_out(lot_case *c, const rented *list, shared *archives)
{
    lot_check_cost made = {.known = true, .priced = true};
    int64_t hours;

    made.lost_millionths = go_through(c, list, archives);
    if (add_prices(c, archives, &made) &&
        lot_checked_mul(made.days, MILLISECONDS_DAY, &made.check_denominator) &&
        lot_checked_mul(made.days, HOURS_A_DAY, &hours) &&
        lot_checked_mul(made.lost_millionths, hours, &made.lost_gpu_hour_millionths) &&
        lot_checked_mul(made.total_cents, made.lost_millionths, &made.lost_numerator) &&
        lot_checked_mul(made.gpus, MILLIONTHS, &made.lost_denominator)) {
        lot_checked_reduce(&made.check_numerator, &made.check_denominator);
        lot_checked_reduce(&made.lost_numerator, &made.lost_denominator);
        c->result->cost = made;
    }
}

void lot_case_cost(lot_case *c)
{
    rented *list;
    shared *archives;

    if (c->options->prices == NULL)
        return;
    c->result->cost.priced = all_priced(c);
    list = list_rented(c);
    archives = calloc(c->run_count, sizeof *archives);
    if (list != NULL && archives != NULL)
        work_out(c, list, archives);
    else
        c->no_memory = true;
    free(archives);
    free(list);
}
