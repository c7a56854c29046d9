/* JSON read piece by piece: every number is the C library's to the bit, and what is not JSON is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/json_read.h"

static bool read_number(const char *text, lot_json_figure *figure)
{
    lot_json_reader in;
    const bool good = lot_json_read_begin(&in, text, strlen(text)) && lot_json_read_number(&in, figure) &&
                      lot_json_read_end(&in);

    lot_json_read_free(&in);
    return good;
}

static void assert_as_strtod(const char *text)
{
    const double expected = strtod(text, NULL);
    lot_json_figure figure = {.value = 0};

    if (!read_number(text, &figure) || memcmp(&figure.value, &expected, sizeof expected) != 0)
        fail_msg("%s: %.17g instead of %.17g", text, figure.value, expected);
}

/* Numbers that lie near the middle of two doubles, at the ends of the ranges, and between the ways in which
 * they are converted. */
static void test_hard_numbers(void **state)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "-0.0",
        "0e5",
        "0.1",
        "1e23",
        "9007199254740993",
        "9007199254740992.5",
        "9007199254740993.0",
        "9007199254740993.0000000000000000001",
        "18446744073709551615",
        "9999999999999999999",
        "10000000000000000000",
        "0.500000000000000166533453693773481063544750213623046875",
        "5.000000000000000277e-1",
        "1.00000000000000011102230246251565",
        "1.000000000000000111",
        "9007199254740993e-10",
        "9999999999999999999e-27",
        "1e-27",
        "1e-28",
        "2.2250738585072011e-308",
        "4.9e-324",
        "1e-400",
        "1.7976931348623157e308",
        "123456789012345678901234567890e-20",
        "0.000000000000000000000000000000000000001",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_as_strtod(texts[i]);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* As the printer writes them, and any digits with any exponent near those of measured values. */
static void test_many_numbers(void **state)
{
    uint64_t seed = UINT64_C(0x9E3779B97F4A7C15);
    char text[64];

    (void)state;
    for (int i = 0; i < 300000; i++) {
        const uint64_t bits = next_random(&seed);
        const double measured = ldexp((double)(bits >> 11), -53 - (int)(bits % 40));
        double any;

        (void)snprintf(text, sizeof text, "%.*g", 15 + i % 3, measured);
        assert_as_strtod(text);
        memcpy(&any, &bits, sizeof any);
        if (isfinite(any)) {
            (void)snprintf(text, sizeof text, "%.17g", any);
            assert_as_strtod(text);
        }
        (void)snprintf(text, sizeof text, "%lluE%d", (unsigned long long)(bits >> (next_random(&seed) % 60)),
                       -(int)(bits % 32));
        assert_as_strtod(text);
    }
}

static void test_whole_numbers(void **state)
{
    static const struct {
        const char *text;
        bool whole;
        int64_t integer;
    } rows[] = {
        {"0", true, 0},        {"-7", true, -7},
        {"1e3", true, 1000},   {"2.50", false, 0},
        {"25.0e-1", false, 0}, {"9007199254740992", true, INT64_C(9007199254740992)},
        {"1e300", false, 0},   {"-9007199254740992", true, -INT64_C(9007199254740992)},
        {"1.5e1", true, 15},   {"9007199254740994", false, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lot_json_figure figure = {.value = 0};

        assert_true(read_number(rows[i].text, &figure));
        assert_int_equal(figure.whole, rows[i].whole);
        assert_int_equal(figure.integer, rows[i].integer);
    }
}

static void test_strings(void **state)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {"\"\"", ""},
        {"\"eight bytes and more\"", "eight bytes and more"},
        {"\"a\\\"b\\\\c\\/d\"", "a\"b\\c/d"},
        {"\"\\b\\f\\n\\r\\t\"", "\b\f\n\r\t"},
        {"\"\\u0041\\u00e9\\u20AC\\ud83d\\uDE00\"", "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
        {"\"caf\xC3\xA9 \\u0021\"", "caf\xC3\xA9 !"},
        {"\"\\ud7ff\\ue000\\ud800\\udc00\\udbff\\udfff\"",
         "\xED\x9F\xBF\xEE\x80\x80\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"},
        {"\"\x7F\"", "\x7F"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lot_json_reader in;
        lot_json_piece piece = {NULL, 0};

        assert_true(lot_json_read_begin(&in, rows[i].text, strlen(rows[i].text)));
        assert_true(lot_json_read_string(&in, &piece));
        assert_true(lot_json_read_end(&in));
        assert_int_equal(piece.size, strlen(rows[i].expected));
        assert_memory_equal(piece.text, rows[i].expected, piece.size);
        lot_json_read_free(&in);
    }
}

static bool is_json(const char *text, size_t size)
{
    lot_json_reader in;
    bool good = lot_json_read_begin(&in, text, size) && lot_json_read_skip(&in);

    good = lot_json_read_end(&in) && good;
    lot_json_read_free(&in);
    return good;
}

static void test_refused(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "01",
        "-01",
        "+1",
        "1.",
        ".5",
        "-",
        "1e",
        "1e+",
        "0x1",
        "1e999",
        "-1e999",
        "NaN",
        "Infinity",
        "tru",
        "True",
        "nul",
        "1 2",
        "\"open",
        "\"",
        "\"\\\"",
        "\"\\",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\u0000\"",
        "\"\\ud83d\"",
        "\"\\ud83d\\n\"",
        "\"\\ud83dx\\ude00\"",
        "\"\\ude00\"",
        "\"\\udc00\"",
        "\"\\udfff\"",
        "\"\\udbff\\ue000\"",
        "\"tab\there\"",
        "\"eight bytes, then\x01\"",
        "\"the last \x1F of those that are refused\"",
        "'a'",
        "[",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1}",
        "]",
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\" 1}",
        "{\"a\":1,}",
        "{,\"a\":1}",
        "{a:1}",
        "{\"a\":1]",
        "{1:1}",
        "/* no */ 1",
        "\xEF\xBB\xBF{}",
        "\"\xFF\"",
        "\"\xC0\x80\"",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (is_json(texts[i], strlen(texts[i])))
            fail_msg("taken for JSON: %s", texts[i]);
    assert_false(is_json("1\0", 2));
    assert_false(is_json("\"a\0b\"", 5));
}

static void test_every_cut_is_refused(void **state)
{
    static const char text[] = "{\"a\":[1,-2.5e-3,{\"b\\u0041\":\"c\"},[],{}],\"d\":[true,false,null]}";

    (void)state;
    assert_true(is_json(text, sizeof text - 1));
    for (size_t size = 0; size < sizeof text - 1; size++)
        assert_false(is_json(text, size));
}

static void test_depth(void **state)
{
    char text[130];

    (void)state;
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    assert_true(is_json(text, 128));
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    assert_false(is_json(text, 130));
}

/* Digits after the point and an exponent beyond every limit do not add up to a small one. */
static void test_absurd_exponents(void **state)
{
    const size_t zeros = 200000;
    char *text = malloc(zeros + 64);
    lot_json_figure figure = {.value = 0};

    (void)state;
    assert_non_null(text);
    memcpy(text, "0.", 2);
    memset(text + 2, '0', zeros);
    (void)snprintf(text + 2 + zeros, 62, "12345e%zu", zeros);
    assert_as_strtod(text);
    (void)snprintf(text + 2 + zeros, 62, "12345e%zu99", zeros);
    assert_false(read_number(text, &figure));
    free(text);
}

static void test_after_a_failure_nothing_is_read(void **state)
{
    lot_json_reader in;
    lot_json_figure figure;
    lot_json_piece piece;

    (void)state;
    assert_true(lot_json_read_begin(&in, "[x, 1, \"a\", {}]", 15));
    assert_true(lot_json_read_enter(&in, '['));
    assert_true(lot_json_read_item(&in));
    assert_false(lot_json_read_number(&in, &figure));
    assert_true(in.failed);
    assert_int_equal(in.at - in.text, 1);
    assert_false(lot_json_read_item(&in));
    assert_false(lot_json_read_skip(&in));
    assert_false(lot_json_read_string(&in, &piece));
    assert_false(lot_json_read_member(&in, &piece));
    assert_false(lot_json_read_enter(&in, '{'));
    assert_int_equal(lot_json_read_kind(&in), LOT_JSON_NOTHING);
    assert_false(lot_json_read_end(&in));
    lot_json_read_free(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hard_numbers),
        cmocka_unit_test(test_many_numbers),
        cmocka_unit_test(test_whole_numbers),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_every_cut_is_refused),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_absurd_exponents),
        cmocka_unit_test(test_after_a_failure_nothing_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
