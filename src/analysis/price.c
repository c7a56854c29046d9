#include "analysis/price.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/checked.h"
#include "core/count.h"

#define DECIMALS 6

/* A quotient with one more digit to come: value = digit + rest / divisor. */
typedef struct digit {
    uint64_t value;
    uint64_t rest; /* below the divisor */
} digit;

/* Adds two such numbers. The rests are below 2^63, so their sum fits into 64 bits. */
static digit add(digit a, digit b, uint64_t divisor)
{
    digit sum = {a.value + b.value, a.rest + b.rest};

    if (sum.rest >= divisor) {
        sum.rest -= divisor;
        sum.value++;
    }
    return sum;
}

/* rest x 10 / divisor without the product, which need not fit into 64 bits. */
static digit next_digit(uint64_t rest, uint64_t divisor)
{
    const digit once = {0, rest};
    const digit twice = add(once, once, divisor);
    const digit four_times = add(twice, twice, divisor);
    const digit five_times = add(four_times, once, divisor);

    return add(five_times, five_times, divisor);
}

void lot_price_decimal(int64_t numerator, int64_t denominator, char text[LOT_PRICE_DECIMAL_SIZE])
{
    const uint64_t divisor = (uint64_t)denominator;
    uint64_t whole;
    uint64_t fraction = 0;
    uint64_t rest;

    assert(numerator >= 0 && denominator >= 1);
    whole = (uint64_t)numerator / divisor;
    rest = (uint64_t)numerator % divisor;
    for (int i = 0; i < DECIMALS; i++) {
        const digit next = next_digit(rest, divisor);

        fraction = 10 * fraction + next.value;
        rest = next.rest;
    }
    if (rest >= divisor - rest) /* half up */
        fraction++;
    if (fraction == 1000000) {
        fraction = 0;
        whole++;
    }
    (void)snprintf(text, LOT_PRICE_DECIMAL_SIZE, "%" PRIu64 ".%06" PRIu64, whole, fraction);
}

void lot_price_dollars(int64_t cents, char *text, size_t size)
{
    assert(cents >= 0 && size >= 24);
    (void)snprintf(text, size, "%" PRId64 ".%02" PRId64, cents / 100, cents % 100);
}

static lot_status match_lots(const lot_price_demand *demand, lot_price *price, lot_error *error)
{
    const int64_t per_lot = price->gpus_per_lot;

    price->ranks = demand->ranks;
    price->lots = demand->lots;
    if (demand->lots == 0) {
        if (demand->ranks == 0)
            return lot_error_set(error, LOT_USAGE, "--lots", 0, "neither lots nor ranks are given");
        price->lots = demand->ranks / per_lot + (demand->ranks % per_lot != 0);
    }
    if (!lot_checked_mul(price->lots, per_lot, &price->gpus))
        return lot_error_set(error, LOT_TOO_LARGE, "--lots", 0, "%s of %s are more than 2^63 - 1 GPUs",
                             lot_count(price->lots, "lot").text, lot_count(per_lot, "GPU").text);
    if (demand->ranks > price->gpus)
        return lot_error_set(
            error, LOT_USAGE, "--lots", 0, "--lots: %" PRId64 " x %s are %" PRId64 ", too few for %s",
            price->lots, lot_count(per_lot, "GPU").text, price->gpus, lot_count(demand->ranks, "rank").text);
    price->idle_gpus = demand->ranks == 0 ? -1 : price->gpus - demand->ranks;
    return LOT_OK;
}

static void share_out(int64_t accepted_results, lot_price *price)
{
    price->accepted_results = accepted_results;
    price->unit_numerator = price->total_price_cents;
    price->unit_denominator = accepted_results;
    lot_checked_reduce(&price->unit_numerator, &price->unit_denominator);
    lot_price_decimal(price->unit_numerator, price->unit_denominator, price->unit_cents);
}

lot_status lot_price_compute(const lot_tariff *tariff, size_t period, const lot_price_demand *demand,
                             lot_price *price, lot_error *error)
{
    lot_price answer;
    lot_status status;

    assert(period < LOT_TARIFF_PERIODS && tariff->gpus_per_lot >= 1 && tariff->lot_price_cents[period] >= 1);
    assert(demand->ranks >= 0 && demand->lots >= 0 && demand->accepted_results >= 0);
    memset(&answer, 0, sizeof answer);
    answer.gpus_per_lot = tariff->gpus_per_lot;
    answer.lot_price_cents = tariff->lot_price_cents[period];
    answer.unit_denominator = 1;
    status = match_lots(demand, &answer, error);
    if (status != LOT_OK)
        return status;
    if (!lot_checked_mul(answer.lots, answer.lot_price_cents, &answer.total_price_cents))
        return lot_error_set(error, LOT_TOO_LARGE, "--lots", 0, "%s of %s are more than 2^63 - 1 cents",
                             lot_count(answer.lots, "lot").text,
                             lot_count(answer.lot_price_cents, "cent").text);
    if (demand->accepted_results != 0)
        share_out(demand->accepted_results, &answer);
    *price = answer;
    return LOT_OK;
}
