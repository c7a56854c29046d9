#include "analysis/baseline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/groups.h"
#include "core/distributions.h"
#include "core/stats.h"

/* One rank of one run, with what makes it that GPU. */
typedef struct entry {
    const lot_record_head *head;
    const lot_observation *seen;
    size_t run;
    bool shares_uuid; /* with another rank of some run */
} entry;

static int by_rank(const entry *a, const entry *b)
{
    return (a->head->identity.rank > b->head->identity.rank) -
           (a->head->identity.rank < b->head->identity.rank);
}

static int by_uuid(const void *a, const void *b)
{
    const entry *x = a;
    const entry *y = b;
    const int order = strcmp(x->head->device.uuid, y->head->device.uuid);

    if (order != 0)
        return order;
    return x->run != y->run ? (x->run > y->run) - (x->run < y->run) : by_rank(x, y);
}

static bool same_uuid(const entry *a, const entry *b)
{
    return strcmp(a->head->device.uuid, b->head->device.uuid) == 0;
}

static bool same_gpu(const entry *a, const entry *b)
{
    return same_uuid(a, b) && (!a->shares_uuid || by_rank(a, b) == 0);
}

/* Where ranks share a UUID, the rank is what tells them apart. */
static int by_gpu(const void *a, const void *b)
{
    const entry *x = a;
    const entry *y = b;
    const int order = strcmp(x->head->device.uuid, y->head->device.uuid);

    if (order != 0)
        return order;
    if (x->shares_uuid && by_rank(x, y) != 0)
        return by_rank(x, y);
    return x->run != y->run ? (x->run > y->run) - (x->run < y->run) : by_rank(x, y);
}

/* Notes which of the entries, sorted by UUID and run, share a UUID within a run. */
static void find_shared(entry *entries, size_t count)
{
    for (size_t first = 0, end; first < count; first = end) {
        bool shared = false;

        for (end = first + 1; end < count && same_uuid(&entries[first], &entries[end]); end++)
            shared = shared || entries[end].run == entries[end - 1].run;
        for (size_t i = first; i < end; i++)
            entries[i].shares_uuid = shared;
    }
}

/* Ranks without a UUID are nobody that could be recognised. */
static entry *list_entries(const lot_observed_run *runs, size_t count, size_t *found)
{
    size_t total = 0;
    entry *entries;

    for (size_t r = 0; r < count; r++)
        total += runs[r].count;
    entries = calloc(total + 1, sizeof *entries);
    *found = 0;
    for (size_t r = 0; entries != NULL && r < count; r++)
        for (size_t i = 0; i < runs[r].count; i++)
            if (runs[r].heads[i].device.uuid[0] != '\0')
                entries[(*found)++] = (entry){&runs[r].heads[i], &runs[r].observations[i], r, false};
    if (entries == NULL)
        return NULL;
    qsort(entries, *found, sizeof *entries, by_uuid);
    find_shared(entries, *found);
    qsort(entries, *found, sizeof *entries, by_gpu);
    return entries;
}

/* ---- one series over the archives ---- */

static void add_clock(const entry *entries, size_t count, int clock, lot_baseline_series *s, double *scratch)
{
    size_t times = 0, spreads = 0;

    for (size_t i = 0; i < count; i++) {
        const lot_series *seen = lot_observation_find(entries[i].seen, s->phase, s->schedule);

        if (seen != NULL && seen->timing[clock].rows > 0)
            scratch[times++] = log(seen->timing[clock].median_seconds);
    }
    s->seconds[clock] = times > 0 ? exp(lot_stats_median(scratch, times)) : NAN;
    s->archive_spread[clock] = lot_stats_deviation(scratch, times);
    for (size_t i = 0; i < count; i++) {
        const lot_series *seen = lot_observation_find(entries[i].seen, s->phase, s->schedule);

        if (seen != NULL && !isnan(seen->timing[clock].robust_deviation))
            scratch[spreads++] = seen->timing[clock].robust_deviation;
    }
    s->repeat_spread[clock] = lot_stats_median(scratch, spreads);
}

/* Copies the repeats of one archive; false without memory. */
static bool copy_repeats(const lot_series *from, lot_baseline_series *s)
{
    for (int clock = 0; clock < LOT_CLOCK_COUNT; clock++) {
        const size_t size = from->repeat_count[clock] * sizeof *from->repeats[clock];

        if (from->repeats[clock] == NULL || size == 0)
            continue;
        if ((s->repeats[clock] = malloc(size)) == NULL)
            return false;
        memcpy(s->repeats[clock], from->repeats[clock], size);
        s->repeat_count[clock] = from->repeat_count[clock];
    }
    return true;
}

static bool make_series(const entry *entries, size_t count, const lot_series *like, lot_baseline_series *s,
                        double *scratch)
{
    memset(s, 0, sizeof *s);
    memcpy(s->phase, like->phase, sizeof s->phase);
    memcpy(s->schedule, like->schedule, sizeof s->schedule);
    s->rows = INT64_MAX;
    s->allocated_peak_bytes = s->reserved_peak_bytes = LOT_NULL_I64;
    for (size_t i = 0; i < count; i++) {
        const lot_series *seen = lot_observation_find(entries[i].seen, s->phase, s->schedule);

        if (seen == NULL)
            continue;
        s->archives++;
        if (seen->timing[LOT_CLOCK_HOST].rows < s->rows)
            s->rows = seen->timing[LOT_CLOCK_HOST].rows;
        if (seen->allocated_peak_bytes > s->allocated_peak_bytes)
            s->allocated_peak_bytes = seen->allocated_peak_bytes;
        if (seen->reserved_peak_bytes > s->reserved_peak_bytes)
            s->reserved_peak_bytes = seen->reserved_peak_bytes;
    }
    for (int clock = 0; clock < LOT_CLOCK_COUNT; clock++)
        add_clock(entries, count, clock, s, scratch);
    return count > 1 || copy_repeats(like, s);
}

/* ---- one GPU ---- */

static bool digests_agree(const entry *entries, size_t count)
{
    const lot_record_head *last = entries[count - 1].head;

    for (size_t i = 0; i + 1 < count; i++)
        if (lot_group_compare(entries[i].head, last) == 0 &&
            entries[i].head->verification.digest[0] != '\0' &&
            strcmp(entries[i].head->verification.digest, last->verification.digest) != 0)
            return false;
    return true;
}

/* The phases are those of the last archive that has the GPU. */
static bool make_device(const entry *entries, size_t count, lot_baseline_device *d, double *scratch)
{
    const entry *last = &entries[count - 1];

    d->head = *last->head;
    d->shares_uuid = last->shares_uuid;
    d->archives = (int64_t)count;
    d->digests_agree = digests_agree(entries, count);
    d->series = calloc(last->seen->count + 1, sizeof *d->series);
    if (d->series == NULL)
        return false;
    for (size_t k = 0; k < last->seen->count; k++)
        if (!make_series(entries, count, &last->seen->series[k], &d->series[d->series_count++], scratch))
            return false;
    return true;
}

static bool make_devices(const entry *entries, size_t count, lot_baseline *made)
{
    double *scratch = malloc((count + 1) * sizeof *scratch);
    bool fits;

    made->devices = calloc(count + 1, sizeof *made->devices);
    fits = scratch != NULL && made->devices != NULL;
    for (size_t first = 0; fits && first < count;) {
        size_t end = first + 1;

        while (end < count && same_gpu(&entries[first], &entries[end]))
            end++;
        fits = make_device(&entries[first], end - first, &made->devices[made->device_count++], scratch);
        first = end;
    }
    free(scratch);
    return fits;
}

/* ---- what can be put together ---- */

/* A rank that never told its work cannot contradict. */
static bool tells_work(const lot_record_head *head)
{
    return head->synthetic_model.dtype[0] != '\0';
}

lot_status lot_baseline_same_work(const lot_record_head *a, const lot_record_head *b, lot_error *error)
{
    char difference[192];

    if (!tells_work(a) || !tells_work(b) || lot_work_equal(a, b, difference, sizeof difference))
        return LOT_OK;
    return lot_error_set(error, LOT_INPUT, "archive", 0,
                         "the runs did different work, so they cannot be compared: %s", difference);
}

static lot_status check_runs(const lot_observed_run *runs, size_t count, lot_error *error)
{
    const lot_record_head *first = NULL;
    lot_status status = lot_observed_distinct(runs, count, error);

    for (size_t r = 0; status == LOT_OK && r < count; r++)
        for (size_t i = 0; status == LOT_OK && i < runs[r].count; i++) {
            if (first == NULL && tells_work(&runs[r].heads[i]))
                first = &runs[r].heads[i];
            if (first != NULL)
                status = lot_baseline_same_work(first, &runs[r].heads[i], error);
        }
    return status;
}

lot_status lot_baseline_make(const lot_observed_run *runs, size_t count, lot_baseline *baseline,
                             lot_error *error)
{
    lot_baseline made = {.archives = (int64_t)count, .simulated = count > 0 && runs[0].header.simulated == 1};
    lot_status status = check_runs(runs, count, error);
    size_t found = 0;
    entry *entries;

    if (status != LOT_OK)
        return status;
    entries = list_entries(runs, count, &found);
    if (entries == NULL || !make_devices(entries, found, &made)) {
        lot_baseline_free(&made);
        status =
            lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for a baseline of %zu ranks", found);
    } else {
        *baseline = made;
    }
    free(entries);
    return status;
}

/* What the median of many squared deviations of `dof` degrees knows of the noise, relative to their mean: 8
 * (m p(m))^2 / dof, with m the median of chi-square and p its density, from the variance of a median of n, 1
 * / (4 n p(m)^2). */
static double median_efficiency(double dof)
{
    const double m = lot_chi_square_median(dof);
    const double density = exp((dof / 2 - 1) * log(m / 2) - m / 2 - lgamma(dof / 2)) / 2;

    return 8 * m * m * density * density / dof;
}

/* Of one GPU and of two the middle is the mean, and an odd one beside pairs tells nothing more. */
double lot_baseline_dof(const lot_baseline *baseline, size_t devices)
{
    const double dof = (double)(baseline->archives - 1);
    const double paired = (double)(devices - devices % 2);

    if (baseline->archives < 2)
        return NAN;
    return devices < 2 ? dof * (double)devices : dof * (2 + (paired - 2) * median_efficiency(dof));
}

lot_status lot_baseline_usable(const lot_baseline *baseline, lot_error *error)
{
    return baseline->device_count > 0
               ? LOT_OK
               : lot_error_set(error, LOT_INPUT, "archive", 0,
                               "no rank before has a UUID, so no GPU can be recognised");
}
