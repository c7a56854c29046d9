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

void lot_notes_add(lot_notes *notes, const char *format, ...)
{
    va_list arguments;

    if (notes->count == LOT_NOTES_MAX)
        return;
    va_start(arguments, format);
    (void)vsnprintf(notes->text[notes->count++], LOT_NOTE_SIZE, format, arguments);
    va_end(arguments);
}

/* ---- writing ---- */

static void add_known(lot_json_text *text, const char *name, int64_t value, bool known)
{
    lot_json_member_integer(text, name, known ? value : LOT_NULL_I64);
}

static void add_text(lot_json_text *text, const char *name, const char *value)
{
    lot_json_member_text(text, name, value != NULL ? value : "");
}

static void add_price(lot_json_text *text, const lot_price *price)
{
    const bool has_unit = price->accepted_results != 0;
    char exact[48];

    (void)snprintf(exact, sizeof exact, "%" PRId64 "/%" PRId64, price->unit_numerator,
                   price->unit_denominator);
    lot_json_member_integer(text, "gpus_per_lot", price->gpus_per_lot);
    add_known(text, "ranks", price->ranks, price->ranks != 0);
    lot_json_member_integer(text, "lots", price->lots);
    lot_json_member_integer(text, "gpus", price->gpus);
    add_known(text, "idle_gpus", price->idle_gpus, price->idle_gpus >= 0);
    lot_json_member_integer(text, "lot_price_cents", price->lot_price_cents);
    lot_json_member_integer(text, "total_price_cents", price->total_price_cents);
    add_known(text, "accepted_results", price->accepted_results, has_unit);
    add_text(text, "unit_cost_cents", price->unit_cents);
    add_text(text, "unit_cost_exact", has_unit ? exact : NULL);
}

static void add_tariff(lot_json_text *text, const lot_price_report *report)
{
    const lot_catalogue *catalogue = report->catalogue;

    lot_json_key(text, "tariff");
    lot_json_open(text, '{');
    add_text(text, "file", report->file);
    lot_json_member_integer(text, "line", report->tariff->line[report->period]);
    add_text(text, "sha256", catalogue->sha256);
    add_text(text, "title", catalogue->title);
    add_text(text, "snapshot_date", catalogue->snapshot_date);
    add_text(text, "source", catalogue->source);
    lot_json_member_bool(text, "is_example", catalogue->is_example);
    lot_json_close(text, '}');
}

static void add_protocol(lot_json_text *text, const lot_price_report *report)
{
    const lot_protocol *protocol = report->protocol;

    lot_json_key(text, "quality_protocol");
    if (protocol == NULL) {
        lot_json_null(text);
        return;
    }
    lot_json_open(text, '{');
    add_text(text, "file", report->protocol_file);
    add_text(text, "sha256", protocol->sha256);
    lot_json_key(text, "fixed_before_run");
    if (report->protocol_before_run)
        lot_json_bool(text, true);
    else
        lot_json_null(text);
#define ADD(name) add_text(text, #name, protocol->name);
    LOT_PROTOCOL_LIST(ADD)
#undef ADD
    lot_json_close(text, '}');
}

static void add_notes(lot_json_text *text, const lot_notes *notes)
{
    lot_json_key(text, "notes");
    lot_json_open(text, '[');
    for (size_t i = 0; i < notes->count; i++)
        lot_json_string(text, notes->text[i]);
    lot_json_close(text, ']');
}

/* The row that was matched. */
static void add_row(lot_json_text *text, const lot_price_report *report)
{
    add_text(text, "gpu", report->tariff->gpu);
    lot_json_member_integer(text, "days", lot_tariff_days(report->period));
    add_text(text, "currency", "USD");
}

lot_status lot_price_json_write(const lot_price_report *report, char **json, lot_error *error)
{
    lot_json_text text = {0};

    lot_json_open(&text, '{');
    add_row(&text, report);
    add_price(&text, report->price);
    add_tariff(&text, report);
    add_protocol(&text, report);
    add_notes(&text, report->notes);
    lot_json_close(&text, '}');
    return lot_json_finish(&text, "the price", json, error);
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
    lot_json_text text = {0};

    /* A path can hold a user's name; the SHA-256 tells which file it was. */
    named.file = slash != NULL ? slash + 1 : report->file;
    lot_json_open(&text, '{');
    add_text(&text, "schema", LOT_LAUNCH_PRICE_SCHEMA);
    lot_json_member_integer(&text, "schema_version", LOT_LAUNCH_PRICE_SCHEMA_VERSION);
    add_row(&text, report);
#define ADD(name) lot_json_member_integer(&text, #name, report->price->name);
    LAUNCH_INTEGERS(ADD)
#undef ADD
    add_tariff(&text, &named);
    lot_json_close(&text, '}');
    return lot_json_finish(&text, "the price", json, error);
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
