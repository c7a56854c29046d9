/* How far apart honest GPUs of one model lie: a prior, what a group tells about it, and what follows for one
 * more GPU. The derivation stands in docs/consistency.md.
 *
 *     lot_spread_prior_make(0.015, &prior);
 *     lot_spread_fit_make(&prior, y, variance, count, centre, &fit);    the group
 *     lot_spread_without(&prior, &fit, y[i], &judge);                   all of it but GPU i
 *     p = lot_spread_tail(&prior, &judge, y[i] - centre);               how rare GPU i would be if honest
 *
 * y are natural logarithms of times; `variance` is what the repeats' noise adds to one y. */
#ifndef GPULOT_ANALYSIS_SPREAD_H
#define GPULOT_ANALYSIS_SPREAD_H

#include <stddef.h>

/* The spread takes these many values, a quarter of an octave apart. */
#define LOT_SPREAD_STEPS 29

typedef struct lot_spread_prior {
    double spread[LOT_SPREAD_STEPS];
    double log_weight[LOT_SPREAD_STEPS];
} lot_spread_prior;

/* The smallest `upper`: below it densities overflow. */
#define LOT_SPREAD_LEAST 1e-9

/* `upper`: four of five honest groups have a smaller spread than this. */
void lot_spread_prior_make(double upper, lot_spread_prior *prior);

/* What a group tells: the logarithm of each spread's likelihood. */
typedef struct lot_spread_fit {
    double log_likelihood[LOT_SPREAD_STEPS];
    double variance; /* of the repeats' noise in one y */
    double centre;
    size_t count;
} lot_spread_fit;

/* `centre` is the middle from which the distances are taken. */
void lot_spread_fit_make(const lot_spread_prior *prior, const double *y, double variance, size_t count,
                         double centre, lot_spread_fit *fit);

/* The spread as known from `count` GPUs, whose middle is therefore uncertain itself. */
typedef struct lot_spread_belief {
    double weight[LOT_SPREAD_STEPS]; /* sum 1 */
    double variance;                 /* of the repeats' noise in the y of the GPU that is judged */
    double centre_variance;          /* of that in the y of those that make the middle */
    double centre_factor;            /* variance of the middle over the variance of one of these */
} lot_spread_belief;

/* The belief from all GPUs of the fit, for one more GPU. */
void lot_spread_all(const lot_spread_prior *prior, const lot_spread_fit *fit, lot_spread_belief *belief);

/* The belief from all but one GPU of the fit, whose y is given, for that GPU. Both variances are the fit's:
 * set them where those of the GPU or of the middle are known to be others. */
void lot_spread_without(const lot_spread_prior *prior, const lot_spread_fit *fit, double y,
                        lot_spread_belief *belief);

/* The belief of the prior alone against a middle of `count` GPUs, with one variance for both. */
void lot_spread_prior_only(const lot_spread_prior *prior, size_t count, double variance,
                           lot_spread_belief *belief);

/* Probability that an honest GPU lies more than `distance` above the middle of the others. */
double lot_spread_tail(const lot_spread_prior *prior, const lot_spread_belief *belief, double distance);

/* The distance whose tail is `probability`. */
double lot_spread_threshold(const lot_spread_prior *prior, const lot_spread_belief *belief,
                            double probability);

/* Variance of the middle, for a GPU spread of `spread`. */
double lot_spread_centre_variance(const lot_spread_belief *belief, double spread);

/* Root mean square of the spread. */
double lot_spread_mean(const lot_spread_prior *prior, const lot_spread_belief *belief);

/* Variance of the median of `count` normal values over the variance of one: exact up to 2, else its limit for
 * many, pi / (2 count), which is never below the truth. */
double lot_median_variance(size_t count);

#endif
