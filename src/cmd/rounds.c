/* The groups of phases, with a meeting of all ranks before each. */
#include "cmd/measurement.h"

static int64_t rows_expected(const lot_measurement *m, lot_group group)
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

static void idle(void *context)
{
    lot_measurement *m = context;

    lot_progress_show(&m->progress);
}

/* While the worker stands still, so that no message disturbs a timed span. */
static void talk(void *context)
{
    lot_measurement *m = context;

    m->news.flops_per_second = m->latest_flops_per_second;
    m->team.module->talk(m->team.comm, &m->talk);
}

static void begin_talk(lot_measurement *m)
{
    m->talk = (lot_talk){.stop = m->stop,
                         .mine = m->config.quiet ? NULL : &m->news,
                         .all = m->progress.news,
                         .wait = lot_progress_show,
                         .context = &m->progress};
    m->team.module->talk(m->team.comm, &m->talk);
}

static void begin_stage(lot_measurement *m, lot_group group)
{
    m->latest_flops_per_second = 0;
    m->news = (lot_news){.stage = (int32_t)group};
    lot_progress_stage(&m->progress, lot_group_name(group), (int)group, rows_expected(m, group));
}

/* This rank measures no further, and its record says why. */
static void fail(lot_measurement *m, const lot_error *error)
{
    if (m->protocol.failed)
        return;
    m->protocol.failed = 1;
    lot_record_fail(&m->record, m->protocol.at, error);
}

/* One group on this rank. What goes wrong here is in the record and ends this rank's phases, not the other
 * ranks'. */
static void run_group(lot_measurement *m, lot_group group)
{
    lot_group_request request = {.protocol = &m->protocol, .group = group};
    const lot_watch watch = {
        .limit_seconds = m->config.phase_timeout_seconds, .idle = idle, .pause = talk, .context = m};
    lot_error found = {0};
    const lot_status status = lot_worker_run(m->worker, lot_protocol_run, &request, &watch, &found);

    if (status == LOT_TIMEOUT)
        fail(m, &found);
    if (status == LOT_INTERRUPTED)
        m->ended = found;
    if (lot_spool_flush(m->spool, true, &found) != LOT_OK)
        fail(m, &found);
    m->news.flops_per_second = m->latest_flops_per_second;
    m->news.done = 1;
}

/* What this rank brings to a meeting: of a signal to it alone all ranks tell in the same words. */
static lot_error brought(const lot_measurement *m)
{
    const int rank = m->team.facts.rank;
    lot_error mine = m->ended;

    if (mine.status == LOT_INTERRUPTED && rank > 0 && m->stop->rank < 0) {
        const lot_stop told = {.signal = m->stop->signal, .rank = rank};

        (void)lot_protocol_stopped(&told, &mine);
    }
    return mine;
}

/* A meeting before a step. Sets *go to 0 where a rank was interrupted: all then end their phases. That a rank
 * does not come ends nothing. */
static lot_status meet(lot_measurement *m, const char *point, int *go, lot_error *error)
{
    lot_error verdict = {0};
    lot_error mine;
    lot_status status;

    if (m->stop->signal != 0 && m->ended.status == LOT_OK)
        (void)lot_protocol_stopped(m->stop, &m->ended);
    mine = brought(m);
    status = lot_comm_agree(&m->team, point, &mine, &verdict, error);
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
static lot_status run_turns(lot_measurement *m, const char *schedule, int steps, int mine, int *go,
                            lot_error *error)
{
    lot_status status = LOT_OK;

    m->protocol.schedule = schedule;
    m->news.done = 0; /* with --schedule both the stage has turns of two kinds */
    for (int step = 0; status == LOT_OK && step < steps; step++) {
        status = meet(m, schedule, go, error);
        if (status != LOT_OK || !*go)
            break;
        if (step == mine)
            run_group(m, LOT_GROUP_WARM);
    }
    return status;
}

static lot_status run_warm(lot_measurement *m, int *go, lot_error *error)
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

lot_status lot_rounds_run(lot_measurement *m, lot_error *error)
{
    lot_status status = LOT_OK;
    int go = 1;

    begin_talk(m);
    for (int group = 0; status == LOT_OK && go && group < LOT_GROUP_COUNT; group++) {
        if ((group == LOT_GROUP_SOAK && !(m->config.soak_seconds > 0)) ||
            (group == LOT_GROUP_LOCALISE && !m->config.localise))
            continue;
        if (group == LOT_GROUP_WARM) {
            begin_stage(m, LOT_GROUP_WARM);
            status = run_warm(m, &go, error);
            continue;
        }
        status = meet(m, lot_group_name((lot_group)group), &go, error);
        if (status == LOT_OK && go) {
            begin_stage(m, (lot_group)group);
            run_group(m, (lot_group)group);
        }
    }
    m->team.module->talk(m->team.comm, NULL);
    return status;
}
