#include "core/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *lot_verdict_name(lot_verdict verdict)
{
    static const char *const names[] = {
#define LOT_VERDICT_NAME(code, name, meaning) [code] = name,
        LOT_VERDICT_LIST(LOT_VERDICT_NAME)
#undef LOT_VERDICT_NAME
    };

    return verdict < LOT_VERDICT_COUNT ? names[verdict] : "information";
}

const char *lot_evidence_name(lot_evidence evidence)
{
    static const char *const names[] = {
#define LOT_EVIDENCE_NAME(code, name, meaning) [code] = name,
        LOT_EVIDENCE_LIST(LOT_EVIDENCE_NAME)
#undef LOT_EVIDENCE_NAME
    };

    return evidence < LOT_EVIDENCE_COUNT ? names[evidence] : "none";
}

void lot_verdicts_print(char *text, size_t size, unsigned verdicts)
{
    size_t used = 0;

    (void)snprintf(text, size, "%s", verdicts == 0 ? "ok" : "");
    for (unsigned i = 0; i < LOT_VERDICT_COUNT && used < size; i++)
        if ((verdicts & LOT_VERDICT_BIT(i)) != 0)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "",
                                     lot_verdict_name((lot_verdict)i));
}

void lot_check_result_free(lot_check_result *result)
{
    free(result->archives);
    free(result->devices);
    free(result->groups);
    free(result->comparisons);
    free(result->findings);
    free(result->localised);
    memset(result, 0, sizeof *result);
}
