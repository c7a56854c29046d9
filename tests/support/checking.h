/* What the tests of `check` share: checking a synthetic run and asking for verdicts and findings. */
#ifndef GPULOT_TESTS_CHECKING_H
#define GPULOT_TESTS_CHECKING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/check.h"
#include "core/field.h"
#include "support/synthetic_run.h"

#define OK        0u
#define BIT(name) LOT_VERDICT_BIT(LOT_VERDICT_##name)

/* Two digests that are not the synthetic run's. */
#define OTHER "fedcba9876543210"
#define THIRD "1111222233334444"

static const lot_check_options plain = {.prior = 0.015, .level = 0.01, .soak_passes = 100};

static inline void check_with(const lot_run *run, const lot_check_options *options, lot_check_result *result)
{
    lot_observed_run observed;
    lot_error error;

    lot_observed_init(&observed);
    synthetic_run_observe(run, &observed);
    assert_int_equal(LOT_OK, lot_check(&observed, 1, options, result, &error));
    lot_observed_free(&observed);
}

static inline const lot_checked_device *device_of(const lot_check_result *r, int64_t rank)
{
    for (size_t i = 0; i < r->device_count; i++)
        if (r->devices[i].rank == rank)
            return &r->devices[i];
    fail_msg("no rank %lld", (long long)rank);
    return NULL;
}

static inline unsigned verdict_of(const lot_check_result *r, int64_t rank)
{
    return device_of(r, rank)->verdicts;
}

/* The first finding of that verdict about the rank. */
static inline const lot_finding *finding_of(const lot_check_result *r, int64_t rank, lot_verdict verdict)
{
    for (size_t i = 0; i < r->finding_count; i++)
        if (r->findings[i].verdict == verdict && r->findings[i].device != LOT_NO_DEVICE_INDEX &&
            r->devices[r->findings[i].device].rank == rank)
            return &r->findings[i];
    fail_msg("rank %lld has no such finding", (long long)rank);
    return NULL;
}

/* Checks the run, wants these verdicts of ranks 0.. and frees both. */
static inline void expect(lot_run *run, const unsigned *verdicts, size_t count)
{
    lot_check_result r;

    check_with(run, &plain, &r);
    for (size_t i = 0; i < count; i++) {
        char text[160];

        lot_verdicts_print(text, sizeof text, verdict_of(&r, (int64_t)i));
        if (verdict_of(&r, (int64_t)i) != verdicts[i])
            fail_msg("rank %zu is %s", i, text);
    }
    lot_check_result_free(&r);
    lot_run_free(run);
}

#define EXPECT(run, ...)                                                                                     \
    expect(run, (const unsigned[]){__VA_ARGS__}, sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

/* Four equal GPUs with a little honest spread. */
static inline void four(lot_run *run)
{
    synthetic_random random = {7};

    synthetic_run_make(run, 4, 5, 0.02, 1);
    synthetic_run_draw(run, &random, 0.02, 0.005, 0.003);
}

static inline void set_digest(lot_run *run, size_t gpu, const char *digest)
{
    size_t count;
    lot_phase *rows = synthetic_run_rows(run, gpu, &count);

    memcpy(run->devices[gpu].verification.digest, digest, 17);
    for (size_t i = 0; i < count; i++)
        if (rows[i].digest[0] != '\0')
            memcpy(rows[i].digest, digest, 17);
}

static inline void set_status(lot_run *run, size_t gpu, lot_status status)
{
    assert_true(lot_field_copy(run->devices[gpu].outcome.status, 24, lot_status_name(status)));
}

#endif
