/* The archive's tables as flat lists of columns, made from the field tables.
 *
 * A row is packed: columns follow each other without padding, integers and doubles in the machine's own
 * layout, texts of fixed size filled with zero bytes, answers (BOOL) in one byte. Archive, CSV and
 * documentation take their columns from here, so that one name means one thing everywhere.
 *
 * Names: a column is named after its field. In `devices`, where several sections lie side by side, the name
 * is SECTION_FIELD; the section `identity` goes without, so that `rank` joins all tables. So a new field
 * never renames an old column. */
#ifndef GPULOT_IO_COLUMNS_H
#define GPULOT_IO_COLUMNS_H

#include <stddef.h>

#include "core/record.h"

typedef struct lot_column {
    char name[64];
    const lot_field *field;
    size_t from; /* offset in the struct that rows are packed from */
    size_t at;   /* offset in the packed row */
} lot_column;

#define LOT_COLUMNS_MAX 192

typedef struct lot_columns {
    const char *table; /* "devices" */
    size_t count;
    size_t row_bytes;
    lot_column items[LOT_COLUMNS_MAX];
} lot_columns;

/* One sample with its rank, as a row of /telemetry. */
typedef struct lot_sample_row {
    int64_t rank;
    lot_sample sample;
} lot_sample_row;

/* The tables and the struct that a row is packed from. */
void lot_columns_devices(lot_columns *columns);         /* lot_record_head */
void lot_columns_phases(lot_columns *columns);          /* lot_phase */
void lot_columns_phase_telemetry(lot_columns *columns); /* lot_phase: rank, row and the telemetry */
void lot_columns_samples(lot_columns *columns);         /* lot_sample_row */

/* The column with that name, or NULL. */
const lot_column *lot_columns_find(const lot_columns *columns, const char *name);

/* Struct to packed row and back. Unpacking terminates texts and makes every answer but 0 and 1 "not
 * measured"; what is not a column keeps its value. */
void lot_columns_pack(const lot_columns *columns, const void *record, void *row);
void lot_columns_unpack(const lot_columns *columns, const void *row, void *record);

/* True where every telemetry field is "not measured". */
bool lot_telemetry_is_null(const lot_telemetry *telemetry);

#endif
