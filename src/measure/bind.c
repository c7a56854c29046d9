#include "measure/bind.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define UUID_PREFIX  4  /* "GPU-" or "MIG-" */
#define UUID_DIGITS  36 /* 8-4-4-4-12 hexadecimal digits with their dashes */
#define ITEM_BYTES   48
#define ITEMS_MOST   64
#define ORDINAL_MOST 4 /* digits of an ordinal */

/* The devices that a spec names, in its order. */
typedef struct items {
    size_t count;
    char text[ITEMS_MOST][ITEM_BYTES];
} items;

static bool is_ordinal(const char *item)
{
    const size_t digits = strspn(item, "0123456789");

    return digits > 0 && digits <= ORDINAL_MOST && item[digits] == '\0';
}

static int ordinal_of(const char *item)
{
    int value = 0;

    for (; *item != '\0'; item++)
        value = value * 10 + (*item - '0');
    return value;
}

static bool is_uuid(const char *item)
{
    static const char dashes[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

    if (strncmp(item, "GPU-", UUID_PREFIX) != 0 && strncmp(item, "MIG-", UUID_PREFIX) != 0)
        return false;
    item += UUID_PREFIX;
    if (strlen(item) != UUID_DIGITS)
        return false;
    for (size_t i = 0; i < UUID_DIGITS; i++) {
        const bool wanted =
            dashes[i] == '-' ? item[i] == '-' : strchr("0123456789abcdefABCDEF", item[i]) != NULL;

        if (!wanted)
            return false;
    }
    return true;
}

/* Both halves of the identity of a MIG slice and of a GPU are unique, so the digits decide alone: without
 * NVML a device cannot tell whether it is a slice. */
static bool same_uuid(const char *a, const char *b)
{
    return strlen(a) > UUID_PREFIX && strlen(b) > UUID_PREFIX &&
           strcasecmp(a + UUID_PREFIX, b + UUID_PREFIX) == 0;
}

static lot_status form_error(const char *spec, lot_error *error)
{
    return lot_error_set(
        error, LOT_USAGE, "--device", 0,
        "'%.120s' is not a device: host, cuda:local, cuda:N, cuda:N,M,..., cuda:GPU-<uuid> or "
        "cuda:MIG-<uuid>",
        spec);
}

/* Splits what stands after "cuda:". */
static lot_status split(const char *spec, const char *rest, items *list, lot_error *error)
{
    list->count = 0;
    for (;;) {
        const size_t length = strcspn(rest, ",");
        char *item = list->text[list->count];

        if (length == 0 || length >= ITEM_BYTES)
            return form_error(spec, error);
        memcpy(item, rest, length);
        item[length] = '\0';
        if (!is_ordinal(item) && !is_uuid(item))
            return form_error(spec, error);
        list->count++;
        rest += length;
        if (*rest == '\0')
            return LOT_OK;
        if (list->count == ITEMS_MOST)
            return lot_error_set(error, LOT_USAGE, "--device", 0, "more than %d devices are named",
                                 ITEMS_MOST);
        rest++;
    }
}

/* Splits a whole spec; 0 items and *local for cuda:local, 0 items for host. */
static lot_status parse(const char *spec, const char **kind, bool *local, items *list, lot_error *error)
{
    list->count = 0;
    *local = false;
    *kind = "host";
    if (strcmp(spec, "host") == 0)
        return LOT_OK;
    *kind = "cuda";
    if (strncmp(spec, "cuda:", 5) != 0)
        return form_error(spec, error);
    *local = strcmp(spec + 5, "local") == 0;
    return *local ? LOT_OK : split(spec, spec + 5, list, error);
}

lot_status lot_bind_parse(const char *spec, char *kind, size_t kind_size, lot_error *error)
{
    const char *found;
    bool local;
    items list;
    const lot_status status = parse(spec, &found, &local, &list, error);

    if (status == LOT_OK)
        (void)snprintf(kind, kind_size, "%s", found);
    return status;
}

/* A rank's question and where its answer goes. */
typedef struct request {
    const lot_bind_rank *rank;
    const lot_device_list *list;
    int *ordinal;
    char *reason;
    size_t reason_size;
} request;

static lot_status choose_local(const request *ask, lot_error *error)
{
    const size_t visible = ask->list->count;

    /* With one visible device the launcher may show each rank its own: only the UUIDs can tell. */
    if (visible > 1 && (size_t)ask->rank->local_size > visible && !ask->rank->allow_shared)
        return lot_error_set(
            error, LOT_SHARED_DEVICE, "--device", 0,
            "cuda:local: %d ranks on this host share %zu visible devices; start %zu ranks, or "
            "add --allow-shared, or name one where the launcher shows each rank its own",
            ask->rank->local_size, visible, visible);
    *ask->ordinal = (int)((size_t)ask->rank->local_rank % visible);
    (void)snprintf(ask->reason, ask->reason_size, "local rank %d of %d, visible devices %zu: ordinal %d",
                   ask->rank->local_rank, ask->rank->local_size, visible, *ask->ordinal);
    return LOT_OK;
}

/* "0 GPU-..., 1 GPU-..." as far as it fits. */
static void describe_visible(const lot_device_list *list, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < list->count; i++) {
        const int added =
            snprintf(text + used, size - used, "%s%zu %s", i == 0 ? "" : ", ", i, list->devices[i].uuid);

        if (added < 0 || (size_t)added >= size - used) {
            text[used] = '\0';
            return;
        }
        used += (size_t)added;
    }
}

static lot_status find_item(const char *item, const lot_device_list *list, int *ordinal, lot_error *error)
{
    char visible[400];

    if (is_ordinal(item)) {
        if ((size_t)ordinal_of(item) >= list->count)
            return lot_error_set(error, LOT_NO_DEVICE, "--device", 0,
                                 "cuda:%s: %zu device%s visible, ordinals 0 to %zu", item, list->count,
                                 list->count == 1 ? " is" : "s are", list->count - 1);
        *ordinal = ordinal_of(item);
        return LOT_OK;
    }
    for (size_t i = 0; i < list->count; i++)
        if (same_uuid(item, list->devices[i].uuid)) {
            *ordinal = (int)i;
            return LOT_OK;
        }
    describe_visible(list, visible, sizeof visible);
    return lot_error_set(error, LOT_NO_DEVICE, "--device", 0, "%s is not visible; visible: %s", item,
                         visible);
}

/* The first two of the items that this host's ranks take and that are one device; false where all differ. */
static bool taken_twice(const items *list, int local_size, size_t *first, size_t *second)
{
    const size_t used = list->count < (size_t)local_size ? list->count : (size_t)local_size;

    for (*second = 1; *second < used; ++*second)
        for (*first = 0; *first < *second; ++*first)
            if (strcasecmp(list->text[*first], list->text[*second]) == 0)
                return true;
    return false;
}

static lot_status choose_item(const request *ask, const items *named, lot_error *error)
{
    const size_t index = (size_t)ask->rank->local_rank % named->count;
    size_t first, second;
    lot_status status;

    if (named->count > 1 && (size_t)ask->rank->local_size > named->count && !ask->rank->allow_shared)
        return lot_error_set(
            error, LOT_USAGE, "--device", 0,
            "%zu devices are named for %d ranks on this host; name as many as there are ranks, "
            "or add --allow-shared",
            named->count, ask->rank->local_size);
    if (!ask->rank->allow_shared && taken_twice(named, ask->rank->local_size, &first, &second))
        return lot_error_set(error, LOT_SHARED_DEVICE, "--device", 0,
                             "local ranks %zu and %zu would both take %s; name different devices or add "
                             "--allow-shared",
                             first, second, named->text[first]);
    status = find_item(named->text[index], ask->list, ask->ordinal, error);
    if (status == LOT_OK)
        (void)snprintf(ask->reason, ask->reason_size, "%s, item %zu of %zu: ordinal %d", named->text[index],
                       index + 1, named->count, *ask->ordinal);
    return status;
}

lot_status lot_bind_choose(const lot_bind_rank *rank, const lot_device_list *list, int *ordinal, char *reason,
                           size_t reason_size, lot_error *error)
{
    const request ask = {
        .rank = rank, .list = list, .ordinal = ordinal, .reason = reason, .reason_size = reason_size};
    const char *kind;
    bool local;
    items named;
    const lot_status status = parse(rank->spec, &kind, &local, &named, error);

    if (status != LOT_OK)
        return status;
    if (rank->local_rank < 0 || rank->local_size < 1 || rank->local_rank >= rank->local_size)
        return lot_error_set(error, LOT_LAUNCH, "--device", 0,
                             "the launcher names local rank %d of %d, which cannot be", rank->local_rank,
                             rank->local_size);
    if (list->count == 0)
        return lot_error_set(
            error, LOT_NO_DEVICE, "--device", 0,
            "%s: no device is visible to this process: there is none, or CUDA_VISIBLE_DEVICES "
            "is empty or names none that is there",
            rank->spec);
    if (strcmp(kind, "host") == 0) {
        *ordinal = 0;
        (void)snprintf(reason, reason_size, "host: the CPUs of this rank");
        return LOT_OK;
    }
    return local ? choose_local(&ask, error) : choose_item(&ask, &named, error);
}
