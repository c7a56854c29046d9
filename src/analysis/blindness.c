/* What a check could not have seen. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/judge.h"
#include "core/checked.h"

/* With no event in n independent trials, 1 - 0.05^(1/n) bounds its chance with 95 % confidence; 3 / n is
 * above it for every n (J. A. Hanley, A. Lippman-Hand, "If nothing goes wrong, is everything all right?",
 * JAMA 249, 1983: the rule of three). */
#define RULE_OF_THREE 3.0

static void bound_corruption(lot_case *c)
{
    for (size_t g = 0; g < c->group_count; g++) {
        lot_checked_group *group = &c->result->groups[g];

        for (size_t i = c->group_first[g]; i < c->group_first[g + 1]; i++) {
            const unsigned verdicts = c->result->devices[i].verdicts;

            lot_checked_count(&group->verified_passes, c->result->devices[i].verified_passes);
            group->corrupt |= (verdicts & LOT_VERDICT_BIT(LOT_VERDICT_CORRUPT)) != 0;
        }
        group->corruption_bound = !group->corrupt && (double)group->verified_passes > RULE_OF_THREE
                                      ? RULE_OF_THREE / (double)group->verified_passes
                                      : NAN;
    }
}

/* Whether the same dtype and math were tried by a group before this one. */
static bool tried_before(const lot_case *c, size_t group)
{
    const lot_model *m = &c->gpus[c->group_first[group]].head->synthetic_model;

    for (size_t g = 0; g < group; g++) {
        const lot_model *other = &c->gpus[c->group_first[g]].head->synthetic_model;

        if (strcmp(m->dtype, other->dtype) == 0 && strcmp(m->math, other->math) == 0)
            return true;
    }
    return false;
}

/* What was tried, each once, in the order of the groups. Once the text is full, nothing new fits. */
static void list_precisions(lot_case *c)
{
    char *text = c->result->precisions;
    const size_t size = sizeof c->result->precisions;
    size_t used = 0;

    for (size_t g = 0; g < c->group_count && used < size; g++) {
        const lot_model *m = &c->gpus[c->group_first[g]].head->synthetic_model;

        if (m->dtype[0] != '\0' && !tried_before(c, g))
            used += (size_t)snprintf(text + used, size - used, "%s%s%s", used > 0 ? ", " : "", m->dtype,
                                     strcmp(m->math, "tf32") == 0 ? " (tf32)" : "");
    }
}

void lot_case_blindness(lot_case *c)
{
    bound_corruption(c);
    list_precisions(c);
}
