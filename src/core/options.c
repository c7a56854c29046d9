#include "core/options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/nearest.h"

/* ---- values ---- */

bool lot_parse_integer(const char *text, int64_t *value)
{
    const char *digit = text[0] == '-' ? text + 1 : text;
    char *end;
    long long parsed;

    if (digit[strspn(digit, "0123456789")] != '\0' || digit[0] == '\0')
        return false;
    errno = 0;
    parsed = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0')
        return false;
    *value = parsed;
    return true;
}

#define EXPONENT_MOST 1000 /* beyond every double */

/* Decimal notation only: strtod alone would take hexadecimal, "inf", "nan" and leading blanks. */
static bool decimal(const char *text, double *value, char **end)
{
    const size_t length = strspn(text, "+-.0123456789eE");

    if (length == 0 || strchr("eE", text[0]) != NULL)
        return false;
    errno = 0;
    *value = strtod(text, end);
    return *end != text && (size_t)(*end - text) <= length && isfinite(*value);
}

/* The hundredth of the decimal number text[0..length): its exponent less two, so that "1e-7%" is what 1e-9
 * is, which a division of the number misses by a rounding. Longer numbers than anybody writes are refused. */
static bool hundredth(const char *text, size_t length, double *value)
{
    const size_t digits = strcspn(text, "eE%");
    const long exponent = digits < length ? strtol(text + digits + 1, NULL, 10) : 0;
    char shifted[256];
    int size;

    if (exponent < -EXPONENT_MOST || exponent > EXPONENT_MOST)
        return false;
    size = snprintf(shifted, sizeof shifted, "%.*se%ld", (int)(digits < length ? digits : length), text,
                    exponent - 2);
    if (size >= (int)sizeof shifted)
        return false;
    *value = strtod(shifted, NULL);
    return true;
}

bool lot_parse_number(const char *text, double *value)
{
    double parsed;
    char *end;

    if (!decimal(text, &parsed, &end))
        return false;
    if (strcmp(end, "%") == 0)
        return hundredth(text, (size_t)(end - text), value);
    if (*end != '\0')
        return false;
    *value = parsed;
    return true;
}

static bool parse_duration(const char *text, double *seconds)
{
    static const struct {
        const char *suffix;
        double seconds;
    } suffixes[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"min", 60}, {"h", 3600}};
    double parsed;
    char *end;

    if (!decimal(text, &parsed, &end) || parsed < 0)
        return false;
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (strcmp(end, suffixes[i].suffix) == 0) {
            *seconds = parsed * suffixes[i].seconds;
            return true;
        }
    return false;
}

bool lot_parse_choice(const char *text, const char *choices, int *index)
{
    const size_t length = strlen(text);
    const char *at = choices;

    for (int i = 0;; i++) {
        const size_t step = strcspn(at, "|");

        if (step == length && memcmp(at, text, length) == 0) {
            *index = i;
            return true;
        }
        if (at[step] == '\0')
            return false;
        at += step + 1;
    }
}

/* ---- one option ---- */

static bool positional(const lot_option *option)
{
    return option->name[0] != '-';
}

static lot_status refuse(const lot_option *option, const char *value, const char *allowed, lot_error *error)
{
    return lot_error_set(error, LOT_USAGE, option->name, 0, "%s: '%.80s' is not allowed: %s", option->name,
                         value, allowed);
}

static lot_status store_integer(const lot_option *option, const char *value, void *at, lot_error *error)
{
    char allowed[96];
    int64_t parsed;

    if (lot_parse_integer(value, &parsed) && parsed >= option->least && parsed <= option->most) {
        *(int64_t *)at = parsed;
        return LOT_OK;
    }
    (void)snprintf(allowed, sizeof allowed, "a whole number from %lld to %lld", (long long)option->least,
                   (long long)option->most);
    return refuse(option, value, allowed, error);
}

static double least_number(const lot_option *option)
{
    return option->smallest > 0 ? option->smallest : (double)option->least;
}

static bool in_range(const lot_option *option, double value)
{
    const double least = least_number(option), most = (double)option->most;

    return ((option->flags & LOT_OPTION_ABOVE) != 0 ? value > least : value >= least) &&
           ((option->flags & LOT_OPTION_BELOW) != 0 ? value < most : value <= most);
}

static lot_status store_number(const lot_option *option, const char *value, void *at, lot_error *error)
{
    const bool share = (option->flags & LOT_OPTION_NO_SHARE) == 0;
    const bool above = (option->flags & LOT_OPTION_ABOVE) != 0;
    const bool below = (option->flags & LOT_OPTION_BELOW) != 0;
    char allowed[96];
    double parsed;

    if (lot_parse_number(value, &parsed) && (share || strchr(value, '%') == NULL) &&
        in_range(option, parsed)) {
        *(double *)at = parsed == 0 ? 0 : parsed; /* "-0" is no other number */
        return LOT_OK;
    }
    (void)snprintf(allowed, sizeof allowed, "a number %s %.15g %s %lld%s", above ? "above" : "from",
                   least_number(option),
                   below   ? "and below"
                   : above ? "and up to"
                           : "to",
                   (long long)option->most, share ? ", or a percentage" : "");
    return refuse(option, value, allowed, error);
}

static lot_status store_duration(const lot_option *option, const char *value, void *at, lot_error *error)
{
    char allowed[96];
    double parsed;

    if (parse_duration(value, &parsed) && parsed > 0 && parsed <= (double)option->most) {
        *(double *)at = parsed;
        return LOT_OK;
    }
    (void)snprintf(allowed, sizeof allowed, "a time above 0 and up to %lld s, such as 90s, 10m or 2h",
                   (long long)option->most);
    return refuse(option, value, allowed, error);
}

static lot_status store_item(const lot_option *option, const char *value, void *at, lot_error *error)
{
    lot_text_list *list = at;

    if (value[0] == '\0')
        return refuse(option, value, "it must not be empty", error);
    if (list->count == LOT_TEXT_LIST_MAX)
        return lot_error_set(error, LOT_USAGE, option->name, 0, "%s: given more than %d times", option->name,
                             LOT_TEXT_LIST_MAX);
    list->items[list->count++] = value;
    return LOT_OK;
}

static lot_status store(const lot_option *option, const char *value, void *config, lot_error *error)
{
    void *at = (char *)config + option->offset;

    switch (option->kind) {
    case LOT_OPTION_FLAG:
        *(bool *)at = true;
        return LOT_OK;
    case LOT_OPTION_INTEGER:
        return store_integer(option, value, at, error);
    case LOT_OPTION_NUMBER:
        return store_number(option, value, at, error);
    case LOT_OPTION_DURATION:
        return store_duration(option, value, at, error);
    case LOT_OPTION_CHOICE:
        return lot_parse_choice(value, option->choices, at) ? LOT_OK
                                                            : refuse(option, value, option->choices, error);
    case LOT_OPTION_TEXT:
        if (value[0] == '\0')
            return refuse(option, value, "it must not be empty", error);
        *(const char **)at = value;
        return LOT_OK;
    case LOT_OPTION_LIST:
        return store_item(option, value, at, error);
    }
    return lot_error_set(error, LOT_INTERNAL, option->name, 0, "option %s has no kind", option->name);
}

/* ---- a command line ---- */

#define OPTIONS_MAX 64

static lot_status set_defaults(const lot_option *options, size_t count, void *config, lot_error *error)
{
    for (size_t i = 0; i < count; i++) {
        lot_status status = LOT_OK;

        if (options[i].fallback != NULL)
            status = store(&options[i], options[i].fallback, config, error);
        if (status != LOT_OK)
            return status;
    }
    return LOT_OK;
}

static const lot_option *find_named(const lot_option *options, size_t count, const char *argument,
                                    size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (!positional(&options[i]) && strlen(options[i].name) == length &&
            memcmp(options[i].name, argument, length) == 0)
            return &options[i];
    return NULL;
}

static const lot_option *next_positional(const lot_option *options, size_t count, const bool *given)
{
    for (size_t i = 0; i < count; i++)
        if (positional(&options[i]) && (!given[i] || options[i].kind == LOT_OPTION_LIST))
            return &options[i];
    return NULL;
}

static lot_status check_given(const lot_option *options, size_t count, const bool *given, lot_error *error)
{
    for (size_t i = 0; i < count; i++)
        if ((options[i].flags & LOT_OPTION_REQUIRED) != 0 && !given[i])
            return lot_error_set(error, LOT_USAGE, options[i].name, 0, "%s is required: %s", options[i].name,
                                 options[i].choices != NULL ? options[i].choices : options[i].help);
    return LOT_OK;
}

/* What stands on the command line, taken from the front. */
typedef struct arguments {
    int count;
    char *const *items;
    int next;
} arguments;

static lot_status refuse_unknown(const lot_option_table *table, const char *argument, size_t length,
                                 lot_error *error)
{
    lot_nearest nearest = {.typed = argument, .length = length};
    char hint[LOT_NEAREST_HINT_MAX];

    for (size_t i = 0; i < table->count; i++)
        if (!positional(&table->rows[i]))
            lot_nearest_offer(&nearest, table->rows[i].name);
    return lot_error_set(error, LOT_USAGE, "options", 0, "unknown option '%.80s'%s; --help lists them",
                         argument, lot_nearest_hint(&nearest, hint, sizeof hint));
}

/* Takes the option that comes next, and its value, which may be the argument behind it. */
static lot_status take_named(const lot_option_table *table, arguments *left, const lot_option **taken,
                             const char **value, lot_error *error)
{
    const char *argument = left->items[left->next++];
    const char *equals = strchr(argument, '=');
    const size_t length = equals != NULL ? (size_t)(equals - argument) : strlen(argument);
    const lot_option *option = find_named(table->rows, table->count, argument, length);

    if (option == NULL)
        return refuse_unknown(table, argument, length, error);
    *taken = option;
    *value = equals != NULL ? equals + 1 : NULL;
    if (option->kind == LOT_OPTION_FLAG && equals != NULL)
        return lot_error_set(error, LOT_USAGE, option->name, 0, "%s takes no value", option->name);
    if (option->kind != LOT_OPTION_FLAG && *value == NULL) {
        if (left->next >= left->count)
            return lot_error_set(error, LOT_USAGE, option->name, 0, "%s needs a value: %s", option->name,
                                 option->argument);
        *value = left->items[left->next++];
    }
    return LOT_OK;
}

bool lot_is_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

static bool asks_for_help(const arguments *all)
{
    for (int i = 0; i < all->count && strcmp(all->items[i], "--") != 0; i++)
        if (lot_is_help(all->items[i]))
            return true;
    return false;
}

/* Stores every argument; given[] says which options there were. */
static lot_status take_all(const lot_option_table *table, arguments *left, void *config, bool *given,
                           lot_error *error)
{
    bool options_ended = false;
    lot_status status = LOT_OK;

    while (status == LOT_OK && left->next < left->count) {
        const lot_option *option = NULL;
        const char *value = left->items[left->next];

        if (!options_ended && strcmp(value, "--") == 0) {
            options_ended = true;
            left->next++;
            continue;
        }
        if (!options_ended && value[0] == '-' && value[1] != '\0') {
            status = take_named(table, left, &option, &value, error);
        } else {
            option = next_positional(table->rows, table->count, given);
            if (option == NULL)
                status = lot_error_set(error, LOT_USAGE, "options", 0,
                                       "unexpected argument '%.80s'; --help lists what there is", value);
            left->next++;
        }
        if (status != LOT_OK)
            break;
        if (given[option - table->rows] && option->kind != LOT_OPTION_LIST)
            return lot_error_set(error, LOT_USAGE, option->name, 0, "%s is given twice", option->name);
        given[option - table->rows] = true;
        status = store(option, value, config, error);
    }
    return status;
}

lot_status lot_options_parse(const lot_option_table *table, int argc, char *const *argv, void *config,
                             bool *help, lot_error *error)
{
    bool given[OPTIONS_MAX] = {false};
    arguments left = {argc, argv, 0};
    lot_status status;

    if (table->count > OPTIONS_MAX)
        return lot_error_set(error, LOT_INTERNAL, "options", 0, "more than %d options in one table",
                             OPTIONS_MAX);
    memset(config, 0, table->config_size);
    *help = asks_for_help(&left);
    if (*help)
        return LOT_OK;
    status = set_defaults(table->rows, table->count, config, error);
    if (status == LOT_OK)
        status = take_all(table, &left, config, given, error);
    return status == LOT_OK ? check_given(table->rows, table->count, given, error) : status;
}

static void setting_name(const lot_option *option, lot_setting *setting)
{
    (void)lot_field_copy(setting->name, sizeof setting->name, option->name + strspn(option->name, "-"));
    for (char *c = setting->name; *c != '\0'; c++)
        if (*c == '-')
            *c = '_';
}

static void choice_text(const lot_option *option, int index, char *text, size_t size)
{
    const char *at = option->choices;

    for (; index > 0; index--)
        at += strcspn(at, "|") + 1;
    (void)snprintf(text, size, "%.*s", (int)strcspn(at, "|"), at);
}

bool lot_option_setting(const lot_option *option, const void *config, lot_setting *setting)
{
    const void *at = (const char *)config + option->offset;

    memset(setting, 0, sizeof *setting);
    if ((option->flags & LOT_OPTION_PRIVATE) != 0)
        return false;
    setting_name(option, setting);
    switch (option->kind) {
    case LOT_OPTION_FLAG:
        setting->kind = LOT_KIND_BOOL;
        setting->integer = *(const bool *)at;
        return true;
    case LOT_OPTION_INTEGER:
        setting->kind = LOT_KIND_I64;
        setting->integer = *(const int64_t *)at;
        return true;
    case LOT_OPTION_NUMBER:
    case LOT_OPTION_DURATION:
        setting->kind = LOT_KIND_F64;
        setting->number = *(const double *)at;
        return true;
    case LOT_OPTION_CHOICE:
        setting->kind = LOT_KIND_STR;
        choice_text(option, *(const int *)at, setting->text, sizeof setting->text);
        return true;
    case LOT_OPTION_TEXT:
        setting->kind = LOT_KIND_STR;
        if (*(const char *const *)at == NULL)
            return false;
        (void)lot_field_copy(setting->text, sizeof setting->text, *(const char *const *)at);
        return true;
    case LOT_OPTION_LIST:
        return false;
    }
    return false;
}
