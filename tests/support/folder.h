/* A folder of a test's own below /tmp, made and removed with a test or with a group of them. */
#ifndef GPULOT_TESTS_FOLDER_H
#define GPULOT_TESTS_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[64];

static inline int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/gpulot-test-XXXXXX");
    return mkdtemp(folder) == NULL;
}

/* With all that is in it, also where a test took the right to write away. */
static inline int remove_folder(void **state)
{
    char command[160];

    (void)state;
    (void)snprintf(command, sizeof command, "chmod 700 %s; rm -rf %s", folder, folder);
    return system(command);
}

/* The path of that name in the folder: good until the next call. */
static inline const char *in_folder(const char *name)
{
    static char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

#endif
