/* What the tests of compare and of baselines share: days of the same four GPUs, and what is made of them. */
#ifndef GPULOT_TESTS_COMPARING_H
#define GPULOT_TESTS_COMPARING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analysis/baseline.h"
#include "analysis/compare.h"
#include "core/field.h"
#include "support/synthetic_run.h"

static const lot_compare_options plain = {.tolerance = 0.03, .level = 0.01};

/* Four GPUs with their own speeds from `seed` and repeats with noise from `day`. */
static inline void four(lot_run *run, uint64_t day)
{
    static const double speeds[4] = {1, 1.01, 0.99, 1.005};
    synthetic_random random = {day};
    char id[40];

    synthetic_run_make(run, 4, 9, 0.02, 1);
    (void)snprintf(id, sizeof id, "run %llu", (unsigned long long)day);
    assert_true(lot_field_copy(run->header.run_id, sizeof run->header.run_id, id));
    for (size_t i = 0; i < 4; i++)
        synthetic_run_draw_one(run, i, &random, 0.02 * speeds[i], 0, 0.003);
}

static inline lot_baseline baseline_of(const lot_run *runs, size_t count)
{
    lot_observed_run *observed = calloc(count, sizeof *observed);
    lot_baseline made;
    lot_error error;

    assert_non_null(observed);
    for (size_t i = 0; i < count; i++) {
        observed[i].keep_repeats = true;
        synthetic_run_observe(&runs[i], &observed[i]);
    }
    assert_int_equal(LOT_OK, lot_baseline_make(observed, count, &made, &error));
    for (size_t i = 0; i < count; i++)
        lot_observed_free(&observed[i]);
    free(observed);
    return made;
}

static inline lot_status compare_runs(const lot_run *before, size_t count, const lot_run *after,
                                      lot_compare_result *result, lot_error *error)
{
    lot_baseline b = baseline_of(before, count), a = baseline_of(after, 1);
    const lot_status status = lot_compare(&b, &a, &plain, result, error);

    lot_baseline_free(&b);
    lot_baseline_free(&a);
    return status;
}

static inline void comparing(const lot_run *before, const lot_run *after, lot_compare_result *result)
{
    lot_error error;

    assert_int_equal(LOT_OK, compare_runs(before, 1, after, result, &error));
}

/* The four GPUs on two days, and what is made of it. */
typedef struct scene {
    lot_run before;
    lot_run after;
    lot_compare_result result;
} scene;

static inline int two_days(void **state)
{
    static scene s;

    four(&s.before, 1);
    four(&s.after, 2);
    s.result = (lot_compare_result){0};
    *state = &s;
    return 0;
}

static inline int end_days(void **state)
{
    scene *s = *state;

    lot_compare_result_free(&s->result);
    lot_run_free(&s->before);
    lot_run_free(&s->after);
    return 0;
}

static inline void compare_days(scene *s)
{
    lot_compare_result_free(&s->result);
    comparing(&s->before, &s->after, &s->result);
}

static inline size_t count_of(const lot_compare_result *r, lot_change_kind kind)
{
    size_t count = 0;

    for (size_t i = 0; i < r->change_count; i++)
        count += r->changes[i].kind == kind;
    return count;
}

static inline const lot_change *change_of(const lot_compare_result *r, lot_change_kind kind)
{
    for (size_t i = 0; i < r->change_count; i++)
        if (r->changes[i].kind == kind)
            return &r->changes[i];
    fail_msg("there is no %s", lot_change_name(kind));
    return NULL;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, two_days, end_days)

#endif
