/* What leaves the program as text: anonymised records, the raw-results grid, tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "io/anonymise.h"
#include "io/report.h"
#include "io/rows_csv.h"
#include "support/sample.h"

/* ---- anonymise ---- */

static lot_aliases *two_hosts(void)
{
    lot_record_head heads[2];
    lot_aliases *aliases = NULL;
    lot_error error = {0};

    for (int i = 0; i < 2; i++) {
        lot_record record;

        sample_record(&record, i, 2, 1);
        heads[i] = record.head;
        lot_record_free(&record);
    }
    sample_text(heads[0].identity.host, sizeof heads[0].identity.host, "alpha.cluster.example");
    sample_text(heads[1].identity.host, sizeof heads[1].identity.host, "gpu");
    sample_text(heads[1].device.serial, sizeof heads[1].device.serial, "1654321000001");
    assert_int_equal(lot_aliases_collect(heads, 2, &aliases, &error), LOT_OK);
    return aliases;
}

/* First ten digits of SHA-256 as sha256sum gives them: printf %s alpha.cluster.example | sha256sum */
#define ALPHA "host-bc4cec4902"
#define GPU   "host-e3c5ba51db"

static void replace(const lot_aliases *aliases, const char *from, char to[256])
{
    lot_error error = {0};

    sample_text(to, 256, from);
    assert_int_equal(lot_anonymise_text(aliases, to, 256, &error), LOT_OK);
}

static void test_names_are_replaced(void **state)
{
    lot_aliases *aliases = two_hosts();
    char whole[256], brief[256], other[256];

    (void)state;
    replace(aliases, "alpha.cluster.example", whole);
    assert_string_equal(whole, ALPHA);
    replace(aliases, "alpha", brief);
    assert_string_equal(brief, whole);
    replace(aliases, "ALPHA.cluster.example", brief);
    assert_string_equal(brief, whole);
    replace(aliases, "rank 3 on alpha.cluster.example: gone; alpha, too.", other);
    assert_string_equal(other, "rank 3 on " ALPHA ": gone; " ALPHA ", too.");
    replace(aliases, "board 1654321000001", other);
    assert_non_null(strstr(other, "board serial-"));
    lot_aliases_free(aliases);
}

static void test_parts_of_words_stay(void **state)
{
    static const char *const texts[] = {
        "gpulot", "alphabet", "my-gpu",       "gpu-memory", "gpu_count",
        "0x1234", "no name",  "alpha1.other", "a:b:c.d",    "2026-09-24T12:34:56.789Z"};
    lot_aliases *aliases = two_hosts();
    char text[256];

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        replace(aliases, texts[i], text);
        assert_string_equal(text, texts[i]);
    }
    replace(aliases, "gpu.", text);
    assert_string_equal(text, GPU ".");
    lot_aliases_free(aliases);
}

static void test_forms_are_replaced(void **state)
{
    lot_aliases *aliases = two_hosts();
    char first[256], second[256];

    (void)state;
    replace(aliases, "cuda:GPU-12345678-aaaa-bbbb-cccc-1234567890ab,GPU-12345678-aaaa-bbbb-cccc-1234567890AB",
            first);
    assert_int_equal(strncmp(first, "cuda:GPU-", 9), 0);
    assert_int_equal(strlen(first), 5 + 14 + 1 + 14);
    assert_memory_equal(first + 5, first + 20, 14); /* the same device, whatever the case */
    replace(aliases, "0000:3b:00.0", first);
    replace(aliases, "00000000:3B:00.0", second);
    assert_string_equal(first, second);
    replace(aliases, "3B:00.0", second);
    assert_string_equal(first, second);
    replace(aliases, "0001:3B:00.0", second);
    assert_string_not_equal(first, second);
    replace(aliases, "MIG-12345678-aaaa-bbbb-cccc-1234567890ab", first);
    assert_int_equal(strncmp(first, "MIG-", 4), 0);
    assert_int_equal(strlen(first), 14);
    replace(aliases, "HOST-12345678-aaaa-bbbb-cccc-1234567890ab", first);
    assert_int_equal(strncmp(first, "HOST-", 5), 0);
    assert_int_equal(strlen(first), 15);
    lot_aliases_free(aliases);
}

static void test_a_record_keeps_its_other_words(void **state)
{
    lot_aliases *aliases = two_hosts();
    lot_record record;
    lot_error error = {0};
    lot_variable *variable;

    (void)state;
    sample_record(&record, 0, 2, 1);
    sample_text(record.head.identity.host, sizeof record.head.identity.host, "gpu");
    variable = lot_record_add_variable(&record);
    sample_text(variable->name, sizeof variable->name, "CUDA_VISIBLE_DEVICES");
    sample_text(variable->value, sizeof variable->value, "GPU-12345678-aaaa-bbbb-cccc-1234567890ab");
    assert_int_equal(lot_anonymise_record(aliases, &record, &error), LOT_OK);
    assert_null(strstr(record.variables[0].value, "12345678"));
    assert_string_equal(record.head.device.kind, "cuda");
    assert_string_equal(record.head.device.name, "Sample GPU");
    assert_string_equal(record.phases[2].digest, "00112233aabbccdd");
    assert_int_equal(lot_record_check(&record, &error), LOT_OK);
    lot_record_free(&record);
    lot_aliases_free(aliases);
}

/* ---- the grid ---- */

static void test_grid(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    lot_record record;

    (void)state;
    assert_non_null(out);
    sample_record(&record, 1, 2, 1);
    sample_text(record.head.device.name, sizeof record.head.device.name, "a \"quoted\", name");
    record.phases[4].telemetry.power_watts = 0.1;
    lot_rows_csv_header(out);
    lot_rows_csv_rank(out, &record.head, record.phases, record.phase_count);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(strncmp(text, "run_id,host,device_kind,device_name,", 36), 0);
    /* cold_forward, warmup, warm_forward: passes, and nothing else */
    assert_null(strstr(text, "model_load"));
    assert_null(strstr(text, "inputs"));
    assert_non_null(strstr(text, "\nsample-run-0001,node00.example,cuda,\"a \"\"quoted\"\", name\",GPU-"));
    assert_non_null(strstr(text, ",warm_forward,together,0,1,0.5,0.002,,4096,"));
    assert_non_null(strstr(text, ",true,,,,,0.1,,"));
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        size_t commas = 0;
        int quoted = 0;

        for (; *line != '\0'; line++) {
            quoted ^= *line == '"';
            commas += *line == ',' && !quoted;
        }
        assert_int_equal(commas, 17 + 21 + 17 - 1);
    }
    free(text);
    lot_record_free(&record);
}

/* ---- tables ---- */

static void test_table(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    lot_error error = {0};
    lot_report report;

    (void)state;
    assert_non_null(out);
    lot_report_begin(&report, 3, "lrl");
    lot_report_cell(&report, "name");
    lot_report_cell(&report, "n");
    lot_report_cell(&report, "note");
    lot_report_cell(&report, "caf\xC3\xA9");
    lot_report_cell(&report, "%d", 123);
    lot_report_cell(&report, "%s", "");
    lot_report_cell(&report, "\x1b[31mred\xFF\xC2\x9B");
    lot_report_cell(&report, "7");
    lot_report_cell(&report, "x");
    assert_int_equal(LOT_OK, lot_report_print(&report, out, &error));
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "name           n  note\n"
                              "caf\xC3\xA9         123\n"
                              "?[31mred???    7  x\n");
    free(text);
}

static void test_line(void **state)
{
    char *text = NULL, *second, big[3000];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    assert_non_null(out);
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 2] = '\a';
    big[sizeof big - 1] = '\0';
    lot_report_line(out, "%d: %s", 1, "caf\xC3\xA9 \x1b[31m\nred\xFF\xC2\x9B");
    lot_report_line(out, "%s%s", big, "end");
    assert_int_equal(fclose(out), 0);
    second = strchr(text, '\n');
    assert_non_null(second);
    *second++ = '\0';
    assert_string_equal(text, "1: caf\xC3\xA9 ?[31m?red???");
    big[sizeof big - 2] = '?';
    assert_memory_equal(second, big, sizeof big - 1);
    assert_string_equal(second + sizeof big - 1, "end\n");
    free(text);
}

/* Characters from the left to the end of the longest line. */
static size_t longest_line(const char *text)
{
    size_t longest = 0;

    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");

        longest = length > longest ? length : longest;
        text += length + (text[length] == '\n');
    }
    return longest;
}

static void test_last_column_is_broken(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    lot_error error = {0};
    lot_report report;
    char words[301];

    (void)state;
    assert_non_null(out);
    for (size_t i = 0; i < 300; i++)
        words[i] = i % 7 == 6 ? ' ' : 'w';
    words[300] = '\0';
    lot_report_begin(&report, 2, "ll");
    lot_report_cell(&report, "rank 1");
    lot_report_cell(&report, "%s", words);
    assert_int_equal(LOT_OK, lot_report_print(&report, out, &error));
    assert_int_equal(fclose(out), 0);
    assert_int_equal(longest_line(text),
                     8 + 7 * 14 + 6 - 7); /* as many whole words as fit beside the first column */
    assert_non_null(strstr(text, "wwwwww\n        wwwwww"));
    free(text);
    /* One word is never broken, and what stands before it is not lost. */
    out = open_memstream(&text, &size);
    assert_non_null(out);
    memset(words, 'x', 200);
    words[3] = ' ';
    words[200] = '\0';
    lot_report_begin(&report, 1, "l");
    lot_report_cell(&report, "%s", words);
    assert_int_equal(LOT_OK, lot_report_print(&report, out, &error));
    assert_int_equal(fclose(out), 0);
    assert_int_equal(strlen(text), 201);
    assert_true(text[3] == '\n' && text[200] == '\n');
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_replaced),
        cmocka_unit_test(test_parts_of_words_stay),
        cmocka_unit_test(test_forms_are_replaced),
        cmocka_unit_test(test_a_record_keeps_its_other_words),
        cmocka_unit_test(test_grid),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_last_column_is_broken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
