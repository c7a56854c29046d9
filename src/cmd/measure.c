/* gpulot measure: leads one rank from its arguments to the archive. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/gathering.h"
#include "cmd/price_at_launch.h"
#include "cmd/progress.h"
#include "core/clock.h"
#include "gpu/loader.h"
#include "io/archive_h5.h"
#include "io/record_json.h"
#include "io/spool.h"
#include "measure/bind.h"
#include "measure/comm.h"
#include "measure/config.h"
#include "measure/host.h"
#include "measure/launch.h"
#include "measure/ledger.h"
#include "measure/protocol.h"
#include "measure/worker.h"

#define FIRST_MEETING "start"

/* The one thing that a signal handler can reach. */
static volatile sig_atomic_t stop_signal;

static void on_signal(int number)
{
    stop_signal = number;
}

/* One rank's measurement. */
typedef struct measurement {
    lot_measure_config config;
    lot_launch launch;
    lot_team team;
    lot_worker *worker;
    lot_protocol protocol;
    lot_record record;
    lot_progress progress;
    lot_spool *spool;
    char spool_folder[PATH_MAX];
    int spool_is_own; /* in this host's temporary folder, not where the other ranks' is */
    char run_id[40];
    char *tariff_json;
    int lost;  /* rank 0: ranks that did not hand in their record */
    int pairs; /* pairs of ranks on the fullest host */
    double mpi_start_seconds;
    int opened;      /* the device was asked for, whether it opened or not */
    lot_error ended; /* what ended the phases early; LOT_OK where nothing did */
} measurement;

static const char *from_process(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP};
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        (void)sigaction(numbers[i], &action, NULL);
    /* A reader of the progress that went away must not end the measurement, and a file that reached its limit
     * is told as an error of the write. */
    action.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &action, NULL);
    (void)sigaction(SIGXFSZ, &action, NULL);
}

/* ---- the device ---- */

/* Takes the device that the local rank stands for. A device that is there but broken is a result, not a
 * refusal: it is noted in the record, and the other ranks measure. */
static lot_status open_device(measurement *m, lot_error *error)
{
    char kind[16];
    const lot_device_module *module;
    lot_device_list *list = calloc(1, sizeof *list);
    lot_identity *identity = &m->record.head.identity;
    lot_open_request request = {.protocol = &m->protocol, .sharing = 1};
    const lot_bind_rank rank = {.spec = m->config.device,
                                .local_rank = m->launch.local_rank,
                                .local_size = m->launch.local_size,
                                .allow_shared = m->config.allow_shared};
    lot_status status;

    m->opened = 1;
    if (list == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for the list of devices");
    status = lot_bind_parse(m->config.device, kind, sizeof kind, error);
    if (status == LOT_OK)
        status = lot_loader_load(kind, &module, error);
    if (status == LOT_OK)
        status = module->enumerate(list, error);
    if (status == LOT_OK)
        status = lot_bind_choose(&rank, list, &request.ordinal, identity->binding_reason,
                                 sizeof identity->binding_reason, error);
    if (status == LOT_OK) {
        identity->visible_count = (int64_t)list->count;
        m->record.head.device = list->devices[request.ordinal]; /* a device that does not open is named too */
        request.module = module;
        if (strcmp(kind, "host") == 0)
            request.sharing = m->launch.local_size;
        status = lot_worker_run(m->worker, lot_protocol_open, &request, m->config.phase_timeout_seconds, NULL,
                                NULL, error);
    }
    free(list);
    if (status != LOT_OK && lot_status_exit(status) == 1) {
        lot_record_fail(&m->record, "device_open", error);
        m->protocol.failed = 1;
        *error = (lot_error){.status = LOT_OK}; /* it is in the record, and no vote against the others */
        status = LOT_OK;
    }
    return status;
}

/* ---- the other ranks ---- */

/* A process that MPI leaves alone while its launcher has set it among others would be a run of its own, and
 * each of the others one more, on the same file. */
static lot_status check_team(const lot_launch *launch, const lot_team *team, lot_error *error)
{
    if (team->facts.size >= launch->size)
        return LOT_OK;
    return lot_error_set(error, LOT_LAUNCH, "MPI_Comm_size", 0,
                         "the environment of %s says %d ranks, MPI says %d: start it with the mpirun of this "
                         "MPI (%s), or unset what an earlier launch left",
                         launch->launcher, launch->size, team->facts.size, team->facts.library);
}

static lot_status start_team(const lot_launch *launch, lot_team *team, double limit_seconds, lot_error *error)
{
    const void *table = &lot_comm_alone;
    lot_status status = LOT_OK;

    team->limit_seconds = limit_seconds;
    if (launch->uses_mpi)
        status = lot_loader_symbol("mpi", LOT_COMM_SYMBOL, 1, &table, error);
    if (status != LOT_OK)
        return status;
    team->module = table;
    if (team->module->abi != LOT_COMM_ABI || team->module->size != sizeof *team->module)
        return lot_error_set(
            error, LOT_MODULE_ABI, "dlopen", 0,
            "the module mpi is of interface %u, this program needs %u: install both from one version",
            team->module->abi, LOT_COMM_ABI);
    return team->module->start(&team->comm, &team->facts, error);
}

/* Rank 0 hears all hellos, checks them and what only it checks, and answers. */
static lot_status welcome_all(const lot_team *team, const lot_hello *mine, int allow_shared,
                              lot_status (*last_check)(void *context, lot_error *error), void *context,
                              lot_welcome *welcome, lot_error *error)
{
    const int size = team->facts.size;
    lot_hello *hellos = calloc((size_t)size, sizeof *hellos);
    lot_error found = {0};
    lot_status status;

    if (hellos == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for the ledger of %d ranks", size);
    status = team->module->gather(team->comm, FIRST_MEETING, mine, sizeof *mine, hellos, team->limit_seconds,
                                  &found);
    if (status == LOT_OK)
        status = lot_ledger_check(hellos, size, allow_shared, &found);
    if (status == LOT_OK && last_check != NULL)
        (void)last_check(context, &found);
    lot_comm_vote(&welcome->vote, 0, &found);
    lot_ledger_run_id(welcome->run_id, sizeof welcome->run_id);
    welcome->pairs = lot_ledger_pairs(hellos, size);
    free(hellos);
    return team->module->broadcast(team->comm, FIRST_MEETING, welcome, sizeof *welcome, team->limit_seconds,
                                   error);
}

/* The first meeting: every rank says who it is and whether it can measure; all learn the same answer. */
static lot_status meet_first(const lot_team *team, lot_hello *mine, int allow_shared,
                             lot_status (*last_check)(void *context, lot_error *error), void *context,
                             lot_welcome *welcome, lot_error *error)
{
    lot_status status;

    mine->vote.rank = team->facts.rank;
    memset(welcome, 0, sizeof *welcome);
    if (team->facts.rank == 0) {
        status = welcome_all(team, mine, allow_shared, last_check, context, welcome, error);
    } else {
        status = team->module->gather(team->comm, FIRST_MEETING, mine, sizeof *mine, NULL,
                                      team->limit_seconds, error);
        if (status == LOT_OK)
            status = team->module->broadcast(team->comm, FIRST_MEETING, welcome, sizeof *welcome,
                                             team->limit_seconds, error);
    }
    if (status != LOT_OK || welcome->vote.status == LOT_OK)
        return status;
    return lot_error_set(error, (lot_status)welcome->vote.status, welcome->vote.call, welcome->vote.code,
                         "%s", welcome->vote.text);
}

/* What rank 0 checks when all others are well: the price, which needs the number of ranks. */
static lot_status fix_price(void *context, lot_error *error)
{
    measurement *m = context;
    const lot_launch_price request = {.tariffs = m->config.tariffs,
                                      .gpu = m->config.gpu,
                                      .days = m->config.days,
                                      .lots = m->config.lots,
                                      .columns = m->config.columns};

    if (m->config.tariffs == NULL)
        return LOT_OK;
    return lot_price_at_launch(&request, m->team.facts.size, &m->tariff_json, error);
}

static lot_status introduce(measurement *m, const lot_error *mine, lot_error *error)
{
    const lot_device_facts *device = &m->record.head.device;
    lot_hello hello;
    lot_welcome welcome;
    lot_status status;

    memset(&hello, 0, sizeof hello);
    lot_comm_vote(&hello.vote, 0, mine);
    hello.config_digest = lot_measure_config_digest(&m->config);
    hello.local_rank = m->launch.local_rank;
    hello.ordinal = (int32_t)device->ordinal;
    (void)lot_field_copy(hello.kind, sizeof hello.kind, device->kind);
    lot_host_name(hello.host, sizeof hello.host);
    (void)lot_field_copy(hello.uuid, sizeof hello.uuid, device->uuid);
    (void)lot_field_copy(hello.mig_parent_uuid, sizeof hello.mig_parent_uuid, device->mig_parent_uuid);
    (void)lot_field_copy(hello.pci_address, sizeof hello.pci_address, device->pci_address);
    status = meet_first(&m->team, &hello, m->config.allow_shared, fix_price, m, &welcome, error);
    (void)lot_field_copy(m->run_id, sizeof m->run_id, welcome.run_id);
    m->pairs = welcome.pairs;
    return status;
}

/* ---- the record's fixed part ---- */

/* A step of the setup. Without memory for it the record lacks it; what is measured is not worse for it. */
static void note_step(measurement *m, const char *name, double seconds)
{
    lot_step *step;

    lot_worker_lock(m->worker);
    step = lot_record_add_step(&m->record);
    if (step != NULL) {
        (void)lot_field_copy(step->step, sizeof step->step, name);
        step->seconds = seconds;
    }
    lot_worker_unlock(m->worker);
}

static void fill_identity(measurement *m)
{
    lot_identity *identity = &m->record.head.identity;

    identity->rank = m->team.facts.rank;
    identity->size = m->team.facts.size;
    identity->local_rank = m->launch.local_rank;
    identity->local_size = m->launch.local_size;
    lot_host_name(identity->host, sizeof identity->host);
    lot_launch_identity(&m->launch, identity);
    (void)lot_field_copy(identity->run_id, sizeof identity->run_id, m->run_id);
    (void)lot_field_copy(identity->label, sizeof identity->label,
                         m->config.label != NULL ? m->config.label : "");
    (void)lot_field_copy(identity->device_spec, sizeof identity->device_spec, m->config.device);
    (void)lot_field_copy(m->record.head.environment.mpi_library,
                         sizeof m->record.head.environment.mpi_library, m->team.facts.library);
    lot_archive_hdf5_version(m->record.head.environment.hdf5_version,
                             sizeof m->record.head.environment.hdf5_version);
}

static lot_status fill_variables(lot_record *record, lot_error *error)
{
    const char *name;

    for (size_t i = 0; (name = lot_launch_variable(i)) != NULL; i++) {
        const char *value = getenv(name);
        lot_variable *added;

        if (value == NULL)
            continue;
        added = lot_record_add_variable(record);
        if (added == NULL)
            return lot_error_set(error, LOT_MEMORY, "realloc", 0,
                                 "no memory for the environment's variables");
        (void)lot_field_copy(added->name, sizeof added->name, name);
        (void)lot_field_copy(added->value, sizeof added->value, value);
    }
    return LOT_OK;
}

/* ---- progress on disk ---- */

/* The folder that was asked for, or one beside the archive. A host that does not share the archive's file
 * system keeps its ranks' progress in its own temporary folder. */
static lot_status open_spool(measurement *m, lot_error *error)
{
    const char *temporary = getenv("TMPDIR");
    lot_status status;

    if (m->config.spool != NULL)
        (void)snprintf(m->spool_folder, sizeof m->spool_folder, "%s", m->config.spool);
    else
        (void)snprintf(m->spool_folder, sizeof m->spool_folder, "%s.spool-%s", m->config.output, m->run_id);
    status = lot_spool_open(m->spool_folder, m->team.facts.rank, &m->spool, error);
    if (status != LOT_OK && m->config.spool == NULL && m->team.facts.rank != 0) {
        (void)snprintf(m->spool_folder, sizeof m->spool_folder, "%s/gpulot-spool-%s",
                       temporary != NULL && temporary[0] == '/' ? temporary : "/tmp", m->run_id);
        m->spool_is_own = 1;
        status = lot_spool_open(m->spool_folder, m->team.facts.rank, &m->spool, error);
    }
    if (status == LOT_OK)
        status = lot_spool_head(m->spool, &m->record, error);
    if (status == LOT_OK && m->tariff_json != NULL)
        status = lot_spool_tariff(m->spool, m->tariff_json, error);
    return status;
}

static lot_status on_row(void *context, const lot_phase *row, lot_error *error)
{
    measurement *m = context;

    lot_progress_step(&m->progress);
    return lot_spool_phase(m->spool, row, error);
}

/* ---- the phases ---- */

static int64_t rows_expected(const measurement *m, lot_group group)
{
    switch (group) {
    case LOT_GROUP_LOAD:
        return 2;
    case LOT_GROUP_WARM:
        return m->config.schedule == LOT_BOTH ? 2 * m->config.repeats : m->config.repeats;
    case LOT_GROUP_SOAK:
        return (int64_t)m->config.soak_seconds + 1;
    default:
        return 1;
    }
}

/* One group on this rank. What goes wrong here is in the record and ends this rank's phases, not the other
 * ranks'. */
static lot_status run_group(measurement *m, lot_group group, lot_error *error)
{
    lot_group_request request = {.protocol = &m->protocol, .group = group};
    lot_error found = {0};
    const lot_status status =
        lot_worker_run(m->worker, lot_protocol_run, &request, m->config.phase_timeout_seconds,
                       lot_progress_draw, &m->progress, &found);

    if (status == LOT_TIMEOUT && !m->protocol.failed) {
        m->protocol.failed = 1;
        lot_record_fail(&m->record, m->protocol.at, &found);
    }
    if (status == LOT_INTERRUPTED)
        m->ended = found;
    return lot_spool_flush(m->spool, true, error);
}

/* A meeting before a step. Sets *go to 0 where a rank was interrupted: all then end their phases. That a rank
 * does not come ends nothing. */
static lot_status meet(measurement *m, const char *point, int *go, lot_error *error)
{
    lot_error verdict = {0};
    const lot_status status = lot_comm_agree(&m->team, point, &m->ended, &verdict, error);

    *go = 0;
    if (status != LOT_OK)
        return status;
    if (verdict.status == LOT_INTERRUPTED) {
        m->ended = verdict;
        return LOT_OK;
    }
    if (lot_status_exit(verdict.status) > 1) {
        *error = verdict;
        return verdict.status;
    }
    *go = 1;
    return LOT_OK;
}

/* The warm passes in `steps` turns; a rank runs in the turn `mine`. While others have theirs it waits and
 * idles. */
static lot_status run_turns(measurement *m, const char *schedule, int steps, int mine, int *go,
                            lot_error *error)
{
    lot_status status = LOT_OK;

    m->protocol.schedule = schedule;
    for (int step = 0; status == LOT_OK && step < steps; step++) {
        status = meet(m, schedule, go, error);
        if (status != LOT_OK || !*go)
            break;
        if (step == mine)
            status = run_group(m, LOT_GROUP_WARM, error);
    }
    return status;
}

static lot_status run_warm(measurement *m, int *go, lot_error *error)
{
    const lot_comm_facts *facts = &m->team.facts;
    const int schedule = m->config.schedule;
    lot_status status = LOT_OK;

    *go = 1;
    if (schedule == LOT_SOLO || schedule == LOT_BOTH)
        status = run_turns(m, "solo", facts->size, facts->rank, go, error);
    if (status == LOT_OK && schedule == LOT_PAIRS)
        status = run_turns(m, "pairs", m->pairs, m->launch.local_rank / 2, go, error);
    if (status == LOT_OK && *go && (schedule == LOT_TOGETHER || schedule == LOT_BOTH))
        status = run_turns(m, "together", 1, 0, go, error);
    return status;
}

/* All groups, every rank beginning each one together. */
static lot_status run_groups(measurement *m, lot_error *error)
{
    lot_status status = LOT_OK;
    int go = 1;

    for (int group = 0; status == LOT_OK && go && group < LOT_GROUP_COUNT; group++) {
        if ((group == LOT_GROUP_SOAK && !(m->config.soak_seconds > 0)) ||
            (group == LOT_GROUP_LOCALISE && !m->config.localise))
            continue;
        lot_progress_stage(&m->progress, lot_group_name((lot_group)group),
                           rows_expected(m, (lot_group)group));
        if (group == LOT_GROUP_WARM) {
            status = run_warm(m, &go, error);
            continue;
        }
        status = meet(m, lot_group_name((lot_group)group), &go, error);
        if (status == LOT_OK && go)
            status = run_group(m, (lot_group)group, error);
    }
    return status;
}

/* ---- the end ---- */

static lot_status hand_over(measurement *m, const char *json, size_t size, lot_error *error)
{
    lot_gathering gathering = {.team = &m->team,
                               .output = m->config.output,
                               .run_id = m->run_id,
                               .spool_folder = m->spool_folder,
                               .tariff_json = m->tariff_json,
                               .progress = &m->progress};
    lot_status status;

    if (m->team.facts.rank != 0)
        return lot_gathering_hand_in(&gathering, json, size, error);
    lot_fields_clear(lot_run_header_fields(), &gathering.header);
    (void)lot_field_copy(gathering.header.label, sizeof gathering.header.label,
                         m->config.label != NULL ? m->config.label : "");
    (void)lot_field_copy(gathering.header.ended_by, sizeof gathering.header.ended_by,
                         m->ended.status == LOT_INTERRUPTED || m->ended.status == LOT_TIMEOUT ? m->ended.text
                                                                                              : "completed");
    gathering.header.elapsed_seconds = lot_clock_seconds() - m->protocol.epoch_seconds;
    lot_progress_stage(&m->progress, "gather", m->team.facts.size - 1);
    status = lot_gathering_collect(&gathering, json, size, error);
    m->lost = gathering.lost;
    return status;
}

/* Also after a refusal: a device that was opened is closed. */
static void close_device(measurement *m)
{
    lot_error ignored;

    if (m->opened && m->worker != NULL && !lot_worker_given_up(m->worker))
        (void)lot_worker_run(m->worker, lot_protocol_close, &m->protocol, m->config.phase_timeout_seconds,
                             NULL, NULL, &ignored);
}

/* Ends the rank's record and brings it to rank 0. LOT_OK, or what *error says is wrong with the run as a
 * whole. */
static lot_status conclude(measurement *m, lot_error *error)
{
    char *json = NULL;
    size_t size = 0;
    lot_status status;

    close_device(m);
    if (m->ended.status == LOT_INTERRUPTED)
        lot_record_fail(&m->record, "signal", &m->ended);
    lot_protocol_conclude(&m->protocol);
    status = lot_record_json_write(&m->record, &json, &size, error);
    if (status == LOT_OK)
        status = lot_spool_end(m->spool, json, size, error);
    if (status == LOT_OK)
        status = lot_spool_flush(m->spool, 1, error);
    if (status == LOT_OK)
        status = hand_over(m, json, size, error);
    free(json);
    if (status == LOT_OK && m->ended.status != LOT_OK) {
        *error = m->ended;
        status = m->ended.status;
    }
    return status;
}

/* The progress on disk is of no more use once everything is in the archive. Else one rank says where it is
 * for all that share a folder, and a rank with a folder of its own for itself. */
static void end_spool(measurement *m, lot_status verdict)
{
    const int complete = lot_status_exit(verdict) <= 1 && verdict != LOT_TIMEOUT && verdict != LOT_LOST;

    if (m->spool == NULL)
        return;
    lot_spool_close(m->spool, complete);
    m->spool = NULL;
    if (complete)
        lot_spool_remove_folder(m->spool_folder);
    if (complete && m->lost > 0)
        lot_progress_recovery(
            "gpulot measure: the archive is there; should a lost rank have written more since, an "
            "archive with that is made by",
            m->spool_folder, "ANOTHER.h5");
    if (complete)
        return;
    if (m->team.facts.rank == 0 || m->spool_is_own)
        lot_progress_recovery("gpulot measure: what was measured is kept; to make an archive of it",
                              m->spool_folder, m->config.output);
}

/* From the first meeting on; *error is this rank's own so far. */
static lot_status measure_together(measurement *m, const lot_error *mine, lot_error *error)
{
    lot_error own = {0};
    lot_error verdict = {0};
    double began = lot_clock_seconds();
    lot_status status = introduce(m, mine, error);

    if (status != LOT_OK)
        return status;
    if (m->launch.uses_mpi)
        note_step(m, "mpi_start", m->mpi_start_seconds);
    note_step(m, "ledger", lot_clock_seconds() - began);
    lot_progress_start(&m->progress, m->config.quiet, m->team.facts.rank, m->team.facts.size);
    fill_identity(m);
    began = lot_clock_seconds();
    if (fill_variables(&m->record, &own) == LOT_OK &&
        lot_measure_config_echo(&m->config, &m->record, &own) == LOT_OK)
        (void)open_spool(m, &own);
    note_step(m, "spool_open", lot_clock_seconds() - began);
    status = lot_comm_agree(&m->team, "spool", &own, &verdict, error);
    if (status == LOT_OK && verdict.status != LOT_OK) {
        *error = verdict;
        lot_spool_close(m->spool, 1);
        lot_spool_remove_folder(m->spool_folder);
        m->spool = NULL;
        return verdict.status;
    }
    if (status == LOT_OK) {
        lot_progress_note(&m->progress, m->spool_folder, m->config.output);
        status = run_groups(m, error);
    }
    if (status == LOT_OK) {
        own = (lot_error){0};
        (void)conclude(m, &own);
        status = lot_comm_agree(&m->team, "end", &own, &verdict, error);
        if (status == LOT_OK && verdict.status != LOT_OK)
            *error = verdict;
        status = status == LOT_OK ? verdict.status : status;
    }
    lot_progress_end(&m->progress);
    end_spool(m, status);
    return status;
}

/* Everything that this rank can find out alone: *own is its part of the first meeting. */
static void prepare(measurement *m, lot_error *own)
{
    char kind[16];

    if (lot_measure_config_complete(&m->config, own) != LOT_OK ||
        lot_bind_parse(m->config.device, kind, sizeof kind, own) != LOT_OK ||
        lot_workload_model(&m->config, &m->record.head.synthetic_model, own) != LOT_OK ||
        lot_worker_start(&m->worker, own) != LOT_OK)
        return;
    m->protocol.worker = m->worker;
    lot_host_environment(&m->record.head.environment);
    /* The device comes before MPI where the launcher says which one it is: a library that MPI loads must not
     * choose. */
    if (m->launch.local_rank >= 0 && m->launch.local_size >= 0)
        (void)open_device(m, own);
}

/* Rank 0 speaks for all, unless it cannot be heard. Ends the process where MPI or a device would not let it
 * end. */
static lot_status leave(measurement *m, lot_status status, int met, lot_error *error)
{
    const int given_up = m->worker != NULL && lot_worker_given_up(m->worker);
    int ended = 1;

    /* Said here and not by main: stop may be the end of the process. */
    if (error->text[0] != '\0' && (!met || m->team.facts.rank == 0))
        (void)fprintf(stderr, "gpulot measure: %s\n", error->text);
    error->text[0] = '\0';
    (void)fflush(NULL);
    close_device(m);
    if (m->team.module != NULL)
        ended = m->team.module->stop(m->team.comm, met, lot_status_exit(status));
    if (!ended || given_up)
        _exit(lot_status_exit(status));
    lot_worker_stop(m->worker);
    lot_record_free(&m->record);
    free(m->tariff_json);
    return status;
}

static lot_status run(const void *options, lot_error *error)
{
    measurement *m = calloc(1, sizeof *m);
    lot_error own = {0};
    lot_status status;

    if (m == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for the measurement");
    m->config = *(const lot_measure_config *)options;
    lot_record_init(&m->record);
    m->protocol = (lot_protocol){.config = &m->config,
                                 .record = &m->record,
                                 .stop = &stop_signal,
                                 .row = on_row,
                                 .row_context = m,
                                 .epoch_seconds = lot_clock_seconds(),
                                 .schedule = "together"};
    catch_signals();
    status = lot_launch_read(from_process, NULL, &m->launch, error);
    if (status == LOT_OK) {
        double began;

        prepare(m, &own);
        began = lot_clock_seconds();
        status = start_team(&m->launch, &m->team, m->config.rank_timeout_seconds, error);
        m->mpi_start_seconds = lot_clock_seconds() - began;
    }
    if (status == LOT_OK) {
        if (own.status == LOT_OK)
            (void)check_team(&m->launch, &m->team, &own);
        if (m->launch.local_rank < 0 || m->launch.local_size < 0) {
            m->launch.local_rank = m->team.facts.local_rank;
            m->launch.local_size = m->team.facts.local_size;
        }
        if (own.status == LOT_OK && !m->opened)
            (void)open_device(m, &own);
        if (own.status == LOT_OK && m->team.facts.rank == 0)
            (void)lot_archive_check_output(m->config.output, &own);
        status = measure_together(m, &own, error);
    }
    status = leave(m, status, status != LOT_TIMEOUT, error);
    free(m);
    return status;
}

/* The options were refused on this rank. The others may have got the same ones, and wait in the first
 * meeting. */
static lot_status refused(lot_error *error)
{
    lot_launch launch;
    lot_team team = {0};
    lot_hello hello;
    lot_welcome welcome;
    lot_error later;
    const lot_status status = error->status;

    if (lot_launch_read(from_process, NULL, &launch, &later) != LOT_OK || !launch.uses_mpi ||
        launch.size == 1)
        return status;
    if (start_team(&launch, &team, 60, &later) != LOT_OK)
        return status;
    memset(&hello, 0, sizeof hello);
    lot_comm_vote(&hello.vote, 0, error);
    (void)meet_first(&team, &hello, 1, NULL, NULL, &welcome, &later);
    if (team.facts.rank == 0)
        *error = later;
    else
        error->text[0] = '\0';
    (void)team.module->stop(team.comm, 1, lot_status_exit(status));
    return later.status == LOT_OK ? status : later.status;
}

const lot_command lot_command_measure = {
    .name = "measure",
    .summary = "measure one device a rank into an archive; started with mpirun or srun",
    .synopsis = "--device SPEC --output FILE.h5 [options]",
    .description = "Measures Linear -> GELU -> Linear on one device a rank, in phases, and gathers all ranks "
                   "into one HDF5\n"
                   "archive: mpirun -n 2 gpulot measure --device cuda:local --output run.h5. Without a "
                   "launcher it is one\n"
                   "rank. The device 'host' is this CPU, measured as such. There is no default device. On "
                   "SIGINT, SIGTERM,\n"
                   "SIGUSR1, SIGUSR2 or SIGHUP it stops at the next pass and keeps what is measured, with "
                   "exit status 1.",
    .table = lot_measure_options,
    .config_size = sizeof(lot_measure_config),
    .run = run,
    .refused = refused,
};
