#include "io/archive_h5.h"

#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/atomic_file.h"
#include "io/columns.h"
#include "io/seal.h"

/* What "not measured" looks like in each kind of column. */
#define NULL_CONVENTION "not measured: integers -1, floats NaN, strings empty, booleans -1"

/* ---- HDF5 itself ---- */

/* The library must stay silent, and must not try to finish broken files when the process ends: after a failed
 * write it prints about that. Everything is closed by hand here. */
static void quiet(void)
{
    (void)H5dont_atexit();
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

typedef struct fold {
    char *text;
    size_t size;
    int64_t code;
} fold;

/* The innermost entry of the error stack tells the cause; where it quotes the system, only that is kept. */
static herr_t fold_first(unsigned depth, const H5E_error2_t *entry, void *context)
{
    static const char quoted[] = "error message = '";
    fold *to = context;
    const char *desc = entry->desc != NULL ? entry->desc : "no reason given";
    const char *system = strstr(desc, quoted);
    const char *number = strstr(desc, "errno = ");

    if (depth != 0)
        return 0;
    if (number != NULL)
        to->code = strtol(number + sizeof "errno = " - 1, NULL, 10);
    if (system != NULL)
        (void)snprintf(to->text, to->size, "%.*s", (int)strcspn(system + sizeof quoted - 1, "'"),
                       system + sizeof quoted - 1);
    else
        (void)snprintf(to->text, to->size, "%s", desc);
    return 0;
}

/* Makes one line of the failed call's error stack; to be called before any other HDF5 call. */
static lot_status h5_error(lot_error *error, lot_status status, const char *call, const char *subject)
{
    char reason[256] = "no reason given";
    fold to = {reason, sizeof reason, 0};

    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, fold_first, &to);
    return lot_error_set(error, status, call, to.code, "%s: HDF5: %s", subject, reason);
}

void lot_archive_hdf5_version(char *text, size_t size)
{
    unsigned major = 0, minor = 0, release = 0;

    quiet();
    (void)H5get_libversion(&major, &minor, &release);
    (void)snprintf(text, size, "%u.%u.%u", major, minor, release);
}

/* How files are opened: readable by HDF5 1.10 and later, locked where the file system can lock at all. */
static hid_t access_list(void)
{
    const hid_t list = H5Pcreate(H5P_FILE_ACCESS);

    if (list < 0)
        return list;
    (void)H5Pset_libver_bounds(list, H5F_LIBVER_EARLIEST, H5F_LIBVER_V110);
    (void)H5Pset_fclose_degree(list, H5F_CLOSE_STRONG);
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0))
    (void)H5Pset_file_locking(list, 1, 1);
#endif
    return list;
}

/* For moving one text at a time: by default HDF5 clears two conversion buffers of 1 MiB in every such call.
 */
static hid_t small_transfer(void)
{
    const hid_t list = H5Pcreate(H5P_DATASET_XFER);

    if (list >= 0)
        (void)H5Pset_buffer(list, 4096, NULL, NULL);
    return list;
}

/* ---- types ---- */

static hid_t text_type(size_t size)
{
    const hid_t type = H5Tcopy(H5T_C_S1);

    if (type >= 0 && (H5Tset_size(type, size) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0)) {
        (void)H5Tclose(type);
        return H5I_INVALID_HID;
    }
    return type;
}

/* Three values and not h5py's two: with FALSE and TRUE alone it would read "not measured" as true. */
static hid_t answer_type(void)
{
    static const struct {
        const char *name;
        int8_t value;
    } members[] = {{"FALSE", 0}, {"TRUE", 1}, {"NOT_MEASURED", LOT_NULL_BOOL}};
    const hid_t type = H5Tenum_create(H5T_STD_I8LE);

    for (size_t i = 0; i < sizeof members / sizeof members[0] && type >= 0; i++)
        if (H5Tenum_insert(type, members[i].name, &members[i].value) < 0) {
            (void)H5Tclose(type);
            return H5I_INVALID_HID;
        }
    return type;
}

/* The file type of a column, or its type in memory; to be closed. */
static hid_t column_type(const lot_column *column, bool in_file)
{
    switch (column->field->kind) {
    case LOT_KIND_I64:
        return H5Tcopy(in_file ? H5T_STD_I64LE : H5T_NATIVE_INT64);
    case LOT_KIND_F64:
        return H5Tcopy(in_file ? H5T_IEEE_F64LE : H5T_NATIVE_DOUBLE);
    case LOT_KIND_STR:
        return text_type(column->field->size);
    case LOT_KIND_BOOL:
        return answer_type();
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

/* ---- attributes, writing ---- */

/* The three below leave handles open where they fail: closing would clear the error stack, which is still
 * wanted. Closing the file closes them. */
static bool write_attribute(hid_t object, const char *name, hid_t type, hid_t space, const void *value)
{
    const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);

    return attribute >= 0 && H5Awrite(attribute, type, value) >= 0 && H5Aclose(attribute) >= 0;
}

static bool write_scalar(hid_t object, const char *name, hid_t type, const void *value)
{
    const hid_t space = H5Screate(H5S_SCALAR);

    return space >= 0 && write_attribute(object, name, type, space, value) && H5Sclose(space) >= 0;
}

static bool write_text(hid_t object, const char *name, const char *value)
{
    const hid_t type = text_type(H5T_VARIABLE);

    return type >= 0 && write_scalar(object, name, type, &value) && H5Tclose(type) >= 0;
}

static bool write_texts(hid_t object, const char *name, const char *const *values, size_t count)
{
    const hsize_t length = count;
    const hid_t type = text_type(H5T_VARIABLE);
    const hid_t space = H5Screate_simple(1, &length, NULL);

    return type >= 0 && space >= 0 && write_attribute(object, name, type, space, values) &&
           H5Sclose(space) >= 0 && H5Tclose(type) >= 0;
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
    return write_texts(dataset, "units", units, columns->count) &&
           write_texts(dataset, "descriptions", help, columns->count) &&
           write_text(dataset, "null", NULL_CONVENTION);
}

/* ---- the writer ---- */

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
    hsize_t record_count;
    int64_t last_rank;
};

/* Chunks of about a quarter of a MiB: large enough to compress well, small beside any buffer. */
#define DEVICE_CHUNK 64
#define PHASE_CHUNK  1024
#define RECORD_CHUNK 256

static lot_status write_error(lot_error *error, const lot_archive_writer *writer, const char *call)
{
    return h5_error(error, LOT_IO, call, writer->path);
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

static void release(lot_archive_writer *writer)
{
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

lot_status lot_archive_check_output(const char *path, lot_error *error)
{
    return lot_atomic_check(path, error);
}

static lot_status create_file(lot_archive_writer *writer, lot_error *error)
{
    const hid_t list = access_list();
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
    writer->record_type = text_type(H5T_VARIABLE);
    writer->record_transfer = small_transfer();
    writer->records = create_dataset(writer->h5, "records", writer->record_type, RECORD_CHUNK, false);
    if (writer->records < 0)
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

    quiet();
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
    if (status == LOT_OK && !append_items(writer->records, writer->record_type, writer->record_transfer,
                                          writer->record_count, 1, &json))
        status = write_error(error, writer, "H5Dwrite");
    if (status == LOT_OK) {
        writer->record_count++;
        writer->last_rank = rank;
    }
    return status;
}

/* h5py's own kind of boolean: here it is always known. */
static bool write_answer(hid_t object, const char *name, int8_t value)
{
    const int8_t no = 0, yes = 1;
    const hid_t type = H5Tenum_create(H5T_STD_I8LE);

    return type >= 0 && H5Tenum_insert(type, "FALSE", &no) >= 0 && H5Tenum_insert(type, "TRUE", &yes) >= 0 &&
           write_scalar(object, name, type, &value) && H5Tclose(type) >= 0;
}

/* A header field as a root attribute; what is not known has none. */
static bool write_header_field(hid_t root, const lot_field *field, const lot_run_header *header)
{
    const char *at = (const char *)header + field->offset;

    if (lot_field_is_null(field, header))
        return true;
    switch (field->kind) {
    case LOT_KIND_I64:
        return write_scalar(root, field->name, H5T_NATIVE_INT64, at);
    case LOT_KIND_F64:
        return write_scalar(root, field->name, H5T_NATIVE_DOUBLE, at);
    case LOT_KIND_STR:
        return write_text(root, field->name, at);
    case LOT_KIND_BOOL:
        return write_answer(root, field->name, *at != 0);
    }
    return false;
}

static lot_status write_header(lot_archive_writer *writer, const lot_run_header *header,
                               const char *tariff_json, lot_error *error)
{
    const lot_fields *fields = lot_run_header_fields();
    const int64_t version = LOT_ARCHIVE_SCHEMA_VERSION;
    bool good = write_text(writer->h5, "schema", LOT_ARCHIVE_SCHEMA) &&
                write_scalar(writer->h5, "schema_version", H5T_NATIVE_INT64, &version);

    for (size_t i = 0; good && i < fields->count; i++)
        good = write_header_field(writer->h5, &fields->fields[i], header);
    if (good && tariff_json != NULL)
        good = write_text(writer->h5, "tariff_json", tariff_json);
    return good ? LOT_OK : write_error(error, writer, "H5Awrite");
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
        status = write_header(writer, header, tariff_json, error);
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

/* ---- opening ---- */

/* True where the file begins as HDF5, at the start or behind a user block. */
static bool has_signature(int descriptor)
{
    static const char signature[8] = {'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
    char read[8];

    for (off_t at = 0; at <= 8192; at = at == 0 ? 512 : 2 * at)
        if (pread(descriptor, read, sizeof read, at) == sizeof read &&
            memcmp(read, signature, sizeof read) == 0)
            return true;
    return false;
}

static lot_status check_seal(int file, const char *path, bool *sealed, lot_error *error)
{
    lot_seal seal = LOT_SEAL_NONE;
    const lot_status status = lot_seal_check(file, path, &seal, error);

    if (status != LOT_OK)
        return status;
    *sealed = seal == LOT_SEAL_WHOLE;
    if (seal == LOT_SEAL_BROKEN)
        return lot_error_set(error, LOT_DAMAGED, "archive", 0,
                             "%s is damaged: its bytes are not those that were written", path);
    return LOT_OK;
}

/* Refuses what HDF5 would report in riddles, wait for or not survive: no file, a folder, a pipe, another
 * format, damage. */
static lot_status check_file(const char *path, bool *sealed, lot_error *error)
{
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const int reason = errno;
    struct stat info;
    lot_status status = LOT_OK;

    if (descriptor < 0)
        return lot_error_errno(error, LOT_INPUT, "open", reason, "%s cannot be opened", path);
    if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode))
        status = lot_error_set(error, LOT_INPUT, "open", 0, "%s is not a file", path);
    else if (!has_signature(descriptor))
        status = lot_error_set(error, LOT_SCHEMA, "archive", 0, "%s is not an HDF5 file", path);
    else
        status = check_seal(descriptor, path, sealed, error);
    (void)close(descriptor);
    return status;
}

static lot_status damaged(lot_error *error, const char *path, const char *subject, const char *what)
{
    return lot_error_set(error, LOT_DAMAGED, "archive", 0, "%s: %s %s", path, subject, what);
}

/* ---- attributes, reading ---- */

/* The text of a scalar string attribute, to be freed; NULL where there is none or it is not one. */
static char *read_text(hid_t object, const char *name)
{
    const hid_t attribute =
        H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : H5I_INVALID_HID;
    const hid_t type = attribute >= 0 ? H5Aget_type(attribute) : H5I_INVALID_HID;
    const hid_t space = attribute >= 0 ? H5Aget_space(attribute) : H5I_INVALID_HID;
    const bool text = type >= 0 && space >= 0 && H5Tget_class(type) == H5T_STRING &&
                      H5Sget_simple_extent_npoints(space) == 1;
    char *value = NULL;

    if (text && H5Tis_variable_str(type) > 0) {
        char *read = NULL;

        if (H5Aread(attribute, type, &read) >= 0 && read != NULL)
            value = strdup(read);
        (void)H5free_memory(read);
    } else if (text && H5Tget_size(type) < ((size_t)1 << 20)) {
        value = calloc(1, H5Tget_size(type) + 1);
        if (value != NULL && H5Aread(attribute, type, value) < 0) {
            free(value);
            value = NULL;
        }
    }
    if (space >= 0)
        (void)H5Sclose(space);
    if (type >= 0)
        (void)H5Tclose(type);
    if (attribute >= 0)
        (void)H5Aclose(attribute);
    return value;
}

/* Reads a scalar attribute of class `class` as `type`; *value is left alone where it is missing or another
 * kind. */
static bool read_scalar(hid_t object, const char *name, H5T_class_t class, hid_t type, void *value)
{
    const hid_t attribute =
        H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : H5I_INVALID_HID;
    const hid_t stored = attribute >= 0 ? H5Aget_type(attribute) : H5I_INVALID_HID;
    const hid_t space = attribute >= 0 ? H5Aget_space(attribute) : H5I_INVALID_HID;
    const bool answer = class == H5T_ENUM && stored >= 0 && H5Tget_size(stored) == 1;
    const bool good = stored >= 0 && space >= 0 && H5Tget_class(stored) == class &&
                      (class != H5T_ENUM || answer) && H5Sget_simple_extent_npoints(space) == 1 &&
                      H5Aread(attribute, answer ? stored : type, value) >= 0;

    if (space >= 0)
        (void)H5Sclose(space);
    if (stored >= 0)
        (void)H5Tclose(stored);
    if (attribute >= 0)
        (void)H5Aclose(attribute);
    return good;
}

static void read_header_field(hid_t h5, const lot_field *field, lot_run_header *header)
{
    char *at = (char *)header + field->offset;
    char *text;

    switch (field->kind) {
    case LOT_KIND_I64:
        (void)read_scalar(h5, field->name, H5T_INTEGER, H5T_NATIVE_INT64, at);
        break;
    case LOT_KIND_F64:
        (void)read_scalar(h5, field->name, H5T_FLOAT, H5T_NATIVE_DOUBLE, at);
        break;
    case LOT_KIND_STR:
        text = read_text(h5, field->name);
        if (text != NULL)
            (void)lot_field_copy(at, field->size, text);
        free(text);
        break;
    case LOT_KIND_BOOL:
        (void)read_scalar(h5, field->name, H5T_ENUM, H5I_INVALID_HID, at);
        if (*at != 0 && *at != 1)
            *at = LOT_NULL_BOOL;
        break;
    }
}

static lot_status check_schema(const char *path, hid_t h5, lot_error *error)
{
    char *schema = read_text(h5, "schema");
    int64_t version = 0;
    lot_status status = LOT_OK;

    if (schema == NULL || strcmp(schema, LOT_ARCHIVE_SCHEMA) != 0)
        status = lot_error_set(error, LOT_SCHEMA, "archive", 0,
                               "%s is not an archive of gpulot: schema is '%.60s'", path,
                               schema != NULL ? schema : "");
    else if (!read_scalar(h5, "schema_version", H5T_INTEGER, H5T_NATIVE_INT64, &version) || version < 1)
        status = damaged(error, path, "schema_version", "is not a number from 1");
    else if (version > LOT_ARCHIVE_SCHEMA_VERSION)
        status = lot_error_set(error, LOT_SCHEMA, "archive", 0,
                               "%s: archive schema version %lld is newer than %d, which this program reads",
                               path, (long long)version, LOT_ARCHIVE_SCHEMA_VERSION);
    free(schema);
    return status;
}

/* Opens an archive of ours; the caller closes *h5. */
static lot_status open_archive(const char *path, hid_t *h5, lot_error *error)
{
    lot_status status;
    hid_t list, opened;

    quiet();
    list = access_list();
    opened = list < 0 ? list : H5Fopen(path, H5F_ACC_RDONLY, list);
    if (opened < 0)
        return h5_error(error, LOT_DAMAGED, "H5Fopen", path);
    (void)H5Pclose(list);
    status = check_schema(path, opened, error);
    if (status != LOT_OK) {
        (void)H5Fclose(opened);
        return status;
    }
    *h5 = opened;
    return LOT_OK;
}

static void read_header(hid_t h5, lot_run *run)
{
    const lot_fields *fields = lot_run_header_fields();

    for (size_t i = 0; i < fields->count; i++)
        read_header_field(h5, &fields->fields[i], &run->header);
    run->tariff_json = read_text(h5, "tariff_json");
}

/* ---- tables, reading ---- */

/* A table as it stands in a file, and how its rows come into memory. */
typedef struct source {
    const char *path;
    hid_t dataset;
    hid_t memory_type;
    hid_t transfer; /* H5P_DEFAULT, or to be closed */
    hsize_t rows;
    lot_columns columns; /* those of ours that the file has */
} source;

static void init_source(source *s, const char *path)
{
    memset(s, 0, sizeof *s);
    s->path = path;
    s->dataset = s->memory_type = H5I_INVALID_HID;
    s->transfer = H5P_DEFAULT;
}

static void close_source(source *s)
{
    if (s->transfer > 0)
        (void)H5Pclose(s->transfer);
    if (s->memory_type >= 0)
        (void)H5Tclose(s->memory_type);
    if (s->dataset >= 0)
        (void)H5Dclose(s->dataset);
    s->memory_type = s->dataset = H5I_INVALID_HID;
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
        type = text_type(column->field->size);
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
static lot_status add_member(source *s, hid_t stored, const lot_column *wanted, lot_error *error)
{
    const int index = H5Tget_member_index(stored, wanted->name);
    lot_column *column = &s->columns.items[s->columns.count];
    hid_t member, type;
    bool good;

    if (index < 0)
        return LOT_OK;
    member = H5Tget_member_type(stored, (unsigned)index);
    type = member >= 0 ? matching_type(member, wanted) : H5I_INVALID_HID;
    *column = *wanted;
    column->at = s->columns.row_bytes;
    good = type >= 0 && H5Tinsert(s->memory_type, wanted->name, column->at, type) >= 0;
    if (type >= 0)
        (void)H5Tclose(type);
    if (member >= 0)
        (void)H5Tclose(member);
    if (!good)
        return lot_error_set(error, LOT_DAMAGED, "archive", 0, "%s: /%s.%s has another type than it must",
                             s->path, s->columns.table, wanted->name);
    s->columns.row_bytes += wanted->field->size;
    s->columns.count++;
    return LOT_OK;
}

/* The type in memory: our columns, packed, as far as the file has them. What it has beyond that is left out.
 */
static lot_status make_memory_type(source *s, const lot_columns *wanted, lot_error *error)
{
    const hid_t stored = H5Dget_type(s->dataset);
    lot_status status = LOT_OK;

    s->columns.table = wanted->table;
    if (stored < 0 || H5Tget_class(stored) != H5T_COMPOUND) {
        status = damaged(error, s->path, wanted->table, "is not a table");
    } else {
        s->memory_type = H5Tcreate(H5T_COMPOUND, wanted->row_bytes);
        for (size_t i = 0; status == LOT_OK && i < wanted->count; i++)
            status = add_member(s, stored, &wanted->items[i], error);
        if (status == LOT_OK && s->columns.count == 0)
            status = damaged(error, s->path, wanted->table, "has no known column");
        else if (status == LOT_OK && H5Tset_size(s->memory_type, s->columns.row_bytes) < 0)
            status = h5_error(error, LOT_DAMAGED, "H5Tset_size", s->path);
    }
    if (stored >= 0)
        (void)H5Tclose(stored);
    return status;
}

/* Counts the rows of an open dataset. Deflate makes at most 1032 bytes out of one: more rows than the stored
 * bytes can hold would only be fill values, and memory asked for them might be any amount. */
static lot_status count_rows(source *s, const char *name, lot_error *error)
{
    const hid_t space = H5Dget_space(s->dataset);
    const hid_t type = H5Dget_type(s->dataset);
    const int dimensions = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    const bool good = dimensions == 1 && type >= 0 && H5Sget_simple_extent_dims(space, &s->rows, NULL) == 1;
    const double bytes = good ? (double)s->rows * (double)H5Tget_size(type) : 0;

    if (type >= 0)
        (void)H5Tclose(type);
    if (space >= 0)
        (void)H5Sclose(space);
    if (!good)
        return damaged(error, s->path, name, "is not a list");
    if (bytes > 1032.0 * (double)H5Dget_storage_size(s->dataset))
        return damaged(error, s->path, name, "claims more rows than it holds");
    return LOT_OK;
}

/* Opens a table for reading; close_source in every case. s->rows is 0 where an optional one is missing. */
static lot_status open_source(source *s, const char *path, hid_t h5, const lot_columns *wanted, bool optional,
                              lot_error *error)
{
    lot_status status;

    init_source(s, path);
    if (H5Lexists(h5, wanted->table, H5P_DEFAULT) <= 0)
        return optional ? LOT_OK : damaged(error, path, wanted->table, "is missing");
    s->dataset = H5Dopen2(h5, wanted->table, H5P_DEFAULT);
    if (s->dataset < 0)
        return h5_error(error, LOT_DAMAGED, "H5Dopen", path);
    status = make_memory_type(s, wanted, error);
    return status == LOT_OK ? count_rows(s, wanted->table, error) : status;
}

/* Reads rows [first, first + count) of a one-dimensional dataset. */
static bool read_items(const source *s, hsize_t first, hsize_t count, void *items)
{
    const hid_t memory = H5Screate_simple(1, &count, NULL);
    const hid_t space = H5Dget_space(s->dataset);
    const bool good = memory >= 0 && space >= 0 &&
                      H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &count, NULL) >= 0 &&
                      H5Dread(s->dataset, s->memory_type, memory, space, s->transfer, items) >= 0;

    if (good) { /* else the error stack is still wanted; the file closes everything */
        (void)H5Sclose(space);
        (void)H5Sclose(memory);
    }
    return good;
}

#define READ_BLOCK 1024

/* Calls `each` with every packed row, a block in memory at a time. */
static lot_status each_row(source *s,
                           lot_status (*each)(void *context, const lot_columns *columns, size_t index,
                                              const void *row, lot_error *error),
                           void *context, lot_error *error)
{
    char *block = s->rows == 0 ? NULL : calloc(READ_BLOCK, s->columns.row_bytes);
    lot_status status = LOT_OK;

    if (block == NULL && s->rows > 0)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for a block of /%s",
                             s->columns.table);
    for (hsize_t first = 0; status == LOT_OK && first < s->rows; first += READ_BLOCK) {
        const hsize_t count = s->rows - first < READ_BLOCK ? s->rows - first : READ_BLOCK;

        if (!read_items(s, first, count, block))
            status = h5_error(error, LOT_DAMAGED, "H5Dread", s->path);
        for (size_t i = 0; status == LOT_OK && i < count; i++)
            status = each(context, &s->columns, (size_t)first + i, block + i * s->columns.row_bytes, error);
    }
    free(block);
    return status;
}

/* ---- a run, reading ---- */

static lot_status take_device(void *context, const lot_columns *columns, size_t index, const void *row,
                              lot_error *error)
{
    lot_run *run = context;
    lot_record_head *head = &run->devices[index];
    size_t count;
    const lot_fields *sections = lot_record_sections(&count);

    for (size_t i = 0; i < count; i++)
        lot_fields_clear(&sections[i], head);
    lot_columns_unpack(columns, row, head);
    if (index > 0 && head->identity.rank <= run->devices[index - 1].identity.rank)
        return lot_error_set(error, LOT_DAMAGED, "archive", 0, "/devices: row %zu is not in rank order",
                             index);
    return LOT_OK;
}

static lot_status take_phase(void *context, const lot_columns *columns, size_t index, const void *row,
                             lot_error *error)
{
    lot_run *run = context;
    lot_phase *phase = &run->phases[index];

    (void)error;
    lot_fields_clear(lot_phase_fields(), phase);
    lot_fields_clear(lot_telemetry_fields(), phase);
    lot_columns_unpack(columns, row, phase);
    return LOT_OK;
}

/* Where the rows of a rank lie in run->phases; false where there is no such rank. */
static bool find_device(const lot_run *run, int64_t rank, size_t *index)
{
    size_t low = 0, high = run->device_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (run->devices[middle].identity.rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    *index = low;
    return low < run->device_count && run->devices[low].identity.rank == rank;
}

static lot_status take_telemetry(void *context, const lot_columns *columns, size_t index, const void *row,
                                 lot_error *error)
{
    lot_run *run = context;
    lot_phase read = {.rank = -1, .row = -1};
    size_t device;

    lot_fields_clear(lot_telemetry_fields(), &read);
    lot_columns_unpack(columns, row, &read);
    if (!find_device(run, read.rank, &device) || read.row < 0 ||
        (size_t)read.row >= run->first_phase[device + 1] - run->first_phase[device])
        return lot_error_set(error, LOT_DAMAGED, "archive", 0,
                             "/phase_telemetry: row %zu belongs to no phase row", index);
    run->phases[run->first_phase[device] + (size_t)read.row].telemetry = read.telemetry;
    return LOT_OK;
}

/* Room for every row of an open table. */
static lot_status allocate(const source *s, size_t size, void **items, size_t *count, lot_error *error)
{
    if (s->rows == 0)
        return LOT_OK;
    *items = s->rows > SIZE_MAX / size ? NULL : calloc((size_t)s->rows, size);
    if (*items == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "%s: no memory for %llu rows of /%s", s->path,
                             (unsigned long long)s->rows, s->columns.table);
    *count = (size_t)s->rows;
    return LOT_OK;
}

static lot_status read_devices(const char *path, hid_t h5, lot_run *run, lot_error *error)
{
    lot_columns columns;
    source s;
    lot_status status;

    lot_columns_devices(&columns);
    status = open_source(&s, path, h5, &columns, false, error);
    if (status == LOT_OK)
        status = allocate(&s, sizeof *run->devices, (void **)&run->devices, &run->device_count, error);
    if (status == LOT_OK)
        status = each_row(&s, take_device, run, error);
    close_source(&s);
    return status;
}

static lot_status read_phases(const char *path, hid_t h5, lot_run *run, lot_error *error)
{
    lot_columns columns;
    source s;
    lot_status status;

    lot_columns_phases(&columns);
    status = open_source(&s, path, h5, &columns, false, error);
    if (status == LOT_OK)
        status = allocate(&s, sizeof *run->phases, (void **)&run->phases, &run->phase_count, error);
    if (status == LOT_OK)
        status = each_row(&s, take_phase, run, error);
    close_source(&s);
    return status == LOT_OK ? lot_run_index(run, error) : status;
}

static lot_status read_phase_telemetry(const char *path, hid_t h5, lot_run *run, lot_error *error)
{
    lot_columns columns;
    source s;
    lot_status status;

    lot_columns_phase_telemetry(&columns);
    status = open_source(&s, path, h5, &columns, true, error);
    if (status == LOT_OK)
        status = each_row(&s, take_telemetry, run, error);
    close_source(&s);
    return status;
}

/* Every rank's head and rows must hold what holds in every record. */
static lot_status check_run(const lot_run *run, lot_error *error)
{
    lot_status status = LOT_OK;

    for (size_t i = 0; status == LOT_OK && i < run->device_count; i++) {
        lot_record record = {.head = run->devices[i]};

        if (run->first_phase != NULL) {
            record.phases = run->phases + run->first_phase[i];
            record.phase_count = run->first_phase[i + 1] - run->first_phase[i];
        }
        status = lot_record_check(&record, error);
    }
    return status;
}

static lot_status read_run(const char *path, bool sealed, bool phases, bool telemetry, lot_run *run,
                           lot_error *error)
{
    hid_t h5 = H5I_INVALID_HID;
    lot_run read;
    lot_status status = open_archive(path, &h5, error);

    if (status != LOT_OK)
        return status;
    lot_run_init(&read);
    read.sealed = sealed;
    read_header(h5, &read);
    status = read_devices(path, h5, &read, error);
    if (status == LOT_OK && phases)
        status = read_phases(path, h5, &read, error);
    if (status == LOT_OK && phases && telemetry)
        status = read_phase_telemetry(path, h5, &read, error);
    if (status == LOT_OK)
        status = check_run(&read, error);
    (void)H5Fclose(h5);
    if (status != LOT_OK) {
        lot_run_free(&read);
        return status;
    }
    *run = read;
    return LOT_OK;
}

/* ---- records, reading ---- */

typedef lot_status (*record_reader)(void *context, const char *json, size_t size, lot_error *error);

static lot_status read_record(const source *s, hsize_t index, record_reader each, void *context,
                              lot_error *error)
{
    char *json = NULL;
    lot_status status;

    if (!read_items(s, index, 1, &json))
        return h5_error(error, LOT_DAMAGED, "H5Dread", s->path);
    if (json == NULL)
        return lot_error_set(error, LOT_DAMAGED, "archive", 0, "%s: record %llu is empty", s->path,
                             (unsigned long long)index);
    status = each(context, json, strlen(json), error);
    (void)H5free_memory(json);
    return status;
}

/* Opens /records; close_source in every case. */
static lot_status open_records(source *s, const char *path, hid_t h5, lot_error *error)
{
    hid_t type;
    bool text;

    init_source(s, path);
    if (H5Lexists(h5, "records", H5P_DEFAULT) <= 0)
        return damaged(error, path, "records", "is missing");
    s->dataset = H5Dopen2(h5, "records", H5P_DEFAULT);
    if (s->dataset < 0)
        return h5_error(error, LOT_DAMAGED, "H5Dopen", path);
    type = H5Dget_type(s->dataset);
    text = type >= 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) > 0;
    s->transfer = small_transfer();
    if (text)
        s->memory_type = H5Tcopy(type);
    if (type >= 0)
        (void)H5Tclose(type);
    if (!text || s->memory_type < 0)
        return damaged(error, path, "records", "is not a list of texts");
    return count_rows(s, "records", error);
}

static lot_status each_record(const char *path, int64_t rank, record_reader each, void *context,
                              lot_error *error)
{
    hid_t h5 = H5I_INVALID_HID;
    source s;
    lot_run run;
    size_t index = 0;
    lot_status status = open_archive(path, &h5, error);

    if (status != LOT_OK)
        return status;
    lot_run_init(&run);
    status = open_records(&s, path, h5, error);
    if (status == LOT_OK)
        status = read_devices(path, h5, &run, error);
    if (status == LOT_OK && s.rows != run.device_count)
        status = damaged(error, path, "records", "has not one text for every row of devices");
    if (status == LOT_OK && rank >= 0 && !find_device(&run, rank, &index))
        status = lot_error_set(error, LOT_USAGE, "--rank", 0, "%s has no rank %lld", path, (long long)rank);
    if (status == LOT_OK && rank >= 0)
        status = read_record(&s, index, each, context, error);
    for (hsize_t i = 0; status == LOT_OK && rank < 0 && i < s.rows; i++)
        status = read_record(&s, i, each, context, error);
    close_source(&s);
    lot_run_free(&run);
    (void)H5Fclose(h5);
    return status;
}

/* ---- files without a seal ---- */

static lot_status pass_over(void *context, const char *json, size_t size, lot_error *error)
{
    (void)context;
    (void)json;
    (void)size;
    (void)error;
    return LOT_OK;
}

#define TRIAL_ENDED   100
#define TRIAL_SECONDS 600

/* Reads everything once and ends: status does not matter, only that it ends. */
static void try_all(const char *path)
{
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM};
    const struct rlimit no_core = {0, 0};
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    lot_error error;
    lot_run run;

    for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++)
        (void)signal(deadly[i], SIG_DFL); /* whatever the caller had set up for itself */

    if (nowhere >= 0)
        (void)dup2(nowhere, STDERR_FILENO);
    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)alarm(TRIAL_SECONDS);
    if (read_run(path, false, true, true, &run, &error) == LOT_OK)
        lot_run_free(&run);
    (void)each_record(path, -1, pass_over, NULL, &error);
    _exit(TRIAL_ENDED);
}

/* Looks at the file before HDF5 does. HDF5 does not survive every damaged file, and without a seal nobody
 * knows whether this one is damaged: a process of its own tries it first. */
static lot_status survive(const char *path, bool *sealed, lot_error *error)
{
    int end = 0;
    pid_t child;
    lot_status status = check_file(path, sealed, error);

    if (status != LOT_OK || *sealed)
        return status;
    child = fork();
    if (child == 0)
        try_all(path);
    if (child < 0)
        return lot_error_errno(error, LOT_IO, "fork", errno, "%s cannot be tried", path);
    while (waitpid(child, &end, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(end) || WEXITSTATUS(end) != TRIAL_ENDED)
        return lot_error_set(error, LOT_DAMAGED, "archive", 0,
                             "%s is damaged: HDF5 does not survive reading it", path);
    return LOT_OK;
}

lot_status lot_archive_read(const char *path, bool telemetry, lot_run *run, lot_error *error)
{
    bool sealed = false;
    const lot_status status = survive(path, &sealed, error);

    return status == LOT_OK ? read_run(path, sealed, true, telemetry, run, error) : status;
}

lot_status lot_archive_read_devices(const char *path, lot_run *run, lot_error *error)
{
    bool sealed = false;
    const lot_status status = survive(path, &sealed, error);

    return status == LOT_OK ? read_run(path, sealed, false, false, run, error) : status;
}

lot_status lot_archive_each_record(const char *path, int64_t rank, record_reader each, void *context,
                                   lot_error *error)
{
    bool sealed = false;
    const lot_status status = survive(path, &sealed, error);

    return status == LOT_OK ? each_record(path, rank, each, context, error) : status;
}

/* ---- a run, rank by rank ---- */

/* The rows of a table one after the other, a block in memory at a time. */
typedef struct cursor {
    source s;
    char *block;
    hsize_t first; /* row of the table that the block begins with */
    hsize_t count; /* rows in the block */
    hsize_t at;    /* next row in the block */
} cursor;

static lot_status open_cursor(cursor *c, const char *path, hid_t h5, const lot_columns *columns,
                              bool optional, lot_error *error)
{
    lot_status status = open_source(&c->s, path, h5, columns, optional, error);

    c->block = NULL;
    c->first = c->count = c->at = 0;
    if (status == LOT_OK && c->s.rows > 0) {
        c->block = calloc(READ_BLOCK, c->s.columns.row_bytes);
        if (c->block == NULL)
            status =
                lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for a block of /%s", columns->table);
    }
    return status;
}

static void close_cursor(cursor *c)
{
    free(c->block);
    close_source(&c->s);
}

/* The row under the cursor, which stays there; NULL at the end. */
static lot_status peek(cursor *c, const void **row, lot_error *error)
{
    *row = NULL;
    if (c->at == c->count) {
        const hsize_t left = c->s.rows - c->first - c->count;

        c->first += c->count;
        c->count = left < READ_BLOCK ? left : READ_BLOCK;
        c->at = 0;
        if (c->count == 0)
            return LOT_OK;
        if (!read_items(&c->s, c->first, c->count, c->block))
            return h5_error(error, LOT_DAMAGED, "H5Dread", c->s.path);
    }
    *row = c->block + c->at * c->s.columns.row_bytes;
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
        lot_columns_unpack(&c->s.columns, row, &read);
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
        lot_columns_unpack(&c->s.columns, row, &read);
        if (read.rank != rank)
            break;
        if (read.row < 0 || (size_t)read.row >= r->count)
            return damaged(error, c->s.path, "phase_telemetry", "has a row that belongs to no phase row");
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
        status = damaged(error, phases->s.path, "phases", "has rows of a rank that is not there or not next");
    if (status == LOT_OK)
        status = peek(telemetry, &row, error);
    if (status == LOT_OK && row != NULL)
        status = damaged(error, telemetry->s.path, "phase_telemetry",
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
        if (status == LOT_OK) {
            const lot_record record = {.head = *head, .phases = r.items, .phase_count = r.count};

            status = lot_record_check(&record, error);
        }
        if (status == LOT_OK)
            status = each(context, head, r.items, r.count, error);
    }
    free(r.items);
    return status == LOT_OK ? check_ends(phases, telemetry, error) : status;
}

static lot_status read_tables(const char *path, hid_t h5, const lot_run *run, device_reader each,
                              void *context, lot_error *error)
{
    lot_columns columns;
    cursor phases, telemetry;
    lot_status status;

    init_source(&telemetry.s, path);
    telemetry.block = NULL;
    lot_columns_phases(&columns);
    status = open_cursor(&phases, path, h5, &columns, false, error);
    lot_columns_phase_telemetry(&columns);
    if (status == LOT_OK)
        status = open_cursor(&telemetry, path, h5, &columns, true, error);
    if (status == LOT_OK)
        status = read_ranks(&phases, &telemetry, run, each, context, error);
    close_cursor(&phases);
    close_cursor(&telemetry);
    return status;
}

lot_status lot_archive_each_device(const char *path, lot_run *run, device_reader each, void *context,
                                   lot_error *error)
{
    hid_t h5 = H5I_INVALID_HID;
    bool sealed = false;
    lot_status status;

    lot_run_init(run);
    status = survive(path, &sealed, error);
    if (status == LOT_OK)
        status = open_archive(path, &h5, error);
    if (status != LOT_OK)
        return status;
    run->sealed = sealed;
    read_header(h5, run);
    status = read_devices(path, h5, run, error);
    if (status == LOT_OK)
        status = read_tables(path, h5, run, each, context, error);
    (void)H5Fclose(h5);
    return status;
}
