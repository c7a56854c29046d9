/* Files of expected rates: what is read, and what is refused with its reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/field.h"
#include "io/expectation_json.h"

#define HEAD "{\"schema\":\"gpulot.expectation\",\"schema_version\":1,\"rates\":["
#define RATE                                                                                                 \
    "\"model\":\"A\",\"dtype\":\"float32\",\"math\":\"ieee\",\"source\":\"me\",\"flops_per_second\":1e12"

static lot_status parse(const char *text, lot_expectations *list, lot_error *error)
{
    return lot_expectations_parse("x", text, strlen(text), list, error);
}

static void read_whole(void **state)
{
    lot_expectations list;
    lot_error error;

    (void)state;
    assert_int_equal(
        LOT_OK,
        parse(HEAD "{" RATE ",\"tolerance\":0.05,\"width\":64},{" RATE ",\"tolerance\":0}]}", &list, &error));
    assert_int_equal(2, list.count);
    assert_string_equal("A", list.items[0].model);
    assert_true(list.items[0].flops_per_second == 1e12 && list.items[0].tolerance == 0.05);
    assert_int_equal(64, list.items[0].width);
    assert_int_equal(LOT_NULL_I64, list.items[0].batch);
    assert_int_equal(LOT_NULL_I64, list.items[1].width);
    lot_expectations_free(&list);
}

static void refused(void **state)
{
    static const struct {
        const char *text;
        lot_status status;
        const char *word; /* that the message must hold */
    } cases[] = {
        {"", LOT_INPUT, "JSON"},
        {"[]", LOT_SCHEMA, "schema"},
        {"{\"schema\":\"gpulot.expectation\",\"schema_version\":2,\"rates\":[{}]}", LOT_SCHEMA, "version"},
        {HEAD "]}", LOT_INPUT, "rates"},
        {HEAD "7]}", LOT_INPUT, "rate 1 is not an object"},
        {"{\"schema\":\"gpulot.expectation\",\"schema_version\":1,\"rates\":{\"a\":{}}}", LOT_INPUT, "array"},
        {HEAD "{\"model\":\"A\",\"dtype\":\"flaot32\"}]}", LOT_INPUT, "float32, float16 or bfloat16"},
        {HEAD "{\"model\":\"A\",\"dtype\":\"float32\",\"math\":\"tf-32\"}]}", LOT_INPUT, "ieee or tf32"},
        {HEAD "{" RATE ",\"tolerance\":0,\"batch\":0}]}", LOT_INPUT, "from 1"},
        {HEAD "{" RATE "}]}", LOT_INPUT, "tolerance"},
        {HEAD "{" RATE ",\"tolerance\":1}]}", LOT_INPUT, "tolerance"},
        {HEAD "{" RATE ",\"tolerance\":0,\"widht\":64}]}", LOT_INPUT, "widht"},
        {HEAD "{" RATE ",\"tolerance\":0,\"width\":-1}]}", LOT_INPUT, "width"},
        {HEAD "{\"model\":\"A\",\"dtype\":\"float32\",\"math\":\"ieee\",\"tolerance\":0,"
              "\"flops_per_second\":1}]}",
         LOT_INPUT, "source"},
        {HEAD "{\"model\":\"A\",\"dtype\":\"float32\",\"math\":\"ieee\",\"tolerance\":0,\"source\":\"me\","
              "\"flops_per_second\":0}]}",
         LOT_INPUT, "flops_per_second"},
        {HEAD "{" RATE ",\"tolerance\":0},{" RATE "}]}", LOT_INPUT, "rate 2"},
    };
    lot_expectations list;
    lot_error error;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (parse(cases[i].text, &list, &error) != cases[i].status ||
            strstr(error.text, cases[i].word) == NULL)
            fail_msg("case %zu: %s", i, error.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_whole),
        cmocka_unit_test(refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
