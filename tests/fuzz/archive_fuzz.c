/* HDF5 files that are well made and mean anything: the bytes decide which tables there are, of which shape,
 * of which members in which type and order, and what stands in them. The reader must refuse them with a
 * reason or read a run that holds. HDF5 itself is not what is tried here: the file is sealed and so read
 * without a trial. */
#include <hdf5.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/archive_h5.h"
#include "io/columns.h"
#include "io/seal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct chooser {
    const uint8_t *at;
    size_t left;
} chooser;

/* A choice of 0..of-1; the last one is the usual, and what is chosen where the input has ended. */
static unsigned choose(chooser *c, unsigned of)
{
    if (c->left == 0)
        return of - 1;
    c->left--;
    return *c->at++ % of;
}

static hid_t text_type(size_t size)
{
    const hid_t type = H5Tcopy(H5T_C_S1);

    (void)H5Tset_size(type, size);
    (void)H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
}

/* The right type for a column most of the time, else any other. */
static hid_t member_type(chooser *c, const lot_column *column)
{
    switch (choose(c, 24)) {
    case 0:
        return H5Tcopy(H5T_STD_I8BE);
    case 1:
        return H5Tcopy(H5T_IEEE_F32BE);
    case 2:
        return text_type(H5T_VARIABLE);
    case 3:
        return text_type(1 + choose(c, 200));
    case 4:
        return H5Tcopy(H5T_STD_U64LE);
    case 5:
        return H5Tvlen_create(H5T_STD_I32LE);
    default:
        break;
    }
    switch (column->field->kind) {
    case LOT_KIND_I64:
        return H5Tcopy(H5T_STD_I64LE);
    case LOT_KIND_F64:
        return H5Tcopy(H5T_IEEE_F64LE);
    case LOT_KIND_STR:
        return text_type(column->field->size);
    case LOT_KIND_BOOL:
        return H5Tcopy(H5T_STD_I8LE);
    }
    abort();
}

/* A compound of most columns; members may be left out, of another type, or unknown. */
static hid_t table_type(chooser *c, const lot_columns *columns)
{
    const size_t most = 16384;
    const hid_t type = H5Tcreate(H5T_COMPOUND, most);
    size_t at = 0;

    for (size_t i = 0; i < columns->count; i++) {
        const unsigned choice = choose(c, 32);
        const hid_t member = member_type(c, &columns->items[i]);
        const size_t bytes = H5Tget_size(member);

        if (choice != 0 && at + bytes <= most &&
            H5Tinsert(type, choice == 1 ? "added_later" : columns->items[i].name, at, member) >= 0)
            at += bytes;
        (void)H5Tclose(member);
    }
    if (at == 0)
        (void)H5Tinsert(type, "only", 0, H5T_STD_I8LE), at = 1;
    (void)H5Tset_size(type, at);
    return type;
}

/* Rows of our own kind where the type is ours, bytes of the input where it is not. */
static void fill(chooser *c, hid_t dataset, hid_t type, size_t rows)
{
    const size_t bytes = rows * H5Tget_size(type);
    char *memory = calloc(bytes + 1, 1);

    if (memory == NULL || H5Tdetect_class(type, H5T_VLEN) > 0 || H5Tdetect_class(type, H5T_STRING) < 0) {
        free(memory);
        return;
    }
    for (size_t i = 0; i < bytes && c->left > 0; i++)
        memory[i] = (char)choose(c, 256);
    /* A variable-length text in memory is a pointer: never one made of the input's bytes. */
    for (int i = 0; i < H5Tget_nmembers(type); i++) {
        const hid_t member = H5Tget_member_type(type, (unsigned)i);

        if (H5Tis_variable_str(member) > 0)
            for (size_t row = 0; row < rows; row++)
                memset(memory + row * H5Tget_size(type) + H5Tget_member_offset(type, (unsigned)i), 0,
                       sizeof(void *));
        (void)H5Tclose(member);
    }
    (void)H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, memory);
    free(memory);
}

static void make_table(chooser *c, hid_t file, const lot_columns *columns)
{
    const unsigned shape = choose(c, 12);
    const hsize_t rows[2] = {shape == 0 ? (hsize_t)1 << 40 : shape == 1 ? 0 : 1 + choose(c, 4), 2};
    const hsize_t unlimited[2] = {H5S_UNLIMITED, 2}, chunk[2] = {4, 2};
    const int dimensions = shape == 2 ? 2 : 1;
    const hid_t space = shape == 3 ? H5Screate(H5S_SCALAR) : H5Screate_simple(dimensions, rows, unlimited);
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    const hid_t type = shape == 4 ? H5Tcopy(H5T_STD_I32LE) : table_type(c, columns);
    hid_t dataset;

    if (shape == 5)
        return;
    if (shape != 3)
        (void)H5Pset_chunk(list, dimensions, chunk);
    dataset = H5Dcreate2(file, columns->table, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    if (dataset >= 0 && shape > 4)
        fill(c, dataset, type, (size_t)rows[0]);
    if (dataset >= 0)
        (void)H5Dclose(dataset);
    (void)H5Tclose(type);
    (void)H5Pclose(list);
    (void)H5Sclose(space);
}

static void make_attribute(chooser *c, hid_t file, const char *name, const char *text, int64_t number)
{
    const hsize_t two = 2;
    const hid_t space = choose(c, 12) == 0 ? H5Screate_simple(1, &two, NULL) : H5Screate(H5S_SCALAR);
    const unsigned kind = choose(c, 10);
    const hid_t type = kind == 0      ? H5Tcopy(H5T_NATIVE_DOUBLE)
                       : kind == 1    ? text_type(3)
                       : kind == 2    ? H5Tcopy(H5T_NATIVE_INT64)
                       : text != NULL ? text_type(H5T_VARIABLE)
                                      : H5Tcopy(H5T_NATIVE_INT64);
    const hid_t attribute = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    const char *texts[2] = {text, text};
    int64_t numbers[2] = {number, number};

    if (attribute >= 0) {
        (void)H5Awrite(attribute, type,
                       H5Tis_variable_str(type) > 0 ? (const void *)texts : (const void *)numbers);
        (void)H5Aclose(attribute);
    }
    (void)H5Tclose(type);
    (void)H5Sclose(space);
}

static void make_records(chooser *c, hid_t file)
{
    const hsize_t rows = choose(c, 4);
    const hid_t space = H5Screate_simple(1, &rows, NULL);
    const hid_t type = choose(c, 6) == 0 ? H5Tcopy(H5T_STD_I64LE) : text_type(H5T_VARIABLE);
    const hid_t dataset = H5Dcreate2(file, "records", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const char *texts[4] = {"{}", NULL, "", "x"};

    if (dataset >= 0 && H5Tis_variable_str(type) > 0)
        (void)H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts);
    if (dataset >= 0)
        (void)H5Dclose(dataset);
    (void)H5Tclose(type);
    (void)H5Sclose(space);
}

static void make_file(chooser *c, const char *path)
{
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    lot_columns columns;

    make_attribute(c, file, "schema", "gpulot.archive", 0);
    make_attribute(c, file, "schema_version", NULL, 1);
    make_attribute(c, file, "run_id", "run", 0);
    make_attribute(c, file, "ranks", NULL, 3);
    make_attribute(c, file, "complete", NULL, 1);
    make_attribute(c, file, "tariff_json", "{}", 0);
    lot_columns_devices(&columns);
    make_table(c, file, &columns);
    lot_columns_phases(&columns);
    make_table(c, file, &columns);
    lot_columns_phase_telemetry(&columns);
    make_table(c, file, &columns);
    make_records(c, file);
    (void)H5Fclose(file);
}

static lot_status see(void *context, const char *json, size_t size, lot_error *error)
{
    (void)context;
    (void)error;
    if (json[size] != '\0')
        abort();
    return LOT_OK;
}

static void check(const lot_run *run)
{
    for (size_t i = 0; i < run->device_count; i++) {
        lot_error error;
        const lot_record record = {.head = run->devices[i],
                                   .phases = run->phases + run->first_phase[i],
                                   .phase_count = run->first_phase[i + 1] - run->first_phase[i]};

        if (lot_record_check(&record, &error) != LOT_OK)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const folders[] = {"/dev/shm", "/tmp"};
    chooser c = {data, size};
    char path[64];
    lot_error error = {0};
    lot_run run;

    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    (void)snprintf(path, sizeof path, "%s/gpulot-fuzz.%ld.h5", folders[access(folders[0], W_OK) == 0 ? 0 : 1],
                   (long)getpid());
    make_file(&c, path);
    if (lot_seal_write(path, &error) != LOT_OK)
        abort();
    if (lot_archive_read_rank(path, 1, &run, &error) == LOT_OK)
        lot_run_free(&run);
    if (lot_archive_read(path, true, &run, &error) == LOT_OK) {
        check(&run);
        lot_run_free(&run);
    } else if (error.text[0] == '\0') {
        abort();
    }
    (void)lot_archive_each_record(path, -1, see, NULL, &error);
    (void)unlink(path);
    return 0;
}
