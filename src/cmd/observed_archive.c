#include "cmd/observed_archive.h"

#include "io/archive_h5.h"

lot_status lot_observed_archive_read(const char *path, lot_observed_run *observed, char **tariff,
                                     lot_error *error)
{
    lot_observed_run made;
    lot_run run;
    lot_status status = lot_archive_read(path, true, &run, error);

    if (status != LOT_OK)
        return status;
    lot_observed_init(&made);
    status = lot_observed_from_run(&made, &run, error);
    if (status == LOT_OK) {
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
