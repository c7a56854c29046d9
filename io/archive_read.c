#include "io/archive_read.h"

#include <stdlib.h>
#include <string.h>

#include "io/archive_h5.h"
#include "io/archive_header.h"
#include "io/archive_open.h"
#include "io/archive_table.h"
#include "io/h5.h"

/* ---- a run ---- */

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

static lot_status take_telemetry(void *context, const lot_columns *columns, size_t index, const void *row,
                                 lot_error *error)
{
    lot_run *run = context;
    lot_phase read = {.rank = -1, .row = -1};
    const lot_record_head *head;
    size_t device;

    lot_fields_clear(lot_telemetry_fields(), &read);
    lot_columns_unpack(columns, row, &read);
    head = lot_run_device(run, read.rank);
    device = head != NULL ? (size_t)(head - run->devices) : 0;
    if (head == NULL || read.row < 0 ||
        (size_t)read.row >= run->first_phase[device + 1] - run->first_phase[device])
        return lot_error_set(error, LOT_DAMAGED, "archive", 0,
                             "/phase_telemetry: row %zu belongs to no phase row", index);
    run->phases[run->first_phase[device] + (size_t)read.row].telemetry = read.telemetry;
    return LOT_OK;
}

/* Room for every row of an open table; NULL where it has none, and where *status is LOT_MEMORY. */
static void *allocate(const lot_archive_table *table, size_t size, lot_status *status, lot_error *error)
{
    void *items = NULL;

    if (table->rows > 0 && table->rows <= SIZE_MAX / size)
        items = calloc((size_t)table->rows, size);
    if (table->rows > 0 && items == NULL)
        *status = lot_error_set(error, LOT_MEMORY, "calloc", 0, "%s: no memory for %llu rows of /%s",
                                table->path, (unsigned long long)table->rows, table->columns.table);
    return items;
}

lot_status lot_archive_load_devices(const char *path, hid_t h5, lot_run *run, lot_error *error)
{
    lot_columns columns;
    lot_archive_table table;
    lot_status status;

    lot_columns_devices(&columns);
    status = lot_archive_table_open(&table, path, h5, &columns, false, error);
    if (status == LOT_OK)
        run->devices = allocate(&table, sizeof *run->devices, &status, error);
    if (status == LOT_OK) {
        run->device_count = (size_t)table.rows;
        status = lot_archive_table_each(&table, take_device, run, error);
    }
    lot_archive_table_close(&table);
    return status;
}

static lot_status read_phases(const char *path, hid_t h5, lot_run *run, lot_error *error)
{
    lot_columns columns;
    lot_archive_table table;
    lot_status status;

    lot_columns_phases(&columns);
    status = lot_archive_table_open(&table, path, h5, &columns, false, error);
    if (status == LOT_OK)
        run->phases = allocate(&table, sizeof *run->phases, &status, error);
    if (status == LOT_OK) {
        run->phase_count = (size_t)table.rows;
        status = lot_archive_table_each(&table, take_phase, run, error);
    }
    lot_archive_table_close(&table);
    return status == LOT_OK ? lot_run_index(run, error) : status;
}

static lot_status read_phase_telemetry(const char *path, hid_t h5, lot_run *run, lot_error *error)
{
    lot_columns columns;
    lot_archive_table table;
    lot_status status;

    lot_columns_phase_telemetry(&columns);
    status = lot_archive_table_open(&table, path, h5, &columns, true, error);
    if (status == LOT_OK)
        status = lot_archive_table_each(&table, take_telemetry, run, error);
    lot_archive_table_close(&table);
    return status;
}

/* What holds in every record must hold here; the error names the archive, which may be one of several. */
static lot_status check_record(const char *path, const lot_record *record, lot_error *error)
{
    const lot_status status = lot_record_check(record, error);

    return status == LOT_OK
               ? LOT_OK
               : lot_error_set(error, status, error->call, error->code, "%s: %s", path, error->text);
}

lot_status lot_archive_check_rank(const char *path, const lot_record_head *head, lot_phase *rows,
                                  size_t count, lot_error *error)
{
    const lot_record record = {.head = *head, .phases = rows, .phase_count = count};
    const int64_t told = head->outcome.phase_rows;

    if (told >= 0 && (uint64_t)told != count)
        return lot_error_set(error, LOT_DAMAGED, "archive", 0,
                             "%s: /phases has %zu rows of rank %lld where its outcome tells %lld", path,
                             count, (long long)head->identity.rank, (long long)told);
    return check_record(path, &record, error);
}

/* Every rank's head, and its rows where they were read, must hold what holds in every record. */
static lot_status check_run(const char *path, const lot_run *run, lot_error *error)
{
    lot_status status = LOT_OK;

    for (size_t i = 0; status == LOT_OK && i < run->device_count; i++) {
        const lot_record_head *head = &run->devices[i];

        if (run->first_phase != NULL) {
            const size_t first = run->first_phase[i];

            status = lot_archive_check_rank(path, head, run->phases + first, run->first_phase[i + 1] - first,
                                            error);
        } else {
            const lot_record record = {.head = *head};

            status = check_record(path, &record, error);
        }
    }
    return status;
}

static lot_status read_run(const char *path, bool sealed, bool phases, bool telemetry, lot_run *run,
                           lot_error *error)
{
    hid_t h5 = H5I_INVALID_HID;
    lot_run read;
    lot_status status = lot_archive_open(path, &h5, error);

    if (status != LOT_OK)
        return status;
    lot_run_init(&read);
    read.sealed = sealed;
    status = lot_archive_header_read(path, h5, &read, error);
    if (status == LOT_OK)
        status = lot_archive_load_devices(path, h5, &read, error);
    if (status == LOT_OK && phases)
        status = read_phases(path, h5, &read, error);
    if (status == LOT_OK && phases && telemetry)
        status = read_phase_telemetry(path, h5, &read, error);
    if (status == LOT_OK)
        status = check_run(path, &read, error);
    (void)H5Fclose(h5);
    if (status != LOT_OK) {
        lot_run_free(&read);
        return status;
    }
    *run = read;
    return LOT_OK;
}

/* ---- records ---- */

typedef lot_status (*record_reader)(void *context, const char *json, size_t size, lot_error *error);

static lot_status read_record(const lot_archive_table *table, hsize_t index, record_reader each,
                              void *context, lot_error *error)
{
    char *json = NULL;
    lot_status status;

    if (!lot_archive_table_read(table, index, 1, &json))
        return lot_h5_error(error, LOT_DAMAGED, "H5Dread", table->path);
    if (json == NULL)
        return lot_error_set(error, LOT_DAMAGED, "archive", 0, "%s: record %llu is empty", table->path,
                             (unsigned long long)index);
    status = each(context, json, strlen(json), error);
    (void)H5free_memory(json);
    return status;
}

/* Opens /records; lot_archive_table_close in every case. */
static lot_status open_records(lot_archive_table *table, const char *path, hid_t h5, lot_error *error)
{
    hid_t type;
    bool text;

    lot_status status;

    lot_archive_table_init(table, path);
    status = lot_archive_table_dataset(table, h5, "records", error);
    if (status != LOT_OK)
        return status;
    type = H5Dget_type(table->dataset);
    text = type >= 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) > 0;
    table->transfer = lot_h5_text_transfer();
    if (text)
        table->memory_type = H5Tcopy(type);
    if (type >= 0)
        (void)H5Tclose(type);
    if (!text || table->memory_type < 0)
        return lot_archive_damaged(error, path, "records", "is not a list of texts");
    return lot_archive_table_count(table, "records", error);
}

static lot_status each_record(const char *path, int64_t rank, record_reader each, void *context,
                              lot_error *error)
{
    hid_t h5 = H5I_INVALID_HID;
    lot_archive_table table;
    lot_run run;
    const lot_record_head *head = NULL;
    lot_status status = lot_archive_open(path, &h5, error);

    if (status != LOT_OK)
        return status;
    lot_run_init(&run);
    status = open_records(&table, path, h5, error);
    if (status == LOT_OK)
        status = lot_archive_load_devices(path, h5, &run, error);
    if (status == LOT_OK && table.rows != run.device_count)
        status = lot_archive_damaged(error, path, "records", "has not one text for every row of devices");
    if (status == LOT_OK && rank >= 0 && (head = lot_run_device(&run, rank)) == NULL)
        status = lot_error_set(error, LOT_USAGE, "--rank", 0, "%s has no rank %lld", path, (long long)rank);
    if (status == LOT_OK && rank >= 0)
        status = read_record(&table, (hsize_t)(head - run.devices), each, context, error);
    for (hsize_t i = 0; status == LOT_OK && rank < 0 && i < table.rows; i++)
        status = read_record(&table, i, each, context, error);
    lot_archive_table_close(&table);
    lot_run_free(&run);
    (void)H5Fclose(h5);
    return status;
}

/* ---- both, once it is known that HDF5 survives the file ---- */

static lot_status pass_over(void *context, const char *json, size_t size, lot_error *error)
{
    (void)context;
    (void)json;
    (void)size;
    (void)error;
    return LOT_OK;
}

static void read_all(const char *path)
{
    lot_error error;
    lot_run run;

    if (read_run(path, false, true, true, &run, &error) == LOT_OK)
        lot_run_free(&run);
    (void)each_record(path, -1, pass_over, NULL, &error);
}

lot_status lot_archive_admit(const char *path, bool *sealed, lot_error *error)
{
    return lot_archive_try(path, read_all, sealed, error);
}

lot_status lot_archive_read(const char *path, bool telemetry, lot_run *run, lot_error *error)
{
    bool sealed = false;
    const lot_status status = lot_archive_admit(path, &sealed, error);

    return status == LOT_OK ? read_run(path, sealed, true, telemetry, run, error) : status;
}

lot_status lot_archive_read_devices(const char *path, lot_run *run, lot_error *error)
{
    bool sealed = false;
    const lot_status status = lot_archive_admit(path, &sealed, error);

    return status == LOT_OK ? read_run(path, sealed, false, false, run, error) : status;
}

lot_status lot_archive_each_record(const char *path, int64_t rank, record_reader each, void *context,
                                   lot_error *error)
{
    bool sealed = false;
    const lot_status status = lot_archive_admit(path, &sealed, error);

    return status == LOT_OK ? each_record(path, rank, each, context, error) : status;
}
