#include "cmd/price_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "analysis/price.h"
#include "core/count.h"
#include "io/report.h"

static void print_unit_cost(const lot_price *price)
{
    if (price->accepted_results == 0)
        return;
    printf("unit cost    %s cents for each of %s, exactly %" PRId64, price->unit_cents,
           lot_count(price->accepted_results, "accepted result").text, price->unit_numerator);
    if (price->unit_denominator > 1)
        printf("/%" PRId64, price->unit_denominator);
    printf("\n");
}

static void print_protocol(const lot_protocol *protocol)
{
    if (protocol == NULL)
        return;
    lot_report_line(stdout, "useful work  %s", protocol->useful_work);
    lot_report_line(stdout, "accepted if  %s", protocol->acceptance_rule);
    lot_report_line(stdout, "threshold    %s", protocol->threshold);
    lot_report_line(stdout, "fixed on     %s", protocol->fixed_on);
    lot_report_line(stdout, "accepted by  %s", protocol->accepted_by);
    lot_report_line(stdout, "rejected     %s", protocol->rejected_unit);
    lot_report_line(stdout, "not counted  %s", protocol->not_counted);
}

void lot_price_text_print(const lot_price_report *report)
{
    const lot_price *price = report->price;
    const lot_catalogue *catalogue = report->catalogue;
    char lot_dollars[32];
    char total_dollars[32];

    lot_price_dollars(price->lot_price_cents, lot_dollars, sizeof lot_dollars);
    lot_price_dollars(price->total_price_cents, total_dollars, sizeof total_dollars);
    lot_report_line(stdout, "tariff       %s for %s, line %" PRId64 " of %s", report->tariff->gpu,
                    lot_count(lot_tariff_days(report->period), "day").text,
                    report->tariff->line[report->period], report->file);
    lot_report_line(stdout, "catalogue    %s, %s",
                    catalogue->title != NULL ? catalogue->title : "without a title",
                    catalogue->snapshot_date != NULL ? catalogue->snapshot_date : "without a date");
    printf("SHA-256      %s\n", catalogue->sha256);
    if (price->ranks != 0)
        printf("ranks        %" PRId64 "\n", price->ranks);
    printf("lots         %" PRId64 " of %s: %s", price->lots, lot_count(price->gpus_per_lot, "GPU").text,
           lot_count(price->gpus, "GPU").text);
    if (price->idle_gpus >= 0)
        printf(", %" PRId64 " idle", price->idle_gpus);
    printf("\nlot price    %s = USD %s\n", lot_count(price->lot_price_cents, "cent").text, lot_dollars);
    printf("total        %s = USD %s%s\n", lot_count(price->total_price_cents, "cent").text, total_dollars,
           catalogue->is_example ? "   (example prices, nobody's tariff)" : "");
    print_unit_cost(price);
    print_protocol(report->protocol);
    for (size_t i = 0; i < report->notes->count; i++)
        lot_report_line(stdout, "note         %s", report->notes->text[i]);
}
