#include "io/check_json.h"

#include <math.h>

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

/* An estimate as an object, or null where there is none. */
static void member_estimate(lot_json_text *t, const char *name, const lot_estimate *e)
{
    lot_json_key(t, name);
    if (isnan(e->value)) {
        lot_json_null(t);
        return;
    }
    lot_json_open(t, '{');
    member_number(t, "value", e->value);
    member_number(t, "low", e->low);
    member_number(t, "high", e->high);
    lot_json_close(t, '}');
}

static void write_verdicts(lot_json_text *t, unsigned verdicts)
{
    lot_json_key(t, "verdicts");
    lot_json_open(t, '[');
    for (unsigned i = 0; i < LOT_VERDICT_COUNT; i++)
        if ((verdicts & LOT_VERDICT_BIT(i)) != 0)
            lot_json_string(t, lot_verdict_name((lot_verdict)i));
    if (verdicts == 0)
        lot_json_string(t, "ok");
    lot_json_close(t, ']');
}

static void write_heard(lot_json_text *t, const lot_heard *heard)
{
    static const char *const words[] = {"nothing", "good", "bad"};

    lot_json_key(t, "evidence");
    lot_json_open(t, '{');
    for (int i = 0; i < LOT_EVIDENCE_COUNT; i++)
        member_text(t, lot_evidence_name((lot_evidence)i), words[heard[i]]);
    lot_json_close(t, '}');
}

static void write_device(lot_json_text *t, const lot_checked_device *d)
{
    lot_json_open(t, '{');
    member_integer(t, "rank", d->rank);
    member_text(t, "host", d->host);
    member_text(t, "uuid", d->uuid);
    member_text(t, "pci_address", d->pci_address);
    member_text(t, "name", d->name);
    member_integer(t, "group", (int64_t)d->group);
    write_verdicts(t, d->verdicts);
    write_heard(t, d->heard);
    member_text(t, "schedule", d->schedule);
    member_text(t, "clock", d->clock);
    member_integer(t, "repeats", d->repeats);
    member_number(t, "median_seconds", d->median_seconds);
    member_number(t, "repeat_spread", d->repeat_spread);
    member_estimate(t, "slower", &d->slower);
    member_estimate(t, "contention_factor", &d->contention);
    member_estimate(t, "soak_drift_factor", &d->soak_drift);
    member_integer(t, "verified_passes", d->verified_passes);
    member_number(t, "memory_written_share", d->written_share);
    member_number(t, "elapsed_seconds", d->elapsed_seconds);
    lot_json_close(t, '}');
}

static void write_group(lot_json_text *t, const lot_checked_group *g)
{
    lot_json_open(t, '{');
    member_text(t, "name", g->name);
    member_text(t, "configuration", g->configuration);
    member_text(t, "library", g->library);
    member_integer(t, "devices", (int64_t)g->devices);
    lot_json_key(t, "peers_compared");
    lot_json_bool(t, g->devices > 1);
    member_integer(t, "verified_passes", g->verified_passes);
    member_number(t, "corruption_bound", g->corruption_bound);
    lot_json_close(t, '}');
}

static void write_localised(lot_json_text *t, const lot_localised *l)
{
    lot_json_open(t, '{');
    member_integer(t, "rank", l->rank);
    member_integer(t, "against_rank", l->against);
    member_integer(t, "layer", l->layer);
    member_integer(t, "elements_compared", l->compared);
    member_integer(t, "elements_differing", l->differing);
    member_integer(t, "rows_differing", l->rows);
    member_integer(t, "first_row", l->first_row);
    member_integer(t, "first_element", l->first_element);
    member_integer(t, "bits_most", l->bits_most);
    lot_json_close(t, '}');
}

static void write_comparison(lot_json_text *t, const lot_comparison *n)
{
    lot_json_open(t, '{');
    member_integer(t, "group", (int64_t)n->group);
    member_text(t, "phase", n->phase);
    member_text(t, "schedule", n->schedule);
    member_text(t, "clock", n->clock);
    member_integer(t, "devices", (int64_t)n->devices);
    member_integer(t, "repeats", n->repeats);
    member_number(t, "median_seconds", n->median_seconds);
    member_number(t, "repeat_noise", n->repeat_noise);
    member_number(t, "own_spread", n->own_spread);
    member_number(t, "used_spread", n->used_spread);
    member_number(t, "threshold", n->threshold);
    member_number(t, "detectable", n->detectable);
    member_number(t, "false_alarm", n->false_alarm);
    lot_json_close(t, '}');
}

static void write_finding(lot_json_text *t, const lot_check_result *r, const lot_finding *f)
{
    const lot_checked_device *d = f->device != LOT_NO_DEVICE_INDEX ? &r->devices[f->device] : NULL;

    lot_json_open(t, '{');
    member_text(t, "verdict", lot_verdict_name(f->verdict));
    member_text(t, "evidence", lot_evidence_name(f->evidence));
    member_integer(t, "rank", d != NULL ? d->rank : LOT_NULL_I64);
    member_text(t, "host", d != NULL ? d->host : "");
    member_text(t, "uuid", d != NULL ? d->uuid : "");
    member_text(t, "phase", f->phase);
    member_text(t, "schedule", f->schedule);
    member_text(t, "measure", f->measure);
    member_number(t, "number", f->number);
    member_number(t, "threshold", f->threshold);
    member_number(t, "low", f->low);
    member_number(t, "high", f->high);
    member_text(t, "unit", f->unit);
    member_text(t, "text", f->text);
    lot_json_close(t, '}');
}

static void write_cost(lot_json_text *t, const lot_check_cost *c)
{
    lot_json_key(t, "cost");
    if (!c->known) {
        lot_json_null(t);
        return;
    }
    lot_json_open(t, '{');
    member_integer(t, "total_cents", c->total_cents);
    member_integer(t, "gpus", c->gpus);
    member_integer(t, "days", c->days);
    member_integer(t, "check_milliseconds", c->check_milliseconds);
    member_integer(t, "check_cents_numerator", c->check_numerator);
    member_integer(t, "check_cents_denominator", c->check_denominator);
    member_integer(t, "lost_gpu_millionths", c->lost_millionths);
    member_integer(t, "lost_gpu_hour_millionths", c->lost_gpu_hour_millionths);
    member_integer(t, "lost_cents_numerator", c->lost_numerator);
    member_integer(t, "lost_cents_denominator", c->lost_denominator);
    lot_json_close(t, '}');
}

static void write_head(lot_json_text *t, const lot_check_result *r)
{
    member_text(t, "schema", "gpulot.check");
    member_integer(t, "schema_version", 1);
    member_text(t, "run_id", r->run_id);
    member_text(t, "label", r->label);
    lot_json_key(t, "simulated");
    lot_json_bool(t, r->simulated);
    lot_json_key(t, "ok");
    lot_json_bool(t, r->all_ok);
    member_integer(t, "ranks", r->ranks);
    member_integer(t, "missing_ranks", (int64_t)r->missing);
    member_number(t, "prior_spread", r->prior);
    member_number(t, "level", r->level);
    member_text(t, "precisions_tried", r->precisions);
    member_number(t, "elapsed_seconds", r->elapsed_seconds);
}

#define WRITE_LIST(name, list, count, write)                                                                 \
    do {                                                                                                     \
        lot_json_key(&t, name);                                                                              \
        lot_json_open(&t, '[');                                                                              \
        for (size_t i = 0; i < (count); i++)                                                                 \
            write(&t, &(list)[i]);                                                                           \
        lot_json_close(&t, ']');                                                                             \
    } while (0)

lot_status lot_check_json_write(const lot_check_result *result, char **json, lot_error *error)
{
    lot_json_text t = {0};

    lot_json_open(&t, '{');
    write_head(&t, result);
    WRITE_LIST("groups", result->groups, result->group_count, write_group);
    WRITE_LIST("devices", result->devices, result->device_count, write_device);
    WRITE_LIST("comparisons", result->comparisons, result->comparison_count, write_comparison);
    lot_json_key(&t, "findings");
    lot_json_open(&t, '[');
    for (size_t i = 0; i < result->finding_count; i++)
        write_finding(&t, result, &result->findings[i]);
    lot_json_close(&t, ']');
    WRITE_LIST("localised", result->localised, result->localised_count, write_localised);
    write_cost(&t, &result->cost);
    lot_json_close(&t, '}');
    if (t.failed) {
        lot_json_free(&t);
        return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for the JSON of the check");
    }
    *json = t.data;
    return LOT_OK;
}
