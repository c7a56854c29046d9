/* A small pass: overheads. */
#include "driver.h"

#include "gpu/cuda/kernels.h"

#define WARM_SECONDS 1.0
#define WARM_ROUNDS  16

typedef struct small_network {
    layer first, second;
    bare bare_first, bare_second;
    int64_t hidden, hidden_bytes, output_bytes;
} small_network;

/* As a measurement does it: outputs are taken from the pool, and the second lives until the pass is over. */
static void run_pass(check *c, void *context)
{
    small_network *n = context;

    n->first.y = take(c, n->hidden_bytes);
    run_layer(c, &n->first);
    n->second.x = n->first.y;
    n->second.y = take(c, n->output_bytes);
    run_layer(c, &n->second);
    c->module->free(c->device, n->first.y);
}

static void run_row(check *c, void *context)
{
    run_pass(c, context);
    WORKS(c, c->module->timer_stop(c->device, &c->error));
}

/* Seconds of one, whose output is dropped outside the time. */
static double by_pass(check *c, work run, void *context)
{
    small_network *n = context;
    const double began = now();
    double seconds;

    run(c, context);
    WORKS(c, c->module->sync(c->device, &c->error));
    seconds = now() - began;
    c->module->free(c->device, n->second.y);
    return seconds;
}

/* The same with the two events of a measurement's row: the first lies before the time. */
static double by_row(check *c, work run, void *context)
{
    WORKS(c, c->module->timer_start(c->device, &c->error));
    return by_pass(c, run, context);
}

/* The same layers on outputs that stay: what is left is the module's own calls. */
static void run_small_kept(check *c, void *context)
{
    small_network *n = context;

    run_layer(c, &n->first);
    run_layer(c, &n->second);
    WORKS(c, c->module->sync(c->device, &c->error));
}

/* What one pass takes from the pool, and nothing else. */
static void run_pool(check *c, void *context)
{
    small_network *n = context;
    void *hidden = take(c, n->hidden_bytes), *output = take(c, n->output_bytes);

    c->module->free(c->device, hidden);
    c->module->free(c->device, output);
}

static void run_small_bare(check *c, void *context)
{
    small_network *n = context;

    run_bare(c, &n->bare_first);
    if (n->first.linear.activation == LOT_GELU_ERF)
        RUNTIME(lot_launch_gelu(n->bare_first.layer->y, n->hidden, n->first.linear.dtype, c->stream));
    run_bare(c, &n->bare_second);
    RUNTIME(cudaStreamSynchronize(c->stream));
}

/* Seconds of the bare calls for a pass, of one on outputs that stay, of a whole one and one with events, and
 * of its pool calls. */
enum { BARE, KEPT, PASS, ROW, CONTENDERS };
typedef struct costs {
    double of[CONTENDERS];
    double pool;
} costs;

/* By turns, after as long a warm-up by turns, for clocks that come up slowly under small work. */
static costs time_all(check *c, small_network *n)
{
    small_network passing = *n; /* changes its outputs */
    contender all[CONTENDERS] = {[BARE] = {.how = by_host, .run = run_small_bare, .context = n},
                                 [KEPT] = {.how = by_host, .run = run_small_kept, .context = n},
                                 [PASS] = {.how = by_pass, .run = run_pass, .context = &passing},
                                 [ROW] = {.how = by_row, .run = run_row, .context = &passing}};
    const double began = now();
    costs found;

    do
        contest(c, all, CONTENDERS, WARM_ROUNDS);
    while (!c->small && now() - began < WARM_SECONDS);
    contest(c, all, CONTENDERS, RUNS_MOST);
    for (int i = 0; i < CONTENDERS; i++)
        found.of[i] = all[i].seconds;
    found.pool = median_seconds(c, by_host, run_pool, n, RUNS_MOST);
    return found;
}

static costs measure(check *c, lot_activation activation)
{
    const int64_t width = 64, hidden = 256, rows = 16;
    small_network n = {
        .hidden = rows * hidden, .hidden_bytes = rows * hidden * 2, .output_bytes = rows * width * 2};
    layer first, second; /* as made, for the bare calls */
    costs found;

    first = make_layer(c, (lot_linear){rows, width, hidden, LOT_FLOAT16, LOT_MATH_IEEE, activation}, NULL);
    second = make_layer(c, (lot_linear){rows, hidden, width, LOT_FLOAT16, LOT_MATH_IEEE, LOT_ACTIVATION_NONE},
                        first.y);
    n.first = first;
    n.second = second;
    n.bare_first = make_bare(c, &first, 1);
    n.bare_second = make_bare(c, &second, 1);
    WORKS(c, c->module->sync(c->device, &c->error));
    found = time_all(c, &n);
    drop_bare(&n.bare_second);
    drop_bare(&n.bare_first);
    drop_layer(c, &second);
    drop_layer(c, &first);
    return found;
}

void measure_small(check *c)
{
    costs found = measure(c, LOT_GELU_ERF);

    result("small forward, erf (float16, 16 x 64)", found.of[PASS] * 1e6, "us");
    result("small forward, erf, with a row's events", found.of[ROW] * 1e6, "us");
    result("small forward, erf, outputs kept", found.of[KEPT] * 1e6, "us");
    result("small forward, its two allocations and frees", found.pool * 1e6, "us");
    result("small forward, erf, bare calls", found.of[BARE] * 1e6, "us");
    at_most(c, "small forward, erf / bare calls", found.of[PASS] / found.of[BARE], 1.2);
    found = measure(c, LOT_GELU_TANH);
    result("small forward, tanh", found.of[PASS] * 1e6, "us");
    result("small forward, tanh, bare calls", found.of[BARE] * 1e6, "us");
    at_most(c, "small forward, tanh / bare calls", found.of[PASS] / found.of[BARE], 1.2);
}
