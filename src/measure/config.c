#include "measure/config.h"

#include <string.h>

#include "core/utf8.h"

#define AT(member) offsetof(lot_measure_config, member)
#define SIZE_MOST  INT32_MAX
#define DAY        ((int64_t)86400)
#define LABEL_MOST (sizeof((lot_identity *)NULL)->label - 1)

static const lot_option options[] = {
    {.name = "--device",
     .argument = "SPEC",
     .kind = LOT_OPTION_TEXT,
     .flags = LOT_OPTION_REQUIRED,
     .offset = AT(device),
     .help = "host, cuda:local, cuda:N, cuda:N,M,..., cuda:GPU-<uuid>, cuda:MIG-<uuid>"},
    {.name = "--output",
     .argument = "FILE.h5",
     .kind = LOT_OPTION_TEXT,
     .flags = LOT_OPTION_REQUIRED | LOT_OPTION_PRIVATE,
     .offset = AT(output),
     .help = "archive to make; an existing file is never overwritten"},
    {.name = "--batch",
     .argument = "N",
     .fallback = "1",
     .kind = LOT_OPTION_INTEGER,
     .least = 1,
     .most = SIZE_MOST,
     .offset = AT(batch),
     .help = "sequences per pass"},
    {.name = "--context",
     .argument = "N",
     .fallback = "128",
     .kind = LOT_OPTION_INTEGER,
     .least = 1,
     .most = SIZE_MOST,
     .offset = AT(context),
     .help = "positions per sequence"},
    {.name = "--width",
     .argument = "N",
     .fallback = "1024",
     .kind = LOT_OPTION_INTEGER,
     .least = 1,
     .most = SIZE_MOST,
     .offset = AT(width),
     .help = "input and output features"},
    {.name = "--hidden",
     .argument = "N",
     .kind = LOT_OPTION_INTEGER,
     .least = 1,
     .most = SIZE_MOST,
     .offset = AT(hidden),
     .help = "features between the two layers; 4 x width if not given"},
    {.name = "--dtype",
     .argument = "TYPE",
     .fallback = "float32",
     .kind = LOT_OPTION_CHOICE,
     .offset = AT(dtype),
     .choices = "float32|float16|bfloat16",
     .help = "type of weights, input and output"},
    {.name = "--gelu",
     .argument = "FORM",
     .fallback = "erf",
     .kind = LOT_OPTION_CHOICE,
     .offset = AT(gelu),
     .choices = "erf|tanh",
     .help = "form of GELU"},
    {.name = "--math",
     .argument = "MODE",
     .fallback = "ieee",
     .kind = LOT_OPTION_CHOICE,
     .offset = AT(math),
     .choices = "ieee|tf32",
     .help = "float32 products"},
    {.name = "--warmup",
     .argument = "N",
     .fallback = "3",
     .kind = LOT_OPTION_INTEGER,
     .least = 0,
     .most = 100000,
     .offset = AT(warmup),
     .help = "passes before the repeats, recorded as one row"},
    {.name = "--repeats",
     .argument = "N",
     .fallback = "10",
     .kind = LOT_OPTION_INTEGER,
     .least = 1,
     .most = 100000,
     .offset = AT(repeats),
     .help = "measured warm passes, one row each"},
    {.name = "--seed",
     .argument = "S",
     .fallback = "0",
     .kind = LOT_OPTION_INTEGER,
     .least = 0,
     .most = INT64_MAX,
     .offset = AT(seed),
     .help = "seed of weights and input"},
    {.name = "--label",
     .argument = "TEXT",
     .kind = LOT_OPTION_TEXT,
     .offset = AT(label),
     .help = "free text, kept in the archive"},
    {.name = "--continues",
     .argument = "FILE.h5",
     .kind = LOT_OPTION_TEXT,
     .flags = LOT_OPTION_PRIVATE,
     .offset = AT(continues),
     .help = "archive of the previous run of the same rental; its run id is recorded"},
    {.name = "--schedule",
     .argument = "HOW",
     .fallback = "together",
     .kind = LOT_OPTION_CHOICE,
     .offset = AT(schedule),
     .choices = "together|solo|pairs|both",
     .help = "who runs at once; both = solo, then together"},
    {.name = "--soak",
     .argument = "TIME",
     .kind = LOT_OPTION_DURATION,
     .most = 30 * DAY,
     .offset = AT(soak_seconds),
     .help = "after the repeats, fill many buffers and run verified passes over them for so long"},
    {.name = "--memory",
     .argument = "SHARE",
     .fallback = "50%",
     .kind = LOT_OPTION_NUMBER,
     .flags = LOT_OPTION_ABOVE,
     .least = 0,
     .most = 1,
     .offset = AT(soak_memory),
     .help = "share of device memory that the soak's buffers fill, 65536 pairs at most"},
    {.name = "--threads",
     .argument = "N",
     .fallback = "0",
     .kind = LOT_OPTION_INTEGER,
     .least = 0,
     .most = 4096,
     .offset = AT(threads),
     .help = "CPU threads, on host to compute, else to build weights; 0 = the rank's CPUs"},
    {.name = "--tune",
     .argument = "N",
     .fallback = "0",
     .kind = LOT_OPTION_INTEGER,
     .least = 0,
     .most = 64,
     .offset = AT(tune),
     .help = "algorithms to time before choosing; 0 = the library's; under mpirun: --tune=N"},
    {.name = "--telemetry-hz",
     .argument = "N",
     .fallback = "0",
     .kind = LOT_OPTION_INTEGER,
     .least = 0,
     .most = 1000,
     .offset = AT(telemetry_hz),
     .help = "telemetry samples per second, kept as a series; 0 = none"},
    {.name = "--localise",
     .kind = LOT_OPTION_FLAG,
     .offset = AT(localise),
     .help = "keep the bits of sampled rows of both layers, so that check can say where GPUs differ"},
    {.name = "--cold-l2",
     .kind = LOT_OPTION_FLAG,
     .offset = AT(cold_l2),
     .help = "overwrite the L2 cache before each warm pass"},
    {.name = "--allow-shared",
     .kind = LOT_OPTION_FLAG,
     .offset = AT(allow_shared),
     .help = "let several ranks use one device"},
    {.name = "--no-numa",
     .kind = LOT_OPTION_FLAG,
     .offset = AT(no_numa),
     .help = "do not move ranks to the CPUs near their device"},
    {.name = "--phase-timeout",
     .argument = "TIME",
     .fallback = "1h",
     .kind = LOT_OPTION_DURATION,
     .most = 30 * DAY,
     .offset = AT(phase_timeout_seconds),
     .help = "longest that a row or opening the device may take before a rank is hung"},
    {.name = "--rank-timeout",
     .argument = "TIME",
     .fallback = "10m",
     .kind = LOT_OPTION_DURATION,
     .most = 30 * DAY,
     .offset = AT(rank_timeout_seconds),
     .help = "longest that ranks wait for one another where they meet"},
    {.name = "--spool",
     .argument = "DIR",
     .kind = LOT_OPTION_TEXT,
     .flags = LOT_OPTION_PRIVATE,
     .offset = AT(spool),
     .help = "folder for each rank's progress; FILE.h5.spool-<run id> if not given"},
    {.name = "--tariffs",
     .argument = "FILE",
     .kind = LOT_OPTION_TEXT,
     .flags = LOT_OPTION_PRIVATE,
     .offset = AT(tariffs),
     .help = "catalogue of lot prices, CSV as in prices.md; the matched tariff is kept in the archive"},
    {.name = "--columns",
     .argument = "MAP",
     .kind = LOT_OPTION_TEXT,
     .flags = LOT_OPTION_PRIVATE,
     .offset = AT(columns),
     .help = "the catalogue's header names: gpu=NAME,days=NAME,...,ignore=NAME"},
    {.name = "--gpu",
     .argument = "MODEL",
     .kind = LOT_OPTION_TEXT,
     .flags = LOT_OPTION_PRIVATE,
     .offset = AT(gpu),
     .help = "rented model, as the catalogue writes it; with --tariffs"},
    {.name = "--days",
     .argument = "D",
     .kind = LOT_OPTION_INTEGER,
     .flags = LOT_OPTION_PRIVATE,
     .least = 3,
     .most = 30,
     .offset = AT(days),
     .help = "rented days: 3, 7 or 30; with --tariffs"},
    {.name = "--lots",
     .argument = "L",
     .kind = LOT_OPTION_INTEGER,
     .flags = LOT_OPTION_PRIVATE,
     .least = 1,
     .most = INT64_MAX,
     .offset = AT(lots),
     .help = "rented lots; as many as the ranks need if not given"},
    {.name = "--quiet",
     .kind = LOT_OPTION_FLAG,
     .flags = LOT_OPTION_PRIVATE,
     .offset = AT(quiet),
     .help = "no progress on stderr"},
};

const lot_option *lot_measure_options(size_t *count)
{
    *count = sizeof options / sizeof options[0];
    return options;
}

lot_status lot_measure_config_complete(lot_measure_config *config, lot_error *error)
{
    if (config->hidden == 0) {
        if (config->width > SIZE_MOST / 4)
            return lot_error_set(error, LOT_USAGE, "--width", 0,
                                 "--width: 4 x %lld is more than --hidden allows, %d: give --hidden",
                                 (long long)config->width, SIZE_MOST);
        config->hidden = 4 * config->width;
    }
    if (config->label != NULL && !lot_utf8_valid(config->label, strlen(config->label)))
        return lot_error_set(error, LOT_USAGE, "--label", 0,
                             "--label: '%.80s' is not UTF-8, which the texts of an archive are",
                             config->label);
    if (config->label != NULL && strlen(config->label) > LABEL_MOST)
        return lot_error_set(error, LOT_USAGE, "--label", 0,
                             "--label: %zu bytes are more than the archive keeps, %zu", strlen(config->label),
                             LABEL_MOST);
    if (config->tariffs == NULL &&
        (config->gpu != NULL || config->days != 0 || config->lots != 0 || config->columns))
        return lot_error_set(error, LOT_USAGE, "--tariffs", 0,
                             "--gpu, --days, --lots and --columns go with --tariffs only");
    if (config->math == LOT_MATH_TF32 && config->dtype != LOT_FLOAT32)
        return lot_error_set(error, LOT_USAGE, "--math", 0,
                             "--math: 'tf32' goes with --dtype float32 only, not %s",
                             lot_dtype_name((lot_dtype)config->dtype));
    return LOT_OK;
}

lot_activation lot_measure_activation(const lot_measure_config *config)
{
    return config->gelu == 0 ? LOT_GELU_ERF : LOT_GELU_TANH;
}

/* FNV-1a; of a setting with its padding, which is zeroed before it is filled. */
static uint64_t mix(uint64_t digest, const void *data, size_t size)
{
    const unsigned char *byte = data;

    for (size_t i = 0; i < size; i++)
        digest = (digest ^ byte[i]) * 0x100000001B3u;
    return digest;
}

/* What rank 0 alone looks at counts too: another rank that asks for something else would not get it. */
static uint64_t mix_for_rank_0(uint64_t digest, const lot_measure_config *config)
{
    const char *const texts[] = {config->output, config->continues, config->tariffs, config->columns,
                                 config->gpu};
    const int64_t numbers[] = {config->days, config->lots};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const char *text = texts[i] != NULL ? texts[i] : "";

        digest = mix(digest, text, strlen(text) + 1);
    }
    return mix(digest, numbers, sizeof numbers);
}

uint64_t lot_measure_config_digest(const lot_measure_config *config)
{
    uint64_t digest = 0xCBF29CE484222325u;
    lot_setting setting;

    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        const void *at = (const char *)config + options[i].offset;

        if (!lot_option_setting(&options[i], config, &setting))
            continue;
        digest = mix(digest, &setting, sizeof setting);
        if (options[i].kind == LOT_OPTION_TEXT) /* the whole of it: a setting's text may be cut */
            digest = mix(digest, *(const char *const *)at, strlen(*(const char *const *)at));
    }
    return mix_for_rank_0(digest, config);
}

lot_status lot_measure_config_echo(const lot_measure_config *config, lot_record *record, lot_error *error)
{
    lot_setting setting;

    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        lot_setting *added;

        if (!lot_option_setting(&options[i], config, &setting))
            continue;
        added = lot_record_add_setting(record);
        if (added == NULL)
            return lot_error_set(error, LOT_MEMORY, "realloc", 0, "no memory for the configuration");
        *added = setting;
    }
    return LOT_OK;
}
