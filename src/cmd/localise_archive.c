#include "cmd/localise_archive.h"

#include "analysis/localise.h"
#include "io/archive_h5.h"
#include "io/record_json.h"

static lot_status take(void *context, const char *json, size_t size, lot_error *error)
{
    return lot_record_json_read(json, size, context, error);
}

static lot_status read_record(const char *path, int64_t rank, lot_record *record, lot_error *error)
{
    lot_record_init(record);
    return lot_archive_each_record(path, rank, take, record, error);
}

static lot_status localise(const char *path, lot_check_result *result, size_t index, lot_error *error)
{
    const int64_t rank = result->devices[index].rank;
    const int64_t against = lot_localise_base(result, index);
    lot_record other, base;
    lot_status status = read_record(path, rank, &other, error);

    if (status != LOT_OK)
        return status;
    lot_record_init(&base);
    if (other.trace_count > 0) {
        status = lot_localise_compare(&other, &other, result, error);
        if (status == LOT_OK && against != rank)
            status = read_record(path, against, &base, error);
        if (status == LOT_OK && against != rank)
            status = lot_localise_compare(&base, &other, result, error);
    }
    lot_record_free(&other);
    lot_record_free(&base);
    return status;
}

lot_status lot_localise_archive(const char *path, lot_check_result *result, lot_error *error)
{
    lot_status status = LOT_OK;

    for (size_t i = 0; status == LOT_OK && i < result->device_count; i++)
        if (lot_localise_wanted(&result->devices[i]))
            status = localise(path, result, i, error);
    return status;
}
