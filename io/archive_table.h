/* One table of an archive, read a block of packed rows at a time. */
#ifndef GPULOT_IO_ARCHIVE_TABLE_H
#define GPULOT_IO_ARCHIVE_TABLE_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "io/columns.h"

/* Rows in a block. */
#define LOT_ARCHIVE_BLOCK 1024

/* A table as it stands in a file, and how its rows come into memory. */
typedef struct lot_archive_table {
    const char *path;
    hid_t dataset;
    hid_t memory_type;
    hid_t transfer; /* H5P_DEFAULT, or to be closed */
    hsize_t rows;
    lot_columns columns; /* those of ours that the file has */
} lot_archive_table;

/* LOT_DAMAGED, "PATH: SUBJECT WHAT". */
lot_status lot_archive_damaged(lot_error *error, const char *path, const char *subject, const char *what);

/* A table that is not open; `path` is for messages and is kept. */
void lot_archive_table_init(lot_archive_table *table, const char *path);

/* Opens table->dataset, which is called `name`. LOT_DAMAGED where it is missing, or lies in another file: an
 * archive that somebody else made must not have any other file read. */
lot_status lot_archive_table_dataset(lot_archive_table *table, hid_t h5, const char *name, lot_error *error);

/* Opens the table that `wanted` names, as far as the file has its columns; lot_archive_table_close in every
 * case. LOT_DAMAGED where it is missing, no table, or has a column of another kind; table->rows is 0 where an
 * optional one is missing. */
lot_status lot_archive_table_open(lot_archive_table *table, const char *path, hid_t h5,
                                  const lot_columns *wanted, bool optional, lot_error *error);
void lot_archive_table_close(lot_archive_table *table);

/* Counts the rows of table->dataset, which is called `name`. LOT_DAMAGED where it is no list or claims more
 * rows than it holds. */
lot_status lot_archive_table_count(lot_archive_table *table, const char *name, lot_error *error);

/* Reads rows [first, first + count) into `items`, count times a row of table->memory_type; false on failure,
 * with HDF5's error stack still there. */
bool lot_archive_table_read(const lot_archive_table *table, hsize_t first, hsize_t count, void *items);

/* Calls `each` with every packed row, a block in memory at a time. Stops where `each` does not return LOT_OK,
 * and returns that. */
lot_status lot_archive_table_each(lot_archive_table *table,
                                  lot_status (*each)(void *context, const lot_columns *columns, size_t index,
                                                     const void *row, lot_error *error),
                                  void *context, lot_error *error);

#endif
