/* Command-line options from one table: a row drives parsing, --help, the default, and the echo into a record.
 *
 *     static const lot_option options[] = {
 *         {.name = "--batch", .argument = "N", .fallback = "1", .kind = LOT_OPTION_INTEGER, .least = 1,
 *          .most = 1 << 20, .offset = offsetof(my_config, batch), .help = "sequences in one pass"},
 *     };
 *
 * A row whose name has no leading dashes is a positional argument ("FILE.h5"); rows of positional arguments
 * are filled in order, a LIST takes all that are left. `--name VALUE` and `--name=VALUE` are the same; `--`
 * ends the options; an option given twice is refused unless it is a LIST. */
#ifndef GPULOT_CORE_OPTIONS_H
#define GPULOT_CORE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/error.h"
#include "core/field.h"

typedef enum lot_option_kind {
    LOT_OPTION_FLAG,     /* bool; no argument */
    LOT_OPTION_INTEGER,  /* int64_t in [least, most] */
    LOT_OPTION_NUMBER,   /* double in [least, most]; "1.5" or "1.5%" (the latter divided by 100) */
    LOT_OPTION_DURATION, /* double seconds > 0, at most `most`; "90", "90s", "10m", "2h", "500ms" */
    LOT_OPTION_CHOICE,   /* int, the index in `choices` */
    LOT_OPTION_TEXT,     /* const char *, as given; not empty */
    LOT_OPTION_LIST      /* lot_text_list, as given, in order */
} lot_option_kind;

#define LOT_OPTION_REQUIRED 1u  /* refused where it is not given */
#define LOT_OPTION_PRIVATE  2u  /* not echoed into a record: a path, or of no influence on results */
#define LOT_OPTION_NO_SHARE 4u  /* a NUMBER that is not a share of anything: a percentage is refused */
#define LOT_OPTION_ABOVE    8u  /* a NUMBER: `least` itself is refused */
#define LOT_OPTION_BELOW    16u /* a NUMBER: `most` itself is refused */

typedef struct lot_option {
    const char *name;
    const char *argument; /* NULL for a flag */
    const char *fallback; /* the default, parsed like a user's text; NULL: zero, NULL or an empty list */
    const char *help;     /* one line */
    lot_option_kind kind;
    unsigned flags;
    size_t offset; /* of the destination in the command's config struct */
    int64_t least;
    int64_t most;
    double smallest;     /* of a NUMBER whose least value is no whole number, in place of `least`; else 0 */
    const char *choices; /* "float32|float16|bfloat16" */
} lot_option;

#define LOT_TEXT_LIST_MAX 1024

typedef struct lot_text_list {
    const char *items[LOT_TEXT_LIST_MAX];
    size_t count;
} lot_text_list;

/* A command's options and the struct that they fill. */
typedef struct lot_option_table {
    const lot_option *rows;
    size_t count;
    size_t config_size; /* bytes of the struct */
} lot_option_table;

/* Fills *config (zeroed first, `table->config_size` bytes) from the defaults and then from argv[0..argc).
 * Texts point into argv and into the table. Returns LOT_USAGE with one line that names the option, the value
 * and what is allowed. *help is set, and nothing else looked at, where --help or -h stands among the
 * arguments.
 */
lot_status lot_options_parse(const lot_option_table *table, int argc, char *const *argv, void *config,
                             bool *help, lot_error *error);

/* Whether the argument is --help or -h. */
bool lot_is_help(const char *argument);

/* Writes the options' part of --help: a row for each option and for --help, then how values are written. */
void lot_options_help(const lot_option *options, size_t count, FILE *out);

/* The effective value of one option as a setting; its name without dashes, '-' as '_'. Returns false for a
 * LIST, for LOT_OPTION_PRIVATE and for a text that is not set. */
bool lot_option_setting(const lot_option *option, const void *config, lot_setting *setting);

/* Whole-text parsers, for use outside tables too. Each returns false and leaves *value alone where the text
 * is not exactly such a value: decimal digits, behind a '-' where there is one, without '+' and blanks; a
 * decimal number, or one with '%' behind it, which is a hundredth of it: the double nearest to that, so that
 * 0.1% is 0.001. */
bool lot_parse_integer(const char *text, int64_t *value);
bool lot_parse_number(const char *text, double *value);

/* The index of `text` in "a|b|c". */
bool lot_parse_choice(const char *text, const char *choices, int *index);

#endif
