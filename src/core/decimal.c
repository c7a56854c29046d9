#include "core/decimal.h"

#include <string.h>

static int leading_zeros(uint64_t value)
{
    return __builtin_clzll(value);
}

/* 2^exponent, for normal numbers. */
static double power_of_two(int exponent)
{
    const uint64_t bits = (uint64_t)(1023 + exponent) << 52;
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* By whole numbers: 10^power is 5^power, which is below 2^63, times a power of two. Both sides are shifted
 * until their highest bits stand; their quotient with 62 bits behind the point has at least 62 bits, and
 * whether anything is left over is noted in the lowest one, so that one rounding to 53 bits gives the nearest
 * double. */
double lot_decimal_divide(uint64_t digits, int power)
{
    __extension__ typedef unsigned __int128 wide;
    static const uint64_t powers_of_five[LOT_DECIMAL_POWER_MOST + 1] = {
        1,
        5,
        25,
        125,
        625,
        3125,
        15625,
        78125,
        390625,
        1953125,
        9765625,
        48828125,
        244140625,
        1220703125,
        6103515625,
        30517578125,
        152587890625,
        762939453125,
        3814697265625,
        19073486328125,
        95367431640625,
        476837158203125,
        2384185791015625,
        11920928955078125,
        59604644775390625,
        298023223876953125,
        1490116119384765625,
        7450580596923828125,
    };
    const int digits_shift = leading_zeros(digits);
    const int divisor_shift = leading_zeros(powers_of_five[power]);
    const uint64_t divisor = powers_of_five[power] << divisor_shift;
    const wide dividend = (wide)(digits << digits_shift) << 62;
    const uint64_t quotient = (uint64_t)(dividend / divisor);
    const uint64_t sticky = (wide)quotient * divisor != dividend ? 1 : 0;

    return (double)(quotient | sticky) * power_of_two(divisor_shift - digits_shift - 62 - power);
}
