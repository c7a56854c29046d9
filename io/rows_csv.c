#include "io/rows_csv.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/utf8.h"
#include "io/columns.h"
#include "io/json_text.h"
#include "io/table_csv.h"

/* Columns of /devices that stand before a row's own. */
static const char *const of_rank[] = {
    "run_id",
    "host",
    "device_kind",
    "device_name",
    "device_uuid",
    "device_simulated",
    "device_driver_version",
    "device_library_version",
    "synthetic_model_batch",
    "synthetic_model_context",
    "synthetic_model_width",
    "synthetic_model_hidden",
    "synthetic_model_dtype",
    "synthetic_model_gelu",
    "synthetic_model_math",
    "synthetic_model_seed",
    "synthetic_model_flops_per_forward",
};

#define OF_RANK (sizeof of_rank / sizeof of_rank[0])

/* A text of another program's may hold what no line of the grid may: '?' stands for it. */
static void print_text(FILE *out, const char *text)
{
    char clean[256]; /* the longest text field */

    (void)lot_field_copy(clean, sizeof clean, text);
    lot_utf8_clean_controls(clean);
    lot_table_write_field(out, clean);
}

static void print_value(FILE *out, const lot_column *column, const void *record)
{
    const char *at = (const char *)record + column->from;
    char digits[LOT_JSON_NUMBER_SIZE];
    int64_t integer;
    double number;

    if (lot_field_is_null(column->field, at - column->field->offset))
        return;
    switch (column->field->kind) {
    case LOT_KIND_I64:
        memcpy(&integer, at, sizeof integer);
        (void)fprintf(out, "%" PRId64, integer);
        break;
    case LOT_KIND_F64:
        memcpy(&number, at, sizeof number);
        lot_json_print_number(digits, number);
        (void)fputs(digits, out);
        break;
    case LOT_KIND_STR:
        print_text(out, at);
        break;
    case LOT_KIND_BOOL:
        (void)fputs(*at != 0 ? "true" : "false", out);
        break;
    }
}

/* The columns of a row and of its telemetry, without the rank and row that the latter repeats. */
static size_t telemetry_start(const lot_columns *telemetry)
{
    return telemetry->count - lot_telemetry_fields()->count;
}

void lot_rows_csv_header(FILE *out)
{
    lot_columns phases, telemetry;

    lot_columns_phases(&phases);
    lot_columns_phase_telemetry(&telemetry);
    for (size_t i = 0; i < OF_RANK; i++)
        (void)fprintf(out, "%s,", of_rank[i]);
    for (size_t i = 0; i < phases.count; i++)
        (void)fprintf(out, "%s%s", i == 0 ? "" : ",", phases.items[i].name);
    for (size_t i = telemetry_start(&telemetry); i < telemetry.count; i++)
        (void)fprintf(out, ",%s", telemetry.items[i].name);
    (void)fputc('\n', out);
}

void lot_rows_csv_rank(FILE *out, const lot_record_head *head, const lot_phase *rows, size_t count)
{
    const lot_column *rank_columns[OF_RANK];
    lot_columns devices, phases, telemetry;

    lot_columns_devices(&devices);
    lot_columns_phases(&phases);
    lot_columns_phase_telemetry(&telemetry);
    for (size_t i = 0; i < OF_RANK; i++) {
        rank_columns[i] = lot_columns_find(&devices, of_rank[i]);
        assert(rank_columns[i] != NULL);
    }
    for (size_t row = 0; row < count; row++) {
        if (rows[row].passes <= 0)
            continue;
        for (size_t i = 0; i < OF_RANK; i++) {
            print_value(out, rank_columns[i], head);
            (void)fputc(',', out);
        }
        for (size_t i = 0; i < phases.count; i++) {
            if (i > 0)
                (void)fputc(',', out);
            print_value(out, &phases.items[i], &rows[row]);
        }
        for (size_t i = telemetry_start(&telemetry); i < telemetry.count; i++) {
            (void)fputc(',', out);
            print_value(out, &telemetry.items[i], &rows[row]);
        }
        (void)fputc('\n', out);
    }
}
