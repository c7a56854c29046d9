/* The grid that collects the passes of many runs: what is added, what is not, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/file_bytes.h"
#include "io/raw_results.h"

#define HEADER "run_id,label,rank,row,seconds\n"

typedef struct place {
    char folder[32];
    char path[64];
} place;

static place make_place(const char *content)
{
    place p = {"/tmp/raw_results_XXXXXX", ""};
    FILE *file;

    assert_non_null(mkdtemp(p.folder));
    (void)snprintf(p.path, sizeof p.path, "%s/grid.csv", p.folder);
    if (content == NULL)
        return p;
    file = fopen(p.path, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(0, fclose(file));
    return p;
}

static void remove_place(const place *p)
{
    (void)unlink(p->path);
    assert_int_equal(0, rmdir(p->folder)); /* nothing else was left there */
}

static void expect_content(const place *p, const char *content)
{
    char *bytes = NULL;
    size_t size = 0;
    lot_error error = {0};

    assert_int_equal(LOT_OK, lot_file_read(p->path, 1 << 20, &bytes, &size, &error));
    assert_string_equal(content, bytes);
    free(bytes);
}

static void append(const place *p, const char *text, int64_t added, int64_t present)
{
    lot_raw_results_summary summary;
    lot_error error = {0};

    assert_int_equal(LOT_OK, lot_raw_results_append(p->path, text, strlen(text), &summary, &error));
    assert_int_equal(added, summary.added);
    assert_int_equal(present, summary.present);
}

static void rows_are_added_once(void **state)
{
    const place p = make_place(NULL);

    (void)state;
    append(&p, HEADER "r1,x,0,0,0.5\nr1,x,0,1,0.25\n", 2, 0);
    append(&p, HEADER "r1,x,0,1,0.25\nr1,x,1,0,1\nr1,x,10,0,1\n", 2, 1);
    append(&p, HEADER "r1,x,0,0,0.5\nr1,x,0,1,0.25\nr1,x,1,0,1\nr1,x,10,0,1\n", 0, 4);
    expect_content(&p, HEADER "r1,x,0,0,0.5\nr1,x,0,1,0.25\nr1,x,1,0,1\nr1,x,10,0,1\n");
    remove_place(&p);
}

static void the_empty_grid_is_filled(void **state)
{
    const place p = make_place(HEADER);

    (void)state;
    append(&p, HEADER "r1,x,0,0,\n", 1, 0);
    expect_content(&p, HEADER "r1,x,0,0,\n");
    remove_place(&p);
}

/* What stands there stays byte for byte: CRLF, a byte order mark, a last line without an end. */
static void what_stands_there_stays(void **state)
{
    const place p =
        make_place("\xEF\xBB\xBFrun_id,label,rank,row,seconds\r\nr0,\"a,\"\"b\"\"\",0,0,1\r\nr0,c,0,1,1");

    (void)state;
    append(&p, HEADER "r0,\"a,\"\"b\"\"\",0,0,1\nr1,\"d, \"\"e\"\"\",0,0,1\n", 1, 1);
    expect_content(&p, "\xEF\xBB\xBFrun_id,label,rank,row,seconds\r\nr0,\"a,\"\"b\"\"\",0,0,1\r\nr0,c,0,1,1\n"
                       "r1,\"d, \"\"e\"\"\",0,0,1\n");
    remove_place(&p);
}

static void refused(const char *old, const char *text, const char *told)
{
    const place p = make_place(old);
    lot_raw_results_summary summary;
    lot_error error = {0};

    assert_int_equal(LOT_INPUT, lot_raw_results_append(p.path, text, strlen(text), &summary, &error));
    assert_non_null(strstr(error.text, told));
    expect_content(&p, old);
    remove_place(&p);
}

static void nothing_changes_where_it_is_refused(void **state)
{
    static const char row[] = HEADER "r1,x,0,0,0.5\n";

    (void)state;
    refused(HEADER "r1,x,0,0,0.75\n", row, "row 0 of rank 0 of run r1 stands there with other values");
    refused("run_id,label,rank,row\n", row, "its header is not");
    refused("run_id,rank,label,row,seconds\n", row, "its header is not");
    refused("label,seconds\n", row, "it has no column 'run_id'");
    refused(HEADER "r1,x,0\n", row, "grid.csv:2: 3 fields where the header has 5");
    refused(HEADER "r1,\"x,0,0,1\n", row, "grid.csv:2: a quote is opened and not closed");
    refused(HEADER "r1,\xFF,0,0,1\n", row, "grid.csv:2: not UTF-8");
    refused("\n\n", row, "it has no header");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_added_once),
        cmocka_unit_test(the_empty_grid_is_filled),
        cmocka_unit_test(what_stands_there_stays),
        cmocka_unit_test(nothing_changes_where_it_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
