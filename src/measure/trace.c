#include "measure/trace.h"

#include <stdlib.h>
#include <string.h>

#include "measure/rows.h"

#define ROWS_MAX        16
#define ELEMENTS_MAX    (1 << 18)
#define DIFFERENCES_MAX 64

typedef struct tracing {
    lot_protocol *p;
    int64_t count;  /* sampled rows */
    size_t element; /* bytes */
    void *hidden;   /* on the device */
    void *output;
    unsigned char *first[2]; /* per layer: the sampled rows of the first pass, one after the other */
    unsigned char *now[2];
} tracing;

static int64_t features(const tracing *t, int layer)
{
    return layer == 0 ? t->p->workload.hidden : t->p->workload.width;
}

static int64_t row_at(const tracing *t, int64_t i)
{
    return t->count == 1 ? 0 : i * (t->p->workload.rows - 1) / (t->count - 1);
}

static size_t layer_bytes(const tracing *t, int layer)
{
    return (size_t)t->count * (size_t)features(t, layer) * t->element;
}

static lot_status prepare(tracing *t, lot_error *error)
{
    const lot_workload *w = &t->p->workload;
    const lot_model *model = &t->p->record->head.synthetic_model;
    const int64_t fitting = ELEMENTS_MAX / (w->hidden + w->width);
    lot_status status;

    t->element = lot_dtype_bytes(w->dtype);
    t->count = fitting < 1 ? 1 : fitting < ROWS_MAX ? fitting : ROWS_MAX;
    if (t->count > w->rows)
        t->count = w->rows;
    for (int layer = 0; layer < 2; layer++) {
        t->first[layer] = malloc(layer_bytes(t, layer));
        t->now[layer] = malloc(layer_bytes(t, layer));
        if (t->first[layer] == NULL || t->now[layer] == NULL)
            return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for the traces of sampled rows");
    }
    status = t->p->module->alloc(t->p->device, model->hidden_bytes, &t->hidden, error);
    if (status == LOT_OK)
        status = t->p->module->alloc(t->p->device, model->output_bytes, &t->output, error);
    return status;
}

/* One pass, verified like every other, and its sampled rows. */
static lot_status trace_pass(tracing *t, unsigned char *const to[2], lot_error *error)
{
    lot_protocol *p = t->p;
    lot_phase row; /* no row of the record: only its digest is of use */
    lot_status status = lot_workload_layers(&p->workload, p->workload.input, t->hidden, t->output, error);

    if (status == LOT_OK)
        status = p->module->sync(p->device, error);
    lot_fields_clear(lot_phase_fields(), &row);
    if (status == LOT_OK)
        status = lot_rows_digest(p, t->output, &row, error);
    for (int layer = 0; layer < 2; layer++) {
        const char *from = layer == 0 ? t->hidden : t->output;
        const int64_t row_bytes = features(t, layer) * (int64_t)t->element;

        for (int64_t i = 0; status == LOT_OK && i < t->count; i++)
            status = p->module->download(p->device, to[layer] + i * row_bytes,
                                         from + row_at(t, i) * row_bytes, row_bytes, error);
    }
    lot_worker_alive(p->worker);
    return status;
}

/* The value of one element as an integer, whatever its size. */
static uint32_t bits_of(const tracing *t, const unsigned char *values, int64_t index)
{
    uint32_t wide;
    uint16_t half;

    if (t->element == sizeof wide) {
        memcpy(&wide, values + (size_t)index * sizeof wide, sizeof wide);
        return wide;
    }
    memcpy(&half, values + (size_t)index * sizeof half, sizeof half);
    return half;
}

static lot_status keep_trace(tracing *t, int layer, int64_t i, lot_error *error)
{
    static const char digits[] = "0123456789abcdef";
    const int64_t elements = features(t, layer);
    const size_t each = 2 * t->element;
    char *text = malloc((size_t)elements * each + 1);
    lot_trace *trace = text != NULL ? lot_record_add_trace(t->p->record) : NULL;

    if (trace == NULL) {
        free(text);
        return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for the traces of sampled rows");
    }
    for (int64_t e = 0; e < elements; e++) {
        const uint32_t bits = bits_of(t, t->first[layer], i * elements + e);

        for (size_t digit = 0; digit < each; digit++)
            text[(size_t)e * each + digit] = digits[bits >> (4 * (each - 1 - digit)) & 15];
    }
    text[(size_t)elements * each] = '\0';
    *trace = (lot_trace){.layer = layer + 1, .row = row_at(t, i), .elements = elements, .bits = text};
    return LOT_OK;
}

static lot_status keep_traces(tracing *t, lot_error *error)
{
    lot_status status = LOT_OK;

    lot_worker_lock(t->p->worker);
    for (int layer = 0; layer < 2; layer++)
        for (int64_t i = 0; status == LOT_OK && i < t->count; i++)
            status = keep_trace(t, layer, i, error);
    lot_worker_unlock(t->p->worker);
    return status;
}

static lot_status keep_differences(tracing *t, int64_t pass, int layer, lot_error *error)
{
    const int64_t elements = features(t, layer);

    if (memcmp(t->first[layer], t->now[layer], layer_bytes(t, layer)) == 0)
        return LOT_OK;
    for (int64_t at = 0; at < t->count * elements; at++) {
        const uint32_t changed = bits_of(t, t->first[layer], at) ^ bits_of(t, t->now[layer], at);
        lot_difference *difference;

        if (changed == 0 || t->p->record->difference_count >= DIFFERENCES_MAX)
            continue;
        difference = lot_record_add_difference(t->p->record);
        if (difference == NULL)
            return lot_error_set(error, LOT_MEMORY, "realloc", 0, "no memory for another difference");
        *difference = (lot_difference){.pass = pass,
                                       .layer = layer + 1,
                                       .row = row_at(t, at / elements),
                                       .element = at % elements,
                                       .bits = __builtin_popcount(changed)};
    }
    return LOT_OK;
}

static lot_status compare_pass(tracing *t, int64_t pass, lot_error *error)
{
    lot_status status = trace_pass(t, t->now, error);

    lot_worker_lock(t->p->worker);
    for (int layer = 0; status == LOT_OK && layer < 2; layer++)
        status = keep_differences(t, pass, layer, error);
    lot_worker_unlock(t->p->worker);
    return status;
}

lot_status lot_trace_run(lot_protocol *p, lot_error *error)
{
    tracing t = {.p = p};
    lot_status status = prepare(&t, error);

    if (status == LOT_OK)
        status = trace_pass(&t, t.first, error);
    if (status == LOT_OK)
        status = keep_traces(&t, error);
    for (int64_t pass = 1; status == LOT_OK && pass < p->config->repeats && !lot_rows_stopped(p); pass++)
        status = compare_pass(&t, pass, error);
    p->module->free(p->device, t.output);
    p->module->free(p->device, t.hidden);
    for (int layer = 0; layer < 2; layer++) {
        free(t.first[layer]);
        free(t.now[layer]);
    }
    return status;
}
