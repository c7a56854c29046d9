/* Prices worked by hand. Random cases are compared with Python's fractions in tests/python. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "analysis/price.h"

/* A lot of `gpus` GPUs at `cents` for 7 days; other prices for the other periods, which must not be taken. */
static lot_tariff tariff_of(int64_t gpus, int64_t cents)
{
    const lot_tariff tariff = {
        .gpu = NULL, .gpus_per_lot = gpus, .lot_price_cents = {1, cents, 2}, .line = {1, 2, 3}};

    return tariff;
}

static lot_price price_of(int64_t gpus_per_lot, int64_t cents, lot_price_demand demand)
{
    const lot_tariff tariff = tariff_of(gpus_per_lot, cents);
    lot_error error = {0};
    lot_price price;

    assert_int_equal(LOT_OK, lot_price_compute(&tariff, 1, &demand, &price, &error));
    return price;
}

static lot_status refusal(int64_t gpus_per_lot, int64_t cents, lot_price_demand demand)
{
    const lot_tariff tariff = tariff_of(gpus_per_lot, cents);
    lot_error error = {0};
    lot_price price;
    lot_price before;
    lot_status status;

    memset(&price, 0x5A, sizeof price);
    before = price;
    status = lot_price_compute(&tariff, 1, &demand, &price, &error);
    assert_int_equal(status, error.status);
    assert_true(error.text[0] != '\0');
    assert_memory_equal(&before, &price, sizeof price); /* results on success only */
    return status;
}

/* B200, 2 GPUs a lot, 7 days: the example of the issue. */
static void two_lots_are_four_gpus_and_twice_the_price(void **state)
{
    const lot_price price = price_of(2, 228144, (lot_price_demand){.lots = 2});

    (void)state;
    assert_int_equal(2, price.lots);
    assert_int_equal(4, price.gpus);
    assert_int_equal(456288, price.total_price_cents);
    assert_int_equal(0, price.ranks);
    assert_int_equal(-1, price.idle_gpus);
    assert_string_equal("", price.unit_cents);
}

static void lots_follow_from_ranks(void **state)
{
    static const struct {
        int64_t gpus_per_lot, ranks, lots, idle;
    } cases[] = {{2, 1, 1, 1}, {2, 2, 1, 0}, {2, 3, 2, 1}, {2, 4, 2, 0}, {2, 5, 3, 1},
                 {1, 7, 7, 0}, {8, 1, 1, 7}, {8, 8, 1, 0}, {8, 9, 2, 7}, {4, 4000000001, 1000000001, 3}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const lot_price price =
            price_of(cases[i].gpus_per_lot, 100, (lot_price_demand){.ranks = cases[i].ranks});

        assert_int_equal(cases[i].lots, price.lots);
        assert_int_equal(cases[i].idle, price.idle_gpus);
        assert_int_equal(cases[i].lots * cases[i].gpus_per_lot, price.gpus);
        assert_int_equal(100 * cases[i].lots, price.total_price_cents);
        assert_int_equal(cases[i].ranks, price.ranks);
    }
}

static void lots_may_be_more_than_the_ranks_need(void **state)
{
    const lot_price price = price_of(2, 100, (lot_price_demand){.lots = 5, .ranks = 3});

    (void)state;
    assert_int_equal(5, price.lots);
    assert_int_equal(7, price.idle_gpus);
    assert_int_equal(500, price.total_price_cents);
}

static void lots_that_cannot_hold_the_ranks_are_refused(void **state)
{
    (void)state;
    assert_int_equal(LOT_USAGE, refusal(2, 100, (lot_price_demand){.lots = 1, .ranks = 3}));
    assert_int_equal(LOT_USAGE, refusal(8, 100, (lot_price_demand){.lots = 1, .ranks = 9}));
    assert_int_equal(LOT_USAGE, refusal(8, 100, (lot_price_demand){.accepted_results = 1}));
}

/* 2^63 - 1 = 9223372036854775807 = 7 x 1317624576693539401. */
static void the_edge_of_64_bits(void **state)
{
    lot_price price = price_of(1, 1317624576693539401, (lot_price_demand){.lots = 7});

    (void)state;
    assert_int_equal(INT64_MAX, price.total_price_cents);
    assert_int_equal(LOT_TOO_LARGE, refusal(1, 1317624576693539402, (lot_price_demand){.lots = 7}));
    assert_int_equal(LOT_TOO_LARGE, refusal(1, INT64_MAX, (lot_price_demand){.lots = 2}));
    price = price_of(1, INT64_MAX, (lot_price_demand){.lots = 1, .accepted_results = INT64_MAX});
    assert_string_equal("1.000000", price.unit_cents);
    assert_int_equal(1, price.unit_numerator);
    price = price_of(1, 1, (lot_price_demand){.ranks = INT64_MAX});
    assert_int_equal(INT64_MAX, price.lots);
    assert_int_equal(LOT_TOO_LARGE, refusal(2, 1, (lot_price_demand){.ranks = INT64_MAX})); /* 2^63 GPUs */
    assert_int_equal(LOT_TOO_LARGE, refusal(2, 1, (lot_price_demand){.lots = INT64_MAX}));
    assert_int_equal(LOT_TOO_LARGE, refusal(2, 4544640, (lot_price_demand){.lots = 5000000000000}));
}

static void unit_cost_is_the_whole_price_over_the_units(void **state)
{
    lot_price price = price_of(2, 228144, (lot_price_demand){.ranks = 3, .accepted_results = 3});

    (void)state;
    assert_string_equal("152096.000000", price.unit_cents);
    assert_int_equal(152096, price.unit_numerator);
    assert_int_equal(1, price.unit_denominator);
    price = price_of(1, 100, (lot_price_demand){.lots = 1, .accepted_results = 3});
    assert_string_equal("33.333333", price.unit_cents);
    assert_int_equal(100, price.unit_numerator);
    assert_int_equal(3, price.unit_denominator);
    price = price_of(1, 200, (lot_price_demand){.lots = 1, .accepted_results = 6});
    assert_string_equal("33.333333", price.unit_cents);
    assert_int_equal(100, price.unit_numerator); /* in lowest terms */
    assert_int_equal(3, price.unit_denominator);
}

/* Values by long division on paper. */
static void decimals_are_rounded_half_up_once(void **state)
{
    static const struct {
        int64_t numerator, denominator;
        const char *text;
    } cases[] = {
        {100, 3, "33.333333"},
        {200, 3, "66.666667"},
        {1, 2000000, "0.000001"}, /* 0.0000005: half goes up */
        {1, 2000001, "0.000000"}, /* just under half */
        {1, 1999999, "0.000001"}, /* just over half */
        {3, 2000000, "0.000002"}, /* 0.0000015: up, not to even */
        {5, 2000000, "0.000003"}, /* 0.0000025: up, not to even */
        {1, 1000000, "0.000001"},
        {1999999, 2000000, "1.000000"}, /* 0.9999995: the carry goes all the way */
        {19999999, 2000000, "10.000000"},
        {0, 1, "0.000000"},
        {7, 7, "1.000000"},
        {INT64_MAX, 1, "9223372036854775807.000000"},
        {INT64_MAX, 2, "4611686018427387903.500000"},
        {1, INT64_MAX, "0.000000"},
        {INT64_MAX - 1, INT64_MAX, "1.000000"},
        {INT64_MAX / 2, INT64_MAX, "0.500000"},
        {9223372036854775, 9223372036854775807, "0.001000"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[LOT_PRICE_DECIMAL_SIZE];

        lot_price_decimal(cases[i].numerator, cases[i].denominator, text);
        assert_string_equal(cases[i].text, text);
    }
}

static void cents_as_dollars(void **state)
{
    static const struct {
        int64_t cents;
        const char *text;
    } cases[] = {{0, "0.00"},
                 {7, "0.07"},
                 {29, "0.29"},
                 {109, "1.09"},
                 {113, "1.13"},
                 {100, "1.00"},
                 {INT64_MAX, "92233720368547758.07"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[32];

        lot_price_dollars(cases[i].cents, text, sizeof text);
        assert_string_equal(cases[i].text, text);
    }
}

static void periods(void **state)
{
    (void)state;
    assert_int_equal(3, lot_tariff_days(0));
    assert_int_equal(7, lot_tariff_days(1));
    assert_int_equal(30, lot_tariff_days(2));
    assert_int_equal(1, lot_tariff_period(7));
    assert_int_equal(LOT_TARIFF_PERIODS, lot_tariff_period(5));
    assert_int_equal(LOT_TARIFF_PERIODS, lot_tariff_period(0));
    assert_int_equal(LOT_TARIFF_PERIODS, lot_tariff_period(31));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_lots_are_four_gpus_and_twice_the_price),
        cmocka_unit_test(lots_follow_from_ranks),
        cmocka_unit_test(lots_may_be_more_than_the_ranks_need),
        cmocka_unit_test(lots_that_cannot_hold_the_ranks_are_refused),
        cmocka_unit_test(the_edge_of_64_bits),
        cmocka_unit_test(unit_cost_is_the_whole_price_over_the_units),
        cmocka_unit_test(decimals_are_rounded_half_up_once),
        cmocka_unit_test(cents_as_dollars),
        cmocka_unit_test(periods),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
