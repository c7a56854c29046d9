#include "measure/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"

int lot_rows_stopped(const lot_protocol *p)
{
    return p->stop != NULL && p->stop->signal != 0;
}

void lot_rows_touched(lot_protocol *p, int64_t bytes)
{
    int64_t *touched = &p->record->head.verification.memory_bytes;

    lot_worker_lock(p->worker);
    *touched = (*touched != LOT_NULL_I64 ? *touched : 0) + bytes;
    lot_worker_unlock(p->worker);
}

lot_status lot_rows_step(lot_protocol *p, const char *name, double began, lot_error *error)
{
    lot_step *step;

    lot_worker_lock(p->worker);
    step = lot_record_add_step(p->record);
    if (step != NULL) {
        (void)lot_field_copy(step->step, sizeof step->step, name);
        step->seconds = lot_clock_seconds() - began;
    }
    lot_worker_unlock(p->worker);
    return step != NULL ? LOT_OK
                        : lot_error_set(error, LOT_MEMORY, "realloc", 0, "no memory for the setup's steps");
}

lot_status lot_rows_keep(lot_protocol *p, lot_phase *row, lot_error *error)
{
    lot_phase *added;

    lot_worker_lock(p->worker);
    row->rank = p->record->head.identity.rank;
    row->row = (int64_t)p->record->phase_count;
    added = lot_record_add_phase(p->record);
    if (added != NULL)
        *added = *row;
    lot_worker_unlock(p->worker);
    lot_worker_alive(p->worker);
    if (added == NULL)
        return lot_error_set(error, LOT_MEMORY, "realloc", 0, "no memory for another phase row");
    return p->row(p->row_context, row, error);
}

lot_status lot_rows_digest(lot_protocol *p, const void *output, lot_phase *row, lot_error *error)
{
    const lot_model *model = &p->record->head.synthetic_model;
    lot_verification *verification = &p->record->head.verification;
    char text[17];
    uint64_t digest;
    int finite, differs;
    lot_status status = p->module->digest(p->device, output, model->output_bytes, (lot_dtype)p->config->dtype,
                                          &digest, &finite, error);

    if (status != LOT_OK)
        return status;
    (void)snprintf(text, sizeof text, "%016" PRIx64, digest);
    lot_worker_lock(p->worker);
    if (verification->digest[0] == '\0') {
        memcpy(verification->digest, text, sizeof text);
        verification->passes = verification->digests_differing = verification->nonfinite_passes = 0;
    }
    differs = strcmp(verification->digest, text) != 0;
    verification->passes++;
    verification->digests_differing += differs;
    verification->nonfinite_passes += !finite;
    lot_worker_unlock(p->worker);
    /* A row of several passes keeps the digest of the first that deviates, else the common one. */
    if (row->digests_differing < 1)
        memcpy(row->digest, text, sizeof text);
    row->digests_differing = (row->digests_differing < 0 ? 0 : row->digests_differing) + differs;
    row->finite = (int8_t)(row->finite != 0 && finite);
    return LOT_OK;
}
