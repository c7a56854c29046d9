/* Files of another machine, recorded in the test's folder: /proc, /sys, control groups. */
#ifndef GPULOT_TESTS_RECORDED_H
#define GPULOT_TESTS_RECORDED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "support/folder.h"

/* Writes `text` to folder/path, and makes the folders on the way. */
static inline void record(const char *path, const char *text)
{
    char full[512];
    FILE *file;

    (void)snprintf(full, sizeof full, "%s/%s", folder, path);
    for (char *slash = full + strlen(folder) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        (void)mkdir(full, 0700);
        *slash = '/';
    }
    file = fopen(full, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

#endif
