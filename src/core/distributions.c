#include "core/distributions.h"

#include <math.h>

double lot_normal_tail(double z)
{
    return 0.5 * erfc(z * 0.70710678118654752440);
}

/* The x with tail(x, dof) = p, by halving: slow, plain and right to the last digits. */
static double invert(double (*tail)(double x, double dof), double p, double dof)
{
    double low = -1.0, high = 1.0;

    while (tail(low, dof) < p)
        low *= 2;
    while (tail(high, dof) > p)
        high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-14 * (fabs(low) + fabs(high)); i++) {
        const double middle = low + (high - low) / 2;

        if (tail(middle, dof) > p)
            low = middle;
        else
            high = middle;
    }
    return low + (high - low) / 2;
}

static double normal_tail(double z, double unused)
{
    (void)unused;
    return lot_normal_tail(z);
}

double lot_normal_quantile(double p)
{
    return p > 0 && p < 1 ? invert(normal_tail, p, 0) : NAN;
}

/* The continued fraction of the incomplete beta function, evaluated from the front (Lentz's method). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    double fraction;

    d = 1 / (fabs(d) < tiny ? tiny : d);
    fraction = d;
    for (int m = 1; m < 10000; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double step;

        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        fraction *= d * c;
        d = 1 + odd * d;
        c = 1 + odd / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        step = d * c;
        fraction *= step;
        if (fabs(step - 1) < 1e-15)
            break;
    }
    return fraction;
}

/* The regularised incomplete beta function I_x(a, b). */
static double beta_share(double a, double b, double x)
{
    double front;

    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    /* The fraction converges fast on one side of the mean; the other side is its complement. */
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double lot_student_tail(double t, double dof)
{
    double half;

    if (isnan(t) || !(dof > 0))
        return NAN;
    if (isinf(t))
        return t > 0 ? 0 : 1;
    half = 0.5 * beta_share(dof / 2, 0.5, dof / (dof + t * t));
    return t >= 0 ? half : 1 - half;
}

double lot_student_quantile(double p, double dof)
{
    return p > 0 && p < 1 && dof > 0 ? invert(lot_student_tail, p, dof) : NAN;
}

double lot_chi_square_median(double dof)
{
    const double root = 1 - 2 / (9 * dof);

    return dof * root * root * root;
}

static double log_choose(int64_t n, int64_t k)
{
    return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
}

double lot_hypergeometric_tail(int64_t x, int64_t draws, int64_t marked, int64_t all)
{
    const int64_t least = draws + marked > all ? draws + marked - all : 0;
    const int64_t most = draws < marked ? draws : marked;
    double term, sum = 0;

    if (x <= least)
        return 1;
    if (x > most)
        return 0;
    term = exp(log_choose(marked, x) + log_choose(all - marked, draws - x) - log_choose(all, draws));
    for (; x <= most && sum + term > sum; x++) {
        sum += term;
        term *= (double)(marked - x) / (double)(x + 1) * (double)(draws - x) /
                (double)(all - marked - draws + x + 1);
    }
    return fmin(sum, 1);
}
