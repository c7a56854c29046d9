#include "io/json_take.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

cJSON *lot_json_take_whole(const char *bytes, size_t size)
{
    const char *rest = NULL;
    cJSON *root = cJSON_ParseWithLengthOpts(bytes, size, &rest, 0);

    while (root != NULL && rest < bytes + size && blank(*rest))
        rest++;
    if (root != NULL && rest == bytes + size)
        return root;
    cJSON_Delete(root);
    return NULL;
}

bool lot_json_take_integer(const cJSON *object, const char *name, int64_t *value)
{
    const double exact_most = 9007199254740992.0; /* 2^53 */
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
    const char *digits;
    long long parsed;

    if (cJSON_IsNumber(member)) {
        const double number = member->valuedouble;

        if (!(number >= 0 && number <= exact_most) || (double)(int64_t)number != number)
            return false;
        *value = (int64_t)number;
        return true;
    }
    if (!cJSON_IsString(member))
        return false;
    digits = member->valuestring;
    errno = 0;
    parsed = strtoll(digits, NULL, 10);
    if (digits[0] == '\0' || digits[strspn(digits, "0123456789")] != '\0' || errno != 0)
        return false;
    *value = parsed;
    return true;
}
