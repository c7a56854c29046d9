/* Any bytes as what a rank left: always a record that holds, unless they tell another rank. */
#include <stdint.h>
#include <stdlib.h>

#include "io/spool_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(const char *text, size_t size, int64_t rank)
{
    lot_error error = {0};
    lot_record record;
    const lot_status status = lot_spool_parse(text, size, rank, &record, &error);

    if (status == LOT_DAMAGED)
        return;
    if (status != LOT_OK || lot_record_check(&record, &error) != LOT_OK || record.head.identity.rank != rank)
        abort();
    lot_record_free(&record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    parse((const char *)data, size, 0); /* the seeds are of these two ranks */
    parse((const char *)data, size, 3);
    return 0;
}
