/* The ranks of one run: how a team is started, and its first meeting. */
#ifndef GPULOT_MEASURE_TEAM_H
#define GPULOT_MEASURE_TEAM_H

#include "measure/comm.h"
#include "measure/launch.h"
#include "measure/ledger.h"

/* Starts the way that the launch needs, MPI or none, with `limit_seconds` for every wait. LOT_NO_MODULE,
 * LOT_MODULE_ABI or what the library says. */
lot_status lot_team_start(const lot_launch *launch, double limit_seconds, lot_team *team, lot_error *error);

/* A process that MPI leaves alone while its launcher has set it among others would be a run of its own, and
 * each of the others one more, on the same file: LOT_LAUNCH. */
lot_status lot_team_check(const lot_team *team, const lot_launch *launch, lot_error *error);

/* Whom rank 0 lets in. */
typedef struct lot_admission {
    int allow_shared; /* two ranks may hold one device */
    /* What only rank 0 checks, when all ranks are well; may fill the welcome. NULL: nothing. */
    lot_status (*last_check)(void *context, lot_welcome *welcome, lot_error *error);
    void *context;
} lot_admission;

/* The first meeting: every rank says who it is and whether it can measure; all learn the same answer.
 * *admission is rank 0's. Returns the refusal, whoever's it is, on every rank; LOT_TIMEOUT where rank 0 does
 * not answer. */
lot_status lot_team_meet_first(const lot_team *team, lot_hello *mine, const lot_admission *admission,
                               lot_welcome *welcome, lot_error *error);

#endif
