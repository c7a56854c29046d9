/* What the files of the MPI module share. The module is the only user of mpi.h.
 *
 * Point to point and nonblocking throughout: so rank 0 can name the ranks that did not come, and a waiting
 * rank sleeps instead of taking a CPU from one that still measures. Each meeting has a tag of its own, so
 * that a message that comes too late is never taken for one of a later meeting. Only host memory is ever
 * passed to MPI. */
#ifndef GPULOT_MEASURE_COMM_MPI_H
#define GPULOT_MEASURE_COMM_MPI_H

#include <mpi.h>

#include <stdint.h>

#include "measure/comm.h"

/* Tags: those below LOT_MPI_FIRST_TAG belong to texts and words, those from there on to meetings. MPI
 * guarantees tags up to 32767. */
enum { LOT_MPI_ASK = 1, LOT_MPI_DATA, LOT_MPI_WORD, LOT_MPI_FIRST_TAG = 16, LOT_MPI_TAG_PERIOD = 16384 };

#define LOT_MPI_AHEAD 16 /* texts asked for and not yet handed on */

/* Where a rank's process can be looked for: a process id means something within one boot of one machine and
 * one namespace of process ids. */
typedef struct lot_mpi_place {
    char machine[128];
    int pid;
} lot_mpi_place;

/* A text on its way to rank 0. */
typedef struct lot_mpi_incoming {
    int rank;
    char *text; /* NULL where the slot is free */
    MPI_Request request;
} lot_mpi_incoming;

/* One message of the talk beside the meetings. */
typedef struct lot_mpi_word {
    int32_t signal; /* 0: none */
    int32_t whose;  /* the rank that got the signal */
    lot_news news;  /* to rank 0 only */
} lot_mpi_word;

struct lot_comm {
    MPI_Comm world;
    lot_mpi_place here;
    lot_mpi_place *others; /* of every rank on rank 0; of rank 0 alone elsewhere */
    int rank;
    int size;
    int meeting;   /* counted alike on every rank */
    uint8_t *gone; /* rank 0: ranks that once did not come */
    int any_gone;

    uint64_t *lengths; /* rank 0: of every rank's text; NULL before the first one is asked for */
    lot_mpi_incoming incoming[LOT_MPI_AHEAD];

    const lot_talk *talk; /* NULL while nobody talks */
    lot_mpi_word word;    /* the last that was sent, */
    MPI_Request sending;  /* and on all ranks but 0 its way to rank 0 */
    double listened_seconds;
    double sent_seconds;
};

/* A message to or from one rank failed. Only a library that reports dead processes (ULFM) gets here, and then
 * the rank is gone, as one that does not come: LOT_TIMEOUT. */
lot_status lot_mpi_unreachable(lot_error *error, const char *call, int rank, int code);

/* From now on no meeting waits for the rank. */
void lot_mpi_lose(lot_comm *comm, int rank);

/* Every rank tells rank 0 where it is, and learns where rank 0 is: once, before anything can have died.
 * Returns MPI's code. */
int lot_mpi_exchange_places(lot_comm *comm);

/* Waits for one request from or to rank `whom`, which is named when the limit is reached or its process is
 * dead. */
lot_status lot_mpi_wait(lot_comm *comm, MPI_Request *request, double limit_seconds, const char *call,
                        int whom, lot_error *error);

/* What became of one rank's part of a meeting. */
enum { LOT_MPI_WAITING, LOT_MPI_DONE, LOT_MPI_UNREACHABLE };

/* Waits until every request is done, the limit is reached, or all that are still missing are dead. state[i]
 * says which are done; returns how many are not. */
int lot_mpi_wait_all(lot_comm *comm, MPI_Request *requests, uint8_t *state, double limit_seconds);

/* The operations of lot_comm_module in files of their own. */
lot_status lot_mpi_gather(lot_comm *comm, const char *point, const void *mine, size_t bytes, void *all,
                          double limit_seconds, lot_error *error);
lot_status lot_mpi_send(lot_comm *comm, const void *data, size_t bytes, double limit_seconds,
                        lot_error *error);
lot_status lot_mpi_receive(lot_comm *comm, int rank, void **data, size_t *bytes, double limit_seconds,
                           lot_error *error);
void lot_mpi_talk(lot_comm *comm, const lot_talk *talk);

/* Talks where it is time again; called by everything that waits. */
void lot_mpi_listen(lot_comm *comm);

/* Takes the words that are still under way, so that the library can be ended. */
void lot_mpi_end_talk(lot_comm *comm);

#endif
