/* Any bytes as what a rank left: always a record that holds. */
#include <stdint.h>
#include <stdlib.h>

#include "io/spool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lot_error error = {0};
    lot_record record;

    if (lot_spool_parse((const char *)data, size, 3, &record, &error) != LOT_OK)
        abort();
    if (lot_record_check(&record, &error) != LOT_OK || record.head.identity.rank != 3)
        abort();
    lot_record_free(&record);
    return 0;
}
