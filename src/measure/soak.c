#include "measure/soak.h"

#include "core/clock.h"
#include "measure/rows.h"

#define ROW_SECONDS 1.0
#define PAIRS_MAX   65536
#define ALIGNMENT   256 /* of every buffer, as the device's own allocations have it */

/* Pairs of an input and an output, in two pieces of memory. */
typedef struct soak {
    lot_protocol *p;
    char *inputs;
    char *outputs;
    int64_t input_stride;
    int64_t output_stride;
    int64_t count;
    int64_t next;
    int64_t common; /* the last pair whose output had the rank's digest, still there; -1: none */
} soak;

static int64_t aligned(int64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* How many pairs the share of the device's memory holds beside the network, for this rank's part of it. */
static int64_t pairs_wanted(const soak *s)
{
    const lot_protocol *p = s->p;
    const lot_model *model = &p->record->head.synthetic_model;
    const double all = p->config->soak_memory * (double)p->record->head.device.memory_bytes / p->sharing;
    const double left = all - (double)model->weight_bytes - (double)model->hidden_bytes;
    const double wanted = left / (double)(s->input_stride + s->output_stride);

    return wanted < 1 ? 1 : wanted > PAIRS_MAX ? PAIRS_MAX : (int64_t)wanted;
}

static lot_status take(soak *s, int64_t count, lot_error *error)
{
    const lot_device_module *module = s->p->module;
    void *inputs = NULL;
    void *outputs = NULL;
    lot_status status = module->alloc(s->p->device, count * s->input_stride, &inputs, error);

    if (status == LOT_OK)
        status = module->alloc(s->p->device, count * s->output_stride, &outputs, error);
    if (status != LOT_OK) {
        module->free(s->p->device, inputs);
        return status;
    }
    s->inputs = inputs;
    s->outputs = outputs;
    s->count = count;
    return LOT_OK;
}

/* Takes what it can get, since somebody else may hold a part of the memory, and puts the same input
 * everywhere. Each fill is waited for: the soak's time must not run meanwhile, and a device that does not
 * answer is noticed in one fill's time. */
static lot_status make_pairs(soak *s, lot_error *error)
{
    const lot_model *model = &s->p->record->head.synthetic_model;
    lot_status status = LOT_DEVICE_MEMORY;

    s->input_stride = aligned(model->input_bytes);
    s->output_stride = aligned(model->output_bytes);
    for (int64_t count = pairs_wanted(s); status == LOT_DEVICE_MEMORY && count > 0; count = count * 7 / 8)
        status = take(s, count, error);
    for (int64_t i = 0; status == LOT_OK && i < s->count; i++) {
        status = lot_workload_fill(&s->p->workload, s->inputs + i * s->input_stride, error);
        if (status == LOT_OK)
            status = s->p->module->sync(s->p->device, error);
        lot_worker_alive(s->p->worker);
    }
    if (status == LOT_OK)
        lot_rows_touched(s->p, s->count * (model->input_bytes + model->output_bytes));
    return status;
}

static lot_status next_pass(void *context, lot_error *error)
{
    const soak *s = context;

    return lot_workload_pass(&s->p->workload, s->inputs + s->next * s->input_stride,
                             s->outputs + s->next * s->output_stride, error);
}

/* After a pass: digests its output, and where it is the row's first that deviates, counts on the device in
 * how many elements. A bit of memory that flipped and a unit that computes wrong look different there. */
static lot_status check_pass(soak *s, lot_phase *row, lot_error *error)
{
    lot_protocol *p = s->p;
    const lot_dtype dtype = (lot_dtype)p->config->dtype;
    const int64_t elements = p->record->head.synthetic_model.output_bytes / (int64_t)lot_dtype_bytes(dtype);
    const int64_t before = row->digests_differing > 0 ? row->digests_differing : 0;
    const char *output = s->outputs + s->next * s->output_stride;
    const lot_status status = lot_rows_digest(p, output, row, error);

    if (status != LOT_OK)
        return status;
    if (row->digests_differing == before) {
        s->common = s->next;
        return LOT_OK;
    }
    if (s->common == s->next)
        s->common = -1; /* this pass wrote over it */
    if (before > 0 || s->common < 0 || p->module->compare == NULL)
        return LOT_OK;
    return p->module->compare(p->device, output, s->outputs + s->common * s->output_stride, elements, dtype,
                              &row->elements_differing, &row->first_element_differing, error);
}

/* Passes for about a second, or until `until`. */
static lot_status run_row(soak *s, int64_t repeat, double until, lot_error *error)
{
    lot_protocol *p = s->p;
    lot_phase row;
    const double began = lot_clock_seconds();
    lot_status status = lot_phase_begin(&p->runner, "soak", "together", repeat, &row, error);
    double now = began;

    while (status == LOT_OK && (row.passes == 0 || (now - began < ROW_SECONDS && now < until)) &&
           !(row.passes > 0 && lot_rows_stopped(p))) {
        status = lot_phase_span(&p->runner, next_pass, s, 1, &row, error);
        if (status == LOT_OK)
            status = check_pass(s, &row, error);
        s->next = (s->next + 1) % s->count;
        lot_worker_alive(p->worker);
        now = lot_clock_seconds();
    }
    if (status == LOT_OK)
        status = lot_phase_end(&p->runner, &row, error);
    return status == LOT_OK ? lot_rows_keep(p, &row, error) : status;
}

lot_status lot_soak_run(lot_protocol *p, lot_error *error)
{
    soak s = {.p = p, .common = -1};
    lot_status status = make_pairs(&s, error);
    const double until = lot_clock_seconds() + p->config->soak_seconds;

    for (int64_t repeat = 0; status == LOT_OK && lot_clock_seconds() < until && !lot_rows_stopped(p);
         repeat++)
        status = run_row(&s, repeat, until, error);
    p->module->free(p->device, s.outputs);
    p->module->free(p->device, s.inputs);
    return status;
}
