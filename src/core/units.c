#include "core/units.h"

#include <math.h>
#include <stdio.h>

static const struct {
    const char *label;
    double divisor;
} rows[LOT_UNIT_COUNT] = {
#define LOT_UNIT_ROW(code, label, divisor) [code] = {label, divisor},
    LOT_UNIT_LIST(LOT_UNIT_ROW)
#undef LOT_UNIT_ROW
};

const char *lot_unit_label(lot_unit unit)
{
    return rows[unit].label;
}

double lot_unit_in(double value, lot_unit unit)
{
    return value / rows[unit].divisor;
}

/* The largest of a run of units in which the value is at least 1, else the smallest. */
static lot_unit fitting(double value, lot_unit largest, lot_unit smallest)
{
    const int step = largest < smallest ? 1 : -1;
    int unit = (int)largest;

    while (unit != (int)smallest && !(value >= rows[unit].divisor))
        unit += step;
    return (lot_unit)unit;
}

lot_unit lot_unit_for_rate(double flops_per_second)
{
    return fitting(flops_per_second, LOT_UNIT_TFLOPS, LOT_UNIT_GFLOPS);
}

/* From here on digits would only make a table wide. */
#define WIDE 1e9

static void print(char *text, size_t size, double value, lot_unit unit)
{
    const double shown = lot_unit_in(value, unit);

    if (isnan(value) || value < 0)
        (void)snprintf(text, size, "-");
    else if (shown >= WIDE)
        (void)snprintf(text, size, "%.3e %s", shown, rows[unit].label);
    else if (unit == LOT_UNIT_BYTE)
        (void)snprintf(text, size, "%.0f B", value);
    else
        (void)snprintf(text, size, "%.*f %s",
                       shown < 10     ? 3
                       : shown < 100  ? 2
                       : shown < 1000 ? 1
                                      : 0,
                       shown, rows[unit].label);
}

void lot_unit_print_bytes(char *text, size_t size, double bytes)
{
    print(text, size, bytes, fitting(bytes, LOT_UNIT_TIB, LOT_UNIT_BYTE));
}

void lot_unit_print_seconds(char *text, size_t size, double seconds)
{
    print(text, size, seconds, fitting(seconds, LOT_UNIT_SECOND, LOT_UNIT_NANOSECOND));
}

void lot_unit_print_rate(char *text, size_t size, double flops_per_second)
{
    print(text, size, flops_per_second, lot_unit_for_rate(flops_per_second));
}

/* Percent beyond which digits would only make a table wide. */
#define WIDE_PERCENT 1000

lot_percent_text lot_unit_signed_percent(double share)
{
    const double percent = round(1e4 * share) / 100 + 0.0; /* -0 + 0 is 0 */
    lot_percent_text shown;

    if (percent < -WIDE_PERCENT)
        (void)snprintf(shown.text, sizeof shown.text, "< -%d", WIDE_PERCENT);
    else if (percent > WIDE_PERCENT)
        (void)snprintf(shown.text, sizeof shown.text, "> +%d", WIDE_PERCENT);
    else
        (void)snprintf(shown.text, sizeof shown.text, "%+.2f", percent);
    return shown;
}
