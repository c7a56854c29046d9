/* Which word a mistyped one was meant to be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/nearest.h"

static const char *const names[] = {"estimate", "measure",  "show",     "recover",
                                    "price",    "--device", "--repeats"};

static const char *nearest_to(const char *typed)
{
    lot_nearest nearest = {.typed = typed, .length = strlen(typed)};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        lot_nearest_offer(&nearest, names[i]);
    return nearest.name;
}

static void test_typing_errors(void **state)
{
    static const struct {
        const char *typed, *meant;
    } words[] = {
        {"mesure", "measure"},     /* a letter is missing */
        {"measurre", "measure"},   /* one too many */
        {"meadure", "measure"},    /* another one */
        {"maesrue", "measure"},    /* two pairs exchanged: four letters changed in place */
        {"shwo", "show"},          /* of four letters, one edit */
        {"rec", "recover"},        /* the beginning */
        {"--devices", "--device"}, /* dashes are no letters */
        {"device", "--device"},    {"--repeatscount", "--repeats"}, /* begins with it */
        {"--rep", "--repeats"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        assert_non_null(nearest_to(words[i].typed));
        assert_string_equal(nearest_to(words[i].typed), words[i].meant);
    }
}

static void test_nothing_is_near(void **state)
{
    static const char *const words[] = {"",     "-",    "--",   "re",       "xy",      "sh",
                                        "help", "swim", "list", "--colour", "mxaxsxre"};
    char longest[512];

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (nearest_to(words[i]) != NULL)
            fail_msg("'%s' was taken for %s", words[i], nearest_to(words[i]));
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_null(nearest_to(longest));
}

static void test_hint(void **state)
{
    lot_nearest nearest = {.typed = "--devices=host", .length = strlen("--devices")};
    char text[LOT_NEAREST_HINT_MAX];

    (void)state;
    assert_string_equal(lot_nearest_hint(&nearest, text, sizeof text), "");
    lot_nearest_offer(&nearest, "--device");
    assert_string_equal(lot_nearest_hint(&nearest, text, sizeof text), " (did you mean --device?)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_typing_errors),
        cmocka_unit_test(test_nothing_is_near),
        cmocka_unit_test(test_hint),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
