/* Dates and UTF-8: what is one and what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/date.h"
#include "core/utf8.h"

static void days_of_the_calendar(void **state)
{
    static const char *const good[] = {"2026-08-22", "2024-02-29", "2000-02-29", "0001-01-01", "9999-12-31"};
    static const char *const bad[] = {"",           "2026-8-22",   "2026-02-29", "1900-02-29",  "2026-13-01",
                                      "2026-00-01", "2026-01-00",  "2026-04-31", "2026-08-22 ", " 2026-08-22",
                                      "2026/08/22", "2026-08-22T", "+026-08-22", "2026-08"};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(lot_date_valid(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(lot_date_valid(bad[i]));
}

static void times_in_utc(void **state)
{
    static const char *const good[] = {"2026-08-22T00:00:00Z", "2026-08-22T23:59:59.999Z"};
    static const char *const bad[] = {
        "2026-08-22",           "2026-08-22T24:00:00Z",      "2026-08-22T00:60:00Z",
        "2026-08-22T00:00:60Z", "2026-08-22T00:00:00",       "2026-08-22T00:00:00.5Z",
        "2026-08-22 00:00:00Z", "2026-08-22T00:00:00+02:00", "2026-02-30T00:00:00Z"};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(lot_date_time_valid(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(lot_date_time_valid(bad[i]));
}

/* The borders of table 3-7 of the Unicode standard. */
static void utf8(void **state)
{
    static const char *const good[] = {"",
                                       "plain",
                                       "\x7F",
                                       "\xC2\x80",
                                       "\xDF\xBF",
                                       "\xE0\xA0\x80",
                                       "\xED\x9F\xBF",
                                       "\xEE\x80\x80",
                                       "\xEF\xBF\xBF",
                                       "\xF0\x90\x80\x80",
                                       "\xF4\x8F\xBF\xBF"};
    static const char *const bad[] = {"\x80",
                                      "\xBF",
                                      "\xC0\x80",
                                      "\xC1\xBF",
                                      "\xC2",
                                      "\xC2\x41",
                                      "\xE0\x9F\xBF",
                                      "\xED\xA0\x80", /* a surrogate */
                                      "\xE2\x82",
                                      "\xF0\x8F\xBF\xBF",
                                      "\xF4\x90\x80\x80", /* above U+10FFFF */
                                      "\xF5\x80\x80\x80",
                                      "\xFF",
                                      "ok\xE4"};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(lot_utf8_valid(good[i], strlen(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(lot_utf8_valid(bad[i], strlen(bad[i])));
    assert_int_equal(0, lot_utf8_character("a", 0));
    assert_int_equal(0, lot_utf8_character("\xE2\x82\xAC", 2));
    assert_int_equal(3, lot_utf8_character("\xE2\x82\xAC", 3));
}

/* Writes a code point as UTF-8; returns its bytes. */
static size_t encode(uint32_t code, char to[4])
{
    const size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    for (size_t i = size; i-- > 1; code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3F));
    to[0] = (char)(size == 1 ? code : ((0xF00 >> size) & 0xFF) | code);
    return size;
}

/* Numbers of the names in UnicodeData.txt; the count is of its categories Cc (65), Cf (170), Zl and Zp. */
static void characters_that_show_as_nothing(void **state)
{
    static const uint32_t hidden[] = {0x00,   0x1F,   0x7F,   0x9B,    0xAD,    0x61C,  0x200B, 0x200C,
                                      0x200D, 0x200E, 0x200F, 0x2028,  0x2029,  0x202A, 0x202E, 0x2060,
                                      0x2066, 0x2069, 0xFEFF, 0x1D173, 0xE0001, 0xE007F};
    static const uint32_t seen[] = {0x20,   0x7E,   0xA0,   0xE9,   0x200A,  0x2010,  0x2027,
                                    0x202F, 0x2065, 0x20AC, 0xFFFD, 0x1F600, 0x10FFFF};
    size_t count = 0;
    char text[4];

    (void)state;
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        assert_true(lot_utf8_unseen(text, encode(hidden[i], text)));
    for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++)
        assert_false(lot_utf8_unseen(text, encode(seen[i], text)));
    for (uint32_t code = 0; code < 0x110000; code++)
        if (code < 0xD800 || code > 0xDFFF)
            count += lot_utf8_unseen(text, encode(code, text));
    assert_int_equal(count, 65 + 170 + 2);
}

static void texts_for_people_and_for_programs(void **state)
{
    char shown[] = "a\xE2\x80\xAE\x1b"
                   "b\xC3\xA9\xFF";
    char line[] = "a\xE2\x80\xAE\x1b"
                  "b\xC3\xA9\xFF";

    (void)state;
    lot_utf8_clean(shown);
    assert_string_equal(shown, "a????b\xC3\xA9?");
    lot_utf8_clean_controls(line);
    assert_string_equal(line, "a\xE2\x80\xAE?b\xC3\xA9?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(days_of_the_calendar),
        cmocka_unit_test(times_in_utc),
        cmocka_unit_test(utf8),
        cmocka_unit_test(characters_that_show_as_nothing),
        cmocka_unit_test(texts_for_people_and_for_programs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
