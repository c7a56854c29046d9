/* Decimal fractions as doubles. */
#ifndef GPULOT_CORE_DECIMAL_H
#define GPULOT_CORE_DECIMAL_H

#include <stdint.h>

#define LOT_DECIMAL_POWER_MOST 27

/* The double nearest to digits / 10^power, ties to even as IEEE 754 has it. `digits` is not 0, `power` from 0
 * to LOT_DECIMAL_POWER_MOST. */
double lot_decimal_divide(uint64_t digits, int power);

#endif
