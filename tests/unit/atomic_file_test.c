/* Files that appear whole or not at all, whoever else wants their name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "io/atomic_file.h"
#include "support/folder.h"

#define WAIT_SECONDS 60

static char path[128]; /* of the file, in the folder */

static int set_up(void **state)
{
    const int failed = make_folder(state);

    (void)snprintf(path, sizeof path, "%s/file", folder);
    return failed;
}

static size_t files_in_folder(void)
{
    char command[256];
    FILE *out;
    size_t count = 0;

    (void)snprintf(command, sizeof command, "ls -A %s | wc -l", folder);
    out = popen(command, "r");
    assert_non_null(out);
    assert_int_equal(fscanf(out, "%zu", &count), 1);
    (void)pclose(out);
    return count;
}

static lot_status publish(const char *text, lot_error *error)
{
    lot_atomic_file *file = NULL;
    lot_status status = lot_atomic_begin(path, &file, error);
    FILE *out;

    if (status != LOT_OK)
        return status;
    out = fopen(lot_atomic_partial(file), "w");
    if (out == NULL)
        return LOT_INTERNAL;
    (void)fputs(text, out);
    (void)fclose(out);
    return lot_atomic_publish(file, error);
}

static void test_publish(void **state)
{
    lot_error error = {0};

    (void)state;
    assert_int_equal(publish("whole", &error), LOT_OK);
    assert_int_equal(files_in_folder(), 1);
    assert_int_equal(publish("other", &error), LOT_OUTPUT);
    assert_int_equal(files_in_folder(), 1);
    (void)unlink(path);
}

/* As on NFS, where the answer to a first request may be lost: the name is taken, by the file itself. */
static void test_its_own_name_is_no_other_file(void **state)
{
    lot_atomic_file *file = NULL;
    lot_error error = {0};

    (void)state;
    assert_int_equal(lot_atomic_begin(path, &file, &error), LOT_OK);
    assert_int_equal(link(lot_atomic_partial(file), path), 0);
    assert_int_equal(lot_atomic_publish(file, &error), LOT_OK);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(files_in_folder(), 1);
    (void)unlink(path);
}

/* Eight processes, one name, many times: exactly one wins each time, and the losers' files stay whole. */
static void test_race(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        pid_t children[8];
        int won = 0;

        for (int i = 0; i < 8; i++) {
            children[i] = fork();
            if (children[i] == 0) {
                lot_error error = {0};
                const lot_status status = publish("0123456789", &error);

                _exit(status == LOT_OK ? 0 : status == LOT_OUTPUT ? 1 : 2);
            }
            assert_true(children[i] > 0);
        }
        for (int i = 0; i < 8; i++) {
            int end = 0;

            assert_int_equal(waitpid(children[i], &end, 0), children[i]);
            assert_true(WIFEXITED(end) && WEXITSTATUS(end) < 2);
            won += WEXITSTATUS(end) == 0;
        }
        assert_int_equal(won, 1);
        {
            char command[256];

            (void)snprintf(command, sizeof command,
                           "for f in %s/*; do test \"$(cat $f)\" = 0123456789 || exit 1; done; rm -f %s/*",
                           folder, folder);
            assert_int_equal(system(command), 0);
        }
    }
}

static void test_partial_name_is_taken(void **state)
{
    lot_atomic_file *first = NULL, *second = NULL;
    lot_error error = {0};

    (void)state;
    assert_int_equal(lot_atomic_begin(path, &first, &error), LOT_OK);
    assert_int_equal(lot_atomic_begin(path, &second, &error), LOT_OK);
    assert_string_not_equal(lot_atomic_partial(first), lot_atomic_partial(second));
    lot_atomic_abandon(first);
    lot_atomic_abandon(second);
    assert_int_equal(files_in_folder(), 0);
}

static void test_dangling_link_is_something(void **state)
{
    lot_error error = {0};

    (void)state;
    assert_int_equal(symlink("/nowhere/at/all", path), 0);
    assert_int_equal(lot_atomic_check(path, &error), LOT_OUTPUT);
    (void)unlink(path);
}

static void test_read_only_folder(void **state)
{
    lot_error error = {0};
    pid_t child;
    int end = 0;

    (void)state;
    assert_int_equal(chmod(folder, 0555), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        /* root may write everywhere: become somebody else */
        if (geteuid() == 0 && setuid(65534) != 0)
            _exit(9);
        _exit(lot_atomic_check(path, &error) == LOT_OUTPUT && strstr(error.text, "Permission denied") != NULL
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(child, &end, 0), child);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_true(WIFEXITED(end));
    assert_int_equal(WEXITSTATUS(end), 0);
}

/* ---- rewriting ---- */

static lot_status add_line(void *context, const char *old, size_t size, FILE *out, lot_error *error)
{
    (void)error;
    (void)fwrite(old, 1, size, out);
    (void)fprintf(out, "%s\n", (const char *)context);
    return LOT_OK;
}

static lot_status refuse(void *context, const char *old, size_t size, FILE *out, lot_error *error)
{
    (void)context;
    (void)old;
    (void)size;
    (void)fputs("half", out);
    return lot_error_set(error, LOT_INPUT, "edit", 0, "no");
}

static size_t lines(void)
{
    FILE *in = fopen(path, "r");
    size_t count = 0;
    int c;

    assert_non_null(in);
    while ((c = fgetc(in)) != EOF)
        count += c == '\n';
    (void)fclose(in);
    return count;
}

static void test_edit_loses_nothing(void **state)
{
    pid_t children[6];

    (void)state;
    for (int i = 0; i < 6; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            static char line[] = "a line";
            lot_error error = {0};

            for (int j = 0; j < 10; j++)
                if (lot_atomic_edit(path, WAIT_SECONDS, add_line, line, &error) != LOT_OK)
                    _exit(1);
            _exit(0);
        }
    }
    for (int i = 0; i < 6; i++) {
        int end = 0;

        assert_int_equal(waitpid(children[i], &end, 0), children[i]);
        assert_int_equal(end, 0);
    }
    assert_int_equal(lines(), 60);
    assert_int_equal(files_in_folder(), 1); /* the lock is gone */
}

static void test_edit_keeps_mode_and_refusals_change_nothing(void **state)
{
    static char line[] = "more";
    struct stat info;
    lot_error error = {0};

    (void)state;
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(lot_atomic_edit(path, WAIT_SECONDS, refuse, NULL, &error), LOT_INPUT);
    assert_int_equal(files_in_folder(), 1); /* no lock, no half a file */
    assert_int_equal(lines(), 60);
    assert_int_equal(lot_atomic_edit(path, WAIT_SECONDS, add_line, line, &error), LOT_OK);
    assert_int_equal(lines(), 61);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_int_equal(files_in_folder(), 1);
    assert_int_equal(lot_atomic_edit(folder, WAIT_SECONDS, add_line, line, &error), LOT_OUTPUT);
}

/* Whoever may write in the folder alone could put a new file in its place. */
static void test_edit_refuses_what_may_not_be_written(void **state)
{
    static char line[] = "more";
    lot_error error = {0};
    pid_t child;
    int end = 0;

    (void)state;
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(chmod(path, 0444), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && setuid(65534) != 0)
            _exit(9);
        _exit(lot_atomic_edit(path, WAIT_SECONDS, add_line, line, &error) != LOT_OUTPUT ||
              strstr(error.text, "cannot be changed: Permission denied") == NULL);
    }
    assert_int_equal(waitpid(child, &end, 0), child);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_true(WIFEXITED(end));
    assert_int_equal(WEXITSTATUS(end), 0);
    assert_int_equal(lines(), 61);
    assert_int_equal(files_in_folder(), 1);
}

/* A link, as /dev/stdout is one, must not become a file. */
static void test_edit_follows_links(void **state)
{
    static char line[] = "through the link";
    char through[160];
    struct stat info;
    lot_error error = {0};

    (void)state;
    (void)snprintf(through, sizeof through, "%s/link", folder);
    assert_int_equal(symlink("file", through), 0);
    assert_int_equal(lot_atomic_edit(through, WAIT_SECONDS, add_line, line, &error), LOT_OK);
    assert_int_equal(lines(), 62);
    assert_int_equal(lstat(through, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(files_in_folder(), 2); /* the file and the link */
    assert_int_equal(unlink(through), 0);
    assert_int_equal(symlink("nowhere", through), 0);
    assert_int_equal(lot_atomic_edit(through, WAIT_SECONDS, add_line, line, &error), LOT_OUTPUT);
    assert_int_equal(files_in_folder(), 2);
    assert_int_equal(unlink(through), 0);
}

static void test_edit_of_what_is_no_file(void **state)
{
    static char line[] = "never";
    char pipe_path[160];
    lot_error error = {0};

    (void)state;
    (void)snprintf(pipe_path, sizeof pipe_path, "%s/pipe", folder);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    (void)alarm(20); /* nobody opens the other end */
    assert_int_equal(lot_atomic_edit(pipe_path, WAIT_SECONDS, add_line, line, &error), LOT_OUTPUT);
    (void)alarm(0);
    assert_int_equal(files_in_folder(), 2); /* no lock beside it */
    assert_int_equal(unlink(pipe_path), 0);
}

/* A process that is stopped in the middle of an edit must not stop all others for ever. */
static void test_edit_waits_so_long_and_no_longer(void **state)
{
    static char line[] = "late";
    char lock_path[160];
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const size_t before = lines();
    lot_error error = {0};
    int held, end = 0;
    double began;
    pid_t child;

    (void)state;
    (void)snprintf(lock_path, sizeof lock_path, "%s.lock", path);
    held = open(lock_path, O_RDWR | O_CREAT, 0600);
    assert_true(held >= 0);
    assert_int_equal(fcntl(held, F_SETLK, &whole), 0);
    child = fork(); /* which does not inherit the lock */
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(20);
        began = lot_clock_seconds();
        _exit(lot_atomic_edit(path, 0.2, add_line, line, &error) != LOT_OUTPUT ||
              strstr(error.text, ".lock, for 0.2 s; nothing was changed") == NULL ||
              lot_clock_seconds() - began < 0.2);
    }
    assert_int_equal(waitpid(child, &end, 0), child);
    assert_true(WIFEXITED(end));
    assert_int_equal(WEXITSTATUS(end), 0);
    assert_int_equal(lines(), before);
    assert_int_equal(files_in_folder(), 2); /* the file and the other's lock */
    assert_int_equal(close(held), 0);
    assert_int_equal(lot_atomic_edit(path, WAIT_SECONDS, add_line, line, &error),
                     LOT_OK); /* it is free again */
    assert_int_equal(lines(), before + 1);
    assert_int_equal(files_in_folder(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_publish),
        cmocka_unit_test(test_its_own_name_is_no_other_file),
        cmocka_unit_test(test_race),
        cmocka_unit_test(test_partial_name_is_taken),
        cmocka_unit_test(test_dangling_link_is_something),
        cmocka_unit_test(test_read_only_folder),
        cmocka_unit_test(test_edit_loses_nothing),
        cmocka_unit_test(test_edit_keeps_mode_and_refusals_change_nothing),
        cmocka_unit_test(test_edit_refuses_what_may_not_be_written),
        cmocka_unit_test(test_edit_follows_links),
        cmocka_unit_test(test_edit_of_what_is_no_file),
        cmocka_unit_test(test_edit_waits_so_long_and_no_longer),
    };

    return cmocka_run_group_tests(tests, set_up, remove_folder);
}
