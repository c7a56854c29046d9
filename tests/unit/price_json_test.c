/* The price that an archive keeps, there and back, and the quality protocol. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/price_json.h"
#include "io/protocol_json.h"

static char gpu[] = "B\"200\"";

/* The text kept for 3 ranks in 2 lots of 2 GPUs at `cents`. */
static char *kept(const char *file, int64_t cents)
{
    lot_tariff tariff = {.gpu = gpu, .gpus_per_lot = 2, .lot_price_cents = {1, cents, 3}, .line = {2, 3, 4}};
    lot_catalogue catalogue = {.sha256 = "abc", .tariffs = &tariff, .tariff_count = 1, .is_example = true};
    const lot_price price = {.gpus_per_lot = 2,
                             .lot_price_cents = cents,
                             .ranks = 3,
                             .lots = 2,
                             .gpus = 4,
                             .idle_gpus = 1,
                             .total_price_cents = 2 * cents,
                             .unit_denominator = 1};
    const lot_price_report report = {
        .file = file, .catalogue = &catalogue, .tariff = &tariff, .period = 1, .price = &price};
    lot_error error = {0};
    char *json = NULL;

    assert_int_equal(LOT_OK, lot_launch_price_write(&report, &json, &error));
    return json;
}

static void a_kept_price_reads_back(void **state)
{
    static const int64_t cents[] = {228144, (1LL << 52) + 1, (1LL << 53) + 1, INT64_MAX / 2};

    (void)state;
    for (size_t i = 0; i < sizeof cents / sizeof cents[0]; i++) {
        char *json = kept("/home/somebody/prices/t.csv", cents[i]);
        lot_launch_terms terms;
        lot_error error = {0};

        assert_null(strstr(json, "somebody")); /* no path, which could name a person */
        assert_null(strchr(json, '\n'));
        assert_int_equal(LOT_OK, lot_launch_price_read(json, &terms, &error));
        assert_string_equal(gpu, terms.gpu);
        assert_string_equal("t.csv", terms.file);
        assert_string_equal("abc", terms.sha256);
        assert_string_equal("", terms.title);
        assert_true(terms.is_example);
        assert_int_equal(7, terms.days);
        assert_int_equal(3, terms.line);
        assert_int_equal(2, terms.price.lots);
        assert_int_equal(3, terms.price.ranks);
        assert_int_equal(1, terms.price.idle_gpus);
        assert_int_equal(cents[i], terms.price.lot_price_cents);
        assert_int_equal(2 * cents[i], terms.price.total_price_cents);
        free(json);
    }
}

/* `text` with the first `old` replaced. */
static char *replaced(const char *text, const char *old, const char *new)
{
    const char *at = strstr(text, old);
    char *result = malloc(strlen(text) + strlen(new) + 1);

    assert_non_null(at);
    assert_non_null(result);
    (void)sprintf(result, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    return result;
}

static void a_damaged_price_is_refused(void **state)
{
    static const struct {
        const char *old, *new;
        lot_status status;
    } cases[] = {
        {"gpulot.launch-price", "other", LOT_SCHEMA},
        {"\"schema_version\":1", "\"schema_version\":2", LOT_SCHEMA},
        {"\"lots\":2", "\"lots\":3", LOT_DAMAGED},
        {"\"lots\":2", "\"lots\":2.5", LOT_DAMAGED},
        {"\"lots\":2", "\"lots\":-2", LOT_DAMAGED},
        {"\"lots\":2", "\"lots\":\"99999999999999999999\"", LOT_DAMAGED},
        {"\"lots\":2", "\"stol\":2", LOT_DAMAGED},
        {"\"days\":7", "\"days\":8", LOT_DAMAGED},
        {"\"ranks\":3", "\"ranks\":4", LOT_DAMAGED},
        {"\"total_price_cents\":456288", "\"total_price_cents\":456289", LOT_DAMAGED},
        {"\"sha256\":\"abc\"", "\"sha256\":null", LOT_DAMAGED},
        {"\"is_example\":true", "\"is_example\":1", LOT_DAMAGED},
        {"}}", "}", LOT_DAMAGED},
        {"{", "[{", LOT_DAMAGED},
    };
    char *json = kept("t.csv", 228144);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *changed = replaced(json, cases[i].old, cases[i].new);
        lot_launch_terms terms;
        lot_error error = {0};

        assert_int_equal(cases[i].status, lot_launch_price_read(changed, &terms, &error));
        free(changed);
    }
    free(json);
}

static const char protocol_text[] =
    "{\"schema\":\"gpulot.quality-protocol\",\"schema_version\":1,\"useful_work\":\"pages\","
    "\"acceptance_rule\":\"read by two\",\"threshold\":\"no error\",\"fixed_on\":\"2026-09-20\","
    "\"accepted_by\":\"the editor\",\"rejected_unit\":\"not counted\",\"not_counted\":\"warm-up\"}";

static lot_status parse(const char *text, lot_protocol *protocol, lot_error *error)
{
    memset(protocol, 0, sizeof *protocol);
    return lot_protocol_parse("q.json", text, strlen(text), protocol, error);
}

static void a_protocol_is_read(void **state)
{
    lot_protocol protocol;
    lot_error error = {0};

    (void)state;
    assert_int_equal(LOT_OK, parse(protocol_text, &protocol, &error));
    assert_string_equal("pages", protocol.useful_work);
    assert_string_equal("read by two", protocol.acceptance_rule);
    assert_string_equal("warm-up", protocol.not_counted);
    lot_protocol_free(&protocol);
    lot_protocol_free(&protocol);
}

static void a_protocol_must_be_filled_in(void **state)
{
    static const struct {
        const char *old, *new;
        lot_status status;
        const char *told;
    } cases[] = {
        {"\"pages\"", "\"\"", LOT_INPUT, "not filled in: useful_work"},
        {"\"pages\"", "\" \\n\"", LOT_INPUT, "not filled in: useful_work"},
        {"\"pages\"", "7", LOT_INPUT, "not filled in: useful_work"},
        {"threshold", "treshold", LOT_INPUT, "not filled in: threshold"},
        {"2026-09-20", "20 September", LOT_INPUT, "fixed_on"},
        {"2026-09-20", "2026-09-31", LOT_INPUT, "fixed_on"},
        {"gpulot.quality-protocol", "x", LOT_SCHEMA, "schema"},
        {"\"schema_version\":1", "\"schema_version\":2", LOT_SCHEMA, "schema_version"},
        {"}", "", LOT_INPUT, "not one JSON object"},
        {"}", "} x", LOT_INPUT, "not one JSON object"},
        {"{", "\xef\xbb\xbf{", LOT_INPUT, "not one JSON object"},
        {"pages", "pages\\u0000 and more", LOT_INPUT, "not one JSON object"},
        {"}", ",\"more\":[{\"a\":1,\"b\":2,\"a\":1}]}", LOT_INPUT, "a name in it stands twice"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *changed = replaced(protocol_text, cases[i].old, cases[i].new);
        lot_protocol protocol;
        lot_error error = {0};

        assert_int_equal(cases[i].status, parse(changed, &protocol, &error));
        assert_non_null(strstr(error.text, cases[i].told));
        free(changed);
    }
}

static void a_protocol_must_come_before_the_run(void **state)
{
    static const struct {
        const char *fixed, *run;
        bool before;
    } cases[] = {
        {"2026-09-20", "2026-09-21T00:00:00.000Z", true},
        {"2026-09-20", "2026-09-20T23:59:59.999Z", false}, /* the day ends after the run */
        {"2026-09-20", "2026-09-19T12:00:00.000Z", false},
        {"2026-09-20T10:00:00Z", "2026-09-20T10:00:01.000Z", true},
        {"2026-09-20T10:00:00Z", "2026-09-20T10:00:00.999Z", false},
        {"2026-09-20T10:00:00.500Z", "2026-09-20T10:00:01.000Z", true},
        {"2026-09-20", "", false}, /* a run that does not tell when it was */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = replaced(protocol_text, "2026-09-20", cases[i].fixed);
        lot_protocol protocol;
        lot_error error = {0};

        assert_int_equal(LOT_OK, parse(text, &protocol, &error));
        assert_int_equal(cases[i].before ? LOT_OK : LOT_INPUT,
                         lot_protocol_check_before(&protocol, cases[i].run, &error));
        lot_protocol_free(&protocol);
        free(text);
    }
}

static void notes_have_an_end(void **state)
{
    lot_notes notes = {.count = 0};

    (void)state;
    for (int i = 0; i < LOT_NOTES_MAX + 3; i++)
        lot_notes_add(&notes, "note %d", i);
    assert_int_equal(LOT_NOTES_MAX, notes.count);
    assert_string_equal("note 15", notes.text[15]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kept_price_reads_back),
        cmocka_unit_test(a_damaged_price_is_refused),
        cmocka_unit_test(a_protocol_is_read),
        cmocka_unit_test(a_protocol_must_be_filled_in),
        cmocka_unit_test(a_protocol_must_come_before_the_run),
        cmocka_unit_test(notes_have_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
