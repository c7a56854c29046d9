#include "core/count.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

lot_counted lot_count(int64_t number, const char *noun)
{
    const size_t length = strlen(noun);
    const char last = length > 0 ? noun[length - 1] : '\0';
    const char before = length > 1 ? noun[length - 2] : '\0';
    const int y_to_ies = last == 'y' && strchr("aeiou", before) == NULL;
    lot_counted counted;

    if (number == 1)
        (void)snprintf(counted.text, sizeof counted.text, "%" PRId64 " %s", number, noun);
    else if (y_to_ies)
        (void)snprintf(counted.text, sizeof counted.text, "%" PRId64 " %.*sies", number, (int)length - 1,
                       noun);
    else
        (void)snprintf(counted.text, sizeof counted.text, "%" PRId64 " %s%s", number, noun,
                       last == 's' || last == 'x' || last == 'h' ? "es" : "s");
    return counted;
}
