/* Any bytes as a record: refused with a reason, or read into a record that holds and is written and read
 * again without a change. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/record_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lot_error error = {0};
    lot_record record, again;
    char *first = NULL, *second = NULL;
    size_t first_size = 0, second_size = 0;

    if (lot_record_json_read((const char *)data, size, &record, &error) != LOT_OK) {
        must(error.text[0] != '\0');
        return 0;
    }
    must(lot_record_check(&record, &error) == LOT_OK);
    must(lot_record_json_write(&record, &first, &first_size, &error) == LOT_OK);
    must(lot_record_json_read(first, first_size, &again, &error) == LOT_OK);
    must(lot_record_json_write(&again, &second, &second_size, &error) == LOT_OK);
    must(first_size == second_size && memcmp(first, second, first_size) == 0);
    free(first);
    free(second);
    lot_record_free(&record);
    lot_record_free(&again);
    return 0;
}
