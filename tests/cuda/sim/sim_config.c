#include "sim_config.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim_visible.h"

extern char **environ;

static sim_config config;
static pthread_once_t once = PTHREAD_ONCE_INIT;

void sim_config_die(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)fprintf(stderr, "gpulot-cudasim: ");
    (void)vfprintf(stderr, format, arguments);
    (void)fprintf(stderr, "\n");
    va_end(arguments);
    _exit(SIM_EXIT_BAD);
}

bool sim_parse_integer(const char *text, int64_t *value)
{
    char *end = NULL;

    errno = 0;
    *value = strtoll(text, &end, 10);
    return end != text && *end == '\0' && errno == 0;
}

bool sim_parse_number(const char *text, double *value)
{
    char *end = NULL;

    errno = 0;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && errno == 0;
}

bool sim_parse_bytes(const char *text, uint64_t *value)
{
    static const char suffixes[] = "KMGT";
    char *end = NULL;
    const char *suffix;

    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    *value = strtoull(text, &end, 10);
    if (errno != 0)
        return false;
    suffix = *end != '\0' ? strchr(suffixes, *end) : NULL;
    if (suffix != NULL) {
        const unsigned shift = 10u * (unsigned)(suffix - suffixes + 1);

        if (*value > UINT64_MAX >> shift)
            return false;
        *value <<= shift;
        end++;
    }
    return *end == '\0' && *value > 0;
}

/* ---- one reader per kind of variable ---- */

static const char *setting(const char *name)
{
    char full[64];
    const char *text;

    (void)snprintf(full, sizeof full, SIM_PREFIX "%s", name);
    text = getenv(full);
    return text != NULL && text[0] != '\0' ? text : NULL;
}

static int read_integer(const char *name, int fallback, int least, int most)
{
    const char *text = setting(name);
    int64_t value = fallback;

    if (text != NULL && (!sim_parse_integer(text, &value) || value < least || value > most))
        sim_config_die("%s%s=%s: not an integer in %d..%d", SIM_PREFIX, name, text, least, most);
    return (int)value;
}

static double read_number(const char *name, double fallback, double least)
{
    const char *text = setting(name);
    double value = fallback;

    if (text != NULL && (!sim_parse_number(text, &value) || !(value >= least)))
        sim_config_die("%s%s=%s: not a number >= %g", SIM_PREFIX, name, text, least);
    return value;
}

static uint64_t read_bytes(const char *name, uint64_t fallback)
{
    const char *text = setting(name);
    uint64_t value = fallback;

    if (text != NULL && !sim_parse_bytes(text, &value))
        sim_config_die("%s%s=%s: not a size as 512, 64K, 32M or 80G", SIM_PREFIX, name, text);
    return value;
}

/* Reads "a,b,c"; device i takes the i-th item, later devices the last one. `apply` returns false where an
 * item cannot be read. */
static void read_per_gpu(const char *name, bool (*apply)(sim_gpu *gpu, const char *item))
{
    const char *text = setting(name);
    const char *next = text;
    char item[32];

    if (text == NULL)
        return;
    for (int i = 0; i < SIM_MAX_GPUS; i++) {
        const size_t length = strcspn(next, ",");

        if (length >= sizeof item)
            sim_config_die("%s%s=%s: item %d is too long", SIM_PREFIX, name, text, i);
        memcpy(item, next, length);
        item[length] = '\0';
        if (!apply(&config.gpus[i], item))
            sim_config_die("%s%s=%s: cannot read \"%s\"", SIM_PREFIX, name, text, item);
        if (next[length] == ',')
            next += length + 1;
    }
}

static bool apply_memory(sim_gpu *gpu, const char *item)
{
    return sim_parse_bytes(item, &gpu->memory_bytes);
}

static bool apply_numa(sim_gpu *gpu, const char *item)
{
    int64_t node;

    if (!sim_parse_integer(item, &node) || node < -1 || node > 1023)
        return false;
    gpu->numa_node = (int)node;
    return true;
}

static bool apply_capability(sim_gpu *gpu, const char *item)
{
    int used = 0;

    return sscanf(item, "%2d.%1d%n", &gpu->cc_major, &gpu->cc_minor, &used) == 2 && item[used] == '\0';
}

/* GPULOT_CUDASIM_MIG=GPU:SLICES,...; a GPU that is not named has MIG mode off. */
static void read_mig(void)
{
    const char *text = setting("MIG");
    const char *next = text;

    while (next != NULL && *next != '\0') {
        int gpu = -1, slices = -1, used = 0;

        if (sscanf(next, "%d:%d%n", &gpu, &slices, &used) != 2 || gpu < 0 || gpu >= config.gpu_count ||
            slices < 1 || slices > SIM_MAX_SLICES || (next[used] != '\0' && next[used] != ','))
            sim_config_die("%sMIG=%s: not GPU:SLICES,... with GPUs that are there and 1..%d slices",
                           SIM_PREFIX, text, SIM_MAX_SLICES);
        config.gpus[gpu].slices = slices;
        next += used + (next[used] == ',');
    }
}

static void make_units(void)
{
    for (int gpu = 0; gpu < config.gpu_count; gpu++) {
        const int slices = config.gpus[gpu].slices;

        for (int slice = 0; slice < (slices > 0 ? slices : 1); slice++)
            config.units[config.unit_count++] = (sim_unit){.gpu = gpu, .slice = slices > 0 ? slice : -1};
    }
}

/* The rank, by whichever launcher started this process. */
static int launcher_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    int64_t rank;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = getenv(names[i]);

        if (text != NULL && sim_parse_integer(text, &rank))
            return (int)rank;
    }
    return -1;
}

/* A misspelt variable must not pass for one that had no effect. */
static void refuse_unknown(void)
{
    static const char *const known[] = {"DEVICES", "CC",         "MEM",       "MIG",   "SMS",   "NUMA",
                                        "FAULT",   "LOG",        "QUIET",     "FORCE", "NOISE", "SEED",
                                        "TFLOPS",  "BANDWIDTH",  "LINK",      "PACE",  "ORDER", "LEAKS",
                                        "DRIVER",  "POOL_GRAIN", "POOL_CHUNK"};
    const size_t prefix = strlen(SIM_PREFIX);

    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        const size_t length = strcspn(*entry, "=");
        bool found = false;

        if (strncmp(*entry, SIM_PREFIX, prefix) != 0)
            continue;
        for (size_t i = 0; i < sizeof known / sizeof known[0] && !found; i++)
            found = strlen(known[i]) == length - prefix &&
                    strncmp(*entry + prefix, known[i], length - prefix) == 0;
        if (!found)
            sim_config_die("there is no variable %.*s", (int)length, *entry);
    }
}

static void read_order(void)
{
    const char *text = setting("ORDER");

    if (text != NULL && strcmp(text, "lazy") != 0 && strcmp(text, "eager") != 0)
        sim_config_die("%sORDER=%s: lazy or eager", SIM_PREFIX, text);
    config.eager = text != NULL && strcmp(text, "eager") == 0;
}

static void load(void)
{
    refuse_unknown();
    config.gpu_count = read_integer("DEVICES", 0, 0, SIM_MAX_GPUS);
    for (int i = 0; i < SIM_MAX_GPUS; i++)
        config.gpus[i] =
            (sim_gpu){.cc_major = 9, .memory_bytes = 8ull << 30, .pci_bus = 0x10 + i * 0x0d, .numa_node = -1};
    read_per_gpu("MEM", apply_memory);
    read_per_gpu("CC", apply_capability);
    read_per_gpu("NUMA", apply_numa);
    read_mig();
    make_units();
    read_order();
    config.rank = launcher_rank();
    config.multiprocessors = read_integer("SMS", 4, 1, 1024);
    config.driver_api = read_integer("DRIVER", 13000, 1000, 99990);
    config.quiet = setting("QUIET") != NULL;
    config.force = setting("FORCE") != NULL;
    config.leaks = setting("LEAKS") != NULL;
    config.grain_bytes = read_bytes("POOL_GRAIN", 512);
    config.chunk_bytes = read_bytes("POOL_CHUNK", 32ull << 20);
    config.flops_per_second = read_number("TFLOPS", 100, 1e-9) * 1e12;
    config.bytes_per_second = read_number("BANDWIDTH", 1000, 1e-9) * 1e9;
    config.link_bytes_per_second = read_number("LINK", 50, 1e-9) * 1e9;
    config.noise = read_number("NOISE", 0.001, 0);
    config.seed = (uint64_t)read_integer("SEED", 1, 0, INT32_MAX);
    config.pace = read_number("PACE", 0, 0);
    config.log_path = setting("LOG");
    config.visible_count = sim_visible_list(&config, getenv("CUDA_VISIBLE_DEVICES"), config.visible);
}

const sim_config *sim_config_get(void)
{
    (void)pthread_once(&once, load);
    return &config;
}

/* ---- names ---- */

void sim_config_uuid(sim_unit unit, unsigned char bytes[16])
{
    memcpy(bytes, "CUDASIM", 7);
    bytes[7] = (unsigned char)(unit.slice + 1);
    for (int i = 8; i < 15; i++)
        bytes[i] = (unsigned char)(0xa0 + 17 * unit.gpu + 3 * i);
    bytes[15] = (unsigned char)unit.gpu;
}

void sim_config_uuid_text(sim_unit unit, char text[SIM_UUID_TEXT])
{
    unsigned char b[16];

    sim_config_uuid(unit, b);
    (void)snprintf(text, SIM_UUID_TEXT,
                   "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                   unit.slice < 0 ? "GPU" : "MIG", b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9],
                   b[10], b[11], b[12], b[13], b[14], b[15]);
}

void sim_config_name(sim_unit unit, char *text, size_t size)
{
    const sim_gpu *gpu = &sim_config_get()->gpus[unit.gpu];

    if (unit.slice < 0)
        (void)snprintf(text, size, "SIMULATED CC %d.%d (not a GPU)", gpu->cc_major, gpu->cc_minor);
    else
        (void)snprintf(text, size, "SIMULATED CC %d.%d MIG 1/%d (not a GPU)", gpu->cc_major, gpu->cc_minor,
                       gpu->slices);
}

uint64_t sim_config_memory(sim_unit unit)
{
    const sim_gpu *gpu = &sim_config_get()->gpus[unit.gpu];

    return unit.slice < 0 ? gpu->memory_bytes : gpu->memory_bytes / (uint64_t)gpu->slices;
}

int sim_config_multiprocessors(sim_unit unit)
{
    const int all = sim_config_get()->multiprocessors;
    const int share = unit.slice < 0 ? all : all / sim_config_get()->gpus[unit.gpu].slices;

    return share > 0 ? share : 1;
}
