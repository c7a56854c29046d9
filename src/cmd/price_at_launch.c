#include "cmd/price_at_launch.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/price.h"
#include "analysis/tariff_match.h"
#include "core/shell.h"
#include "io/price_json.h"
#include "io/tariffs_csv.h"

static lot_status check_request(const lot_launch_price *request, int64_t ranks, lot_error *error)
{
    if (request->gpu == NULL)
        return lot_error_set(error, LOT_USAGE, "--gpu", 0, "--tariffs needs --gpu: which model is rented");
    if (lot_tariff_period(request->days) == LOT_TARIFF_PERIODS)
        return lot_error_set(error, LOT_USAGE, "--days", 0, "--tariffs needs --days: 3, 7 or 30");
    if (request->lots < 0 || ranks < 1)
        return lot_error_set(error, LOT_USAGE, "--lots", 0, "--lots: at least 1, for at least 1 rank");
    return LOT_OK;
}

static void count_fault(void *context, int64_t line, const char *text)
{
    int64_t *count = context;

    (void)line;
    (void)text;
    (*count)++;
}

/* The error tells the first fault; of several, it says what lists them. */
static lot_status read_catalogue(const lot_launch_price *request, lot_catalogue *catalogue, lot_error *error)
{
    const bool mapped = request->columns != NULL;
    const lot_shell_argument arguments[] = {{"tariffs", false},        {"check", false},
                                            {request->tariffs, true},  {mapped ? "--columns" : NULL, false},
                                            {request->columns, false}, {NULL, false}};
    int64_t faults = 0;
    lot_tariffs_columns columns;
    const lot_tariffs_reading reading = {.columns = &columns, .fault = count_fault, .context = &faults};
    lot_status status = lot_tariffs_map(request->columns, &columns, error);
    char *list;

    if (status == LOT_OK)
        status = lot_tariffs_read(request->tariffs, &reading, catalogue, error);
    if (faults < 2 || (list = lot_shell_command(arguments)) == NULL)
        return status;
    status = lot_error_set(error, status, error->call, error->code, "%s; %s lists them", error->text, list);
    free(list);
    return status;
}

lot_status lot_price_at_launch(const lot_launch_price *request, int64_t ranks, char **json, lot_error *error)
{
    const lot_price_demand demand = {.ranks = ranks, .lots = request->lots};
    lot_catalogue catalogue;
    lot_price price;
    lot_price_report report = {.file = request->tariffs, .catalogue = &catalogue, .price = &price};
    lot_status status = check_request(request, ranks, error);

    memset(&catalogue, 0, sizeof catalogue);
    if (status == LOT_OK)
        status = read_catalogue(request, &catalogue, error);
    if (status == LOT_OK)
        status = lot_tariff_find(&catalogue, request->gpu, &report.tariff, error);
    if (status == LOT_OK) {
        report.period = lot_tariff_period(request->days);
        status = lot_price_compute(report.tariff, report.period, &demand, &price, error);
    }
    if (status == LOT_OK)
        status = lot_launch_price_write(&report, json, error);
    lot_catalogue_free(&catalogue);
    return status;
}
