/* Values, digests and layers against their definitions. */
#include "driver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cuda/kernels.h"
#include "gpu/digest.h"
#include "gpu/generator.h"

/* ---- correctness ---- */

static float value_at(const void *values, lot_dtype dtype, int64_t i)
{
    if (dtype == LOT_FLOAT32)
        return ((const float *)values)[i];
    return dtype == LOT_FLOAT16 ? lot_from_float16(((const uint16_t *)values)[i])
                                : lot_from_bfloat16(((const uint16_t *)values)[i]);
}

static void *fetch(check *c, const void *device, int64_t count, lot_dtype dtype)
{
    const int64_t bytes = count * (int64_t)lot_dtype_bytes(dtype);
    void *host = malloc((size_t)bytes);

    if (host == NULL)
        give_up("malloc", "no memory");
    WORKS(c, c->module->download(c->device, host, device, bytes, &c->error));
    return host;
}

static double activate(lot_activation activation, double z)
{
    if (activation == LOT_GELU_ERF)
        return 0.5 * z * (1.0 + erf(z * sqrt(0.5)));
    if (activation == LOT_GELU_TANH)
        return 0.5 * z * (1.0 + tanh(0.79788456080286535588 * (z + 0.044715 * z * z * z)));
    return z;
}

/* Largest error of sampled elements in units of its bound; above 1 is wrong. */
static double worst_ratio(check *c, const layer *made)
{
    const lot_linear *l = &made->linear;
    const double unit = l->dtype == LOT_FLOAT32 ? 0x1p-24 : l->dtype == LOT_FLOAT16 ? 0x1p-11 : 0x1p-8;
    const double product = l->math == LOT_MATH_TF32 ? 0x1p-9 : 0.0; /* both operands, if they are cut off */
    /* A GPU's tanh is an instruction, off by up to 2^-11, half of which enters. */
    const double hardware = l->activation == LOT_GELU_TANH ? 0x1p-12 : 0.0;
    void *x = fetch(c, made->x, l->rows * l->in_features, l->dtype);
    void *w = fetch(c, made->w, l->out_features * l->in_features, l->dtype);
    void *b = fetch(c, made->b, l->out_features, l->dtype);
    void *y = fetch(c, made->y, l->rows * l->out_features, l->dtype);
    double worst = 0.0;

    for (int64_t sample = 0; sample < 4096; sample++) {
        const int64_t r = sample * 7919 % l->rows, o = sample * 104729 % l->out_features;
        double sum = (double)value_at(b, l->dtype, o), majorant = fabs(sum), wanted, error, bound;

        for (int64_t k = 0; k < l->in_features; k++) {
            const double one = (double)value_at(x, l->dtype, r * l->in_features + k) *
                               (double)value_at(w, l->dtype, o * l->in_features + k);

            sum += one;
            majorant += fabs(one);
        }
        wanted = activate(l->activation, sum);
        error = fabs((double)value_at(y, l->dtype, r * l->out_features + o) - wanted);
        bound = 1.13 * majorant * (((double)l->in_features + 2) * 0x1p-24 + product) +
                2 * unit * (fabs(sum) + fabs(wanted)) + hardware * fabs(sum) + 1e-7;
        if (isnan(error) || error / bound > worst) /* a NaN is the worst, and stays it */
            worst = error / bound;
    }
    free(x);
    free(w);
    free(b);
    free(y);
    return worst;
}

static void write_file(check *c, const char *folder, const char *name, const void *device, int64_t count,
                       lot_dtype dtype)
{
    void *host = fetch(c, device, count, dtype);
    char path[512];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s-%s.bin", folder, lot_dtype_name(dtype), name);
    file = fopen(path, "wb");
    if (file == NULL || fwrite(host, lot_dtype_bytes(dtype), (size_t)count, file) != (size_t)count ||
        fclose(file) != 0)
        give_up(path, "cannot be written");
    free(host);
}

static void export_layer(check *c, const char *folder, const layer *made)
{
    const lot_linear *l = &made->linear;

    write_file(c, folder, "x", made->x, l->rows * l->in_features, l->dtype);
    write_file(c, folder, "w", made->w, l->out_features * l->in_features, l->dtype);
    write_file(c, folder, "b", made->b, l->out_features, l->dtype);
    write_file(c, folder, "y", made->y, l->rows * l->out_features, l->dtype);
}

bool check_layer(check *c, lot_linear linear, const char *folder, double *worst)
{
    lot_plan *plan = NULL;
    lot_plan_facts facts;
    layer made;
    double ratio;

    if (c->module->plan(c->device, &linear, &plan, &facts, &c->error) != LOT_OK) {
        (void)printf("# refused: %s\n", c->error.text);
        return false;
    }
    c->module->plan_free(c->device, plan);
    made = make_layer(c, linear, NULL);
    run_layer(c, &made);
    ratio = worst_ratio(c, &made);
    if (isnan(ratio) || ratio > *worst)
        *worst = ratio;
    if (folder != NULL)
        export_layer(c, folder, &made);
    drop_layer(c, &made);
    return true;
}

/* Shapes that fit no tile: each is to be computed, and right. */
static void check_odd_shapes(check *c, lot_dtype dtype, lot_math math, const char *name)
{
    static const int64_t shapes[][3] = {{1, 1, 1},     {1, 16, 8},    {3, 7, 5},     {5, 64, 24},
                                        {17, 40, 129}, {33, 1000, 1}, {2, 4095, 33}, {129, 257, 1}};
    double worst = 0.0;
    int refused = 0;
    char text[96];

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int activation = LOT_ACTIVATION_NONE; activation <= LOT_GELU_TANH; activation++)
            refused += !check_layer(c,
                                    (lot_linear){shapes[i][0], shapes[i][1], shapes[i][2], dtype, math,
                                                 (lot_activation)activation},
                                    NULL, &worst);
    (void)snprintf(text, sizeof text, "%s odd shapes: refused", name);
    must_hold(c, text, refused, 0.0);
    (void)snprintf(text, sizeof text, "%s odd shapes: error / bound", name);
    must_hold(c, text, worst, 1.0);
}

static void check_kind(check *c, lot_dtype dtype, lot_math math, const char *name)
{
    static const char *const names[] = {"linear", "linear+gelu(erf)", "linear+gelu(tanh)"};

    if (c->module->supports(c->device, dtype, math, &c->error) != LOT_OK) {
        (void)printf("# %s: %s\n", name, c->error.text);
        return;
    }
    for (int activation = LOT_ACTIVATION_NONE; activation <= LOT_GELU_TANH; activation++) {
        const bool left = activation == LOT_GELU_ERF && math == LOT_MATH_IEEE;
        double worst = 0.0;
        char text[96];

        if (!check_layer(c,
                         (lot_linear){.rows = c->small ? 32 : 256,
                                      .in_features = c->small ? 64 : 1024,
                                      .out_features = c->small ? 64 : 1536,
                                      .dtype = dtype,
                                      .math = math,
                                      .activation = (lot_activation)activation},
                         left ? c->folder : NULL, &worst))
            worst = INFINITY;
        (void)snprintf(text, sizeof text, "%s %s: error / bound", name, names[activation]);
        must_hold(c, text, worst, 1.0);
    }
    check_odd_shapes(c, dtype, math, name);
}

void check_layers(check *c)
{
    for (int dtype = 0; dtype < LOT_DTYPE_COUNT; dtype++)
        check_kind(c, (lot_dtype)dtype, LOT_MATH_IEEE, lot_dtype_name((lot_dtype)dtype));
    check_kind(c, LOT_FLOAT32, LOT_MATH_TF32, "tf32");
}

/* Host and device must agree on every bit of every value, and on the digest. */
void check_values(check *c)
{
    const int64_t count = c->small ? 100003 : 50000017;
    int64_t differing = 0, all = 0, first;

    for (int distribution = 0; distribution < 2; distribution++)
        for (int dtype = 0; dtype < LOT_DTYPE_COUNT; dtype++) {
            const lot_fill fill = {.seed = 99,
                                   .tensor = LOT_TENSOR_INPUT,
                                   .distribution = (lot_distribution)distribution,
                                   .scale = 0.5f,
                                   .count = count,
                                   .dtype = (lot_dtype)dtype};
            void *a = take(c, count * 4), *b = take(c, count * 4);

            WORKS(c, c->module->build(c->device, a, &fill, &c->error));
            WORKS(c, c->module->fill(c->device, b, &fill, &c->error));
            WORKS(c, c->module->compare(c->device, a, b, count, fill.dtype, &differing, &first, &c->error));
            all += differing;
            c->module->free(c->device, a);
            c->module->free(c->device, b);
        }
    must_hold(c, "values made on host and device: differing", (double)all, 0.0);
}

void check_digest(check *c)
{
    const int64_t count = c->small ? 10007 : 10000019, bytes = count * 2;
    void *device = tensor(c, LOT_TENSOR_INPUT, LOT_NEAR_NORMAL, 1.0f, count, LOT_FLOAT16);
    unsigned char *host = fetch(c, device, count, LOT_FLOAT16);
    uint64_t wanted = (uint64_t)bytes, got = 0;
    int finite = 0;

    for (int64_t start = 0; start < bytes; start += 8) {
        uint64_t word = 0;

        memcpy(&word, host + start, (size_t)(bytes - start < 8 ? bytes - start : 8));
        wanted += lot_digest_word(word, (uint64_t)start / 8);
    }
    WORKS(c, c->module->digest(c->device, device, bytes, LOT_FLOAT16, &got, &finite, &c->error));
    must_hold(c, "digest: differs from its definition", got != wanted || !finite, 0.0);
    free(host);
    c->module->free(c->device, device);
}

/* GELU of one value of a half type: its error in units of its bound, infinite where a value that is not
 * finite became one. The bound is half a unit of the result's last place, and 2^-21 of |x| for the
 * evaluation. */
static double gelu_error(lot_dtype dtype, double x, double y)
{
    const double unit = dtype == LOT_FLOAT16 ? 0x1p-11 : 0x1p-8,
                 least = dtype == LOT_FLOAT16 ? 0x1p-25 : 0x1p-134; /* half of the smallest subnormal */
    const double wanted = 0.5 * x * erfc(-x * sqrt(0.5));

    if (!isfinite(x) || !isfinite(y))
        return isfinite(x) == isfinite(y) ? 0.0 : INFINITY;
    return fabs(y - wanted) / (unit * fabs(wanted) + least + 0x1p-21 * fabs(x));
}

static double worst_gelu(check *c, lot_dtype dtype)
{
    enum { VALUES = 1 << 16 };
    uint16_t *values = malloc(VALUES * sizeof *values), *made;
    void *device = take(c, VALUES * (int64_t)sizeof *values);
    double worst = 0.0;

    if (values == NULL)
        give_up("malloc", "no memory");
    for (int i = 0; i < VALUES; i++)
        values[i] = (uint16_t)i;
    WORKS(c, c->module->upload(c->device, device, values, VALUES * (int64_t)sizeof *values, &c->error));
    RUNTIME(lot_launch_gelu(device, VALUES, dtype, c->stream));
    RUNTIME(cudaStreamSynchronize(c->stream));
    made = fetch(c, device, VALUES, dtype);
    for (int i = 0; i < VALUES; i++)
        worst = fmax(worst,
                     gelu_error(dtype, (double)value_at(values, dtype, i), (double)value_at(made, dtype, i)));
    free(made);
    free(values);
    c->module->free(c->device, device);
    return worst;
}

void check_gelu(check *c)
{
    for (int dtype = LOT_FLOAT16; dtype < LOT_DTYPE_COUNT; dtype++) {
        char text[64];

        (void)snprintf(text, sizeof text, "%s GELU of every value: error / bound",
                       lot_dtype_name((lot_dtype)dtype));
        must_hold(c, text, worst_gelu(c, (lot_dtype)dtype), 1.0);
    }
}
