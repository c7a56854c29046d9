#include "analysis/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/groups.h"
#include "analysis/judge.h"
#include "core/field.h"

static int by_device(const void *a, const void *b)
{
    return lot_device_compare(((const lot_judged *)a)->head, ((const lot_judged *)b)->head);
}

/* The ranks of a run in an order that their numbers do not decide; NULL without memory. */
static lot_judged *sorted(const lot_observed_run *run)
{
    lot_judged *gpus = calloc(run->count + 1, sizeof *gpus);

    for (size_t i = 0; gpus != NULL && i < run->count; i++)
        gpus[i] = (lot_judged){.head = &run->heads[i], .seen = &run->observations[i]};
    if (gpus != NULL)
        qsort(gpus, run->count, sizeof *gpus, by_device);
    return gpus;
}

static const char *or_dash(const char *text)
{
    return text[0] != '\0' ? text : "-";
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
    (void)snprintf(text, size, "%s", or_dash(m->dtype));
    add_size(text, size, "batch", m->batch);
    add_size(text, size, "context", m->context);
    add_size(text, size, "width", m->width);
    add_size(text, size, "hidden", m->hidden);
    used = strlen(text);
    (void)snprintf(text + used, size - used, ", math %s, gelu %s", or_dash(m->math), or_dash(m->gelu));
    add_size(text, size, "seed", m->seed);
    (void)snprintf(group->library, sizeof group->library, "%s %s", or_dash(head->device.library),
                   or_dash(head->device.library_version));
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
            describe_group(c->gpus[i].head, &c->result->groups[c->group_count++]);
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
    }
}

static void conclude(const lot_case *c)
{
    lot_check_result *r = c->result;

    if (r->finding_count > 0)
        qsort(r->findings, r->finding_count, sizeof *r->findings, by_finding);
    r->all_ok = r->device_count > 0 && r->missing == 0;
    for (size_t i = 0; i < r->device_count; i++)
        r->all_ok = r->all_ok && r->devices[i].verdicts == 0;
}

/* A recovered run has no elapsed time of its own; the longest rank's is the least that it took. */
static double elapsed_of(const lot_observed_run *run)
{
    double longest = run->header.elapsed_seconds;

    for (size_t i = 0; i < run->count; i++)
        longest = fmax(longest, run->heads[i].outcome.elapsed_seconds);
    return longest;
}

static void describe_run(const lot_observed_run *run, const lot_check_options *options, lot_check_result *r)
{
    memset(r, 0, sizeof *r);
    (void)lot_field_copy(r->run_id, sizeof r->run_id, run->header.run_id);
    (void)lot_field_copy(r->label, sizeof r->label, run->header.label);
    r->simulated = run->header.simulated == 1;
    r->ranks = run->header.ranks != LOT_NULL_I64 ? run->header.ranks : (int64_t)run->count;
    r->prior = options->prior;
    r->level = options->level;
    r->elapsed_seconds = elapsed_of(run);
}

lot_status lot_check(const lot_observed_run *run, const lot_check_options *options, lot_check_result *result,
                     lot_error *error)
{
    lot_check_result made;
    lot_case c = {.options = options, .header = &run->header, .count = run->count, .result = &made};
    lot_status status = LOT_OK;

    if (options->against != NULL && (options->against->header.simulated == 1) != (run->header.simulated == 1))
        return lot_error_set(error, LOT_INPUT, "--against", 0,
                             "one of the two archives was made over a simulator and the other was not");
    describe_run(run, options, &made);
    c.gpus = sorted(run);
    c.earlier = options->against != NULL ? sorted(options->against) : NULL;
    c.earlier_count = options->against != NULL ? options->against->count : 0;
    c.group_first = calloc(run->count + 1, sizeof *c.group_first);
    c.group_comparison = calloc(run->count + 1, sizeof *c.group_comparison);
    made.devices = calloc(run->count + 1, sizeof *made.devices);
    made.groups = calloc(run->count + 1, sizeof *made.groups);
    made.device_count = run->count;
    c.no_memory = c.gpus == NULL || c.group_first == NULL || c.group_comparison == NULL ||
                  made.devices == NULL || made.groups == NULL ||
                  (options->against != NULL && c.earlier == NULL);
    if (!c.no_memory)
        judge(&c);
    if (c.no_memory) {
        lot_check_result_free(&made);
        status = lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory to check %zu ranks", run->count);
    } else {
        conclude(&c);
        *result = made;
    }
    free(c.gpus);
    free(c.earlier);
    free(c.group_first);
    free(c.group_comparison);
    return status;
}
