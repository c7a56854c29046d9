/* docs/archive-format.md says what the field tables say: every table of the document is the one that the code
 * makes. With an argument, prints them instead, to be put into the document between its markers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/run.h"
#include "core/status.h"
#include "io/columns.h"
#include "measure/launch.h"

static const char *kind_of(const lot_field *field, char *text, size_t size)
{
    switch (field->kind) {
    case LOT_KIND_I64:
        return "int64";
    case LOT_KIND_F64:
        return "float64";
    case LOT_KIND_BOOL:
        return "bool";
    case LOT_KIND_STR:
        (void)snprintf(text, size, "text, %zu", field->size);
        return text;
    }
    return "";
}

static void print_field(FILE *out, const char *name, const lot_field *field)
{
    char text[32];

    (void)fprintf(out, "| `%s` | %s | %s | %s |\n", name, kind_of(field, text, sizeof text), field->unit,
                  field->help);
}

static void print_start(FILE *out, const char *table)
{
    (void)fprintf(out, "<!-- %s -->\n| name | type | unit | meaning |\n|---|---|---|---|\n", table);
}

static void print_columns(FILE *out, void (*make)(lot_columns *columns))
{
    lot_columns columns;

    make(&columns);
    print_start(out, columns.table);
    for (size_t i = 0; i < columns.count; i++)
        print_field(out, columns.items[i].name, columns.items[i].field);
    (void)fprintf(out, "<!-- end -->\n");
}

static void print_header(FILE *out)
{
    const lot_fields *fields = lot_run_header_fields();

    print_start(out, "attributes");
    for (size_t i = 0; i < fields->count; i++)
        print_field(out, fields->fields[i].name, &fields->fields[i]);
    (void)fprintf(out, "<!-- end -->\n");
}

static void (*const tables[])(lot_columns *columns) = {
    lot_columns_devices,
    lot_columns_phases,
    lot_columns_phase_telemetry,
    lot_columns_samples,
};

#define TABLES (sizeof tables / sizeof tables[0])

static char *document(void)
{
    FILE *in = fopen(GPULOT_SOURCE_DIR "/docs/archive-format.md", "r");
    char *text = calloc(1, 1 << 18);

    assert_non_null(in);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 18) - 1, in) > 1000);
    (void)fclose(in);
    return text;
}

static void must_contain(const char *text, const char *table)
{
    const size_t name = strcspn(table, "\n");

    if (strstr(text, table) == NULL)
        fail_msg("docs/archive-format.md: the table %.*s is not the one that the code makes; "
                 "archive_doc_test print "
                 "prints it",
                 (int)name, table);
}

static void test_tables(void **state)
{
    char *text = document();

    (void)state;
    for (size_t i = 0; i <= TABLES; i++) {
        char *table = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&table, &size);

        assert_non_null(out);
        if (i < TABLES)
            print_columns(out, tables[i]);
        else
            print_header(out);
        assert_int_equal(fclose(out), 0);
        must_contain(text, table);
        free(table);
    }
    free(text);
}

/* Each meaning stands in the archive beside its column, where nobody has the row before it or the program's
 * help. */
static void test_meanings_stand_alone(void **state)
{
    (void)state;
    for (size_t t = 0; t < TABLES; t++) {
        lot_columns columns;

        tables[t](&columns);
        for (size_t i = 0; i < columns.count; i++) {
            const char *help = columns.items[i].field->help;

            if (strchr(help, ' ') == NULL || strncmp(help, "--", 2) == 0 || strncmp(help, "its ", 4) == 0 ||
                strstr(help, "likewise") != NULL || strncmp(help, "the same", 8) == 0)
                fail_msg("%s: '%s' says nothing by itself", columns.items[i].name, help);
        }
    }
}

static void test_sections_and_versions(void **state)
{
    char *text = document();
    size_t count;
    const lot_fields *sections = lot_record_sections(&count);
    char expected[80];

    (void)state;
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(expected, sizeof expected, "| `%s` | object |", sections[i].name);
        assert_non_null(strstr(text, expected));
    }
    (void)snprintf(expected, sizeof expected, "`%s`, version %d", LOT_ARCHIVE_SCHEMA,
                   LOT_ARCHIVE_SCHEMA_VERSION);
    assert_non_null(strstr(text, expected));
    (void)snprintf(expected, sizeof expected, "`%s`, version %d", LOT_RECORD_SCHEMA,
                   LOT_RECORD_SCHEMA_VERSION);
    assert_non_null(strstr(text, expected));
    free(text);
}

/* What a text may be: the names of outcomes with their meanings, and of the variables that are kept. */
static void test_values(void **state)
{
    char *text = document();
    char expected[160];
    const char *name;

    (void)state;
    for (int i = 0; i < LOT_STATUS_COUNT; i++) {
        if (lot_status_exit((lot_status)i) == 1 || i == LOT_OK)
            (void)snprintf(expected, sizeof expected, "| `%s` | %s |\n", lot_status_name((lot_status)i),
                           lot_status_meaning((lot_status)i));
        else
            (void)snprintf(expected, sizeof expected, "`%s`", lot_status_name((lot_status)i));
        if (strstr(text, expected) == NULL)
            fail_msg("docs/archive-format.md lacks %s", expected);
    }
    for (size_t i = 0; (name = lot_launch_variable(i)) != NULL; i++) {
        (void)snprintf(expected, sizeof expected, "`%s`", name);
        if (strstr(text, expected) == NULL)
            fail_msg("docs/archive-format.md lacks the variable %s", expected);
    }
    free(text);
}

/* Names are what readers hold on to: each once in a table, and short enough to be whole. */
static void test_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < TABLES; i++) {
        lot_columns columns;

        tables[i](&columns);
        for (size_t j = 0; j < columns.count; j++) {
            assert_ptr_equal(lot_columns_find(&columns, columns.items[j].name), &columns.items[j]);
            assert_true(strlen(columns.items[j].name) < sizeof columns.items[j].name - 1);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_meanings_stand_alone),
        cmocka_unit_test(test_sections_and_versions),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_names),
    };

    (void)argv;
    if (argc > 1) {
        print_header(stdout);
        for (size_t i = 0; i < TABLES; i++)
            print_columns(stdout, tables[i]);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
