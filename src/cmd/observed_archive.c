#include "cmd/observed_archive.h"

#include "io/archive_h5.h"

static lot_status add(void *context, const lot_record_head *head, const lot_phase *rows, size_t count,
                      lot_error *error)
{
    return lot_observed_add(context, head, rows, count, error);
}

lot_status lot_observed_archive_read(const char *path, bool keep_repeats, lot_observed_run *observed,
                                     char **tariff, lot_error *error)
{
    lot_observed_run made;
    lot_run run;
    lot_status status;

    lot_observed_init(&made);
    made.keep_repeats = keep_repeats;
    status = lot_archive_each_device(path, &run, add, &made, error);
    if (status == LOT_OK) {
        made.header = run.header;
        *observed = made;
        if (tariff != NULL) {
            *tariff = run.tariff_json;
            run.tariff_json = NULL;
        }
    } else {
        lot_observed_free(&made);
    }
    lot_run_free(&run);
    return status;
}
