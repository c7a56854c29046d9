#include "cmd/check_limits.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/price.h"
#include "core/count.h"
#include "core/field.h"
#include "core/units.h"
#include "io/report.h"

typedef const lot_check_result checked;

static void cell_percent(lot_report *report, double share)
{
    if (isnan(share))
        lot_report_cell(report, "-");
    else
        lot_report_cell(report, "%.2f %%", 100 * share);
}

/* The group stands there where there are several, and the spreads where every column is asked for. */
static void begin_limits(lot_report *report, bool groups, bool wide)
{
    static const char *const titles[] = {"times",      "GPUs",        "repeats",           "noise",
                                         "own spread", "used spread", "typical threshold", "sure to find"};
    const char *align = wide ? "rlrrrrrrr" : "rlrrrrr";

    if (!groups)
        align++;
    lot_report_begin(report, strlen(align), align);
    if (groups)
        lot_report_cell(report, "group");
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        if (wide || strstr(titles[i], "spread") == NULL)
            lot_report_cell(report, "%s", titles[i]);
}

static void add_limits(lot_report *report, const lot_comparison *n, bool groups, bool wide)
{
    if (groups)
        lot_report_cell(report, "%zu", n->group + 1);
    lot_report_cell(report, "%s %s (%s clock)", n->phase, n->schedule, n->clock);
    lot_report_cell(report, "%zu", n->devices);
    lot_report_cell(report, "%" PRId64, n->repeats);
    cell_percent(report, n->repeat_noise);
    if (wide) {
        cell_percent(report, n->own_spread);
        cell_percent(report, n->used_spread);
    }
    cell_percent(report, n->typical_threshold);
    cell_percent(report, n->detectable);
}

static lot_status print_limits(checked *r, bool wide, lot_error *error)
{
    const bool groups = r->group_count > 1;
    lot_report report;

    if (r->comparison_count == 0) {
        printf("\nwhat it could not have seen: a slow GPU; no times were compared\n");
        return LOT_OK;
    }
    printf("\nwhat it could not have seen: a GPU slower by less than \"sure to find\" may be missed (95 %%). "
           "Above the \"typical\n"
           "threshold\" a further GPU with the same noise would be called slow; a finding gives the "
           "GPU's own threshold.\n");
    begin_limits(&report, groups, wide);
    for (size_t i = 0; i < r->comparison_count; i++)
        add_limits(&report, &r->comparisons[i], groups, wide);
    return lot_report_print(&report, stdout, error);
}

/* What verified passes say of those that come. By the rule of three 300 of them bound wrong ones at 1 %. */
static void print_passes(const lot_checked_group *group, size_t number)
{
    const lot_counted passes = lot_count(group->verified_passes, "pass");

    if (group->verified_passes == 0)
        printf("group %zu: no pass was verified\n", number);
    else if (group->corrupt)
        printf("group %zu: %s verified, not without a fault\n", number, passes.text);
    else if (isnan(group->corruption_bound))
        printf("group %zu: %s verified without a mismatch: too few to say how many passes are wrong "
               "(95 %%); 300 would show\n  that at most 1 %% are\n",
               number, passes.text);
    else
        printf("group %zu: %s verified without a mismatch: at most %.3g %% of passes are wrong (95 %%)%s\n",
               number, passes.text, 100 * group->corruption_bound,
               group->corruption_bound > 0.1 ? "; 300 would show 1 %" : "");
}

static void print_blindness(checked *r)
{
    double written = NAN;

    for (size_t i = 0; i < r->group_count; i++)
        print_passes(&r->groups[i], i + 1);
    for (size_t i = 0; i < r->device_count; i++)
        written = fmin(written, r->devices[i].written_share);
    if (isnan(written))
        printf("share of device memory written and read back: not known\n");
    else if (100 * written < 0.01)
        printf("of a GPU's memory less than 0.01 %% was written and read back; the rest was not touched\n");
    else
        printf("of each GPU's memory at least %.2f %% was written and read back; the rest was not touched\n",
               100 * written);
    lot_report_line(stdout, "precisions tried: %s", lot_field_shown(r->precisions));
}

/* "0.079365 cents, exactly 5/63", or "N cents" where the fraction is whole. */
static const char *cents(char text[96], int64_t numerator, int64_t denominator)
{
    char decimal[LOT_PRICE_DECIMAL_SIZE];

    lot_price_decimal(numerator, denominator, decimal);
    if (denominator > 1)
        (void)snprintf(text, 96, "%s cents, exactly %" PRId64 "/%" PRId64, decimal, numerator, denominator);
    else
        (void)snprintf(text, 96, "%" PRId64 " cents", numerator);
    return text;
}

/* Why the cost is not known. */
static const char *no_cost(checked *r)
{
    if (isnan(r->elapsed_seconds))
        return r->archive_count > 1 ? "not every archive tells how long its run took"
                                    : "the archive does not tell how long its run took";
    if (!r->cost.priced)
        return r->archive_count > 1 ? "not every archive holds a price" : "the archive holds no price";
    return "the prices of a GPU differ, archives share only some GPUs, or a number is too large";
}

static void print_cost(checked *r)
{
    const lot_check_cost *c = &r->cost;
    char text[96];

    lot_unit_print_seconds(text, sizeof text, r->elapsed_seconds);
    printf("time used on %s", lot_count(r->ranks, "rank").text);
    if (r->archive_count > 1)
        printf(" of %s in all", lot_count((int64_t)r->archive_count, "archive").text);
    printf(": %s", isnan(r->elapsed_seconds) ? "not known" : text);
    if (!c->known) {
        printf("\ncost: not known, %s\n", no_cost(r));
        return;
    }
    printf("\nthe time used cost %s, of %" PRId64 " cents for %s\n",
           cents(text, c->check_numerator, c->check_denominator), c->total_cents,
           lot_count(c->days, "day").text);
    if (c->lost_millionths == 0) {
        printf("missing throughput of slow, failed and lost GPUs: none\n");
        return;
    }
    printf("missing throughput of slow, failed and lost GPUs, over the rental:\n"
           "  %.6f GPUs, %.6f GPU-hours and %s\n",
           (double)c->lost_millionths / 1e6, (double)c->lost_gpu_hour_millionths / 1e6,
           cents(text, c->lost_numerator, c->lost_denominator));
}

lot_status lot_check_limits_print(const lot_check_result *r, bool wide, lot_error *error)
{
    const lot_status status = print_limits(r, wide, error);

    print_blindness(r);
    print_cost(r);
    return status;
}
