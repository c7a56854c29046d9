/* Any text as the price that an archive keeps, and as a quality protocol. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "io/price_json.h"
#include "io/protocol_json.h"
#include "support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    lot_launch_terms terms;
    lot_protocol protocol;
    lot_error error = {0};

    if (text == NULL)
        return 0;
    if (lot_launch_price_read(text, &terms, &error) == LOT_OK &&
        (terms.price.lots < 1 ||
         terms.price.total_price_cents / terms.price.lots != terms.price.lot_price_cents))
        abort();
    if (lot_protocol_parse("fuzz", text, size, &protocol, &error) == LOT_OK) {
        if (protocol.useful_work[0] == '\0')
            abort();
        (void)lot_protocol_check_before(&protocol, "2026-09-24T12:34:56.789Z", &error);
        lot_protocol_free(&protocol);
    }
    free(text);
    return 0;
}
