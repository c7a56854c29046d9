/* Units for people: one row a unit with its label and divisor. Records keep SI numbers; only displays divide.
 */
#ifndef GPULOT_CORE_UNITS_H
#define GPULOT_CORE_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* X(code, label, divisor of the base unit) */
#define LOT_UNIT_LIST(X)                                                                                     \
    X(LOT_UNIT_BYTE, "B", 1.0)                                                                               \
    X(LOT_UNIT_KIB, "KiB", 1024.0)                                                                           \
    X(LOT_UNIT_MIB, "MiB", 1048576.0)                                                                        \
    X(LOT_UNIT_GIB, "GiB", 1073741824.0)                                                                     \
    X(LOT_UNIT_TIB, "TiB", 1099511627776.0)                                                                  \
    X(LOT_UNIT_GB, "GB", 1e9)                                                                                \
    X(LOT_UNIT_SECOND, "s", 1.0)                                                                             \
    X(LOT_UNIT_MILLISECOND, "ms", 1e-3)                                                                      \
    X(LOT_UNIT_MICROSECOND, "us", 1e-6)                                                                      \
    X(LOT_UNIT_NANOSECOND, "ns", 1e-9)                                                                       \
    X(LOT_UNIT_GFLOPS, "GFLOP/s", 1e9)                                                                       \
    X(LOT_UNIT_TFLOPS, "TFLOP/s", 1e12)

typedef enum lot_unit {
#define LOT_UNIT_ENUM(code, label, divisor) code,
    LOT_UNIT_LIST(LOT_UNIT_ENUM)
#undef LOT_UNIT_ENUM
        LOT_UNIT_COUNT
} lot_unit;

const char *lot_unit_label(lot_unit unit);

/* `value` in the base unit (bytes, seconds, FLOP/s) expressed in `unit`. */
double lot_unit_in(double value, lot_unit unit);

/* GFLOP/s or TFLOP/s: the larger in which the rate is at least 1, else the smaller. */
lot_unit lot_unit_for_rate(double flops_per_second);

/* "12.34 ms", "1.500 GiB": four significant digits in the largest unit in which the value is at least 1, of
 * B..TiB, ns..s or as above; "-" for NaN or a negative value. */
void lot_unit_print_bytes(char *text, size_t size, double bytes);
void lot_unit_print_seconds(char *text, size_t size, double seconds);
void lot_unit_print_rate(char *text, size_t size, double flops_per_second);

typedef struct lot_percent_text {
    char text[16];
} lot_percent_text;

/* A share in percent with two decimals and a sign, 0.12345 as "+12.35", never "-0.00"; beyond 1000 % either
 * way no more than that is said, "< -1000" or "> +1000". */
lot_percent_text lot_unit_signed_percent(double share);

#endif
