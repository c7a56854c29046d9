#include "analysis/spread.h"

#include <math.h>

#include "core/distributions.h"

/* The prior of the spread: its logarithm is normal with this deviation; four of five lie below `upper`. */
#define PRIOR_DEVIATION 0.45
#define PRIOR_QUANTILE  0.84162123357291 /* of the normal distribution, 80 % */

/* A GPU that is not honest may lie anywhere within a factor e^(1/2) either way. */
#define BAD_SHARE 0.005
#define BAD_WIDTH 1.0

/* Beliefs below this cannot matter: no chance of interest is as small. */
#define NEGLIGIBLE 1e-12

#define FIRST_STEP (-12) /* the smallest spread is 1/8 of `upper`, the largest 16 times it */

#define LOG_2     0.69314718055994530942
#define SQRT_2_PI 2.50662827463100050242
#define HALF_PI   1.57079632679489661923

/* Newton takes about six; this is what halving alone would take. */
#define MOST_STEPS 200

void lot_spread_prior_make(double upper, lot_spread_prior *prior)
{
    for (int k = 0; k < LOT_SPREAD_STEPS; k++) {
        const double octaves = (FIRST_STEP + k) / 4.0;
        const double z = octaves * LOG_2 / PRIOR_DEVIATION + PRIOR_QUANTILE;

        prior->spread[k] = upper * exp2(octaves);
        prior->log_weight[k] = -0.5 * z * z;
    }
}

/* Density at distance d from the middle: honest, or with a small share anywhere. Lies between 0.005 and
 * 3.2e9 for every spread of the grid. */
static double density(double d, double sigma)
{
    const double z = d / sigma;

    return (1 - BAD_SHARE) * exp(-0.5 * z * z) / (sigma * SQRT_2_PI) + BAD_SHARE / BAD_WIDTH;
}

/* Sum of the logarithms of the densities; the product of 16 of them lies between 1e-37 and 1e153, and saves
 * most of the logarithms. */
static double log_densities(const double *y, size_t count, double centre, double sigma)
{
    double sum = 0, product = 1;

    for (size_t i = 0; i < count; i++) {
        product *= density(y[i] - centre, sigma);
        if (i % 16 == 15 || i + 1 == count) {
            sum += log(product);
            product = 1;
        }
    }
    return sum;
}

static double total_sigma(const lot_spread_prior *prior, int k, double variance)
{
    return sqrt(prior->spread[k] * prior->spread[k] + variance);
}

void lot_spread_fit_make(const lot_spread_prior *prior, const double *y, double variance, size_t count,
                         double centre, lot_spread_fit *fit)
{
    for (int k = 0; k < LOT_SPREAD_STEPS; k++) {
        const double sigma = total_sigma(prior, k, variance);

        /* The unknown middle uses up one degree of freedom: integrated out, it leaves one factor sigma. */
        fit->log_likelihood[k] = log(sigma) + log_densities(y, count, centre, sigma);
    }
    fit->variance = variance;
    fit->centre = centre;
    fit->count = count;
}

double lot_median_variance(size_t count)
{
    if (count == 0)
        return INFINITY;
    return count <= 2 ? 1.0 / (double)count : HALF_PI / (double)count;
}

/* From logarithms to weights whose sum is 1. */
static void normalise(double *weight)
{
    double most = weight[0], sum = 0;

    for (int k = 1; k < LOT_SPREAD_STEPS; k++)
        most = fmax(most, weight[k]);
    for (int k = 0; k < LOT_SPREAD_STEPS; k++)
        sum += weight[k] = exp(weight[k] - most);
    for (int k = 0; k < LOT_SPREAD_STEPS; k++)
        weight[k] /= sum;
}

void lot_spread_all(const lot_spread_prior *prior, const lot_spread_fit *fit, lot_spread_belief *belief)
{
    for (int k = 0; k < LOT_SPREAD_STEPS; k++)
        belief->weight[k] = prior->log_weight[k] + fit->log_likelihood[k];
    normalise(belief->weight);
    belief->variance = belief->centre_variance = fit->variance;
    belief->centre_factor = lot_median_variance(fit->count);
}

void lot_spread_without(const lot_spread_prior *prior, const lot_spread_fit *fit, double y,
                        lot_spread_belief *belief)
{
    for (int k = 0; k < LOT_SPREAD_STEPS; k++)
        belief->weight[k] = prior->log_weight[k] + fit->log_likelihood[k] -
                            log(density(y - fit->centre, total_sigma(prior, k, fit->variance)));
    normalise(belief->weight);
    belief->variance = belief->centre_variance = fit->variance;
    belief->centre_factor = lot_median_variance(fit->count - 1);
}

void lot_spread_prior_only(const lot_spread_prior *prior, size_t count, double variance,
                           lot_spread_belief *belief)
{
    for (int k = 0; k < LOT_SPREAD_STEPS; k++)
        belief->weight[k] = prior->log_weight[k];
    normalise(belief->weight);
    belief->variance = belief->centre_variance = variance;
    belief->centre_factor = lot_median_variance(count);
}

double lot_spread_centre_variance(const lot_spread_belief *belief, double spread)
{
    return belief->centre_factor * (spread * spread + belief->centre_variance);
}

/* Standard deviation of the distance between an honest GPU and the middle, for the spread at `k`. */
static double distance_sigma(const lot_spread_prior *prior, const lot_spread_belief *belief, int k)
{
    const double spread = prior->spread[k];

    return sqrt(spread * spread + belief->variance + lot_spread_centre_variance(belief, spread));
}

double lot_spread_tail(const lot_spread_prior *prior, const lot_spread_belief *belief, double distance)
{
    double tail = 0;

    for (int k = 0; k < LOT_SPREAD_STEPS; k++)
        if (belief->weight[k] > NEGLIGIBLE)
            tail += belief->weight[k] * lot_normal_tail(distance / distance_sigma(prior, belief, k));
    return tail;
}

/* The derivative of the tail's logarithm, from the tail itself. */
static double tail_slope(const lot_spread_prior *prior, const lot_spread_belief *belief, double distance,
                         double tail)
{
    double density = 0;

    for (int k = 0; k < LOT_SPREAD_STEPS; k++)
        if (belief->weight[k] > NEGLIGIBLE) {
            const double sigma = distance_sigma(prior, belief, k);
            const double z = distance / sigma;

            density += belief->weight[k] * exp(-0.5 * z * z) / (sigma * SQRT_2_PI);
        }
    return -density / tail;
}

/* Newton's steps on the logarithm of the tail, which is nearly straight; a step out of the bracket halves it
 * instead. */
double lot_spread_threshold(const lot_spread_prior *prior, const lot_spread_belief *belief,
                            double probability)
{
    double low = 0, high = INFINITY, at = 2 * lot_spread_mean(prior, belief) + sqrt(belief->variance);

    for (int i = 0; i < MOST_STEPS; i++) {
        const double tail = lot_spread_tail(prior, belief, at);
        double next;

        if (tail > probability)
            low = at;
        else
            high = at;
        next = at - log(tail / probability) / tail_slope(prior, belief, at, tail);
        if (!(next > low && next < high))
            next = isinf(high) ? 2 * at : low + (high - low) / 2;
        if (fabs(next - at) <= 1e-12 * at)
            return next;
        at = next;
    }
    return at;
}

double lot_spread_mean(const lot_spread_prior *prior, const lot_spread_belief *belief)
{
    double mean = 0;

    for (int k = 0; k < LOT_SPREAD_STEPS; k++)
        mean += belief->weight[k] * prior->spread[k] * prior->spread[k];
    return sqrt(mean);
}
