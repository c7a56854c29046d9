#include "io/tariffs_columns.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "io/table_csv.h"

static const char *const usual_names[LOT_TARIFFS_COLUMN_COUNT] = {
#define LOT_TARIFFS_COLUMN_NAME(code, name) [code] = name,
    LOT_TARIFFS_COLUMN_LIST(LOT_TARIFFS_COLUMN_NAME)
#undef LOT_TARIFFS_COLUMN_NAME
};

typedef struct map_reader {
    lot_tariffs_columns *columns;
    bool given[LOT_TARIFFS_COLUMN_COUNT];
    lot_error *error;
    lot_status status;
} map_reader;

static lot_status refuse_map(map_reader *map, const char *what, const char *item)
{
    return lot_error_set(map->error, LOT_USAGE, "--columns", 0,
                         "--columns: %s: '%.80s'; it is written gpu=NAME,gpus_per_lot=NAME,days=NAME,"
                         "price_cents_usd=NAME,ignore=NAME",
                         what, item);
}

static lot_status take_item(map_reader *map, const char *item)
{
    const char *equals = strchr(item, '=');
    const size_t length = equals != NULL ? (size_t)(equals - item) : 0;
    char *destination = NULL;

    if (equals == NULL || equals[1] == '\0')
        return refuse_map(map, "an item without a name", item);
    if (length == strlen("ignore") && memcmp(item, "ignore", length) == 0) {
        if (map->columns->ignored_count == LOT_TARIFFS_COLUMN_IGNORED_MAX)
            return refuse_map(map, "too many ignored columns", item);
        destination = map->columns->ignored[map->columns->ignored_count++];
    }
    for (size_t i = 0; i < LOT_TARIFFS_COLUMN_COUNT; i++)
        if (strlen(usual_names[i]) == length && memcmp(item, usual_names[i], length) == 0) {
            if (map->given[i])
                return refuse_map(map, "a column given twice", item);
            map->given[i] = true;
            destination = map->columns->name[i];
        }
    if (destination == NULL)
        return refuse_map(map, "no such column", item);
    if (strlen(equals + 1) >= LOT_TARIFFS_COLUMN_NAME_SIZE)
        return refuse_map(map, "a name of more than 95 bytes", item);
    memcpy(destination, equals + 1, strlen(equals + 1) + 1);
    return LOT_OK;
}

static bool take_items(void *context, int64_t line, const char *const *fields, size_t count)
{
    map_reader *map = context;

    if (line != 1 && map->status == LOT_OK)
        map->status = refuse_map(map, "a line break", fields[0]);
    for (size_t i = 0; i < count && map->status == LOT_OK; i++)
        map->status = take_item(map, fields[i]);
    return true;
}

static void hear_map_fault(void *context, int64_t line, bool in_comment, const char *text)
{
    map_reader *map = context;

    (void)line;
    (void)in_comment;
    if (map->status == LOT_OK)
        map->status = refuse_map(map, "not as CSV is written", text);
}

static const char *map_name(const lot_tariffs_columns *columns, size_t i)
{
    return i < LOT_TARIFFS_COLUMN_COUNT ? columns->name[i] : columns->ignored[i - LOT_TARIFFS_COLUMN_COUNT];
}

/* Two meanings for one column would let the later one win. */
static lot_status check_map(map_reader *map)
{
    const size_t count = LOT_TARIFFS_COLUMN_COUNT + map->columns->ignored_count;

    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            if (strcmp(map_name(map->columns, i), map_name(map->columns, j)) == 0)
                return refuse_map(map, "one name for two columns", map_name(map->columns, i));
    return LOT_OK;
}

lot_status lot_tariffs_map(const char *text, lot_tariffs_columns *columns, lot_error *error)
{
    lot_tariffs_columns parsed;
    map_reader map = {.columns = &parsed, .error = error, .status = LOT_OK};
    const lot_table_listener listener = {.record = take_items, .fault = hear_map_fault, .context = &map};
    lot_status status = LOT_OK;

    memset(&parsed, 0, sizeof parsed);
    for (size_t i = 0; i < LOT_TARIFFS_COLUMN_COUNT; i++)
        memcpy(parsed.name[i], usual_names[i], strlen(usual_names[i]) + 1);
    if (text != NULL)
        status = lot_table_read(text, strlen(text), &listener, error);
    if (status == LOT_OK)
        status = map.status;
    if (status == LOT_OK)
        status = check_map(&map);
    if (status == LOT_OK)
        *columns = parsed;
    return status;
}
