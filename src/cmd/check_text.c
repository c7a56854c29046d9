#include "cmd/check_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/check_limits.h"
#include "core/count.h"
#include "core/field.h"
#include "core/units.h"
#include "io/report.h"

/* Above this only GPUs that are not ok are listed, unless all are asked for. */
#define GPUS_IN_A_LIST 64

typedef const lot_check_result checked;

/* ---- columns, of which a table shows those that tell something ---- */

/* One column of a table about the items [0, count) of the result. */
typedef struct column {
    const char *title;
    char align;
    bool wide;                 /* only where every column is asked for */
    bool (*tells)(checked *r); /* NULL: always */
    void (*cell)(lot_report *report, checked *r, size_t item);
} column;

#define COLUMNS_MOST 16

typedef struct table {
    const column *shown[COLUMNS_MOST];
    char align[COLUMNS_MOST + 1];
    size_t count;
} table;

static void choose(table *t, const column *columns, size_t count, checked *r, bool wide)
{
    t->count = 0;
    for (size_t i = 0; i < count && t->count < COLUMNS_MOST; i++)
        if ((wide || !columns[i].wide) && (columns[i].tells == NULL || columns[i].tells(r))) {
            t->align[t->count] = columns[i].align;
            t->shown[t->count++] = &columns[i];
        }
    t->align[t->count] = '\0';
}

static void begin(const table *t, lot_report *report)
{
    lot_report_begin(report, t->count, t->align);
    for (size_t i = 0; i < t->count; i++)
        lot_report_cell(report, "%s", t->shown[i]->title);
}

static void add(const table *t, lot_report *report, checked *r, size_t item)
{
    for (size_t i = 0; i < t->count; i++)
        t->shown[i]->cell(report, r, item);
}

static bool several_archives(checked *r)
{
    return r->archive_count > 1;
}

static bool several_groups(checked *r)
{
    return r->group_count > 1;
}

/* ---- archives and groups ---- */

static lot_status print_archives(checked *r, const char *against, lot_error *error)
{
    lot_report report;

    lot_report_begin(&report, 5, "lllll");
    for (size_t i = 0; i < r->archive_count; i++) {
        const lot_checked_archive *a = &r->archives[i];

        if (several_archives(r))
            lot_report_cell(&report, "archive %zu", i + 1);
        else
            lot_report_cell(&report, "archive");
        lot_report_cell(&report, "%s", lot_field_shown(a->file));
        lot_report_cell(&report, "%s", lot_field_shown(a->label));
        lot_report_cell(&report, "%s", lot_field_shown(a->run_id));
        lot_report_cell(&report, "%s", lot_count(a->ranks, "rank").text);
    }
    if (against != NULL) {
        lot_report_cell(&report, "against");
        lot_report_cell(&report, "%s", against);
        lot_report_cell(&report, "%s", "");
        lot_report_cell(&report, "%s", lot_field_shown(r->against_run_id));
        lot_report_cell(&report, "%s", "");
    }
    return lot_report_print(&report, stdout, error);
}

/* Whether nothing of what is printed of two groups tells them apart. */
static bool looks_like(const lot_checked_group *a, const lot_checked_group *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->configuration, b->configuration) == 0 &&
           strcmp(a->library, b->library) == 0;
}

static void print_groups(checked *r)
{
    for (size_t i = 0; i < r->group_count; i++) {
        const lot_checked_group *g = &r->groups[i];

        lot_report_line(stdout, "group %zu: %zu x %s%s", i + 1, g->devices, g->name,
                        g->devices > 1 ? "" : ", alone: no verdict by peers");
        lot_report_line(stdout, "  %s", g->configuration);
        lot_report_line(stdout, "  %s", g->library);
        if (i > 0 && looks_like(g, g - 1))
            lot_report_line(stdout, "  unlike group %zu: %s", i, g->difference);
    }
}

/* ---- GPUs ---- */

static void cell_archive(lot_report *report, checked *r, size_t i)
{
    lot_report_cell(report, "%zu", r->devices[i].archive + 1);
}

static void cell_rank(lot_report *report, checked *r, size_t i)
{
    lot_report_cell(report, "%" PRId64, r->devices[i].rank);
}

static void cell_host(lot_report *report, checked *r, size_t i)
{
    lot_report_cell(report, "%s", lot_field_shown(r->devices[i].host));
}

static void cell_pci(lot_report *report, checked *r, size_t i)
{
    lot_report_cell(report, "%s", lot_field_shown(r->devices[i].pci_address));
}

static bool tells_pci(checked *r)
{
    for (size_t i = 0; i < r->device_count; i++)
        if (r->devices[i].pci_address[0] != '\0')
            return true;
    return false;
}

static void cell_uuid(lot_report *report, checked *r, size_t i)
{
    lot_report_cell(report, "%s", lot_field_shown(r->devices[i].uuid));
}

static void cell_group(lot_report *report, checked *r, size_t i)
{
    lot_report_cell(report, "%zu", r->devices[i].group + 1);
}

static void cell_median(lot_report *report, checked *r, size_t i)
{
    lot_report_seconds(report, r->devices[i].median_seconds);
}

static void cell_clock(lot_report *report, checked *r, size_t i)
{
    lot_report_cell(report, "%s", lot_field_shown(r->devices[i].clock));
}

static void cell_slower(lot_report *report, checked *r, size_t i)
{
    const lot_estimate *e = &r->devices[i].slower;

    if (isnan(e->value))
        lot_report_cell(report, "-");
    else if (isnan(e->low))
        lot_report_cell(report, "%s %% (no interval)", lot_unit_signed_percent(e->value).text);
    else
        lot_report_cell(report, "%s %% (%s to %s)", lot_unit_signed_percent(e->value).text,
                        lot_unit_signed_percent(e->low).text, lot_unit_signed_percent(e->high).text);
}

static void cell_contention(lot_report *report, checked *r, size_t i)
{
    const lot_estimate *e = &r->devices[i].contention;

    if (isnan(e->value))
        lot_report_cell(report, "-");
    else
        lot_report_cell(report, "%.3f (%.3f to %.3f)", e->value, e->low, e->high);
}

static bool tells_contention(checked *r)
{
    for (size_t i = 0; i < r->device_count; i++)
        if (!isnan(r->devices[i].contention.value))
            return true;
    return false;
}

static void cell_verdicts(lot_report *report, checked *r, size_t i)
{
    char verdicts[160];

    lot_verdicts_print(verdicts, sizeof verdicts, r->devices[i].verdicts);
    lot_report_cell(report, "%s", verdicts);
}

static const column device_columns[] = {
    {"archive", 'r', false, several_archives, cell_archive},
    {"rank", 'r', false, NULL, cell_rank},
    {"host", 'l', false, NULL, cell_host},
    {"PCI address", 'l', false, tells_pci, cell_pci},
    {"UUID", 'l', true, NULL, cell_uuid},
    {"group", 'r', false, several_groups, cell_group},
    {"warm median", 'r', false, NULL, cell_median},
    {"clock", 'l', true, NULL, cell_clock},
    {"slower (95 %)", 'r', false, NULL, cell_slower},
    {"contention (95 %)", 'r', false, tells_contention, cell_contention},
    {"verdict", 'l', false, NULL, cell_verdicts},
};

static lot_status print_devices(checked *r, const lot_check_text_options *options, lot_error *error)
{
    const bool every = options->all || r->device_count <= GPUS_IN_A_LIST;
    size_t left_out = 0;
    lot_report report;
    lot_status status;
    table t;

    choose(&t, device_columns, sizeof device_columns / sizeof device_columns[0], r, options->wide);
    begin(&t, &report);
    for (size_t i = 0; i < r->device_count; i++)
        if (every || r->devices[i].verdicts != 0)
            add(&t, &report, r, i);
        else
            left_out++;
    status = lot_report_print(&report, stdout, error);
    if (left_out > 0)
        printf("and %s that %s ok; --all lists them\n", lot_count((int64_t)left_out, "GPU").text,
               left_out == 1 ? "is" : "are");
    return status;
}

/* ---- findings ---- */

/* "archive 2 rank 1", or without the archive where there is one. */
typedef struct place_name {
    char text[64];
} place_name;

static place_name name_of(checked *r, size_t device)
{
    const lot_checked_device *d = &r->devices[device];
    place_name name;
    int used = 0;

    if (several_archives(r))
        used = snprintf(name.text, sizeof name.text, "archive %zu ", d->archive + 1);
    (void)snprintf(name.text + used, sizeof name.text - (size_t)used, "rank %" PRId64, d->rank);
    return name;
}

static void print_owner(checked *r, size_t device)
{
    if (device == LOT_NO_DEVICE_INDEX)
        printf("the rental\n");
    else
        lot_report_line(stdout, "%s, host %s, %s", name_of(r, device).text,
                        lot_field_shown(r->devices[device].host), lot_field_shown(r->devices[device].uuid));
}

/* One GPU's findings, [first, end). */
static lot_status print_one(checked *r, size_t first, size_t end, lot_error *error)
{
    lot_report report;

    print_owner(r, r->findings[first].device);
    lot_report_begin(&report, 3, "lll");
    for (size_t i = first; i < end; i++) {
        const lot_finding *f = &r->findings[i];

        lot_report_cell(&report, "  %s (%s)", lot_verdict_name(f->verdict), lot_evidence_name(f->evidence));
        lot_report_cell(&report, "%s%s%s", f->phase, f->schedule[0] != '\0' ? " " : "", f->schedule);
        lot_report_cell(&report, "%s", f->text);
    }
    return lot_report_print(&report, stdout, error);
}

static lot_status print_findings(checked *r, lot_error *error)
{
    lot_status status = LOT_OK;
    size_t end;

    if (r->finding_count > 0)
        printf("\nfindings: verdict (what decided), where\n");
    for (size_t first = 0; status == LOT_OK && first < r->finding_count; first = end) {
        for (end = first + 1; end < r->finding_count && r->findings[end].device == r->findings[first].device;)
            end++;
        status = print_one(r, first, end, error);
    }
    return status;
}

/* Undecided is also what had nothing to compare its speed with. */
static bool bits_in_question(const lot_finding *f)
{
    return f->verdict == LOT_VERDICT_CORRUPT ||
           (f->verdict == LOT_VERDICT_UNDECIDED && strcmp(f->measure, "digest") == 0);
}

static void print_difference(checked *r, const lot_localised *l)
{
    printf("%s against %s: layer %" PRId64 " (%s), %" PRId64, name_of(r, l->device).text,
           l->against == l->device ? "its own first pass" : name_of(r, l->against).text, l->layer,
           l->layer == 1 ? "Linear and GELU" : "Linear, the output", l->differing);
    if (l->compared != LOT_NULL_I64)
        printf(" of %" PRId64, l->compared);
    printf(" elements in %s,\n  first row %" PRId64 " element %" PRId64 ", at most %s of one\n",
           lot_count(l->rows, "row").text, l->first_row, l->first_element,
           lot_count(l->bits_most, "bit").text);
}

/* Where the bits differ; or, where bits are in question and nothing says so, why. */
static void print_localised(checked *r)
{
    bool wanted = false;

    for (size_t i = 0; i < r->finding_count; i++)
        wanted |= bits_in_question(&r->findings[i]);
    if (wanted && r->localised_count == 0)
        printf("\nwhere the bits differ is not known: %s\n",
               r->sampled ? "the sampled rows hold no difference, other rows or passes do"
                          : "a measurement with --localise keeps sampled rows, which tell");
    if (r->localised_count > 0)
        printf("\nwhere the bits differ, in sampled rows\n");
    for (size_t i = 0; i < r->localised_count; i++)
        print_difference(r, &r->localised[i]);
}

/* ---- the end ---- */

/* Whether the times of some group say so little that "ok" must not be taken for "fast". */
static bool is_blind(checked *r)
{
    for (size_t i = 0; i < r->finding_count; i++)
        if (strcmp(r->findings[i].measure, "detectable") == 0)
            return true;
    return false;
}

static lot_status print_conclusion(checked *r, lot_error *error)
{
    lot_status status = LOT_OK;
    size_t good = 0;

    printf("\n");
    if (several_archives(r)) {
        lot_report report;

        lot_report_begin(&report, 3, "lll");
        for (size_t i = 0; i < r->archive_count; i++) {
            lot_report_cell(&report, "archive %zu", i + 1);
            lot_report_cell(&report, "%s", lot_field_shown(r->archives[i].file));
            lot_report_cell(&report, "%zu of %s ok", r->archives[i].good,
                            lot_count(r->archives[i].ranks, "GPU").text);
        }
        status = lot_report_print(&report, stdout, error);
    }
    printf("judged by gpulot %s with --prior %g %%, --level %g %%, --soak-passes %" PRId64 "\n",
           GPULOT_VERSION, 100 * r->prior, 100 * r->level, r->soak_passes);
    for (size_t i = 0; i < r->archive_count; i++)
        good += r->archives[i].good;
    printf("%zu of %s ok%s\n", good, lot_count(r->ranks, "GPU").text,
           good > 0 && is_blind(r) ? ", but times vary too much to say of all that they are not slow" : "");
    return status;
}

lot_status lot_check_text_print(const lot_check_result *r, const lot_check_text_options *options,
                                lot_error *error)
{
    lot_status status;

    if (r->simulated)
        printf("SIMULATED: the devices are a simulator for tests. Nothing here is a measurement of a GPU.\n");
    status = print_archives(r, options->against, error);
    print_groups(r);
    printf("\n");
    if (status == LOT_OK)
        status = print_devices(r, options, error);
    if (status == LOT_OK)
        status = print_findings(r, error);
    print_localised(r);
    if (status == LOT_OK)
        status = lot_check_limits_print(r, options->wide, error);
    return status == LOT_OK ? print_conclusion(r, error) : status;
}
