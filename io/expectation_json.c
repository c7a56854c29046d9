#include "io/expectation_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/field.h"
#include "core/options.h"
#include "io/file_bytes.h"
#include "io/json_take.h"

#define FILE_MAX ((size_t)1 << 20)

/* What a rate may tell; anything else is refused, so that a misspelt restriction is not ignored. */
static const char *const members[] = {
    "model",    "dtype", "math", "batch", "width", "hidden", "source", "context", "flops_per_second",
    "tolerance"};

static lot_status refuse(lot_error *error, const char *name, int index, const char *member, const char *what)
{
    return lot_error_set(error, LOT_INPUT, "--expect", 0, "%.120s: rate %d: '%.40s' %s", name, index + 1,
                         member, what);
}

static bool take_text(const cJSON *rate, const char *member, char *text, size_t size)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(rate, member);

    return cJSON_IsString(item) && item->valuestring[0] != '\0' &&
           lot_field_copy(text, size, item->valuestring);
}

/* One of `choices`, with '|' between them: a misspelt one would be held against no GPU. */
static bool take_choice(const cJSON *rate, const char *member, const char *choices, char *text, size_t size)
{
    int ignored;

    return take_text(rate, member, text, size) && lot_parse_choice(text, choices, &ignored);
}

static bool take_number(const cJSON *rate, const char *member, double *value)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(rate, member);

    if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble))
        return false;
    *value = item->valuedouble;
    return true;
}

/* A member that may be missing: any value then. */
static bool take_size(const cJSON *rate, const char *member, int64_t *value)
{
    *value = LOT_NULL_I64;
    return !cJSON_HasObjectItem(rate, member) || (lot_json_take_integer(rate, member, value) && *value >= 1);
}

static const char *unknown_member(const cJSON *rate)
{
    for (const cJSON *item = rate->child; item != NULL; item = item->next) {
        bool known = false;

        for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
            known = known || strcmp(item->string, members[i]) == 0;
        if (!known)
            return item->string;
    }
    return NULL;
}

static lot_status take_rate(const char *name, int index, const cJSON *rate, lot_expectation *e,
                            lot_error *error)
{
    const char *unknown;

    if (!cJSON_IsObject(rate))
        return lot_error_set(error, LOT_INPUT, "--expect", 0, "%.120s: rate %d is not an object", name,
                             index + 1);
    unknown = unknown_member(rate);
    if (unknown != NULL)
        return refuse(error, name, index, unknown, "is not known");
    if (!take_text(rate, "model", e->model, sizeof e->model))
        return refuse(error, name, index, "model", "must be the exact name of a GPU model");
    if (!take_choice(rate, "dtype", "float32|float16|bfloat16", e->dtype, sizeof e->dtype))
        return refuse(error, name, index, "dtype", "must be float32, float16 or bfloat16");
    if (!take_choice(rate, "math", "ieee|tf32", e->math, sizeof e->math))
        return refuse(error, name, index, "math", "must be ieee or tf32");
    if (!take_text(rate, "source", e->source, sizeof e->source))
        return refuse(error, name, index, "source", "must say who measured the rate, in at most 159 bytes");
    if (!take_number(rate, "flops_per_second", &e->flops_per_second) || e->flops_per_second <= 0)
        return refuse(error, name, index, "flops_per_second", "must be a positive number");
    if (!take_number(rate, "tolerance", &e->tolerance) || e->tolerance < 0 || e->tolerance >= 1)
        return refuse(error, name, index, "tolerance", "must be a share from 0 to below 1");
    if (!take_size(rate, "batch", &e->batch) || !take_size(rate, "context", &e->context) ||
        !take_size(rate, "width", &e->width) || !take_size(rate, "hidden", &e->hidden))
        return refuse(error, name, index, "batch, context, width or hidden", "is not a whole number from 1");
    return LOT_OK;
}

static lot_status check_schema(const char *name, const cJSON *root, lot_error *error)
{
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(root, "schema");
    const cJSON *rates = cJSON_GetObjectItemCaseSensitive(root, "rates");
    int64_t version = 0;

    if (!cJSON_IsString(schema) || strcmp(schema->valuestring, LOT_EXPECTATION_SCHEMA) != 0 ||
        !lot_json_take_integer(root, "schema_version", &version) || version != LOT_EXPECTATION_SCHEMA_VERSION)
        return lot_error_set(error, LOT_SCHEMA, "--expect", 0, "%.120s: schema is not %s version %d", name,
                             LOT_EXPECTATION_SCHEMA, LOT_EXPECTATION_SCHEMA_VERSION);
    if (!cJSON_IsArray(rates) || cJSON_GetArraySize(rates) < 1)
        return lot_error_set(error, LOT_INPUT, "--expect", 0,
                             "%.120s: 'rates' must be an array of at least one", name);
    return LOT_OK;
}

static lot_status take_rates(const char *name, const cJSON *root, lot_expectations *made, lot_error *error)
{
    const cJSON *rates = cJSON_GetObjectItemCaseSensitive(root, "rates");
    lot_status status = check_schema(name, root, error);
    const cJSON *rate;

    if (status != LOT_OK)
        return status;
    made->items = calloc((size_t)cJSON_GetArraySize(rates), sizeof *made->items);
    if (made->items == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for the expected rates");
    cJSON_ArrayForEach(rate, rates)
    {
        status = take_rate(name, (int)made->count, rate, &made->items[made->count], error);
        if (status != LOT_OK)
            return status;
        made->count++;
    }
    return LOT_OK;
}

lot_status lot_expectations_parse(const char *name, const char *bytes, size_t size,
                                  lot_expectations *expectations, lot_error *error)
{
    lot_expectations made = {NULL, 0};
    cJSON *root = lot_json_take_whole(bytes, size);
    lot_status status;

    if (root == NULL)
        return lot_error_set(error, LOT_INPUT, "--expect", 0,
                             "%.120s is not JSON, or a name in it stands twice", name);
    status = take_rates(name, root, &made, error);
    cJSON_Delete(root);
    if (status == LOT_OK)
        *expectations = made;
    else
        lot_expectations_free(&made);
    return status;
}

lot_status lot_expectations_read(const char *path, lot_expectations *expectations, lot_error *error)
{
    char *bytes = NULL;
    size_t size = 0;
    lot_status status = lot_file_read(path, FILE_MAX, &bytes, &size, error);

    if (status == LOT_OK)
        status = lot_expectations_parse(path, bytes, size, expectations, error);
    free(bytes);
    return status;
}

void lot_expectations_free(lot_expectations *expectations)
{
    free(expectations->items);
    *expectations = (lot_expectations){NULL, 0};
}
