/* A record as JSON: what is written reads back bit-equal, and nothing else is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>

#include "io/record_json.h"
#include "support/sample.h"

static void write_json(const lot_record *record, char **json)
{
    lot_error error = {0};
    size_t size = 0;

    *json = NULL;
    assert_int_equal(lot_record_json_write(record, json, &size, &error), LOT_OK);
    assert_int_equal(strlen(*json), size);
}

/* A copy of the text with the first `from` replaced by `to`, to be freed. */
static char *replaced(const char *json, const char *from, const char *to)
{
    const char *at = strstr(json, from);
    char *copy;

    assert_non_null(at);
    copy = calloc(1, strlen(json) + strlen(to) + 1);
    assert_non_null(copy);
    (void)sprintf(copy, "%.*s%s%s", (int)(at - json), json, to, at + strlen(from));
    return copy;
}

static void read_json(const char *json, lot_record *record)
{
    lot_error error = {0};

    assert_int_equal(lot_record_json_read(json, strlen(json), record, &error), LOT_OK);
}

/* The text of one number as the printer gives it. */
static void assert_number(double value, const char *expected)
{
    lot_json_text text = {0};

    lot_json_number(&text, value);
    assert_string_equal(text.data, expected);
    lot_json_free(&text);
}

static void test_numbers(void **state)
{
    (void)state;
    assert_number(0.1, "0.1");
    assert_number(0.1 + 0.2, "0.30000000000000004");
    assert_number(1.0 / 3.0, "0.3333333333333333");
    assert_number(100.0, "100");
    assert_number(DBL_MAX, "1.7976931348623157e+308");
    assert_number(NAN, "null");
    assert_number(INFINITY, "\"Infinity\"");
    assert_number(-INFINITY, "\"-Infinity\"");
    assert_number(-0.0, "-0");
}

static void test_strings(void **state)
{
    static const struct {
        const char *value, *expected;
    } rows[] = {
        {"plain", "\"plain\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"tab\tend\n", "\"tab\\u0009end\\u000a\""},
        {"\x7f", "\"\\u007f\""},
        {"\xC2\x80\xC2\x9F\xC2\xA0", "\"\\u0080\\u009f\xC2\xA0\""},
        {"caf\xC3\xA9", "\"caf\xC3\xA9\""},
        {"\xF0\x9F\x98\x80", "\"\xF0\x9F\x98\x80\""},
        {"bad\xFF!", "\"bad\xEF\xBF\xBD!\""},
        {"cut\xC3", "\"cut\xEF\xBF\xBD\""},
        {"\xC0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},                 /* overlong NUL */
        {"\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""}, /* surrogate */
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lot_json_text text = {0};

        lot_json_string(&text, rows[i].value);
        assert_string_equal(text.data, rows[i].expected);
        lot_json_free(&text);
    }
}

static void test_large_integers_are_strings(void **state)
{
    static const struct {
        int64_t value;
        const char *expected;
    } rows[] = {{9007199254740992, "9007199254740992"},
                {9007199254740993, "\"9007199254740993\""},
                {INT64_MAX, "\"9223372036854775807\""},
                {-9007199254740993, "\"-9007199254740993\""}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lot_json_text text = {0};

        lot_json_integer(&text, rows[i].value);
        assert_string_equal(text.data, rows[i].expected);
        lot_json_free(&text);
    }
}

static void fill_lists(lot_record *record)
{
    lot_setting *setting = lot_record_add_setting(record);
    lot_variable *variable;
    lot_absent *absent;
    lot_step *step;
    const lot_error error = {LOT_DEVICE_MEMORY, -7, "cudaMalloc", "out of \"memory\""};

    sample_text(setting->name, sizeof setting->name, "batch");
    setting->kind = LOT_KIND_I64;
    setting->integer = 2;
    setting = lot_record_add_setting(record);
    sample_text(setting->name, sizeof setting->name, "tolerance");
    setting->kind = LOT_KIND_F64;
    setting->number = 0.1;
    setting = lot_record_add_setting(record);
    sample_text(setting->name, sizeof setting->name, "dtype");
    setting->kind = LOT_KIND_STR;
    sample_text(setting->text, sizeof setting->text, "float32");
    setting = lot_record_add_setting(record);
    sample_text(setting->name, sizeof setting->name, "quiet");
    setting->kind = LOT_KIND_BOOL;
    setting->integer = 1;
    variable = lot_record_add_variable(record);
    sample_text(variable->name, sizeof variable->name, "OMP_NUM_THREADS");
    sample_text(variable->value, sizeof variable->value, "4");
    step = lot_record_add_step(record);
    sample_text(step->step, sizeof step->step, "device_open");
    step->seconds = 0.1;
    absent = lot_record_add_absent(record);
    sample_text(absent->field, sizeof absent->field, "telemetry");
    sample_text(absent->reason, sizeof absent->reason, "no NVML");
    lot_record_fail(record, "warm_forward", &error);
    record->phases[4].telemetry.power_watts = 300.1;
    lot_record_add_sample(record)->seconds = 1.5;
    record->samples[0].telemetry.pcie_width = 16;
}

static void test_round_trip(void **state)
{
    lot_record record, back;
    char *json, *again;

    (void)state;
    sample_record(&record, 3, 8, 5);
    record.head.synthetic_model.seed = INT64_MAX;
    record.head.verification.reference_max_relative_error = INFINITY;
    record.phases[5].host_seconds = 0.1 + 0.2;
    fill_lists(&record);
    write_json(&record, &json);
    read_json(json, &back);
    assert_memory_equal(&back.head, &record.head, sizeof record.head);
    assert_int_equal(back.phase_count, record.phase_count);
    for (size_t i = 0; i < record.phase_count; i++)
        assert_memory_equal(&back.phases[i], &record.phases[i], sizeof record.phases[i]);
    assert_int_equal(back.configuration_count, 4);
    assert_int_equal(back.configuration[0].kind, LOT_KIND_I64);
    assert_true(back.configuration[1].number == 0.1);
    assert_string_equal(back.configuration[2].text, "float32");
    assert_int_equal(back.configuration[3].kind, LOT_KIND_BOOL);
    assert_string_equal(back.variables[0].value, "4");
    assert_true(back.setup[0].seconds == 0.1);
    assert_int_equal(back.errors[0].error.status, LOT_DEVICE_MEMORY);
    assert_int_equal(back.errors[0].error.code, -7);
    assert_string_equal(back.errors[0].error.text, "out of \"memory\"");
    assert_string_equal(back.absent[0].reason, "no NVML");
    assert_int_equal(back.samples[0].telemetry.pcie_width, 16);
    write_json(&back, &again);
    assert_string_equal(again, json);
    free(again);
    free(json);
    lot_record_free(&back);
    lot_record_free(&record);
}

/* `from` replaced by `to` in the JSON of a good record. */
static lot_status read_changed(const char *from, const char *to, lot_error *error)
{
    lot_record record, back;
    char *json, *changed;
    lot_status status;

    sample_record(&record, 1, 2, 2);
    write_json(&record, &json);
    changed = replaced(json, from, to);
    status = lot_record_json_read(changed, strlen(changed), &back, error);
    if (status == LOT_OK)
        lot_record_free(&back);
    free(changed);
    free(json);
    lot_record_free(&record);
    return status;
}

/* A row that cannot be read leaves the record as it was. */
static void test_a_row_by_itself(void **state)
{
    static const char *const bad[] = {"", "{", "{\"row\":\"x\"}", "{\"row\":1}}", "[]", "{\"telemetry\":3}"};
    static const char good[] = "{\"row\":6,\"phase\":\"soak\"}";
    lot_record record;
    lot_error error = {0};

    (void)state;
    sample_record(&record, 1, 2, 2);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(lot_record_json_read_phase(bad[i], strlen(bad[i]), &record, &error), LOT_DAMAGED);
        assert_int_equal(record.phase_count, 6);
    }
    assert_int_equal(lot_record_json_read_phase(good, strlen(good), &record, &error), LOT_OK);
    assert_int_equal(record.phase_count, 7);
    assert_int_equal(record.phases[6].row, 6);
    assert_string_equal(record.phases[6].phase, "soak");
    lot_record_free(&record);
}

/* An element is 4 hexadecimal digits of a half type or 8 of a float, all of a trace alike. */
static void test_bits_of_a_trace(void **state)
{
    static const struct {
        const char *elements, *bits;
        lot_status expected;
    } rows[] = {
        {"2", "0123abcd", LOT_OK},   {"2", "0123abcd89ef4567", LOT_OK},  {"0", "", LOT_OK},
        {"1", "0123", LOT_OK},       {"1", "0123456789ab", LOT_DAMAGED}, {"1", "012345", LOT_DAMAGED},
        {"1", "01234", LOT_DAMAGED}, {"2", "0123ABCD", LOT_DAMAGED},     {"3", "0123abcd", LOT_DAMAGED},
        {"-1", "", LOT_DAMAGED}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lot_error error = {0};
        char list[128];
        lot_status status;

        (void)snprintf(list, sizeof list,
                       "\"traces\":[{\"layer\":1,\"row\":0,\"elements\":%s,\"bits\":\"%s\"}],\"setup\":[",
                       rows[i].elements, rows[i].bits);
        status = read_changed("\"setup\":[", list, &error);
        if (status != rows[i].expected)
            fail_msg("%s of '%s': status %d, text '%s'", rows[i].elements, rows[i].bits, (int)status,
                     error.text);
    }
}

static void test_changed(void **state)
{
    static const struct {
        const char *from, *to;
        lot_status expected;
        const char *text;
    } rows[] = {
        {"\"schema_version\":1", "\"schema_version\":2", LOT_SCHEMA, "newer"},
        {"\"schema_version\":1", "\"schema_version\":\"x\"", LOT_DAMAGED, "schema_version"},
        {"gpulot.record", "other.record", LOT_SCHEMA, "other.record"},
        {"\"rank\":1", "\"rank\":1.5", LOT_DAMAGED, "identity.rank"},
        {"\"rank\":1", "\"rank\":\"1x\"", LOT_DAMAGED, "identity.rank"},
        {"\"rank\":1", "\"rank\":1e300", LOT_DAMAGED, "identity.rank"},
        {"\"rank\":1", "\"rank\":2", LOT_DAMAGED, "rank does not lie within size"},
        {"\"rank\":1", "\"rank\":[1]", LOT_DAMAGED, "identity.rank"},
        {"\"simulated\":false", "\"simulated\":0", LOT_DAMAGED, "device.simulated"},
        {"\"host_seconds\":0.5", "\"host_seconds\":-0.5", LOT_DAMAGED, "negative time"},
        {"\"host_seconds\":0.5", "\"host_seconds\":\"fast\"", LOT_DAMAGED, "phases.host_seconds"},
        {"\"phase\":\"inputs\"", "\"phase\":\"outputs\"", LOT_DAMAGED, "known phase"},
        {"\"phase\":\"inputs\"", "\"phase\":null", LOT_DAMAGED, "known phase"},
        {"\"setup\":[", "\"setup\":[3", LOT_DAMAGED, "setup"},
        {"\"phases\":[", "\"phases\":{},\"x\":[", LOT_DAMAGED, "phases"},
        {"\"identity\":{", "\"identity\":3,\"x\":{", LOT_DAMAGED, "identity"},
        {"\"identity\":{", "\"identity\":{\"added_later\":[1,{\"a\":2}],", LOT_OK, ""},
        {"\"size\":2,", "", LOT_DAMAGED, "rank does not lie within size"},
        {"\"local_rank\":1,", "", LOT_OK, ""},
        {"\"rank\":1,", "\"rank\":1,\"rank\":1,", LOT_DAMAGED, "identity.rank is there twice"},
        {"\"setup\":[", "\"setup\":[],\"setup\":[", LOT_DAMAGED, "record.setup is there twice"},
        {"\"identity\":{", "\"identity\":null,\"identity\":{", LOT_DAMAGED, "record.identity is there twice"},
        {"{\"schema\":\"gpulot.record\",", "{\"later\":{\"schema\":3},\"schema\":\"gpulot.record\",", LOT_OK,
         ""},
        {"\"schema\":\"gpulot.record\",", "", LOT_SCHEMA, "schema is ''"},
        {"\"schema_version\":1,", "", LOT_DAMAGED, "schema_version"},
        {"\"schema_version\":1,\"identity\":{",
         "\"identity\":3,\"x\":{\"schema_version\":2},\"schema_version\":2,\"y\":{", LOT_SCHEMA, "newer"},
        {"\"errors\":[", "\"errors\":[{\"code\":\"x\"}", LOT_DAMAGED, "errors.code"},
        {"\"errors\":[", "\"errors\":[{\"status\":7}", LOT_DAMAGED, "errors.status"},
        {"\"telemetry_series\":[", "\"telemetry_series\":[{}", LOT_DAMAGED, "telemetry_series.seconds"},
        {"\"setup\":[", "\"setup\":[{\"step\":\"a\",}", LOT_DAMAGED, "not one JSON object (at byte"},
        {"\"host_seconds\":0.5", "\"host_seconds\":0.5.0", LOT_DAMAGED, "not one JSON object (at byte"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lot_error error = {0};
        const lot_status status = read_changed(rows[i].from, rows[i].to, &error);

        if (status != rows[i].expected || strstr(error.text, rows[i].text) == NULL)
            fail_msg("%s -> %s: status %d, text '%s'", rows[i].from, rows[i].to, (int)status, error.text);
    }
}

static void test_every_cut_is_refused(void **state)
{
    lot_record record, back;
    lot_error error;
    char *json;

    (void)state;
    sample_record(&record, 0, 1, 1);
    write_json(&record, &json);
    for (size_t size = 0; size < strlen(json); size++)
        assert_int_equal(lot_record_json_read(json, size, &back, &error), LOT_DAMAGED);
    free(json);
    lot_record_free(&record);
}

static void test_long_texts_are_cut(void **state)
{
    lot_record record, back;
    char *json, *longer;
    char host[400];

    (void)state;
    sample_record(&record, 0, 1, 1);
    write_json(&record, &json);
    memset(host, 'h', sizeof host - 1);
    host[sizeof host - 1] = '\0';
    longer = replaced(json, "node00.example", host);
    read_json(longer, &back);
    assert_int_equal(strlen(back.head.identity.host), sizeof back.head.identity.host - 1);
    lot_record_free(&back);
    free(longer);
    free(json);
    lot_record_free(&record);
}

static void test_a_bad_record_is_not_written(void **state)
{
    lot_record record;
    lot_error error = {0};
    char *json = NULL;
    size_t size = 0;

    (void)state;
    sample_record(&record, 0, 1, 1);
    record.phases[1].row = 7;
    assert_int_equal(lot_record_json_write(&record, &json, &size, &error), LOT_DAMAGED);
    assert_null(json);
    lot_record_free(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_large_integers_are_strings),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_a_row_by_itself),
        cmocka_unit_test(test_bits_of_a_trace),
        cmocka_unit_test(test_changed),
        cmocka_unit_test(test_every_cut_is_refused),
        cmocka_unit_test(test_long_texts_are_cut),
        cmocka_unit_test(test_a_bad_record_is_not_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
