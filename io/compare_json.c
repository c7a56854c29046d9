#include "io/compare_json.h"

#include "core/field.h"
#include "io/json_text.h"

static void member_text(lot_json_text *t, const char *name, const char *value)
{
    lot_json_key(t, name);
    if (value[0] == '\0')
        lot_json_null(t);
    else
        lot_json_string(t, value);
}

static void member_number(lot_json_text *t, const char *name, double value)
{
    lot_json_key(t, name);
    lot_json_number(t, value);
}

static void member_integer(lot_json_text *t, const char *name, int64_t value)
{
    lot_json_key(t, name);
    if (value == LOT_NULL_I64)
        lot_json_null(t);
    else
        lot_json_integer(t, value);
}

static void member_bool(lot_json_text *t, const char *name, bool value)
{
    lot_json_key(t, name);
    lot_json_bool(t, value);
}

static void write_drift(lot_json_text *t, const lot_drift *d)
{
    lot_json_open(t, '{');
    member_text(t, "uuid", d->uuid);
    member_integer(t, "rank_before", d->rank_before);
    member_integer(t, "rank_after", d->rank_after);
    member_text(t, "phase", d->phase);
    member_text(t, "schedule", d->schedule);
    member_text(t, "clock", d->clock);
    member_number(t, "before_seconds", d->before_seconds);
    member_number(t, "after_seconds", d->after_seconds);
    member_number(t, "slower", d->slower.value);
    member_number(t, "slower_low", d->slower.low);
    member_number(t, "slower_high", d->slower.high);
    member_number(t, "noise_limit", d->noise_limit);
    member_bool(t, "beyond_noise", d->beyond_noise);
    lot_json_close(t, '}');
}

static void write_change(lot_json_text *t, const lot_change *c)
{
    lot_json_open(t, '{');
    member_text(t, "change", lot_change_name(c->kind));
    member_bool(t, "bad", lot_change_is_bad(c->kind));
    member_text(t, "uuid", c->uuid);
    member_integer(t, "rank_before", c->rank_before);
    member_integer(t, "rank_after", c->rank_after);
    member_text(t, "phase", c->phase);
    member_text(t, "schedule", c->schedule);
    member_text(t, "measure", c->measure);
    member_text(t, "text", c->text);
    lot_json_close(t, '}');
}

lot_status lot_compare_json_write(const lot_compare_result *result, char **json, lot_error *error)
{
    lot_json_text t = {0};

    lot_json_open(&t, '{');
    member_text(&t, "schema", "gpulot.compare");
    member_integer(&t, "schema_version", 1);
    member_bool(&t, "good", result->good);
    member_bool(&t, "simulated", result->simulated);
    member_integer(&t, "archives_before", result->archives_before);
    member_integer(&t, "devices_before", (int64_t)result->devices_before);
    member_integer(&t, "devices_after", (int64_t)result->devices_after);
    member_integer(&t, "matched", (int64_t)result->matched);
    member_number(&t, "tolerance", result->tolerance);
    member_number(&t, "level", result->level);
    lot_json_key(&t, "changes");
    lot_json_open(&t, '[');
    for (size_t i = 0; i < result->change_count; i++)
        write_change(&t, &result->changes[i]);
    lot_json_close(&t, ']');
    lot_json_key(&t, "drifts");
    lot_json_open(&t, '[');
    for (size_t i = 0; i < result->drift_count; i++)
        write_drift(&t, &result->drifts[i]);
    lot_json_close(&t, ']');
    lot_json_close(&t, '}');
    if (t.failed) {
        lot_json_free(&t);
        return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for the JSON of the comparison");
    }
    *json = t.data;
    return LOT_OK;
}
