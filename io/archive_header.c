#include "io/archive_header.h"

#include <stdlib.h>
#include <string.h>

#include "io/archive_table.h"
#include "io/h5.h"

/* A header field as a root attribute; what is not known has none. */
static bool write_header_field(hid_t root, const lot_field *field, const lot_run_header *header)
{
    const char *at = (const char *)header + field->offset;

    if (lot_field_is_null(field, header))
        return true;
    switch (field->kind) {
    case LOT_KIND_I64:
        return lot_h5_write_scalar(root, field->name, H5T_NATIVE_INT64, at);
    case LOT_KIND_F64:
        return lot_h5_write_scalar(root, field->name, H5T_NATIVE_DOUBLE, at);
    case LOT_KIND_STR:
        return lot_h5_write_text(root, field->name, at);
    case LOT_KIND_BOOL:
        return lot_h5_write_answer(root, field->name, *at != 0);
    }
    return false;
}

bool lot_archive_header_write(hid_t h5, const lot_run_header *header, const char *tariff_json)
{
    const lot_fields *fields = lot_run_header_fields();
    const int64_t version = LOT_ARCHIVE_SCHEMA_VERSION;
    bool good = lot_h5_write_text(h5, "schema", LOT_ARCHIVE_SCHEMA) &&
                lot_h5_write_text(h5, "description", LOT_ARCHIVE_DESCRIPTION) &&
                lot_h5_write_scalar(h5, "schema_version", H5T_NATIVE_INT64, &version);

    for (size_t i = 0; good && i < fields->count; i++)
        good = write_header_field(h5, &fields->fields[i], header);
    return good && (tariff_json == NULL || lot_h5_write_text(h5, "tariff_json", tariff_json));
}

static void read_header_field(hid_t h5, const lot_field *field, lot_run_header *header)
{
    char *at = (char *)header + field->offset;
    char *text;

    switch (field->kind) {
    case LOT_KIND_I64:
        (void)lot_h5_read_scalar(h5, field->name, H5T_INTEGER, H5T_NATIVE_INT64, at);
        break;
    case LOT_KIND_F64:
        (void)lot_h5_read_scalar(h5, field->name, H5T_FLOAT, H5T_NATIVE_DOUBLE, at);
        break;
    case LOT_KIND_STR:
        text = lot_h5_read_text(h5, field->name);
        if (text != NULL)
            (void)lot_field_copy(at, field->size, text);
        free(text);
        break;
    case LOT_KIND_BOOL:
        (void)lot_h5_read_scalar(h5, field->name, H5T_ENUM, H5I_INVALID_HID, at);
        if (*at != 0 && *at != 1)
            *at = LOT_NULL_BOOL;
        break;
    }
}

lot_status lot_archive_header_check(const char *path, hid_t h5, lot_error *error)
{
    char *schema = lot_h5_read_text(h5, "schema");
    int64_t version = 0;
    lot_status status = LOT_OK;

    if (schema == NULL || strcmp(schema, LOT_ARCHIVE_SCHEMA) != 0)
        status = lot_error_set(error, LOT_SCHEMA, "archive", 0,
                               "%s is not an archive of gpulot: schema is '%.60s'", path,
                               schema != NULL ? schema : "");
    else if (!lot_h5_read_scalar(h5, "schema_version", H5T_INTEGER, H5T_NATIVE_INT64, &version) ||
             version < 1)
        status = lot_archive_damaged(error, path, "schema_version", "is not a number from 1");
    else if (version > LOT_ARCHIVE_SCHEMA_VERSION)
        status = lot_error_set(error, LOT_SCHEMA, "archive", 0,
                               "%s: archive schema version %lld is newer than %d, which this program reads",
                               path, (long long)version, LOT_ARCHIVE_SCHEMA_VERSION);
    free(schema);
    return status;
}

lot_status lot_archive_header_read(const char *path, hid_t h5, lot_run *run, lot_error *error)
{
    const lot_fields *fields = lot_run_header_fields();
    const lot_field *beyond;

    for (size_t i = 0; i < fields->count; i++)
        read_header_field(h5, &fields->fields[i], &run->header);
    run->tariff_json = lot_h5_read_text(h5, "tariff_json");
    beyond = lot_fields_beyond(fields, &run->header);
    return beyond == NULL
               ? LOT_OK
               : lot_archive_damaged(error, path, beyond->name, "is negative or beyond what can be measured");
}
