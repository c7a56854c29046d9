/* Tensors of more than 2^32 elements, and a product of more than 2^31: a narrower index comes round there. */
#include "driver.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/cpus.h"
#include "gpu/cuda/kernels.h"
#include "gpu/digest.h"
#include "gpu/generator.h"

#define DTYPE LOT_BFLOAT16
#define TAIL  2053               /* elements behind the boundary that are made once more by themselves */
#define SPARE ((int64_t)6 << 30) /* bytes: the product's output, and steps of the pool */

typedef struct tensors {
    int64_t count; /* elements of each */
    int64_t start; /* of the tail */
    char *a;
    char *b;
} tensors;

static void compare(check *c, const void *a, const void *b, int64_t count, int64_t *differing, int64_t *first)
{
    WORKS(c, c->module->compare(c->device, a, b, count, DTYPE, differing, first, &c->error));
}

static int64_t differing_in_tail(check *c, const tensors *t)
{
    int64_t differing, first;

    compare(c, t->a + 2 * t->start, t->b, TAIL, &differing, &first);
    return differing;
}

/* The tail of a large tensor is what the same kernel makes of the tail alone. */
static void check_tail(check *c, const tensors *t)
{
    lot_fill fill = {.seed = 5,
                     .tensor = LOT_TENSOR_INPUT,
                     .distribution = LOT_NEAR_NORMAL,
                     .scale = 1.0f,
                     .count = t->count,
                     .dtype = DTYPE};

    WORKS(c, c->module->fill(c->device, t->a, &fill, &c->error));
    fill.first = t->start;
    fill.count = TAIL;
    WORKS(c, c->module->fill(c->device, t->b, &fill, &c->error));
    must_hold(c, "large tensor: filled otherwise", (double)differing_in_tail(c, t), 0.0);
    RUNTIME(lot_launch_gelu(t->a, t->count, DTYPE, c->stream));
    RUNTIME(lot_launch_gelu(t->b, TAIL, DTYPE, c->stream));
    RUNTIME(cudaStreamSynchronize(c->stream));
    must_hold(c, "large tensor: GELU otherwise", (double)differing_in_tail(c, t), 0.0);
}

/* Of two that are equal but for their last element. */
static void check_comparison(check *c, const tensors *t)
{
    const int64_t last = 2 * (t->count - 1);
    int64_t differing, first;

    RUNTIME(cudaMemcpyAsync(t->b, t->a, (size_t)(2 * t->count), cudaMemcpyDeviceToDevice, c->stream));
    RUNTIME(cudaMemsetAsync(t->a + last, 1, 2, c->stream));
    RUNTIME(cudaMemsetAsync(t->b + last, 2, 2, c->stream));
    RUNTIME(cudaStreamSynchronize(c->stream));
    compare(c, t->a, t->b, t->count, &differing, &first);
    must_hold(c, "large tensor: compared wrongly", differing != 1 || first != t->count - 1, 0.0);
}

/* Of zeros, whose digest is that of the indices alone. */
static void check_large_digest(check *c, const tensors *t)
{
    const int64_t bytes = 2 * t->count, words = (bytes + 7) / 8;
    uint64_t wanted = (uint64_t)bytes, got = 0;
    int finite = 0;

#pragma omp parallel for num_threads(lot_cpus_usable("")) reduction(+ : wanted)
    for (int64_t i = 0; i < words; i++)
        wanted += lot_digest_word(0, (uint64_t)i);
    RUNTIME(cudaMemsetAsync(t->a, 0, (size_t)bytes, c->stream));
    RUNTIME(cudaStreamSynchronize(c->stream));
    WORKS(c, c->module->digest(c->device, t->a, bytes, DTYPE, &got, &finite, &c->error));
    must_hold(c, "large tensor: digest differs", got != wanted || !finite, 0.0);
}

static void check_large_product(check *c)
{
    const lot_linear linear = {.rows = c->small ? 17 : 70001,
                               .in_features = 64,
                               .out_features = c->small ? 64 : 32768,
                               .dtype = DTYPE,
                               .activation = LOT_GELU_ERF};
    double worst = 0.0;

    must_hold(c, "large product: refused", !check_layer(c, linear, NULL, &worst), 0.0);
    must_hold(c, "large product: error / bound", worst, 1.0);
}

void check_large(check *c)
{
    tensors t = {.count = (c->small ? 0 : (int64_t)1 << 32) + 4096 + 5};

    t.start = t.count - TAIL;
    if (c->module->supports(c->device, DTYPE, LOT_MATH_IEEE, &c->error) != LOT_OK) {
        (void)printf("# large: %s\n", c->error.text);
        return;
    }
    if (free_bytes() < 4 * t.count + (c->small ? 0 : SPARE)) {
        (void)printf("# large: left out, %" PRId64 " bytes of the device's memory are too few\n",
                     free_bytes());
        return;
    }
    check_large_product(c); /* first, for the pool keeps what it had */
    t.a = take(c, 2 * t.count);
    t.b = take(c, 2 * t.count);
    check_tail(c, &t);
    check_comparison(c, &t);
    check_large_digest(c, &t);
    c->module->free(c->device, t.b);
    c->module->free(c->device, t.a);
    WORKS(c, c->module->sync(c->device, &c->error));
}
