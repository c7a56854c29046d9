#include "analysis/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/groups.h"
#include "analysis/judge.h"
#include "core/count.h"
#include "core/field.h"

static int by_device(const void *a, const void *b)
{
    const lot_judged *one = a;
    const lot_judged *other = b;
    const int order = lot_device_compare(one->head, other->head);

    return order != 0 ? order : (one->archive > other->archive) - (one->archive < other->archive);
}

static size_t count_ranks(const lot_observed_run *runs, size_t count)
{
    size_t ranks = 0;

    for (size_t r = 0; r < count; r++)
        ranks += runs[r].count;
    return ranks;
}

/* The ranks of all runs in an order that their numbers do not decide; NULL without memory. */
static lot_judged *sorted(const lot_observed_run *runs, size_t count)
{
    const size_t ranks = count_ranks(runs, count);
    lot_judged *gpus = calloc(ranks + 1, sizeof *gpus);
    size_t at = 0;

    for (size_t r = 0; gpus != NULL && r < count; r++)
        for (size_t i = 0; i < runs[r].count; i++)
            gpus[at++] =
                (lot_judged){.head = &runs[r].heads[i], .seen = &runs[r].observations[i], .archive = r};
    if (gpus != NULL)
        qsort(gpus, ranks, sizeof *gpus, by_device);
    return gpus;
}

/* Appends ", name value", with "-" for what is not known. */
static void add_size(char *text, size_t size, const char *name, int64_t value)
{
    const size_t used = strlen(text);

    if (value == LOT_NULL_I64)
        (void)snprintf(text + used, size - used, ", %s -", name);
    else
        (void)snprintf(text + used, size - used, ", %s %lld", name, (long long)value);
}

static void describe_group(const lot_record_head *head, lot_checked_group *group)
{
    const lot_model *m = &head->synthetic_model;
    char *text = group->configuration;
    const size_t size = sizeof group->configuration;
    size_t used;

    (void)lot_field_copy(group->name, sizeof group->name,
                         head->device.name[0] != '\0' ? head->device.name : "unknown device");
    (void)snprintf(text, size, "%s", lot_field_shown(m->dtype));
    add_size(text, size, "batch", m->batch);
    add_size(text, size, "context", m->context);
    add_size(text, size, "width", m->width);
    add_size(text, size, "hidden", m->hidden);
    used = strlen(text);
    (void)snprintf(text + used, size - used, ", math %s, gelu %s", lot_field_shown(m->math),
                   lot_field_shown(m->gelu));
    add_size(text, size, "seed", m->seed);
    add_size(text, size, "generator", m->generator);
    (void)snprintf(group->library, sizeof group->library, "%s %s", lot_field_shown(head->device.library),
                   lot_field_shown(head->device.library_version));
}

/* Written to the device: all that the network needed at once, every byte of it computed or copied. */
static double written_share(const lot_judged *g)
{
    int64_t most = 0;

    for (size_t i = 0; i < g->seen->count; i++)
        if (g->seen->series[i].allocated_peak_bytes > most)
            most = g->seen->series[i].allocated_peak_bytes;
    return most > 0 && g->head->device.memory_bytes > 0 ? (double)most / (double)g->head->device.memory_bytes
                                                        : NAN;
}

static void describe_device(const lot_judged *g, size_t group, lot_checked_device *d)
{
    const lot_record_head *head = g->head;
    const lot_estimate unknown = {NAN, NAN, NAN};

    d->archive = g->archive;
    d->rank = head->identity.rank;
    (void)lot_field_copy(d->host, sizeof d->host, head->identity.host);
    (void)lot_field_copy(d->uuid, sizeof d->uuid, head->device.uuid);
    (void)lot_field_copy(d->pci_address, sizeof d->pci_address, head->device.pci_address);
    (void)lot_field_copy(d->name, sizeof d->name, head->device.name);
    d->group = group;
    d->median_seconds = d->repeat_spread = NAN;
    d->slower = d->contention = d->soak_drift = unknown;
    d->verified_passes = head->verification.passes > 0 ? head->verification.passes : 0;
    d->written_share = written_share(g);
    d->elapsed_seconds = head->outcome.elapsed_seconds;
}

static void make_groups(lot_case *c)
{
    for (size_t i = 0; i < c->count; i++) {
        if (i == 0 || lot_group_compare(c->gpus[i].head, c->gpus[i - 1].head) != 0) {
            c->group_first[c->group_count] = i;
            describe_group(c->gpus[i].head, &c->result->groups[c->group_count]);
            if (i > 0)
                (void)lot_group_difference(c->gpus[i - 1].head, c->gpus[i].head,
                                           c->result->groups[c->group_count].difference,
                                           sizeof c->result->groups[c->group_count].difference);
            c->group_count++;
        }
        c->result->groups[c->group_count - 1].devices++;
        describe_device(&c->gpus[i], c->group_count - 1, &c->result->devices[i]);
    }
    c->group_first[c->group_count] = c->count;
    c->result->group_count = c->group_count;
}

/* By GPU, the worst first, then by subject and place; what is of the whole run comes last. */
static int by_finding(const void *a, const void *b)
{
    const lot_finding *x = a;
    const lot_finding *y = b;
    int order;

    if (x->device != y->device)
        return x->device > y->device ? 1 : -1;
    if (x->verdict != y->verdict)
        return x->verdict > y->verdict ? 1 : -1;
    if ((order = strcmp(x->measure, y->measure)) != 0 || (order = strcmp(x->phase, y->phase)) != 0 ||
        (order = strcmp(x->schedule, y->schedule)) != 0)
        return order;
    return x->evidence != y->evidence ? (x->evidence > y->evidence) - (x->evidence < y->evidence)
                                      : strcmp(x->text, y->text);
}

static void judge(lot_case *c)
{
    make_groups(c);
    lot_judge_repeated(c);
    lot_judge_state(c);
    lot_judge_results(c);
    lot_judge_digests(c);
    lot_judge_speed(c);
    lot_judge_rates(c);
    if (!c->no_memory) {
        lot_judge_repeats(c);
        lot_judge_soak(c);
        lot_judge_slowdown(c);
        lot_judge_setup(c);
        lot_judge_silence(c);
        lot_case_blindness(c);
        lot_case_cost(c);
    }
}

/* A device of the result with the place that it was judged in. */
typedef struct placed {
    lot_checked_device device;
    size_t was;
} placed;

static int by_rank(const void *a, const void *b)
{
    const lot_checked_device *x = &((const placed *)a)->device;
    const lot_checked_device *y = &((const placed *)b)->device;

    return x->archive != y->archive ? (x->archive > y->archive) - (x->archive < y->archive)
                                    : (x->rank > y->rank) - (x->rank < y->rank);
}

/* They were judged in an order that ranks do not decide; a reader looks for them by archive and rank. False
 * without memory. */
static bool sort_by_rank(lot_check_result *r)
{
    placed *list = calloc(r->device_count + 1, sizeof *list);
    size_t *place = calloc(r->device_count + 1, sizeof *place);
    const bool good = list != NULL && place != NULL;

    for (size_t i = 0; good && i < r->device_count; i++)
        list[i] = (placed){r->devices[i], i};
    if (good)
        qsort(list, r->device_count, sizeof *list, by_rank);
    for (size_t i = 0; good && i < r->device_count; i++) {
        r->devices[i] = list[i].device;
        place[list[i].was] = i;
    }
    for (size_t i = 0; good && i < r->finding_count; i++)
        if (r->findings[i].device != LOT_NO_DEVICE_INDEX)
            r->findings[i].device = place[r->findings[i].device];
    free(list);
    free(place);
    return good;
}

/* False without memory. */
static bool conclude(lot_check_result *r)
{
    if (!sort_by_rank(r))
        return false;
    if (r->finding_count > 0)
        qsort(r->findings, r->finding_count, sizeof *r->findings, by_finding);
    r->all_ok = r->device_count > 0 && r->missing == 0;
    for (size_t i = 0; i < r->device_count; i++) {
        r->archives[r->devices[i].archive].good += r->devices[i].verdicts == 0;
        r->all_ok = r->all_ok && r->devices[i].verdicts == 0;
    }
    return true;
}

/* A recovered run has no elapsed time of its own; the longest rank's is the least that it took. */
static double elapsed_of(const lot_observed_run *run)
{
    double longest = run->header.elapsed_seconds;

    for (size_t i = 0; i < run->count; i++)
        longest = fmax(longest, run->heads[i].outcome.elapsed_seconds);
    return longest;
}

static void describe_archive(const lot_observed_run *run, const char *file, lot_checked_archive *a)
{
    (void)lot_field_copy(a->file, sizeof a->file, file);
    (void)lot_field_copy(a->run_id, sizeof a->run_id, run->header.run_id);
    (void)lot_field_copy(a->label, sizeof a->label, run->header.label);
    a->recorded = run->count;
    a->ranks = run->header.ranks > (int64_t)run->count ? run->header.ranks : (int64_t)run->count;
    a->missing = (size_t)a->ranks - run->count;
    a->elapsed_seconds = elapsed_of(run);
}

static void describe_runs(const lot_case *c)
{
    lot_check_result *r = c->result;

    r->simulated = c->runs[0].header.simulated == 1;
    r->prior = c->options->prior;
    r->level = c->options->level;
    r->soak_passes = c->options->soak_passes;
    if (c->options->against != NULL)
        (void)lot_field_copy(r->against_run_id, sizeof r->against_run_id, c->options->against->header.run_id);
    r->archive_count = c->run_count;
    for (size_t i = 0; i < c->run_count; i++) {
        describe_archive(&c->runs[i], c->options->files != NULL ? c->options->files[i] : "", &r->archives[i]);
        r->ranks += r->archives[i].ranks;
        r->missing += r->archives[i].missing;
        r->elapsed_seconds += r->archives[i].elapsed_seconds;
    }
}

/* LOT_INPUT where the earlier run says nothing about this one: another kind, or the same run. */
static lot_status check_earlier(const lot_observed_run *run, const lot_observed_run *earlier,
                                lot_error *error)
{
    if ((earlier->header.simulated == 1) != (run->header.simulated == 1))
        return lot_error_set(error, LOT_INPUT, "--against", 0,
                             "one of the two archives was made over a simulator and the other was not");
    if (run->header.run_id[0] != '\0' && strcmp(run->header.run_id, earlier->header.run_id) == 0)
        return lot_error_set(error, LOT_INPUT, "--against", 0,
                             "--against: run %s is checked itself, so it is not an earlier one",
                             run->header.run_id);
    return LOT_OK;
}

/* LOT_INPUT where the runs and the earlier one cannot be looked at together. */
static lot_status check_inputs(const lot_observed_run *runs, size_t count, const lot_observed_run *against,
                               lot_error *error)
{
    lot_status status = lot_observed_distinct(runs, count, error);

    for (size_t i = 0; status == LOT_OK && i < count; i++) {
        if (runs[i].header.ranks > INT32_MAX)
            status = lot_error_set(error, LOT_INPUT, "archive", 0,
                                   "run %s tells %lld ranks, more than MPI can number", runs[i].header.run_id,
                                   (long long)runs[i].header.ranks);
        else if (against != NULL)
            status = check_earlier(&runs[i], against, error);
    }
    return status;
}

/* Fills the lists of the case and of its result; false without memory. */
static bool make_lists(lot_case *c)
{
    const lot_observed_run *against = c->options->against;
    lot_check_result *r = c->result;

    c->count = count_ranks(c->runs, c->run_count);
    c->gpus = sorted(c->runs, c->run_count);
    c->earlier = against != NULL ? sorted(against, 1) : NULL;
    c->earlier_count = against != NULL ? against->count : 0;
    c->group_first = calloc(c->count + 1, sizeof *c->group_first);
    c->group_comparison = calloc(c->count + 1, sizeof *c->group_comparison);
    r->archives = calloc(c->run_count, sizeof *r->archives);
    r->devices = calloc(c->count + 1, sizeof *r->devices);
    r->groups = calloc(c->count + 1, sizeof *r->groups);
    r->device_count = c->count;
    return c->gpus != NULL && c->group_first != NULL && c->group_comparison != NULL && r->archives != NULL &&
           r->devices != NULL && r->groups != NULL && (against == NULL || c->earlier != NULL);
}

lot_status lot_check(const lot_observed_run *runs, size_t count, const lot_check_options *options,
                     lot_check_result *result, lot_error *error)
{
    lot_check_result made;
    lot_case c = {.options = options, .runs = runs, .run_count = count, .result = &made};
    lot_status status = check_inputs(runs, count, options->against, error);

    if (status != LOT_OK)
        return status;
    memset(&made, 0, sizeof made);
    c.no_memory = !make_lists(&c);
    if (!c.no_memory) {
        describe_runs(&c);
        judge(&c);
    }
    c.no_memory = c.no_memory || !conclude(&made);
    if (c.no_memory) {
        lot_check_result_free(&made);
        status = lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory to check %s",
                               lot_count((int64_t)c.count, "rank").text);
    } else {
        *result = made;
    }
    free(c.gpus);
    free(c.earlier);
    free(c.group_first);
    free(c.group_comparison);
    return status;
}
