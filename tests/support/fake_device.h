/* A device made for tests of the protocol: plain loops in float32, a log of every call, and faults. */
#ifndef GPULOT_TESTS_FAKE_DEVICE_H
#define GPULOT_TESTS_FAKE_DEVICE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "gpu/device.h"
#include "gpu/digest.h"
#include "gpu/generator.h"

struct lot_plan {
    lot_linear linear;
};

static struct {
    char log[4096]; /* one letter a call */
    int64_t live_bytes;
    int64_t peak_bytes;
    int threads;                /* that the device was opened with */
    int runs;                   /* layers run so far */
    int fail_run;               /* the run that fails, from 1; 0: none */
    int flip_run;               /* the run whose first output gets a flipped bit, */
    int flip_on;                /* and whether it stays so from then on */
    int nan_run;                /* the run whose first output becomes NaN */
    int hang_run;               /* the run that never returns */
    int hang_samples;           /* the series comes when it was given up */
    int known_run;              /* from this run on, outputs are fake_output(); 0: none */
    void (*on_run)(int number); /* called at the end of every run; NULL: none */
    double run_seconds;         /* that a run takes at least */
    double device_seconds;
    int64_t bytes_most;  /* what can be allocated at once; 0: no limit */
    size_t samples_left; /* of the series, still to be handed over */
    double sample_seconds;
} fake;

static inline void note(char letter)
{
    const size_t used = strlen(fake.log);

    if (used + 1 < sizeof fake.log)
        fake.log[used] = letter;
}

static inline lot_status fake_open(const lot_device_options *options, lot_device **device, lot_error *error)
{
    static int one;

    (void)error;
    fake.threads = options->threads;
    *device = (lot_device *)(void *)&one;
    return LOT_OK;
}

static inline void fake_close(lot_device *device)
{
    (void)device;
    note('X');
}

static inline lot_status fake_describe(lot_device *device, lot_device_facts *facts, lot_absent *absent,
                                       size_t capacity, size_t *count, lot_error *error)
{
    (void)device, (void)absent, (void)capacity, (void)error;
    strcpy(facts->kind, "fake");
    facts->memory_bytes = 1 << 20;
    *count = 0;
    return LOT_OK;
}

static inline lot_status fake_supports(lot_device *device, lot_dtype dtype, lot_math math, lot_error *error)
{
    (void)device, (void)dtype, (void)math, (void)error;
    return LOT_OK;
}

static inline lot_status fake_alloc(lot_device *device, int64_t bytes, void **pointer, lot_error *error)
{
    int64_t *block;

    (void)device;
    note('a');
    if (fake.bytes_most > 0 && fake.live_bytes + bytes > fake.bytes_most)
        return lot_error_set(error, LOT_DEVICE_MEMORY, "fake_alloc", 0, "the fake device is full");
    block = malloc((size_t)bytes + 16);
    assert_non_null(block);
    block[0] = bytes;
    *pointer = block + 2;
    fake.live_bytes += bytes;
    if (fake.live_bytes > fake.peak_bytes)
        fake.peak_bytes = fake.live_bytes;
    return LOT_OK;
}

static inline void fake_free(lot_device *device, void *pointer)
{
    (void)device;
    if (pointer == NULL)
        return;
    note('f');
    fake.live_bytes -= ((int64_t *)pointer)[-2];
    free((int64_t *)pointer - 2);
}

static inline lot_status fake_download(lot_device *device, void *to, const void *from, int64_t bytes,
                                       lot_error *error)
{
    (void)device, (void)error;
    note('D');
    memcpy(to, from, (size_t)bytes);
    return LOT_OK;
}

static inline lot_status fake_fill(lot_device *device, void *to, const lot_fill *fill, lot_error *error)
{
    float *values = to;

    (void)device, (void)error;
    note('v');
    for (int64_t i = 0; i < fill->count; i++)
        values[i] = lot_value(fill, i);
    return LOT_OK;
}

static inline lot_status fake_plan(lot_device *device, const lot_linear *linear, lot_plan **plan,
                                   lot_plan_facts *facts, lot_error *error)
{
    (void)device, (void)error;
    note('p');
    *plan = malloc(sizeof **plan);
    (*plan)->linear = *linear;
    strcpy(facts->algorithm, "loops");
    return LOT_OK;
}

static inline void fake_plan_free(lot_device *device, lot_plan *plan)
{
    (void)device;
    free(plan);
}

/* What a layer gives from `known_run` on, at the n-th run: a value that can be written down by hand. */
static inline float fake_output(int n, int64_t row, int64_t element)
{
    return (float)(n % 2) + (float)row / 64 + (float)element / 4096;
}

static inline lot_status fake_run(lot_device *device, const lot_plan *plan, void *y, const void *x,
                                  const void *w, const void *b, lot_error *error)
{
    const lot_linear *l = &plan->linear;

    (void)device;
    note('R');
    fake.runs++;
    if (fake.runs == fake.fail_run)
        return lot_error_set(error, LOT_DEVICE_FAULT, "fake_run", 700, "the fake device failed at run %d",
                             fake.runs);
    while (fake.runs == fake.hang_run)
        lot_clock_sleep(0.01);
    lot_clock_sleep(fake.run_seconds);
    for (int64_t r = 0; r < l->rows; r++)
        for (int64_t o = 0; o < l->out_features; o++) {
            float sum = ((const float *)b)[o];

            for (int64_t i = 0; i < l->in_features; i++)
                sum +=
                    ((const float *)x)[r * l->in_features + i] * ((const float *)w)[o * l->in_features + i];
            if (l->activation == LOT_GELU_ERF)
                sum = 0.5f * sum * (1 + erff(sum * 0.70710678f));
            ((float *)y)[r * l->out_features + o] =
                fake.known_run > 0 && fake.runs >= fake.known_run ? fake_output(fake.runs, r, o) : sum;
        }
    if (fake.runs == fake.flip_run || (fake.flip_on && fake.runs >= fake.flip_run && fake.runs % 2 == 0))
        ((uint32_t *)y)[0] ^= 1u;
    if (fake.runs == fake.nan_run)
        ((float *)y)[0] = NAN;
    if (fake.on_run != NULL)
        fake.on_run(fake.runs);
    return LOT_OK;
}

static inline lot_status fake_digest(lot_device *device, const void *pointer, int64_t bytes, lot_dtype dtype,
                                     uint64_t *digest, int *finite, lot_error *error)
{
    (void)device, (void)dtype, (void)error;
    note('d');
    *digest = (uint64_t)bytes;
    *finite = 1;
    for (int64_t i = 0; i < bytes / 8; i++)
        *digest += lot_digest_word(((const uint64_t *)pointer)[i], (uint64_t)i);
    for (int64_t i = 0; i < bytes / 4; i++)
        *finite &= isfinite(((const float *)pointer)[i]) != 0;
    return LOT_OK;
}

static inline lot_status fake_compare(lot_device *device, const void *a, const void *b, int64_t count,
                                      lot_dtype dtype, int64_t *differing, int64_t *first, lot_error *error)
{
    (void)device, (void)dtype, (void)error;
    *differing = 0;
    *first = -1;
    for (int64_t i = count - 1; i >= 0; i--)
        if (((const uint32_t *)a)[i] != ((const uint32_t *)b)[i]) {
            ++*differing;
            *first = i;
        }
    return LOT_OK;
}

static inline lot_status fake_samples(lot_device *device, lot_sample *samples, size_t capacity, size_t *count,
                                      lot_error *error)
{
    (void)device, (void)error;
    if (fake.hang_samples)
        lot_clock_sleep(0.6);
    *count = fake.samples_left < capacity ? fake.samples_left : capacity;
    fake.samples_left -= *count;
    for (size_t i = 0; i < *count; i++)
        samples[i] = (lot_sample){.seconds = fake.sample_seconds};
    return LOT_OK;
}

static inline lot_status fake_sync(lot_device *device, lot_error *error)
{
    (void)device, (void)error;
    note('s');
    return LOT_OK;
}

/* What the fake reserves beyond what is allocated, now and at its peak. */
enum { FAKE_RESERVED = 1024, FAKE_RESERVED_PEAK = 2048 };

static inline lot_status fake_counters(lot_device *device, lot_counters *counters, lot_error *error)
{
    (void)device, (void)error;
    note('c');
    *counters = (lot_counters){fake.live_bytes, fake.live_bytes + FAKE_RESERVED, fake.peak_bytes,
                               fake.peak_bytes + FAKE_RESERVED_PEAK};
    return LOT_OK;
}

static inline lot_status fake_reset(lot_device *device, lot_error *error)
{
    (void)device, (void)error;
    note('r');
    fake.peak_bytes = fake.live_bytes;
    return LOT_OK;
}

static inline lot_status fake_timer_start(lot_device *device, lot_error *error)
{
    (void)device, (void)error;
    note('<');
    return LOT_OK;
}

static inline lot_status fake_timer_stop(lot_device *device, lot_error *error)
{
    (void)device, (void)error;
    note('>');
    return LOT_OK;
}

static inline lot_status fake_timer_elapsed(lot_device *device, double *seconds, lot_error *error)
{
    (void)device, (void)error;
    note('=');
    *seconds = fake.device_seconds;
    return LOT_OK;
}

static const lot_device_module fake_module = {
    .abi = LOT_DEVICE_ABI,
    .size = sizeof(lot_device_module),
    .name = "fake",
    .open = fake_open,
    .close = fake_close,
    .describe = fake_describe,
    .supports = fake_supports,
    .alloc = fake_alloc,
    .free = fake_free,
    .download = fake_download,
    .build = fake_fill,
    .fill = fake_fill,
    .plan = fake_plan,
    .plan_free = fake_plan_free,
    .run = fake_run,
    .digest = fake_digest,
    .sync = fake_sync,
    .counters = fake_counters,
    .reset_peaks = fake_reset,
    .timer_start = fake_timer_start,
    .timer_stop = fake_timer_stop,
    .timer_elapsed = fake_timer_elapsed,
    .compare = fake_compare,
    .samples = fake_samples,
};

#endif
