#include "io/tariffs_json.h"

#include <inttypes.h>

#include "io/json_text.h"

/* A text as a JSON string, null where there is none. Without memory nothing valid is written, which a reader
 * sees. */
static void write_text(FILE *out, const char *text)
{
    lot_json_text written = {0};

    if (text != NULL)
        lot_json_string(&written, text);
    else
        lot_json_null(&written);
    if (!written.failed)
        (void)fputs(written.data, out);
    lot_json_free(&written);
}

void lot_tariffs_json_fault(FILE *out, int64_t index, int64_t line, const char *text)
{
    (void)fprintf(out, "%s\n    {\"line\": %" PRId64 ", \"text\": ", index == 0 ? "{\n  \"faults\": [" : ",",
                  line);
    write_text(out, text);
    (void)fputc('}', out);
}

static void write_origin(FILE *out, const char *file, const lot_catalogue *catalogue)
{
    (void)fputs("  \"file\": ", out);
    write_text(out, file);
    if (catalogue == NULL)
        return;
    (void)fputs(",\n  \"sha256\": ", out);
    write_text(out, catalogue->sha256);
    (void)fputs(",\n  \"title\": ", out);
    write_text(out, catalogue->title);
    (void)fputs(",\n  \"snapshot_date\": ", out);
    write_text(out, catalogue->snapshot_date);
    (void)fputs(",\n  \"source\": ", out);
    write_text(out, catalogue->source);
    (void)fprintf(
        out, ",\n  \"currency\": \"USD\",\n  \"is_example\": %s,\n  \"models\": %zu,\n  \"rows\": %" PRId64,
        catalogue->is_example ? "true" : "false", catalogue->tariff_count, catalogue->rows);
}

void lot_tariffs_json_verdict(FILE *out, const char *file, int64_t faults, const lot_catalogue *catalogue)
{
    (void)fputs(faults == 0 ? "{\n  \"faults\": [],\n" : "\n  ],\n", out);
    write_origin(out, file, catalogue);
    (void)fputs("\n}\n", out);
}

void lot_tariffs_json_list(FILE *out, const char *file, const lot_catalogue *catalogue)
{
    (void)fputs("{\n", out);
    write_origin(out, file, catalogue);
    (void)fputs(",\n  \"tariffs\": [", out);
    for (size_t i = 0; i < catalogue->tariff_count; i++) {
        const lot_tariff *tariff = &catalogue->tariffs[i];

        (void)fprintf(out, "%s\n    {\"gpu\": ", i == 0 ? "" : ",");
        write_text(out, tariff->gpu);
        (void)fprintf(out, ", \"gpus_per_lot\": %" PRId64 ", \"lot_price_cents\": {", tariff->gpus_per_lot);
        for (size_t period = 0; period < LOT_TARIFF_PERIODS; period++)
            (void)fprintf(out, "%s\"%" PRId64 "\": %" PRId64, period == 0 ? "" : ", ",
                          lot_tariff_days(period), tariff->lot_price_cents[period]);
        (void)fputs("}}", out);
    }
    (void)fputs("\n  ]\n}\n", out);
}
