/* What a measurement is asked to do: the options of `gpulot measure`, parsed. */
#ifndef GPULOT_MEASURE_CONFIG_H
#define GPULOT_MEASURE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/options.h"
#include "core/record.h"
#include "gpu/device.h"

typedef enum lot_schedule { LOT_TOGETHER, LOT_SOLO, LOT_PAIRS, LOT_BOTH } lot_schedule;

typedef struct lot_measure_config {
    const char *device;
    const char *output;
    int64_t batch;
    int64_t context;
    int64_t width;
    int64_t hidden; /* 0 until lot_measure_config_complete */
    int dtype;      /* lot_dtype */
    int gelu;       /* index of erf|tanh */
    int math;       /* lot_math */
    int64_t warmup;
    int64_t repeats;
    int64_t seed;
    const char *label;
    const char *continues; /* archive of the run before */
    int schedule;          /* lot_schedule */
    double soak_seconds;
    double soak_memory; /* share of the device's memory for soak buffers */
    int64_t threads;
    int64_t tune;
    int64_t telemetry_hz;
    bool localise;
    bool cold_l2;
    bool allow_shared;
    bool no_numa;
    double phase_timeout_seconds;
    double rank_timeout_seconds;
    const char *spool;
    const char *tariffs;
    const char *columns;
    const char *gpu;
    int64_t days;
    int64_t lots;
    bool quiet;
} lot_measure_config;

/* The option table; *count rows. */
const lot_option *lot_measure_options(size_t *count);

/* Fills in defaults that depend on other options and checks what one option alone cannot: LOT_USAGE. */
lot_status lot_measure_config_complete(lot_measure_config *config, lot_error *error);

/* The activation that --gelu names. */
lot_activation lot_measure_activation(const lot_measure_config *config);

/* A number that is the same for two ranks where every option is the same, and, but for a chance of 2^-64,
 * only there. --spool and --quiet do not count: each rank may have its own. */
uint64_t lot_measure_config_digest(const lot_measure_config *config);

/* Echoes every option that is not private into record->configuration. LOT_MEMORY. */
lot_status lot_measure_config_echo(const lot_measure_config *config, lot_record *record, lot_error *error);

#endif
