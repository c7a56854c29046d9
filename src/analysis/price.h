/* The price of whole lots, exact: integers in cents, checked 64-bit arithmetic, one rounding, no floating
 * point. */
#ifndef GPULOT_ANALYSIS_PRICE_H
#define GPULOT_ANALYSIS_PRICE_H

#include <stddef.h>

#include "core/error.h"
#include "core/tariff.h"

/* Works a price out. lots = ceil(ranks / gpus_per_lot) where the demand names none; price = lots x lot price;
 * unit cost = price / accepted results. `period` is an index as of lot_tariff_days.
 *
 * LOT_USAGE where the lots cannot hold the ranks or the demand names neither, LOT_TOO_LARGE where a product
 * does not fit into 63 bits. *price is set on success only. */
lot_status lot_price_compute(const lot_tariff *tariff, size_t period, const lot_price_demand *demand,
                             lot_price *price, lot_error *error);

/* numerator / denominator (at least 0 and at least 1) with 6 decimal places, rounded half up. */
void lot_price_decimal(int64_t numerator, int64_t denominator, char text[LOT_PRICE_DECIMAL_SIZE]);

/* Cents (at least 0) as dollars: 651 is "6.51". `size` at least 24. */
void lot_price_dollars(int64_t cents, char *text, size_t size);

#endif
