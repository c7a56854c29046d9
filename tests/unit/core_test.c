/* Status, error, field, units and record: the small pieces that everything else stands on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/count.h"
#include "core/error.h"
#include "core/field.h"
#include "core/grown.h"
#include "core/record.h"
#include "core/run.h"
#include "core/system_file.h"
#include "core/units.h"
#include "core/utf8.h"

static void test_status_names_lead_back(void **state)
{
    (void)state;
    for (int i = 0; i < LOT_STATUS_COUNT; i++) {
        assert_int_equal(lot_status_from_name(lot_status_name((lot_status)i)), i);
        assert_true(lot_status_exit((lot_status)i) >= 0 && lot_status_exit((lot_status)i) <= 3);
    }
    assert_int_equal(lot_status_exit(LOT_OK), 0);
    assert_int_equal(lot_status_exit(LOT_LOST), 1);
    assert_int_equal(lot_status_exit(LOT_NO_DEVICE), 2);
    assert_int_equal(lot_status_exit(LOT_IO), 3);
    assert_int_equal(lot_status_from_name("no such name"), LOT_INTERNAL);
    assert_string_equal(lot_status_name((lot_status)9999), "internal");
}

static void test_errors_are_one_line(void **state)
{
    lot_error error;
    char longer[2000];

    (void)state;
    assert_int_equal(lot_error_errno(&error, LOT_IO, "open", ENOENT, "a\nb"), LOT_IO);
    assert_string_equal(error.text, "a?b: No such file or directory");
    assert_int_equal(error.code, ENOENT);
    /* C1, what is no UTF-8, and a character that a precision cuts */
    (void)lot_error_set(&error, LOT_USAGE, "open", 0, "\xC2\x9B \xFF '%.2s'", "x\xC3\xA9");
    assert_string_equal(error.text, "?? ? 'x?'");
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    (void)lot_error_set(&error, LOT_USAGE, longer, 0, "%s", longer);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    assert_int_equal(strlen(error.call), sizeof error.call - 1);
}

/* Of a path that is too long the reason is what must not be lost. */
static void test_errors_lose_their_middle(void **state)
{
    const char *reason = ": File name too long";
    lot_error error;
    char path[20000];

    (void)state;
    for (size_t length = 400; length < sizeof path; length = length < 600 ? length + 1 : 2 * length) {
        for (size_t i = 0; i < length; i++)
            path[i] = "\xC3\xA9"[i % 2];
        path[length - length % 2] = '\0';
        (void)lot_error_errno(&error, LOT_IO, "open", ENAMETOOLONG, "a path: %s", path);
        assert_string_equal(error.text + strlen(error.text) - strlen(reason), reason);
        assert_memory_equal(error.text, "a path: \xC3\xA9", 10);
        assert_true(strlen(error.text) < sizeof error.text);
        assert_true(lot_utf8_valid(error.text, strlen(error.text)) || length > 8000);
    }
    (void)lot_error_set(&error, LOT_IO, "open", 0, "%.1000s cannot be opened", path);
    assert_string_equal(error.text + strlen(error.text) - 17, " cannot be opened");
}

static void test_an_error_may_be_made_from_itself(void **state)
{
    lot_error error;

    (void)state;
    (void)lot_error_set(&error, LOT_IO, "open", 2, "inner");
    (void)lot_error_set(&error, LOT_DAMAGED, error.call, error.code, "outer: %s", error.text);
    assert_string_equal(error.call, "open");
    assert_string_equal(error.text, "outer: inner");
}

static void test_texts_are_cut_between_characters(void **state)
{
    char cut[6];

    (void)state;
    assert_true(lot_field_copy(cut, sizeof cut, "12345"));
    assert_false(lot_field_copy(cut, sizeof cut, "1234\xC3\xA9")); /* e acute takes bytes 5 and 6 */
    assert_string_equal(cut, "1234");
    assert_false(lot_field_copy(cut, sizeof cut, "\xE2\x82\xAC\xE2\x82\xAC")); /* two euro signs of 3 bytes */
    assert_string_equal(cut, "\xE2\x82\xAC");
}

static void test_a_new_record_knows_nothing(void **state)
{
    lot_record record;
    size_t count;
    const lot_fields *sections = lot_record_sections(&count);

    (void)state;
    lot_record_init(&record);
    for (size_t i = 0; i < count; i++)
        for (size_t f = 0; f < sections[i].count; f++)
            assert_true(lot_field_is_null(&sections[i].fields[f], (char *)&record.head + sections[i].offset));
    assert_true(isnan(record.head.device.power_limit_watts));
    assert_int_equal(record.head.device.ordinal, -1);
}

static void test_lists_grow(void **state)
{
    lot_record record;

    (void)state;
    lot_record_init(&record);
    for (int i = 0; i < 1000; i++)
        lot_record_add_phase(&record)->row = i;
    assert_int_equal(record.phase_count, 1000);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(record.phases[i].row, i);
        assert_true(isnan(record.phases[i].telemetry.power_watts));
    }
    lot_record_free(&record);
    assert_int_equal(record.phase_count, 0);
}

static void good_record(lot_record *record)
{
    lot_phase *phase;

    lot_record_init(record);
    record->head.identity.rank = 1;
    record->head.identity.size = 2;
    strcpy(record->head.outcome.status, "ok");
    phase = lot_record_add_phase(record);
    phase->rank = 1;
    phase->row = 0;
    strcpy(phase->phase, "warm_forward");
    phase->host_seconds = 0.25;
    phase->allocated_start_bytes = 100;
    phase->reserved_start_bytes = 200;
    phase->allocated_end_bytes = 150;
    phase->reserved_end_bytes = 200;
    phase->allocated_peak_bytes = 160;
    phase->reserved_peak_bytes = 200;
}

/* A power of two is the count at which there is no room left; what cannot be addressed is never asked for. */
static void test_lists_have_room_for_one_more(void **state)
{
    size_t *items = NULL;

    (void)state;
    for (size_t count = 0; count < 100; count++) {
        size_t *grown = lot_grown(items, count, sizeof *grown);

        assert_non_null(grown);
        assert_true(count == 0 || (count & (count - 1)) == 0 || grown == items);
        items = grown;
        items[count] = count;
    }
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(items[i], i);
    assert_null(lot_grown(items, SIZE_MAX / 2 + 1, 1));
    assert_null(lot_grown(items, SIZE_MAX / 8 + 1, sizeof *items));
    free(items);
}

/* One change at a time makes a good record bad, and the text says which. */
static void test_check_finds_each_fault(void **state)
{
    lot_record record;
    lot_phase *row;
    lot_error error;

    (void)state;
    good_record(&record);
    assert_int_equal(lot_record_check(&record, &error), LOT_OK);
#define BAD(change, says)                                                                                    \
    do {                                                                                                     \
        lot_record_free(&record);                                                                            \
        good_record(&record);                                                                                \
        row = &record.phases[0];                                                                             \
        change;                                                                                              \
        assert_int_equal(lot_record_check(&record, &error), LOT_DAMAGED);                                    \
        assert_non_null(strstr(error.text, says));                                                           \
    } while (0)
    BAD(record.head.identity.rank = 2, "rank does not lie within size");
    BAD(record.head.identity.rank = -1, "rank does not lie within size");
    BAD(record.head.outcome.status[0] = '\0', "no outcome");
    BAD(memset(record.head.identity.host, 'x', sizeof record.head.identity.host), "not terminated");
    BAD(row->rank = 0, "not in order");
    BAD(row->row = 1, "not in order");
    BAD(strcpy(row->phase, "lunch"), "no known phase");
    BAD(memset(row->phase, 'w', sizeof row->phase), "no known phase");
    BAD(row->host_seconds = -1e-9, "negative time");
    BAD(row->device_seconds = -1e-9, "negative time");
    BAD(row->host_seconds = 1e308, "host_seconds is beyond");
    BAD(row->host_seconds = 1e-300, "shorter than any");
    BAD(row->device_seconds = 1e-300, "shorter than any");
    BAD(row->telemetry.power_watts = INFINITY, "power_watts is beyond");
    BAD(record.head.device.power_limit_watts = -1e19, "power_limit_watts is beyond");
    BAD(record.head.outcome.elapsed_seconds = 1.1e18, "elapsed_seconds is beyond");
    BAD(row->passes = -2, "passes is negative");
    BAD(row->telemetry.ecc_corrected = INT64_MIN, "ecc_corrected is negative");
    BAD(record.head.verification.passes = -5, "passes is negative");
    BAD((row->allocated_end_bytes = 201, row->allocated_peak_bytes = 300), "more allocated than reserved");
    BAD((row->allocated_start_bytes = 201, row->allocated_peak_bytes = 300), "more allocated than reserved");
    BAD(row->allocated_peak_bytes = 149, "a peak below");
    BAD((row->allocated_start_bytes = 170, row->allocated_peak_bytes = 165), "a peak below");
    BAD((row->reserved_start_bytes = 300, row->reserved_peak_bytes = 299), "a peak below");
    BAD((row->reserved_end_bytes = 300, row->reserved_peak_bytes = 299), "a peak below");
#undef BAD
    lot_record_free(&record);
    /* what lies within, and a ratio that a wrong output made infinite */
    good_record(&record);
    record.phases[0].host_seconds = 1e-18;
    record.phases[0].device_seconds = 1e18;
    record.phases[0].start_seconds = 0;
    record.head.verification.reference_max_bound_ratio = INFINITY;
    assert_int_equal(lot_record_check(&record, &error), LOT_OK);
    lot_record_free(&record);
}

/* The digest of a row with a wrong pass is that of any of its passes: it stands for nothing. */
static void test_a_digest_that_differs_is_not_the_first(void **state)
{
    lot_record record;

    (void)state;
    good_record(&record);
    for (int64_t i = 1; i < 3; i++) {
        lot_phase *row = lot_record_add_phase(&record);

        *row = record.phases[0];
        row->row = i;
    }
    for (int64_t i = 0; i < 3; i++) {
        lot_phase *row = &record.phases[i];

        row->passes = 4;
        row->finite = 1;
        row->digests_differing = i == 0 ? 1 : 0;
        strcpy(row->digest, i == 0 ? "00000000000000bb" : "00000000000000aa");
    }
    lot_record_count_digests(&record);
    assert_string_equal(record.head.verification.digest, "00000000000000aa");
    assert_int_equal(record.head.verification.passes, 8);
    assert_int_equal(record.head.verification.digests_differing, 0);
    lot_record_free(&record);
}

static void test_the_first_error_makes_the_outcome(void **state)
{
    lot_record record;
    lot_error error;

    (void)state;
    lot_record_init(&record);
    (void)lot_error_set(&error, LOT_DEVICE_MEMORY, "alloc", 2, "first");
    lot_record_fail(&record, "inputs", &error);
    (void)lot_error_set(&error, LOT_IO, "write", 5, "second");
    lot_record_fail(&record, "warmup", &error);
    assert_string_equal(record.head.outcome.status, "device-memory");
    assert_string_equal(record.head.outcome.failed_phase, "inputs");
    assert_string_equal(record.head.outcome.error_text, "first");
    assert_int_equal(record.error_count, 2);
    assert_string_equal(record.errors[1].phase, "warmup");
    lot_record_free(&record);
}

static void test_medians_are_of_the_last_schedule(void **state)
{
    static const struct {
        const char *schedule;
        double seconds;
    } rows[] = {{"solo", 1}, {"solo", 2}, {"solo", 3}, {"together", 10}, {"together", 30}, {"together", 20}};
    lot_record record;

    (void)state;
    lot_record_init(&record);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lot_phase *phase = lot_record_add_phase(&record);

        strcpy(phase->phase, "warm_forward");
        strcpy(phase->schedule, rows[i].schedule);
        phase->host_seconds = rows[i].seconds;
    }
    lot_record_count(&record);
    assert_int_equal(record.head.outcome.warm_rows, 6);
    assert_true(record.head.outcome.warm_median_seconds == 20);
    lot_record_free(&record);
}

static void test_a_run_is_indexed_by_rank(void **state)
{
    lot_record_head devices[3];
    lot_phase phases[4];
    lot_run run;
    lot_error error;

    (void)state;
    memset(devices, 0, sizeof devices);
    memset(phases, 0, sizeof phases);
    for (int i = 0; i < 3; i++)
        devices[i].identity.rank = i;
    phases[2].rank = phases[3].rank = 2; /* rank 1 has no row */
    lot_run_init(&run);
    run.devices = devices;
    run.device_count = 3;
    run.phases = phases;
    run.phase_count = 4;
    assert_int_equal(lot_run_index(&run, &error), LOT_OK);
    assert_int_equal(run.first_phase[1], 2);
    assert_int_equal(run.first_phase[2], 2);
    assert_int_equal(run.first_phase[3], 4);
    phases[3].rank = 1;
    assert_int_equal(lot_run_index(&run, &error), LOT_DAMAGED);
    run.devices = NULL;
    run.phases = NULL;
    lot_run_free(&run);
}

static void test_the_systems_small_files(void **state)
{
    char path[] = "/tmp/gpulot-system-XXXXXX", text[16];
    FILE *file = fdopen(mkstemp(path), "w");

    (void)state;
    assert_non_null(file);
    (void)fputs("first line\nPRETTY_NAME=\"A B\"\nMemTotal:   12 kB\nmodel name\t: X: Y\nempty:\nempty: 3\n",
                file);
    assert_int_equal(fclose(file), 0);
    assert_true(lot_system_line(path, text, sizeof text));
    assert_string_equal(text, "first line");
    assert_true(lot_system_line(path, text, 6));
    assert_string_equal(text, "first");
    assert_true(lot_system_value(path, "PRETTY_NAME=", text, sizeof text));
    assert_string_equal(text, "A B");
    assert_true(lot_system_value(path, "MemTotal:", text, sizeof text));
    assert_string_equal(text, "12 kB");
    assert_true(lot_system_value(path, "model name", text, sizeof text));
    assert_string_equal(text, "X: Y");
    assert_true(lot_system_value(path, "empty", text, sizeof text));
    assert_string_equal(text, "3");
    assert_false(lot_system_value(path, "MemFree:", text, sizeof text));
    assert_string_equal(text, "");
    assert_int_equal(remove(path), 0);
    assert_false(lot_system_line(path, text, sizeof text));
    assert_false(lot_system_value(path, "MemTotal:", text, sizeof text));
}

static void test_units(void **state)
{
    char text[32];

    (void)state;
    lot_unit_print_bytes(text, sizeof text, 1536);
    assert_string_equal(text, "1.500 KiB");
    lot_unit_print_bytes(text, sizeof text, 1023);
    assert_string_equal(text, "1023 B");
    lot_unit_print_bytes(text, sizeof text, 151397597184.0); /* 141 GiB */
    assert_string_equal(text, "141.0 GiB");
    lot_unit_print_seconds(text, sizeof text, 0.0123);
    assert_string_equal(text, "12.30 ms");
    lot_unit_print_seconds(text, sizeof text, 5e-10);
    assert_string_equal(text, "0.500 ns");
    lot_unit_print_seconds(text, sizeof text, NAN);
    assert_string_equal(text, "-");
    lot_unit_print_rate(text, sizeof text, 989.5e12);
    assert_string_equal(text, "989.5 TFLOP/s");
    assert_true(lot_unit_in(1e9, LOT_UNIT_GB) == 1);
    assert_string_equal(lot_unit_signed_percent(0.12345).text, "+12.35");
    assert_string_equal(lot_unit_signed_percent(-1e-9).text, "+0.00");
    assert_string_equal(lot_unit_signed_percent(-10).text, "-1000.00");
    assert_string_equal(lot_unit_signed_percent(-3.08e26).text,
                        "< -1000"); /* two noisy archives as a baseline */
    assert_string_equal(lot_unit_signed_percent(INFINITY).text, "> +1000");
    lot_unit_print_seconds(text, sizeof text, 1e300); /* an archive may say what it likes */
    assert_string_equal(text, "1.000e+300 s");
}

static void test_counts_have_their_plural(void **state)
{
    static const struct {
        int64_t number;
        const char *noun, *text;
    } cases[] = {
        {0, "rank", "0 ranks"},       {1, "rank", "1 rank"},  {2, "pass", "2 passes"},
        {1, "pass", "1 pass"},        {7, "day", "7 days"},   {2, "query", "2 queries"},
        {3, "US cent", "3 US cents"}, {-1, "row", "-1 rows"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(cases[i].text, lot_count(cases[i].number, cases[i].noun).text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_names_lead_back),
        cmocka_unit_test(test_errors_are_one_line),
        cmocka_unit_test(test_errors_lose_their_middle),
        cmocka_unit_test(test_an_error_may_be_made_from_itself),
        cmocka_unit_test(test_texts_are_cut_between_characters),
        cmocka_unit_test(test_a_new_record_knows_nothing),
        cmocka_unit_test(test_lists_grow),
        cmocka_unit_test(test_lists_have_room_for_one_more),
        cmocka_unit_test(test_check_finds_each_fault),
        cmocka_unit_test(test_a_digest_that_differs_is_not_the_first),
        cmocka_unit_test(test_the_first_error_makes_the_outcome),
        cmocka_unit_test(test_medians_are_of_the_last_schedule),
        cmocka_unit_test(test_a_run_is_indexed_by_rank),
        cmocka_unit_test(test_the_systems_small_files),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_counts_have_their_plural),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
