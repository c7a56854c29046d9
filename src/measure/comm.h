/* How the ranks of one run meet: few fixed points, every wait limited. Two real ways: alone (one process, no
 * MPI) and MPI, which is a module, so that nothing but a measurement under a launcher ever loads it. */
#ifndef GPULOT_MEASURE_COMM_H
#define GPULOT_MEASURE_COMM_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "measure/stop.h"

#define LOT_COMM_ABI    3u
#define LOT_COMM_SYMBOL "lot_comm_table"

typedef struct lot_comm lot_comm;

typedef struct lot_comm_facts {
    int rank;
    int size;
    int local_rank; /* among the ranks on this host, as the library sees hosts */
    int local_size;
    int local_alike; /* ranks on this host, this one with them, that were started on the same CPUs as this one
                      */
    char library[64]; /* "" where there is no MPI */
} lot_comm_facts;

/* What a rank tells of its work while the run is under way. */
typedef struct lot_news {
    int32_t stage;           /* groups of phases, counted from 0 */
    int32_t done;            /* whether this rank is through with its part of the stage */
    double flops_per_second; /* of its latest row in the stage; 0: none yet */
} lot_news;

/* What ranks tell each other beside their meetings. */
typedef struct lot_talk {
    lot_stop *stop;              /* spread where it holds a signal; set where another rank was told of one */
    const lot_news *mine;        /* told to rank 0 about once a second as it then stands; NULL: nothing */
    lot_news *all;               /* rank 0: of `size` ranks, the latest that each has told; NULL elsewhere */
    void (*wait)(void *context); /* called by every wait for other ranks; NULL allowed */
    void *context;
} lot_talk;

typedef struct lot_comm_module {
    uint32_t abi;
    uint32_t size; /* sizeof(lot_comm_module) */
    const char *name;

    /* Name and version of the library, without starting it; "" where there is none. */
    void (*library)(char *name, size_t size);

    lot_status (*start)(lot_comm **comm, lot_comm_facts *facts, lot_error *error);

    /* Rank 0 receives `bytes` bytes of every rank into all[rank * bytes] (its own are copied); the others
     * send `mine` and may pass NULL for `all`. `point` names the meeting. LOT_TIMEOUT on rank 0 names the
     * ranks that did not come within `limit_seconds`; the bytes of those that did are there. A rank that once
     * did not come is gone: no later meeting waits for it. */
    lot_status (*gather)(lot_comm *comm, const char *point, const void *mine, size_t bytes, void *all,
                         double limit_seconds, lot_error *error);

    /* Rank 0 sends `bytes` bytes to every rank that is not gone; the others receive. */
    lot_status (*broadcast)(lot_comm *comm, const char *point, void *data, size_t bytes, double limit_seconds,
                            lot_error *error);

    /* A text of any length from every other rank to rank 0, which asks for them in ascending order; one text
     * a rank and run. A rank that sends 0 bytes has none. Rank 0 waits at its first receive, once and for all
     * together, until every rank has its text ready; a rank that does not come within the limit is gone.
     * LOT_LOST at once for a rank that is gone or has none, LOT_TIMEOUT for one that goes later. The
     * received text belongs to the caller; up to 15 more, of at most 1 MiB each, are under way meanwhile. */
    lot_status (*send)(lot_comm *comm, const void *data, size_t bytes, double limit_seconds,
                       lot_error *error);
    lot_status (*receive)(lot_comm *comm, int rank, void **data, size_t *bytes, double limit_seconds,
                          lot_error *error);

    /* Tells the other ranks of a signal, and rank 0 this rank's news; hears what they tell. Never waits, and
     * does nothing where it was called less than 0.2 s ago. From the first call on every wait of this module
     * does the same by itself, until a call with NULL; *talk must live until then. No rank may talk after its
     * last meeting but one. */
    void (*talk)(lot_comm *comm, const lot_talk *talk);

    /* Ends the library and returns 1. Where `everyone_is_here` is 0 leaves it as it is and returns 0: the
     * process must then end by _exit. Ending the library would wait for a rank that is gone: rank 0 then has
     * the launcher end all processes with `exit_status`, and this call does not return; everything must be
     * written by then. */
    int (*stop)(lot_comm *comm, int everyone_is_here, int exit_status);
} lot_comm_module;

/* The way for one process alone. */
extern const lot_comm_module lot_comm_alone;

/* What every rank brings to a meeting and what all take from it. */
typedef struct lot_vote {
    int32_t status; /* lot_status */
    int32_t rank;   /* who; filled by lot_comm_agree */
    int64_t code;
    char call[64];
    char text[512];
} lot_vote;

/* Fills *vote with a rank's error; status LOT_OK where all is well. */
void lot_comm_vote(lot_vote *vote, int rank, const lot_error *error);

/* A started communicator with what belongs to it. */
typedef struct lot_team {
    const lot_comm_module *module;
    lot_comm *comm;
    lot_comm_facts facts;
    double limit_seconds; /* of every wait for another rank */
} lot_team;

/* A meeting of all ranks. Each brings its own error (status LOT_OK where all is well). *verdict is then the
 * same on every rank: that of the lowest rank with the highest exit status, its text preceded by "rank N: "
 * unless it is rank 0's, or of a signal, which says itself whose it was; that a rank did not come is a
 * verdict too, and for rank 0 that it did not take the answer. Costs two short messages a rank. Returns
 * LOT_OK where the meeting took place, whatever the verdict; LOT_TIMEOUT where rank 0 does not answer. */
lot_status lot_comm_agree(const lot_team *team, const char *point, const lot_error *mine, lot_error *verdict,
                          lot_error *error);

#endif
