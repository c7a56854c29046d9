#include "cmd/show_phases.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "analysis/peak.h"
#include "analysis/summary.h"
#include "core/units.h"
#include "io/report.h"

const char *lot_show_mark(const lot_record_head *head)
{
    if (head->device.simulated == 1)
        return " (SIMULATED)";
    return strcmp(head->device.kind, "host") == 0 ? " (CPU)" : "";
}

static void cell_bytes(lot_report *report, int64_t bytes)
{
    char text[32];

    lot_unit_print_bytes(text, sizeof text, (double)bytes);
    lot_report_cell(report, "%s", text);
}

/* ---- one line a phase ---- */

/* Whether a row of the group holds several passes: their sum is no time that anybody compares. */
static bool per_pass(const lot_phase_summary *group)
{
    return group->passes > (int64_t)group->rows;
}

static const lot_time_summary *host_of(const lot_phase_summary *group)
{
    return per_pass(group) ? &group->host_pass : &group->host;
}

static double device_median(const lot_phase_summary *group)
{
    return per_pass(group) ? group->device_pass.median : group->device.median;
}

static void cell_interval(lot_report *report, const lot_phase_summary *group)
{
    const lot_interval *interval = &host_of(group)->interval;
    char low[32], high[32];

    lot_unit_print_seconds(low, sizeof low, interval->low);
    lot_unit_print_seconds(high, sizeof high, interval->high);
    if (!isnan(interval->coverage) && group->rows > 1)
        lot_report_cell(report, "%s .. %s (%.1f %%)", low, high, 100 * interval->coverage);
    else
        lot_report_cell(report, "-");
}

static void cell_rate(lot_report *report, const lot_phase_summary *group)
{
    char rate[32];

    lot_unit_print_rate(rate, sizeof rate, group->flops_per_second);
    lot_report_cell(report, "%s", rate);
}

static void add_wide(lot_report *report, const lot_phase_summary *group)
{
    lot_report_cell(report, "%s%s", group->phase, per_pass(group) ? " per pass" : "");
    lot_report_cell(report, "%s", lot_field_shown(group->schedule));
    lot_report_cell(report, "%zu", group->rows);
    lot_report_cell(report, "%" PRId64, group->passes);
    lot_report_seconds(report, host_of(group)->median);
    cell_interval(report, group);
    lot_report_seconds(report, host_of(group)->least);
    lot_report_seconds(report, device_median(group));
    cell_rate(report, group);
    cell_bytes(report, group->allocated_bytes);
    cell_bytes(report, group->reserved_bytes);
    cell_bytes(report, group->allocated_peak_bytes);
    cell_bytes(report, group->reserved_peak_bytes);
}

/* "warm_forward", " per pass" where a row holds several, and " solo" where another schedule than together
 * stands in the table too. */
static void add_narrow(lot_report *report, const lot_phase_summary *group, bool schedules)
{
    char allocated[32], reserved[32];

    lot_unit_print_bytes(allocated, sizeof allocated, (double)group->allocated_peak_bytes);
    lot_unit_print_bytes(reserved, sizeof reserved, (double)group->reserved_peak_bytes);
    lot_report_cell(report, "%s%s%s%s", group->phase, per_pass(group) ? " per pass" : "",
                    schedules ? " " : "", schedules ? group->schedule : "");
    lot_report_cell(report, "%zu", group->rows);
    lot_report_seconds(report, host_of(group)->median);
    cell_interval(report, group);
    lot_report_seconds(report, device_median(group));
    cell_rate(report, group);
    lot_report_cell(report, "%s / %s", allocated, reserved);
}

static void begin_groups(lot_report *report, bool wide)
{
    static const char *const narrow_titles[] = {
        "phase", "rows", "host median", "interval", "device", "rate", "allocated / reserved peak"};
    static const char *const wide_titles[] = {
        "phase",  "schedule", "rows",      "passes",   "host median",    "interval",     "host min",
        "device", "rate",     "allocated", "reserved", "allocated peak", "reserved peak"};

    lot_report_begin(report, wide ? 13 : 7, wide ? "llrrrlrrrrrrr" : "lrrlrrr");
    for (size_t i = 0; i < report->columns; i++)
        lot_report_cell(report, "%s", wide ? wide_titles[i] : narrow_titles[i]);
}

/* Whether any of the groups was measured otherwise than all together. */
static bool several_schedules(const lot_phase_summary *groups, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (groups[i].schedule[0] != '\0' && strcmp(groups[i].schedule, "together") != 0)
            return true;
    return false;
}

/* The SM clock at the end of the group's last row, or NaN. */
static double clock_of(const lot_run *run, size_t index, const lot_phase_summary *group)
{
    double clock = NAN;

    for (size_t i = run->first_phase[index]; i < run->first_phase[index + 1]; i++)
        if (strcmp(run->phases[i].phase, group->phase) == 0 &&
            strcmp(run->phases[i].schedule, group->schedule) == 0)
            clock = run->phases[i].telemetry.sm_clock_mhz;
    return clock;
}

/* Percent of peak, with the peak, its source and the clock; nothing where the model is not beyond doubt. Over
 * the device's own time: the host's holds overheads that no peak knows of. */
static void print_peak(const lot_run *run, size_t index, const lot_phase_summary *group)
{
    const lot_record_head *head = &run->devices[index];
    const double rate = (double)head->synthetic_model.flops_per_forward / group->device.median * 1e-12;
    const double clock = clock_of(run, index, group);
    char clock_text[32];
    lot_peak peak;

    if (strcmp(group->phase, "warm_forward") != 0 || !(rate > 0) || isinf(rate) ||
        lot_peak_find(&head->device, head->synthetic_model.dtype, head->synthetic_model.math, &peak) != NULL)
        return;
    if (isnan(clock))
        (void)snprintf(clock_text, sizeof clock_text, "not measured");
    else
        (void)snprintf(clock_text, sizeof clock_text, "%.0f MHz", clock);
    lot_report_line(
        stdout, "%s %s: %.1f of %.4g TFLOP/s, %.1f %% of peak (%s, dense at boost clock: %s); SM clock %s",
        group->phase, lot_field_shown(group->schedule), rate, peak.tflops, 100 * rate / peak.tflops, peak.gpu,
        peak.source, clock_text);
}

static lot_status print_groups(const lot_run *run, size_t index, bool wide, lot_error *error)
{
    const size_t first = run->first_phase[index];
    lot_phase_summary groups[LOT_SUMMARY_GROUPS_MAX];
    lot_report report;
    size_t count = 0;
    lot_status status =
        lot_summary_phases(run->phases + first, run->first_phase[index + 1] - first,
                           run->devices[index].synthetic_model.flops_per_forward, groups, &count, error);

    if (status != LOT_OK || count == 0)
        return status;
    begin_groups(&report, wide);
    for (size_t i = 0; i < count; i++)
        if (wide)
            add_wide(&report, &groups[i]);
        else
            add_narrow(&report, &groups[i], several_schedules(groups, count));
    status = lot_report_print(&report, stdout, error);
    for (size_t i = 0; status == LOT_OK && i < count; i++)
        print_peak(run, index, &groups[i]);
    return status;
}

/* ---- one line a row ---- */

static void add_row(lot_report *report, const lot_phase *row)
{
    lot_report_cell(report, "%" PRId64, row->row);
    lot_report_cell(report, "%s", row->phase);
    lot_report_cell(report, "%s", lot_field_shown(row->schedule));
    lot_report_cell(report, "%" PRId64, row->repeat);
    lot_report_cell(report, "%" PRId64, row->passes);
    lot_report_seconds(report, row->host_seconds);
    lot_report_seconds(report, row->device_seconds);
    cell_bytes(report, row->allocated_start_bytes);
    cell_bytes(report, row->reserved_start_bytes);
    cell_bytes(report, row->allocated_end_bytes);
    cell_bytes(report, row->reserved_end_bytes);
    cell_bytes(report, row->allocated_peak_bytes);
    cell_bytes(report, row->reserved_peak_bytes);
    lot_report_cell(report, "%s", lot_field_shown(row->digest));
    lot_report_cell(report, "%s", row->finite == 1 ? "yes" : row->finite == 0 ? "NO" : "-");
}

static lot_status print_rows(const lot_run *run, size_t index, lot_error *error)
{
    static const char *const titles[] = {
        "row",          "phase",          "schedule",        "repeat",         "passes",
        "host",         "device",         "allocated start", "reserved start", "allocated end",
        "reserved end", "allocated peak", "reserved peak",   "digest",         "finite"};
    lot_report report;

    lot_report_begin(&report, 15, "rllrrrrrrrrrrll");
    for (size_t i = 0; i < 15; i++)
        lot_report_cell(&report, "%s", titles[i]);
    for (size_t i = run->first_phase[index]; i < run->first_phase[index + 1]; i++)
        add_row(&report, &run->phases[i]);
    return lot_report_print(&report, stdout, error);
}

static void print_heading(const lot_record_head *head)
{
    printf("\n");
    lot_report_line(stdout, "rank %" PRId64 ": %s%s, %s", head->identity.rank,
                    lot_field_shown(head->device.name), lot_show_mark(head),
                    lot_field_shown(head->device.uuid));
}

lot_status lot_show_phases(const lot_run *run, size_t index, lot_show_detail detail, lot_error *error)
{
    print_heading(&run->devices[index]);
    return detail == LOT_SHOW_ROWS ? print_rows(run, index, error)
                                   : print_groups(run, index, detail == LOT_SHOW_WIDE, error);
}
