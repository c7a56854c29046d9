/* gpulot estimate: bytes of weights by arithmetic alone. */
#include <stdio.h>

#include "cmd/command.h"
#include "core/checked.h"
#include "core/count.h"
#include "core/units.h"
#include "io/json_text.h"

typedef struct estimate_config {
    int64_t parameters;
    int64_t bits;
    double reserve_gib;
    bool json;
} estimate_config;

static const lot_option options[] = {
    {.name = "--parameters",
     .argument = "N",
     .kind = LOT_OPTION_INTEGER,
     .flags = LOT_OPTION_REQUIRED,
     .least = 1,
     .most = INT64_MAX,
     .offset = offsetof(estimate_config, parameters),
     .help = "number of parameters"},
    {.name = "--bits",
     .argument = "B",
     .kind = LOT_OPTION_INTEGER,
     .flags = LOT_OPTION_REQUIRED,
     .least = 1,
     .most = 64,
     .offset = offsetof(estimate_config, bits),
     .help = "bits per parameter, rounded up to whole bytes"},
    {.name = "--reserve-gib",
     .argument = "G",
     .fallback = "0",
     .kind = LOT_OPTION_NUMBER,
     .flags = LOT_OPTION_NO_SHARE,
     .least = 0,
     .most = 1 << 20,
     .offset = offsetof(estimate_config, reserve_gib),
     .help = "reserve to assume beside the weights, in GiB"},
    {.name = "--json",
     .kind = LOT_OPTION_FLAG,
     .offset = offsetof(estimate_config, json),
     .help = "print JSON"},
};

static const char left_out[] =
    "activations, KV cache, quantisation metadata, gradients, optimizer state, libraries";

static lot_status print_json(const estimate_config *config, int64_t bytes_each, int64_t bytes,
                             lot_error *error)
{
    const double gib = lot_unit_in((double)bytes, LOT_UNIT_GIB);
    lot_json_text text = {0};

    lot_json_open(&text, '{');
    lot_json_member_integer(&text, "parameters", config->parameters);
    lot_json_member_integer(&text, "bits", config->bits);
    lot_json_member_integer(&text, "bytes_per_parameter", bytes_each);
    lot_json_member_integer(&text, "weight_bytes", bytes);
    lot_json_member_number(&text, "weight_gib", gib);
    lot_json_member_number(&text, "weight_gb", lot_unit_in((double)bytes, LOT_UNIT_GB));
    lot_json_member_number(&text, "assumed_reserve_gib", config->reserve_gib);
    lot_json_member_number(&text, "total_gib", gib + config->reserve_gib);
    lot_json_member_text(&text, "left_out", left_out);
    lot_json_member_bool(&text, "predicts_fit", false);
    lot_json_close(&text, '}');
    return lot_json_print(&text, "the estimate", error);
}

static lot_status run(const void *options_given, lot_error *error)
{
    const estimate_config *config = options_given;
    const int64_t bytes_each = (config->bits + 7) / 8;
    int64_t bytes;

    if (!lot_checked_mul(config->parameters, bytes_each, &bytes))
        return lot_error_set(error, LOT_USAGE, "--parameters", 0,
                             "--parameters: %lld parameters of %lld bytes are more than 2^63 - 1 bytes",
                             (long long)config->parameters, (long long)bytes_each);
    if (config->json)
        return print_json(config, bytes_each, bytes, error);
    printf("weights   %s = %.4f GiB = %.4f GB (%s for each of %s)\n", lot_count(bytes, "byte").text,
           lot_unit_in((double)bytes, LOT_UNIT_GIB), lot_unit_in((double)bytes, LOT_UNIT_GB),
           lot_count(bytes_each, "byte").text, lot_count(config->parameters, "parameter").text);
    printf("reserve   %.4f GiB, assumed\n", config->reserve_gib);
    printf("together  %.4f GiB\n", lot_unit_in((double)bytes, LOT_UNIT_GIB) + config->reserve_gib);
    printf("left out  %s\n", left_out);
    printf("This does not predict whether a model fits.\n");
    return LOT_OK;
}

const lot_command lot_command_estimate = {
    .name = "estimate",
    .summary = "bytes of weights, by arithmetic",
    .synopsis = "--parameters N --bits B [--reserve-gib G] [--json]",
    .description =
        "Bytes of a model's weights: bits are rounded up to whole bytes per parameter. Uses no GPU and\n"
        "measures nothing. It leaves out activations, KV cache, quantisation metadata, gradients,\n"
        "optimizer state and libraries, and does not predict whether a model fits.",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .config_size = sizeof(estimate_config),
    .run = run,
};
