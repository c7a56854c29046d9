/* gpulot baseline: several archives of the same GPUs made into one thing to compare with. */
#include "analysis/baseline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/observed_archive.h"
#include "core/count.h"
#include "core/distributions.h"
#include "io/atomic_file.h"
#include "io/baseline_file.h"
#include "io/report.h"

/* Of the interval that the report tells the width of: compare's own level, for one time. */
#define SHOWN_LEVEL 0.01

typedef struct baseline_config {
    int action;
    lot_text_list files;
    const char *output;
} baseline_config;

static const lot_option options[] = {
    {.name = "ACTION",
     .kind = LOT_OPTION_CHOICE,
     .flags = LOT_OPTION_REQUIRED,
     .offset = offsetof(baseline_config, action),
     .help = "what to do",
     .choices = "make"},
    {.name = "FILES",
     .kind = LOT_OPTION_LIST,
     .flags = LOT_OPTION_REQUIRED,
     .offset = offsetof(baseline_config, files),
     .help = "archives of the same work"},
    {.name = "--output",
     .argument = "F",
     .kind = LOT_OPTION_TEXT,
     .flags = LOT_OPTION_REQUIRED,
     .offset = offsetof(baseline_config, output),
     .help = "the baseline to make; an existing file is never overwritten"},
};

/* Oldest first: what is kept of one archive alone is that of the last one. */
static int by_begin(const void *a, const void *b)
{
    const lot_observed_run *x = a, *y = b;
    const int begun = strcmp(x->header.created_utc, y->header.created_utc);

    return begun != 0 ? begun : strcmp(x->header.run_id, y->header.run_id);
}

static lot_status read_all(const lot_text_list *files, lot_observed_run *runs, lot_error *error)
{
    lot_status status = LOT_OK;

    for (size_t i = 0; status == LOT_OK && i < files->count; i++)
        status = lot_observed_archive_read(files->items[i], true, &runs[i], NULL, error);
    if (status == LOT_OK)
        qsort(runs, files->count, sizeof *runs, by_begin);
    return status;
}

/* What was made, and how well it knows the noise between its archives. */
static void report(const char *output, const lot_baseline *baseline)
{
    const double dof = lot_baseline_dof(baseline, baseline->device_count);

    lot_report_line(stdout, "%s: %s of %s", output, lot_count((int64_t)baseline->device_count, "GPU").text,
                    lot_count(baseline->archives, "archive").text);
    if (dof < LOT_BASELINE_LEAST_DOF)
        printf("%s of freedom for the noise between archives, %d are needed: compare will judge no speed by "
               "it\n",
               lot_count((int64_t)dof, "degree").text, LOT_BASELINE_LEAST_DOF);
    else if (!isnan(dof))
        printf("%.3g degrees of freedom for the noise between archives: an interval that covers %.0f %%\n"
               "reaches %.3g times that noise to either side, with very many archives %.3g times\n",
               dof, 100 * (1 - SHOWN_LEVEL), lot_student_quantile(SHOWN_LEVEL / 2, dof),
               lot_normal_quantile(SHOWN_LEVEL / 2));
}

static lot_status run(const void *options_given, lot_error *error)
{
    const baseline_config *config = options_given;
    lot_observed_run *runs = calloc(config->files.count, sizeof *runs);
    lot_baseline baseline = {0};
    lot_status status;

    if (runs == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for %zu archives",
                             config->files.count);
    status = lot_atomic_check(config->output, error);
    if (status == LOT_OK)
        status = read_all(&config->files, runs, error);
    if (status == LOT_OK)
        status = lot_baseline_make(runs, config->files.count, &baseline, error);
    if (status == LOT_OK)
        status = lot_baseline_usable(&baseline, error);
    if (status == LOT_OK)
        status = lot_baseline_write(config->output, &baseline, error);
    if (status == LOT_OK)
        report(config->output, &baseline);
    for (size_t i = 0; i < config->files.count; i++)
        lot_observed_free(&runs[i]);
    free(runs);
    lot_baseline_free(&baseline);
    return status;
}

const lot_command lot_command_baseline = {
    .name = "baseline",
    .summary = "several archives combined into one to compare with",
    .synopsis = "make FILES... --output F",
    .description =
        "Combines several archives of the same work: for each GPU, by UUID, the middle of its times and\n"
        "how much they vary from archive to archive, a noise that gpulot compare then takes into account.\n"
        "That takes at least three archives of one GPU, or two of two GPUs; with five archives of some\n"
        "GPUs its intervals are narrow.",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .config_size = sizeof(baseline_config),
    .run = run,
};
