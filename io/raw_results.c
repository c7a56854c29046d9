#include "io/raw_results.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/grown.h"
#include "io/atomic_file.h"
#include "io/table_csv.h"

/* Between the fields of a joined row; no field can hold it, since table_csv refuses control characters. */
#define JOINT       '\x1f'
#define KEY_COLUMNS 3

static const char *const key_columns[KEY_COLUMNS] = {"run_id", "rank", "row"};

/* A row of a grid as one text: the three fields that it is known by, then all of them. */
typedef struct grid_row {
    char *text;
    size_t key_length;
} grid_row;

typedef struct grid {
    const char *name; /* for messages */
    char *header;     /* joined; NULL before it was read */
    size_t columns;
    size_t key[KEY_COLUMNS]; /* where the key columns stand */
    grid_row *rows;
    size_t count;
    lot_status status;
    lot_error *error;
} grid;

static void free_grid(grid *g)
{
    for (size_t i = 0; i < g->count; i++)
        free(g->rows[i].text);
    free(g->rows);
    free(g->header);
}

/* ---- reading ---- */

static size_t joined_size(const char *const *fields, size_t count)
{
    size_t size = 1;

    for (size_t i = 0; i < count; i++)
        size += strlen(fields[i]) + 1;
    return size;
}

/* Puts a field and the joint after it; returns where the next one goes, which is terminated already. */
static char *put(char *at, const char *field)
{
    while (*field != '\0')
        *at++ = *field++;
    *at++ = JOINT;
    *at = '\0';
    return at;
}

static bool take_header(grid *g, const char *const *fields, size_t count)
{
    char *at;

    g->header = malloc(joined_size(fields, count));
    if (g->header == NULL)
        return false;
    at = g->header;
    g->columns = count;
    for (size_t k = 0; k < KEY_COLUMNS; k++)
        g->key[k] = count;
    for (size_t i = 0; i < count; i++) {
        at = put(at, fields[i]);
        for (size_t k = 0; k < KEY_COLUMNS; k++)
            if (strcmp(fields[i], key_columns[k]) == 0)
                g->key[k] = i;
    }
    for (size_t k = 0; k < KEY_COLUMNS && g->status == LOT_OK; k++)
        if (g->key[k] == count)
            g->status =
                lot_error_set(g->error, LOT_INPUT, "header", 0,
                              "%s: not a raw-results grid: it has no column '%s'", g->name, key_columns[k]);
    return true;
}

static bool keep_row(grid *g, const char *const *fields)
{
    const char *key[KEY_COLUMNS];
    grid_row *grown = lot_grown(g->rows, g->count, sizeof *grown);
    char *at;

    if (grown == NULL)
        return false;
    g->rows = grown;
    for (size_t k = 0; k < KEY_COLUMNS; k++)
        key[k] = fields[g->key[k]];
    at = malloc(joined_size(key, KEY_COLUMNS) + joined_size(fields, g->columns));
    if (at == NULL)
        return false;
    g->rows[g->count].text = at;
    for (size_t k = 0; k < KEY_COLUMNS; k++)
        at = put(at, key[k]);
    g->rows[g->count].key_length = (size_t)(at - g->rows[g->count].text);
    for (size_t i = 0; i < g->columns; i++)
        at = put(at, fields[i]);
    g->count++;
    return true;
}

static bool take_record(void *context, int64_t line, const char *const *fields, size_t count)
{
    grid *g = context;

    if (g->status != LOT_OK)
        return true;
    if (g->header == NULL)
        return take_header(g, fields, count);
    if (count == g->columns)
        return keep_row(g, fields);
    g->status =
        lot_error_set(g->error, LOT_INPUT, "row", line, "%s:%lld: %zu fields where the header has %zu",
                      g->name, (long long)line, count, g->columns);
    return true;
}

static void take_fault(void *context, int64_t line, bool in_comment, const char *text)
{
    grid *g = context;

    (void)in_comment;
    if (g->status == LOT_OK)
        g->status =
            lot_error_set(g->error, LOT_INPUT, "row", line, "%s:%lld: %s", g->name, (long long)line, text);
}

static lot_status read_grid(grid *g, const char *text, size_t size)
{
    const lot_table_listener listener = {.record = take_record, .fault = take_fault, .context = g};
    const lot_status status = lot_table_read(text, size, &listener, g->error);

    return status == LOT_OK ? g->status : status;
}

/* ---- comparing ---- */

static int by_key(const void *a, const void *b)
{
    const grid_row *one = a;
    const grid_row *other = b;
    const size_t shorter = one->key_length < other->key_length ? one->key_length : other->key_length;
    const int order = memcmp(one->text, other->text, shorter);

    return order != 0 ? order : (one->key_length > other->key_length) - (one->key_length < other->key_length);
}

static lot_status other_values(const grid *old, const grid_row *row, lot_error *error)
{
    const size_t run = strcspn(row->text, "\x1f");
    const char *rank = row->text + run + 1;
    const size_t rank_length = strcspn(rank, "\x1f");
    const char *number = rank + rank_length + 1;

    return lot_error_set(error, LOT_INPUT, "row", 0,
                         "%s: row %.*s of rank %.*s of run %.*s stands there with other values", old->name,
                         (int)strcspn(number, "\x1f"), number, (int)rank_length, rank, (int)run, row->text);
}

static void write_row(FILE *out, const grid_row *row)
{
    char *field = row->text + row->key_length;

    while (*field != '\0') {
        char *end = strchr(field, JOINT);

        *end = '\0';
        lot_table_write_field(out, field);
        *end = JOINT;
        (void)fputc(end[1] != '\0' ? ',' : '\n', out);
        field = end + 1;
    }
}

/* ---- the edit ---- */

typedef struct appending {
    const char *path;
    const char *text; /* with its header */
    size_t size;
    const grid *new;
    lot_raw_results_summary summary;
} appending;

static lot_status check_header(const grid *old, const grid *new, lot_error *error)
{
    if (strcmp(old->header, new->header) == 0)
        return LOT_OK;
    return lot_error_set(error, LOT_INPUT, "header", 0,
                         "%s: its header is not that of this version's raw-results grid", old->name);
}

static lot_status add_rows(appending *work, grid *old, FILE *out, lot_error *error)
{
    if (old->count > 0)
        qsort(old->rows, old->count, sizeof *old->rows, by_key);
    for (size_t i = 0; i < work->new->count; i++) {
        const grid_row *row = &work->new->rows[i];
        const grid_row *there =
            old->count > 0 ? bsearch(row, old->rows, old->count, sizeof *old->rows, by_key) : NULL;

        if (there != NULL && strcmp(there->text, row->text) != 0)
            return other_values(old, row, error);
        if (there != NULL) {
            work->summary.present++;
            continue;
        }
        write_row(out, row);
        work->summary.added++;
    }
    return LOT_OK;
}

static lot_status edit(void *context, const char *old_text, size_t size, FILE *out, lot_error *error)
{
    appending *work = context;
    grid old = {.name = work->path, .error = error, .status = LOT_OK};
    lot_status status = LOT_OK;

    if (size == 0) {
        (void)fwrite(work->text, 1, work->size, out);
        work->summary.added = (int64_t)work->new->count;
        return LOT_OK;
    }
    status = read_grid(&old, old_text, size);
    if (status == LOT_OK && old.header == NULL)
        status = lot_error_set(error, LOT_INPUT, "header", 0, "%s: it has no header", work->path);
    if (status == LOT_OK)
        status = check_header(&old, work->new, error);
    if (status == LOT_OK) {
        (void)fwrite(old_text, 1, size, out);
        if (old_text[size - 1] != '\n')
            (void)fputc('\n', out);
        status = add_rows(work, &old, out, error);
    }
    free_grid(&old);
    return status;
}

lot_status lot_raw_results_append(const char *path, const char *text, size_t size,
                                  lot_raw_results_summary *summary, lot_error *error)
{
    grid new = {.name = "the rows to append", .error = error, .status = LOT_OK};
    appending work = {.path = path, .text = text, .size = size, .new = &new};
    lot_status status = read_grid(&new, text, size);

    if (status == LOT_OK && new.header == NULL)
        status = lot_error_set(error, LOT_INTERNAL, "header", 0, "the rows to append have no header");
    if (status == LOT_OK)
        status = lot_atomic_edit(path, LOT_RAW_RESULTS_WAIT_SECONDS, edit, &work, error);
    if (status == LOT_OK)
        *summary = work.summary;
    free_grid(&new);
    return status;
}
