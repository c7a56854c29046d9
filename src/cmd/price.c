/* gpulot price: what whole lots cost, and what a unit of accepted work costs. */
#include "analysis/price.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rental.h"
#include "analysis/tariff_match.h"
#include "cmd/command.h"
#include "cmd/price_text.h"
#include "core/count.h"
#include "io/archive_h5.h"
#include "io/price_json.h"
#include "io/protocol_json.h"
#include "io/report.h"
#include "io/tariffs_csv.h"

typedef struct price_config {
    const char *tariffs;
    const char *gpu;
    const char *days;
    int64_t lots;
    int64_t ranks;
    lot_text_list archives;
    bool at_launch;
    int64_t accepted_results;
    const char *protocol;
    const char *columns;
    bool json;
} price_config;

static const lot_option options[] = {
    {.name = "--tariffs",
     .argument = "FILE",
     .kind = LOT_OPTION_TEXT,
     .offset = offsetof(price_config, tariffs),
     .help = "catalogue of tariffs, CSV as in prices.md; there is no default one"},
    {.name = "--gpu",
     .argument = "MODEL",
     .kind = LOT_OPTION_TEXT,
     .offset = offsetof(price_config, gpu),
     .help = "model as the catalogue writes it; may be left out if the archive leaves no doubt"},
    {.name = "--days",
     .argument = "D",
     .kind = LOT_OPTION_TEXT,
     .offset = offsetof(price_config, days),
     .help = "rental period in days",
     .choices = LOT_TARIFF_DAYS},
    {.name = "--lots",
     .argument = "L",
     .kind = LOT_OPTION_INTEGER,
     .least = 1,
     .most = INT64_MAX,
     .offset = offsetof(price_config, lots),
     .help = "lots rented; must hold the ranks, if these are known"},
    {.name = "--ranks",
     .argument = "R",
     .kind = LOT_OPTION_INTEGER,
     .least = 1,
     .most = INT64_MAX,
     .offset = offsetof(price_config, ranks),
     .help = "ranks, one GPU each; as many whole lots as they need"},
    {.name = "--archive",
     .argument = "RUN.h5",
     .kind = LOT_OPTION_LIST,
     .offset = offsetof(price_config, archives),
     .help = "take the ranks that a run launched; several runs of one rental share its GPUs"},
    {.name = "--at-launch",
     .kind = LOT_OPTION_FLAG,
     .offset = offsetof(price_config, at_launch),
     .help = "use the price that the archive has kept since the launch; needs no catalogue"},
    {.name = "--accepted-results",
     .argument = "N",
     .kind = LOT_OPTION_INTEGER,
     .least = 1,
     .most = INT64_MAX,
     .offset = offsetof(price_config, accepted_results),
     .help = "distinct useful units that were accepted; gives the unit cost"},
    {.name = "--protocol",
     .argument = "FILE",
     .kind = LOT_OPTION_TEXT,
     .offset = offsetof(price_config, protocol),
     .help = "the rule by which units were accepted, JSON as in quality-protocol.md"},
    {.name = "--columns",
     .argument = "MAP",
     .kind = LOT_OPTION_TEXT,
     .offset = offsetof(price_config, columns),
     .help = "the catalogue's header names: gpu=NAME,days=NAME,...,ignore=NAME"},
    {.name = "--json", .kind = LOT_OPTION_FLAG, .offset = offsetof(price_config, json), .help = "print JSON"},
};

/* Everything that a price is made from, in the order in which it becomes known. */
typedef struct price_job {
    const price_config *config;
    int64_t faults; /* of the catalogue, printed already */
    lot_rental rental;
    lot_rental_need need;
    bool has_terms; /* the one archive keeps a price */
    lot_launch_terms terms;
    lot_catalogue catalogue;
    lot_price_demand demand;
    lot_price price;
    lot_protocol protocol;
    lot_notes notes;
    lot_price_report report;
} price_job;

/* ---- what belongs together ---- */

static lot_status refuse(lot_error *error, const char *option, const char *text)
{
    return lot_error_set(error, LOT_USAGE, option, 0, "%s: %s", option, text);
}

static lot_status require(lot_error *error, const char *option, const char *text)
{
    return lot_error_set(error, LOT_USAGE, option, 0, "%s is required: %s", option, text);
}

static lot_status check_at_launch(const price_config *config, lot_error *error)
{
    if (config->archives.count != 1)
        return refuse(error, "--at-launch", "needs exactly one --archive, the run whose price it is");
    if (config->tariffs != NULL || config->gpu != NULL || config->days != NULL || config->lots != 0 ||
        config->columns != NULL)
        return refuse(
            error, "--at-launch",
            "the archive tells the tariff; --tariffs, --gpu, --days, --lots and --columns do not go with it");
    return LOT_OK;
}

static lot_status check_options(const price_config *config, lot_error *error)
{
    int period;

    if (config->ranks != 0 && config->archives.count != 0)
        return refuse(error, "--ranks", "an archive tells the ranks itself; give --ranks or --archive");
    if (config->protocol != NULL && config->accepted_results == 0)
        return refuse(error, "--protocol", "says how units were accepted; it needs --accepted-results");
    if (config->at_launch)
        return check_at_launch(config, error);
    if (config->tariffs == NULL)
        return require(
            error, "--tariffs",
            "no catalogue is loaded by default; --at-launch takes the price that an archive has kept");
    if (config->gpu == NULL && config->archives.count == 0)
        return require(error, "--gpu", "which model is rented");
    if (config->days == NULL)
        return require(error, "--days", LOT_TARIFF_DAYS);
    if (!lot_parse_choice(config->days, LOT_TARIFF_DAYS, &period))
        return lot_error_set(error, LOT_USAGE, "--days", 0, "--days: '%.40s' is not allowed: %s",
                             config->days, LOT_TARIFF_DAYS);
    if (config->lots == 0 && config->ranks == 0 && config->archives.count == 0)
        return refuse(error, "--lots", "one of --lots, --ranks and --archive is required");
    return LOT_OK;
}

/* ---- archives ---- */

static lot_status read_archive(price_job *job, const char *path, lot_error *error)
{
    lot_run run;
    lot_error reason;
    lot_status status;

    lot_run_init(&run);
    status = lot_archive_read_devices(path, &run, error);
    if (status == LOT_OK) {
        status = lot_rental_add(&job->rental, &run, &reason);
        if (status != LOT_OK)
            (void)lot_error_set(error, status, reason.call, reason.code, "%s: %s", path, reason.text);
    }
    if (status == LOT_OK && run.tariff_json != NULL && run.tariff_json[0] != '\0') {
        if (lot_launch_price_read(run.tariff_json, &job->terms, &reason) == LOT_OK)
            job->has_terms = true;
        else if (job->config->at_launch)
            status =
                lot_error_set(error, reason.status, reason.call, reason.code, "%s: %s", path, reason.text);
        else
            lot_notes_add(&job->notes, "%s", reason.text);
    }
    lot_run_free(&run);
    return status;
}

static lot_status read_archives(price_job *job, lot_error *error)
{
    const lot_text_list *archives = &job->config->archives;
    lot_status status = LOT_OK;

    for (size_t i = 0; status == LOT_OK && i < archives->count; i++)
        status = read_archive(job, archives->items[i], error);
    if (status == LOT_OK && archives->count > 0)
        job->need = lot_rental_count(&job->rental);
    return status;
}

/* ---- the tariff ---- */

static void print_fault(void *context, int64_t line, const char *text)
{
    price_job *job = context;

    job->faults++;
    lot_report_line(stderr, "gpulot price: %s:%" PRId64 ": %s", job->config->tariffs, line, text);
}

static lot_status read_catalogue(price_job *job, lot_error *error)
{
    lot_tariffs_columns columns;
    const lot_tariffs_reading reading = {.columns = &columns, .fault = print_fault, .context = job};
    lot_status status = lot_tariffs_map(job->config->columns, &columns, error);

    if (status == LOT_OK)
        status = lot_tariffs_read(job->config->tariffs, &reading, &job->catalogue, error);
    if (job->faults > 0)
        error->text[0] = '\0'; /* one line a fault, and each is printed */
    return status;
}

static lot_status find_by_device(price_job *job, lot_error *error)
{
    const lot_rental *rental = &job->rental;

    if (rental->any_host)
        return require(error, "--gpu", "the ranks were measured on a CPU, which names no GPU");
    if (rental->device_name[0] == '\0')
        return require(error, "--gpu", "the archive names no device");
    if (rental->names_differ)
        return require(error, "--gpu", "the devices of the archive are not all of one model");
    return lot_tariff_find_device(&job->catalogue, rental->device_name, &job->report.tariff, error);
}

static lot_status choose_tariff(price_job *job, lot_error *error)
{
    const price_config *config = job->config;
    lot_status status = read_catalogue(job, error);
    int period = 0;

    if (status != LOT_OK)
        return status;
    (void)lot_parse_choice(config->days, LOT_TARIFF_DAYS, &period);
    job->report.file = config->tariffs;
    job->report.period = (size_t)period;
    job->demand.lots = config->lots;
    job->demand.ranks = config->archives.count > 0 ? job->need.gpus : config->ranks;
    if (config->gpu == NULL)
        return find_by_device(job, error);
    return lot_tariff_find(&job->catalogue, config->gpu, &job->report.tariff, error);
}

static char *copy_or_null(const char *text)
{
    return text[0] != '\0' ? strdup(text) : NULL;
}

/* The archive's own terms as a catalogue of one row. */
static lot_status use_terms(price_job *job, lot_error *error)
{
    const lot_launch_terms *terms = &job->terms;
    lot_catalogue *catalogue = &job->catalogue;
    lot_tariff *tariff;

    if (!job->has_terms)
        return lot_error_set(error, LOT_INPUT, "--at-launch", 0,
                             "%s keeps no price: it was measured without --tariffs",
                             job->config->archives.items[0]);
    tariff = calloc(1, sizeof *tariff);
    if (tariff == NULL || (tariff->gpu = strdup(terms->gpu)) == NULL) {
        free(tariff);
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for the tariff");
    }
    catalogue->tariffs = tariff;
    catalogue->tariff_count = 1;
    catalogue->title = copy_or_null(terms->title);
    catalogue->snapshot_date = copy_or_null(terms->snapshot_date);
    catalogue->source = copy_or_null(terms->source);
    catalogue->is_example = terms->is_example;
    (void)lot_field_copy(catalogue->sha256, sizeof catalogue->sha256, terms->sha256);
    job->report.file = terms->file;
    job->report.period = lot_tariff_period(terms->days);
    job->report.tariff = tariff;
    tariff->gpus_per_lot = terms->price.gpus_per_lot;
    tariff->lot_price_cents[job->report.period] = terms->price.lot_price_cents;
    tariff->line[job->report.period] = terms->line;
    job->demand.lots = terms->price.lots;
    job->demand.ranks = terms->price.ranks;
    return LOT_OK;
}

/* ---- the protocol ---- */

static lot_status read_protocol(price_job *job, lot_error *error)
{
    const price_config *config = job->config;
    lot_status status;

    if (config->protocol == NULL)
        return LOT_OK;
    status = lot_protocol_read(config->protocol, &job->protocol, error);
    if (status == LOT_OK && config->archives.count > 0)
        status = lot_protocol_check_before(&job->protocol, job->rental.earliest_utc, error);
    if (status != LOT_OK)
        return status;
    job->report.protocol = &job->protocol;
    job->report.protocol_file = config->protocol;
    job->report.protocol_before_run = config->archives.count > 0;
    return LOT_OK;
}

/* ---- notes ---- */

static void note_archives(price_job *job)
{
    const lot_rental *rental = &job->rental;
    const lot_rental_need *need = &job->need;

    if (rental->any_host)
        lot_notes_add(&job->notes, "the ranks were measured on a CPU, which stands for a GPU here");
    else if (rental->device_name[0] != '\0' &&
             !lot_tariff_fits_device(job->report.tariff->gpu, rental->device_name))
        lot_notes_add(&job->notes, "the device calls itself '%s', which need not be '%s'",
                      rental->device_name, job->report.tariff->gpu);
    if (rental->names_differ)
        lot_notes_add(&job->notes, "the devices are not all of one model; they are priced as '%s'",
                      job->report.tariff->gpu);
    if (need->ranks != need->gpus)
        lot_notes_add(&job->notes, "%s of %s used %s, each counted once", lot_count(need->ranks, "rank").text,
                      lot_count((int64_t)rental->run_count, "run").text, lot_count(need->gpus, "GPU").text);
    if (need->unknown > 0)
        lot_notes_add(&job->notes, "ranks whose GPU is not known: %" PRId64 "; each counts as one more GPU",
                      need->unknown);
    if (rental->failed_ranks > 0)
        lot_notes_add(&job->notes, "ranks that failed or were lost: %zu; they were paid for all the same",
                      rental->failed_ranks);
    if (rental->repeated_runs > 0)
        lot_notes_add(&job->notes, "a run is given more than once; it counts once");
    if (job->has_terms && !job->config->at_launch && rental->run_count == 1 &&
        (job->terms.price.total_price_cents != job->price.total_price_cents ||
         strcmp(job->terms.sha256, job->catalogue.sha256) != 0))
        lot_notes_add(&job->notes,
                      "at launch the price was %s for %s of '%s' for %s, from the catalogue with SHA-256 %s; "
                      "--at-launch prints it",
                      lot_count(job->terms.price.total_price_cents, "cent").text,
                      lot_count(job->terms.price.lots, "lot").text, job->terms.gpu,
                      lot_count(job->terms.days, "day").text, job->terms.sha256);
}

static void note_all(price_job *job)
{
    const price_config *config = job->config;

    if (job->catalogue.is_example)
        lot_notes_add(&job->notes, "EXAMPLE PRICES: the catalogue says that they are nobody's tariff");
    if (job->catalogue.snapshot_date == NULL)
        lot_notes_add(&job->notes, "the catalogue does not tell of which day its prices are");
    if (config->archives.count > 0)
        note_archives(job);
    if (job->price.ranks == 0)
        lot_notes_add(&job->notes, "the ranks are not known, so neither are the idle GPUs");
    if (config->accepted_results == 0)
        lot_notes_add(&job->notes, "no accepted results were given, so there is no unit cost");
    else if (config->protocol == NULL)
        lot_notes_add(&job->notes,
                      "no quality protocol was given: by which rule the results were accepted is not known");
    else if (!job->report.protocol_before_run)
        lot_notes_add(&job->notes,
                      "no archive was given, so the protocol's date was not checked against a run");
    lot_notes_add(&job->notes,
                  "whole lots for whole periods; a catalogue proves neither availability nor a reservation");
}

static lot_status print(const price_job *job, lot_error *error)
{
    char *json = NULL;
    lot_status status;

    if (!job->config->json) {
        lot_price_text_print(&job->report);
        return LOT_OK;
    }
    status = lot_price_json_write(&job->report, &json, error);
    if (status == LOT_OK)
        printf("%s\n", json);
    free(json);
    return status;
}

/* ---- the command ---- */

static lot_status work_out(price_job *job, lot_error *error)
{
    const price_config *config = job->config;
    lot_status status = check_options(config, error);

    job->report.catalogue = &job->catalogue;
    job->report.price = &job->price;
    job->report.notes = &job->notes;
    job->demand.accepted_results = config->accepted_results;
    if (status == LOT_OK)
        status = read_archives(job, error);
    if (status == LOT_OK)
        status = config->at_launch ? use_terms(job, error) : choose_tariff(job, error);
    if (status == LOT_OK)
        status = lot_price_compute(job->report.tariff, job->report.period, &job->demand, &job->price, error);
    if (status == LOT_OK)
        status = read_protocol(job, error);
    return status;
}

static lot_status run(const void *options_given, lot_error *error)
{
    price_job *job = calloc(1, sizeof *job);
    lot_status status;

    if (job == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for a price");
    job->config = options_given;
    status = work_out(job, error);
    if (status == LOT_OK) {
        note_all(job);
        status = print(job, error);
    }
    lot_protocol_free(&job->protocol);
    lot_catalogue_free(&job->catalogue);
    lot_rental_free(&job->rental);
    free(job);
    return status;
}

const lot_command lot_command_price = {
    .name = "price",
    .summary = "what whole lots and a unit of accepted work cost",
    .synopsis = "--tariffs FILE --gpu MODEL --days D (--lots L | --ranks R | --archive RUN.h5) [options]\n"
                "       gpulot price --at-launch --archive RUN.h5 [options]",
    .description =
        "Price of whole lots for a whole rental period, exact to the cent: lots x lot price. Lots are\n"
        "matched to the ranks launched, and GPUs that are paid for but idle are shown. No conversion, no\n"
        "hourly share, no partial lot. With --accepted-results it adds the unit cost: the whole price\n"
        "divided by the units accepted; repeats of one benchmark do not count. A catalogue proves\n"
        "neither availability nor a reservation.",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .config_size = sizeof(price_config),
    .run = run,
};
