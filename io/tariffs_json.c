#include "io/tariffs_json.h"

#include <inttypes.h>

static const char subject[] = "the catalogue";

static void add_text(lot_json_text *text, const char *name, const char *value)
{
    lot_json_member_text(text, name, value != NULL ? value : "");
}

void lot_tariffs_json_begin(lot_json_text *text)
{
    lot_json_open(text, '{');
    lot_json_key(text, "faults");
    lot_json_open(text, '[');
}

lot_status lot_tariffs_json_fault(lot_json_text *text, int64_t line, const char *fault, lot_error *error)
{
    lot_json_open(text, '{');
    lot_json_member_integer(text, "line", line);
    add_text(text, "text", fault);
    lot_json_close(text, '}');
    return lot_json_hand_on(text, stdout, subject, error);
}

static void add_origin(lot_json_text *text, const char *file, const lot_catalogue *catalogue)
{
    add_text(text, "file", file);
    if (catalogue == NULL)
        return;
    add_text(text, "sha256", catalogue->sha256);
    add_text(text, "title", catalogue->title);
    add_text(text, "snapshot_date", catalogue->snapshot_date);
    add_text(text, "source", catalogue->source);
    add_text(text, "currency", "USD");
    lot_json_member_bool(text, "is_example", catalogue->is_example);
    lot_json_member_integer(text, "models", (int64_t)catalogue->tariff_count);
    lot_json_member_integer(text, "rows", catalogue->rows);
}

lot_status lot_tariffs_json_end(lot_json_text *text, const char *file, const lot_catalogue *catalogue,
                                lot_error *error)
{
    lot_json_close(text, ']');
    add_origin(text, file, catalogue);
    lot_json_close(text, '}');
    return lot_json_print(text, subject, error);
}

static void add_tariff(lot_json_text *text, const lot_tariff *tariff)
{
    lot_json_open(text, '{');
    add_text(text, "gpu", tariff->gpu);
    lot_json_member_integer(text, "gpus_per_lot", tariff->gpus_per_lot);
    lot_json_key(text, "lot_price_cents");
    lot_json_open(text, '{');
    for (size_t period = 0; period < LOT_TARIFF_PERIODS; period++) {
        char days[24];

        (void)snprintf(days, sizeof days, "%" PRId64, lot_tariff_days(period));
        lot_json_member_integer(text, days, tariff->lot_price_cents[period]);
    }
    lot_json_close(text, '}');
    lot_json_close(text, '}');
}

lot_status lot_tariffs_json_list(const char *file, const lot_catalogue *catalogue, lot_error *error)
{
    lot_json_text text = {0};

    lot_json_open(&text, '{');
    add_origin(&text, file, catalogue);
    lot_json_key(&text, "tariffs");
    lot_json_open(&text, '[');
    for (size_t i = 0; i < catalogue->tariff_count; i++)
        add_tariff(&text, &catalogue->tariffs[i]);
    lot_json_close(&text, ']');
    lot_json_close(&text, '}');
    return lot_json_print(&text, subject, error);
}
