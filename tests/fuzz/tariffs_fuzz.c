/* Any bytes as a catalogue of tariffs: read without harm, and what is accepted is whole. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/price.h"
#include "analysis/tariff_match.h"
#include "io/tariffs_csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void count_fault(void *context, int64_t line, const char *text)
{
    if (line < 1 || text[0] == '\0' || strchr(text, '\n') != NULL)
        abort();
    ++*(int64_t *)context;
}

static void use(const lot_catalogue *catalogue)
{
    const lot_price_demand demand = {.ranks = 3, .accepted_results = 7};
    int64_t rows = 0;

    for (size_t i = 0; i < catalogue->tariff_count; i++) {
        const lot_tariff *tariff = &catalogue->tariffs[i];
        const lot_tariff *found = NULL;
        lot_error error;
        lot_price price;

        if (lot_tariff_find(catalogue, tariff->gpu, &found, &error) != LOT_OK || found != tariff)
            abort();
        for (size_t period = 0; period < LOT_TARIFF_PERIODS; period++, rows++) {
            if (tariff->line[period] < 1 || tariff->lot_price_cents[period] < 1 || tariff->gpus_per_lot < 1)
                abort();
            (void)lot_price_compute(tariff, period, &demand, &price, &error);
        }
    }
    if (rows == 0 || rows != catalogue->rows || strlen(catalogue->sha256) != 64)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lot_tariffs_columns columns;
    lot_catalogue catalogue;
    lot_error error = {0};
    int64_t faults = 0;
    const lot_tariffs_reading how = {.columns = &columns, .fault = count_fault, .context = &faults};
    lot_status status;

    if (lot_tariffs_map(size % 2 == 0 ? NULL : "gpu=g,gpus_per_lot=n,days=d,price_cents_usd=p,ignore=i",
                        &columns, &error) != LOT_OK)
        abort();
    memset(&catalogue, 0, sizeof catalogue);
    status = lot_tariffs_parse("fuzz", (const char *)data, size, &how, &catalogue, &error);
    if ((status == LOT_OK) != (faults == 0))
        abort();
    if (status == LOT_OK && catalogue.tariff_count < 64) /* finding each is quadratic */
        use(&catalogue);
    lot_catalogue_free(&catalogue);
    return 0;
}
