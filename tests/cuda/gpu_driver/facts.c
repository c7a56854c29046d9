/* What this device is, and what of the driver's behaviour no document settles: printed to be read. */
#include "driver.h"

#include <inttypes.h>
#include <stdio.h>

#include "gpu/generator.h"

static void print_pool(check *c, const char *when)
{
    lot_counters k;

    WORKS(c, c->module->counters(c->device, &k, &c->error));
    (void)printf("# pool %s: used %" PRId64 " high %" PRId64 ", reserved %" PRId64 " high %" PRId64 "\n",
                 when, k.allocated_bytes, k.allocated_peak_bytes, k.reserved_bytes, k.reserved_peak_bytes);
}

/* Whether a block that is freed in the stream's order counts until a synchronisation, and so in the mark of a
 * block that follows. */
static void print_counting(check *c)
{
    const int64_t bytes = 3 << 20;
    void *first = take(c, bytes), *second;

    WORKS(c, c->module->sync(c->device, &c->error));
    WORKS(c, c->module->reset_peaks(c->device, &c->error));
    print_pool(c, "with one block of 3 MiB");
    c->module->free(c->device, first);
    print_pool(c, "after its free, not waited for");
    second = take(c, bytes);
    print_pool(c, "after another like it, not waited for");
    WORKS(c, c->module->sync(c->device, &c->error));
    print_pool(c, "waited for");
    c->module->free(c->device, second);
    WORKS(c, c->module->sync(c->device, &c->error));
    print_pool(c, "all free and waited for");
}

typedef struct filling {
    void *to;
    lot_fill fill;
} filling;

static void run_fill(check *c, void *context)
{
    const filling *f = context;

    WORKS(c, c->module->fill(c->device, f->to, &f->fill, &c->error));
}

static void run_row(check *c, void *context)
{
    WORKS(c, c->module->telemetry_begin(c->device, &c->error));
    WORKS(c, c->module->telemetry_end(c->device, context, &c->error));
}

/* A row of two seconds of work, and what reading one costs. */
static void print_telemetry(check *c)
{
    lot_telemetry row;
    filling f = {.fill = {.seed = 1,
                          .tensor = LOT_TENSOR_INPUT,
                          .distribution = LOT_NEAR_NORMAL,
                          .scale = 1.0f,
                          .count = c->small ? 4096 : 1 << 28,
                          .dtype = LOT_BFLOAT16}};

    f.to = take(c, f.fill.count * 2);
    result("telemetry of a row, two readings", median_seconds(c, by_host, run_row, &row, 9) * 1e3, "ms");
    WORKS(c, c->module->telemetry_begin(c->device, &c->error));
    warm_up(c, run_fill, &f, 2.0);
    WORKS(c, c->module->telemetry_end(c->device, &row, &c->error));
    c->module->free(c->device, f.to);
    print_row("telemetry over two seconds of filling", &row);
}

static void measure_opening(check *c)
{
    const lot_device_options options = {.ordinal = 0};
    lot_device *second = NULL;
    const double began = now();
    double opened;

    WORKS(c, c->module->open(&options, &second, &c->error));
    opened = now();
    c->module->close(second);
    result("opening the device once more", opened - began, "s");
    result("closing it", now() - opened, "s");
}

void check_facts(check *c)
{
    const lot_device_facts *f = &c->facts;
    lot_absent absent[128];
    lot_device_facts again = c->facts;
    size_t count = 0;

    (void)printf("# %s, compute capability %s, %lld SMs, %lld bytes, driver %s, CUDA %s, cuBLASLt %s\n",
                 f->name, f->compute_capability, (long long)f->multiprocessors, (long long)f->memory_bytes,
                 f->driver_version, f->runtime_version, f->library_version);
    (void)printf("# allocator %s, granularity %lld, reserve step %lld, kernels loaded %s, %s\n", f->allocator,
                 (long long)f->granularity_bytes, (long long)f->reserve_step_bytes, f->loading_mode, f->uuid);
    (void)printf(
        "# power limit %g W, SM clock up to %g MHz, ECC %d, MIG %d, persistence %d, other processes %lld\n",
        f->power_limit_watts, f->sm_clock_max_mhz, f->ecc_enabled, f->mig_enabled, f->persistence_mode,
        (long long)f->foreign_processes);
    WORKS(c, c->module->describe(c->device, &again, absent, 128, &count, &c->error));
    for (size_t i = 0; i < count; i++)
        (void)printf("# absent: %s: %s\n", absent[i].field, absent[i].reason);
    print_counting(c);
    print_telemetry(c);
    measure_opening(c);
}
