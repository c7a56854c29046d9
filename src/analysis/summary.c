#include "analysis/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/checked.h"

#define LEVEL 0.95

/* ---- phases ---- */

static bool same_group(const lot_phase_summary *group, const lot_phase *row)
{
    return strcmp(group->phase, row->phase) == 0 && strcmp(group->schedule, row->schedule) == 0;
}

static lot_phase_summary *find_group(lot_phase_summary *groups, size_t count, const lot_phase *row)
{
    for (size_t i = 0; i < count; i++)
        if (same_group(&groups[i], row))
            return &groups[i];
    return NULL;
}

static void raise_to(int64_t *most, int64_t value)
{
    if (value > *most)
        *most = value;
}

static void add_row(lot_phase_summary *group, const lot_phase *row)
{
    group->rows++;
    if (row->passes > 0)
        lot_checked_count(&group->passes, row->passes);
    raise_to(&group->allocated_bytes, row->allocated_end_bytes);
    raise_to(&group->reserved_bytes, row->reserved_end_bytes);
    raise_to(&group->allocated_peak_bytes, row->allocated_peak_bytes);
    raise_to(&group->reserved_peak_bytes, row->reserved_peak_bytes);
}

static lot_time_summary time_of(const double *values, size_t count)
{
    lot_time_summary time = {lot_stats_median(values, count), lot_stats_median_interval(values, count, LEVEL),
                             NAN, NAN};

    if (count == 0 || isnan(time.median))
        return time;
    time.least = time.most = values[0];
    for (size_t i = 1; i < count; i++) {
        time.least = fmin(time.least, values[i]);
        time.most = fmax(time.most, values[i]);
    }
    return time;
}

/* Fills the group's times from its rows; `host` and `device` have room for all rows. */
static void fill_row_times(lot_phase_summary *group, const lot_phase *rows, size_t row_count, double *host,
                           double *device)
{
    size_t count = 0;

    for (size_t i = 0; i < row_count; i++)
        if (same_group(group, &rows[i])) {
            host[count] = rows[i].host_seconds;
            device[count++] = rows[i].device_seconds;
        }
    group->host = time_of(host, count);
    group->device = time_of(device, count);
}

/* The same for one pass, over the rows that hold any. */
static void fill_pass_times(lot_phase_summary *group, const lot_phase *rows, size_t row_count, double *host,
                            double *device)
{
    size_t count = 0;

    for (size_t i = 0; i < row_count; i++)
        if (same_group(group, &rows[i]) && rows[i].passes > 0) {
            host[count] = rows[i].host_seconds / (double)rows[i].passes;
            device[count++] = rows[i].device_seconds / (double)rows[i].passes;
        }
    group->host_pass = time_of(host, count);
    group->device_pass = time_of(device, count);
}

/* Not known for a time that no pass can have taken, as an archive that was written to may hold. */
static double rate_of(int64_t flops_per_forward, double seconds)
{
    const double rate = (double)flops_per_forward / seconds;

    return flops_per_forward > 0 && rate > 0 && isfinite(rate) ? rate : NAN;
}

lot_status lot_summary_phases(const lot_phase *rows, size_t row_count, int64_t flops_per_forward,
                              lot_phase_summary groups[LOT_SUMMARY_GROUPS_MAX], size_t *count,
                              lot_error *error)
{
    double *values = calloc(2 * row_count + 1, sizeof *values);
    size_t found = 0;

    if (values == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory to summarise %zu rows", row_count);
    for (size_t i = 0; i < row_count; i++) {
        lot_phase_summary *group = find_group(groups, found, &rows[i]);

        if (group == NULL && found == LOT_SUMMARY_GROUPS_MAX) {
            free(values);
            return lot_error_set(error, LOT_DAMAGED, "phases", 0, "more than %d phases and schedules",
                                 LOT_SUMMARY_GROUPS_MAX);
        }
        if (group == NULL) {
            group = &groups[found++];
            *group = (lot_phase_summary){.allocated_bytes = LOT_NULL_I64,
                                         .reserved_bytes = LOT_NULL_I64,
                                         .allocated_peak_bytes = LOT_NULL_I64,
                                         .reserved_peak_bytes = LOT_NULL_I64};
            memcpy(group->phase, rows[i].phase, sizeof group->phase);
            memcpy(group->schedule, rows[i].schedule, sizeof group->schedule);
        }
        add_row(group, &rows[i]);
    }
    for (size_t i = 0; i < found; i++) {
        fill_row_times(&groups[i], rows, row_count, values, values + row_count);
        fill_pass_times(&groups[i], rows, row_count, values, values + row_count);
        groups[i].flops_per_second = rate_of(flops_per_forward, groups[i].host_pass.median);
    }
    free(values);
    *count = found;
    return LOT_OK;
}

/* ---- ranks ---- */

static void add_rank(lot_ranks_summary *summary, const lot_record_head *head)
{
    const char *status = head->outcome.status;

    summary->recorded++;
    if (strcmp(status, lot_status_name(LOT_OK)) == 0)
        summary->good++;
    else
        summary->failed++;
    if (strcmp(status, lot_status_name(LOT_LOST)) == 0)
        summary->lost++;
    if (head->verification.passed == 1)
        summary->verified++;
    else if (head->verification.passed == 0)
        summary->unverified++;
    if (head->device.simulated == 1)
        summary->simulated++;
    if (strcmp(head->device.kind, "host") == 0)
        summary->host_devices++;
}

lot_status lot_summary_ranks(const lot_record_head *devices, size_t count, lot_ranks_summary *summary,
                             lot_error *error)
{
    lot_ranks_summary made = {.warm_most_rank = -1};
    double *medians = calloc(count + 1, sizeof *medians);

    if (medians == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory to summarise %zu ranks", count);
    made.warm_least_seconds = made.warm_most_seconds = NAN;
    for (size_t i = 0; i < count; i++) {
        const double median = devices[i].outcome.warm_median_seconds;

        add_rank(&made, &devices[i]);
        if (isnan(median))
            continue;
        medians[made.timed++] = median;
        made.warm_least_seconds = fmin(made.warm_least_seconds, median);
        if (!(median <= made.warm_most_seconds)) {
            made.warm_most_seconds = median;
            made.warm_most_rank = devices[i].identity.rank;
        }
    }
    made.warm_median_seconds = lot_stats_median(medians, made.timed);
    free(medians);
    *summary = made;
    return LOT_OK;
}
