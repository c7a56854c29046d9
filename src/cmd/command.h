/* A subcommand: its options, its words for --help, and what it does. */
#ifndef GPULOT_CMD_COMMAND_H
#define GPULOT_CMD_COMMAND_H

#include <stddef.h>

#include "core/error.h"
#include "core/options.h"

typedef struct lot_command {
    const char *name;
    const char *summary;     /* one line, for the list of commands */
    const char *synopsis;    /* what follows the name: "FILE.h5 [options]" */
    const char *description; /* a short paragraph for --help */
    const lot_option *options;
    size_t option_count;
    const lot_option *(*table)(size_t *count); /* where the table lives elsewhere; options is NULL then */
    size_t config_size;
    /* Does the command. Results go to stdout; returns the status whose exit code the process takes. An error
     * filled here is printed by main, once, on stderr. LOT_FLAGGED may come with an empty error text. */
    lot_status (*run)(const void *config, lot_error *error);
    /* Called instead of run where the options are refused, with what is wrong in *error; NULL for most
     * commands. A command of several processes lets them agree here, so that one of them speaks for all. */
    lot_status (*refused)(lot_error *error);
} lot_command;

/* The value of a --rank option: -1 where `text` is NULL, LOT_USAGE where it is no rank. */
lot_status lot_command_rank(const char *text, int64_t *rank, lot_error *error);

/* One file per command, each defining one of these; main.c lists them. */
extern const lot_command lot_command_estimate;
extern const lot_command lot_command_environment;
extern const lot_command lot_command_measure;
extern const lot_command lot_command_show;
extern const lot_command lot_command_export;
extern const lot_command lot_command_recover;
extern const lot_command lot_command_price;
extern const lot_command lot_command_tariffs;
extern const lot_command lot_command_manifest;
extern const lot_command lot_command_check;
extern const lot_command lot_command_compare;
extern const lot_command lot_command_baseline;

#endif
