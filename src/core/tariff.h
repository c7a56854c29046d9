/* Prices of whole lots, as plain data: what a catalogue holds and what a price consists of. Money is integers
 * in US cents. */
#ifndef GPULOT_CORE_TARIFF_H
#define GPULOT_CORE_TARIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The three rental periods there are, in days. "30 days" is not a month. */
#define LOT_TARIFF_PERIODS 3
#define LOT_TARIFF_DAYS    "3|7|30"

/* The days of a period, 0 <= period < LOT_TARIFF_PERIODS; 0 where there is no such period. */
static inline int64_t lot_tariff_days(size_t period)
{
    return period == 0 ? 3 : period == 1 ? 7 : period == 2 ? 30 : 0;
}

/* The period of so many days, LOT_TARIFF_PERIODS where there is none. */
static inline size_t lot_tariff_period(int64_t days)
{
    size_t period = 0;

    while (period < LOT_TARIFF_PERIODS && lot_tariff_days(period) != days)
        period++;
    return period;
}

/* One model of a catalogue with the price of one whole lot for each period. */
typedef struct lot_tariff {
    char *gpu; /* the model as the catalogue writes it, UTF-8; owned by the catalogue */
    int64_t gpus_per_lot;
    int64_t lot_price_cents[LOT_TARIFF_PERIODS]; /* for 3, 7 and 30 days */
    int64_t line[LOT_TARIFF_PERIODS];            /* where the row begins in the file, from 1 */
    int64_t first_line;                          /* where the model stands first */
} lot_tariff;

/* A catalogue without faults. Texts are owned; NULL where the file does not tell. */
typedef struct lot_catalogue {
    char *title;
    char *snapshot_date; /* YYYY-MM-DD */
    char *source;
    bool is_example; /* the file says that it is nobody's tariff */
    char sha256[65]; /* of the file's bytes, lower-case hexadecimal */
    lot_tariff *tariffs;
    size_t tariff_count; /* models */
    int64_t rows;        /* models times periods */
} lot_catalogue;

/* What is asked of a price. */
typedef struct lot_price_demand {
    int64_t ranks;            /* GPUs in use, one a rank; 0: not known */
    int64_t lots;             /* lots rented; 0: as many as the ranks need */
    int64_t accepted_results; /* accepted useful units; 0: not known */
} lot_price_demand;

/* Digits of a unit cost: 19 before the point, 6 after it, and the terminator. */
#define LOT_PRICE_DECIMAL_SIZE 28

/* The answer. */
typedef struct lot_price {
    int64_t gpus_per_lot;
    int64_t lot_price_cents;
    int64_t ranks; /* 0: not known */
    int64_t lots;
    int64_t gpus;      /* paid for */
    int64_t idle_gpus; /* paid for and not used; -1: not known */
    int64_t total_price_cents;
    int64_t accepted_results;                /* 0: not known, and the unit cost with it */
    int64_t unit_numerator;                  /* total_price_cents / accepted_results in lowest terms */
    int64_t unit_denominator;                /* at least 1 */
    char unit_cents[LOT_PRICE_DECIMAL_SIZE]; /* the same with 6 decimal places, half up; "" where not known */
} lot_price;

#endif
