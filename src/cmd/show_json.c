#include "cmd/show_json.h"

#include <string.h>

#include "analysis/summary.h"
#include "io/record_json.h"

static void add_time(lot_json_text *text, const char *name, const lot_time_summary *time)
{
    lot_json_key(text, name);
    lot_json_open(text, '{');
    lot_json_member_number(text, "median", time->median);
    lot_json_member_number(text, "interval_low", time->interval.low);
    lot_json_member_number(text, "interval_high", time->interval.high);
    lot_json_member_number(text, "interval_coverage", time->interval.coverage);
    lot_json_member_number(text, "least", time->least);
    lot_json_member_number(text, "most", time->most);
    lot_json_close(text, '}');
}

static void add_group(lot_json_text *text, const lot_phase_summary *group)
{
    lot_json_open(text, '{');
    lot_json_member_text(text, "phase", group->phase);
    lot_json_member_text(text, "schedule", group->schedule);
    lot_json_member_integer(text, "rows", (int64_t)group->rows);
    lot_json_member_integer(text, "passes", group->passes);
    add_time(text, "host_seconds", &group->host);
    add_time(text, "device_seconds", &group->device);
    add_time(text, "host_seconds_per_pass", &group->host_pass);
    add_time(text, "device_seconds_per_pass", &group->device_pass);
    lot_json_member_number(text, "flops_per_second", group->flops_per_second);
    lot_json_member_integer(text, "allocated_end_bytes", group->allocated_bytes);
    lot_json_member_integer(text, "reserved_end_bytes", group->reserved_bytes);
    lot_json_member_integer(text, "allocated_peak_bytes", group->allocated_peak_bytes);
    lot_json_member_integer(text, "reserved_peak_bytes", group->reserved_peak_bytes);
    lot_json_close(text, '}');
}

static lot_status add_phases(lot_json_text *text, const lot_run *run, size_t index, bool every_row,
                             lot_error *error)
{
    const size_t first = run->first_phase[index], end = run->first_phase[index + 1];
    lot_phase_summary groups[LOT_SUMMARY_GROUPS_MAX];
    size_t count = 0;
    lot_status status = LOT_OK;

    lot_json_key(text, "phases");
    lot_json_open(text, '[');
    if (every_row)
        for (size_t i = first; i < end; i++)
            lot_json_object(text, lot_phase_fields(), &run->phases[i]);
    else
        status =
            lot_summary_phases(run->phases + first, end - first,
                               run->devices[index].synthetic_model.flops_per_forward, groups, &count, error);
    for (size_t i = 0; i < count; i++)
        add_group(text, &groups[i]);
    lot_json_close(text, ']');
    return status;
}

static lot_status add_rank(lot_json_text *text, const lot_run *run, size_t index, bool every_row,
                           lot_error *error)
{
    const lot_record_head *head = &run->devices[index];
    lot_status status = LOT_OK;

    lot_json_open(text, '{');
    lot_json_member_integer(text, "rank", head->identity.rank);
    lot_json_member_text(text, "host", head->identity.host);
    lot_json_member_text(text, "device_kind", head->device.kind);
    lot_json_member_text(text, "device_name", head->device.name);
    lot_json_member_text(text, "device_uuid", head->device.uuid);
    lot_json_member_bool(text, "simulated", head->device.simulated == 1);
    lot_json_member_text(text, "status", head->outcome.status);
    lot_json_member_text(text, "failed_phase", head->outcome.failed_phase);
    lot_json_member_text(text, "error_text", head->outcome.error_text);
    lot_json_key(text, "verified");
    if (head->verification.passed < 0)
        lot_json_null(text);
    else
        lot_json_bool(text, head->verification.passed == 1);
    lot_json_member_number(text, "warm_median_seconds", head->outcome.warm_median_seconds);
    lot_json_member_number(text, "warm_median_device_seconds", head->outcome.warm_median_device_seconds);
    if (run->first_phase != NULL)
        status = add_phases(text, run, index, every_row, error);
    lot_json_close(text, '}');
    return status;
}

static void add_head(lot_json_text *text, const lot_run *run)
{
    lot_json_open(text, '{');
    lot_json_key(text, "run");
    lot_json_object(text, lot_run_header_fields(), &run->header);
    lot_json_member_bool(text, "sealed", run->sealed);
    lot_json_member_bool(text, "representative", false);
    lot_json_key(text, "notes");
    lot_json_open(text, '[');
    lot_json_string(
        text, "a small synthetic network: not a language model, not training, not the value of a rented GPU");
    for (size_t i = 0; i < run->device_count; i++)
        if (strcmp(run->devices[i].device.kind, "host") == 0) {
            lot_json_string(text, "device_kind host is a CPU, not a GPU");
            break;
        }
    lot_json_close(text, ']');
    lot_json_key(text, "ranks");
    lot_json_open(text, '[');
}

lot_status lot_show_json(const lot_run *run, int64_t rank, bool every_row, lot_error *error)
{
    lot_json_text text = {0};
    lot_status status = LOT_OK;

    add_head(&text, run);
    for (size_t i = 0; status == LOT_OK && i < run->device_count; i++)
        if (rank < 0 || run->devices[i].identity.rank == rank)
            status = add_rank(&text, run, i, every_row, error);
    lot_json_close(&text, ']');
    lot_json_close(&text, '}');
    if (status == LOT_OK)
        return lot_json_print(&text, "the run", error);
    lot_json_free(&text);
    return status;
}
