/* Where bits differ, from traces written by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "analysis/localise.h"

static void add(lot_record *record, int64_t layer, int64_t row, int64_t elements, const char *bits)
{
    lot_trace *trace = lot_record_add_trace(record);

    *trace = (lot_trace){.layer = layer, .row = row, .elements = elements, .bits = strdup(bits)};
}

static void two_records(lot_record *base, lot_record *other)
{
    lot_record_init(base);
    lot_record_init(other);
    base->head.identity.rank = 4;
    other->head.identity.rank = 7;
    add(base, 1, 0, 2, "3f8000003f000000");
    add(base, 1, 5, 2, "0000000000000000");
    add(base, 2, 0, 1, "40490fdb");
}

/* What device 3 gave against device 0. */
static void compare(const lot_record *base, const lot_record *other, lot_check_result *result)
{
    lot_error error;

    assert_int_equal(
        lot_localise_compare((lot_localise_side){0, base}, (lot_localise_side){3, other}, result, &error),
        LOT_OK);
}

static void test_element_row_and_bits(void **state)
{
    lot_record base, other;
    lot_check_result result = {0};

    (void)state;
    two_records(&base, &other);
    add(&other, 1, 0, 2, "3f8000003f000000");
    add(&other, 1, 5, 2, "000000000000000f"); /* element 1: four bits */
    add(&other, 2, 0, 1, "40490fda");         /* one bit */
    compare(&base, &other, &result);
    assert_int_equal(result.localised_count, 2);
    assert_int_equal(result.localised[0].device, 3);
    assert_int_equal(result.localised[0].against, 0);
    assert_int_equal(result.localised[0].layer, 1);
    assert_int_equal(result.localised[0].compared, 4);
    assert_int_equal(result.localised[0].differing, 1);
    assert_int_equal(result.localised[0].rows, 1);
    assert_int_equal(result.localised[0].first_row, 5);
    assert_int_equal(result.localised[0].first_element, 1);
    assert_int_equal(result.localised[0].bits_most, 4);
    assert_int_equal(result.localised[1].layer, 2);
    assert_int_equal(result.localised[1].bits_most, 1);
    lot_check_result_free(&result);
    lot_record_free(&base);
    lot_record_free(&other);
}

static void test_equal_and_unlike_traces_say_nothing(void **state)
{
    lot_record base, other;
    lot_check_result result = {0};

    (void)state;
    two_records(&base, &other);
    add(&other, 1, 0, 2, "3f8000003f000000");
    add(&other, 1, 6, 2, "ffffffffffffffff"); /* a row that the other has not */
    add(&other, 2, 0, 1, "4049");             /* another type */
    compare(&base, &other, &result);
    assert_int_equal(result.localised_count, 0);
    lot_record_free(&base);
    lot_record_free(&other);
}

/* Three later passes of one GPU: an element that is wrong in all of them is one element, of one row. */
static void test_an_element_wrong_in_several_passes(void **state)
{
    static const lot_difference differences[] = {
        {.pass = 1, .layer = 2, .row = 5, .element = 7, .bits = 1},
        {.pass = 1, .layer = 2, .row = 9, .element = 0, .bits = 2},
        {.pass = 1, .layer = 1, .row = 3, .element = 3, .bits = 1},
        {.pass = 2, .layer = 2, .row = 5, .element = 7, .bits = 4},
        {.pass = 2, .layer = 2, .row = 9, .element = 0, .bits = 2},
        {.pass = 3, .layer = 2, .row = 5, .element = 2, .bits = 1},
    };
    lot_record record;
    lot_check_result result = {0};
    lot_error error;

    (void)state;
    lot_record_init(&record);
    for (size_t i = 0; i < sizeof differences / sizeof differences[0]; i++)
        *lot_record_add_difference(&record) = differences[i];
    assert_int_equal(lot_localise_compare((lot_localise_side){3, &record}, (lot_localise_side){3, &record},
                                          &result, &error),
                     LOT_OK);
    assert_int_equal(result.localised_count, 2);
    assert_int_equal(result.localised[0].layer, 1);
    assert_int_equal(result.localised[0].differing, 1);
    assert_int_equal(result.localised[1].compared, LOT_NULL_I64);
    assert_int_equal(result.localised[1].differing, 3);
    assert_int_equal(result.localised[1].rows, 2);
    assert_int_equal(result.localised[1].first_row, 5);
    assert_int_equal(result.localised[1].first_element, 2);
    assert_int_equal(result.localised[1].bits_most, 4);
    lot_check_result_free(&result);
    lot_record_free(&record);
}

static void test_the_base_is_a_good_peer(void **state)
{
    lot_checked_device devices[4];
    lot_check_result result = {.devices = devices, .device_count = 4, .group_count = 2};
    size_t bases[2];

    (void)state;
    memset(devices, 0, sizeof devices);
    for (int i = 0; i < 4; i++)
        devices[i].rank = i;
    devices[0].verdicts = LOT_VERDICT_BIT(LOT_VERDICT_CORRUPT);
    devices[1].group = 1; /* other work */
    lot_localise_bases(&result, bases);
    assert_int_equal(bases[0], 2);
    assert_int_equal(bases[1], 1); /* alone */
    assert_true(lot_localise_wanted(&devices[0]));
    assert_false(lot_localise_wanted(&devices[2]));
    devices[2].verdicts = devices[3].verdicts = LOT_VERDICT_BIT(LOT_VERDICT_UNDECIDED);
    lot_localise_bases(&result, bases);
    assert_int_equal(bases[0], 0); /* nobody is good: the first of the group */
}

static void test_the_order(void **state)
{
    lot_localised found[4] = {{.device = 2, .against = 0, .layer = 2},
                              {.device = 1, .against = 0, .layer = 1},
                              {.device = 2, .against = 0, .layer = 1},
                              {.device = 2, .against = 2, .layer = 2}};
    lot_check_result result = {.localised = found, .localised_count = 4};

    (void)state;
    lot_localise_sort(&result);
    assert_true(found[0].device == 1);
    assert_true(found[1].device == 2 && found[1].against == 2);
    assert_true(found[2].against == 0 && found[2].layer == 1);
    assert_true(found[3].against == 0 && found[3].layer == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_element_row_and_bits),
        cmocka_unit_test(test_equal_and_unlike_traces_say_nothing),
        cmocka_unit_test(test_an_element_wrong_in_several_passes),
        cmocka_unit_test(test_the_base_is_a_good_peer),
        cmocka_unit_test(test_the_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
