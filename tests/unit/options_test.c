/* The option table: what it takes, what it refuses and in which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/options.h"

typedef struct config {
    bool flag;
    int64_t count;
    double share;
    double time;
    int choice;
    const char *text;
    lot_text_list list;
    const char *file;
} config;

static const lot_option table[] = {
    {.name = "--flag", .kind = LOT_OPTION_FLAG, .offset = offsetof(config, flag), .help = "a flag"},
    {.name = "--count",
     .argument = "N",
     .fallback = "7",
     .kind = LOT_OPTION_INTEGER,
     .least = 1,
     .most = 100,
     .offset = offsetof(config, count),
     .help = "a count"},
    {.name = "--share",
     .argument = "X",
     .fallback = "50%",
     .kind = LOT_OPTION_NUMBER,
     .least = 0,
     .most = 1,
     .offset = offsetof(config, share),
     .help = "a share"},
    {.name = "--time",
     .argument = "T",
     .kind = LOT_OPTION_DURATION,
     .most = 7200,
     .offset = offsetof(config, time),
     .help = "a time"},
    {.name = "--choice",
     .argument = "C",
     .fallback = "beta",
     .kind = LOT_OPTION_CHOICE,
     .choices = "alpha|beta|betamax",
     .offset = offsetof(config, choice),
     .help = "a choice"},
    {.name = "--text",
     .argument = "S",
     .kind = LOT_OPTION_TEXT,
     .offset = offsetof(config, text),
     .help = "a text"},
    {.name = "--item",
     .argument = "S",
     .kind = LOT_OPTION_LIST,
     .offset = offsetof(config, list),
     .help = "items"},
    {.name = "FILE",
     .kind = LOT_OPTION_TEXT,
     .flags = LOT_OPTION_REQUIRED,
     .offset = offsetof(config, file),
     .help = "a file"},
};

#define COUNT (sizeof table / sizeof table[0])

static lot_status parse(config *c, bool *help, lot_error *error, int argc, ...)
{
    char *argv[16];
    va_list arguments;

    memset(error, 0, sizeof *error);
    va_start(arguments, argc);
    for (int i = 0; i < argc; i++)
        argv[i] = va_arg(arguments, char *);
    va_end(arguments);
    return lot_options_parse(&(lot_option_table){table, COUNT, sizeof *c}, argc, argv, c, help, error);
}

static void test_defaults(void **state)
{
    config c;
    bool help;
    lot_error error;

    (void)state;
    assert_int_equal(parse(&c, &help, &error, 1, "a.h5"), LOT_OK);
    assert_false(c.flag);
    assert_int_equal(c.count, 7);
    assert_true(c.share == 0.5 && c.time == 0);
    assert_int_equal(c.choice, 1);
    assert_null(c.text);
    assert_string_equal(c.file, "a.h5");
}

static void test_every_kind(void **state)
{
    config c;
    bool help;
    lot_error error;

    (void)state;
    assert_int_equal(parse(&c, &help, &error, 12, "--flag", "--count=100", "--share", "0.25", "--time",
                           "1.5h", "--choice", "betamax", "--text=x=y", "--item", "one", "--item=two"),
                     LOT_USAGE); /* FILE is missing */
    assert_non_null(strstr(error.text, "FILE is required"));
    assert_int_equal(parse(&c, &help, &error, 13, "--flag", "--count=100", "--share", "0.25", "--time",
                           "1.5h", "--choice", "betamax", "--text=x=y", "--item", "one", "--item=two", "f"),
                     LOT_OK);
    assert_true(c.flag && c.count == 100 && c.share == 0.25 && c.time == 5400 && c.choice == 2);
    assert_string_equal(c.text, "x=y");
    assert_int_equal(c.list.count, 2);
    assert_string_equal(c.list.items[1], "two");
    assert_int_equal(parse(&c, &help, &error, 3, "--share", "-0", "f"), LOT_OK);
    assert_true(c.share == 0 && !signbit(c.share));
    /* a percentage is the double that its hundredth, written out, is */
    assert_int_equal(parse(&c, &help, &error, 3, "--share", "0.7%", "f"), LOT_OK);
    assert_true(c.share == 0.007);
    assert_int_equal(parse(&c, &help, &error, 3, "--share", "1e-7%", "f"), LOT_OK);
    assert_true(c.share == 1e-9);
    assert_int_equal(parse(&c, &help, &error, 3, "--share", "2.9E1%", "f"), LOT_OK);
    assert_true(c.share == 0.29);
    assert_int_equal(parse(&c, &help, &error, 3, "--share", "5.%", "f"), LOT_OK);
    assert_true(c.share == 0.05);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *name;
        const char *value;
    } bad[] = {
        {"--count", "0"},
        {"--count", "101"},
        {"--count", "1.5"},
        {"--count", "-1"},
        {"--count", ""},
        {"--count", " 5"},
        {"--count", "0x10"},
        {"--count", "99999999999999999999"},
        {"--count", "5 "},
        {"--count", "+5"},
        {"--count", "1e2"},
        {"--share", "nan"},
        {"--share", "inf"},
        {"--share", "1.01"},
        {"--share", "-0.1"},
        {"--share", "101%"},
        {"--share", "0x1"},
        {"--time", "0"},
        {"--time", "-5s"},
        {"--time", "5 s"},
        {"--time", "3h"},
        {"--time", "5d"},
        {"--time", ""},
        {"--choice", "bet"},
        {"--choice", ""},
        {"--choice", "|"},
        {"--choice", "alpha|beta"},
        {"--text", ""},
    };
    config c;
    bool help;
    lot_error error;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (parse(&c, &help, &error, 3, bad[i].name, bad[i].value, "f") != LOT_USAGE)
            fail_msg("%s %s was taken", bad[i].name, bad[i].value);
        assert_non_null(strstr(error.text, bad[i].name));
        assert_string_equal(error.call, bad[i].name);
    }
}

static void test_shape_of_the_line(void **state)
{
    config c;
    bool help;
    lot_error error;

    (void)state;
    assert_int_equal(parse(&c, &help, &error, 2, "--unknown", "f"), LOT_USAGE);
    assert_string_equal(error.text, "unknown option '--unknown'; --help lists them");
    assert_int_equal(parse(&c, &help, &error, 2, "--counts=3", "f"), LOT_USAGE);
    assert_string_equal(error.text, "unknown option '--counts=3' (did you mean --count?); --help lists them");
    assert_int_equal(parse(&c, &help, &error, 2, "f", "g"), LOT_USAGE);
    assert_string_equal(error.text, "unexpected argument 'g'; --help lists what there is");
    assert_int_equal(parse(&c, &help, &error, 2, "f", "--count"), LOT_USAGE);
    assert_string_equal(error.text, "--count needs a value: N");
    assert_int_equal(parse(&c, &help, &error, 4, "--count", "1", "--count=2", "f"), LOT_USAGE);
    assert_string_equal(error.text, "--count is given twice");
    assert_int_equal(parse(&c, &help, &error, 2, "--flag=yes", "f"), LOT_USAGE);
    assert_string_equal(error.text, "--flag takes no value");
    assert_int_equal(parse(&c, &help, &error, 2, "--", "--count"), LOT_OK);
    assert_string_equal(c.file, "--count");
    assert_int_equal(parse(&c, &help, &error, 2, "--nonsense", "--help"), LOT_OK);
    assert_true(help);
    assert_int_equal(parse(&c, &help, &error, 2, "--nonsense", "-h"), LOT_OK);
    assert_true(help);
    assert_int_equal(parse(&c, &help, &error, 2, "--", "-h"), LOT_OK);
    assert_false(help);
    assert_string_equal(c.file, "-h");
    assert_int_equal(parse(&c, &help, &error, 2, "-help", "f"), LOT_USAGE);
}

static void test_control_characters_stay_out_of_messages(void **state)
{
    config c;
    bool help;
    lot_error error;

    (void)state;
    assert_int_equal(parse(&c, &help, &error, 3, "--count", "1\n2\033[31m", "f"), LOT_USAGE);
    assert_null(strpbrk(error.text, "\n\033"));
}

static void test_settings(void **state)
{
    config c;
    bool help;
    lot_error error;
    lot_setting setting;

    (void)state;
    assert_int_equal(parse(&c, &help, &error, 3, "--choice", "betamax", "f"), LOT_OK);
    assert_true(lot_option_setting(&table[4], &c, &setting));
    assert_string_equal(setting.name, "choice");
    assert_string_equal(setting.text, "betamax");
    assert_true(lot_option_setting(&table[2], &c, &setting));
    assert_true(setting.kind == LOT_KIND_F64 && setting.number == 0.5);
    assert_false(lot_option_setting(&table[5], &c, &setting)); /* a text that is not set */
    assert_false(lot_option_setting(&table[6], &c, &setting)); /* a list */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_every_kind),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_shape_of_the_line),
        cmocka_unit_test(test_settings), cmocka_unit_test(test_control_characters_stay_out_of_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
