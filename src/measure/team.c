#include "measure/team.h"

#include <stdlib.h>
#include <string.h>

#include "core/count.h"
#include "gpu/loader.h"

#define FIRST_MEETING "start"

lot_status lot_team_check(const lot_team *team, const lot_launch *launch, lot_error *error)
{
    if (team->facts.size >= launch->size)
        return LOT_OK;
    return lot_error_set(error, LOT_LAUNCH, "MPI_Comm_size", 0,
                         "the environment of %s says %s, MPI says %d: start it with the mpirun of this "
                         "MPI (%s), or unset what an earlier launch left",
                         launch->launcher, lot_count(launch->size, "rank").text, team->facts.size,
                         team->facts.library);
}

lot_status lot_team_start(const lot_launch *launch, double limit_seconds, lot_team *team, lot_error *error)
{
    const void *table = &lot_comm_alone;
    const lot_comm_module *module;
    lot_status status = LOT_OK;

    team->limit_seconds = limit_seconds;
    if (launch->uses_mpi)
        status = lot_loader_symbol("mpi", LOT_COMM_SYMBOL, 1, &table, error);
    if (status != LOT_OK)
        return status;
    module = table;
    if (module->abi != LOT_COMM_ABI || module->size != sizeof *module)
        return lot_error_set(
            error, LOT_MODULE_ABI, "dlopen", 0,
            "the module mpi is of interface %u, this program needs %u: install both from one version",
            module->abi, LOT_COMM_ABI);
    team->module = module; /* from here on it is stopped, too */
    return team->module->start(&team->comm, &team->facts, error);
}

/* Rank 0 hears all hellos, checks them and what only it checks, and answers. */
static lot_status welcome_all(const lot_team *team, const lot_hello *mine, const lot_admission *admission,
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
        status = lot_ledger_check(hellos, size, admission->allow_shared, &found);
    if (status == LOT_OK && admission->last_check != NULL)
        (void)admission->last_check(admission->context, welcome, &found);
    lot_comm_vote(&welcome->vote, 0, &found);
    lot_ledger_run_id(welcome->run_id, sizeof welcome->run_id);
    welcome->pairs = lot_ledger_pairs(hellos, size);
    free(hellos);
    return team->module->broadcast(team->comm, FIRST_MEETING, welcome, sizeof *welcome, team->limit_seconds,
                                   error);
}

lot_status lot_team_meet_first(const lot_team *team, lot_hello *mine, const lot_admission *admission,
                               lot_welcome *welcome, lot_error *error)
{
    lot_status status;

    mine->vote.rank = team->facts.rank;
    memset(welcome, 0, sizeof *welcome);
    if (team->facts.rank == 0) {
        status = welcome_all(team, mine, admission, welcome, error);
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
