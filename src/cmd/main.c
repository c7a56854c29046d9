/* gpulot: picks the subcommand, prints its error, gives its exit status. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "core/nearest.h"
#include "core/shell.h"

/* In the order of a rental's life; one a line, so that a new one is one new line. */
/* clang-format off */
static const lot_command *const commands[] = {
    &lot_command_estimate,
    &lot_command_environment,
    &lot_command_measure,
    &lot_command_show,
    &lot_command_export,
    &lot_command_recover,
    &lot_command_check,
    &lot_command_compare,
    &lot_command_baseline,
    &lot_command_price,
    &lot_command_tariffs,
    &lot_command_manifest,
};
/* clang-format on */

#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

static void print_usage(FILE *out)
{
    (void)fprintf(
        out, "usage: gpulot COMMAND [options]\n\n"
             "Measures rented GPUs and keeps what it measured. Results are of a small synthetic network;\n"
             "they are not a language model, not training, and not the value of a rented GPU.\n\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        (void)fprintf(out, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
    (void)fprintf(
        out,
        "\ngpulot COMMAND --help, or gpulot help COMMAND, tells more; gpulot --version prints the version.\n"
        "exit status: 0 done and good, 1 done and the answer is bad, 2 refused, 3 failure\n");
}

static const lot_option *table_of(const lot_command *command, size_t *count)
{
    if (command->table != NULL)
        return command->table(count);
    *count = command->option_count;
    return command->options;
}

static void print_help(const lot_command *command)
{
    size_t count;
    const lot_option *options = table_of(command, &count);

    printf("usage: gpulot %s %s\n\n%s\n\n", command->name, command->synopsis, command->description);
    lot_options_help(options, count, stdout);
}

static const lot_command *find(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* Results that did not reach stdout are a failure, not a success. */
static lot_status flush_results(lot_status status, lot_error *error)
{
    const int unflushed = fflush(stdout);

    if (unflushed == 0 && !ferror(stdout))
        return status;
    return lot_error_set(error, LOT_IO, "write", 0, "the results could not be written to standard output");
}

static lot_status run(const lot_command *command, int argc, char **argv, lot_error *error)
{
    void *config = calloc(1, command->config_size);
    lot_option_table table = {.config_size = command->config_size};
    lot_status status;
    bool help = false;

    if (config == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for the options");
    table.rows = table_of(command, &table.count);
    status = lot_options_parse(&table, argc, argv, config, &help, error);
    if (status == LOT_OK && help)
        print_help(command);
    else if (status == LOT_OK)
        status = command->run(config, error);
    else if (command->refused != NULL)
        status = command->refused(error);
    status = flush_results(status, error);
    free(config);
    return status;
}

static int finish(const char *prefix, lot_status status, const lot_error *error)
{
    if (error->text[0] != '\0')
        (void)fprintf(stderr, "gpulot%s%s: %s\n", prefix[0] != '\0' ? " " : "", prefix, error->text);
    return lot_status_exit(status);
}

/* What is no command: what is wrong with it. */
static lot_status refuse(const char *argument, lot_error *error)
{
    const lot_shell_argument arguments[] = {{"--help", false}, {NULL, false}};
    const bool option = argument[0] == '-';
    lot_nearest nearest = {.typed = argument, .length = strlen(argument)};
    char *help = lot_shell_command(arguments);
    char hint[LOT_NEAREST_HINT_MAX];

    for (size_t i = 0; !option && i < COMMAND_COUNT; i++)
        lot_nearest_offer(&nearest, commands[i]->name);
    lot_nearest_offer(&nearest, option ? "--help" : "help");
    if (option)
        lot_nearest_offer(&nearest, "--version");
    (void)lot_error_set(error, LOT_USAGE, "command", 0, "unknown %s '%.80s'%s; %.300s lists %s",
                        option ? "option" : "command", argument,
                        lot_nearest_hint(&nearest, hint, sizeof hint), help != NULL ? help : "--help",
                        option ? "what there is" : "them");
    free(help);
    return LOT_USAGE;
}

/* `gpulot help`, and `gpulot help COMMAND`. */
static lot_status help_on(const char *name, lot_error *error)
{
    const lot_command *command = name != NULL ? find(name) : NULL;

    if (name == NULL || lot_is_help(name) || strcmp(name, "help") == 0)
        print_usage(stdout);
    else if (command == NULL)
        return refuse(name, error);
    else
        print_help(command);
    return LOT_OK;
}

/* Help and --version of the program itself; false where argv asks for neither. As for a command, nothing
 * else is looked at where --help is given. */
static bool answered(int argc, char **argv, lot_status *status, lot_error *error)
{
    *status = LOT_OK;
    if (lot_is_help(argv[1]))
        print_usage(stdout);
    else if (strcmp(argv[1], "help") == 0)
        *status = help_on(argv[2], error);
    else if (strcmp(argv[1], "--version") != 0 && strcmp(argv[1], "-V") != 0)
        return false;
    else if (argc > 2)
        *status =
            lot_error_set(error, LOT_USAGE, argv[1], 0, "%s takes no argument: '%.80s'", argv[1], argv[2]);
    else
        printf("gpulot %s\n", GPULOT_VERSION);
    *status = *status == LOT_OK ? flush_results(LOT_OK, error) : *status;
    return true;
}

/* Whoever closed a standard stream gives its number to the next file that is opened, and what is said would
 * be written into that. A folder takes the place instead: nothing can be written to it. */
static void keep_standard_streams(void)
{
    int opened;

    do
        opened = open("/", O_RDONLY);
    while (opened >= 0 && opened <= STDERR_FILENO);
    if (opened >= 0)
        (void)close(opened);
}

int main(int argc, char **argv)
{
    const lot_command *command;
    lot_error error = {0};
    lot_status status;
    int exit_status;

    keep_standard_streams();
    /* A file that reached its limit is told as an error of the write, and what was begun is taken away. */
    (void)signal(SIGXFSZ, SIG_IGN);
    if (argc < 2) {
        print_usage(stderr);
        return lot_status_exit(LOT_USAGE);
    }
    if (answered(argc, argv, &status, &error))
        return finish("", status, &error);
    command = find(argv[1]);
    if (command == NULL)
        return finish("", refuse(argv[1], &error), &error);
    status = run(command, argc - 2, argv + 2, &error);
    exit_status = finish(command->name, status, &error);
    if (status == LOT_TIMEOUT) /* what did not answer may hold what exit would wait for */
        _exit(exit_status);
    return exit_status;
}
