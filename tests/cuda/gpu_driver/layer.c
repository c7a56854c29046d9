/* Tensors and layers of the module under check. */
#include "driver.h"

#include <math.h>

#include "gpu/generator.h"

int64_t free_bytes(void)
{
    size_t available = 0, total = 0;

    RUNTIME(cudaMemGetInfo(&available, &total));
    return (int64_t)available;
}

void *take(check *c, int64_t bytes)
{
    void *pointer = NULL;

    WORKS(c, c->module->alloc(c->device, bytes, &pointer, &c->error));
    return pointer;
}

void *tensor(check *c, uint32_t number, lot_distribution distribution, float scale, int64_t count,
             lot_dtype dtype)
{
    const lot_fill fill = {.seed = 1,
                           .tensor = number,
                           .distribution = distribution,
                           .scale = scale,
                           .count = count,
                           .dtype = dtype};
    void *pointer = take(c, count * (int64_t)lot_dtype_bytes(dtype));

    WORKS(c, c->module->fill(c->device, pointer, &fill, &c->error));
    return pointer;
}

layer make_layer(check *c, lot_linear linear, void *x)
{
    const float bound = 1.0f / sqrtf((float)linear.in_features);
    const int64_t in = linear.in_features, out = linear.out_features;
    lot_plan_facts facts;
    layer made = {.linear = linear, .x = x, .owns_x = x == NULL};

    if (x == NULL)
        made.x = tensor(c, LOT_TENSOR_INPUT, LOT_NEAR_NORMAL, 1.0f, linear.rows * in, linear.dtype);
    made.w = tensor(c, LOT_TENSOR_WEIGHT_1, LOT_UNIFORM, bound, out * in, linear.dtype);
    made.b = tensor(c, LOT_TENSOR_BIAS_1, LOT_UNIFORM, bound, out, linear.dtype);
    made.y = take(c, linear.rows * out * (int64_t)lot_dtype_bytes(linear.dtype));
    WORKS(c, c->module->plan(c->device, &linear, &made.plan, &facts, &c->error));
    return made;
}

void drop_layer(check *c, layer *made)
{
    c->module->plan_free(c->device, made->plan);
    c->module->free(c->device, made->y);
    c->module->free(c->device, made->b);
    c->module->free(c->device, made->w);
    if (made->owns_x)
        c->module->free(c->device, made->x);
    WORKS(c, c->module->sync(c->device, &c->error));
}

void run_layer(check *c, void *context)
{
    const layer *l = context;

    WORKS(c, c->module->run(c->device, l->plan, l->y, l->x, l->w, l->b, &c->error));
}
