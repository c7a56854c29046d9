/* Baselines: what several archives know, and the file that keeps it. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "io/baseline_file.h"
#include "io/compare_json.h"
#include "support/comparing.h"

/* GPUs that vary by 2 % from day to day: one archive does not know that, five do. */
static void day_of(lot_run *run, uint64_t day)
{
    synthetic_random random = {day * 77};

    four(run, day);
    for (size_t i = 0; i < 4; i++)
        synthetic_run_draw_one(run, i, &random, 0.02, 0.02, 0.003);
}

static void a_baseline_knows_the_days(void **state)
{
    const lot_compare_options strict = {.tolerance = 0.01, .level = 0.01};
    lot_baseline one, five, after;
    long false_one = 0, false_five = 0;
    lot_error error;
    lot_run days[5];

    (void)state;
    for (uint64_t i = 0; i < 5; i++)
        day_of(&days[i], i + 1);
    one = baseline_of(days, 1);
    five = baseline_of(days, 5);
    assert_int_equal(5, five.archives);
    assert_int_equal(5, five.devices[0].archives);
    for (uint64_t day = 10; day < 110; day++) {
        lot_compare_result r;
        lot_run now;

        day_of(&now, day);
        after = baseline_of(&now, 1);
        assert_int_equal(LOT_OK, lot_compare(&one, &after, &strict, &r, &error));
        false_one += !r.good;
        lot_compare_result_free(&r);
        assert_int_equal(LOT_OK, lot_compare(&five, &after, &strict, &r, &error));
        false_five += !r.good;
        lot_compare_result_free(&r);
        lot_baseline_free(&after);
        lot_run_free(&now);
    }
    assert_true(false_one > 50);
    assert_true(false_five <= 5);
    lot_baseline_free(&one);
    lot_baseline_free(&five);
    for (size_t i = 0; i < 5; i++)
        lot_run_free(&days[i]);
}

static char *compared_json(const lot_baseline *before, const lot_baseline *after)
{
    lot_compare_result r;
    lot_error error;
    char *json = NULL;

    assert_int_equal(LOT_OK, lot_compare(before, after, &plain, &r, &error));
    assert_int_equal(LOT_OK, lot_compare_json_write(&r, &json, &error));
    lot_compare_result_free(&r);
    return json;
}

/* A baseline that was written and read says the same to the last byte. */
static void written_and_read(void **state)
{
    char folder[] = "/tmp/baseline_test.XXXXXX";
    lot_baseline made, again, after;
    char path[64], *one, *other;
    lot_error error;
    lot_run days[3];

    (void)state;
    for (uint64_t i = 0; i < 3; i++)
        day_of(&days[i], i + 1);
    after = baseline_of(&days[2], 1);
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/base", folder);
    for (size_t archives = 1; archives <= 2;
         archives++) { /* one has its repeats, several the noise between them */
        made = baseline_of(days, archives);
        assert_int_equal(LOT_OK, lot_baseline_write(path, &made, &error));
        assert_int_equal(LOT_OUTPUT, lot_baseline_write(path, &made, &error));
        assert_true(lot_baseline_is_one(path));
        assert_int_equal(LOT_OK, lot_baseline_read(path, &again, &error));
        one = compared_json(&made, &after);
        other = compared_json(&again, &after);
        assert_string_equal(one, other);
        assert_non_null(strstr(one, "\"judged\":true"));
        free(one);
        free(other);
        assert_int_equal(0, unlink(path));
        lot_baseline_free(&made);
        lot_baseline_free(&again);
    }
    assert_int_equal(0, rmdir(folder));
    lot_baseline_free(&after);
    for (size_t i = 0; i < 3; i++)
        lot_run_free(&days[i]);
}

static void broken_baselines(void **state)
{
    static const char head[] = "{\"schema\":\"gpulot.baseline\",\"schema_version\":1,\"archives\":1,"
                               "\"simulated\":0,\"devices\":";
    static const struct {
        const char *rest;
        lot_status status;
    } cases[] = {
        {"0}\n", LOT_OK},
        {"0}", LOT_DAMAGED},                 /* no end of line */
        {"0}\nmore\n", LOT_DAMAGED},         /* one line too many */
        {"1}\n", LOT_DAMAGED},               /* a GPU is missing */
        {"99999999}\n", LOT_DAMAGED},        /* more than the file can hold */
        {"-1}\n", LOT_DAMAGED},              /* not a count */
        {"1}\n{}\n{}\n", LOT_SCHEMA},        /* not a record */
        {"0,\"archives\":0}\n", LOT_SCHEMA}, /* a name twice */
    };
    lot_baseline b;
    lot_error error;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        const int size = snprintf(text, sizeof text, "%s%s", head, cases[i].rest);

        if (cases[i].status != lot_baseline_parse("x", text, (size_t)size, &b, &error))
            fail_msg("case %zu: %s", i, error.text);
        if (cases[i].status == LOT_OK)
            lot_baseline_free(&b);
    }
    assert_int_equal(LOT_SCHEMA, lot_baseline_parse("x", "{}\n", 3, &b, &error));
    assert_int_equal(LOT_SCHEMA, lot_baseline_parse("x", "nothing\n", 8, &b, &error));
}

/* A phase stands once for a GPU: whoever compares has room for no more. */
static void a_phase_stands_once(void **state)
{
    enum { TIMES = 100 };
    char folder[] = "/tmp/baseline_test.XXXXXX";
    lot_baseline_series *series = calloc(TIMES, sizeof *series), *whole;
    lot_baseline made, again;
    lot_error error;
    lot_run days[2];
    char path[64];

    (void)state;
    for (uint64_t i = 0; i < 2; i++)
        day_of(&days[i], i + 1);
    made = baseline_of(days, 2);
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/base", folder);
    whole = made.devices[1].series;
    for (size_t i = 0; i < TIMES; i++)
        series[i] = whole[0];
    made.devices[1].series = series;
    for (made.devices[1].series_count = 2; made.devices[1].series_count <= TIMES;
         made.devices[1].series_count += TIMES - 2) {
        assert_int_equal(LOT_OK, lot_baseline_write(path, &made, &error));
        assert_int_equal(LOT_DAMAGED, lot_baseline_read(path, &again, &error));
        assert_non_null(strstr(error.text, "line 5")); /* one for the whole, two for each GPU */
        assert_int_equal(0, unlink(path));
    }
    assert_int_equal(0, rmdir(folder));
    made.devices[1].series = whole;
    made.devices[1].series_count = 0;
    lot_baseline_free(&made);
    free(series);
    for (size_t i = 0; i < 2; i++)
        lot_run_free(&days[i]);
}

/* Gives a run a name of its own. */
static void name_run(lot_run *run, const char *id)
{
    assert_true(lot_field_copy(run->header.run_id, sizeof run->header.run_id, id));
}

/* Ranks that share a UUID at one time are told apart by their rank at every time. */
static void ranks_that_share_a_uuid_once(void **state)
{
    lot_baseline made;
    lot_run runs[2];

    (void)state;
    synthetic_run_make(&runs[0], 2, 5, 0.02, 1);
    synthetic_run_make(&runs[1], 1, 5, 0.02, 1);
    name_run(&runs[0], "shared");
    name_run(&runs[1], "alone");
    memcpy(runs[0].devices[1].device.uuid, runs[0].devices[0].device.uuid,
           sizeof runs[0].devices[0].device.uuid);
    made = baseline_of(runs, 2);
    assert_int_equal(2, made.device_count);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(i, made.devices[i].head.identity.rank);
        assert_true(made.devices[i].shares_uuid);
        assert_int_equal(i == 0 ? 2 : 1, made.devices[i].archives);
    }
    lot_baseline_free(&made);
    for (size_t i = 0; i < 2; i++)
        lot_run_free(&runs[i]);
}

/* Rows of a series are those of the archive that has fewest, whichever it is. */
static void fewest_rows_count(void **state)
{
    static const int64_t repeats[][2] = {{5, 9}, {9, 5}};

    (void)state;
    for (size_t order = 0; order < 2; order++) {
        lot_baseline made;
        lot_run runs[2];

        for (size_t i = 0; i < 2; i++)
            synthetic_run_make(&runs[i], 1, repeats[order][i], 0.02, 0);
        name_run(&runs[0], "before");
        name_run(&runs[1], "after");
        made = baseline_of(runs, 2);
        assert_int_equal(1, made.devices[0].series_count);
        assert_int_equal(5, made.devices[0].series[0].rows);
        lot_baseline_free(&made);
        for (size_t i = 0; i < 2; i++)
            lot_run_free(&runs[i]);
    }
}

/* Five repeats of every GPU whose MAD is `step` of their logarithms, three times that for the last GPU. */
/* With two archives the middle over many GPUs is a median absolute deviation, which knows 36.75 % of what all
 * know (J. W. Tukey, "A Survey of Sampling from Contaminated Distributions", 1960); with three that of an
 * exponential distribution: 48.05 %, (ln 2)^2. One GPU and two know all. */
static void degrees_of_freedom(void **state)
{
    const lot_baseline two = {.archives = 2}, three = {.archives = 3};

    (void)state;
    assert_true(isnan(lot_baseline_dof(&(lot_baseline){.archives = 1}, 4)));
    assert_true(lot_baseline_dof(&two, 0) == 0 && lot_baseline_dof(&three, 0) == 0);
    assert_true(lot_baseline_dof(&two, 1) == 1 && lot_baseline_dof(&three, 1) == 2);
    assert_true(lot_baseline_dof(&two, 2) == 2 && lot_baseline_dof(&three, 2) == 4);
    assert_true(lot_baseline_dof(&two, 3) == 2 && lot_baseline_dof(&three, 3) == 4);
    assert_true(fabs(lot_baseline_dof(&two, 100002) / 100000 - 0.3675) < 0.01);
    assert_true(fabs(lot_baseline_dof(&three, 100002) / 200000 - log(2) * log(2)) < 0.01);
    assert_true(lot_baseline_dof(&two, 8) > 4 && lot_baseline_dof(&two, 8) < 4.3);
}

static void scattered(lot_run *run, const char *id, double step)
{
    static const double steps[] = {1, -2, 0, 2, -1};

    synthetic_run_make(run, 4, 5, 0.02, 0);
    name_run(run, id);
    for (size_t gpu = 0; gpu < 4; gpu++)
        for (size_t k = 0; k < 5; k++)
            synthetic_run_warm(run, gpu, k)->device_seconds =
                0.02 * exp((gpu == 3 ? 3 : 1) * step * steps[k]);
}

/* Archives whose medians are all the same: what a GPU's own repeats vary by is noise all the same, before and
 * after, each as wide as pi / 10 of one repeat's variance. */
static void noise_of_the_repeats(void **state)
{
    const double spread = 1.4826 * 1.206 * 0.01; /* of five */
    lot_baseline before, after;
    lot_compare_result r;
    lot_error error;
    lot_run days[5], now;

    (void)state;
    for (size_t i = 0; i < 5; i++)
        scattered(&days[i], (const char[]){(char)('a' + (int)i), '\0'}, 0.01);
    scattered(&now, "now", 0.01);
    before = baseline_of(days, 5);
    after = baseline_of(&now, 1);
    assert_int_equal(LOT_OK, lot_compare(&before, &after, &plain, &r, &error));
    assert_int_equal(4, r.drift_count);
    for (size_t i = 0; i < 4; i++) {
        const double own = r.drifts[i].rank_after == 3 ? 3 * spread : spread;
        const double half = r.noise_factor * sqrt(2 * own * own * 3.14159265358979 / 10);

        assert_true(fabs(r.drifts[i].slower.low - (1 - exp(half))) < 1e-9);
        assert_true(fabs(r.drifts[i].slower.high - (1 - exp(-half))) < 1e-9);
        assert_false(r.drifts[i].beyond_noise);
    }
    lot_compare_result_free(&r);
    lot_baseline_free(&before);
    lot_baseline_free(&after);
    for (size_t i = 0; i < 5; i++)
        lot_run_free(&days[i]);
    lot_run_free(&now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_baseline_knows_the_days),
        cmocka_unit_test(written_and_read),
        cmocka_unit_test(broken_baselines),
        cmocka_unit_test(a_phase_stands_once),
        cmocka_unit_test(ranks_that_share_a_uuid_once),
        cmocka_unit_test(degrees_of_freedom),
        cmocka_unit_test(fewest_rows_count),
        cmocka_unit_test(noise_of_the_repeats),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
