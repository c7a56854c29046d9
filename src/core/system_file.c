#include "core/system_file.h"

#include <stdio.h>
#include <string.h>

#include "core/field.h"

#define LINE_BYTES 4096

bool lot_system_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "re");

    line[0] = '\0';
    if (file == NULL)
        return false;
    if (fgets(line, (int)size, file) == NULL)
        line[0] = '\0';
    (void)fclose(file);
    line[strcspn(line, "\n")] = '\0';
    return line[0] != '\0';
}

bool lot_system_value(const char *path, const char *key, char *value, size_t size)
{
    FILE *file = fopen(path, "re");
    char line[LINE_BYTES];

    value[0] = '\0';
    if (file == NULL)
        return false;
    while (value[0] == '\0' && fgets(line, sizeof line, file) != NULL) {
        char *at = line + strlen(key);

        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        at += strspn(at, ":= \t\"");
        at[strcspn(at, "\"\n")] = '\0';
        (void)lot_field_copy(value, size, at);
    }
    (void)fclose(file);
    return value[0] != '\0';
}
