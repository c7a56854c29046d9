#include "io/archive_h5.h"

#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

#include "io/archive_header.h"
#include "io/atomic_file.h"
#include "io/columns.h"
#include "io/h5.h"
#include "io/seal.h"

/* What /records says of itself. */
#define RECORDS_ARE                                                                                          \
    "one JSON object a rank (" LOT_RECORD_SCHEMA                                                             \
    ", UTF-8), as it was gathered; row i belongs to row i of /devices"

/* What "not measured" looks like in each kind of column. */
#define NULL_CONVENTION "not measured: integers -1, floats NaN, strings empty, booleans -1"

/* The file type of a column, or its type in memory; to be closed. */
static hid_t column_type(const lot_column *column, bool in_file)
{
    switch (column->field->kind) {
    case LOT_KIND_I64:
        return H5Tcopy(in_file ? H5T_STD_I64LE : H5T_NATIVE_INT64);
    case LOT_KIND_F64:
        return H5Tcopy(in_file ? H5T_IEEE_F64LE : H5T_NATIVE_DOUBLE);
    case LOT_KIND_STR:
        return lot_h5_text_type(column->field->size);
    case LOT_KIND_BOOL:
        return lot_h5_answer_type();
    }
    return H5I_INVALID_HID;
}

static hid_t row_type(const lot_columns *columns, bool in_file)
{
    const hid_t type = H5Tcreate(H5T_COMPOUND, columns->row_bytes);
    bool good = type >= 0;

    for (size_t i = 0; good && i < columns->count; i++) {
        const hid_t member = column_type(&columns->items[i], in_file);

        good = member >= 0 && H5Tinsert(type, columns->items[i].name, columns->items[i].at, member) >= 0;
        if (member >= 0)
            (void)H5Tclose(member);
    }
    if (!good && type >= 0)
        (void)H5Tclose(type);
    return good ? type : H5I_INVALID_HID;
}

/* What a reader without this program needs: units and meanings in column order, and what is not measured. */
static bool describe(hid_t dataset, const lot_columns *columns)
{
    const char *units[LOT_COLUMNS_MAX];
    const char *help[LOT_COLUMNS_MAX];

    for (size_t i = 0; i < columns->count; i++) {
        units[i] = columns->items[i].field->unit;
        help[i] = columns->items[i].field->help;
    }
    return lot_h5_write_texts(dataset, "units", units, columns->count) &&
           lot_h5_write_texts(dataset, "descriptions", help, columns->count) &&
           lot_h5_write_text(dataset, "null", NULL_CONVENTION);
}

/* One dataset that rows are appended to, a whole chunk at a time. */
typedef struct table {
    lot_columns columns;
    hid_t dataset;
    hid_t memory_type;
    size_t chunk_rows;
    char *rows;
    size_t buffered;
    hsize_t written;
} table;

/* Texts are handed to HDF5 several at a time, which costs it as much as one, but never more than this many
 * bytes of them. */
#define TEXTS_AT_ONCE      16
#define TEXT_BYTES_AT_ONCE ((size_t)1 << 20)

struct lot_archive_writer {
    lot_atomic_file *file;
    char *path;
    hid_t h5;
    table devices;
    table phases;
    table phase_telemetry; /* made with its first row */
    table samples;         /* the same */
    hid_t records;
    hid_t record_type;
    hid_t record_transfer;
    hsize_t record_count; /* written */
    char *texts[TEXTS_AT_ONCE];
    size_t text_count; /* waiting to be written */
    size_t text_bytes;
    int64_t last_rank;
};

/* Chunks of about a quarter of a MiB: large enough to compress well, small beside any buffer. */
#define DEVICE_CHUNK 64
#define PHASE_CHUNK  1024
#define RECORD_CHUNK 256

static lot_status write_error(lot_error *error, const lot_archive_writer *writer, const char *call)
{
    return lot_h5_error(error, LOT_IO, call, writer->path);
}

/* Checked and compressed. HDF5 can do neither with texts of variable length, whose bytes lie elsewhere. */
static bool set_filters(hid_t list)
{
    return H5Pset_shuffle(list) >= 0 &&
           (H5Zfilter_avail(H5Z_FILTER_DEFLATE) <= 0 || H5Pset_deflate(list, 1) >= 0) &&
           H5Pset_fletcher32(list) >= 0;
}

/* An extendible dataset of one dimension. */
static hid_t create_dataset(hid_t h5, const char *name, hid_t type, size_t chunk_rows, bool filters)
{
    const hsize_t none = 0, unlimited = H5S_UNLIMITED, chunk = chunk_rows;
    const hid_t space = H5Screate_simple(1, &none, &unlimited);
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    hid_t dataset = H5I_INVALID_HID;

    if (space >= 0 && list >= 0 && H5Pset_chunk(list, 1, &chunk) >= 0 && (!filters || set_filters(list)) &&
        H5Pset_obj_track_times(list, 0) >= 0)
        dataset = H5Dcreate2(h5, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    if (dataset >= 0) { /* else the error stack is still wanted, and closing would clear it */
        (void)H5Pclose(list);
        (void)H5Sclose(space);
    }
    return dataset;
}

static lot_status open_table(lot_archive_writer *writer, table *t, size_t chunk_rows, lot_error *error)
{
    const hid_t type = row_type(&t->columns, true);
    lot_status status = LOT_OK;

    t->chunk_rows = chunk_rows;
    t->rows = malloc(chunk_rows * t->columns.row_bytes);
    t->memory_type = row_type(&t->columns, false);
    if (t->rows == NULL)
        status =
            lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for a block of /%s", t->columns.table);
    else if (type < 0 || t->memory_type < 0 ||
             (t->dataset = create_dataset(writer->h5, t->columns.table, type, chunk_rows, true)) < 0 ||
             !describe(t->dataset, &t->columns))
        status = write_error(error, writer, "H5Dcreate");
    if (type >= 0)
        (void)H5Tclose(type);
    return status;
}

/* Appends `count` items, `type` in memory, to a one-dimensional dataset that holds `written` so far. */
static bool append_items(hid_t dataset, hid_t type, hid_t transfer, hsize_t written, hsize_t count,
                         const void *items)
{
    const hsize_t extent = written + count;
    const hid_t memory = H5Screate_simple(1, &count, NULL);
    const bool extended = memory >= 0 && H5Dset_extent(dataset, &extent) >= 0;
    const hid_t space = extended ? H5Dget_space(dataset) : H5I_INVALID_HID;
    const bool good = space >= 0 &&
                      H5Sselect_hyperslab(space, H5S_SELECT_SET, &written, NULL, &count, NULL) >= 0 &&
                      H5Dwrite(dataset, type, memory, space, transfer, items) >= 0;

    /* After a failure the error stack is still wanted, and closing would clear it. The file closes
     * everything. */
    if (good) {
        (void)H5Sclose(space);
        (void)H5Sclose(memory);
    }
    return good;
}

static lot_status flush_table(lot_archive_writer *writer, table *t, lot_error *error)
{
    if (t->buffered == 0)
        return LOT_OK;
    if (!append_items(t->dataset, t->memory_type, H5P_DEFAULT, t->written, t->buffered, t->rows))
        return write_error(error, writer, "H5Dwrite");
    t->written += t->buffered;
    t->buffered = 0;
    return LOT_OK;
}

static lot_status append_row(lot_archive_writer *writer, table *t, const void *record, lot_error *error)
{
    lot_status status = LOT_OK;

    if (t->rows == NULL)
        status = open_table(writer, t, PHASE_CHUNK, error);
    if (status == LOT_OK) {
        lot_columns_pack(&t->columns, record, t->rows + t->buffered++ * t->columns.row_bytes);
        if (t->buffered == t->chunk_rows)
            status = flush_table(writer, t, error);
    }
    return status;
}

static void close_table(table *t)
{
    if (t->dataset >= 0)
        (void)H5Dclose(t->dataset);
    if (t->memory_type >= 0)
        (void)H5Tclose(t->memory_type);
    t->dataset = t->memory_type = H5I_INVALID_HID;
    free(t->rows);
    t->rows = NULL;
}

/* Closes everything; false where the file could not be written to its end. */
static bool close_all(lot_archive_writer *writer)
{
    bool good = true;

    close_table(&writer->devices);
    close_table(&writer->phases);
    close_table(&writer->phase_telemetry);
    close_table(&writer->samples);
    if (writer->records >= 0)
        (void)H5Dclose(writer->records);
    if (writer->record_type >= 0)
        (void)H5Tclose(writer->record_type);
    if (writer->record_transfer >= 0)
        (void)H5Pclose(writer->record_transfer);
    if (writer->h5 >= 0)
        good = H5Fclose(writer->h5) >= 0;
    writer->records = writer->record_type = writer->record_transfer = writer->h5 = H5I_INVALID_HID;
    return good;
}

static void forget_texts(lot_archive_writer *writer)
{
    for (size_t i = 0; i < writer->text_count; i++)
        free(writer->texts[i]);
    writer->text_count = writer->text_bytes = 0;
}

static lot_status flush_texts(lot_archive_writer *writer, lot_error *error)
{
    if (writer->text_count > 0 && !append_items(writer->records, writer->record_type, writer->record_transfer,
                                                writer->record_count, writer->text_count, writer->texts))
        return write_error(error, writer, "H5Dwrite");
    writer->record_count += writer->text_count;
    forget_texts(writer);
    return LOT_OK;
}

static lot_status append_text(lot_archive_writer *writer, const char *json, size_t size, lot_error *error)
{
    char *copy = malloc(size + 1);

    if (copy == NULL)
        return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for a record of %zu bytes", size);
    memcpy(copy, json, size + 1);
    writer->texts[writer->text_count++] = copy;
    writer->text_bytes += size;
    return writer->text_count == TEXTS_AT_ONCE || writer->text_bytes >= TEXT_BYTES_AT_ONCE
               ? flush_texts(writer, error)
               : LOT_OK;
}

static void release(lot_archive_writer *writer)
{
    forget_texts(writer);
    free(writer->path);
    free(writer);
}

void lot_archive_abandon(lot_archive_writer *writer)
{
    if (writer == NULL)
        return;
    (void)close_all(writer);
    lot_atomic_abandon(writer->file);
    release(writer);
}

static lot_status create_file(lot_archive_writer *writer, lot_error *error)
{
    const hid_t list = lot_h5_access_list();
    lot_status status = LOT_OK;

    writer->h5 =
        list < 0 ? list : H5Fcreate(lot_atomic_partial(writer->file), H5F_ACC_TRUNC, H5P_DEFAULT, list);
    if (writer->h5 < 0)
        status = write_error(error, writer, "H5Fcreate");
    if (list >= 0)
        (void)H5Pclose(list);
    if (status == LOT_OK)
        status = open_table(writer, &writer->devices, DEVICE_CHUNK, error);
    if (status == LOT_OK)
        status = open_table(writer, &writer->phases, PHASE_CHUNK, error);
    if (status != LOT_OK)
        return status;
    writer->record_type = lot_h5_text_type(H5T_VARIABLE);
    writer->record_transfer = lot_h5_text_transfer();
    writer->records = create_dataset(writer->h5, "records", writer->record_type, RECORD_CHUNK, false);
    if (writer->records < 0 || !lot_h5_write_text(writer->records, "description", RECORDS_ARE))
        return write_error(error, writer, "H5Dcreate");
    return LOT_OK;
}

static void init_writer(lot_archive_writer *writer)
{
    table *const tables[] = {&writer->devices, &writer->phases, &writer->phase_telemetry, &writer->samples};

    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        tables[i]->dataset = tables[i]->memory_type = H5I_INVALID_HID;
    writer->h5 = writer->records = writer->record_type = writer->record_transfer = H5I_INVALID_HID;
    writer->last_rank = -1;
    lot_columns_devices(&writer->devices.columns);
    lot_columns_phases(&writer->phases.columns);
    lot_columns_phase_telemetry(&writer->phase_telemetry.columns);
    lot_columns_samples(&writer->samples.columns);
}

lot_status lot_archive_create(const char *path, lot_archive_writer **writer, lot_error *error)
{
    lot_archive_writer *made = calloc(1, sizeof *made);
    lot_status status;

    lot_h5_quiet();
    if (made == NULL || (made->path = strdup(path)) == NULL) {
        free(made);
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory to write %s", path);
    }
    init_writer(made);
    status = lot_atomic_begin(path, &made->file, error);
    if (status == LOT_OK)
        status = create_file(made, error);
    if (status != LOT_OK) {
        lot_archive_abandon(made);
        return status;
    }
    *writer = made;
    return LOT_OK;
}

static lot_status append_samples(lot_archive_writer *writer, const lot_record *record, lot_error *error)
{
    lot_status status = LOT_OK;

    for (size_t i = 0; status == LOT_OK && i < record->sample_count; i++) {
        const lot_sample_row row = {record->head.identity.rank, record->samples[i]};

        status = append_row(writer, &writer->samples, &row, error);
    }
    return status;
}

lot_status lot_archive_append(lot_archive_writer *writer, const lot_record *record, const char *json,
                              size_t size, lot_error *error)
{
    const int64_t rank = record->head.identity.rank;
    lot_status status;

    if (rank <= writer->last_rank || json[size] != '\0' || strlen(json) != size)
        return lot_error_set(error, LOT_INTERNAL, "archive", 0,
                             "record of rank %lld is not in order or not text", (long long)rank);
    status = append_row(writer, &writer->devices, &record->head, error);
    for (size_t i = 0; status == LOT_OK && i < record->phase_count; i++) {
        status = append_row(writer, &writer->phases, &record->phases[i], error);
        if (status == LOT_OK && !lot_telemetry_is_null(&record->phases[i].telemetry))
            status = append_row(writer, &writer->phase_telemetry, &record->phases[i], error);
    }
    if (status == LOT_OK)
        status = append_samples(writer, record, error);
    if (status == LOT_OK)
        status = append_text(writer, json, size, error);
    if (status == LOT_OK)
        writer->last_rank = rank;
    return status;
}

lot_status lot_archive_finish(lot_archive_writer *writer, const lot_run_header *header,
                              const char *tariff_json, lot_error *error)
{
    table *const tables[] = {&writer->devices, &writer->phases, &writer->phase_telemetry, &writer->samples};
    lot_atomic_file *file = writer->file;
    lot_status status = LOT_OK;

    for (size_t i = 0; status == LOT_OK && i < sizeof tables / sizeof tables[0]; i++)
        status = flush_table(writer, tables[i], error);
    if (status == LOT_OK)
        status = flush_texts(writer, error);
    if (status == LOT_OK && !lot_archive_header_write(writer->h5, header, tariff_json))
        status = write_error(error, writer, "H5Awrite");
    /* Written to its end before anything is closed: a file that fails in closing cannot say why. */
    if (status == LOT_OK && H5Fflush(writer->h5, H5F_SCOPE_LOCAL) < 0)
        status = write_error(error, writer, "H5Fflush");
    if (!close_all(writer) && status == LOT_OK)
        status = write_error(error, writer, "H5Fclose");
    release(writer);
    if (status == LOT_OK)
        status = lot_seal_write(lot_atomic_partial(file), error);
    if (status == LOT_OK)
        return lot_atomic_publish(file, error);
    lot_atomic_abandon(file);
    return status;
}
