/* Prices of many cases in one process, for the property test. Reads lines "GPUS_PER_LOT LOT_CENTS RANKS LOTS
 * ACCEPTED" (0: not given) and answers each with "STATUS LOTS GPUS IDLE TOTAL P/Q DECIMAL", or with the
 * status alone. */
#include <inttypes.h>
#include <stdio.h>

#include "analysis/price.h"

int main(void)
{
    lot_tariff tariff = {.gpu = NULL};
    lot_price_demand demand;
    lot_price price;
    lot_error error;

    while (scanf("%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &tariff.gpus_per_lot,
                 &tariff.lot_price_cents[2], &demand.ranks, &demand.lots, &demand.accepted_results) == 5) {
        const lot_status status = lot_price_compute(&tariff, 2, &demand, &price, &error);

        if (status == LOT_OK)
            printf("ok %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "/%" PRId64 " %s\n",
                   price.lots, price.gpus, price.idle_gpus, price.total_price_cents, price.unit_numerator,
                   price.unit_denominator, price.unit_cents[0] != '\0' ? price.unit_cents : "-");
        else
            printf("%s\n", lot_status_name(status));
    }
    return 0;
}
