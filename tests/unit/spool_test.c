/* What an interrupted run left, and what becomes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/record_json.h"
#include "io/spool.h"
#include "io/spool_read.h"
#include "support/folder.h"
#include "support/sample.h"

static const lot_spool_folders *one(const char *path)
{
    static const char *item;
    static const lot_spool_folders folders = {&item, 1};

    item = path;
    return &folders;
}

static void write_rank(int64_t rank, int64_t size, bool end)
{
    lot_spool *spool = NULL;
    lot_record record;
    lot_error error = {0};
    char *json = NULL;
    size_t json_size = 0;

    sample_record(&record, rank, size, 3);
    assert_int_equal(lot_spool_open(folder, rank, &spool, &error), LOT_OK);
    assert_int_equal(lot_spool_head(spool, &record, &error), LOT_OK);
    for (size_t i = 0; i < record.phase_count; i++)
        assert_int_equal(lot_spool_phase(spool, &record.phases[i], &error), LOT_OK);
    assert_int_equal(lot_record_json_write(&record, &json, &json_size, &error), LOT_OK);
    if (end)
        assert_int_equal(lot_spool_end(spool, json, json_size, &error), LOT_OK);
    lot_spool_close(spool, false);
    free(json);
    lot_record_free(&record);
}

typedef struct seen {
    size_t count;
    char status[8][24];
    size_t rows[8];
    int64_t warm_rows[8];
    double warm[8];
    char text[8][256];
} seen;

static lot_status note(void *context, const lot_record *record, lot_error *error)
{
    seen *s = context;

    assert_int_equal(record->head.identity.rank, s->count);
    assert_int_equal(lot_record_check(record, error), LOT_OK);
    sample_text(s->status[s->count], sizeof s->status[0], record->head.outcome.status);
    sample_text(s->text[s->count], sizeof s->text[0], record->head.outcome.error_text);
    s->rows[s->count] = record->phase_count;
    s->warm_rows[s->count] = record->head.outcome.warm_rows;
    s->warm[s->count] = record->head.outcome.warm_median_seconds;
    assert_string_equal(record->head.identity.run_id, "sample-run-0001");
    assert_int_equal(record->head.identity.size, 4);
    s->count++;
    return LOT_OK;
}

static void test_lost_and_missing(void **state)
{
    lot_error error = {0};
    seen s = {0};

    (void)state;
    write_rank(1, 4, true);
    write_rank(2, 4, false);
    assert_int_equal(lot_spool_read(one(folder), note, &s, &error), LOT_OK);
    assert_int_equal(s.count, 4);
    assert_string_equal(s.status[0], "lost");
    assert_int_equal(s.rows[0], 0);
    assert_string_equal(s.status[1], "ok");
    assert_int_equal(s.rows[1], 7);
    assert_string_equal(s.status[2], "lost");
    assert_int_equal(s.rows[2], 7);
    assert_int_equal(s.warm_rows[2], 3);
    assert_true(s.warm[2] == 0.001 * 3 + 1e-6 * 1); /* the middle of three */
    /* The phase is that of the last row, which was over: the text does not say that the rank died in it. */
    assert_string_equal(s.text[0], "the rank ended without a record of its end");
    assert_string_equal(s.text[2], "the rank ended after a row of this phase, without a record of its end");
    assert_string_equal(s.status[3], "lost");
}

/* What a rank begins with: nothing is verified yet. Its rows tell what it had digested. */
static void test_digests_of_a_lost_rank(void **state)
{
    lot_spool *spool = NULL;
    lot_record record, fresh, read;
    lot_error error = {0};

    (void)state;
    sample_record(&record, 0, 1, 3);
    lot_record_init(&fresh);
    record.head.verification = fresh.head.verification;
    assert_int_equal(lot_spool_open(folder, 0, &spool, &error), LOT_OK);
    assert_int_equal(lot_spool_head(spool, &record, &error), LOT_OK);
    for (size_t i = 0; i < record.phase_count; i++) {
        lot_phase *row = &record.phases[i];

        row->digest[0] = '\0';
        row->digests_differing = row->finite = -1;
        if (row->passes > 0) {
            sample_text(row->digest, sizeof row->digest, "00000000000000aa");
            row->digests_differing = 0;
            row->finite = 1;
        }
        if (i == 5) { /* the second repeat */
            sample_text(row->digest, sizeof row->digest, "00000000000000bb");
            row->digests_differing = 1;
        }
        assert_int_equal(lot_spool_phase(spool, row, &error), LOT_OK);
    }
    lot_spool_close(spool, false);
    assert_int_equal(lot_spool_read_rank(folder, 0, &read, &error), LOT_OK);
    assert_string_equal(read.head.verification.digest, "00000000000000aa");
    assert_int_equal(read.head.verification.passes, 1 + 2 + 3); /* cold, warm-up, repeats */
    assert_int_equal(read.head.verification.digests_differing, 1);
    assert_int_equal(read.head.verification.nonfinite_passes, 0);
    assert_int_equal(read.head.verification.passed, LOT_NULL_BOOL);
    lot_record_free(&read);
    lot_record_free(&record);
}

static void test_two_runs_are_told_apart(void **state)
{
    lot_error error = {0};
    lot_spool *spool = NULL;
    lot_record record;
    seen s = {0};

    (void)state;
    sample_record(&record, 3, 4, 1);
    sample_text(record.head.identity.run_id, sizeof record.head.identity.run_id, "another-run");
    assert_int_equal(lot_spool_open(folder, 3, &spool, &error), LOT_OK);
    assert_int_equal(lot_spool_head(spool, &record, &error), LOT_OK);
    lot_spool_close(spool, false);
    lot_record_free(&record);
    assert_int_equal(lot_spool_read(one(folder), note, &s, &error), LOT_DAMAGED);
    assert_non_null(strstr(error.text, "two runs are mixed"));
}

/* A file that is there and cannot be opened is not a rank that left nothing. */
static void test_an_unreadable_file(void **state)
{
    char path[96];
    lot_record record;
    lot_error error = {0};
    seen s = {0};

    (void)state;
    (void)snprintf(path, sizeof path, "%s/rank-1.jsonl", folder);
    assert_int_equal(symlink("rank-1.jsonl", path), 0);
    write_rank(0, 4, true);
    assert_int_equal(lot_spool_read(one(folder), note, &s, &error), LOT_IO);
    assert_non_null(strstr(error.text, "rank-1.jsonl cannot be opened"));
    assert_int_equal(lot_spool_read_rank(folder, 1, &record, &error), LOT_IO);
}

static void test_a_rank_has_one_file(void **state)
{
    lot_error error = {0};
    lot_spool *spool = NULL;

    (void)state;
    assert_int_equal(lot_spool_open(folder, 1, &spool, &error), LOT_OUTPUT);
    assert_int_equal(lot_spool_open("/nowhere/at/all", 1, &spool, &error), LOT_OUTPUT);
    assert_null(spool);
}

/* Copies the file of a rank through the command `change`. */
static void copy_rank(const char *to, int64_t rank, const char *change)
{
    char command[512];

    (void)snprintf(command, sizeof command, "mkdir -p %s && %s <%s/rank-%d.jsonl >%s/rank-%d.jsonl", to,
                   change, folder, (int)rank, to, (int)rank);
    assert_int_equal(system(command), 0);
}

static void test_several_folders(void **state)
{
    char other[96], third[96];
    const char *items[] = {other, folder, third};
    const lot_spool_folders folders = {items, 3};
    lot_error error = {0};
    seen s = {0};

    (void)state;
    (void)snprintf(other, sizeof other, "%s/other", folder);
    (void)snprintf(third, sizeof third, "%s/third", folder);
    write_rank(0, 4, true);
    write_rank(1, 4, true);
    copy_rank(other, 0, "head -n 3");
    copy_rank(other, 1, "cat");
    copy_rank(third, 0, "head -c 700");
    assert_int_equal(lot_spool_read(&folders, note, &s, &error), LOT_OK);
    assert_int_equal(s.count, 4);
    assert_string_equal(s.status[0], "ok");
    assert_int_equal(s.rows[0], 7);
    assert_string_equal(s.status[1], "ok");
    assert_string_equal(s.status[2], "lost");

    copy_rank(third, 1, "sed s/warm_forward/soak/");
    s.count = 0;
    assert_int_equal(lot_spool_read(&folders, note, &s, &error), LOT_DAMAGED);
    assert_non_null(strstr(error.text, "rank 1 has two files that differ"));
    items[2] = "/nowhere/at/all";
    assert_int_equal(lot_spool_read(&folders, note, &s, &error), LOT_INPUT);
}

static void test_no_folder(void **state)
{
    char empty[] = "/tmp/gpulot-spool-XXXXXX";
    lot_error error = {0};
    seen s = {0};

    (void)state;
    assert_int_equal(lot_spool_read(one("/nowhere/at/all"), note, &s, &error), LOT_INPUT);
    assert_non_null(mkdtemp(empty));
    assert_int_equal(lot_spool_read(one(empty), note, &s, &error), LOT_INPUT);
    lot_spool_remove_folder(empty);
    assert_int_not_equal(access(empty, F_OK), 0);
}

/* The text that a rank without an end leaves. */
static char *spool_text(size_t *size)
{
    char path[128];
    FILE *file;
    char *text = calloc(1, 1 << 20);

    (void)snprintf(path, sizeof path, "%s/rank-2.jsonl", folder);
    file = fopen(path, "r");
    assert_non_null(file);
    *size = fread(text, 1, (1 << 20) - 1, file);
    (void)fclose(file);
    return text;
}

/* Cut anywhere, what stands before the cut is kept: as many rows as there are whole lines of them. */
static void test_cut_anywhere(void **state)
{
    size_t size = 0;
    char *text = spool_text(&size);

    (void)state;
    for (size_t cut = 0; cut <= size; cut += 7) {
        lot_record record;
        lot_error error = {0};
        size_t newlines = 0;

        for (size_t i = 0; i < cut; i++)
            newlines += text[i] == '\n';
        assert_int_equal(lot_spool_parse(text, cut, 2, &record, &error), LOT_OK);
        assert_string_equal(record.head.outcome.status, "lost");
        assert_int_equal(record.phase_count, newlines == 0 ? 0 : newlines - 1);
        assert_int_equal(record.head.outcome.phase_rows, record.phase_count);
        lot_record_free(&record);
    }
    free(text);
}

/* A line that is no JSON any more, the last one too: what follows it is not handed on as if nothing were
 * missing. */
static void test_a_broken_line(void **state)
{
    size_t size = 0, line = 0;
    char *text = spool_text(&size);

    (void)state;
    for (size_t at = 0; at < size; at++) {
        char kept[5];
        lot_record record;
        lot_error error = {0};

        if (at == 0 || text[at - 1] != '\n')
            continue;
        line++; /* a head and line - 1 rows stand before it */
        memcpy(kept, text + at, sizeof kept);
        memset(text + at, 0, sizeof kept);
        assert_int_equal(lot_spool_parse(text, size, 2, &record, &error), LOT_OK);
        assert_string_equal(record.head.outcome.status, "lost");
        assert_int_equal(record.phase_count, line - 1);
        assert_int_equal(record.error_count, 2);
        assert_non_null(strstr(record.errors[0].error.text, "could not be read"));
        lot_record_free(&record);
        memcpy(text + at, kept, sizeof kept);
    }
    assert_true(line > 3);
    free(text);
}

/* A disk that is full for a while: what did not fit follows when it does, and nothing is written twice. */
static void test_full_for_a_while(void **state)
{
    char own[] = "/tmp/gpulot-spool-XXXXXX", command[256], *path;
    struct rlimit old, small;
    struct stat begun;
    lot_error error = {0};
    lot_spool *spool = NULL;
    lot_record record, read;
    char *text = malloc(1 << 20);
    FILE *file;

    (void)state;
    assert_true(mkdtemp(own) != NULL && text != NULL && (path = lot_spool_file(own, 0)) != NULL);
    sample_record(&record, 0, 1, 3);
    assert_int_equal(lot_spool_open(own, 0, &spool, &error), LOT_OK);
    assert_int_equal(lot_spool_head(spool, &record, &error), LOT_OK);
    assert_int_equal(stat(path, &begun), 0);
    for (size_t i = 0; i < record.phase_count; i++)
        assert_int_equal(lot_spool_phase(spool, &record.phases[i], &error), LOT_OK);
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = (rlim_t)begun.st_size + 100; /* within the first row */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(lot_spool_flush(spool, false, &error), LOT_IO);
    assert_int_equal(lot_spool_flush(spool, false, &error), LOT_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(lot_spool_flush(spool, false, &error), LOT_OK);
    lot_spool_close(spool, false);
    assert_non_null(file = fopen(path, "r"));
    assert_int_equal(lot_spool_parse(text, fread(text, 1, 1 << 20, file), 0, &read, &error), LOT_OK);
    (void)fclose(file);
    assert_int_equal(read.phase_count, record.phase_count);
    assert_int_equal(read.error_count, 1); /* that it is lost, and no line that could not be read */
    lot_record_free(&read);
    lot_record_free(&record);
    free(text);
    free(path);
    (void)snprintf(command, sizeof command, "rm -r %s", own);
    assert_int_equal(system(command), 0);
}

static void test_tariff(void **state)
{
    char own[] = "/tmp/gpulot-spool-XXXXXX";
    char command[256];
    lot_error error = {0};
    lot_spool *spool = NULL;
    lot_record record;
    char *json = NULL;

    (void)state;
    assert_non_null(mkdtemp(own));
    assert_int_equal(lot_spool_read_tariff(one(own), &json, &error), LOT_OK);
    assert_null(json);
    sample_record(&record, 0, 1, 1);
    assert_int_equal(lot_spool_open(own, 0, &spool, &error), LOT_OK);
    assert_int_equal(lot_spool_head(spool, &record, &error), LOT_OK);
    assert_int_equal(lot_spool_tariff(spool, "{\"days\":7}", &error), LOT_OK);
    assert_int_equal(lot_spool_phase(spool, &record.phases[0], &error), LOT_OK);
    lot_spool_close(spool, false);
    lot_record_free(&record);
    assert_int_equal(lot_spool_read_tariff(one(own), &json, &error), LOT_OK);
    assert_string_equal(json, "{\"days\":7}");
    free(json);
    (void)snprintf(command, sizeof command, "rm -r %s", own);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost_and_missing), cmocka_unit_test(test_two_runs_are_told_apart),
        cmocka_unit_test(test_full_for_a_while), cmocka_unit_test(test_a_rank_has_one_file),
        cmocka_unit_test(test_no_folder),        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_a_broken_line),    cmocka_unit_test(test_tariff),
    };
    const struct CMUnitTest apart[] = {cmocka_unit_test(test_several_folders)};
    const struct CMUnitTest digests[] = {cmocka_unit_test(test_digests_of_a_lost_rank)};
    const struct CMUnitTest unreadable[] = {cmocka_unit_test(test_an_unreadable_file)};

    return cmocka_run_group_tests(tests, make_folder, remove_folder) +
           cmocka_run_group_tests(apart, make_folder, remove_folder) +
           cmocka_run_group_tests(digests, make_folder, remove_folder) +
           cmocka_run_group_tests(unreadable, make_folder, remove_folder);
}
