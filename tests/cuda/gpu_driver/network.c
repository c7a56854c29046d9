/* Both layers of the network: its rate, and its products against the best there are. */
#include "driver.h"

#include <math.h>
#include <stdio.h>

#define WIDTH_MOST    8192
#define WARM_SECONDS  0.5
#define RIVAL_SECONDS 8.0
#define PASSES        20 /* whose outputs must be equal, or as many as a few seconds give */
#define PASSES_LEAST  3
#define PASS_SECONDS  3.0
#define RATE_RUNS     20

typedef struct network {
    layer first, second;
    layer product; /* the first without its GELU */
} network;

static double flops_of(const lot_linear *l)
{
    return 2.0 * (double)l->rows * (double)l->in_features * (double)l->out_features;
}

/* As wide as asked for, or as the device's memory lets it. */
static int64_t width_for(const check *c, lot_dtype dtype)
{
    int64_t width = c->small ? 64 : WIDTH_MOST;

    while (width > 512 && 15 * width * width * (int64_t)lot_dtype_bytes(dtype) > free_bytes() / 4 * 3)
        width /= 2; /* 8 w^2 of weights, 6 of activations, and steps of the pool */
    return width;
}

static network make_network(check *c, int64_t width, lot_dtype dtype, lot_math math)
{
    lot_linear linear = {.rows = width,
                         .in_features = width,
                         .out_features = 4 * width,
                         .dtype = dtype,
                         .math = math,
                         .activation = LOT_GELU_ERF};
    lot_plan_facts facts;
    network n;

    n.first = make_layer(c, linear, NULL);
    n.product = n.first;
    linear.activation = n.product.linear.activation = LOT_ACTIVATION_NONE;
    WORKS(c, c->module->plan(c->device, &linear, &n.product.plan, &facts, &c->error));
    (void)printf("# %s layer 1: %s, workspace %lld, %s\n", lot_dtype_name(dtype), facts.algorithm,
                 (long long)facts.workspace_bytes, facts.arithmetic);
    linear.in_features = 4 * width;
    linear.out_features = width;
    n.second = make_layer(c, linear, n.first.y);
    return n;
}

static void drop_network(check *c, network *n)
{
    c->module->plan_free(c->device, n->product.plan);
    drop_layer(c, &n->second);
    drop_layer(c, &n->first);
}

static void run_network(check *c, void *context)
{
    network *n = context;

    run_layer(c, &n->first);
    run_layer(c, &n->second);
}

/* A product by the module, and by the best algorithms that there are. */
static void race(check *c, layer *l, int runs, double *ours, double *best, rivals *seen)
{
    bare all = make_bare(c, l, CANDIDATES), fastest[FINALISTS];
    const int count = best_bares(c, &all, RIVAL_SECONDS, fastest, seen);
    contender run[1 + FINALISTS] = {{.how = by_device, .run = run_layer, .context = l}};
    double least = INFINITY;

    for (int i = 0; i < count; i++)
        run[1 + i] = (contender){.how = by_stream, .run = run_bare, .context = &fastest[i]};
    warm_up(c, run_layer, l, WARM_SECONDS);
    contest(c, run, 1 + count, runs);
    for (int i = 0; i < count; i++)
        least = fmin(least, run[1 + i].seconds);
    *ours += run[0].seconds;
    *best += least;
    drop_bare(&all);
}

/* Passes whose output is not the first one's, bit for bit, or not finite. */
static int differing_passes(check *c, network *n)
{
    const lot_linear *l = &n->second.linear;
    const int64_t bytes = l->rows * l->out_features * (int64_t)lot_dtype_bytes(l->dtype);
    uint64_t digest = 0, first = 0;
    const double began = now();
    int finite = 0, differing = 0;

    for (int i = 0; i < PASSES && (i < PASSES_LEAST || now() - began < PASS_SECONDS); i++) {
        run_network(c, n);
        WORKS(c, c->module->digest(c->device, n->second.y, bytes, l->dtype, &digest, &finite, &c->error));
        if (i == 0)
            first = digest;
        differing += digest != first || !finite;
    }
    return differing;
}

void measure_network(check *c, lot_dtype dtype, lot_math math, const char *name)
{
    const int runs = dtype == LOT_FLOAT32 && math == LOT_MATH_IEEE ? 5 : 20;
    const char *how = c->tune > 0 ? ", tuned" : "";
    double forward, product = 0.0, best = 0.0, flops;
    rivals seen = {0, 0};
    lot_telemetry row;
    char text[96];
    int64_t width;
    network n;

    if (c->module->supports(c->device, dtype, math, &c->error) != LOT_OK) {
        (void)printf("# %s: %s\n", name, c->error.text);
        return;
    }
    width = width_for(c, dtype);
    n = make_network(c, width, dtype, math);
    flops = flops_of(&n.first.linear) + flops_of(&n.second.linear);
    (void)snprintf(text, sizeof text, "%s outputs that differ%s", name, how);
    must_hold(c, text, differing_passes(c, &n), 0.0);
    WORKS(c, c->module->telemetry_begin(c->device, &c->error));
    warm_up(c, run_network, &n, WARM_SECONDS);
    forward = median_seconds(c, by_device, run_network, &n, runs);
    WORKS(c, c->module->telemetry_end(c->device, &row, &c->error)); /* power and clocks that set the rate */
    (void)snprintf(text, sizeof text, "%s network%s", name, how);
    print_row(text, &row);
    (void)snprintf(text, sizeof text, "%s network, width %lld%s", name, (long long)width, how);
    result(text, flops / forward * 1e-12, "TFLOP/s");
    race(c, &n.second, runs, &product, &best, &seen); /* first, for it reads what GELU made */
    race(c, &n.product, runs, &product, &best, &seen);
    (void)snprintf(text, sizeof text, "%s products%s", name, how);
    result(text, flops / product * 1e-12, "TFLOP/s");
    (void)snprintf(text, sizeof text, "%s best of %d algorithms of %d%s", name, seen.timed, seen.offered,
                   how);
    result(text, flops / best * 1e-12, "TFLOP/s");
    (void)snprintf(text, sizeof text, "%s products / best algorithm%s", name, how);
    if (dtype == LOT_BFLOAT16)
        at_least(c, text, best / product, 0.95);
    else
        result(text, best / product, "");
    drop_network(c, &n);
}

/* The rate alone, for whoever wants it again beside another program's. */
void measure_rate(check *c)
{
    network n = make_network(c, width_for(c, LOT_BFLOAT16), LOT_BFLOAT16, LOT_MATH_IEEE);
    const double flops = flops_of(&n.first.linear) + flops_of(&n.second.linear);

    warm_up(c, run_network, &n, WARM_SECONDS);
    result("bfloat16 network", flops / median_seconds(c, by_device, run_network, &n, RATE_RUNS) * 1e-12,
           "TFLOP/s");
    drop_network(c, &n);
}
