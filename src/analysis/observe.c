#include "analysis/observe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/spread.h"
#include "core/checked.h"
#include "core/grown.h"
#include "core/stats.h"

/* ---- times of one series ---- */

/* Seconds of one pass, NaN where the row has no usable time. */
static double pass_seconds(const lot_phase *row, lot_clock_kind clock)
{
    const double seconds = clock == LOT_CLOCK_DEVICE ? row->device_seconds : row->host_seconds;

    if (!isfinite(seconds) || seconds <= 0)
        return NAN;
    return row->passes > 1 ? seconds / (double)row->passes : seconds;
}

/* Least squares of y over its index: the change from the first to the last and its standard error. */
static void fit_line(const double *y, size_t count, lot_timing *timing)
{
    const double n = (double)count;
    const double middle = (n - 1) / 2;
    double mean = 0, slope = 0, residual = 0;
    const double sxx = n * (n * n - 1) / 12;

    for (size_t i = 0; i < count; i++)
        mean += y[i] / n;
    for (size_t i = 0; i < count; i++)
        slope += ((double)i - middle) * (y[i] - mean) / sxx;
    for (size_t i = 0; i < count; i++) {
        const double off = y[i] - mean - slope * ((double)i - middle);

        residual += off * off;
    }
    timing->change = slope * (n - 1);
    timing->change_error = (n - 1) * sqrt(residual / (n - 2) / sxx);
}

/* The cut of sorted values into two clusters that leaves the least spread within them: the most between. */
static void split_in_two(const double *sorted, size_t count, lot_timing *timing)
{
    const size_t least = count / 10 > 2 ? count / 10 : 2;
    const double n = (double)count;
    double total = 0, left = 0, best = -1;
    size_t cut = 0;

    for (size_t i = 0; i < count; i++)
        total += sorted[i] - sorted[0];
    for (size_t i = 1; i + least <= count; i++) {
        const double k = (double)i;
        double gap, between;

        left += sorted[i - 1] - sorted[0];
        if (i < least)
            continue;
        gap = (total - left) / (n - k) - left / k;
        between = k * (n - k) / n * gap * gap;
        if (between > best) {
            best = between;
            timing->gap = gap;
            cut = i;
        }
    }
    timing->gap_deviation =
        fmax(lot_stats_deviation(sorted, cut), lot_stats_deviation(&sorted[cut], count - cut));
    timing->gap_share = (double)(cut < count - cut ? cut : count - cut) / n;
}

/* No clock in use steps further: CUDA's events have 0.5 us (cudaEventElapsedTime), 1.024 us on older GPUs. */
#define COARSEST_STEP_SECONDS 1.1e-6

/* Closer logarithms are one time: what rounding leaves of it. */
#define SAME_TIME 1e-7

/* The least difference of two sorted times, where a clock may step so far. Of times that no clock rounds it
 * is far below their noise. */
static double clock_step(const double *y, size_t count)
{
    double least = INFINITY;

    for (size_t i = 1; i < count; i++)
        if (y[i] - y[i - 1] > SAME_TIME)
            least = fmin(least, y[i] - y[i - 1]);
    return least * exp(y[count / 2]) <= COARSEST_STEP_SECONDS ? least : 0;
}

/* Counts logarithms of times beyond a limit, in order of measuring. */
static void count_late(const double *y, size_t count, double limit, lot_timing *timing)
{
    for (size_t i = 0; i < count; i++) {
        const bool late = y[i] > limit;

        timing->late_rows += late;
        timing->late_runs += late && (i == 0 || y[i - 1] <= limit);
    }
}

/* Fills *timing from `count` logarithms of times in order of measuring; `y` has room for as many more. */
static void summarise(double *y, size_t count, lot_timing *timing)
{
    const double *in_order = &y[count];

    *timing = (lot_timing){(int64_t)count, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0, 0, 0};
    if (count == 0)
        return;
    if (count >= 3)
        fit_line(y, count, timing);
    timing->deviation = lot_stats_deviation(y, count);
    memcpy(&y[count], y, count * sizeof *y);
    lot_stats_sort(y, count);
    timing->robust_deviation = lot_stats_robust_deviation(y, count);
    timing->step = clock_step(y, count);
    count_late(in_order, count, 0.5 * (y[(count - 1) / 2] + y[count / 2]) + log1p(LOT_LATE_BY) + timing->step,
               timing);
    timing->median_seconds = 0.5 * (exp(y[(count - 1) / 2]) + exp(y[count / 2]));
    if (count >= 4)
        split_in_two(y, count, timing);
}

double lot_timing_variance(const lot_timing *timing)
{
    const double deviation = timing->robust_deviation;

    return isnan(deviation) ? 0 : deviation * deviation * lot_median_variance((size_t)timing->rows);
}

/* ---- one series ---- */

static void add_known(int64_t *sum, int64_t value)
{
    if (value == LOT_NULL_I64)
        return;
    *sum = *sum == LOT_NULL_I64 ? 0 : *sum;
    lot_checked_count(sum, value);
}

static void keep_most(int64_t *most, int64_t value)
{
    if (value > *most)
        *most = value;
}

static void open_series(lot_series *s, const lot_phase *row)
{
    memset(s, 0, sizeof *s);
    memcpy(s->phase, row->phase, sizeof s->phase);
    memcpy(s->schedule, row->schedule, sizeof s->schedule);
    for (int i = 0; i < LOT_SLOWDOWN_COUNT; i++)
        s->slowdown_seconds[i] = s->slowdown_sampled[i] = NAN;
    s->sm_clock_mhz = NAN;
    s->pcie_generation = s->pcie_width = s->ecc_corrected = s->ecc_uncorrected = LOT_NULL_I64;
    s->allocated_peak_bytes = s->reserved_peak_bytes = LOT_NULL_I64;
    s->elements_differing = s->first_element_differing = LOT_NULL_I64;
}

/* How long the device was at work in a row. */
static double busy_seconds(const lot_phase *row)
{
    if (isfinite(row->device_seconds) && row->device_seconds > 0)
        return row->device_seconds;
    return isfinite(row->host_seconds) && row->host_seconds > 0 ? row->host_seconds : 0;
}

/* What the counters of slowed time are a share of. Between several passes of a row the outputs are checked on
 * the device, and the counters go on; a single pass is checked after their last reading. */
static double counted_seconds(const lot_phase *row)
{
    const double interval = row->telemetry.interval_seconds, busy = busy_seconds(row);

    return row->passes > 1 && interval > busy ? interval : busy;
}

static void add_seconds(double *sum, double seconds)
{
    *sum = (isnan(*sum) ? 0 : *sum) + seconds;
}

/* NVML sets "hardware slowdown" (0x8) beside the thermal or the power brake bit; alone it counts as thermal.
 */
static int64_t reasons(int64_t bits)
{
    return (bits & 0x08) != 0 && (bits & 0xC0) == 0 ? bits | 0x40 : bits;
}

static void add_slowdown(lot_series *s, const lot_phase *row)
{
    static const int64_t bits[] = {
#define SLOWDOWN_BIT(name, bit) bit,
        LOT_SLOWDOWN_LIST(SLOWDOWN_BIT)
#undef SLOWDOWN_BIT
    };
    const lot_telemetry *t = &row->telemetry;
    const int64_t spent[] = {
#define SLOWDOWN_COUNTER(name, bit) t->throttle_##name##_nanoseconds,
        LOT_SLOWDOWN_LIST(SLOWDOWN_COUNTER)
#undef SLOWDOWN_COUNTER
    };

    for (int i = 0; i < LOT_SLOWDOWN_COUNT; i++) {
        if (spent[i] != LOT_NULL_I64)
            add_seconds(&s->slowdown_seconds[i], (double)spent[i] * 1e-9);
        if (t->clock_event_bits != LOT_NULL_I64)
            add_seconds(&s->slowdown_sampled[i],
                        (reasons(t->clock_event_bits) & bits[i]) != 0 ? busy_seconds(row) : 0);
    }
}

/* A row's own digest speaks too, where nobody counted. */
static void add_digest(lot_series *s, const lot_phase *row, const char *first_digest)
{
    const bool other =
        row->digest[0] != '\0' && first_digest[0] != '\0' && strcmp(row->digest, first_digest) != 0;
    int64_t differing = row->digests_differing > 0 ? row->digests_differing : 0;

    if (other && differing == 0)
        differing = 1;
    s->digested_rows += row->digest[0] != '\0' || row->digests_differing >= 0;
    if (differing > 0 && s->deviating_digest[0] == '\0')
        memcpy(s->deviating_digest, row->digest, sizeof s->deviating_digest);
    if (row->elements_differing > 0 && s->elements_differing == LOT_NULL_I64) {
        s->elements_differing = row->elements_differing;
        s->first_element_differing = row->first_element_differing;
    }
    lot_checked_count(&s->digests_differing, differing);
    s->nonfinite_rows += row->finite == 0;
}

static void add_row(lot_series *s, const lot_phase *row, const char *first_digest)
{
    const lot_telemetry *t = &row->telemetry;

    s->rows++;
    lot_checked_count(&s->passes, row->passes > 0 ? row->passes : 0);
    s->busy_seconds += busy_seconds(row);
    s->counted_seconds += counted_seconds(row);
    add_slowdown(s, row);
    add_digest(s, row, first_digest);
    keep_most(&s->pcie_generation, t->pcie_generation);
    keep_most(&s->pcie_width, t->pcie_width);
    if (!isnan(t->sm_clock_mhz)) {
        s->sm_clock_mhz = s->sm_clock_rows == 0 ? 0 : s->sm_clock_mhz;
        s->sm_clock_mhz += (t->sm_clock_mhz - s->sm_clock_mhz) / (double)++s->sm_clock_rows;
    }
    add_known(&s->ecc_corrected, t->ecc_corrected);
    add_known(&s->ecc_uncorrected, t->ecc_uncorrected);
    keep_most(&s->allocated_peak_bytes, row->allocated_peak_bytes);
    keep_most(&s->reserved_peak_bytes, row->reserved_peak_bytes);
}

static bool belongs(const lot_series *s, const lot_phase *row)
{
    return strcmp(s->phase, row->phase) == 0 && strcmp(s->schedule, row->schedule) == 0;
}

/* The index of the row's series, made where it is new; SIZE_MAX without memory. */
static size_t series_of(lot_observation *o, const lot_phase *row)
{
    lot_series *grown;

    /* Rows of a series follow one another, so the newest is looked at first. */
    for (size_t i = o->count; i > 0; i--)
        if (belongs(&o->series[i - 1], row))
            return i - 1;
    grown = lot_grown(o->series, o->count, sizeof *grown);
    if (grown == NULL)
        return SIZE_MAX;
    o->series = grown;
    open_series(&grown[o->count], row);
    return o->count++;
}

/* Sorted seconds from `count` logarithms of times in the order of the rows; NULL without memory. */
static double *keep(const double *y, size_t count, size_t *kept)
{
    const size_t parts = count < LOT_REPEATS_KEPT ? count : LOT_REPEATS_KEPT;
    double *seconds = malloc((parts + 1) * sizeof *seconds);

    *kept = parts;
    if (seconds == NULL)
        return NULL;
    for (size_t i = 0; i < parts; i++) {
        const size_t first = i * count / parts, end = (i + 1) * count / parts;

        seconds[i] = exp(lot_stats_median(&y[first], end - first));
    }
    lot_stats_sort(seconds, parts);
    return seconds;
}

static bool is_repeated(const lot_series *s)
{
    return strcmp(s->phase, "warm_forward") == 0 || strcmp(s->phase, "soak") == 0;
}

/* False without memory. */
static bool time_series(lot_series *s, const lot_phase *rows, size_t count, bool keep_repeats, double *y)
{
    for (int clock = 0; clock < LOT_CLOCK_COUNT; clock++) {
        size_t used = 0;

        for (size_t i = 0; i < count; i++) {
            const double seconds = belongs(s, &rows[i]) ? pass_seconds(&rows[i], (lot_clock_kind)clock) : NAN;

            if (!isnan(seconds))
                y[used++] = log(seconds);
        }
        if (keep_repeats && is_repeated(s) &&
            (s->repeats[clock] = keep(y, used, &s->repeat_count[clock])) == NULL)
            return false;
        summarise(y, used, &s->timing[clock]);
    }
    return true;
}

lot_status lot_observe(const lot_phase *rows, size_t count, const char *first_digest, bool keep_repeats,
                       lot_observation *observation, lot_error *error)
{
    lot_observation made = {NULL, 0};
    double *y = malloc((2 * count + 1) * sizeof *y);
    bool fits = y != NULL;

    for (size_t i = 0; fits && i < count; i++) {
        const size_t at = series_of(&made, &rows[i]);

        fits = at != SIZE_MAX;
        if (fits)
            add_row(&made.series[at], &rows[i], first_digest);
    }
    for (size_t i = 0; fits && i < made.count; i++)
        fits = time_series(&made.series[i], rows, count, keep_repeats, y);
    free(y);
    if (!fits) {
        lot_observation_free(&made);
        return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for the series of %zu phase rows",
                             count);
    }
    *observation = made;
    return LOT_OK;
}

void lot_observation_free(lot_observation *observation)
{
    for (size_t i = 0; i < observation->count; i++)
        for (int clock = 0; clock < LOT_CLOCK_COUNT; clock++)
            free(observation->series[i].repeats[clock]);
    free(observation->series);
    *observation = (lot_observation){NULL, 0};
}

const lot_series *lot_observation_find(const lot_observation *observation, const char *phase,
                                       const char *schedule)
{
    for (size_t i = 0; i < observation->count; i++) {
        const lot_series *s = &observation->series[i];

        if (strcmp(s->phase, phase) == 0 && strcmp(s->schedule, schedule) == 0)
            return s;
    }
    return NULL;
}

lot_clock_kind lot_series_clock(const lot_series *series)
{
    const int64_t device = series->timing[LOT_CLOCK_DEVICE].rows;

    return device > 0 && device >= series->timing[LOT_CLOCK_HOST].rows ? LOT_CLOCK_DEVICE : LOT_CLOCK_HOST;
}

/* ---- a whole run ---- */

void lot_observed_init(lot_observed_run *observed)
{
    memset(observed, 0, sizeof *observed);
}

static bool grow(lot_observed_run *observed)
{
    lot_record_head *heads = lot_grown(observed->heads, observed->count, sizeof *heads);
    lot_observation *observations;

    if (heads == NULL)
        return false;
    observed->heads = heads;
    observations = lot_grown(observed->observations, observed->count, sizeof *observations);
    if (observations == NULL)
        return false;
    observed->observations = observations;
    return true;
}

lot_status lot_observed_add(lot_observed_run *observed, const lot_record_head *head, const lot_phase *rows,
                            size_t count, lot_error *error)
{
    lot_status status;

    if (!grow(observed))
        return lot_error_set(error, LOT_MEMORY, "realloc", 0, "no memory for rank %lld",
                             (long long)head->identity.rank);
    status = lot_observe(rows, count, head->verification.digest, observed->keep_repeats,
                         &observed->observations[observed->count], error);
    if (status == LOT_OK)
        observed->heads[observed->count++] = *head;
    return status;
}

void lot_observed_free(lot_observed_run *observed)
{
    for (size_t i = 0; i < observed->count; i++)
        lot_observation_free(&observed->observations[i]);
    free(observed->heads);
    free(observed->observations);
    lot_observed_init(observed);
}

lot_status lot_observed_distinct(const lot_observed_run *runs, size_t count, lot_error *error)
{
    for (size_t r = 1; r < count; r++) {
        const char *id = runs[r].header.run_id;

        if ((runs[r].header.simulated == 1) != (runs[0].header.simulated == 1))
            return lot_error_set(error, LOT_INPUT, "archive", 0,
                                 "one archive was made over a simulator and another was not");
        for (size_t i = 0; i < r; i++)
            if (id[0] != '\0' && strcmp(id, runs[i].header.run_id) == 0)
                return lot_error_set(error, LOT_INPUT, "archive", 0, "run %s is given twice", id);
    }
    return LOT_OK;
}
