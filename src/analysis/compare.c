#include "analysis/compare.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/baseline.h"
#include "analysis/groups.h"
#include "analysis/judge.h"
#include "analysis/observe.h"
#include "analysis/setup.h"
#include "analysis/spread.h"
#include "core/distributions.h"
#include "core/field.h"
#include "core/stats.h"

typedef const lot_baseline_device gpu;

/* One GPU at both times; one of the two may be NULL. */
typedef struct pair {
    gpu *before;
    gpu *after;
} pair;

typedef struct comparing {
    const lot_compare_options *options;
    const lot_baseline *before;
    const lot_baseline *after;
    pair *pairs; /* room for all GPUs of both times */
    size_t pair_count;
    double tests;
    lot_compare_result *result;
    size_t drift_capacity;
    size_t change_capacity;
    lot_change spare;
    bool no_memory;
} comparing;

/* ---- lists ---- */

static void *next(void **items, size_t *count, size_t *capacity, size_t size)
{
    if (*count == *capacity) {
        const size_t more = *capacity == 0 ? 16 : 2 * *capacity;
        void *grown = realloc(*items, more * size);

        if (grown == NULL)
            return NULL;
        *items = grown;
        *capacity = more;
    }
    return (char *)*items + (*count)++ * size;
}

static lot_change *note(comparing *c, lot_change_kind kind, const pair *p, const char *measure,
                        const char *format, ...) __attribute__((format(printf, 5, 6)));

static lot_change *note(comparing *c, lot_change_kind kind, const pair *p, const char *measure,
                        const char *format, ...)
{
    lot_compare_result *r = c->result;
    lot_change *change =
        next((void **)&r->changes, &r->change_count, &c->change_capacity, sizeof *r->changes);
    va_list arguments;

    if (change == NULL) {
        c->no_memory = true;
        change = &c->spare;
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

/* Both lists are sorted by UUID; twins stand in order. */
static void match(comparing *c)
{
    size_t b = 0, a = 0;

    while (b < c->before->device_count || a < c->after->device_count) {
        gpu *before = b < c->before->device_count ? &c->before->devices[b] : NULL;
        gpu *after = a < c->after->device_count ? &c->after->devices[a] : NULL;
        const int order = before == NULL  ? 1
                          : after == NULL ? -1
                                          : strcmp(before->head.device.uuid, after->head.device.uuid);

        c->pairs[c->pair_count++] = (pair){order <= 0 ? before : NULL, order >= 0 ? after : NULL};
        b += order <= 0;
        a += order >= 0;
        c->result->matched += order == 0;
    }
}

static int compare_place(gpu *a, gpu *b)
{
    const int order = strcmp(a->head.identity.host, b->head.identity.host);

    return order != 0 ? order : strcmp(a->head.device.pci_address, b->head.device.pci_address);
}

static int by_place_before(const void *a, const void *b)
{
    return compare_place(((const pair *)a)->before, ((const pair *)b)->before);
}

/* The pair that had the place before in which `moved` is now, or NULL. */
static const pair *who_was_there(const pair *sorted, size_t count, const pair *moved)
{
    const pair key = {moved->after, NULL};

    return bsearch(&key, sorted, count, sizeof *sorted, by_place_before);
}

static void note_place(comparing *c, const pair *moved, size_t count, const pair *p)
{
    const pair *other = who_was_there(moved, count, p);
    const bool swapped = other != NULL && compare_place(other->after, p->before) == 0;

    (void)note(c, swapped ? LOT_CHANGE_SWAPPED : LOT_CHANGE_MOVED, p, "place", "from %s %s to %s %s%s%s",
               p->before->head.identity.host, p->before->head.device.pci_address,
               p->after->head.identity.host, p->after->head.device.pci_address,
               swapped ? ", changed places with " : "", swapped ? other->before->head.device.uuid : "");
}

/* `moved` has room for every pair. */
static void note_moved(comparing *c, pair *moved)
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

static void note_places(comparing *c)
{
    pair *moved = calloc(c->pair_count + 1, sizeof *moved);

    if (moved != NULL)
        note_moved(c, moved);
    else
        c->no_memory = true;
    free(moved);
}

static bool has_repeats(gpu *g)
{
    for (size_t i = 0; i < g->series_count; i++)
        if (strcmp(g->series[i].phase, "warm_forward") == 0 && !isnan(g->series[i].seconds[LOT_CLOCK_HOST]))
            return true;
    return false;
}

static void note_presence(comparing *c, const pair *p)
{
    if (p->after == NULL)
        (void)note(c, LOT_CHANGE_MISSING, p, "uuid", "was %s %s and is not there now",
                   p->before->head.identity.host, p->before->head.device.pci_address);
    else if (p->before == NULL)
        (void)note(c, LOT_CHANGE_NEW, p, "uuid", "was not there before");
    if (p->after != NULL && strcmp(p->after->head.outcome.status, "ok") != 0)
        (void)note(c, LOT_CHANGE_FAILED, p, "status", "%s %.200s", p->after->head.outcome.status,
                   p->after->head.outcome.error_text);
    else if (p->after != NULL && !has_repeats(p->after))
        (void)note(c, LOT_CHANGE_FAILED, p, "warm_forward", "no repeat was measured now");
}

/* ---- results, counters, environment ---- */

static void note_results(comparing *c, const pair *p)
{
    const lot_verification *b = &p->before->head.verification, *a = &p->after->head.verification;
    const bool same_group = lot_group_compare(&p->before->head, &p->after->head) == 0;

    if (a->passed == 0)
        (void)note(c, LOT_CHANGE_WRONG, p, "passed", "a result fails its verification now");
    if (!same_group || b->digest[0] == '\0' || a->digest[0] == '\0')
        return;
    if (!p->before->digests_agree)
        (void)note(c, LOT_CHANGE_WRONG, p, "digest",
                   "its outputs already differed among the earlier archives");
    else if (strcmp(b->digest, a->digest) != 0)
        (void)note(c, LOT_CHANGE_WRONG, p, "digest",
                   "its output is %s, was %s with the same configuration and library versions", a->digest,
                   b->digest);
}

/* Errors that a GPU counts over its life. */
static void note_errors(comparing *c, const pair *p)
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
            (void)note(c,
                       counters[i].bad && counters[i].after > counters[i].before ? LOT_CHANGE_ERRORS
                                                                                 : LOT_CHANGE_COUNTER,
                       p, counters[i].name, "%lld, was %lld", (long long)counters[i].after,
                       (long long)counters[i].before);
}

static void note_environment(comparing *c, const pair *p)
{
    size_t count;
    const lot_setup_subject *subjects = lot_setup_subjects(&count);

    for (size_t i = 0; i < count; i++) {
        char before[LOT_SETUP_VALUE_SIZE], after[LOT_SETUP_VALUE_SIZE];

        lot_setup_print(&subjects[i], &p->before->head, before);
        lot_setup_print(&subjects[i], &p->after->head, after);
        if (strcmp(before, after) != 0)
            (void)note(c, LOT_CHANGE_ENVIRONMENT, p, subjects[i].name, "%s, was %s",
                       after[0] != '\0' ? after : "not known", before[0] != '\0' ? before : "not known");
    }
}

static void note_memory(comparing *c, const pair *p, const lot_baseline_series *b,
                        const lot_baseline_series *a)
{
    lot_change *change = NULL;

    if (b->allocated_peak_bytes != a->allocated_peak_bytes)
        change = note(c, LOT_CHANGE_COUNTER, p, "allocated_peak_bytes", "%lld, was %lld",
                      (long long)a->allocated_peak_bytes, (long long)b->allocated_peak_bytes);
    else if (b->reserved_peak_bytes != a->reserved_peak_bytes)
        change = note(c, LOT_CHANGE_COUNTER, p, "reserved_peak_bytes", "%lld, was %lld",
                      (long long)a->reserved_peak_bytes, (long long)b->reserved_peak_bytes);
    if (change != NULL) {
        memcpy(change->phase, a->phase, sizeof change->phase);
        memcpy(change->schedule, a->schedule, sizeof change->schedule);
    }
}

/* ---- times ---- */

static const lot_baseline_series *series_of(gpu *g, const lot_baseline_series *like)
{
    for (size_t i = 0; i < g->series_count; i++)
        if (strcmp(g->series[i].phase, like->phase) == 0 &&
            strcmp(g->series[i].schedule, like->schedule) == 0)
            return &g->series[i];
    return NULL;
}

/* Noise of one series over all GPUs: the middle of theirs, so that one unstable GPU does not decide. */
typedef struct noise {
    char phase[16];
    char schedule[12];
    double repeat[2][LOT_CLOCK_COUNT]; /* before and after */
    double archive[LOT_CLOCK_COUNT];
    double archive_dof;
    size_t gpus;
} noise;

static double middle_of(const lot_baseline *side, const noise *like, int clock, bool archives,
                        double *scratch)
{
    size_t count = 0;

    for (size_t i = 0; i < side->device_count; i++)
        for (size_t k = 0; k < side->devices[i].series_count; k++) {
            const lot_baseline_series *s = &side->devices[i].series[k];
            const double value = archives ? s->archive_spread[clock] : s->repeat_spread[clock];

            if (!isnan(value) && strcmp(s->phase, like->phase) == 0 &&
                strcmp(s->schedule, like->schedule) == 0)
                scratch[count++] = value;
        }
    return lot_stats_median(scratch, count);
}

/* Every phase and schedule has one; there are few. */
static const noise *noise_of(comparing *c, noise *known, size_t *count, size_t most,
                             const lot_baseline_series *like, double *scratch)
{
    /* The median of sample deviations lies below the truth; Wilson and Hilferty, as in judge_speed.c. */
    const double v = (double)(c->before->archives - 1);
    const double middle_shrinks = v > 0 ? pow(1 - 2 / (9 * v), 1.5) : 1;
    noise *n;

    for (size_t i = 0; i < *count; i++)
        if (strcmp(known[i].phase, like->phase) == 0 && strcmp(known[i].schedule, like->schedule) == 0)
            return &known[i];
    if (*count == most)
        return NULL;
    n = &known[(*count)++];
    memcpy(n->phase, like->phase, sizeof n->phase);
    memcpy(n->schedule, like->schedule, sizeof n->schedule);
    for (int clock = 0; clock < LOT_CLOCK_COUNT; clock++) {
        n->repeat[0][clock] = middle_of(c->before, n, clock, false, scratch);
        n->repeat[1][clock] = middle_of(c->after, n, clock, false, scratch);
        n->archive[clock] = middle_of(c->before, n, clock, true, scratch) / middle_shrinks;
    }
    n->archive_dof = (double)(c->before->archives - 1) * (double)c->result->matched;
    n->gpus = c->result->matched;
    return n;
}

/* What a median of repeats varies by: the GPU's own spread where it is larger than the common one. */
static double repeat_variance(double own, double common, int64_t rows)
{
    const double spread = fmax(own, common);

    return rows < 2 || isnan(spread) ? NAN : spread * spread * lot_median_variance((size_t)rows);
}

/* Fills interval and limit. Noise between archives, where a baseline knows it, holds everything that changes
 * from one day to another; without it only the repeats' noise is known. */
static void judge_drift(const comparing *c, const noise *n, int clock, const lot_baseline_series *b,
                        const lot_baseline_series *a, lot_drift *d)
{
    const double change = log(a->seconds[clock] / b->seconds[clock]);
    const int64_t rows = b->rows < a->rows ? b->rows : a->rows;
    double variance = repeat_variance(b->repeat_spread[clock], n->repeat[0][clock], b->rows) +
                      repeat_variance(a->repeat_spread[clock], n->repeat[1][clock], a->rows);
    double dof = (double)(rows - 1) * (double)n->gpus;
    double half, limit;

    if (!isnan(n->archive[clock])) {
        const double between =
            n->archive[clock] * n->archive[clock] * (1 + lot_median_variance((size_t)b->archives));

        dof = isnan(variance) || between > variance ? n->archive_dof : dof;
        variance = fmax(variance, between);
    }
    d->slower = (lot_estimate){lot_speed_lost(change), NAN, NAN};
    d->noise_limit = NAN;
    if (isnan(variance) || !(dof > 0))
        return;
    half = lot_student_quantile(0.025, dof) * sqrt(variance);
    limit = lot_student_quantile(c->options->level / (2 * c->tests), dof) * sqrt(variance);
    d->slower.low = lot_speed_lost(change - half);
    d->slower.high = lot_speed_lost(change + half);
    d->noise_limit = lot_speed_lost(limit);
    d->beyond_noise = fabs(change) > limit;
}

static void note_verdict(comparing *c, const pair *p, const lot_drift *d)
{
    const bool slower = d->slower.value > 0;
    const double factor = slower ? d->slower.value : 1 - 1 / (1 - d->slower.value);
    lot_change *change;

    if (!d->beyond_noise || fabs(factor) <= c->options->tolerance)
        return;
    change = note(c, slower ? LOT_CHANGE_SLOWER : LOT_CHANGE_FASTER, p,
                  d->clock[0] == 'd' ? "device_seconds" : "host_seconds",
                  "%+.2f %% slower than before (95 %% interval %+.2f to %+.2f %%; noise may explain %.2f %%, "
                  "tolerance %.2f %%)",
                  100 * d->slower.value, 100 * d->slower.low, 100 * d->slower.high, 100 * d->noise_limit,
                  100 * c->options->tolerance);
    memcpy(change->phase, d->phase, sizeof change->phase);
    memcpy(change->schedule, d->schedule, sizeof change->schedule);
}

static void compare_series(comparing *c, const pair *p, const noise *n, const lot_baseline_series *b,
                           const lot_baseline_series *a)
{
    const int clock = isnan(a->seconds[LOT_CLOCK_DEVICE]) || isnan(b->seconds[LOT_CLOCK_DEVICE])
                          ? LOT_CLOCK_HOST
                          : LOT_CLOCK_DEVICE;
    lot_compare_result *r = c->result;
    lot_drift *d;

    if (isnan(a->seconds[clock]) || isnan(b->seconds[clock]))
        return;
    d = next((void **)&r->drifts, &r->drift_count, &c->drift_capacity, sizeof *d);
    if (d == NULL) {
        c->no_memory = true;
        return;
    }
    memset(d, 0, sizeof *d);
    memcpy(d->uuid, p->after->head.device.uuid, sizeof d->uuid);
    d->rank_before = p->before->head.identity.rank;
    d->rank_after = p->after->head.identity.rank;
    memcpy(d->phase, a->phase, sizeof d->phase);
    memcpy(d->schedule, a->schedule, sizeof d->schedule);
    (void)lot_field_copy(d->clock, sizeof d->clock, clock == LOT_CLOCK_DEVICE ? "device" : "host");
    d->before_seconds = b->seconds[clock];
    d->after_seconds = a->seconds[clock];
    judge_drift(c, n, clock, b, a, d);
    note_verdict(c, p, d);
}

/* How many series of repeats of the last GPU, whose drifts begin at `first`, have a counterpart, and how many
 * of these were judged. */
static size_t compared_repeats(const lot_compare_result *r, size_t first, size_t *judged)
{
    size_t compared = 0;

    *judged = 0;
    for (size_t i = first; i < r->drift_count; i++)
        if (strcmp(r->drifts[i].phase, "warm_forward") == 0) {
            compared++;
            *judged += isnan(r->drifts[i].noise_limit) ? 0 : 1;
        }
    return compared;
}

/* A speed that was not judged is not a good one. A GPU without repeats is among the failed already. */
static void note_undecided(comparing *c, const pair *p, size_t first)
{
    size_t judged;
    const size_t compared = compared_repeats(c->result, first, &judged);

    if (p->before == NULL || p->after == NULL || !has_repeats(p->after) || judged > 0)
        return;
    (void)note(c, LOT_CHANGE_UNDECIDED, p, "warm_forward", "%s",
               compared == 0
                   ? "its repeats have no counterpart before: another schedule, or none was measured"
                   : "too few repeats to know their noise: its speed was not judged");
}

/* The 18 possible series of a record are the most that there can be. */
#define SERIES_MOST 18

static void compare_times(comparing *c)
{
    const size_t most = c->before->device_count + c->after->device_count;
    double *scratch = malloc((most + 1) * SERIES_MOST * sizeof *scratch);
    noise known[SERIES_MOST];
    size_t count = 0;

    if (scratch == NULL)
        c->no_memory = true;
    for (size_t i = 0; !c->no_memory && i < c->pair_count; i++) {
        const pair *p = &c->pairs[i];
        const size_t first = c->result->drift_count;

        for (size_t k = 0; p->before != NULL && p->after != NULL && k < p->after->series_count; k++) {
            const lot_baseline_series *a = &p->after->series[k];
            const lot_baseline_series *b = series_of(p->before, a);
            const noise *n = b != NULL ? noise_of(c, known, &count, SERIES_MOST, a, scratch) : NULL;

            if (n == NULL)
                continue;
            compare_series(c, p, n, b, a);
            note_memory(c, p, b, a);
        }
        note_undecided(c, p, first);
    }
    free(scratch);
}

/* Every time that can be compared is one chance to be wrong. */
static void count_tests(comparing *c)
{
    for (size_t i = 0; i < c->pair_count; i++)
        if (c->pairs[i].before != NULL && c->pairs[i].after != NULL)
            c->tests += (double)c->pairs[i].after->series_count;
    c->tests = fmax(c->tests, 1);
}

/* ---- the whole ---- */

static int by_change(const void *a, const void *b)
{
    const lot_change *x = a;
    const lot_change *y = b;
    int order;

    if (x->kind != y->kind)
        return x->kind > y->kind ? 1 : -1;
    if ((order = strcmp(x->uuid, y->uuid)) != 0)
        return order;
    if (x->rank_after != y->rank_after)
        return x->rank_after > y->rank_after ? 1 : -1;
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

    if (before->simulated != after->simulated)
        return lot_error_set(error, LOT_INPUT, "archive", 0,
                             "one of the two was made over a simulator and the other was not");
    return b != NULL && a != NULL ? lot_baseline_same_work(b, a, error) : LOT_OK;
}

static void compare_all(comparing *c)
{
    match(c);
    count_tests(c);
    note_places(c);
    /* The pairs are freed by the caller. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
    for (size_t i = 0; i < c->pair_count; i++) {
        const pair *p = &c->pairs[i];

        note_presence(c, p);
        if (p->before == NULL || p->after == NULL)
            continue;
        note_results(c, p);
        note_errors(c, p);
        note_environment(c, p);
    }
    compare_times(c);
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
    comparing c = {.options = options, .before = before, .after = after, .result = &made};
    lot_status status = check_comparable(before, after, error);
    pair *pairs;

    if (status != LOT_OK)
        return status;
    pairs = calloc(before->device_count + after->device_count + 1, sizeof *pairs);
    c.pairs = pairs;
    c.no_memory = pairs == NULL;
    if (pairs != NULL)
        compare_all(&c);
    if (c.no_memory) {
        lot_compare_result_free(&made);
        status = lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory to compare %zu GPUs",
                               after->device_count);
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
