/* The worker and who waits for it: what may happen beside a job, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdatomic.h>

#include "core/clock.h"
#include "measure/worker.h"

typedef struct scene {
    lot_worker *worker;
    double seconds; /* that the job takes */
    int tells;      /* the job says that it is alive */
    double pause_seconds;
    atomic_int in_span;
    atomic_int spans;
    int pauses;
    int disturbed; /* pauses in which a span was under way or one went by */
    int idles;
} scene;

static lot_status spans(void *context, lot_error *error)
{
    scene *s = context;
    const double until = lot_clock_seconds() + s->seconds;

    (void)error;
    while (lot_clock_seconds() < until) {
        atomic_store(&s->in_span, 1);
        lot_clock_sleep(0.01);
        atomic_store(&s->in_span, 0);
        atomic_fetch_add(&s->spans, 1);
        if (s->tells)
            lot_worker_alive(s->worker);
    }
    return LOT_OK;
}

static void on_pause(void *context)
{
    scene *s = context;
    const int before = atomic_load(&s->spans);

    s->pauses++;
    s->disturbed += atomic_load(&s->in_span);
    lot_clock_sleep(s->pause_seconds);
    s->disturbed += atomic_load(&s->in_span) || atomic_load(&s->spans) != before;
}

static void on_idle(void *context)
{
    ((scene *)context)->idles++;
}

static void run(scene *s, lot_watch watch)
{
    lot_error error = {0};

    watch.context = s;
    assert_int_equal(lot_worker_start(&s->worker, &error), LOT_OK);
    assert_int_equal(lot_worker_run(s->worker, spans, s, &watch, &error), LOT_OK);
    lot_worker_stop(s->worker);
}

static void test_a_pause_lies_between_spans(void **state)
{
    scene s = {.seconds = 1.5, .tells = 1, .pause_seconds = 0.03};

    (void)state;
    run(&s, (lot_watch){.limit_seconds = 60, .idle = on_idle, .pause = on_pause});
    assert_in_range(s.pauses, 1, 7); /* at most five a second */
    assert_int_equal(s.disturbed, 0);
    assert_true(s.idles > 0);
}

/* The time of a pause is the main thread's own: it does not count against the job. */
static void test_a_pause_longer_than_the_limit(void **state)
{
    scene s = {.seconds = 0.5, .tells = 1, .pause_seconds = 0.8};

    (void)state;
    run(&s, (lot_watch){.limit_seconds = 0.6, .pause = on_pause});
    assert_true(s.pauses > 0);
}

static void test_no_pause_where_the_job_does_not_stop_by(void **state)
{
    scene s = {.seconds = 0.5};

    (void)state;
    run(&s, (lot_watch){.limit_seconds = 60, .pause = on_pause});
    assert_int_equal(s.pauses, 0);
}

static void test_nobody_wants_a_pause(void **state)
{
    scene s = {.seconds = 0.5, .tells = 1};

    (void)state;
    run(&s, (lot_watch){.limit_seconds = 60});
    assert_int_equal(s.pauses, 0);
    assert_true(atomic_load(&s.spans) > 0);
}

/* A call that does not return within the limit, and then does after all. */
static lot_status hangs(void *context, lot_error *error)
{
    scene *s = context;

    (void)error;
    lot_clock_sleep(0.5);
    atomic_store(&s->in_span, 1);
    return LOT_OK;
}

static void test_a_worker_is_given_up_once(void **state)
{
    const lot_watch watch = {.limit_seconds = 0.1};
    scene s = {.seconds = 0};
    lot_error error = {0};
    double began;

    (void)state;
    assert_int_equal(lot_worker_start(&s.worker, &error), LOT_OK);
    assert_int_equal(lot_worker_run(s.worker, hangs, &s, &watch, &error), LOT_TIMEOUT);
    assert_int_equal(atomic_load(&s.in_span), 0);
    assert_true(lot_worker_given_up(s.worker));
    began = lot_clock_seconds();
    for (int i = 0; i < 8; i++) /* as many as there are groups of phases left, and the closing */
        assert_int_equal(lot_worker_run(s.worker, spans, &s, &watch, &error), LOT_TIMEOUT);
    assert_true(lot_clock_seconds() - began < 0.5); /* at once: nobody waits for the lock again */
    lot_worker_stop(s.worker);
    while (!atomic_load(&s.in_span)) /* it still uses the scene */
        lot_clock_sleep(0.01);
}

static lot_status never_ends(void *context, lot_error *error)
{
    scene *s = context;

    (void)error;
    if (s->tells)
        lot_worker_lock(s->worker);
    for (;;)
        lot_clock_sleep(60);
    return LOT_OK;
}

/* Who gave the worker up goes on with what both shared, even where the worker took the lock with it. */
static void test_the_lock_after_giving_up(void **state)
{
    (void)state;
    for (int takes_lock = 0; takes_lock < 2; takes_lock++) {
        static scene scenes[2]; /* their threads go on until the program ends */
        scene *s = &scenes[takes_lock];
        const lot_watch watch = {.limit_seconds = 0.2};
        lot_error error = {0};

        s->tells = takes_lock;
        assert_int_equal(lot_worker_start(&s->worker, &error), LOT_OK);
        assert_int_equal(lot_worker_run(s->worker, never_ends, s, &watch, &error), LOT_TIMEOUT);
        for (int again = 0; again < 2; again++) {
            lot_worker_lock(s->worker);
            lot_worker_unlock(s->worker);
        }
        assert_int_equal(lot_worker_run(s->worker, never_ends, s, &watch, &error), LOT_TIMEOUT);
        assert_true(lot_worker_given_up(s->worker));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pause_lies_between_spans),
        cmocka_unit_test(test_a_pause_longer_than_the_limit),
        cmocka_unit_test(test_no_pause_where_the_job_does_not_stop_by),
        cmocka_unit_test(test_nobody_wants_a_pause),
        cmocka_unit_test(test_a_worker_is_given_up_once),
        cmocka_unit_test(test_the_lock_after_giving_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
