/* A host device with one fault, for tests of what must find it. Never installed.
 *
 * It is a gpulot-host.so in a folder of its own, chosen with GPULOT_MODULE_DIR, that loads the real module
 * and wraps its table. Its faults are set by environment variables and hold for every rank, or for those of
 *
 *     GPULOT_FAULT_RANKS=1,3           ranks by OMPI_COMM_WORLD_RANK, else PMI_RANK, else SLURM_PROCID, else
 * 0
 *
 *     GPULOT_FAULT_OUTPUT_BIT=PASS:ELEMENT:BIT    one bit of the output of one pass is flipped
 *     GPULOT_FAULT_OUTPUT_NAN=PASS:ELEMENT        one value of the output of one pass is NaN
 *     GPULOT_FAULT_WEIGHT_BIT=TENSOR:ELEMENT:BIT  one bit of a tensor is flipped once it is built (1 weight
 * and 2 bias of layer 1, 3 and 4 of layer 2, 5 the input) GPULOT_FAULT_SLOW=PERCENT[:PASS]            every
 * pass (from PASS on) takes that much longer GPULOT_FAULT_CALL=NAME:N[:ACTION]           call N of the
 * function NAME of the table fails. ACTION is a status as in core/status.h (device-fault unless given,
 * device-memory for alloc), or "kill" (SIGKILL), "hang" (until killed) or "wait" (WAIT_SECONDS, and it does
 * not fail) GPULOT_FAULT_OWN_UUID=1 the rank's number becomes the end of the UUID, so that ranks on the same
 * CPUs are different devices; for all ranks, whatever RANKS says
 *
 * Passes, calls, elements and bits count from 0. A pass is a run of layer 2, the layer that is planned
 * second, so pass 0 is cold_forward, then come the warm-up passes, then the repeats. NAME is one of
 * enumerate, open, describe, alloc, build, fill, plan, run, digest, sync: build fails in model_load, fill in
 * inputs, run 2 k and 2 k + 1 in pass k. Each fault happens once, but for SLOW and OWN_UUID. What never
 * happened is reported on stderr at close; a value that cannot be read, or a name that is not in this list,
 * makes open fail. */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gpu/device.h"

extern char **environ;

#define PREFIX       "GPULOT_FAULT_"
#define WAIT_SECONDS 4

/* A fault that waits for a place to happen: up to three numbers, and whether it has happened. */
typedef struct fault {
    bool set;
    bool happened;
    int64_t number[3];
} fault;

typedef struct faults {
    fault output_bit;
    fault output_nan;
    fault weight_bit;
    fault slow;
    fault call;
    char call_name[16];
    char call_action[24];
    bool own_uuid;
    char unusable[128]; /* the first variable that could not be read */
} faults;

/* The module's state: there is one process, one device and one table. */
static const lot_device_module *real;
static faults wanted;
static int64_t passes;
static const lot_plan *plans[2]; /* layer 1, layer 2 */
static int64_t out_values[2];    /* values of the two outputs */
static lot_dtype out_dtype;

/* ---- environment ---- */

static int own_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i]) != NULL)
            return (int)strtol(getenv(names[i]), NULL, 10);
    return 0;
}

/* "A:B:C" with `least` to `most` numbers, none negative. */
static bool read_numbers(const char *text, int least, int most, int64_t *numbers)
{
    int count = 0;
    char *end = NULL;

    for (;;) {
        errno = 0;
        numbers[count] = strtoll(text, &end, 10);
        if (end == text || errno != 0 || numbers[count] < 0)
            return false;
        count++;
        if (*end == '\0')
            return count >= least;
        if (*end != ':' || count == most)
            return false;
        text = end + 1;
    }
}

static bool read_call(const char *text)
{
    return sscanf(text, "%15[a-z]:%ld:%23[a-z-]", wanted.call_name, &wanted.call.number[0],
                  wanted.call_action) >= 2 &&
           wanted.call.number[0] >= 0;
}

/* Whether `rank` is in "1,3". */
static bool is_listed(int rank, const char *list)
{
    char *end = NULL;

    for (; *list != '\0'; list = *end == ',' ? end + 1 : end) {
        if (strtol(list, &end, 10) == rank)
            return true;
        if (end == list)
            return false;
    }
    return false;
}

static bool read_fault(const char *name, const char *value)
{
    static const struct {
        const char *name;
        fault *fault;
        int least, most;
    } known[] = {{"OUTPUT_BIT", &wanted.output_bit, 3, 3},
                 {"OUTPUT_NAN", &wanted.output_nan, 2, 2},
                 {"WEIGHT_BIT", &wanted.weight_bit, 3, 3},
                 {"SLOW", &wanted.slow, 1, 2}};

    if (strcmp(name, "RANKS") == 0)
        return true;
    if (strcmp(name, "CALL") == 0)
        return wanted.call.set = read_call(value);
    if (strcmp(name, "OWN_UUID") == 0)
        return wanted.own_uuid = strcmp(value, "1") == 0;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].fault->set =
                       read_numbers(value, known[i].least, known[i].most, known[i].fault->number);
    return false;
}

static void read_environment(void)
{
    const char *ranks = getenv(PREFIX "RANKS");

    for (char **variable = environ; *variable != NULL; variable++) {
        char name[32] = "";
        const char *value = strchr(*variable, '=');

        if (strncmp(*variable, PREFIX, strlen(PREFIX)) != 0 || value == NULL)
            continue;
        (void)snprintf(name, sizeof name, "%.*s", (int)(value - *variable - (int)strlen(PREFIX)),
                       *variable + strlen(PREFIX));
        if (!read_fault(name, value + 1) && wanted.unusable[0] == '\0')
            (void)snprintf(wanted.unusable, sizeof wanted.unusable, "%s", *variable);
    }
    if (ranks != NULL && !is_listed(own_rank(), ranks)) {
        wanted.output_bit.set = wanted.output_nan.set = wanted.weight_bit.set = false;
        wanted.slow.set = wanted.call.set = false;
    }
}

/* ---- faults ---- */

/* Fails, kills, hangs or waits where this is the call that was asked for. Counts the calls of that name. */
static lot_status pass_call(const char *name, lot_error *error)
{
    static int64_t calls;
    const char *action = wanted.call_action;
    lot_status status;

    if (!wanted.call.set || strcmp(name, wanted.call_name) != 0 || calls++ != wanted.call.number[0])
        return LOT_OK;
    wanted.call.happened = true;
    if (strcmp(action, "kill") == 0)
        (void)raise(SIGKILL);
    while (strcmp(action, "hang") == 0)
        (void)pause();
    if (strcmp(action, "wait") == 0) {
        (void)sleep(WAIT_SECONDS);
        return LOT_OK;
    }
    if (action[0] == '\0')
        action = strcmp(name, "alloc") == 0 ? "device-memory" : "device-fault";
    status = lot_status_from_name(action);
    return lot_error_set(error, status, name, 0, "a fault made for a test: call %lld of %s",
                         (long long)wanted.call.number[0], name);
}

/* Flips one bit of one value, if it lies among `count` values from `first` on. */
static void flip(fault *f, void *data, int64_t first, int64_t count, lot_dtype dtype)
{
    const int64_t element = f->number[1] - first;
    const int64_t item = (int64_t)lot_dtype_bytes(dtype);

    if (f->happened || element < 0 || element >= count || f->number[2] >= 8 * item)
        return;
    ((uint8_t *)data)[element * item + f->number[2] / 8] ^= (uint8_t)(1u << (f->number[2] % 8));
    f->happened = true;
}

static void put_nan(fault *f, void *data, int64_t count, lot_dtype dtype)
{
    const float nan_float = NAN;
    const uint16_t nan_half = 0x7FFF; /* in both half types */
    const int64_t item = (int64_t)lot_dtype_bytes(dtype);

    if (f->happened || f->number[1] >= count)
        return;
    memcpy((char *)data + f->number[1] * item,
           dtype == LOT_FLOAT32 ? (const void *)&nan_float : (const void *)&nan_half, (size_t)item);
    f->happened = true;
}

static double seconds_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void wait_until(double seconds)
{
    while (seconds_now() < seconds)
        continue;
}

static void report(const char *variable, const fault *f)
{
    if (f->set && !f->happened)
        (void)fprintf(stderr, "faulty_host: rank %d: %s=%s did not happen\n", own_rank(), variable,
                      getenv(variable));
}

/* ---- the wrapped table ---- */

static void change_uuid(lot_device_facts *facts)
{
    char number[16];
    const size_t length = strlen(facts->uuid);

    (void)snprintf(number, sizeof number, "%04d", own_rank() % 10000);
    if (wanted.own_uuid && length > 4)
        memcpy(facts->uuid + length - 4, number, 4);
}

static lot_status faulty_enumerate(lot_device_list *list, lot_error *error)
{
    lot_status status = pass_call("enumerate", error);

    if (status == LOT_OK)
        status = real->enumerate(list, error);
    if (status == LOT_OK)
        change_uuid(&list->devices[0]);
    return status;
}

static lot_status faulty_open(const lot_device_options *options, lot_device **device, lot_error *error)
{
    const lot_status status = pass_call("open", error);

    if (wanted.unusable[0] != '\0')
        return lot_error_set(error, LOT_USAGE, "faulty_host", 0, "%s is not a fault", wanted.unusable);
    return status == LOT_OK ? real->open(options, device, error) : status;
}

static void faulty_close(lot_device *device)
{
    if (device != NULL) {
        report(PREFIX "OUTPUT_BIT", &wanted.output_bit);
        report(PREFIX "OUTPUT_NAN", &wanted.output_nan);
        report(PREFIX "WEIGHT_BIT", &wanted.weight_bit);
        report(PREFIX "SLOW", &wanted.slow);
        report(PREFIX "CALL", &wanted.call);
    }
    real->close(device);
}

static lot_status faulty_describe(lot_device *device, lot_device_facts *facts, lot_absent *absent,
                                  size_t capacity, size_t *count, lot_error *error)
{
    lot_status status = pass_call("describe", error);

    if (status == LOT_OK)
        status = real->describe(device, facts, absent, capacity, count, error);
    if (status == LOT_OK)
        change_uuid(facts);
    return status;
}

static lot_status faulty_alloc(lot_device *device, int64_t bytes, void **pointer, lot_error *error)
{
    const lot_status status = pass_call("alloc", error);

    return status == LOT_OK ? real->alloc(device, bytes, pointer, error) : status;
}

static void spoil(void *to, const lot_fill *fill)
{
    if (wanted.weight_bit.set && wanted.weight_bit.number[0] == fill->tensor)
        flip(&wanted.weight_bit, to, fill->first, fill->count, fill->dtype);
}

static lot_status faulty_build(lot_device *device, void *to, const lot_fill *fill, lot_error *error)
{
    lot_status status = pass_call("build", error);

    if (status == LOT_OK)
        status = real->build(device, to, fill, error);
    if (status == LOT_OK)
        spoil(to, fill);
    return status;
}

static lot_status faulty_fill(lot_device *device, void *to, const lot_fill *fill, lot_error *error)
{
    lot_status status = pass_call("fill", error);

    if (status == LOT_OK)
        status = real->fill(device, to, fill, error);
    if (status == LOT_OK)
        spoil(to, fill);
    return status;
}

static lot_status faulty_plan(lot_device *device, const lot_linear *linear, lot_plan **plan,
                              lot_plan_facts *facts, lot_error *error)
{
    lot_status status = pass_call("plan", error);
    int layer;

    if (status == LOT_OK)
        status = real->plan(device, linear, plan, facts, error);
    if (status != LOT_OK)
        return status;
    layer = plans[0] == NULL ? 0 : 1;
    plans[layer] = *plan;
    out_values[layer] = linear->rows * linear->out_features;
    out_dtype = linear->dtype;
    return LOT_OK;
}

/* What happens to the output of a pass that is done. */
static void end_pass(void *y)
{
    if (wanted.output_bit.set && wanted.output_bit.number[0] == passes)
        flip(&wanted.output_bit, y, 0, out_values[1], out_dtype);
    if (wanted.output_nan.set && wanted.output_nan.number[0] == passes)
        put_nan(&wanted.output_nan, y, out_values[1], out_dtype);
    passes++;
}

static lot_status faulty_run(lot_device *device, const lot_plan *plan, void *y, const void *x, const void *w,
                             const void *b, lot_error *error)
{
    const double start = seconds_now();
    lot_status status = pass_call("run", error);

    if (status == LOT_OK)
        status = real->run(device, plan, y, x, w, b, error);
    if (status != LOT_OK)
        return status;
    if (wanted.slow.set && passes >= wanted.slow.number[1]) {
        wait_until(start + (seconds_now() - start) * (1.0 + (double)wanted.slow.number[0] / 100.0));
        wanted.slow.happened = true;
    }
    if (plan == plans[1])
        end_pass(y);
    return LOT_OK;
}

static lot_status faulty_digest(lot_device *device, const void *pointer, int64_t bytes, lot_dtype dtype,
                                uint64_t *digest, int *finite, lot_error *error)
{
    const lot_status status = pass_call("digest", error);

    return status == LOT_OK ? real->digest(device, pointer, bytes, dtype, digest, finite, error) : status;
}

static lot_status faulty_sync(lot_device *device, lot_error *error)
{
    const lot_status status = pass_call("sync", error);

    return status == LOT_OK ? real->sync(device, error) : status;
}

/* Filled when the module is loaded; without the real module its ABI stays 0, which the loader refuses. */
__attribute__((visibility("default"))) extern lot_device_module lot_device_table;
lot_device_module lot_device_table;

__attribute__((constructor)) static void load(void)
{
    void *library = dlopen(REAL_HOST_MODULE, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL) {
        (void)fprintf(stderr, "faulty_host: %s\n", dlerror());
        return;
    }
    real = dlsym(library, LOT_DEVICE_SYMBOL);
    if (real == NULL)
        return;
    lot_device_table = *real;
    lot_device_table.enumerate = faulty_enumerate;
    lot_device_table.open = faulty_open;
    lot_device_table.close = faulty_close;
    lot_device_table.describe = faulty_describe;
    lot_device_table.alloc = faulty_alloc;
    lot_device_table.build = faulty_build;
    lot_device_table.fill = faulty_fill;
    lot_device_table.plan = faulty_plan;
    lot_device_table.run = faulty_run;
    lot_device_table.digest = faulty_digest;
    lot_device_table.sync = faulty_sync;
    read_environment();
}
