#include "sim_fault.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_config.h"

#define MAX_FAULTS 16

/* Which keys a kind takes. */
enum {
    KEY_AT = 1,
    KEY_COUNT = 2,
    KEY_CODE = 4,
    KEY_FACTOR = 8,
    KEY_SHARE = 16,
    KEY_BYTE = 32,
    KEY_BIT = 64,
    KEY_PID = 128,
    KEY_REASON = 256,
    KEY_TEXT = 512
};

/* A kind's name, the keys it needs, the keys it may have besides, and its default code. */
typedef struct kind_row {
    const char *name;
    unsigned needs;
    unsigned may;
    int code;
} kind_row;

static const kind_row kinds[SIM_FAULT_KIND_COUNT] = {
    [SIM_FAULT_OOM] = {"oom", KEY_AT, KEY_COUNT, 2},
    [SIM_FAULT_STICKY] = {"sticky", KEY_AT, KEY_CODE, 700},
    [SIM_FAULT_ECC] = {"ecc", KEY_AT, 0, 214},
    [SIM_FAULT_LOST] = {"lost", KEY_AT, KEY_CODE, 999},
    [SIM_FAULT_HANG] = {"hang", KEY_AT, 0, 0},
    [SIM_FAULT_STUCK] = {"stuck", KEY_TEXT, KEY_AT, 0},
    [SIM_FAULT_SLOW] = {"slow", KEY_FACTOR, KEY_AT | KEY_COUNT, 0},
    [SIM_FAULT_FLIP_GEMM] = {"flip-gemm", KEY_AT | KEY_BYTE | KEY_BIT, KEY_COUNT, 0},
    [SIM_FAULT_FLIP_UPLOAD] = {"flip-upload", KEY_AT | KEY_BYTE | KEY_BIT, KEY_COUNT, 0},
    [SIM_FAULT_NAN] = {"nan", KEY_AT | KEY_BYTE, KEY_COUNT, 0},
    [SIM_FAULT_GEMM_STATUS] = {"gemm-status", KEY_AT, KEY_COUNT | KEY_CODE, 14},
    [SIM_FAULT_THROTTLE] = {"throttle", KEY_REASON | KEY_SHARE, 0, 0},
    [SIM_FAULT_NO_POOLS] = {"no-pools", 0, 0, 801},
    [SIM_FAULT_POOLS_REFUSED] = {"pools-refused", 0, KEY_CODE, 801},
    [SIM_FAULT_DRIVER] = {"driver", 0, KEY_CODE, 35},
    [SIM_FAULT_BUSY] = {"busy", 0, 0, 46},
    [SIM_FAULT_FOREIGN] = {"foreign", KEY_PID, KEY_BYTE, 0},
    [SIM_FAULT_MPS] = {"mps", 0, 0, 0},
    [SIM_FAULT_OLD_RUNTIME] = {"old-runtime", 0, 0, 0},
    [SIM_FAULT_NVML_INIT] = {"nvml-init", 0, KEY_CODE, 9},
    [SIM_FAULT_NVML_MISSING] = {"nvml-missing", KEY_TEXT, 0, 13},
    [SIM_FAULT_NVML_STATUS] = {"nvml-status", KEY_TEXT, KEY_CODE, 3},
    [SIM_FAULT_NVML_VERSION] = {"nvml-version", KEY_TEXT, 0, 0},
};

static const char *const reasons[SIM_THROTTLE_COUNT] = {"sw-power", "sw-thermal", "hw-thermal", "hw-brake",
                                                        "sync-boost"};

static sim_fault faults[MAX_FAULTS];
static int fault_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- reading ---- */

static bool read_reason(const char *text, int *reason)
{
    for (int i = 0; i < SIM_THROTTLE_COUNT; i++) {
        if (strcmp(text, reasons[i]) == 0) {
            *reason = i;
            return true;
        }
    }
    return false;
}

static bool read_bounded(const char *text, int64_t least, int64_t most, int64_t *value)
{
    return sim_parse_integer(text, value) && *value >= least && *value <= most;
}

static bool read_int(const char *text, int64_t least, int64_t most, int *value)
{
    int64_t wide;

    if (!read_bounded(text, least, most, &wide))
        return false;
    *value = (int)wide;
    return true;
}

/* Stores one value; the key's bit in *key, 0 for device and rank. */
static bool read_key(sim_fault *fault, const char *name, const char *text, unsigned *key)
{
    *key = 0;
    if (strcmp(name, "device") == 0)
        return read_int(text, 0, SIM_MAX_GPUS - 1, &fault->device);
    if (strcmp(name, "rank") == 0)
        return read_int(text, 0, INT32_MAX, &fault->rank);
    if (strcmp(name, "at") == 0)
        return *key = KEY_AT, read_bounded(text, 1, INT64_MAX, &fault->at);
    if (strcmp(name, "count") == 0)
        return *key = KEY_COUNT, read_bounded(text, 1, INT64_MAX, &fault->count);
    if (strcmp(name, "code") == 0)
        return *key = KEY_CODE, read_int(text, 1, 9999, &fault->code);
    if (strcmp(name, "factor") == 0)
        return *key = KEY_FACTOR, sim_parse_number(text, &fault->factor) && fault->factor > 0;
    if (strcmp(name, "share") == 0)
        return *key = KEY_SHARE,
               sim_parse_number(text, &fault->share) && fault->share > 0 && fault->share <= 1;
    if (strcmp(name, "byte") == 0 || strcmp(name, "element") == 0 || strcmp(name, "bytes") == 0)
        return *key = KEY_BYTE, read_bounded(text, 0, INT64_MAX, &fault->byte);
    if (strcmp(name, "bit") == 0)
        return *key = KEY_BIT, read_int(text, 0, 7, &fault->bit);
    if (strcmp(name, "pid") == 0)
        return *key = KEY_PID, read_int(text, 1, INT32_MAX, &fault->pid);
    if (strcmp(name, "reason") == 0)
        return *key = KEY_REASON, read_reason(text, &fault->reason);
    if (strcmp(name, "symbol") == 0 || strcmp(name, "text") == 0) {
        *key = KEY_TEXT;
        (void)snprintf(fault->text, sizeof fault->text, "%s", text);
        return text[0] != '\0' && strlen(text) < sizeof fault->text;
    }
    return false;
}

static int find_kind(const char *name)
{
    for (int kind = 0; kind < SIM_FAULT_KIND_COUNT; kind++)
        if (strcmp(name, kinds[kind].name) == 0)
            return kind;
    sim_config_die("%sFAULT: there is no fault \"%s\"", SIM_PREFIX, name);
}

/* One fault, "kind:key=value,...", which is cut up in place. */
static void read_fault(char *text)
{
    char *rest = strchr(text, ':');
    char *save = NULL;
    unsigned given = 0;
    sim_fault *fault;
    const kind_row *row;

    if (fault_count == MAX_FAULTS)
        sim_config_die("%sFAULT: more than %d faults", SIM_PREFIX, MAX_FAULTS);
    if (rest != NULL)
        *rest++ = '\0';
    fault = &faults[fault_count++];
    *fault = (sim_fault){.device = -1, .rank = -1, .at = 1, .count = 1};
    fault->kind = (sim_fault_kind)find_kind(text);
    row = &kinds[fault->kind];
    fault->code = row->code;
    for (char *item = rest != NULL ? strtok_r(rest, ",", &save) : NULL; item != NULL;
         item = strtok_r(NULL, ",", &save)) {
        char *value = strchr(item, '=');
        unsigned key = 0;

        if (value != NULL)
            *value++ = '\0';
        if (value == NULL || !read_key(fault, item, value, &key) || (key & ~(row->needs | row->may)) != 0)
            sim_config_die("%sFAULT: %s takes no %s=%s", SIM_PREFIX, row->name, item,
                           value != NULL ? value : "");
        given |= key;
    }
    if ((given & row->needs) != row->needs)
        sim_config_die("%sFAULT: %s lacks a key that it needs", SIM_PREFIX, row->name);
    if (fault->kind == SIM_FAULT_SLOW || ((row->needs | row->may) & KEY_AT) == 0)
        fault->count = (given & KEY_COUNT) != 0 ? fault->count : INT64_MAX; /* it lasts */
    if (fault->device >= sim_config_get()->gpu_count)
        sim_config_die("%sFAULT: there is no device %d", SIM_PREFIX, fault->device);
}

void sim_fault_load(void)
{
    const char *text = getenv(SIM_PREFIX "FAULT");
    char *save = NULL;
    char *copy;

    if (text == NULL || text[0] == '\0')
        return;
    copy = strdup(text);
    if (copy == NULL)
        abort();
    for (char *item = strtok_r(copy, "+", &save); item != NULL; item = strtok_r(NULL, "+", &save))
        read_fault(item);
    free(copy);
    for (int i = 0; i < fault_count; i++)
        faults[i].armed = faults[i].device < 0;
}

/* ---- striking ---- */

static bool concerns(const sim_fault *fault, sim_fault_kind kind, int gpu)
{
    return fault->kind == kind && (fault->device < 0 || fault->device == gpu) &&
           (fault->rank < 0 || fault->rank == sim_config_get()->rank);
}

void sim_fault_arm(int gpu)
{
    for (int i = 0; i < fault_count; i++)
        if (faults[i].device == gpu)
            faults[i].armed = true;
}

/* `symbol` narrows it where it is not NULL. */
static const sim_fault *strike(sim_fault_kind kind, int gpu, const char *symbol)
{
    const sim_fault *struck = NULL;

    (void)pthread_mutex_lock(&lock);
    for (int i = 0; i < fault_count; i++) {
        sim_fault *fault = &faults[i];

        if (!concerns(fault, kind, gpu) || (symbol != NULL && strcmp(symbol, fault->text) != 0))
            continue;
        fault->seen++;
        if (fault->seen >= fault->at && fault->seen - fault->at < fault->count) {
            fault->fired++;
            struck = fault;
        }
    }
    (void)pthread_mutex_unlock(&lock);
    return struck;
}

const sim_fault *sim_fault_hit(sim_fault_kind kind, int gpu)
{
    return strike(kind, gpu, NULL);
}

const sim_fault *sim_fault_hit_call(const char *symbol)
{
    return strike(SIM_FAULT_STUCK, -1, symbol);
}

const sim_fault *sim_fault_find(sim_fault_kind kind, int gpu, const char *symbol)
{
    for (int i = 0; i < fault_count; i++)
        if (concerns(&faults[i], kind, gpu) && (symbol == NULL || strcmp(symbol, faults[i].text) == 0))
            return &faults[i];
    return NULL;
}

void sim_fault_note(const sim_fault *fault)
{
    (void)pthread_mutex_lock(&lock);
    faults[fault - faults].fired++;
    (void)pthread_mutex_unlock(&lock);
}

void sim_fault_report(void)
{
    for (int i = 0; i < fault_count; i++) {
        const sim_fault *fault = &faults[i];

        if (fault->armed && fault->fired == 0 && (fault->rank < 0 || fault->rank == sim_config_get()->rank))
            (void)fprintf(stderr, "gpulot-cudasim: the fault \"%s\" never fired (%lld events seen)\n",
                          kinds[fault->kind].name, (long long)fault->seen);
    }
}
