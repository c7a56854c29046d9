#include "io/archive_table.h"

#include <stdlib.h>
#include <string.h>

#include "io/h5.h"

lot_status lot_archive_damaged(lot_error *error, const char *path, const char *subject, const char *what)
{
    return lot_error_set(error, LOT_DAMAGED, "archive", 0, "%s: %s %s", path, subject, what);
}

void lot_archive_table_init(lot_archive_table *table, const char *path)
{
    memset(table, 0, sizeof *table);
    table->path = path;
    table->dataset = table->memory_type = H5I_INVALID_HID;
    table->transfer = H5P_DEFAULT;
}

void lot_archive_table_close(lot_archive_table *table)
{
    if (table->transfer > 0)
        (void)H5Pclose(table->transfer);
    if (table->memory_type >= 0)
        (void)H5Tclose(table->memory_type);
    if (table->dataset >= 0)
        (void)H5Dclose(table->dataset);
    table->memory_type = table->dataset = H5I_INVALID_HID;
}

/* The type in memory for a stored member, or invalid where it cannot hold the column's kind. */
static hid_t matching_type(hid_t stored, const lot_column *column)
{
    const H5T_class_t class = H5Tget_class(stored);
    hid_t type;

    switch (column->field->kind) {
    case LOT_KIND_I64:
        return class == H5T_INTEGER ? H5Tcopy(H5T_NATIVE_INT64) : H5I_INVALID_HID;
    case LOT_KIND_F64:
        return class == H5T_FLOAT || class == H5T_INTEGER ? H5Tcopy(H5T_NATIVE_DOUBLE) : H5I_INVALID_HID;
    case LOT_KIND_STR:
        if (class != H5T_STRING || H5Tis_variable_str(stored) != 0)
            return H5I_INVALID_HID;
        type = lot_h5_text_type(column->field->size);
        if (type >= 0)
            (void)H5Tset_cset(type, H5Tget_cset(stored));
        return type;
    case LOT_KIND_BOOL:
        /* The stored type itself: one byte, whatever the members of an enumeration are called. */
        return (class == H5T_ENUM || class == H5T_INTEGER) && H5Tget_size(stored) == 1 ? H5Tcopy(stored)
                                                                                       : H5I_INVALID_HID;
    }
    return H5I_INVALID_HID;
}

/* Adds one wanted column to the type in memory where the file has it. */
static lot_status add_member(lot_archive_table *table, hid_t stored, const lot_column *wanted,
                             lot_error *error)
{
    const int index = H5Tget_member_index(stored, wanted->name);
    lot_column *column = &table->columns.items[table->columns.count];
    hid_t member, type;
    bool good;

    if (index < 0)
        return LOT_OK;
    member = H5Tget_member_type(stored, (unsigned)index);
    type = member >= 0 ? matching_type(member, wanted) : H5I_INVALID_HID;
    *column = *wanted;
    column->at = table->columns.row_bytes;
    good = type >= 0 && H5Tinsert(table->memory_type, wanted->name, column->at, type) >= 0;
    if (type >= 0)
        (void)H5Tclose(type);
    if (member >= 0)
        (void)H5Tclose(member);
    if (!good)
        return lot_error_set(error, LOT_DAMAGED, "archive", 0, "%s: /%s.%s has another type than it must",
                             table->path, table->columns.table, wanted->name);
    table->columns.row_bytes += wanted->field->size;
    table->columns.count++;
    return LOT_OK;
}

/* The type in memory: our columns, packed, as far as the file has them. What it has beyond that is left out.
 */
static lot_status make_memory_type(lot_archive_table *table, const lot_columns *wanted, lot_error *error)
{
    const hid_t stored = H5Dget_type(table->dataset);
    lot_status status = LOT_OK;

    table->columns.table = wanted->table;
    if (stored < 0 || H5Tget_class(stored) != H5T_COMPOUND) {
        status = lot_archive_damaged(error, table->path, wanted->table, "is not a table");
    } else {
        table->memory_type = H5Tcreate(H5T_COMPOUND, wanted->row_bytes);
        for (size_t i = 0; status == LOT_OK && i < wanted->count; i++)
            status = add_member(table, stored, &wanted->items[i], error);
        if (status == LOT_OK && table->columns.count == 0)
            status = lot_archive_damaged(error, table->path, wanted->table, "has no known column");
        else if (status == LOT_OK && H5Tset_size(table->memory_type, table->columns.row_bytes) < 0)
            status = lot_h5_error(error, LOT_DAMAGED, "H5Tset_size", table->path);
    }
    if (stored >= 0)
        (void)H5Tclose(stored);
    return status;
}

/* Deflate makes at most 1032 bytes out of one: more rows than the stored bytes can hold would only be fill
 * values, and memory asked for them might be any amount. */
lot_status lot_archive_table_count(lot_archive_table *table, const char *name, lot_error *error)
{
    const hid_t space = H5Dget_space(table->dataset);
    const hid_t type = H5Dget_type(table->dataset);
    const int dimensions = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    const bool good =
        dimensions == 1 && type >= 0 && H5Sget_simple_extent_dims(space, &table->rows, NULL) == 1;
    const double bytes = good ? (double)table->rows * (double)H5Tget_size(type) : 0;

    if (type >= 0)
        (void)H5Tclose(type);
    if (space >= 0)
        (void)H5Sclose(space);
    if (!good)
        return lot_archive_damaged(error, table->path, name, "is not a list");
    if (bytes > 1032.0 * (double)H5Dget_storage_size(table->dataset))
        return lot_archive_damaged(error, table->path, name, "claims more rows than it holds");
    return LOT_OK;
}

/* Whether the link is one to an object of this file, by itself: HDF5 has others that name other files. */
static bool in_this_file(hid_t h5, const char *name)
{
    H5L_info_t link;

    return H5Lget_info(h5, name, &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_HARD;
}

/* Whether what the dataset holds is in its own file: HDF5 can have it taken out of others, of any name. */
static bool holds_its_own(hid_t dataset)
{
    const hid_t made = H5Dget_create_plist(dataset);
    const bool own = made >= 0 && H5Pget_layout(made) != H5D_VIRTUAL && H5Pget_external_count(made) == 0;

    if (made >= 0)
        (void)H5Pclose(made);
    return own;
}

lot_status lot_archive_table_dataset(lot_archive_table *table, hid_t h5, const char *name, lot_error *error)
{
    if (H5Lexists(h5, name, H5P_DEFAULT) <= 0)
        return lot_archive_damaged(error, table->path, name, "is missing");
    if (!in_this_file(h5, name))
        return lot_archive_damaged(error, table->path, name, "is a link, no table");
    table->dataset = H5Dopen2(h5, name, H5P_DEFAULT);
    if (table->dataset < 0)
        return lot_h5_error(error, LOT_DAMAGED, "H5Dopen", table->path);
    if (!holds_its_own(table->dataset))
        return lot_archive_damaged(error, table->path, name, "lies in another file");
    return LOT_OK;
}

lot_status lot_archive_table_open(lot_archive_table *table, const char *path, hid_t h5,
                                  const lot_columns *wanted, bool optional, lot_error *error)
{
    lot_status status;

    lot_archive_table_init(table, path);
    if (optional && H5Lexists(h5, wanted->table, H5P_DEFAULT) <= 0)
        return LOT_OK;
    status = lot_archive_table_dataset(table, h5, wanted->table, error);
    if (status == LOT_OK)
        status = make_memory_type(table, wanted, error);
    return status == LOT_OK ? lot_archive_table_count(table, wanted->table, error) : status;
}

bool lot_archive_table_read(const lot_archive_table *table, hsize_t first, hsize_t count, void *items)
{
    const hid_t memory = H5Screate_simple(1, &count, NULL);
    const hid_t space = H5Dget_space(table->dataset);
    const bool good = memory >= 0 && space >= 0 &&
                      H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &count, NULL) >= 0 &&
                      H5Dread(table->dataset, table->memory_type, memory, space, table->transfer, items) >= 0;

    if (good) { /* else the error stack is still wanted; the file closes everything */
        (void)H5Sclose(space);
        (void)H5Sclose(memory);
    }
    return good;
}

lot_status lot_archive_table_each(lot_archive_table *table,
                                  lot_status (*each)(void *context, const lot_columns *columns, size_t index,
                                                     const void *row, lot_error *error),
                                  void *context, lot_error *error)
{
    char *block = table->rows == 0 ? NULL : calloc(LOT_ARCHIVE_BLOCK, table->columns.row_bytes);
    lot_status status = LOT_OK;

    if (block == NULL && table->rows > 0)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for a block of /%s",
                             table->columns.table);
    for (hsize_t first = 0; status == LOT_OK && first < table->rows; first += LOT_ARCHIVE_BLOCK) {
        const hsize_t count =
            table->rows - first < LOT_ARCHIVE_BLOCK ? table->rows - first : LOT_ARCHIVE_BLOCK;

        if (!lot_archive_table_read(table, first, count, block))
            status = lot_h5_error(error, LOT_DAMAGED, "H5Dread", table->path);
        for (size_t i = 0; status == LOT_OK && i < count; i++)
            status = each(context, &table->columns, (size_t)first + i, block + i * table->columns.row_bytes,
                          error);
    }
    free(block);
    return status;
}
