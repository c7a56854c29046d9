#include "io/tariffs_csv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/count.h"
#include "core/date.h"
#include "core/utf8.h"
#include "io/file_bytes.h"
#include "io/sha256.h"
#include "io/table_csv.h"
#include "io/tariff_models.h"

#define FILE_BYTES_MAX ((size_t)1 << 28)
#define NO_COLUMN      LOT_TABLE_FIELDS_MAX
#define SHOWN_BYTES    60 /* of a user's text in a message */

typedef enum header_state { HEADER_AWAITED, HEADER_USABLE, HEADER_UNUSABLE } header_state;

/* Which comment lines were seen, to refuse a second one. */
typedef struct comment_keys {
    bool title;
    bool date;
    bool currency;
    bool source;
    bool is_example;
} comment_keys;

typedef struct catalogue_reader {
    const char *name; /* of the file, for the error */
    const lot_tariffs_reading *reading;
    const lot_tariffs_columns *columns;
    lot_catalogue catalogue;
    lot_tariff_models models; /* of the catalogue */
    comment_keys seen;
    header_state header;
    size_t column_of[LOT_TARIFFS_COLUMN_COUNT];
    size_t header_count;
    int64_t data_rows;
    int64_t last_line;
    int64_t fault_count;
    bool no_memory;
    lot_error *error; /* filled by the first fault */
} catalogue_reader;

/* ---- faults ---- */

static void hear_fault(catalogue_reader *reader, int64_t line, const char *text)
{
    if (reader->fault_count++ == 0)
        (void)lot_error_set(reader->error, LOT_INPUT, "tariffs", line, "%s:%lld: %s", reader->name,
                            (long long)line, text);
    if (reader->reading->fault != NULL)
        reader->reading->fault(reader->reading->context, line, text);
}

static void fault(catalogue_reader *reader, int64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void fault(catalogue_reader *reader, int64_t line, const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    lot_utf8_clean(text); /* a quoted field may hold a line break, and a cut one half a character */
    hear_fault(reader, line, text);
}

/* ---- rows ---- */

/* A whole number from 1 on, without sign, blanks or leading zeros. Returns what is wrong with it, or NULL. */
static const char *read_count(const char *text, int64_t *value)
{
    const char *digits = text[0] == '-' ? text + 1 : text;
    const char *at = digits;
    bool zero = true;
    bool fits = true;
    int64_t sum = 0;

    if (text[0] == '\0')
        return "is empty";
    for (; *at >= '0' && *at <= '9'; at++) {
        zero = zero && *at == '0';
        fits =
            fits && !__builtin_mul_overflow(sum, 10, &sum) && !__builtin_add_overflow(sum, *at - '0', &sum);
    }
    if (at == digits || *at != '\0')
        return "is not a whole number";
    if (zero)
        return "is zero";
    if (text[0] == '-')
        return "is negative";
    if (text[0] == '0')
        return "begins with a zero";
    if (!fits)
        return "is above 9223372036854775807";
    *value = sum;
    return NULL;
}

/* The number in a column, 0 where it is none and the fault was told. */
static int64_t take_count(catalogue_reader *reader, int64_t line, const char *const *fields,
                          lot_tariffs_column column)
{
    const char *text = fields[reader->column_of[column]];
    int64_t value = 0;
    const char *why = read_count(text, &value);

    if (why != NULL)
        fault(reader, line, "%s '%.*s' %s%s", reader->columns->name[column], SHOWN_BYTES, text, why,
              column == LOT_TARIFFS_COLUMN_PRICE && strcmp(why, "is not a whole number") == 0 ? " of cents"
                                                                                              : "");
    return value;
}

/* The place of a period in a tariff, LOT_TARIFF_PERIODS where there is no such period and the fault was told.
 */
static size_t take_period(catalogue_reader *reader, int64_t line, const char *const *fields)
{
    const int64_t days = take_count(reader, line, fields, LOT_TARIFFS_COLUMN_DAYS);
    const size_t period = lot_tariff_period(days);

    if (period == LOT_TARIFF_PERIODS && days != 0)
        fault(reader, line, "%s '%lld' is not 3, 7 or 30", reader->columns->name[LOT_TARIFFS_COLUMN_DAYS],
              (long long)days);
    return period;
}

static bool take_gpu(catalogue_reader *reader, int64_t line, const char *gpu)
{
    const char *name = reader->columns->name[LOT_TARIFFS_COLUMN_GPU];
    const size_t length = strlen(gpu);

    if (length == 0)
        fault(reader, line, "%s is empty", name);
    else if (length > 95)
        fault(reader, line, "%s '%.*s...' is longer than 95 bytes", name, SHOWN_BYTES, gpu);
    else if (strpbrk(gpu, "\r\n\t") != NULL)
        fault(reader, line, "%s '%.*s' holds a line break or a tab", name, SHOWN_BYTES, gpu);
    else if (gpu[0] == ' ' || gpu[length - 1] == ' ')
        fault(reader, line, "%s '%.*s' begins or ends with a blank", name, SHOWN_BYTES, gpu);
    else
        return true;
    return false;
}

/* Adds what a row says to its model. A row with a bad price still counts as the model's row for its period,
 * so that one mistake is told once. */
static void add_row(catalogue_reader *reader, int64_t line, lot_tariff *tariff, int64_t gpus_per_lot,
                    size_t period, int64_t price_cents)
{
    if (gpus_per_lot != 0 && tariff->gpus_per_lot == 0)
        tariff->gpus_per_lot = gpus_per_lot;
    else if (gpus_per_lot != 0 && tariff->gpus_per_lot != gpus_per_lot)
        fault(reader, line, "%s %lld of '%s' differs from %lld before",
              reader->columns->name[LOT_TARIFFS_COLUMN_GPUS_PER_LOT], (long long)gpus_per_lot, tariff->gpu,
              (long long)tariff->gpus_per_lot);
    if (period == LOT_TARIFF_PERIODS)
        return;
    if (tariff->line[period] != 0) {
        fault(reader, line, "'%s' for %s stands in line %lld already", tariff->gpu,
              lot_count(lot_tariff_days(period), "day").text, (long long)tariff->line[period]);
        return;
    }
    tariff->line[period] = line;
    tariff->lot_price_cents[period] = price_cents;
}

static bool take_row(catalogue_reader *reader, int64_t line, const char *const *fields, size_t count)
{
    const char *gpu;
    lot_tariff *tariff;
    int64_t gpus_per_lot;
    int64_t price_cents;
    size_t period;
    bool named;

    reader->data_rows++;
    if (count != reader->header_count) {
        fault(reader, line, "%zu fields where the header has %zu", count, reader->header_count);
        return true;
    }
    gpu = fields[reader->column_of[LOT_TARIFFS_COLUMN_GPU]];
    named = take_gpu(reader, line, gpu);
    gpus_per_lot = take_count(reader, line, fields, LOT_TARIFFS_COLUMN_GPUS_PER_LOT);
    period = take_period(reader, line, fields);
    price_cents = take_count(reader, line, fields, LOT_TARIFFS_COLUMN_PRICE);
    if (!named)
        return true;
    tariff = lot_tariff_models_take(&reader->models, gpu, line);
    if (tariff == NULL)
        return false;
    add_row(reader, line, tariff, gpus_per_lot, period, price_cents);
    return true;
}

/* ---- the header ---- */

static bool ignored(const lot_tariffs_columns *columns, const char *name)
{
    for (size_t i = 0; i < columns->ignored_count; i++)
        if (strcmp(columns->ignored[i], name) == 0)
            return true;
    return false;
}

static void take_name(catalogue_reader *reader, int64_t line, const char *name, size_t position)
{
    for (size_t i = 0; i < LOT_TARIFFS_COLUMN_COUNT; i++)
        if (strcmp(reader->columns->name[i], name) == 0) {
            if (reader->column_of[i] != NO_COLUMN)
                fault(reader, line, "column '%.*s' stands twice in the header", SHOWN_BYTES, name);
            reader->column_of[i] = position;
            return;
        }
    if (!ignored(reader->columns, name))
        fault(reader, line, "unknown column '%.*s'", SHOWN_BYTES, name);
}

static void take_header(catalogue_reader *reader, int64_t line, const char *const *fields, size_t count)
{
    const bool other_separator = count == 1 && strpbrk(fields[0], ";\t|") != NULL;

    reader->header = HEADER_USABLE;
    reader->header_count = count;
    if (other_separator)
        fault(reader, line, "the header has no comma: '%.*s'; fields are separated by commas", SHOWN_BYTES,
              fields[0]);
    for (size_t i = 0; i < count && !other_separator; i++)
        take_name(reader, line, fields[i], i);
    for (size_t i = 0; i < LOT_TARIFFS_COLUMN_COUNT; i++)
        if (reader->column_of[i] == NO_COLUMN) {
            reader->header = HEADER_UNUSABLE;
            if (!other_separator)
                fault(reader, line, "column '%s' is missing", reader->columns->name[i]);
        }
}

static bool take_record(void *context, int64_t line, const char *const *fields, size_t count)
{
    catalogue_reader *reader = context;

    reader->last_line = line;
    if (reader->header == HEADER_AWAITED)
        take_header(reader, line, fields, count);
    else if (reader->header == HEADER_USABLE)
        return take_row(reader, line, fields, count);
    return true;
}

/* ---- comments ---- */

/* The text after "key:" where the comment begins so, in whatever case; else NULL. */
static const char *value_of(const char *comment, const char *key)
{
    comment += strspn(comment, " \t");
    for (; *key != '\0'; key++, comment++)
        if (*key != *comment && !(*comment >= 'A' && *comment <= 'Z' && *key == *comment - 'A' + 'a'))
            return NULL;
    return *comment == ':' ? comment + 1 + strspn(comment + 1, " \t") : NULL;
}

static bool first_time(catalogue_reader *reader, int64_t line, const char *key, bool *seen)
{
    if (*seen)
        fault(reader, line, "'# %s:' stands twice", key);
    if (*seen)
        return false;
    *seen = true;
    return true;
}

static void keep_text(catalogue_reader *reader, const char *value, char **destination)
{
    size_t length = strlen(value);

    while (length > 0 && strchr(" \t", value[length - 1]) != NULL)
        length--;
    *destination = strndup(value, length);
    reader->no_memory |= *destination == NULL;
}

static void take_date(catalogue_reader *reader, int64_t line, const char *value)
{
    lot_catalogue *catalogue = &reader->catalogue;

    keep_text(reader, value, &catalogue->snapshot_date);
    if (catalogue->snapshot_date != NULL && !lot_date_valid(catalogue->snapshot_date))
        fault(reader, line, "'# date:' is not a date as YYYY-MM-DD: '%.*s'", SHOWN_BYTES, value);
}

static void take_is_example(catalogue_reader *reader, int64_t line, const char *value)
{
    if (strcmp(value, "yes") == 0 || strcmp(value, "true") == 0)
        reader->catalogue.is_example = true;
    else if (strcmp(value, "no") != 0 && strcmp(value, "false") != 0)
        fault(reader, line, "'# is_example:' is neither yes nor no: '%.*s'", SHOWN_BYTES, value);
}

static void take_comment(void *context, int64_t line, const char *text)
{
    catalogue_reader *reader = context;
    const char *value;

    if ((value = value_of(text, "title")) != NULL) {
        if (first_time(reader, line, "title", &reader->seen.title))
            keep_text(reader, value, &reader->catalogue.title);
    } else if ((value = value_of(text, "date")) != NULL) {
        if (first_time(reader, line, "date", &reader->seen.date))
            take_date(reader, line, value);
    } else if ((value = value_of(text, "currency")) != NULL) {
        if (first_time(reader, line, "currency", &reader->seen.currency) && strcmp(value, "USD") != 0)
            fault(reader, line, "'# currency:' is not USD: '%.*s'", SHOWN_BYTES, value);
    } else if ((value = value_of(text, "source")) != NULL) {
        if (first_time(reader, line, "source", &reader->seen.source))
            keep_text(reader, value, &reader->catalogue.source);
    } else if ((value = value_of(text, "is_example")) != NULL) {
        if (first_time(reader, line, "is_example", &reader->seen.is_example))
            take_is_example(reader, line, value);
    }
}

/* ---- the whole ---- */

static void hear_csv_fault(void *context, int64_t line, bool in_comment, const char *text)
{
    catalogue_reader *reader = context;

    /* The first record is the header; where it cannot be read, no row can, and what is no catalogue at all
     * has one fault and not one a line. */
    if (reader->header == HEADER_UNUSABLE)
        return;
    if (!in_comment && reader->header == HEADER_AWAITED)
        reader->header = HEADER_UNUSABLE;
    else if (!in_comment)
        reader->data_rows++;
    reader->last_line = line;
    hear_fault(reader, line, text);
}

/* Faults that show only when all rows are known. */
static void check_whole(catalogue_reader *reader)
{
    const lot_catalogue *catalogue = &reader->catalogue;

    if (reader->header == HEADER_AWAITED)
        fault(reader, 1, "the catalogue is empty: there is no header");
    else if (reader->header == HEADER_USABLE && reader->data_rows == 0)
        fault(reader, reader->last_line, "the catalogue is empty: no row after the header");
    for (size_t i = 0; i < catalogue->tariff_count; i++)
        for (size_t period = 0; period < LOT_TARIFF_PERIODS; period++)
            if (catalogue->tariffs[i].line[period] == 0)
                fault(reader, catalogue->tariffs[i].first_line, "'%s' has no price for %s",
                      catalogue->tariffs[i].gpu, lot_count(lot_tariff_days(period), "day").text);
}

static lot_status verdict(catalogue_reader *reader)
{
    lot_error *error = reader->error;
    const size_t used = strlen(error->text);

    if (reader->no_memory)
        return lot_error_set(error, LOT_MEMORY, "malloc", 0, "%s: no memory for the catalogue", reader->name);
    if (reader->fault_count == 0)
        return LOT_OK;
    if (reader->fault_count > 1)
        (void)snprintf(error->text + used, sizeof error->text - used, " (and %lld more)",
                       (long long)(reader->fault_count - 1));
    return LOT_INPUT;
}

lot_status lot_tariffs_parse(const char *name, const char *bytes, size_t size,
                             const lot_tariffs_reading *reading, lot_catalogue *catalogue, lot_error *error)
{
    catalogue_reader reader = {.name = name, .reading = reading, .columns = reading->columns, .error = error};
    const lot_table_listener records = {
        .record = take_record, .comment = take_comment, .fault = hear_csv_fault, .context = &reader};
    lot_status status;

    reader.models.catalogue = &reader.catalogue;
    for (size_t i = 0; i < LOT_TARIFFS_COLUMN_COUNT; i++)
        reader.column_of[i] = NO_COLUMN;
    status = lot_sha256_bytes(bytes, size, reader.catalogue.sha256, error);
    if (status == LOT_OK)
        status = lot_table_read(bytes, size, &records, error);
    if (status == LOT_OK) {
        check_whole(&reader);
        status = verdict(&reader);
    }
    reader.catalogue.rows = reader.data_rows;
    if (status == LOT_OK)
        *catalogue = reader.catalogue;
    else
        lot_catalogue_free(&reader.catalogue);
    lot_tariff_models_free(&reader.models);
    return status;
}

lot_status lot_tariffs_read(const char *path, const lot_tariffs_reading *reading, lot_catalogue *catalogue,
                            lot_error *error)
{
    char *bytes = NULL;
    size_t size = 0;
    lot_status status = lot_file_read(path, FILE_BYTES_MAX, &bytes, &size, error);

    if (status == LOT_OK)
        status = lot_tariffs_parse(path, bytes, size, reading, catalogue, error);
    free(bytes);
    return status;
}

void lot_catalogue_free(lot_catalogue *catalogue)
{
    for (size_t i = 0; i < catalogue->tariff_count; i++)
        free(catalogue->tariffs[i].gpu);
    free(catalogue->tariffs);
    free(catalogue->title);
    free(catalogue->snapshot_date);
    free(catalogue->source);
    memset(catalogue, 0, sizeof *catalogue);
}
