/* Any text as a map of header names: refused in one line, or a map with a name for every column. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/tariffs_columns.h"
#include "support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    lot_tariffs_columns columns;
    lot_error error = {0};

    if (text == NULL)
        return 0;
    if (lot_tariffs_map(text, &columns, &error) == LOT_OK) {
        for (size_t i = 0; i < LOT_TARIFFS_COLUMN_COUNT; i++)
            if (strnlen(columns.name[i], LOT_TARIFFS_COLUMN_NAME_SIZE) - 1 >=
                LOT_TARIFFS_COLUMN_NAME_SIZE - 1)
                abort();
    } else if (error.text[0] == '\0' || strchr(error.text, '\n') != NULL) {
        abort();
    }
    free(text);
    return 0;
}
