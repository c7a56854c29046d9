/* A signal to one rank stops all: that rank tells rank 0, and rank 0 tells everyone. Short messages that are
 * looked for now and then, by whoever waits anyway. */
#include "core/clock.h"
#include "measure/mpi/comm_mpi.h"

#define LISTEN_SECONDS 0.2 /* between two looks */

/* Takes the notice of `source`, if there is one. Returns MPI's code. */
static int take_notice(lot_comm *comm, int source, int *taken)
{
    int32_t notice[2];
    MPI_Status from;
    int code;

    *taken = 0;
    code = MPI_Iprobe(source, LOT_MPI_NOTICE, comm->world, taken, &from);
    if (code != MPI_SUCCESS || !*taken)
        return code;
    code = MPI_Recv(notice, 2, MPI_INT32_T, from.MPI_SOURCE, LOT_MPI_NOTICE, comm->world, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && comm->stop != NULL && comm->stop->signal == 0) {
        comm->stop->rank = notice[1];
        comm->stop->signal = notice[0];
    }
    return code;
}

void lot_mpi_take_notices(lot_comm *comm)
{
    const int source = comm->rank == 0 ? MPI_ANY_SOURCE : 0;
    int taken = 1;

    while (taken)
        if (take_notice(comm, source, &taken) != MPI_SUCCESS)
            break;
    if (comm->rank != 0 || taken == 0)
        return;
    /* With a dead rank ULFM has no answer for "from anyone"; each rank can still be asked. */
    for (int rank = 1; rank < comm->size; rank++)
        if (!comm->gone[rank])
            (void)take_notice(comm, rank, &taken);
}

/* The notice never changes once it is sent, so that nobody needs to wait until it has left. */
static void send_notice(lot_comm *comm, int rank)
{
    MPI_Request request;

    if (MPI_Isend(comm->notice, 2, MPI_INT32_T, rank, LOT_MPI_NOTICE, comm->world, &request) == MPI_SUCCESS)
        (void)MPI_Request_free(&request);
}

static void tell(lot_comm *comm)
{
    const lot_stop *stop = comm->stop;

    comm->told = 1;
    comm->notice[0] = (int32_t)stop->signal;
    comm->notice[1] = stop->rank >= 0 ? (int32_t)stop->rank : comm->rank;
    if (comm->rank != 0 && comm->notice[1] == comm->rank)
        send_notice(comm, 0);
    for (int rank = 1; comm->rank == 0 && rank < comm->size; rank++)
        if (!comm->gone[rank] && rank != comm->notice[1])
            send_notice(comm, rank);
}

void lot_mpi_listen(lot_comm *comm)
{
    const double now = lot_clock_seconds();

    if (comm->stop == NULL || now - comm->listened_seconds < LISTEN_SECONDS)
        return;
    comm->listened_seconds = now;
    lot_mpi_take_notices(comm);
    if (comm->stop->signal != 0 && !comm->told)
        tell(comm);
}

void lot_mpi_spread(lot_comm *comm, lot_stop *stop)
{
    comm->stop = stop;
    if (stop != NULL)
        lot_mpi_listen(comm);
}
