#include "analysis/compare.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/baseline.h"
#include "analysis/comparing.h"
#include "analysis/groups.h"
#include "analysis/setup.h"
#include "core/count.h"
#include "core/field.h"
#include "core/grown.h"

lot_change *lot_comparing_note(lot_comparing *c, lot_change_kind kind, const lot_compared *p,
                               const char *measure, const char *format, ...)
{
    lot_compare_result *r = c->result;
    lot_change *grown = lot_grown(r->changes, r->change_count, sizeof *grown);
    lot_change *change = &c->spare;
    va_list arguments;

    if (grown != NULL) {
        r->changes = grown;
        change = &grown[r->change_count++];
    } else {
        c->no_memory = true;
    }
    memset(change, 0, sizeof *change);
    change->kind = kind;
    memcpy(change->uuid, (p->after != NULL ? p->after : p->before)->head.device.uuid, sizeof change->uuid);
    change->rank_before = p->before != NULL ? p->before->head.identity.rank : LOT_NULL_I64;
    change->rank_after = p->after != NULL ? p->after->head.identity.rank : LOT_NULL_I64;
    (void)lot_field_copy(change->measure, sizeof change->measure, measure);
    va_start(arguments, format);
    (void)vsnprintf(change->text, sizeof change->text, format, arguments);
    va_end(arguments);
    return change;
}

/* ---- who is who ---- */

/* Ranks that share a UUID at either time, as those of a host device do on one machine, are told apart by
 * their rank. */
static int compare_identity(const lot_baseline_device *a, const lot_baseline_device *b)
{
    const int order = strcmp(a->head.device.uuid, b->head.device.uuid);
    const int64_t x = a->head.identity.rank, y = b->head.identity.rank;

    return order != 0 || !(a->shares_uuid || b->shares_uuid) ? order : (x > y) - (x < y);
}

/* By the rank of now, or the one before where a GPU is not there any more. */
static int by_rank(const void *a, const void *b)
{
    const lot_compared *const sides[] = {a, b};
    const lot_record_head *heads[2];
    int64_t x, y;

    for (int i = 0; i < 2; i++)
        heads[i] = &(sides[i]->after != NULL ? sides[i]->after : sides[i]->before)->head;
    x = heads[0]->identity.rank;
    y = heads[1]->identity.rank;
    return x != y ? (x > y) - (x < y) : strcmp(heads[0]->device.uuid, heads[1]->device.uuid);
}

/* Both lists are sorted likewise. */
static void match(lot_comparing *c)
{
    size_t b = 0, a = 0;

    while (b < c->before->device_count || a < c->after->device_count) {
        const lot_baseline_device *before = b < c->before->device_count ? &c->before->devices[b] : NULL;
        const lot_baseline_device *after = a < c->after->device_count ? &c->after->devices[a] : NULL;
        const int order = before == NULL ? 1 : after == NULL ? -1 : compare_identity(before, after);

        c->pairs[c->pair_count++] = (lot_compared){order <= 0 ? before : NULL, order >= 0 ? after : NULL};
        b += order <= 0;
        a += order >= 0;
        if (order == 0) {
            c->result->matched++;
            c->result->matched_by_rank += before->shares_uuid || after->shares_uuid;
        }
    }
    if (c->pair_count > 0)
        qsort(c->pairs, c->pair_count, sizeof *c->pairs, by_rank);
}

static int compare_place(const lot_baseline_device *a, const lot_baseline_device *b)
{
    const int order = strcmp(a->head.identity.host, b->head.identity.host);

    return order != 0 ? order : strcmp(a->head.device.pci_address, b->head.device.pci_address);
}

static int by_place_before(const void *a, const void *b)
{
    return compare_place(((const lot_compared *)a)->before, ((const lot_compared *)b)->before);
}

/* The pair that had the place before in which `moved` is now, or NULL. */
static const lot_compared *who_was_there(const lot_compared *sorted, size_t count, const lot_compared *moved)
{
    const lot_compared key = {moved->after, NULL};

    return bsearch(&key, sorted, count, sizeof *sorted, by_place_before);
}

static void note_place(lot_comparing *c, const lot_compared *moved, size_t count, const lot_compared *p)
{
    const lot_compared *other = who_was_there(moved, count, p);
    const bool swapped = other != NULL && compare_place(other->after, p->before) == 0;

    (void)lot_comparing_note(c, swapped ? LOT_CHANGE_SWAPPED : LOT_CHANGE_MOVED, p, "place",
                             "from %s %s to %s %s%s%s", p->before->head.identity.host,
                             p->before->head.device.pci_address, p->after->head.identity.host,
                             p->after->head.device.pci_address, swapped ? ", changed places with " : "",
                             swapped ? other->before->head.device.uuid : "");
}

/* `moved` has room for every pair. */
static void note_moved(lot_comparing *c, lot_compared *moved)
{
    size_t count = 0;

    for (size_t i = 0; i < c->pair_count; i++)
        if (c->pairs[i].before != NULL && c->pairs[i].after != NULL &&
            compare_place(c->pairs[i].before, c->pairs[i].after) != 0)
            moved[count++] = c->pairs[i];
    if (count > 0)
        qsort(moved, count, sizeof *moved, by_place_before);
    for (size_t i = 0; i < count; i++)
        note_place(c, moved, count, &moved[i]);
}

static void note_places(lot_comparing *c)
{
    lot_compared *moved = calloc(c->pair_count + 1, sizeof *moved);

    if (moved != NULL)
        note_moved(c, moved);
    else
        c->no_memory = true;
    free(moved);
}

bool lot_comparing_has_repeats(const lot_baseline_device *g)
{
    for (size_t i = 0; i < g->series_count; i++)
        if (strcmp(g->series[i].phase, "warm_forward") == 0 && !isnan(g->series[i].seconds[LOT_CLOCK_HOST]))
            return true;
    return false;
}

static void note_presence(lot_comparing *c, const lot_compared *p)
{
    if (p->after == NULL)
        (void)lot_comparing_note(c, LOT_CHANGE_MISSING, p, "uuid", "was %s%s%s and is not there now",
                                 p->before->head.identity.host,
                                 p->before->head.device.pci_address[0] == '\0' ? "" : " ",
                                 p->before->head.device.pci_address);
    else if (p->before == NULL)
        (void)lot_comparing_note(c, LOT_CHANGE_NEW, p, "uuid", "was not there before");
    if (p->after != NULL && strcmp(p->after->head.outcome.status, "ok") != 0)
        (void)lot_comparing_note(
            c, LOT_CHANGE_FAILED, p, "status", "%s%s%.200s", p->after->head.outcome.status,
            p->after->head.outcome.error_text[0] == '\0' ? "" : ": ", p->after->head.outcome.error_text);
    else if (p->after != NULL && !lot_comparing_has_repeats(p->after))
        (void)lot_comparing_note(c, LOT_CHANGE_FAILED, p, "warm_forward", "no repeat was measured now");
}

/* ---- results, counters, environment ---- */

static void note_results(lot_comparing *c, const lot_compared *p)
{
    const lot_verification *b = &p->before->head.verification, *a = &p->after->head.verification;
    const bool same_group = lot_group_compare(&p->before->head, &p->after->head) == 0;

    if (a->passed == 0)
        (void)lot_comparing_note(c, LOT_CHANGE_WRONG, p, "passed", "a result fails its verification now");
    if (!same_group || b->digest[0] == '\0' || a->digest[0] == '\0')
        return;
    if (!p->before->digests_agree)
        (void)lot_comparing_note(c, LOT_CHANGE_WRONG, p, "digest",
                                 "its outputs already differed among the earlier archives");
    else if (strcmp(b->digest, a->digest) != 0)
        (void)lot_comparing_note(c, LOT_CHANGE_WRONG, p, "digest",
                                 "its output is %s, was %s with the same configuration and library versions",
                                 a->digest, b->digest);
}

/* Errors that a GPU counts over its life. */
static void note_errors(lot_comparing *c, const lot_compared *p)
{
    const lot_device_facts *b = &p->before->head.device, *a = &p->after->head.device;
    const struct {
        const char *name;
        int64_t before, after;
        bool bad;
    } counters[] = {
        {"ecc_corrected_total", b->ecc_corrected_total, a->ecc_corrected_total, false},
        {"ecc_uncorrected_total", b->ecc_uncorrected_total, a->ecc_uncorrected_total, true},
        {"remapped_rows_corrected", b->remapped_rows_corrected, a->remapped_rows_corrected, true},
        {"remapped_rows_uncorrected", b->remapped_rows_uncorrected, a->remapped_rows_uncorrected, true},
    };

    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
        if (counters[i].before >= 0 && counters[i].after >= 0 && counters[i].before != counters[i].after)
            (void)lot_comparing_note(c,
                                     counters[i].bad && counters[i].after > counters[i].before
                                         ? LOT_CHANGE_ERRORS
                                         : LOT_CHANGE_COUNTER,
                                     p, counters[i].name, "%lld, was %lld", (long long)counters[i].after,
                                     (long long)counters[i].before);
}

static void note_environment(lot_comparing *c, const lot_compared *p)
{
    size_t count;
    const lot_setup_subject *subjects = lot_setup_subjects(&count);

    for (size_t i = 0; i < count; i++) {
        char before[LOT_SETUP_VALUE_SIZE], after[LOT_SETUP_VALUE_SIZE];

        lot_setup_print(&subjects[i], &p->before->head, before);
        lot_setup_print(&subjects[i], &p->after->head, after);
        if (strcmp(before, after) != 0)
            (void)lot_comparing_note(c, LOT_CHANGE_ENVIRONMENT, p, subjects[i].name, "%s, was %s",
                                     after[0] != '\0' ? after : "not known",
                                     before[0] != '\0' ? before : "not known");
    }
}

/* ---- the whole ---- */

static int by_change(const void *a, const void *b)
{
    const lot_change *x = a;
    const lot_change *y = b;
    int order;

    if (x->kind != y->kind)
        return x->kind > y->kind ? 1 : -1;
    if ((order = lot_change_by_gpu(x, y)) != 0)
        return order;
    if ((order = strcmp(x->measure, y->measure)) != 0 || (order = strcmp(x->phase, y->phase)) != 0)
        return order;
    order = strcmp(x->schedule, y->schedule);
    return order != 0 ? order : strcmp(x->text, y->text);
}

static const lot_record_head *first_work(const lot_baseline *side)
{
    for (size_t i = 0; i < side->device_count; i++)
        if (side->devices[i].head.synthetic_model.dtype[0] != '\0')
            return &side->devices[i].head;
    return NULL;
}

static lot_status check_comparable(const lot_baseline *before, const lot_baseline *after, lot_error *error)
{
    const lot_record_head *b = first_work(before), *a = first_work(after);
    lot_status status;

    if (before->simulated != after->simulated)
        return lot_error_set(error, LOT_INPUT, "archive", 0,
                             "one of the two was made over a simulator and the other was not");
    status = lot_baseline_usable(before, error);
    return status == LOT_OK && b != NULL && a != NULL ? lot_baseline_same_work(b, a, error) : status;
}

static void compare_all(lot_comparing *c)
{
    match(c);
    note_places(c);
    /* The pairs are freed by the caller. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
    for (size_t i = 0; i < c->pair_count; i++) {
        const lot_compared *p = &c->pairs[i];

        note_presence(c, p);
        if (p->before == NULL || p->after == NULL)
            continue;
        note_results(c, p);
        note_errors(c, p);
        note_environment(c, p);
    }
    lot_comparing_times(c);
}

lot_status lot_compare(const lot_baseline *before, const lot_baseline *after,
                       const lot_compare_options *options, lot_compare_result *result, lot_error *error)
{
    lot_compare_result made = {.archives_before = before->archives,
                               .devices_before = before->device_count,
                               .devices_after = after->device_count,
                               .tolerance = options->tolerance,
                               .level = options->level,
                               .simulated = after->simulated,
                               .good = true};
    lot_comparing c = {.options = options, .before = before, .after = after, .result = &made};
    lot_status status = check_comparable(before, after, error);
    lot_compared *pairs;

    if (status != LOT_OK)
        return status;
    pairs = calloc(before->device_count + after->device_count + 1, sizeof *pairs);
    c.pairs = pairs;
    c.no_memory = pairs == NULL;
    if (pairs != NULL)
        compare_all(&c);
    if (c.no_memory) {
        lot_compare_result_free(&made);
        status = lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory to compare %s",
                               lot_count((int64_t)after->device_count, "GPU").text);
    } else {
        if (made.change_count > 0)
            qsort(made.changes, made.change_count, sizeof *made.changes, by_change);
        for (size_t i = 0; i < made.change_count; i++)
            made.good = made.good && !lot_change_is_bad(made.changes[i].kind);
        *result = made;
    }
    free(pairs);
    return status;
}
