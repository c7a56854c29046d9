#include "io/compare_json.h"

#include "io/json_text.h"

static void write_drift(lot_json_text *t, const lot_drift *d)
{
    lot_json_open(t, '{');
    lot_json_member_text(t, "uuid", d->uuid);
    lot_json_member_integer(t, "rank_before", d->rank_before);
    lot_json_member_integer(t, "rank_after", d->rank_after);
    lot_json_member_text(t, "phase", d->phase);
    lot_json_member_text(t, "schedule", d->schedule);
    lot_json_member_text(t, "clock", d->clock);
    lot_json_member_number(t, "before_seconds", d->before_seconds);
    lot_json_member_number(t, "after_seconds", d->after_seconds);
    lot_json_member_number(t, "slower", d->slower.value);
    lot_json_member_number(t, "slower_low", d->slower.low);
    lot_json_member_number(t, "slower_high", d->slower.high);
    lot_json_member_number(t, "coverage", d->coverage);
    lot_json_member_bool(t, "judged", d->judged);
    lot_json_member_bool(t, "beyond_noise", d->beyond_noise);
    lot_json_member_bool(t, "tolerated", d->tolerated);
    lot_json_member_bool(t, "blind", d->blind);
    lot_json_close(t, '}');
}

static void write_change(lot_json_text *t, const lot_change *c)
{
    lot_json_open(t, '{');
    lot_json_member_text(t, "change", lot_change_name(c->kind));
    lot_json_member_bool(t, "bad", lot_change_is_bad(c->kind));
    lot_json_member_text(t, "uuid", c->uuid);
    lot_json_member_integer(t, "rank_before", c->rank_before);
    lot_json_member_integer(t, "rank_after", c->rank_after);
    lot_json_member_text(t, "phase", c->phase);
    lot_json_member_text(t, "schedule", c->schedule);
    lot_json_member_text(t, "measure", c->measure);
    lot_json_member_text(t, "text", c->text);
    lot_json_close(t, '}');
}

static void write_unpaired(lot_json_text *t, const lot_unpaired *u)
{
    lot_json_open(t, '{');
    lot_json_member_text(t, "phase", u->phase);
    lot_json_member_text(t, "schedule", u->schedule);
    lot_json_member_text(t, "measured", u->now ? "now" : "before");
    lot_json_member_integer(t, "devices", u->devices);
    lot_json_close(t, '}');
}

lot_status lot_compare_json_write(const lot_compare_result *result, char **json, lot_error *error)
{
    lot_json_text t = {0};

    lot_json_open(&t, '{');
    lot_json_member_text(&t, "schema", "gpulot.compare");
    lot_json_member_integer(&t, "schema_version", 1);
    lot_json_member_text(&t, "producer", "gpulot " GPULOT_VERSION);
    lot_json_member_text(&t, "run_id_before", result->run_id_before);
    lot_json_member_text(&t, "run_id_after", result->run_id_after);
    lot_json_member_bool(&t, "good", result->good);
    lot_json_member_bool(&t, "simulated", result->simulated);
    lot_json_member_bool(&t, "one_run", result->one_run);
    lot_json_member_bool(&t, "backwards", result->backwards);
    lot_json_member_integer(&t, "archives_before", result->archives_before);
    lot_json_member_integer(&t, "devices_before", (int64_t)result->devices_before);
    lot_json_member_integer(&t, "devices_after", (int64_t)result->devices_after);
    lot_json_member_integer(&t, "matched", (int64_t)result->matched);
    lot_json_member_integer(&t, "matched_by_rank", (int64_t)result->matched_by_rank);
    lot_json_member_number(&t, "tolerance", result->tolerance);
    lot_json_member_number(&t, "level", result->level);
    lot_json_member_number(&t, "interval_level", result->interval_level);
    lot_json_member_number(&t, "archive_degrees_of_freedom", result->archive_dof);
    lot_json_member_number(&t, "noise_factor", result->noise_factor);
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
    lot_json_key(&t, "unpaired");
    lot_json_open(&t, '[');
    for (size_t i = 0; i < result->unpaired_count; i++)
        write_unpaired(&t, &result->unpaired[i]);
    lot_json_close(&t, ']');
    lot_json_close(&t, '}');
    return lot_json_finish(&t, "the comparison", json, error);
}
