#include "io/archive_h5.h"

#include <hdf5.h>
#include <stdlib.h>

#include "io/archive_header.h"
#include "io/archive_open.h"
#include "io/archive_read.h"
#include "io/archive_table.h"
#include "io/h5.h"

/* The rows of a table one after the other, a block in memory at a time. */
typedef struct cursor {
    lot_archive_table table;
    char *block;
    hsize_t first; /* row of the table that the block begins with */
    hsize_t count; /* rows in the block */
    hsize_t at;    /* next row in the block */
} cursor;

static lot_status open_cursor(cursor *c, const char *path, hid_t h5, const lot_columns *columns,
                              bool optional, lot_error *error)
{
    lot_status status = lot_archive_table_open(&c->table, path, h5, columns, optional, error);

    c->block = NULL;
    c->first = c->count = c->at = 0;
    if (status == LOT_OK && c->table.rows > 0) {
        c->block = calloc(LOT_ARCHIVE_BLOCK, c->table.columns.row_bytes);
        if (c->block == NULL)
            status =
                lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for a block of /%s", columns->table);
    }
    return status;
}

static void close_cursor(cursor *c)
{
    free(c->block);
    lot_archive_table_close(&c->table);
}

/* The row under the cursor, which stays there; NULL at the end. */
static lot_status peek(cursor *c, const void **row, lot_error *error)
{
    *row = NULL;
    if (c->at == c->count) {
        const hsize_t left = c->table.rows - c->first - c->count;

        c->first += c->count;
        c->count = left < LOT_ARCHIVE_BLOCK ? left : LOT_ARCHIVE_BLOCK;
        c->at = 0;
        if (c->count == 0)
            return LOT_OK;
        if (!lot_archive_table_read(&c->table, c->first, c->count, c->block))
            return lot_h5_error(error, LOT_DAMAGED, "H5Dread", c->table.path);
    }
    *row = c->block + c->at * c->table.columns.row_bytes;
    return LOT_OK;
}

/* One rank's rows, in memory that is used again for the next one. */
typedef struct rows {
    lot_phase *items;
    size_t count;
    size_t capacity;
} rows;

static lot_status add_row(rows *r, const lot_phase *row, lot_error *error)
{
    if (r->count == r->capacity) {
        const size_t capacity = r->capacity == 0 ? 64 : 2 * r->capacity;
        lot_phase *grown = realloc(r->items, capacity * sizeof *grown);

        if (grown == NULL)
            return lot_error_set(error, LOT_MEMORY, "realloc", 0, "no memory for the rows of rank %lld",
                                 (long long)row->rank);
        r->items = grown;
        r->capacity = capacity;
    }
    r->items[r->count++] = *row;
    return LOT_OK;
}

static lot_status gather_phases(cursor *c, int64_t rank, rows *r, lot_error *error)
{
    const void *row = NULL;
    lot_status status;

    r->count = 0;
    while ((status = peek(c, &row, error)) == LOT_OK && row != NULL) {
        lot_phase read;

        lot_fields_clear(lot_phase_fields(), &read);
        lot_fields_clear(lot_telemetry_fields(), &read);
        lot_columns_unpack(&c->table.columns, row, &read);
        if (read.rank != rank)
            break;
        c->at++;
        status = add_row(r, &read, error);
        if (status != LOT_OK)
            break;
    }
    return status;
}

static lot_status gather_telemetry(cursor *c, int64_t rank, const rows *r, lot_error *error)
{
    const void *row = NULL;
    lot_status status;

    while ((status = peek(c, &row, error)) == LOT_OK && row != NULL) {
        lot_phase read = {.rank = -1, .row = -1};

        lot_fields_clear(lot_telemetry_fields(), &read);
        lot_columns_unpack(&c->table.columns, row, &read);
        if (read.rank != rank)
            break;
        if (read.row < 0 || (size_t)read.row >= r->count)
            return lot_archive_damaged(error, c->table.path, "phase_telemetry",
                                       "has a row that belongs to no phase row");
        r->items[read.row].telemetry = read.telemetry;
        c->at++;
    }
    return status;
}

/* Tables are in rank order, so what is left under a cursor after the last rank belongs to nobody. */
static lot_status check_ends(cursor *phases, cursor *telemetry, lot_error *error)
{
    const void *row = NULL;
    lot_status status = peek(phases, &row, error);

    if (status == LOT_OK && row != NULL)
        status = lot_archive_damaged(error, phases->table.path, "phases",
                                     "has rows of a rank that is not there or not next");
    if (status == LOT_OK)
        status = peek(telemetry, &row, error);
    if (status == LOT_OK && row != NULL)
        status = lot_archive_damaged(error, telemetry->table.path, "phase_telemetry",
                                     "has rows of a rank that is not there or not next");
    return status;
}

typedef lot_status (*device_reader)(void *context, const lot_record_head *head, const lot_phase *rows,
                                    size_t count, lot_error *error);

static lot_status read_ranks(cursor *phases, cursor *telemetry, const lot_run *run, device_reader each,
                             void *context, lot_error *error)
{
    rows r = {NULL, 0, 0};
    lot_status status = LOT_OK;

    for (size_t i = 0; status == LOT_OK && i < run->device_count; i++) {
        const lot_record_head *head = &run->devices[i];

        status = gather_phases(phases, head->identity.rank, &r, error);
        if (status == LOT_OK)
            status = gather_telemetry(telemetry, head->identity.rank, &r, error);
        if (status == LOT_OK)
            status = lot_archive_check_rank(phases->table.path, head, r.items, r.count, error);
        if (status == LOT_OK)
            status = each(context, head, r.items, r.count, error);
    }
    free(r.items);
    return status == LOT_OK ? check_ends(phases, telemetry, error) : status;
}

/* The two tables of rows. */
typedef struct row_tables {
    cursor phases;
    cursor telemetry;
} row_tables;

/* close_tables in every case. */
static lot_status open_tables(row_tables *t, const char *path, hid_t h5, lot_error *error)
{
    lot_columns columns;
    lot_status status;

    lot_archive_table_init(&t->telemetry.table, path);
    t->telemetry.block = NULL;
    lot_columns_phases(&columns);
    status = open_cursor(&t->phases, path, h5, &columns, false, error);
    lot_columns_phase_telemetry(&columns);
    return status == LOT_OK ? open_cursor(&t->telemetry, path, h5, &columns, true, error) : status;
}

static void close_tables(row_tables *t)
{
    close_cursor(&t->phases);
    close_cursor(&t->telemetry);
}

static lot_status read_tables(const char *path, hid_t h5, const lot_run *run, device_reader each,
                              void *context, lot_error *error)
{
    row_tables t;
    lot_status status = open_tables(&t, path, h5, error);

    if (status == LOT_OK)
        status = read_ranks(&t.phases, &t.telemetry, run, each, context, error);
    close_tables(&t);
    return status;
}

/* ---- one rank ---- */

/* The rank of one row of the cursor's table. */
static lot_status rank_of(cursor *c, hsize_t row, int64_t *rank, lot_error *error)
{
    lot_phase read = {.rank = -1};

    if (!lot_archive_table_read(&c->table, row, 1, c->block))
        return lot_h5_error(error, LOT_DAMAGED, "H5Dread", c->table.path);
    lot_columns_unpack(&c->table.columns, c->block, &read);
    *rank = read.rank;
    return LOT_OK;
}

/* Puts the cursor on the first row of a rank by halving: the table is in rank order. */
static lot_status seek_rank(cursor *c, int64_t rank, lot_error *error)
{
    hsize_t low = 0, high = c->table.rows;
    lot_status status = LOT_OK;

    while (status == LOT_OK && low < high) {
        const hsize_t middle = low + (high - low) / 2;
        int64_t found = -1;

        status = rank_of(c, middle, &found, error);
        if (found < rank)
            low = middle + 1;
        else
            high = middle;
    }
    c->first = low;
    c->count = c->at = 0;
    return status;
}

/* Keeps the rows of one rank while all go by. */
typedef struct keeping {
    int64_t rank;
    rows *rows;
} keeping;

static lot_status keep_rank(void *context, const lot_record_head *head, const lot_phase *read, size_t count,
                            lot_error *error)
{
    const keeping *k = context;
    lot_status status = LOT_OK;

    for (size_t i = 0; status == LOT_OK && head->identity.rank == k->rank && i < count; i++)
        status = add_row(k->rows, &read[i], error);
    return status;
}

static lot_status gather_rank(row_tables *t, const lot_record_head *head, rows *r, lot_error *error)
{
    const int64_t rank = head->identity.rank;
    lot_status status = seek_rank(&t->phases, rank, error);

    if (status == LOT_OK)
        status = gather_phases(&t->phases, rank, r, error);
    if (status == LOT_OK)
        status = seek_rank(&t->telemetry, rank, error);
    if (status == LOT_OK)
        status = gather_telemetry(&t->telemetry, rank, r, error);
    return status == LOT_OK ? lot_archive_check_rank(t->phases.table.path, head, r->items, r->count, error)
                            : status;
}

static lot_status read_rank(const char *path, hid_t h5, int64_t rank, lot_run *run, lot_error *error)
{
    const lot_record_head *head = lot_run_device(run, rank);
    rows r = {NULL, 0, 0};
    keeping all = {rank, &r};
    row_tables t;
    lot_status status;

    if (head == NULL)
        return lot_error_set(error, LOT_USAGE, "--rank", 0, "%s has no rank %lld", path, (long long)rank);
    status = open_tables(&t, path, h5, error);
    /* Without a seal nobody knows whether the tables are in order: then no row is found by halving. */
    if (status == LOT_OK)
        status = run->sealed ? gather_rank(&t, head, &r, error)
                             : read_ranks(&t.phases, &t.telemetry, run, keep_rank, &all, error);
    close_tables(&t);
    run->phases = r.items;
    run->phase_count = r.count;
    return status == LOT_OK ? lot_run_index(run, error) : status;
}

/* ---- a file ---- */

/* Opens what HDF5 survives and reads header and devices; *h5 is to be closed where it is not below 0. */
static lot_status open_run(const char *path, hid_t *h5, lot_run *run, lot_error *error)
{
    bool sealed = false;
    lot_status status;

    lot_run_init(run);
    status = lot_archive_admit(path, &sealed, error);
    if (status == LOT_OK)
        status = lot_archive_open(path, h5, error);
    if (status != LOT_OK)
        return status;
    run->sealed = sealed;
    status = lot_archive_header_read(path, *h5, run, error);
    return status == LOT_OK ? lot_archive_load_devices(path, *h5, run, error) : status;
}

lot_status lot_archive_each_device(const char *path, lot_run *run, device_reader each, void *context,
                                   lot_error *error)
{
    hid_t h5 = H5I_INVALID_HID;
    lot_status status = open_run(path, &h5, run, error);

    if (status == LOT_OK)
        status = read_tables(path, h5, run, each, context, error);
    if (h5 >= 0)
        (void)H5Fclose(h5);
    return status;
}

lot_status lot_archive_read_rank(const char *path, int64_t rank, lot_run *run, lot_error *error)
{
    hid_t h5 = H5I_INVALID_HID;
    lot_run read;
    lot_status status = open_run(path, &h5, &read, error);

    if (status == LOT_OK)
        status = read_rank(path, h5, rank, &read, error);
    if (h5 >= 0)
        (void)H5Fclose(h5);
    if (status == LOT_OK)
        *run = read;
    else
        lot_run_free(&read);
    return status;
}
