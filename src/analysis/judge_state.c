/* What a rank's record says of itself: lost, failed, not measured, counters of faults. */
#include <math.h>
#include <string.h>

#include "analysis/groups.h"
#include "analysis/judge.h"
#include "core/count.h"
#include "core/status.h"

static void missing(lot_case *c, size_t gpu, const char *phase, const char *measure, const char *why)
{
    lot_finding *f = lot_case_find(c, gpu, LOT_VERDICT_NOT_MEASURED, LOT_EVIDENCE_RECORD, measure);

    lot_finding_place(f, phase, "");
    lot_finding_say(f, "%s", why);
}

/* What the outcome of a rank says of its GPU. A signal, a full disk or a host without memory ended the test,
 * and are no fault of it. */
static lot_verdict verdict_of(lot_status status)
{
    switch (status) {
    case LOT_LOST:
        return LOT_VERDICT_LOST;
    case LOT_INTERRUPTED:
    case LOT_IO:
    case LOT_OUTPUT:
    case LOT_MEMORY:
        return LOT_VERDICT_NOT_MEASURED;
    default:
        return LOT_VERDICT_FAILED;
    }
}

static void judge_outcome(lot_case *c, size_t gpu)
{
    const lot_outcome *outcome = &c->gpus[gpu].head->outcome;
    const lot_status status = lot_status_from_name(outcome->status);
    const bool known = strcmp(outcome->status, lot_status_name(status)) == 0;
    lot_finding *f;

    /* A wrong result is the business of the judges of results. */
    if (strcmp(outcome->status, lot_status_name(LOT_OK)) == 0 || status == LOT_WRONG_RESULT)
        return;
    f = lot_case_find(c, gpu, verdict_of(status), LOT_EVIDENCE_RECORD, "status");
    lot_finding_place(f, outcome->failed_phase, "");
    lot_finding_say(f, "%s: %.200s", outcome->status,
                    outcome->error_text[0] != '\0' ? outcome->error_text
                    : known                        ? lot_status_meaning(status)
                                                   : "an outcome that this version does not know");
}

/* Every schedule that was measured needs as many timed repeats as were asked for. */
static void judge_repeats(lot_case *c, size_t gpu)
{
    const lot_judged *g = &c->gpus[gpu];
    const int64_t wanted = g->head->synthetic_model.repeats;
    bool found = false;

    for (size_t i = 0; i < g->seen->count; i++) {
        const lot_series *s = &g->seen->series[i];
        const int64_t timed = s->timing[lot_series_clock(s)].rows;
        lot_finding *f;

        if (strcmp(s->phase, "warm_forward") != 0)
            continue;
        found = true;
        if (timed > 0 && timed >= wanted)
            continue;
        f = lot_case_find(c, gpu, LOT_VERDICT_NOT_MEASURED, LOT_EVIDENCE_RECORD, "repeats");
        lot_finding_place(f, s->phase, s->schedule);
        lot_finding_number(f, (double)timed, wanted > 0 ? (double)wanted : NAN, "");
        lot_finding_say(f, "%lld of %s with a usable time", (long long)timed,
                        lot_count(wanted > s->rows ? wanted : s->rows, "repeat").text);
    }
    if (!found)
        missing(c, gpu, "warm_forward", "repeats", "no repeat was measured");
}

static bool any_row_digested(const lot_observation *seen)
{
    for (size_t i = 0; i < seen->count; i++)
        if (seen->series[i].digested_rows > 0)
            return true;
    return false;
}

static void judge_verification(lot_case *c, size_t gpu)
{
    const lot_verification *v = &c->gpus[gpu].head->verification;

    if (v->passes <= 0 || v->digest[0] == '\0')
        missing(
            c, gpu, "", "digest",
            any_row_digested(c->gpus[gpu].seen)
                ? "outputs were digested, but the record does not tell how many passes or the first digest"
                : "no output was digested");
    if (v->reference_rows <= 0 || v->reference_passed == LOT_NULL_BOOL)
        missing(c, gpu, "", "reference", "no output row was compared with the float64 reference");
}

static void judge_counters(lot_case *c, size_t gpu)
{
    const lot_device_facts *d = &c->gpus[gpu].head->device;
    const lot_observation *seen = c->gpus[gpu].seen;

    for (size_t i = 0; i < seen->count; i++) {
        const lot_series *s = &seen->series[i];

        if (s->ecc_uncorrected > 0) {
            lot_finding *f =
                lot_case_find(c, gpu, LOT_VERDICT_CORRUPT, LOT_EVIDENCE_RECORD, "ecc_uncorrected");

            lot_finding_place(f, s->phase, s->schedule);
            lot_finding_number(f, (double)s->ecc_uncorrected, 0, "");
            lot_finding_say(f, "%s", lot_count(s->ecc_uncorrected, "uncorrected memory error").text);
        }
        if (s->ecc_corrected > 0) {
            lot_finding *f =
                lot_case_find(c, gpu, LOT_VERDICT_INFORMATION, LOT_EVIDENCE_RECORD, "ecc_corrected");

            lot_finding_place(f, s->phase, s->schedule);
            lot_finding_number(f, (double)s->ecc_corrected, NAN, "");
            lot_finding_say(f, "%s", lot_count(s->ecc_corrected, "corrected memory error").text);
        }
    }
    if (d->remap_failed == 1)
        lot_finding_say(lot_case_find(c, gpu, LOT_VERDICT_FAILED, LOT_EVIDENCE_RECORD, "remap_failed"),
                        "a memory row could not be remapped");
    if (d->remap_pending == 1)
        lot_finding_say(
            lot_case_find(c, gpu, LOT_VERDICT_MISCONFIGURED, LOT_EVIDENCE_RECORD, "remap_pending"),
            "a memory row waits for a reset to be remapped");
}

/* Ranks that did not even leave a record have no place among the GPUs. */
static void judge_missing_ranks(lot_case *c, size_t archive)
{
    const lot_checked_archive *a = &c->result->archives[archive];
    lot_finding *f;

    if (a->missing == 0)
        return;
    f = lot_case_find(c, LOT_NO_DEVICE_INDEX, LOT_VERDICT_LOST, LOT_EVIDENCE_RECORD, "ranks");
    lot_finding_number(f, (double)a->recorded, (double)a->ranks, "");
    lot_finding_say(f, "%zu of %s %s%sleft no record", a->missing, lot_count(a->ranks, "rank").text,
                    c->run_count > 1 ? "in " : "", lot_case_archive(c, archive).text);
}

/* The archive of the run that this one continues; run_count where it is not among them. */
static size_t run_before(const lot_case *c, size_t run)
{
    const char *wanted = c->runs[run].header.continues_run_id;
    size_t found = 0;

    while (found < c->run_count && (wanted[0] == '\0' || strcmp(c->runs[found].header.run_id, wanted) != 0))
        found++;
    return found;
}

/* Whether a run goes on from another, over the runs between them; those of a forged circle come to an end. */
static bool continues(const lot_case *c, size_t run, size_t other)
{
    for (size_t steps = 0; steps < c->run_count && (run = run_before(c, run)) < c->run_count; steps++)
        if (run == other)
            return true;
    return false;
}

/* What to do where one of two archives of a GPU goes on from the other, which alone holds the whole of it. */
static const char *advice(const lot_case *c, size_t again, size_t original)
{
    if (continues(c, again, original))
        return "; its run continues that one: check this archive alone";
    if (continues(c, original, again))
        return "; that run continues this one: check that archive alone";
    return "";
}

/* gpus[first .. end) are one GPU of one group. Of several archives the first one measured it; what another
 * one says it rented was not measured. Ranks on a CPU share it and are told apart by their numbers. */
static void judge_same_gpu(lot_case *c, size_t first, size_t end)
{
    size_t original = first;

    for (size_t i = first; i < end; i++)
        if (c->gpus[i].archive < c->gpus[original].archive)
            original = i;
    for (size_t i = first; i < end; i++) {
        if (c->gpus[i].archive == c->gpus[original].archive)
            continue;
        c->gpus[i].repeated = true;
        lot_finding_say(lot_case_find(c, i, LOT_VERDICT_NOT_MEASURED, LOT_EVIDENCE_RECORD, "uuid"),
                        "is the GPU of %srank %lld once more: a GPU of its own was not measured%s",
                        lot_case_archive(c, c->gpus[original].archive).text,
                        (long long)c->gpus[original].head->identity.rank,
                        advice(c, c->gpus[i].archive, c->gpus[original].archive));
    }
}

static bool same_gpu(const lot_judged *a, const lot_judged *b)
{
    return a->head->device.uuid[0] != '\0' && strcmp(a->head->device.kind, "host") != 0 &&
           strcmp(a->head->device.uuid, b->head->device.uuid) == 0 &&
           lot_group_compare(a->head, b->head) == 0;
}

void lot_judge_repeated(lot_case *c)
{
    for (size_t first = 0, end; c->run_count > 1 && first < c->count; first = end) {
        for (end = first + 1; end < c->count && same_gpu(&c->gpus[first], &c->gpus[end]);)
            end++;
        judge_same_gpu(c, first, end);
    }
}

void lot_judge_state(lot_case *c)
{
    for (size_t i = 0; i < c->count; i++) {
        judge_outcome(c, i);
        judge_repeats(c, i);
        judge_verification(c, i);
        judge_counters(c, i);
    }
    for (size_t i = 0; i < c->run_count; i++)
        judge_missing_ranks(c, i);
}

/* Why nothing judged the GPU's speed. */
static const char *why_silent(const lot_case *c, size_t gpu)
{
    const lot_checked_device *d = &c->result->devices[gpu];

    if (d->repeats == 1)
        return "one repeat does not tell its noise: its speed was not judged";
    return c->result->groups[d->group].devices == 1
               ? "alone in its group: its speed was compared with nothing; --against or --expect can judge it"
               : "no other GPU of its group finished its repeats: its speed was compared with nothing; "
                 "--against or "
                 "--expect can judge it";
}

void lot_judge_silence(lot_case *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (!c->gpus[i].speed_judged && c->result->devices[i].verdicts == 0)
            lot_finding_say(lot_case_find(c, i, LOT_VERDICT_UNDECIDED, LOT_EVIDENCE_PEER, "device_seconds"),
                            "%s", why_silent(c, i));
}
