/* Wrong results: a GPU's own digests and reference, then the digests of its peers and of an earlier run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/judge.h"
#include "core/count.h"
#include "core/status.h"

/* ---- the GPU by itself ---- */

/* "; in one of them 1 other element, first in row 4, column 615": a bit, or a tile. Empty where it is not
 * known. */
static void describe_elements(const lot_judged *g, const lot_series *s, char *text, size_t size)
{
    const int64_t width = g->head->synthetic_model.width;

    text[0] = '\0';
    if (s->elements_differing > 0 && s->first_element_differing >= 0 && width > 0)
        (void)snprintf(text, size, "; in one of them %s, first in row %lld, column %lld",
                       lot_count(s->elements_differing, "other element").text,
                       (long long)(s->first_element_differing / width),
                       (long long)(s->first_element_differing % width));
}

static void find_differing(lot_case *c, size_t gpu)
{
    const lot_judged *g = &c->gpus[gpu];
    const lot_verification *v = &g->head->verification;
    bool placed = false;

    for (size_t i = 0; i < g->seen->count; i++) {
        const lot_series *s = &g->seen->series[i];
        char elements[160];
        lot_finding *f;

        if (s->digests_differing <= 0)
            continue;
        placed = true;
        f = lot_case_find(c, gpu, LOT_VERDICT_CORRUPT, LOT_EVIDENCE_REPEAT, "digest");
        lot_finding_place(f, s->phase, s->schedule);
        lot_finding_number(f, (double)s->digests_differing, 0, "");
        describe_elements(g, s, elements, sizeof elements);
        lot_finding_say(f, "%lld of %s with another output than the first: %s, not %s%s",
                        (long long)s->digests_differing, lot_count(s->passes, "pass").text,
                        s->deviating_digest, v->digest, elements);
    }
    if (!placed && v->digests_differing > 0) {
        lot_finding *f = lot_case_find(c, gpu, LOT_VERDICT_CORRUPT, LOT_EVIDENCE_REPEAT, "digest");

        lot_finding_number(f, (double)v->digests_differing, 0, "");
        lot_finding_say(f, "%lld of %s with another output than the first", (long long)v->digests_differing,
                        lot_count(v->passes, "pass").text);
    }
    if (!placed && v->digests_differing == 0 && v->passes > 1)
        lot_case_good(c, gpu, LOT_EVIDENCE_REPEAT);
}

static void find_nonfinite(lot_case *c, size_t gpu)
{
    const lot_judged *g = &c->gpus[gpu];
    int64_t rows = 0;
    lot_finding *f;

    for (size_t i = 0; i < g->seen->count; i++)
        rows += g->seen->series[i].nonfinite_rows;
    if (rows == 0 && g->head->verification.nonfinite_passes <= 0)
        return;
    if (g->head->verification.nonfinite_passes > rows)
        rows = g->head->verification.nonfinite_passes;
    f = lot_case_find(c, gpu, LOT_VERDICT_CORRUPT, LOT_EVIDENCE_REFERENCE, "finite");
    lot_finding_number(f, (double)rows, 0, "");
    lot_finding_say(f, "%s with a NaN or an infinity", lot_count(rows, "output").text);
}

static void find_reference(lot_case *c, size_t gpu)
{
    const lot_verification *v = &c->gpus[gpu].head->verification;
    lot_finding *f;

    if (v->reference_passed == 1) {
        lot_case_good(c, gpu, LOT_EVIDENCE_REFERENCE);
        return;
    }
    if (v->reference_passed != 0)
        return;
    f = lot_case_find(c, gpu, LOT_VERDICT_CORRUPT, LOT_EVIDENCE_REFERENCE, "reference_max_bound_ratio");
    lot_finding_number(f, v->reference_max_bound_ratio, 1, "1");
    if (isfinite(v->reference_max_bound_ratio))
        lot_finding_say(f, "the float64 reference of %s is missed by %.3g times its bound",
                        lot_count(v->reference_rows, "sampled row").text, v->reference_max_bound_ratio);
    else
        lot_finding_say(f, "the float64 reference of %s is missed by more than can be told",
                        lot_count(v->reference_rows, "sampled row").text);
}

void lot_judge_results(lot_case *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const lot_record_head *head = c->gpus[i].head;
        unsigned *verdicts = &c->result->devices[i].verdicts;

        find_differing(c, i);
        find_nonfinite(c, i);
        find_reference(c, i);
        /* The rank called it wrong and none of the above tells why: believe it. */
        if ((*verdicts & LOT_VERDICT_BIT(LOT_VERDICT_CORRUPT)) == 0 &&
            (lot_status_from_name(head->outcome.status) == LOT_WRONG_RESULT ||
             head->verification.passed == 0))
            lot_finding_say(lot_case_find(c, i, LOT_VERDICT_CORRUPT, LOT_EVIDENCE_RECORD, "passed"),
                            "its rank says that a result failed its verification");
        c->gpus[i].corrupt_itself = (*verdicts & LOT_VERDICT_BIT(LOT_VERDICT_CORRUPT)) != 0;
    }
}

/* ---- among peers ---- */

/* One voice for a digest. */
typedef struct voice {
    const char *digest;
    size_t gpu;
} voice;

static int by_digest(const void *a, const void *b)
{
    const voice *x = a;
    const voice *y = b;
    const int order = strcmp(x->digest, y->digest);

    return order != 0 ? order : (x->gpu > y->gpu) - (x->gpu < y->gpu);
}

/* How a group and the earlier GPUs of the same group voted. */
typedef struct vote {
    size_t now;          /* voices of this run */
    const char *winner;  /* the digest of more than half of them; NULL */
    size_t winner_count; /* of them */
    size_t earlier;      /* voices of the earlier run */
    const char *golden;  /* the digest of all of those; NULL */
    size_t golden_count; /* voices for it in both runs */
    bool golden_rules;   /* these are more than half of all voices */
} vote;

static void hear_now(vote *v, const voice *now, size_t count)
{
    v->now = count;
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;

        while (end < count && strcmp(now[end].digest, now[i].digest) == 0)
            end++;
        if (2 * (end - i) > count) {
            v->winner = now[i].digest;
            v->winner_count = end - i;
        }
        if (v->golden != NULL && strcmp(now[i].digest, v->golden) == 0)
            v->golden_count += end - i;
        i = end;
    }
    v->golden_rules = v->golden != NULL && 2 * v->golden_count > v->now + v->earlier;
}

/* Earlier GPUs that disagree among themselves say nothing. */
static void hear_earlier(const lot_case *c, const lot_record_head *head, vote *v)
{
    size_t first;
    const size_t end = lot_case_earlier(c, head, &first);
    bool agree = true;

    for (size_t i = first; i < end; i++) {
        const lot_verification *e = &c->earlier[i].head->verification;

        if (e->digest[0] == '\0' || e->passed != 1)
            continue;
        agree = agree && (v->golden == NULL || strcmp(v->golden, e->digest) == 0);
        v->golden = e->digest;
        v->earlier++;
    }
    if (!agree)
        v->golden = NULL;
    v->golden_count = v->golden != NULL ? v->earlier : 0;
    v->earlier = v->golden_count;
}

static void accuse(lot_case *c, const voice *one, const vote *v, lot_verdict verdict, lot_evidence evidence)
{
    lot_finding *f = lot_case_find(c, one->gpu, verdict, evidence, "digest");
    const bool by_peers = evidence == LOT_EVIDENCE_PEER;

    if (verdict == LOT_VERDICT_CORRUPT) {
        const size_t against = by_peers ? v->winner_count : v->golden_count;
        const size_t voices = v->now + (by_peers ? 0 : v->earlier);

        lot_finding_number(f, (double)against, (double)voices / 2, "");
        lot_finding_say(f, "its output is %s; %zu of %zu %s say %s", one->digest, against, voices,
                        by_peers ? "peers" : "peers and earlier GPUs", by_peers ? v->winner : v->golden);
    } else if (by_peers) {
        lot_finding_say(f,
                        "its output is %s, not its peers', and no majority says which is wrong; "
                        "measure --localise can",
                        one->digest);
    } else {
        lot_finding_say(f,
                        "its output is %s, the earlier archive's is %s, and no majority says which is wrong",
                        one->digest, v->golden);
    }
}

static void judge_voice(lot_case *c, const voice *one, const vote *v)
{
    const bool with_winner = v->winner != NULL && strcmp(one->digest, v->winner) == 0;
    const bool with_golden = v->golden != NULL && strcmp(one->digest, v->golden) == 0;

    if (with_golden && (with_winner || v->golden_rules)) {
        lot_case_good(c, one->gpu, LOT_EVIDENCE_EXPECTATION);
        if (v->now > 1)
            lot_case_good(c, one->gpu, LOT_EVIDENCE_PEER);
    } else if (v->golden_rules) {
        accuse(c, one, v, LOT_VERDICT_CORRUPT, LOT_EVIDENCE_EXPECTATION);
    } else if (v->winner != NULL && !with_winner && !with_golden) {
        accuse(c, one, v, LOT_VERDICT_CORRUPT, LOT_EVIDENCE_PEER);
    } else if (v->golden != NULL) {
        accuse(c, one, v, LOT_VERDICT_UNDECIDED, LOT_EVIDENCE_EXPECTATION);
    } else if (v->winner == NULL) {
        accuse(c, one, v, LOT_VERDICT_UNDECIDED, LOT_EVIDENCE_PEER);
    } else if (v->now > 1) {
        lot_case_good(c, one->gpu, LOT_EVIDENCE_PEER);
    }
}

/* A GPU that its own passes or the reference contradict has no voice. */
static void judge_group(lot_case *c, size_t first, size_t end, voice *now)
{
    size_t count = 0;
    vote v = {0};

    for (size_t i = first; i < end; i++)
        if (!c->gpus[i].corrupt_itself && !c->gpus[i].repeated &&
            c->gpus[i].head->verification.digest[0] != '\0')
            now[count++] = (voice){c->gpus[i].head->verification.digest, i};
    qsort(now, count, sizeof *now, by_digest);
    hear_earlier(c, c->gpus[first].head, &v);
    hear_now(&v, now, count);
    for (size_t i = 0; i < count; i++)
        judge_voice(c, &now[i], &v);
}

void lot_judge_digests(lot_case *c)
{
    voice *now = malloc((c->count + 1) * sizeof *now);

    if (now == NULL)
        c->no_memory = true;
    for (size_t g = 0; now != NULL && g < c->group_count; g++)
        judge_group(c, c->group_first[g], c->group_first[g + 1], now);
    free(now);
}
