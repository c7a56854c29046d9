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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(days_of_the_calendar),
        cmocka_unit_test(times_in_utc),
        cmocka_unit_test(utf8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
