#include "measure/ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* Orders ranks by the device they hold, then by rank. */
static int by_device(const void *a, const void *b)
{
    const lot_hello *x = *(const lot_hello *const *)a;
    const lot_hello *y = *(const lot_hello *const *)b;
    int order = strcmp(x->uuid, y->uuid);

    if (order == 0)
        order = strcmp(x->host, y->host);
    if (order == 0)
        order = strcmp(x->pci_address, y->pci_address);
    return order != 0 ? order : (x->vote.rank > y->vote.rank) - (x->vote.rank < y->vote.rank);
}

static int same_device(const lot_hello *a, const lot_hello *b)
{
    if (strcmp(a->kind, "host") == 0)
        return 0;
    if (a->uuid[0] != '\0')
        return strcmp(a->uuid, b->uuid) == 0;
    return b->uuid[0] == '\0' && a->pci_address[0] != '\0' && strcmp(a->host, b->host) == 0 &&
           strcmp(a->pci_address, b->pci_address) == 0;
}

/* Both hold one device. Where a rank sees others the way out is another --device, else another launch. */
static lot_status shared_error(const lot_hello *a, const lot_hello *b, lot_error *error)
{
    const char *way = a->visible == 1 && b->visible == 1
                          ? ", and neither sees another: show each rank its own or every rank all devices of "
                            "its host (CUDA_VISIBLE_DEVICES), and start no more ranks than there are"
                          : ": give each its own, as cuda:local does";

    return lot_error_set(error, LOT_SHARED_DEVICE, "--device", 0,
                         "rank %d and rank %d hold the same device, %s at %s on %s%s, or --allow-shared",
                         a->vote.rank, b->vote.rank, a->uuid[0] != '\0' ? a->uuid : "without UUID",
                         a->pci_address, a->host, way);
}

static lot_status check_sharing(const lot_hello *hellos, int count, lot_error *error)
{
    const lot_hello **order = calloc((size_t)count, sizeof *order);
    lot_status status = LOT_OK;

    if (order == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for the ledger of %d ranks", count);
    for (int i = 0; i < count; i++)
        order[i] = &hellos[i];
    qsort(order, (size_t)count, sizeof *order, by_device);
    for (int i = 1; status == LOT_OK && i < count; i++)
        if (same_device(order[i - 1], order[i]))
            status = shared_error(order[i - 1], order[i], error);
    free(order);
    return status;
}

lot_status lot_ledger_check(const lot_hello *hellos, int count, int allow_shared, lot_error *error)
{
    for (int i = 0; i < count; i++) {
        const lot_vote *vote = &hellos[i].vote;

        if (vote->status != LOT_OK && i == 0)
            return lot_error_set(error, (lot_status)vote->status, vote->call, vote->code, "%s", vote->text);
        if (vote->status != LOT_OK)
            return lot_error_set(error, (lot_status)vote->status, vote->call, vote->code, "rank %d: %s", i,
                                 vote->text);
    }
    for (int i = 1; i < count; i++)
        if (hellos[i].config_digest != hellos[0].config_digest)
            return lot_error_set(
                error, LOT_RANKS_DIFFER, "options", i,
                "rank %d was started with other options than rank 0: all ranks need the same", i);
    return allow_shared ? LOT_OK : check_sharing(hellos, count, error);
}

int lot_ledger_pairs(const lot_hello *hellos, int count)
{
    int most = 0;

    for (int i = 0; i < count; i++)
        if (hellos[i].local_rank > most)
            most = hellos[i].local_rank;
    return most / 2 + 1;
}

void lot_ledger_run_id(char *text, size_t size)
{
    const time_t now = time(NULL);
    uint64_t random = 0;
    struct tm parts;
    char day[32];

    /* The time and the process id still tell two runs apart where the system has no randomness yet. */
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random)
        random = ((uint64_t)getpid() << 32) ^ (uint64_t)clock();
    (void)gmtime_r(&now, &parts);
    (void)strftime(day, sizeof day, "%Y%m%dT%H%M%SZ", &parts);
    (void)snprintf(text, size, "%s-%016" PRIx64, day, random);
}
