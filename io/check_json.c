#include "io/check_json.h"

#include <math.h>

#include "core/field.h"
#include "io/json_text.h"

/* An estimate as an object, or null where there is none. */
static void member_estimate(lot_json_text *t, const char *name, const lot_estimate *e)
{
    lot_json_key(t, name);
    if (isnan(e->value)) {
        lot_json_null(t);
        return;
    }
    lot_json_open(t, '{');
    lot_json_member_number(t, "value", e->value);
    lot_json_member_number(t, "low", e->low);
    lot_json_member_number(t, "high", e->high);
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
        lot_json_member_text(t, lot_evidence_name((lot_evidence)i), words[heard[i]]);
    lot_json_close(t, '}');
}

static void write_archive(lot_json_text *t, const lot_checked_archive *a)
{
    lot_json_open(t, '{');
    lot_json_member_text(t, "file", a->file);
    lot_json_member_text(t, "run_id", a->run_id);
    lot_json_member_text(t, "label", a->label);
    lot_json_member_integer(t, "ranks", a->ranks);
    lot_json_member_integer(t, "missing_ranks", (int64_t)a->missing);
    lot_json_member_integer(t, "devices_ok", (int64_t)a->good);
    lot_json_member_number(t, "elapsed_seconds", a->elapsed_seconds);
    lot_json_close(t, '}');
}

static void write_device(lot_json_text *t, const lot_checked_device *d)
{
    lot_json_open(t, '{');
    lot_json_member_integer(t, "archive", (int64_t)d->archive);
    lot_json_member_integer(t, "rank", d->rank);
    lot_json_member_text(t, "host", d->host);
    lot_json_member_text(t, "uuid", d->uuid);
    lot_json_member_text(t, "pci_address", d->pci_address);
    lot_json_member_text(t, "name", d->name);
    lot_json_member_integer(t, "group", (int64_t)d->group);
    write_verdicts(t, d->verdicts);
    write_heard(t, d->heard);
    lot_json_member_text(t, "schedule", d->schedule);
    lot_json_member_text(t, "clock", d->clock);
    lot_json_member_integer(t, "repeats", d->repeats);
    lot_json_member_number(t, "median_seconds", d->median_seconds);
    lot_json_member_number(t, "repeat_spread", d->repeat_spread);
    member_estimate(t, "slower", &d->slower);
    member_estimate(t, "contention_factor", &d->contention);
    member_estimate(t, "soak_drift_factor", &d->soak_drift);
    lot_json_member_integer(t, "verified_passes", d->verified_passes);
    lot_json_member_number(t, "memory_written_share", d->written_share);
    lot_json_member_number(t, "elapsed_seconds", d->elapsed_seconds);
    lot_json_close(t, '}');
}

static void write_group(lot_json_text *t, const lot_checked_group *g)
{
    lot_json_open(t, '{');
    lot_json_member_text(t, "name", g->name);
    lot_json_member_text(t, "configuration", g->configuration);
    lot_json_member_text(t, "library", g->library);
    lot_json_member_text(t, "difference", g->difference);
    lot_json_member_integer(t, "devices", (int64_t)g->devices);
    lot_json_member_bool(t, "peers_compared", g->devices > 1);
    lot_json_member_integer(t, "verified_passes", g->verified_passes);
    lot_json_member_number(t, "corruption_bound", g->corruption_bound);
    lot_json_close(t, '}');
}

static void write_localised(lot_json_text *t, const lot_check_result *r, const lot_localised *l)
{
    const lot_checked_device *d = &r->devices[l->device], *against = &r->devices[l->against];

    lot_json_open(t, '{');
    lot_json_member_integer(t, "archive", (int64_t)d->archive);
    lot_json_member_integer(t, "rank", d->rank);
    lot_json_member_integer(t, "against_archive", (int64_t)against->archive);
    lot_json_member_integer(t, "against_rank", against->rank);
    lot_json_member_integer(t, "layer", l->layer);
    lot_json_member_integer(t, "elements_compared", l->compared);
    lot_json_member_integer(t, "elements_differing", l->differing);
    lot_json_member_integer(t, "rows_differing", l->rows);
    lot_json_member_integer(t, "first_row", l->first_row);
    lot_json_member_integer(t, "first_element", l->first_element);
    lot_json_member_integer(t, "bits_most", l->bits_most);
    lot_json_close(t, '}');
}

static void write_comparison(lot_json_text *t, const lot_comparison *n)
{
    lot_json_open(t, '{');
    lot_json_member_integer(t, "group", (int64_t)n->group);
    lot_json_member_text(t, "phase", n->phase);
    lot_json_member_text(t, "schedule", n->schedule);
    lot_json_member_text(t, "clock", n->clock);
    lot_json_member_integer(t, "devices", (int64_t)n->devices);
    lot_json_member_integer(t, "repeats", n->repeats);
    lot_json_member_number(t, "median_seconds", n->median_seconds);
    lot_json_member_number(t, "repeat_noise", n->repeat_noise);
    lot_json_member_number(t, "own_spread", n->own_spread);
    lot_json_member_number(t, "used_spread", n->used_spread);
    lot_json_member_number(t, "typical_threshold", n->typical_threshold);
    lot_json_member_number(t, "detectable", n->detectable);
    lot_json_member_number(t, "false_alarm", n->false_alarm);
    lot_json_close(t, '}');
}

static void write_finding(lot_json_text *t, const lot_check_result *r, const lot_finding *f)
{
    const lot_checked_device *d = f->device != LOT_NO_DEVICE_INDEX ? &r->devices[f->device] : NULL;

    lot_json_open(t, '{');
    lot_json_member_text(t, "verdict", lot_verdict_name(f->verdict));
    lot_json_member_text(t, "evidence", lot_evidence_name(f->evidence));
    lot_json_member_integer(t, "archive", d != NULL ? (int64_t)d->archive : LOT_NULL_I64);
    lot_json_member_integer(t, "rank", d != NULL ? d->rank : LOT_NULL_I64);
    lot_json_member_text(t, "host", d != NULL ? d->host : "");
    lot_json_member_text(t, "uuid", d != NULL ? d->uuid : "");
    lot_json_member_text(t, "phase", f->phase);
    lot_json_member_text(t, "schedule", f->schedule);
    lot_json_member_text(t, "measure", f->measure);
    lot_json_member_number(t, "number", f->number);
    lot_json_member_number(t, "threshold", f->threshold);
    lot_json_member_number(t, "low", f->low);
    lot_json_member_number(t, "high", f->high);
    lot_json_member_text(t, "unit", f->unit);
    lot_json_member_text(t, "text", f->text);
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
    lot_json_member_integer(t, "total_cents", c->total_cents);
    lot_json_member_integer(t, "gpus", c->gpus);
    lot_json_member_integer(t, "days", c->days);
    lot_json_member_integer(t, "check_milliseconds", c->check_milliseconds);
    lot_json_member_integer(t, "check_cents_numerator", c->check_numerator);
    lot_json_member_integer(t, "check_cents_denominator", c->check_denominator);
    lot_json_member_integer(t, "lost_gpu_millionths", c->lost_millionths);
    lot_json_member_integer(t, "lost_gpu_hour_millionths", c->lost_gpu_hour_millionths);
    lot_json_member_integer(t, "lost_cents_numerator", c->lost_numerator);
    lot_json_member_integer(t, "lost_cents_denominator", c->lost_denominator);
    lot_json_close(t, '}');
}

static void write_head(lot_json_text *t, const lot_check_result *r)
{
    lot_json_member_text(t, "schema", "gpulot.check");
    lot_json_member_integer(t, "schema_version", 1);
    lot_json_member_text(t, "producer", "gpulot " GPULOT_VERSION);
    lot_json_member_bool(t, "simulated", r->simulated);
    lot_json_member_bool(t, "ok", r->all_ok);
    lot_json_member_integer(t, "ranks", r->ranks);
    lot_json_member_integer(t, "missing_ranks", (int64_t)r->missing);
    lot_json_member_number(t, "prior_spread", r->prior);
    lot_json_member_number(t, "level", r->level);
    lot_json_member_integer(t, "soak_passes", r->soak_passes);
    lot_json_member_text(t, "against_run_id", r->against_run_id);
    lot_json_member_text(t, "precisions_tried", r->precisions);
    lot_json_member_number(t, "elapsed_seconds", r->elapsed_seconds);
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
    WRITE_LIST("archives", result->archives, result->archive_count, write_archive);
    WRITE_LIST("groups", result->groups, result->group_count, write_group);
    WRITE_LIST("devices", result->devices, result->device_count, write_device);
    WRITE_LIST("comparisons", result->comparisons, result->comparison_count, write_comparison);
    lot_json_key(&t, "findings");
    lot_json_open(&t, '[');
    for (size_t i = 0; i < result->finding_count; i++)
        write_finding(&t, result, &result->findings[i]);
    lot_json_close(&t, ']');
    lot_json_key(&t, "localised");
    lot_json_open(&t, '[');
    for (size_t i = 0; i < result->localised_count; i++)
        write_localised(&t, result, &result->localised[i]);
    lot_json_close(&t, ']');
    write_cost(&t, &result->cost);
    lot_json_close(&t, '}');
    return lot_json_finish(&t, "the check", json, error);
}
