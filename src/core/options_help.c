/* The options' part of --help. */
#include <string.h>

#include "core/options.h"

/* How the value of an option is written, by its kind; NULL where its help says so itself. */
static const char *form_of(const lot_option *option)
{
    switch (option->kind) {
    case LOT_OPTION_INTEGER:
        return "a whole number";
    case LOT_OPTION_NUMBER:
        return (option->flags & LOT_OPTION_NO_SHARE) != 0
                   ? "a decimal number such as 0.5 or 1e9"
                   : "a fraction such as 0.02, or a percentage such as 2%";
    case LOT_OPTION_DURATION:
        return "seconds, or a number with its unit: 500ms, 90s, 10m, 2h";
    default:
        return NULL;
    }
}

/* Whether one of the first `count` options has values of this form, named `argument`; NULL: whatever their
 * name. */
static bool is_named(const lot_option *options, size_t count, const char *form, const char *argument)
{
    for (size_t i = 0; i < count; i++)
        if (form_of(&options[i]) == form && (argument == NULL || strcmp(options[i].argument, argument) == 0))
            return true;
    return false;
}

/* One line for each form of values that the options take: their names, and how they are written. */
static void print_forms(const lot_option *options, size_t count, FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        const char *form = form_of(&options[i]);
        char names[64] = "";

        if (form == NULL || is_named(options, i, form, NULL))
            continue;
        for (size_t j = i; j < count; j++) {
            const size_t length = strlen(names);

            if (form_of(&options[j]) == form && !is_named(options, j, form, options[j].argument))
                (void)snprintf(names + length, sizeof names - length, "%s%s", length > 0 ? ", " : "",
                               options[j].argument);
        }
        (void)fprintf(out, "  %-26s  %s\n", names, form);
    }
}

static void print_rows(const lot_option *options, size_t count, FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        const lot_option *o = &options[i];
        char left[64];

        (void)snprintf(left, sizeof left, "%s%s%s", o->name, o->argument != NULL ? " " : "",
                       o->argument != NULL ? o->argument : "");
        if (strlen(left) > 26)
            (void)fprintf(out, "  %s\n%30s%s", left, "", o->help);
        else
            (void)fprintf(out, "  %-26s  %s", left, o->help);
        if (o->choices != NULL)
            (void)fprintf(out, ": %s", o->choices);
        if (o->fallback != NULL)
            (void)fprintf(out, " (default %s)", o->fallback);
        if ((o->flags & LOT_OPTION_REQUIRED) != 0)
            (void)fprintf(out, " (required)");
        (void)fputc('\n', out);
    }
}

void lot_options_help(const lot_option *options, size_t count, FILE *out)
{
    print_rows(options, count, out);
    (void)fprintf(out, "  %-26s  %s\n", "--help, -h", "show this and exit");
    print_forms(options, count, out);
}
