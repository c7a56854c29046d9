/* A small pass: overheads. */
#include "driver.h"

#include <stdbool.h>

#include "gpu/cuda/kernels.h"

#define WARM_SECONDS 0.3

typedef struct small_network {
    layer first, second;
    bare bare_first, bare_second;
    int64_t hidden, hidden_bytes, output_bytes;
} small_network;

/* As a measurement does it: outputs are taken from the pool, and the second lives until the pass is over. */
static void pass(check *c, small_network *n)
{
    n->first.y = take(c, n->hidden_bytes);
    run_layer(c, &n->first);
    n->second.x = n->first.y;
    n->second.y = take(c, n->output_bytes);
    run_layer(c, &n->second);
    c->module->free(c->device, n->first.y);
}

/* Seconds of one, by itself or with the two events of a measurement's row: the first lies before the time. */
static double one_pass(check *c, small_network *n, bool events)
{
    double began;

    if (events)
        WORKS(c, c->module->timer_start(c->device, &c->error));
    began = now();
    pass(c, n);
    if (events)
        WORKS(c, c->module->timer_stop(c->device, &c->error));
    WORKS(c, c->module->sync(c->device, &c->error));
    return now() - began;
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

/* Median seconds of passes whose output is dropped outside the time, after `warm` ones that do not count. */
static double pass_seconds(check *c, small_network *n, bool events)
{
    const int warm = c->small ? 1 : 20 * RUNS_MOST;
    double seconds[RUNS_MOST];

    for (int i = -warm; i < RUNS_MOST; i++) {
        const double one = one_pass(c, n, events);

        if (i >= 0)
            seconds[i] = one;
        c->module->free(c->device, n->second.y);
    }
    return median(seconds, RUNS_MOST);
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

/* Seconds of a pass, of one with events, of the bare calls for it, on outputs that stay, of its pool calls.
 */
typedef struct costs {
    double pass, timed, bare_calls, kept, pool;
} costs;

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
    warm_up(c, run_small_bare, &n, WARM_SECONDS);
    found.bare_calls = host_seconds(c, run_small_bare, &n, RUNS_MOST);
    warm_up(c, run_small_kept, &n, WARM_SECONDS);
    found.kept = host_seconds(c, run_small_kept, &n, RUNS_MOST);
    found.pool = host_seconds(c, run_pool, &n, RUNS_MOST);
    found.pass = pass_seconds(c, &n, false);
    found.timed = pass_seconds(c, &n, true);
    drop_bare(&n.bare_second);
    drop_bare(&n.bare_first);
    drop_layer(c, &second);
    drop_layer(c, &first);
    return found;
}

void measure_small(check *c)
{
    costs found = measure(c, LOT_GELU_ERF);

    result("small forward, erf (float16, 16 x 64)", found.pass * 1e6, "us");
    result("small forward, erf, with a row's events", found.timed * 1e6, "us");
    result("small forward, erf, outputs kept", found.kept * 1e6, "us");
    result("small forward, its two allocations and frees", found.pool * 1e6, "us");
    result("small forward, erf, bare calls", found.bare_calls * 1e6, "us");
    at_most(c, "small forward, erf / bare calls", found.pass / found.bare_calls, 1.2);
    found = measure(c, LOT_GELU_TANH);
    result("small forward, tanh", found.pass * 1e6, "us");
    result("small forward, tanh, bare calls", found.bare_calls * 1e6, "us");
    at_most(c, "small forward, tanh / bare calls", found.pass / found.bare_calls, 1.2);
}
