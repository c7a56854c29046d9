#include "measure/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one process alone ---- */

static void alone_library(char *name, size_t size)
{
    if (size > 0)
        name[0] = '\0';
}

static lot_status alone_start(lot_comm **comm, lot_comm_facts *facts, lot_error *error)
{
    (void)error;
    *comm = NULL;
    *facts = (lot_comm_facts){.rank = 0, .size = 1, .local_rank = 0, .local_size = 1, .local_alike = 1};
    return LOT_OK;
}

static lot_status alone_gather(lot_comm *comm, const char *point, const void *mine, size_t bytes, void *all,
                               double limit_seconds, lot_error *error)
{
    (void)comm, (void)point, (void)limit_seconds, (void)error;
    memcpy(all, mine, bytes);
    return LOT_OK;
}

static lot_status alone_broadcast(lot_comm *comm, const char *point, void *data, size_t bytes,
                                  double limit_seconds, lot_error *error)
{
    (void)comm, (void)point, (void)data, (void)bytes, (void)limit_seconds, (void)error;
    return LOT_OK;
}

static lot_status alone_send(lot_comm *comm, const void *data, size_t bytes, double limit_seconds,
                             lot_error *error)
{
    (void)comm, (void)data, (void)bytes, (void)limit_seconds;
    return lot_error_set(error, LOT_INTERNAL, "send", 0, "a single process has nobody to send to");
}

static lot_status alone_receive(lot_comm *comm, int rank, void **data, size_t *bytes, double limit_seconds,
                                lot_error *error)
{
    (void)comm, (void)data, (void)bytes, (void)limit_seconds;
    return lot_error_set(error, LOT_INTERNAL, "receive", 0, "a single process has no rank %d", rank);
}

static void alone_talk(lot_comm *comm, const lot_talk *talk)
{
    (void)comm;
    if (talk != NULL && talk->mine != NULL && talk->all != NULL)
        talk->all[0] = *talk->mine;
}

static int alone_stop(lot_comm *comm, int everyone_is_here, int exit_status)
{
    (void)comm, (void)exit_status;
    return everyone_is_here;
}

const lot_comm_module lot_comm_alone = {
    .abi = LOT_COMM_ABI,
    .size = sizeof(lot_comm_module),
    .name = "alone",
    .library = alone_library,
    .start = alone_start,
    .gather = alone_gather,
    .broadcast = alone_broadcast,
    .send = alone_send,
    .receive = alone_receive,
    .talk = alone_talk,
    .stop = alone_stop,
};

/* ---- agreement, the same for both ---- */

static void worst_of(const lot_vote *votes, int size, lot_vote *worst)
{
    *worst = votes[0];
    for (int i = 1; i < size; i++)
        if (lot_status_exit((lot_status)votes[i].status) > lot_status_exit((lot_status)worst->status))
            *worst = votes[i];
}

void lot_comm_vote(lot_vote *vote, int rank, const lot_error *error)
{
    memset(vote, 0, sizeof *vote);
    vote->status = error->status;
    vote->rank = rank;
    vote->code = error->code;
    (void)snprintf(vote->call, sizeof vote->call, "%s", error->call);
    (void)snprintf(vote->text, sizeof vote->text, "%s", error->text);
}

/* Rank 0 hears all votes and takes the worst. That a rank did not come is itself a vote. */
static lot_status count_votes(const lot_team *team, const char *point, lot_vote *vote, lot_error *error)
{
    const int size = team->facts.size;
    lot_vote *votes = calloc((size_t)size, sizeof *votes);
    lot_status status;

    if (votes == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for the votes of %d ranks", size);
    status = team->module->gather(team->comm, point, vote, sizeof *vote, votes, team->limit_seconds, error);
    worst_of(votes, size, vote);
    if (status != LOT_OK && lot_status_exit((lot_status)vote->status) <= lot_status_exit(status))
        lot_comm_vote(vote, 0, error);
    free(votes);
    return LOT_OK;
}

/* A rank came and went before it took the answer: for rank 0 that is as if it had not come. */
static void note_left(lot_vote *vote, const lot_error *error)
{
    if (lot_status_exit((lot_status)vote->status) < lot_status_exit(error->status))
        lot_comm_vote(vote, 0, error);
}

lot_status lot_comm_agree(const lot_team *team, const char *point, const lot_error *mine, lot_error *verdict,
                          lot_error *error)
{
    lot_vote vote;
    lot_status status;

    lot_comm_vote(&vote, team->facts.rank, mine);
    status = team->facts.rank == 0 ? count_votes(team, point, &vote, error)
                                   : team->module->gather(team->comm, point, &vote, sizeof vote, NULL,
                                                          team->limit_seconds, error);
    if (status == LOT_OK)
        status = team->module->broadcast(team->comm, point, &vote, sizeof vote, team->limit_seconds, error);
    if (status == LOT_TIMEOUT && team->facts.rank == 0) {
        note_left(&vote, error);
        status = LOT_OK;
    }
    if (status != LOT_OK)
        return status;
    memset(verdict, 0, sizeof *verdict);
    if (vote.status != LOT_OK && (vote.rank == 0 || vote.status == LOT_INTERRUPTED))
        (void)lot_error_set(verdict, (lot_status)vote.status, vote.call, vote.code, "%s", vote.text);
    else if (vote.status != LOT_OK)
        (void)lot_error_set(verdict, (lot_status)vote.status, vote.call, vote.code, "rank %d: %s", vote.rank,
                            vote.text);
    return LOT_OK;
}
