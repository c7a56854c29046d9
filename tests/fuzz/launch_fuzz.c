/* Any lines NAME=VALUE as a launcher's environment: refused in one line, or ranks that can be. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "measure/launch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The value behind "NAME=" in the lines of `context`, each ended by a zero byte, the last line empty. */
static const char *from_lines(void *context, const char *name)
{
    const size_t length = strlen(name);

    for (const char *line = context; *line != '\0'; line += strlen(line) + 1)
        if (strncmp(line, name, length) == 0 && line[length] == '=')
            return line + length + 1;
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *lines = calloc(size + 2, 1);
    lot_launch launch;
    lot_identity identity;
    lot_error error = {0};

    if (lines == NULL)
        return 0;
    for (size_t i = 0; i < size; i++)
        lines[i] = (char)(data[i] == '\n' ? '\0' : data[i]);
    if (lot_launch_read(from_lines, lines, &launch, &error) == LOT_OK) {
        if (launch.rank < -1 || launch.size < -1 || launch.local_rank < -1 || launch.local_size < -1)
            abort();
        memset(&identity, 0, sizeof identity);
        lot_launch_identity(&launch, &identity);
        if (strnlen(identity.visible_devices, sizeof identity.visible_devices) ==
            sizeof identity.visible_devices)
            abort();
    } else if (error.text[0] == '\0' || strchr(error.text, '\n') != NULL) {
        abort();
    }
    free(lines);
    return 0;
}
