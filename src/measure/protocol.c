#include "measure/protocol.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/count.h"
#include "measure/reference.h"
#include "measure/rows.h"
#include "measure/soak.h"
#include "measure/trace.h"

const char *lot_group_name(lot_group group)
{
    static const char *const names[] = {
#define LOT_GROUP_NAME(code, name) [code] = name,
        LOT_GROUP_LIST(LOT_GROUP_NAME)
#undef LOT_GROUP_NAME
    };

    return names[group];
}

/* ---- phases ---- */

static lot_status load(void *context, lot_error *error)
{
    return lot_workload_load(context, error);
}

static lot_status inputs(void *context, lot_error *error)
{
    return lot_workload_inputs(context, error);
}

static lot_status forward(void *context, lot_error *error)
{
    return lot_workload_forward(context, error);
}

/* A phase of one span that is not a pass. */
static lot_status simple_phase(lot_protocol *p, const char *name, lot_work work, lot_error *error)
{
    lot_phase row;
    lot_status status;

    p->at = name;
    status = lot_phase_begin(&p->runner, name, "together", 0, &row, error);
    if (status == LOT_OK)
        status = lot_phase_span(&p->runner, work, &p->workload, 0, &row, error);
    if (status == LOT_OK)
        status = lot_phase_end(&p->runner, &row, error);
    return status == LOT_OK ? lot_rows_keep(p, &row, error) : status;
}

/* A row of `passes` forward passes. Each is digested outside the timed spans; the last output still exists
 * when the end values are read, and is dropped afterwards unless `keep_output`. */
static lot_status forward_phase(lot_protocol *p, const char *name, const char *schedule, int64_t repeat,
                                int64_t passes, int keep_output, lot_error *error)
{
    lot_phase row;
    lot_status status;

    p->at = name;
    status = lot_phase_begin(&p->runner, name, schedule, repeat, &row, error);
    for (int64_t pass = 0; status == LOT_OK && pass < passes && !(pass > 0 && lot_rows_stopped(p)); pass++) {
        lot_workload_drop(&p->workload);
        status = lot_phase_span(&p->runner, forward, &p->workload, 1, &row, error);
        if (status == LOT_OK && pass + 1 == passes)
            status = lot_phase_end(&p->runner, &row, error);
        if (status == LOT_OK)
            status = lot_rows_digest(p, p->workload.output, &row, error);
        lot_worker_alive(p->worker);
    }
    if (status == LOT_OK && row.passes < passes) /* interrupted among the warm-up passes */
        status = lot_phase_end(&p->runner, &row, error);
    if (status == LOT_OK)
        status = lot_rows_keep(p, &row, error);
    if (!keep_output)
        lot_workload_drop(&p->workload);
    return status;
}

/* ---- the groups ---- */

static lot_status plan(lot_protocol *p, lot_error *error)
{
    const double began = lot_clock_seconds();
    lot_plan_facts layer_1 = p->record->head.layer_1;
    lot_plan_facts layer_2 = p->record->head.layer_2;
    lot_status status;

    p->at = "plan";
    status = lot_workload_plan(&p->workload, &layer_1, &layer_2, error);
    if (status != LOT_OK)
        return status;
    lot_worker_lock(p->worker);
    p->record->head.layer_1 = layer_1;
    p->record->head.layer_2 = layer_2;
    lot_worker_unlock(p->worker);
    return lot_rows_step(p, "plan", began, error);
}

static lot_status group_load(lot_protocol *p, lot_error *error)
{
    lot_status status = simple_phase(p, "model_load", load, error);

    if (status == LOT_OK)
        status = simple_phase(p, "inputs", inputs, error);
    if (status == LOT_OK)
        status = plan(p, error);
    return status;
}

/* Keeps the sampled rows of the first output; the reference is worked out later. */
static lot_status sample_output(lot_protocol *p, lot_error *error)
{
    const lot_workload *w = &p->workload;
    const lot_model *model = &p->record->head.synthetic_model;
    const int64_t row_bytes = w->width * (int64_t)lot_dtype_bytes(w->dtype);
    const double began = lot_clock_seconds();
    lot_status status = LOT_OK;

    p->at = "sample_output";
    lot_rows_touched(p, model->weight_bytes + model->input_bytes + model->hidden_bytes + model->output_bytes);
    p->sampled_count = lot_reference_sample(w->rows, p->sampled);
    p->sampled_outputs = malloc((size_t)p->sampled_count * (size_t)row_bytes);
    if (p->sampled_outputs == NULL)
        return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for the sampled output rows");
    for (int i = 0; status == LOT_OK && i < p->sampled_count; i++)
        status = p->module->download(p->device, (char *)p->sampled_outputs + i * row_bytes,
                                     (const char *)w->output + p->sampled[i] * row_bytes, row_bytes, error);
    return status == LOT_OK ? lot_rows_step(p, p->at, began, error) : status;
}

static lot_status group_cold(lot_protocol *p, lot_error *error)
{
    lot_status status = forward_phase(p, "cold_forward", "together", 0, 1, 1, error);

    if (status == LOT_OK)
        status = sample_output(p, error);
    lot_workload_drop(&p->workload);
    return status;
}

static lot_status group_warmup(lot_protocol *p, lot_error *error)
{
    return p->config->warmup > 0 ? forward_phase(p, "warmup", "together", 0, p->config->warmup, 0, error)
                                 : LOT_OK;
}

static lot_status group_warm(lot_protocol *p, lot_error *error)
{
    lot_status status = LOT_OK;

    for (int64_t i = 0; status == LOT_OK && i < p->config->repeats && !lot_rows_stopped(p); i++) {
        if (p->config->cold_l2)
            status = p->module->flush_cache(p->device, error);
        if (status == LOT_OK)
            status = forward_phase(p, "warm_forward", p->schedule, p->next_repeat++, 1, 0, error);
    }
    return status;
}

static lot_status group_soak(lot_protocol *p, lot_error *error)
{
    p->at = "soak";
    return p->config->soak_seconds > 0 ? lot_soak_run(p, error) : LOT_OK;
}

static lot_status group_localise(lot_protocol *p, lot_error *error)
{
    const double began = lot_clock_seconds();
    lot_status status = LOT_OK;

    p->at = "localise";
    if (p->config->localise)
        status = lot_trace_run(p, error);
    return status == LOT_OK && p->config->localise ? lot_rows_step(p, p->at, began, error) : status;
}

static lot_status group_verify(lot_protocol *p, lot_error *error)
{
    const lot_workload *w = &p->workload;
    const int64_t cpus = p->record->head.environment.cpus_bound;
    const lot_reference_task task = {.seed = w->seed,
                                     .rows = w->rows,
                                     .width = w->width,
                                     .hidden = w->hidden,
                                     .dtype = w->dtype,
                                     .math = w->math,
                                     .activation = w->activation,
                                     .threads = cpus > 0 ? (int)cpus : 1};
    const double began = lot_clock_seconds();
    lot_verification verification = p->record->head.verification;
    lot_status status;

    p->at = "reference";
    if (p->sampled_outputs == NULL)
        return LOT_OK;
    status =
        lot_reference_compare(&task, p->sampled, p->sampled_count, p->sampled_outputs, &verification, error);
    if (status != LOT_OK)
        return status;
    lot_worker_lock(p->worker);
    p->record->head.verification = verification;
    lot_worker_unlock(p->worker);
    return lot_rows_step(p, p->at, began, error);
}

lot_status lot_protocol_stopped(const lot_stop *stop, lot_error *error)
{
    const int number = (int)stop->signal;

    if (stop->rank >= 0)
        return lot_error_set(error, LOT_INTERRUPTED, "signal", number, "stopped by signal %d to rank %d",
                             number, (int)stop->rank);
    return lot_error_set(error, LOT_INTERRUPTED, "signal", number, "stopped by signal %d", number);
}

lot_status lot_protocol_run(void *context, lot_error *error)
{
    static lot_status (*const groups[LOT_GROUP_COUNT])(lot_protocol *, lot_error *) = {
        [LOT_GROUP_LOAD] = group_load,     [LOT_GROUP_COLD] = group_cold,
        [LOT_GROUP_WARMUP] = group_warmup, [LOT_GROUP_WARM] = group_warm,
        [LOT_GROUP_SOAK] = group_soak,     [LOT_GROUP_LOCALISE] = group_localise,
        [LOT_GROUP_VERIFY] = group_verify,
    };
    const lot_group_request *request = context;
    lot_protocol *p = request->protocol;
    lot_status status = LOT_OK;

    if (p->failed)
        return LOT_OK;
    if (lot_rows_stopped(p) && request->group != LOT_GROUP_VERIFY)
        return lot_protocol_stopped(p->stop, error);
    status = groups[request->group](p, error);
    if (status != LOT_OK) {
        lot_worker_lock(p->worker);
        p->failed = 1;
        lot_record_fail(p->record, p->at, error);
        lot_worker_unlock(p->worker);
    } else if (lot_rows_stopped(p) && request->group != LOT_GROUP_VERIFY) {
        status = lot_protocol_stopped(p->stop, error);
    }
    return status;
}

/* ---- the end ---- */

static lot_status keep_samples(lot_protocol *p, const lot_sample *samples, size_t count, lot_error *error)
{
    lot_status status = LOT_OK;

    lot_worker_lock(p->worker);
    for (size_t i = 0; status == LOT_OK && i < count; i++) {
        lot_sample *added = lot_record_add_sample(p->record);

        if (added == NULL) {
            status = lot_error_set(error, LOT_MEMORY, "realloc", 0, "no memory for the telemetry series");
        } else {
            *added = samples[i];
            added->seconds -= p->epoch_seconds;
        }
    }
    lot_worker_unlock(p->worker);
    return status;
}

/* The telemetry series, fetched in pieces until there is no more. */
static lot_status fetch_samples(lot_protocol *p, lot_error *error)
{
    lot_sample samples[64];
    size_t count = 0;
    lot_status status;

    do {
        status = p->module->samples(p->device, samples, sizeof samples / sizeof samples[0], &count, error);
        if (status == LOT_OK)
            status = keep_samples(p, samples, count, error);
    } while (status == LOT_OK && count > 0);
    return status;
}

lot_status lot_protocol_close(void *context, lot_error *error)
{
    lot_protocol *p = context;
    lot_status status = LOT_OK;

    if (p->device == NULL)
        return LOT_OK;
    if (p->module->samples != NULL && p->config->telemetry_hz > 0 && !p->failed)
        status = fetch_samples(p, error);
    lot_workload_free(&p->workload);
    p->module->close(p->device);
    p->device = NULL;
    return status;
}

/* A wrong result is an error of the rank like any other, found last. */
static void judge(lot_protocol *p)
{
    lot_verification *v = &p->record->head.verification;
    lot_error error;

    if (v->passes < 1)
        return;
    /* Without a reference (an interrupted run) what is there can be wrong, but not found right. */
    if (v->digests_differing > 0 || v->nonfinite_passes > 0 || v->reference_passed == 0)
        v->passed = 0;
    else if (v->reference_passed == 1)
        v->passed = 1;
    if (v->digests_differing > 0)
        (void)lot_error_set(&error, LOT_WRONG_RESULT, "digest", 0,
                            "%lld of %s with another output than the first", (long long)v->digests_differing,
                            lot_count(v->passes, "pass").text);
    else if (v->nonfinite_passes > 0)
        (void)lot_error_set(&error, LOT_WRONG_RESULT, "digest", 0,
                            "%lld of %s with a NaN or an infinity in the output",
                            (long long)v->nonfinite_passes, lot_count(v->passes, "pass").text);
    else if (v->reference_passed == 0 && !isfinite(v->reference_max_bound_ratio))
        (void)lot_error_set(&error, LOT_WRONG_RESULT, "reference", 0,
                            "an output value lies farther from the float64 reference than can be told");
    else if (v->reference_passed == 0)
        (void)lot_error_set(&error, LOT_WRONG_RESULT, "reference", 0,
                            "an output value lies %.3g times its bound from the float64 reference",
                            v->reference_max_bound_ratio);
    else
        return;
    lot_record_fail(p->record, "verification", &error);
}

void lot_protocol_conclude(lot_protocol *protocol)
{
    lot_outcome *outcome = &protocol->record->head.outcome;

    judge(protocol);
    lot_record_count(protocol->record);
    outcome->elapsed_seconds = lot_clock_seconds() - protocol->epoch_seconds;
    if (outcome->status[0] == '\0')
        (void)lot_field_copy(outcome->status, sizeof outcome->status, lot_status_name(LOT_OK));
    free(protocol->sampled_outputs);
    protocol->sampled_outputs = NULL;
}
