#include "gpu/host/host_pool.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/checked.h"
#include "gpu/host/host_memory.h"

/* Memory left to everybody else: a machine with nothing available starts killing processes. */
#define MARGIN_BYTES ((int64_t)64 << 20)

/* A part of a segment. Blocks are linked twice: to their neighbours in the segment, for merging, and in the
 * list of used or of free blocks. They lie outside the memory that they describe, so that it keeps its
 * alignment and a program that writes past its end cannot damage them. */
typedef struct block {
    struct block *left; /* neighbours by address; NULL at the segment's ends */
    struct block *right;
    struct block *next; /* in one of the pool's lists */
    char *base;
    int64_t bytes;   /* of this part of the segment */
    int64_t counted; /* what `allocated` has for it; 0 where it is free */
    bool shared;     /* the segment is shared by small requests */
} block;

struct lot_host_pool {
    block *used;
    block *free;
    lot_counters counters;
    int64_t budget_bytes; /* what the pool may reserve in all, by the last reading */
    int64_t base_bytes;   /* available when the pool was empty; what is reserved may not be touched yet */
    const char *root;
};

static void push(block **list, block *item)
{
    item->next = *list;
    *list = item;
}

static void unlink_block(block **list, const block *item)
{
    while (*list != item)
        list = &(*list)->next;
    *list = item->next;
}

static void raise_peaks(lot_counters *counters)
{
    if (counters->allocated_bytes > counters->allocated_peak_bytes)
        counters->allocated_peak_bytes = counters->allocated_bytes;
    if (counters->reserved_bytes > counters->reserved_peak_bytes)
        counters->reserved_peak_bytes = counters->reserved_bytes;
}

/* Address space for one segment at a multiple of LOT_HOST_SEGMENT, so that huge pages fit; NULL with errno.
 * `huge` only where all of it will be used: a huge page is cleared as a whole at its first touch. */
static char *map_segment(int64_t bytes, bool huge)
{
    const size_t wanted = (size_t)bytes + (size_t)LOT_HOST_SEGMENT;
    char *base = mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t before, after;

    if (base == MAP_FAILED)
        return NULL;
    before = (size_t)(-(uintptr_t)base & ((uintptr_t)LOT_HOST_SEGMENT - 1));
    after = (size_t)LOT_HOST_SEGMENT - before;
    if (before > 0)
        (void)munmap(base, before);
    if (after > 0)
        (void)munmap(base + before + (size_t)bytes, after);
    /* One fault for 2 MiB in place of 512; where the kernel has no huge pages the memory is still good. */
    if (huge)
        (void)madvise(base + before, (size_t)bytes, MADV_HUGEPAGE);
    return base + before;
}

/* Gives free segments that are whole back to the system. */
static void trim(lot_host_pool *pool)
{
    block **at = &pool->free;

    while (*at != NULL) {
        block *item = *at;

        if (item->left != NULL || item->right != NULL) {
            at = &item->next;
            continue;
        }
        *at = item->next;
        (void)munmap(item->base, (size_t)item->bytes);
        pool->counters.reserved_bytes -= item->bytes;
        free(item);
    }
}

/* Reads what is available. Memory that is reserved may not have been touched yet and then still counts as
 * available, so the sum is held against what was available at first, too. */
static void read_budget(lot_host_pool *pool)
{
    const int64_t reserved = pool->counters.reserved_bytes;
    const int64_t now = lot_host_memory_read(pool->root).available_bytes;

    if (reserved == 0)
        pool->base_bytes = now;
    pool->budget_bytes =
        (reserved + now < pool->base_bytes ? reserved + now : pool->base_bytes) - MARGIN_BYTES;
}

/* Whether a segment of `bytes` can be had. What is small against the last reading needs no new one, which
 * costs as much as building a small layer. */
static bool fits(lot_host_pool *pool, int64_t bytes, int64_t *available)
{
    if (bytes > (pool->budget_bytes - pool->counters.reserved_bytes) / 16)
        read_budget(pool);
    *available = pool->budget_bytes - pool->counters.reserved_bytes;
    return bytes <= *available;
}

/* A new segment as one free block, not yet in a list. */
static lot_status reserve(lot_host_pool *pool, int64_t bytes, bool shared, block **made, lot_error *error)
{
    int64_t available = 0;
    block *item;

    if (!fits(pool, bytes, &available)) {
        trim(pool);
        if (!fits(pool, bytes, &available))
            return lot_error_set(error, LOT_DEVICE_MEMORY, "alloc", 0,
                                 "%lld bytes are wanted and %lld are available on this host",
                                 (long long)bytes, (long long)(available > 0 ? available : 0));
    }
    item = calloc(1, sizeof *item);
    if (item == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", ENOMEM, "no memory for the pool's own list");
    item->base = map_segment(bytes, !shared);
    if (item->base == NULL) {
        const int reason = errno;

        free(item);
        return lot_error_errno(error, LOT_DEVICE_MEMORY, "mmap", reason, "cannot reserve %lld bytes",
                               (long long)bytes);
    }
    item->bytes = bytes;
    item->shared = shared;
    pool->counters.reserved_bytes += bytes;
    *made = item;
    return LOT_OK;
}

/* The smallest free block that holds `bytes`, taken off its list; NULL where there is none. */
static block *take_free(lot_host_pool *pool, int64_t bytes, bool shared)
{
    block *best = NULL;

    for (block *item = pool->free; item != NULL; item = item->next) {
        if (item->shared != shared || item->bytes < bytes || (best != NULL && item->bytes >= best->bytes))
            continue;
        if (shared || item->bytes - bytes <= item->bytes / 8)
            best = item;
    }
    if (best != NULL)
        unlink_block(&pool->free, best);
    return best;
}

/* Makes what `item` has beyond `bytes` a free block of its own. Without memory for that it stays whole. */
static void split(lot_host_pool *pool, block *item, int64_t bytes)
{
    block *rest;

    if (item->bytes == bytes)
        return;
    rest = calloc(1, sizeof *rest);
    if (rest == NULL)
        return;
    rest->base = item->base + bytes;
    rest->bytes = item->bytes - bytes;
    rest->shared = true;
    rest->left = item;
    rest->right = item->right;
    if (item->right != NULL)
        item->right->left = rest;
    item->right = rest;
    item->bytes = bytes;
    push(&pool->free, rest);
}

/* Joins `right` to its left neighbour. `right` is in no list. */
static void absorb(block *left, block *right)
{
    left->bytes += right->bytes;
    left->right = right->right;
    if (right->right != NULL)
        right->right->left = left;
    free(right);
}

lot_status lot_host_pool_create(const char *root, lot_host_pool **pool, lot_error *error)
{
    lot_host_pool *made = calloc(1, sizeof *made);

    if (made == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", ENOMEM, "no memory for the pool");
    made->root = root;
    read_budget(made);
    *pool = made;
    return LOT_OK;
}

lot_status lot_host_pool_alloc(lot_host_pool *pool, int64_t bytes, void **pointer, lot_error *error)
{
    const int64_t wanted = bytes > 0 ? bytes : 1;
    int64_t rounded, segment;
    bool shared;
    block *item;
    lot_status status;

    if (!lot_checked_add(wanted, LOT_HOST_GRANULARITY - 1, &rounded) ||
        !lot_checked_add(wanted, 2 * LOT_HOST_SEGMENT, &segment))
        return lot_error_set(error, LOT_DEVICE_MEMORY, "alloc", 0,
                             "%lld bytes are more than can be addressed", (long long)bytes);
    rounded -= rounded % LOT_HOST_GRANULARITY;
    shared = rounded <= LOT_HOST_SMALL;
    segment = (rounded + LOT_HOST_SEGMENT - 1) / LOT_HOST_SEGMENT * LOT_HOST_SEGMENT;
    item = take_free(pool, rounded, shared);
    if (item == NULL) {
        status = reserve(pool, segment, shared, &item, error);
        if (status != LOT_OK)
            return status;
    }
    if (shared)
        split(pool, item, rounded);
    item->counted = rounded;
    push(&pool->used, item);
    pool->counters.allocated_bytes += rounded;
    raise_peaks(&pool->counters);
    *pointer = item->base;
    return LOT_OK;
}

void lot_host_pool_free(lot_host_pool *pool, void *pointer)
{
    block *item;

    if (pointer == NULL)
        return;
    for (item = pool->used; item != NULL && item->base != (char *)pointer; item = item->next)
        continue;
    assert(item != NULL);
    if (item == NULL)
        return;
    unlink_block(&pool->used, item);
    pool->counters.allocated_bytes -= item->counted;
    item->counted = 0;
    if (item->right != NULL && item->right->counted == 0) {
        unlink_block(&pool->free, item->right);
        absorb(item, item->right);
    }
    if (item->left != NULL && item->left->counted == 0) {
        block *left = item->left;

        absorb(left, item);
        return; /* it is in the free list already */
    }
    push(&pool->free, item);
}

void lot_host_pool_counters(const lot_host_pool *pool, lot_counters *counters)
{
    *counters = pool->counters;
}

void lot_host_pool_reset_peaks(lot_host_pool *pool)
{
    pool->counters.allocated_peak_bytes = pool->counters.allocated_bytes;
    pool->counters.reserved_peak_bytes = pool->counters.reserved_bytes;
}

void lot_host_pool_destroy(lot_host_pool *pool)
{
    if (pool == NULL)
        return;
    while (pool->used != NULL)
        lot_host_pool_free(pool, pool->used->base);
    trim(pool);
    free(pool);
}
