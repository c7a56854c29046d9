/* What a rank learns from its launcher, over recorded environments: tests/fixtures/launch/README.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/launch.h"

#define LINES_MOST 128

typedef struct recording {
    char *text;              /* the file, its lines cut apart */
    char *lines[LINES_MOST]; /* into text: NAME=value */
    size_t count;
    char *expected; /* into text: what follows "expect " */
} recording;

static void load(const char *path, recording *made)
{
    FILE *file = fopen(path, "r");
    char *line;
    char *rest;
    size_t size;

    memset(made, 0, sizeof *made);
    made->text = calloc(1, 1 << 16);
    assert_non_null(file);
    assert_non_null(made->text);
    size = fread(made->text, 1, (1 << 16) - 1, file);
    assert_true(size > 0 && size < (1 << 16) - 1);
    (void)fclose(file);
    for (line = strtok_r(made->text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "expect ", 7) == 0)
            made->expected = line + 7;
        else if (line[0] != '#' && made->count < LINES_MOST)
            made->lines[made->count++] = line;
    }
    assert_non_null(made->expected);
}

static const char *look_up(void *context, const char *name)
{
    const recording *from = context;
    const size_t length = strlen(name);

    for (size_t i = 0; i < from->count; i++)
        if (strncmp(from->lines[i], name, length) == 0 && from->lines[i][length] == '=')
            return from->lines[i] + length + 1;
    return NULL;
}

/* "-" for a text that is not there. */
static void tell(char *answer, size_t size, const char *text)
{
    (void)snprintf(answer, size, "%s", text[0] != '\0' ? text : "-");
}

/* What the reader found for the field `name`, in the words of an expectation. */
static void found(const lot_launch *launch, const char *name, char *answer, size_t size)
{
    const struct {
        const char *name;
        int value;
    } numbers[] = {
        {"uses_mpi", launch->uses_mpi},
        {"rank", launch->rank},
        {"size", launch->size},
        {"local_rank", launch->local_rank},
        {"local_size", launch->local_size},
        {"node_id", launch->slurm_node_id},
        {"local_id", launch->slurm_local_id},
        {"restart", launch->slurm_restart_count},
    };
    const struct {
        const char *name;
        const char *value;
    } texts[] = {
        {"launcher", launch->launcher},       {"job", launch->slurm_job_id},
        {"step", launch->slurm_step_id},      {"array", launch->slurm_array_task},
        {"visible", launch->visible_devices},
    };

    (void)snprintf(answer, size, "no such field");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (strcmp(numbers[i].name, name) == 0)
            (void)snprintf(answer, size, "%d", numbers[i].value);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (strcmp(texts[i].name, name) == 0)
            tell(answer, size, texts[i].value);
    if (strcmp(name, "visible") == 0 && launch->visible_devices_set && launch->visible_devices[0] == '\0')
        (void)snprintf(answer, size, "(empty)");
}

static void compare(const char *path, const lot_launch *launch, char *expected)
{
    char *rest;

    for (char *word = strtok_r(expected, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        char answer[160];

        assert_non_null(value);
        *value++ = '\0';
        found(launch, word, answer, sizeof answer);
        if (strcmp(answer, value) != 0)
            fail_msg("%s: %s is %s, not %s", path, word, answer, value);
    }
}

static void test_recorded_environments(void **state)
{
    glob_t files;

    (void)state;
    assert_int_equal(glob(TEST_SOURCE_DIR "/fixtures/launch/*.env", 0, NULL, &files), 0);
    assert_true(files.gl_pathc >= 16);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        recording from;
        lot_launch launch;
        lot_error error = {0};
        lot_status status;

        load(files.gl_pathv[i], &from);
        status = lot_launch_read(look_up, &from, &launch, &error);
        if (strcmp(from.expected, "refused") == 0) {
            assert_int_equal(status, LOT_LAUNCH);
            assert_non_null(strstr(error.text, "--mpi=pmix"));
        } else {
            if (status != LOT_OK)
                fail_msg("%s: %s", files.gl_pathv[i], error.text);
            compare(files.gl_pathv[i], &launch, from.expected);
        }
        free(from.text);
    }
    globfree(&files);
}

/* Numbers that are none are not believed. */
static void test_damaged_values(void **state)
{
    recording from = {.lines = {"OMPI_COMM_WORLD_SIZE=two", "SLURM_JOB_ID=7", "SLURM_STEP_ID=0",
                                "SLURM_PROCID=-1", "SLURM_LOCALID=99999999999"},
                      .count = 5};
    lot_launch launch;
    lot_error error;

    (void)state;
    assert_int_equal(lot_launch_read(look_up, &from, &launch, &error), LOT_OK);
    assert_string_equal(launch.launcher, "none");
    assert_int_equal(launch.size, 1);
    assert_int_equal(launch.local_rank, 0);
}

/* What srun says of the tasks of a node, where it can be read; else MPI is asked. */
static void test_tasks_of_a_node(void **state)
{
    static const struct {
        char *tasks, *node;
        int expected;
    } cases[] = {
        {"SLURM_STEP_TASKS_PER_NODE=4", "SLURM_NODEID=0", 4},
        {"SLURM_STEP_TASKS_PER_NODE=4(x2),1", "SLURM_NODEID=1", 4},
        {"SLURM_STEP_TASKS_PER_NODE=4(x2),1", "SLURM_NODEID=2", 1},
        {"SLURM_STEP_TASKS_PER_NODE=4(x2),1", "SLURM_NODEID=3", -1},
        {"SLURM_STEP_TASKS_PER_NODE=", "SLURM_NODEID=0", -1},
        {"SLURM_STEP_TASKS_PER_NODE=four", "SLURM_NODEID=0", -1},
        {"SLURM_STEP_TASKS_PER_NODE=4,,2", "SLURM_NODEID=1", -1},
        {"SLURM_STEP_TASKS_PER_NODE=4(x2", "SLURM_NODEID=0", -1},
        {"SLURM_STEP_TASKS_PER_NODE=99999999999", "SLURM_NODEID=0", -1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        recording from = {.lines = {"SLURM_JOB_ID=7", "SLURM_STEP_ID=0", "SLURM_PROCID=0", "SLURM_NTASKS=9",
                                    "PMIX_RANK=0", cases[i].tasks, cases[i].node},
                          .count = 7};
        lot_launch launch;
        lot_error error;

        assert_int_equal(lot_launch_read(look_up, &from, &launch, &error), LOT_OK);
        assert_string_equal(launch.launcher, "srun");
        if (launch.local_size != cases[i].expected)
            fail_msg("%s, %s: %d", cases[i].tasks, cases[i].node, launch.local_size);
    }
}

static void test_identity_takes_the_launch(void **state)
{
    recording from;
    lot_launch launch;
    lot_error error;
    lot_identity *identity = calloc(1, sizeof *identity);

    (void)state;
    assert_non_null(identity);
    load(TEST_SOURCE_DIR "/fixtures/launch/srun-gpus-per-task.env", &from);
    assert_int_equal(lot_launch_read(look_up, &from, &launch, &error), LOT_OK);
    lot_launch_identity(&launch, identity);
    assert_string_equal(identity->launcher, "srun");
    assert_string_equal(identity->slurm_step_id, "0");
    assert_string_equal(identity->visible_devices, "1");
    assert_int_equal(identity->slurm_node_id, 1);
    assert_int_equal(identity->slurm_local_id, 1);
    assert_int_equal(identity->slurm_restart_count, 0);
    free(identity);
    free(from.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_environments),
        cmocka_unit_test(test_damaged_values),
        cmocka_unit_test(test_tasks_of_a_node),
        cmocka_unit_test(test_identity_takes_the_launch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
