/* What must be equal among GPUs of one model and is not. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/groups.h"
#include "analysis/judge.h"
#include "analysis/setup.h"
#include "core/count.h"
#include "core/field.h"
#include "core/ranges.h"

/* NUMA distance of a node to itself (ACPI specification, SLIT). */
#define NEAR_DISTANCE 10

typedef struct value {
    char text[LOT_SETUP_VALUE_SIZE]; /* "" where it is not known */
    size_t gpu;
} value;

/* All the same bytes: by far the usual case, and cheaper to see than texts. */
static bool all_equal(const lot_case *c, size_t first, size_t end, const lot_setup_subject *s)
{
    const char *one = (const char *)c->gpus[first].head + s->offset;

    for (size_t i = first + 1; i < end; i++) {
        const char *other = (const char *)c->gpus[i].head + s->offset;

        if (s->kind == LOT_KIND_STR ? strcmp(one, other) != 0
                                    : memcmp(one, other, s->kind == LOT_KIND_BOOL ? 1 : 8) != 0)
            return false;
    }
    return true;
}

static int by_text(const void *a, const void *b)
{
    const value *x = a;
    const value *y = b;
    const int order = strcmp(x->text, y->text);

    return order != 0 ? order : (x->gpu > y->gpu) - (x->gpu < y->gpu);
}

/* The text of more than half of the sorted values, or NULL; *votes of them. */
static const char *majority(const value *values, size_t count, size_t *votes)
{
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;

        while (end < count && strcmp(values[end].text, values[i].text) == 0)
            end++;
        if (2 * (end - i) > count) {
            *votes = end - i;
            return values[i].text;
        }
        i = end;
    }
    return NULL;
}

static void accuse(lot_case *c, const value *one, const char *name, const char *right, size_t votes,
                   size_t count)
{
    lot_finding *f = lot_case_find(c, one->gpu, LOT_VERDICT_MISCONFIGURED, LOT_EVIDENCE_PEER, name);

    if (right != NULL)
        lot_finding_say(f, "%s is %s; %zu of %zu have %s", name, one->text, votes, count, right);
    else
        lot_finding_say(f, "%s is %s and differs between the GPUs, without a majority", name, one->text);
}

/* Who is not like most; where there is no majority, everybody is named. Unknown values are no difference. */
static void compare_values(lot_case *c, value *values, size_t count, const char *name)
{
    const char *right;
    size_t votes = 0;
    bool equal = true;

    for (size_t i = 1; equal && i < count; i++)
        equal = strcmp(values[i].text, values[0].text) == 0;
    if (equal)
        return;
    qsort(values, count, sizeof *values, by_text);
    right = majority(values, count, &votes);
    for (size_t i = 0; i < count; i++)
        if (right == NULL || strcmp(values[i].text, right) != 0)
            accuse(c, &values[i], name, right, votes, count);
}

/* PCIe under load: the best that any row of a forward pass saw. */
static void print_pcie(const lot_observation *seen, bool width, char *text)
{
    int64_t most = LOT_NULL_I64;

    for (size_t i = 0; i < seen->count; i++) {
        const lot_series *s = &seen->series[i];
        const int64_t at = width ? s->pcie_width : s->pcie_generation;

        if (strcmp(s->phase, "model_load") != 0 && strcmp(s->phase, "inputs") != 0 && at > most)
            most = at;
    }
    text[0] = '\0';
    if (most != LOT_NULL_I64)
        (void)snprintf(text, LOT_SETUP_VALUE_SIZE, "%lld", (long long)most);
}

static void judge_subject(lot_case *c, size_t first, size_t end, const lot_setup_subject *s, value *values)
{
    size_t count = 0;

    if (all_equal(c, first, end, s))
        return;
    for (size_t i = first; i < end; i++) {
        values[count].gpu = i;
        lot_setup_print(s, c->gpus[i].head, values[count].text);
        count += values[count].text[0] != '\0';
    }
    compare_values(c, values, count, s->name);
}

static void judge_pcie(lot_case *c, size_t first, size_t end, bool width, value *values)
{
    size_t count = 0;

    for (size_t i = first; i < end; i++) {
        values[count].gpu = i;
        print_pcie(c->gpus[i].seen, width, values[count].text);
        count += values[count].text[0] != '\0';
    }
    compare_values(c, values, count, width ? "pcie_width" : "pcie_generation");
}

static void judge_model(lot_case *c, size_t first, size_t end, value *values)
{
    size_t count;
    const lot_setup_subject *subjects = lot_setup_subjects(&count);

    if (!lot_device_known(c->gpus[first].head)) /* a rank that told no device has nothing to compare */
        return;
    for (size_t i = 0; i < count; i++)
        judge_subject(c, first, end, &subjects[i], values);
    judge_pcie(c, first, end, false, values);
    judge_pcie(c, first, end, true, values);
}

/* The rank's CPUs or memory, at `nodes`, are not at the GPU's node. A CPU is at its own. */
static void judge_nodes(lot_case *c, size_t gpu, const char *measure, const char *what, const char *nodes,
                        int64_t distance)
{
    const lot_device_facts *d = &c->gpus[gpu].head->device;
    char far[48] = "";
    lot_finding *f;

    if (strcmp(d->kind, "host") == 0 || d->numa_node < 0 || nodes[0] == '\0' ||
        lot_ranges_hold(nodes, d->numa_node))
        return;
    if (distance >= 0)
        (void)snprintf(far, sizeof far, ", distance %lld", (long long)distance);
    f = lot_case_find(c, gpu, LOT_VERDICT_MISCONFIGURED, LOT_EVIDENCE_RECORD, measure);
    lot_finding_number(f, distance >= 0 ? (double)distance : NAN, NEAR_DISTANCE, "");
    lot_finding_say(f, "its %s at NUMA node %s, the GPU at node %lld%s (%d is the same node)", what, nodes,
                    (long long)d->numa_node, far, NEAR_DISTANCE);
}

/* What is wrong whatever the others have. */
static void judge_alone(lot_case *c, size_t gpu)
{
    const lot_device_facts *d = &c->gpus[gpu].head->device;
    const lot_environment *e = &c->gpus[gpu].head->environment;

    judge_nodes(c, gpu, "cpu_numa_nodes", "CPUs are", e->cpu_numa_nodes, e->device_cpu_distance);
    judge_nodes(c, gpu, "memory_numa_nodes", "memory is", e->memory_numa_nodes, e->device_memory_distance);
    if (d->foreign_processes > 0) {
        lot_finding *f =
            lot_case_find(c, gpu, LOT_VERDICT_MISCONFIGURED, LOT_EVIDENCE_RECORD, "foreign_processes");

        lot_finding_number(f, (double)d->foreign_processes, 0, "");
        lot_finding_say(f, "%s on the GPU", lot_count(d->foreign_processes, "foreign compute process").text);
    }
    if (d->power_limit_watts < d->power_limit_default_watts) {
        lot_finding *f =
            lot_case_find(c, gpu, LOT_VERDICT_INFORMATION, LOT_EVIDENCE_RECORD, "power_limit_watts");

        lot_finding_number(f, d->power_limit_watts, d->power_limit_default_watts, "W");
        lot_finding_say(f, "the power limit is below the default");
    }
}

void lot_judge_setup(lot_case *c)
{
    value *values = malloc((c->count + 1) * sizeof *values);

    if (values == NULL)
        c->no_memory = true;
    for (size_t first = 0; values != NULL && first < c->count;) {
        size_t end = first + 1;

        while (end < c->count && lot_model_compare(c->gpus[end].head, c->gpus[first].head) == 0)
            end++;
        judge_model(c, first, end, values);
        first = end;
    }
    for (size_t i = 0; i < c->count; i++)
        judge_alone(c, i);
    free(values);
}
