#include "io/price_json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "core/checked.h"
#include "core/field.h"
#include "io/json_take.h"
#include "io/json_text.h"

/* Doubles, which is what cJSON keeps, hold every integer up to here. */
#define EXACT_MAX ((int64_t)1 << 53)

void lot_notes_add(lot_notes *notes, const char *format, ...)
{
    va_list arguments;

    if (notes->count == LOT_NOTES_MAX)
        return;
    va_start(arguments, format);
    (void)vsnprintf(notes->text[notes->count++], LOT_NOTE_SIZE, format, arguments);
    va_end(arguments);
}

/* ---- writing; a failed allocation makes `*whole` false and is told once, at the end ---- */

static void add(cJSON *object, const char *name, cJSON *item, bool *whole)
{
    if (item == NULL || !cJSON_AddItemToObject(object, name, item)) {
        cJSON_Delete(item);
        *whole = false;
    }
}

/* All digits: cJSON's own numbers are doubles. */
static void add_integer(cJSON *object, const char *name, int64_t value, bool *whole)
{
    char digits[24];

    (void)snprintf(digits, sizeof digits, "%" PRId64, value);
    add(object, name, cJSON_CreateRaw(digits), whole);
}

/* By our own printer: a path need not be UTF-8, and cJSON would pass it on. */
static cJSON *string(const char *text)
{
    lot_json_text written = {0};
    cJSON *item = NULL;

    lot_json_string(&written, text);
    if (!written.failed)
        item = cJSON_CreateRaw(written.data);
    lot_json_free(&written);
    return item;
}

/* A text, null where there is none. */
static void add_text(cJSON *object, const char *name, const char *text, bool *whole)
{
    add(object, name, text == NULL || text[0] == '\0' ? cJSON_CreateNull() : string(text), whole);
}

/* As records write integers: readers of doubles must not lose digits without noticing. */
static void add_record_integer(cJSON *object, const char *name, int64_t value, bool *whole)
{
    char digits[24];

    if (value <= EXACT_MAX) {
        add_integer(object, name, value, whole);
        return;
    }
    (void)snprintf(digits, sizeof digits, "%" PRId64, value);
    add_text(object, name, digits, whole);
}

static void add_known(cJSON *object, const char *name, int64_t value, bool known, bool *whole)
{
    if (known)
        add_integer(object, name, value, whole);
    else
        add(object, name, cJSON_CreateNull(), whole);
}

static void add_price(cJSON *root, const lot_price *price, bool *whole)
{
    const bool has_unit = price->accepted_results != 0;
    char exact[48];

    (void)snprintf(exact, sizeof exact, "%" PRId64 "/%" PRId64, price->unit_numerator,
                   price->unit_denominator);
    add_integer(root, "gpus_per_lot", price->gpus_per_lot, whole);
    add_known(root, "ranks", price->ranks, price->ranks != 0, whole);
    add_integer(root, "lots", price->lots, whole);
    add_integer(root, "gpus", price->gpus, whole);
    add_known(root, "idle_gpus", price->idle_gpus, price->idle_gpus >= 0, whole);
    add_integer(root, "lot_price_cents", price->lot_price_cents, whole);
    add_integer(root, "total_price_cents", price->total_price_cents, whole);
    add_known(root, "accepted_results", price->accepted_results, has_unit, whole);
    add_text(root, "unit_cost_cents", price->unit_cents, whole);
    add_text(root, "unit_cost_exact", has_unit ? exact : NULL, whole);
}

static void add_tariff(cJSON *root, const lot_price_report *report, bool *whole)
{
    const lot_catalogue *catalogue = report->catalogue;
    cJSON *tariff = cJSON_CreateObject();

    add(root, "tariff", tariff, whole);
    add_text(tariff, "file", report->file, whole);
    add_integer(tariff, "line", report->tariff->line[report->period], whole);
    add_text(tariff, "sha256", catalogue->sha256, whole);
    add_text(tariff, "title", catalogue->title, whole);
    add_text(tariff, "snapshot_date", catalogue->snapshot_date, whole);
    add_text(tariff, "source", catalogue->source, whole);
    add(tariff, "is_example", cJSON_CreateBool(catalogue->is_example), whole);
}

static void add_protocol(cJSON *root, const lot_price_report *report, bool *whole)
{
    const lot_protocol *protocol = report->protocol;
    cJSON *object;

    if (protocol == NULL) {
        add(root, "quality_protocol", cJSON_CreateNull(), whole);
        return;
    }
    object = cJSON_CreateObject();
    add(root, "quality_protocol", object, whole);
    add_text(object, "file", report->protocol_file, whole);
    add_text(object, "sha256", protocol->sha256, whole);
    add(object, "fixed_before_run", report->protocol_before_run ? cJSON_CreateTrue() : cJSON_CreateNull(),
        whole);
#define ADD(name) add_text(object, #name, protocol->name, whole);
    LOT_PROTOCOL_LIST(ADD)
#undef ADD
}

static void add_notes(cJSON *root, const lot_notes *notes, bool *whole)
{
    cJSON *list = cJSON_CreateArray();

    add(root, "notes", list, whole);
    for (size_t i = 0; i < notes->count; i++) {
        cJSON *note = string(notes->text[i]);

        if (note == NULL || !cJSON_AddItemToArray(list, note)) {
            cJSON_Delete(note);
            *whole = false;
        }
    }
}

static lot_status no_memory(lot_error *error)
{
    return lot_error_set(error, LOT_MEMORY, "cJSON", 0, "no memory for the price as JSON");
}

lot_status lot_price_json_write(const lot_price_report *report, char **json, lot_error *error)
{
    cJSON *root = cJSON_CreateObject();
    char *text = NULL;
    bool whole = root != NULL;

    add_text(root, "gpu", report->tariff->gpu, &whole);
    add_integer(root, "days", lot_tariff_days(report->period), &whole);
    add_text(root, "currency", "USD", &whole);
    add_price(root, report->price, &whole);
    add_tariff(root, report, &whole);
    add_protocol(root, report, &whole);
    add_notes(root, report->notes, &whole);
    if (whole)
        text = cJSON_Print(root);
    cJSON_Delete(root);
    if (text == NULL)
        return no_memory(error);
    *json = text;
    return LOT_OK;
}

/* ---- the price at launch ---- */

/* X(member of lot_price, which is its name in JSON too) */
#define LAUNCH_INTEGERS(X)                                                                                   \
    X(gpus_per_lot)                                                                                          \
    X(ranks)                                                                                                 \
    X(lots)                                                                                                  \
    X(gpus)                                                                                                  \
    X(idle_gpus)                                                                                             \
    X(lot_price_cents)                                                                                       \
    X(total_price_cents)

lot_status lot_launch_price_write(const lot_price_report *report, char **json, lot_error *error)
{
    const char *slash = strrchr(report->file, '/');
    lot_price_report named = *report;
    cJSON *root = cJSON_CreateObject();
    char *text = NULL;
    bool whole = root != NULL;

    /* A path can hold a user's name; the SHA-256 tells which file it was. */
    named.file = slash != NULL ? slash + 1 : report->file;
    add_text(root, "schema", LOT_LAUNCH_PRICE_SCHEMA, &whole);
    add_integer(root, "schema_version", LOT_LAUNCH_PRICE_SCHEMA_VERSION, &whole);
    add_text(root, "gpu", report->tariff->gpu, &whole);
    add_integer(root, "days", lot_tariff_days(report->period), &whole);
    add_text(root, "currency", "USD", &whole);
#define ADD(name) add_record_integer(root, #name, report->price->name, &whole);
    LAUNCH_INTEGERS(ADD)
#undef ADD
    add_tariff(root, &named, &whole);
    if (whole)
        text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    if (text == NULL)
        return no_memory(error);
    *json = text;
    return LOT_OK;
}

static lot_status damaged(lot_error *error, const char *what)
{
    return lot_error_set(error, LOT_DAMAGED, "tariff", 0, "the price kept in the archive: %s", what);
}

/* A text that must be there, or, where it is optional, may be null. */
static bool take_text(const cJSON *object, const char *name, bool optional, char *text, size_t size)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);

    text[0] = '\0';
    if (cJSON_IsString(member))
        (void)lot_field_copy(text, size, member->valuestring);
    return text[0] != '\0' || (optional && (cJSON_IsNull(member) || cJSON_IsString(member)));
}

/* The numbers that follow from the others do so. */
static bool consistent(const lot_launch_terms *terms)
{
    const lot_price *price = &terms->price;
    int64_t gpus;
    int64_t total;

    return lot_tariff_period(terms->days) < LOT_TARIFF_PERIODS && price->gpus_per_lot >= 1 &&
           price->ranks >= 1 && price->lots >= 1 && price->lot_price_cents >= 1 &&
           lot_checked_mul(price->lots, price->gpus_per_lot, &gpus) && gpus == price->gpus &&
           gpus - price->ranks == price->idle_gpus &&
           lot_checked_mul(price->lots, price->lot_price_cents, &total) && total == price->total_price_cents;
}

static lot_status take_terms(const cJSON *root, lot_launch_terms *terms, lot_error *error)
{
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(root, "schema");
    const cJSON *tariff = cJSON_GetObjectItemCaseSensitive(root, "tariff");
    const cJSON *example = cJSON_GetObjectItemCaseSensitive(tariff, "is_example");
    int64_t version = 0;

    if (!cJSON_IsString(schema) || strcmp(schema->valuestring, LOT_LAUNCH_PRICE_SCHEMA) != 0 ||
        !lot_json_take_integer(root, "schema_version", &version) ||
        version != LOT_LAUNCH_PRICE_SCHEMA_VERSION)
        return lot_error_set(error, LOT_SCHEMA, "tariff", 0,
                             "the price kept in the archive is not %s version %d", LOT_LAUNCH_PRICE_SCHEMA,
                             LOT_LAUNCH_PRICE_SCHEMA_VERSION);
#define TAKE(name)                                                                                           \
    if (!lot_json_take_integer(root, #name, &terms->price.name))                                             \
        return damaged(error, #name " is missing or not a whole number");
    LAUNCH_INTEGERS(TAKE)
#undef TAKE
    if (!take_text(root, "gpu", false, terms->gpu, sizeof terms->gpu) ||
        !lot_json_take_integer(root, "days", &terms->days))
        return damaged(error, "gpu or days is missing");
    if (!take_text(tariff, "sha256", false, terms->sha256, sizeof terms->sha256) ||
        !take_text(tariff, "file", false, terms->file, sizeof terms->file) ||
        !take_text(tariff, "title", true, terms->title, sizeof terms->title) ||
        !take_text(tariff, "snapshot_date", true, terms->snapshot_date, sizeof terms->snapshot_date) ||
        !take_text(tariff, "source", true, terms->source, sizeof terms->source) ||
        !lot_json_take_integer(tariff, "line", &terms->line) || !cJSON_IsBool(example))
        return damaged(error, "the tariff's origin is missing");
    terms->is_example = cJSON_IsTrue(example);
    return consistent(terms) ? LOT_OK : damaged(error, "its numbers do not belong together");
}

lot_status lot_launch_price_read(const char *json, lot_launch_terms *terms, lot_error *error)
{
    cJSON *root = lot_json_take_whole(json, strlen(json));
    lot_launch_terms taken;
    lot_status status;

    memset(&taken, 0, sizeof taken);
    taken.price.unit_denominator = 1;
    if (cJSON_IsObject(root))
        status = take_terms(root, &taken, error);
    else
        status = damaged(error, "not one JSON object, or a name in it stands twice");
    cJSON_Delete(root);
    if (status == LOT_OK)
        *terms = taken;
    return status;
}
