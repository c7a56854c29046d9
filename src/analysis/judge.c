#include "analysis/judge.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/groups.h"
#include "core/field.h"
#include "core/grown.h"

static lot_finding *next_finding(lot_case *c)
{
    lot_check_result *result = c->result;
    lot_finding *grown = lot_grown(result->findings, result->finding_count, sizeof *grown);

    if (grown == NULL) {
        c->no_memory = true;
        return &c->spare;
    }
    result->findings = grown;
    return &grown[result->finding_count++];
}

lot_finding *lot_case_find(lot_case *c, size_t gpu, lot_verdict verdict, lot_evidence evidence,
                           const char *measure)
{
    lot_finding *finding = next_finding(c);

    memset(finding, 0, sizeof *finding);
    finding->verdict = verdict;
    finding->evidence = evidence;
    finding->device = gpu;
    finding->number = finding->threshold = finding->low = finding->high = NAN;
    (void)lot_field_copy(finding->measure, sizeof finding->measure, measure);
    if (gpu != LOT_NO_DEVICE_INDEX && verdict != LOT_VERDICT_INFORMATION) {
        c->result->devices[gpu].verdicts |= LOT_VERDICT_BIT(verdict);
        c->result->devices[gpu].heard[evidence] = LOT_HEARD_BAD;
    }
    return finding;
}

lot_finding *lot_case_find_slow(lot_case *c, size_t gpu, lot_evidence evidence, const char *measure,
                                double share)
{
    c->gpus[gpu].missed_share = fmax(c->gpus[gpu].missed_share, share);
    return lot_case_find(c, gpu, LOT_VERDICT_SLOW, evidence, measure);
}

void lot_finding_number(lot_finding *finding, double number, double threshold, const char *unit)
{
    finding->number = number;
    finding->threshold = threshold;
    (void)lot_field_copy(finding->unit, sizeof finding->unit, unit);
}

void lot_finding_place(lot_finding *finding, const char *phase, const char *schedule)
{
    (void)lot_field_copy(finding->phase, sizeof finding->phase, phase);
    (void)lot_field_copy(finding->schedule, sizeof finding->schedule, schedule);
}

void lot_finding_say(lot_finding *finding, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
}

void lot_case_good(lot_case *c, size_t gpu, lot_evidence evidence)
{
    lot_heard *heard = &c->result->devices[gpu].heard[evidence];

    if (*heard == LOT_HEARD_NOTHING)
        *heard = LOT_HEARD_GOOD;
}

lot_archive_name lot_case_archive(const lot_case *c, size_t archive)
{
    lot_archive_name name = {""};

    if (c->run_count > 1)
        (void)snprintf(name.text, sizeof name.text, "archive %zu ", archive + 1);
    return name;
}

double lot_speed_lost(double d)
{
    return -expm1(-d);
}

/* How many of the earlier GPUs stand before those of the group of `head`, or, with `behind`, up to their end.
 */
static size_t earlier_before(const lot_case *c, const lot_record_head *head, bool behind)
{
    size_t low = 0, high = c->earlier_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = lot_group_compare(c->earlier[middle].head, head);

        if (order < 0 || (behind && order == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t lot_case_earlier(const lot_case *c, const lot_record_head *head, size_t *first)
{
    *first = earlier_before(c, head, false);
    return earlier_before(c, head, true);
}
