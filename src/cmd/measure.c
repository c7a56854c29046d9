/* gpulot measure: leads one rank from its arguments to the archive. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/measurement.h"
#include "cmd/price_at_launch.h"
#include "core/clock.h"
#include "gpu/loader.h"
#include "io/archive_h5.h"
#include "io/atomic_file.h"
#include "measure/bind.h"
#include "measure/host.h"

/* The one thing that a signal handler can reach. */
static lot_stop stop = {.rank = -1};

static void on_signal(int number)
{
    if (stop.signal == 0)
        stop.signal = number;
}

static const char *from_process(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

/* At the start, and again when the libraries of MPI and of the device are loaded, for some take signals for
 * themselves: libfabric before 1.16 does where Open MPI only asks what it offers. Open MPI then unloads it,
 * its handler with it, and the next signal would end the process with a segmentation fault. */
static void catch_signals(void)
{
    static int hangup_ignored = -1; /* by nohup, whose run outlives its terminal; asked at the start alone */
    /* What people and batch systems send before they kill: SIGXCPU at the soft limit of CPU time. */
    static const int numbers[] = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP, SIGXCPU};
    struct sigaction action;

    if (hangup_ignored < 0)
        hangup_ignored = sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        (void)sigaction(numbers[i], &action, NULL);
    /* A reader of the progress that went away must not end the measurement. */
    action.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &action, NULL);
    if (hangup_ignored)
        (void)sigaction(SIGHUP, &action, NULL);
}

/* ---- the device ---- */

/* Takes the device that the local rank stands for. A device that is there but broken is a result, not a
 * refusal: it is noted in the record, and the other ranks measure. */
static lot_status open_device(lot_measurement *m, lot_error *error)
{
    char kind[16];
    lot_identity *identity = &m->record.head.identity;
    lot_open_request *request = &m->opening;
    const lot_bind_rank rank = {.spec = m->config.device,
                                .local_rank = m->launch.local_rank,
                                .local_size = m->launch.local_size,
                                .allow_shared = m->config.allow_shared};
    const lot_watch watch = {.limit_seconds = m->config.phase_timeout_seconds};
    lot_status status;

    m->opened = 1;
    *request = (lot_open_request){.protocol = &m->protocol,
                                  .ranks = m->launch.local_size,
                                  .alike = m->team.facts.local_alike,
                                  .sharing = 1};
    status = lot_bind_parse(m->config.device, kind, sizeof kind, error);
    if (status == LOT_OK)
        status = lot_loader_load(kind, &m->listing.module, error);
    m->listing.list = &m->found;
    if (status == LOT_OK)
        status = lot_worker_run(m->worker, lot_protocol_list, &m->listing, &watch, error);
    if (status == LOT_OK)
        status = lot_bind_choose(&rank, &m->found, &request->ordinal, identity->binding_reason,
                                 sizeof identity->binding_reason, error);
    if (status == LOT_OK) {
        identity->visible_count = (int64_t)m->found.count;
        /* A device that does not open is named too. */
        m->record.head.device = m->found.devices[request->ordinal];
        request->module = m->listing.module;
        if (strcmp(kind, "host") == 0)
            request->sharing = m->launch.local_size;
        status = lot_worker_run(m->worker, lot_protocol_open, request, &watch, error);
    }
    if (status != LOT_OK && lot_status_exit(status) == 1) {
        lot_record_fail(&m->record, "device_open", error);
        m->protocol.failed = 1;
        *error = (lot_error){.status = LOT_OK}; /* it is in the record, and no vote against the others */
        status = LOT_OK;
    }
    return status;
}

/* What is known of the CPUs when the other ranks of this host are known. */
static lot_status settle(lot_measurement *m, lot_error *error)
{
    const lot_watch watch = {.limit_seconds = m->config.phase_timeout_seconds};

    if (!m->opened && open_device(m, error) != LOT_OK)
        return error->status;
    if (m->protocol.failed)
        return LOT_OK;
    m->opening.alike = m->team.facts.local_alike;
    return lot_worker_run(m->worker, lot_protocol_settle, &m->opening, &watch, error);
}

/* Closing computes nothing: what takes longer hangs, and everybody else waits for this rank's record. */
#define CLOSE_SECONDS 30.0

lot_status lot_measurement_close_device(lot_measurement *m, lot_error *error)
{
    const double limit = m->config.phase_timeout_seconds;
    const lot_watch watch = {.limit_seconds = limit < CLOSE_SECONDS ? limit : CLOSE_SECONDS};

    if (!m->opened || m->worker == NULL || lot_worker_given_up(m->worker))
        return LOT_OK;
    return lot_worker_run(m->worker, lot_protocol_close, &m->protocol, &watch, error);
}

/* ---- the other ranks ---- */

/* Which run this one continues. */
static lot_status find_earlier(const char *archive, char *run_id, size_t size, lot_error *error)
{
    lot_run run;
    lot_status status;

    lot_run_init(&run);
    status = lot_archive_read_devices(archive, &run, error);
    if (status == LOT_OK && run.header.run_id[0] == '\0')
        status = lot_error_set(error, LOT_INPUT, "--continues", 0, "--continues: %s names no run", archive);
    if (status == LOT_OK)
        (void)lot_field_copy(run_id, size, run.header.run_id);
    lot_run_free(&run);
    return status;
}

static lot_status fix_price(lot_measurement *m, lot_error *error)
{
    const lot_launch_price request = {.tariffs = m->config.tariffs,
                                      .gpu = m->config.gpu,
                                      .days = m->config.days,
                                      .lots = m->config.lots,
                                      .columns = m->config.columns};

    return lot_price_at_launch(&request, m->team.facts.size, &m->tariff_json, error);
}

/* What rank 0 looks up when all others are well: files that the others may not see, and the price, which
 * needs the number of ranks. */
static lot_status look_up(void *context, lot_welcome *welcome, lot_error *error)
{
    lot_measurement *m = context;
    lot_status status = LOT_OK;

    if (m->config.continues != NULL)
        status = find_earlier(m->config.continues, welcome->continues_run_id,
                              sizeof welcome->continues_run_id, error);
    if (status == LOT_OK && m->config.tariffs != NULL)
        status = fix_price(m, error);
    return status;
}

static lot_status introduce(lot_measurement *m, const lot_error *mine, lot_error *error)
{
    const lot_device_facts *device = &m->record.head.device;
    const lot_admission admission = {m->config.allow_shared, look_up, m};
    lot_hello hello;
    lot_welcome welcome;
    lot_status status;

    memset(&hello, 0, sizeof hello);
    lot_comm_vote(&hello.vote, 0, mine);
    hello.config_digest = lot_measure_config_digest(&m->config);
    hello.local_rank = m->launch.local_rank;
    hello.ordinal = (int32_t)device->ordinal;
    hello.visible = (int32_t)m->record.head.identity.visible_count;
    (void)lot_field_copy(hello.kind, sizeof hello.kind, device->kind);
    lot_host_name(hello.host, sizeof hello.host);
    (void)lot_field_copy(hello.uuid, sizeof hello.uuid, device->uuid);
    (void)lot_field_copy(hello.mig_parent_uuid, sizeof hello.mig_parent_uuid, device->mig_parent_uuid);
    (void)lot_field_copy(hello.pci_address, sizeof hello.pci_address, device->pci_address);
    status = lot_team_meet_first(&m->team, &hello, &admission, &welcome, error);
    (void)lot_field_copy(m->run_id, sizeof m->run_id, welcome.run_id);
    (void)lot_field_copy(m->continues_run_id, sizeof m->continues_run_id, welcome.continues_run_id);
    m->pairs = welcome.pairs;
    return status;
}

/* ---- the run ---- */

/* From the first meeting on; *error is this rank's own so far. */
static lot_status measure_together(lot_measurement *m, const lot_error *mine, lot_error *error)
{
    lot_error own = {0};
    lot_error verdict = {0};
    double began = lot_clock_seconds();
    lot_status status;

    catch_signals();
    status = introduce(m, mine, error);
    if (status != LOT_OK)
        return status;
    if (m->launch.uses_mpi)
        lot_keeping_step(m, "mpi_start", m->mpi_start_seconds);
    lot_keeping_step(m, "ledger", lot_clock_seconds() - began);
    began = lot_clock_seconds();
    if (lot_keeping_begin(m, &own) == LOT_OK)
        own = (lot_error){0};
    lot_keeping_step(m, "spool_open", lot_clock_seconds() - began);
    status = lot_comm_agree(&m->team, "spool", &own, &verdict, error);
    if (status == LOT_OK && verdict.status != LOT_OK) {
        *error = verdict;
        status = verdict.status;
    }
    if (status != LOT_OK) {
        lot_keeping_discard(m);
        return status;
    }
    m->begun = 1;
    lot_progress_start(&m->progress, m->config.quiet, m->team.facts.rank, m->team.facts.size);
    lot_progress_note(&m->progress, m->spool_folder, m->config.output);
    status = lot_rounds_run(m, error);
    if (status == LOT_OK) {
        if (lot_keeping_conclude(m, &own) == LOT_OK)
            own = (lot_error){0};
        status = lot_comm_agree(&m->team, "end", &own, &verdict, error);
        if (status == LOT_OK && verdict.status != LOT_OK)
            *error = verdict;
        status = status == LOT_OK ? verdict.status : status;
    } else if (status == LOT_TIMEOUT) {
        lot_keeping_abandon(m, error);
    }
    if (m->archived)
        lot_progress_archived(&m->progress, m->config.output);
    lot_progress_end(&m->progress);
    lot_keeping_end(m, status);
    return status;
}

/* Everything that this rank can find out alone: *own is its part of the first meeting. */
static void prepare(lot_measurement *m, lot_error *own)
{
    char kind[16];

    if (lot_measure_config_complete(&m->config, own) != LOT_OK ||
        lot_bind_parse(m->config.device, kind, sizeof kind, own) != LOT_OK ||
        lot_workload_model(&m->config, &m->record.head.synthetic_model, own) != LOT_OK ||
        lot_worker_start(&m->worker, own) != LOT_OK)
        return;
    m->protocol.worker = m->worker;
    lot_keeping_look(m);
    lot_host_environment(&m->record.head.environment);
    /* The device comes before MPI where the launcher says which one it is: a library that MPI loads must not
     * choose. The host device comes after it: how many threads it starts is decided by the other ranks' CPUs.
     */
    if (strcmp(kind, "host") != 0 && m->launch.local_rank >= 0 && m->launch.local_size >= 0)
        (void)open_device(m, own);
}

/* Said here and not by main: where MPI is stopped may be the end of the process, or the launcher ends it
 * there since another rank has ended with a failure. */
static void say(lot_error *error, int speaks)
{
    if (error->text[0] != '\0' && speaks)
        (void)fprintf(stderr, "gpulot measure: %s\n", error->text);
    error->text[0] = '\0';
    (void)fflush(NULL);
}

/* Rank 0 speaks for all, unless it cannot be heard. Ends the process where MPI or a device would not let it
 * end. */
static lot_status leave(lot_measurement *m, lot_status status, int met, lot_error *error)
{
    int ended = 1, given_up;
    lot_error ignored;

    say(error, !met || m->team.facts.rank == 0);
    (void)lot_measurement_close_device(m, &ignored); /* also after a refusal; it may not come back either */
    given_up = m->worker != NULL && lot_worker_given_up(m->worker);
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
    lot_measurement *m = calloc(1, sizeof *m);
    lot_error own = {0};
    lot_status status;
    int met;

    if (m == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for the measurement");
    m->config = *(const lot_measure_config *)options;
    lot_record_init(&m->record);
    m->protocol = (lot_protocol){.config = &m->config,
                                 .record = &m->record,
                                 .stop = &stop,
                                 .row = lot_keeping_row,
                                 .row_context = m,
                                 .epoch_seconds = lot_clock_seconds(),
                                 .schedule = "together"};
    m->stop = &stop;
    catch_signals();
    status = lot_launch_read(from_process, NULL, &m->launch, error);
    if (status == LOT_OK) {
        double began;

        prepare(m, &own);
        began = lot_clock_seconds();
        status = lot_team_start(&m->launch, m->config.rank_timeout_seconds, &m->team, error);
        m->mpi_start_seconds = lot_clock_seconds() - began;
    }
    if (status == LOT_OK) {
        if (own.status == LOT_OK)
            (void)lot_team_check(&m->team, &m->launch, &own);
        if (m->launch.local_rank < 0 || m->launch.local_size < 0) {
            m->launch.local_rank = m->team.facts.local_rank;
            m->launch.local_size = m->team.facts.local_size;
        }
        if (own.status == LOT_OK)
            (void)settle(m, &own);
        if (own.status == LOT_OK && m->team.facts.rank == 0)
            (void)lot_atomic_check(m->config.output, &own);
        status = measure_together(m, &own, error);
    }
    met = status != LOT_TIMEOUT;
    if (!met && !m->begun)
        status =
            LOT_LAUNCH; /* the ranks did not find one another: nothing was measured, nothing is written */
    status = leave(m, status, met, error);
    free(m);
    return status;
}

/* The options were refused on this rank. The others may have got the same ones, and wait in the first
 * meeting. */
static lot_status refused(lot_error *error)
{
    const lot_admission anyone = {.allow_shared = 1};
    lot_launch launch;
    lot_team team = {0};
    lot_hello hello;
    lot_welcome welcome;
    lot_error later;
    const lot_status status = error->status;

    if (lot_launch_read(from_process, NULL, &launch, &later) != LOT_OK || !launch.uses_mpi ||
        launch.size == 1)
        return status;
    if (lot_team_start(&launch, 60, &team, &later) != LOT_OK)
        return status;
    memset(&hello, 0, sizeof hello);
    lot_comm_vote(&hello.vote, 0, error);
    (void)lot_team_meet_first(&team, &hello, &anyone, &welcome, &later);
    *error = later;
    say(error, team.facts.rank == 0);
    (void)team.module->stop(team.comm, 1, lot_status_exit(status));
    return later.status == LOT_OK ? status : later.status;
}

const lot_command lot_command_measure = {
    .name = "measure",
    .summary = "measure one device per rank into an archive; started with mpirun or srun",
    .synopsis = "--device SPEC --output FILE.h5 [options]",
    .description =
        "Measures Linear -> GELU -> Linear on one device per rank, in phases, and gathers all ranks into\n"
        "one HDF5 archive: mpirun -n 2 gpulot measure --device cuda:local --output run.h5. Without a\n"
        "launcher it is a single rank. The device 'host' is this CPU, measured as such. There is no\n"
        "default device. On SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP or SIGXCPU it stops at the next\n"
        "pass and keeps what it has measured, with exit status 1. On Ctrl-C mpirun gives its ranks a\n"
        "second or less for that before it kills them (protocol.md tells how to give more); gpulot\n"
        "recover makes an archive of what they had measured.",
    .table = lot_measure_options,
    .config_size = sizeof(lot_measure_config),
    .run = run,
    .refused = refused,
};
