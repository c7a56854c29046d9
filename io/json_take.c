#include "io/json_take.h"

#include <stdlib.h>
#include <string.h>

#include "core/options.h"
#include "io/json_read.h"

/* JSON as RFC 8259 has it. cJSON takes more: a text is cut at its U+0000, a byte order mark is passed over.
 */
static bool is_json(const char *bytes, size_t size)
{
    lot_json_reader in;
    bool whole = lot_json_read_begin(&in, bytes, size) && lot_json_read_skip(&in);

    whole = lot_json_read_end(&in) && whole;
    lot_json_read_free(&in);
    return whole;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Two readers would take two different ones of members with one name. */
static bool names_differ(const cJSON *object)
{
    const size_t count = (size_t)cJSON_GetArraySize(object);
    const char **names = malloc((count + 1) * sizeof *names);
    const cJSON *member;
    size_t taken = 0;
    bool differ = names != NULL;

    if (names == NULL)
        return false;
    cJSON_ArrayForEach(member, object) names[taken++] = member->string;
    qsort(names, taken, sizeof *names, by_name);
    for (size_t i = 1; i < taken && differ; i++)
        differ = strcmp(names[i - 1], names[i]) != 0;
    free(names);
    return differ;
}

/* As deep as is_json lets it be. */
static bool all_names_differ(const cJSON *value)
{
    const cJSON *item;
    bool differ = !cJSON_IsObject(value) || names_differ(value);

    for (item = value->child; item != NULL && differ; item = item->next)
        differ = all_names_differ(item);
    return differ;
}

cJSON *lot_json_take_whole(const char *bytes, size_t size)
{
    cJSON *root = is_json(bytes, size) ? cJSON_ParseWithLength(bytes, size) : NULL;

    if (root != NULL && all_names_differ(root))
        return root;
    cJSON_Delete(root);
    return NULL;
}

bool lot_json_take_integer(const cJSON *object, const char *name, int64_t *value)
{
    const double exact_most = 9007199254740992.0; /* 2^53 */
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);

    if (cJSON_IsNumber(member)) {
        const double number = member->valuedouble;

        if (!(number >= 0 && number <= exact_most) || (double)(int64_t)number != number)
            return false;
        *value = (int64_t)number;
        return true;
    }
    return cJSON_IsString(member) && member->valuestring[0] != '-' &&
           lot_parse_integer(member->valuestring, value);
}
