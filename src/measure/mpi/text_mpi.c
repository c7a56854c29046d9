/* Texts of any length to rank 0. All ranks say at one meeting how long theirs are, so that those that do not
 * come are waited for once and together; then rank 0 asks one after the other, a few ahead of the one that it
 * waits for. */
#include <stdlib.h>
#include <string.h>

#include "measure/mpi/comm_mpi.h"

#define PIECE_BYTES (64 << 20) /* MPI counts are int; a long text goes in pieces */
#define AHEAD_BYTES (1 << 20)  /* of a text that is asked for before its turn: bounds what waits here */

static int piece_of(size_t bytes)
{
    return bytes < PIECE_BYTES ? (int)bytes : PIECE_BYTES;
}

/* ---- the other ranks ---- */

static lot_status send_pieces(lot_comm *comm, const char *data, size_t bytes, double limit, lot_error *error)
{
    lot_status status = LOT_OK;

    for (size_t at = 0; status == LOT_OK && at < bytes; at += PIECE_BYTES) {
        MPI_Request request;
        const int code =
            MPI_Isend(data + at, piece_of(bytes - at), MPI_BYTE, 0, LOT_MPI_DATA, comm->world, &request);

        status = code == MPI_SUCCESS ? lot_mpi_wait(comm, &request, limit, "send", 0, error)
                                     : lot_mpi_unreachable(error, "MPI_Isend", 0, code);
    }
    return status;
}

lot_status lot_mpi_send(lot_comm *comm, const void *data, size_t bytes, double limit, lot_error *error)
{
    const uint64_t length = bytes;
    MPI_Request request;
    char ask;
    int code;
    lot_status status = lot_mpi_gather(comm, "gather", &length, sizeof length, NULL, limit, error);

    if (status != LOT_OK || bytes == 0)
        return status;
    code = MPI_Irecv(&ask, 1, MPI_BYTE, 0, LOT_MPI_ASK, comm->world, &request);
    /* The last rank waits for all before it. */
    status = code == MPI_SUCCESS ? lot_mpi_wait(comm, &request, limit * comm->size, "send", 0, error)
                                 : lot_mpi_unreachable(error, "MPI_Irecv", 0, code);
    return status == LOT_OK ? send_pieces(comm, data, bytes, limit, error) : status;
}

/* ---- rank 0 ---- */

/* Once for the run. Who does not come is gone, and its turn tells so. */
static lot_status learn_lengths(lot_comm *comm, double limit, lot_error *error)
{
    const uint64_t mine = 0;
    lot_status status;

    comm->lengths = calloc((size_t)comm->size, sizeof *comm->lengths);
    if (comm->lengths == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for the lengths of %d ranks' texts",
                             comm->size);
    status = lot_mpi_gather(comm, "gather", &mine, sizeof mine, comm->lengths, limit, error);
    return status == LOT_TIMEOUT ? LOT_OK : status;
}

/* Has the rank send its text. */
static lot_status ask(lot_comm *comm, int rank, lot_error *error)
{
    static const char asked = 1;
    lot_mpi_incoming *slot = &comm->incoming[rank % LOT_MPI_AHEAD];
    const size_t length = (size_t)comm->lengths[rank];
    MPI_Request request;
    int code;

    slot->rank = rank;
    slot->text = malloc(length + 1);
    if (slot->text == NULL)
        return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for the text of rank %d, %zu bytes",
                             rank, length);
    code = MPI_Irecv(slot->text, piece_of(length), MPI_BYTE, rank, LOT_MPI_DATA, comm->world, &slot->request);
    if (code == MPI_SUCCESS)
        code = MPI_Isend(&asked, 1, MPI_BYTE, rank, LOT_MPI_ASK, comm->world, &request);
    if (code != MPI_SUCCESS) {
        slot->text = NULL; /* for another rank; the library may still write to the memory, which stays */
        return lot_mpi_unreachable(error, "MPI_Isend", rank, code);
    }
    (void)MPI_Request_free(&request);
    return LOT_OK;
}

/* Asks this rank, and those behind it whose texts are short. What goes wrong with those is told in their
 * turn. */
static lot_status ask_ahead(lot_comm *comm, int rank, lot_error *error)
{
    lot_error later;
    const lot_mpi_incoming *slot = &comm->incoming[rank % LOT_MPI_AHEAD];
    const lot_status status = slot->text == NULL ? ask(comm, rank, error) : LOT_OK;

    for (int next = rank + 1; next < comm->size && next < rank + LOT_MPI_AHEAD; next++) {
        const uint64_t length = comm->lengths[next];

        if (!comm->gone[next] && length > 0 && length <= AHEAD_BYTES &&
            comm->incoming[next % LOT_MPI_AHEAD].text == NULL && ask(comm, next, &later) != LOT_OK)
            lot_mpi_lose(comm, next);
    }
    return status;
}

static lot_status await(lot_comm *comm, lot_mpi_incoming *slot, double limit, lot_error *error)
{
    const size_t length = (size_t)comm->lengths[slot->rank];
    lot_status status = lot_mpi_wait(comm, &slot->request, limit, "receive", slot->rank, error);

    for (size_t at = PIECE_BYTES; status == LOT_OK && at < length; at += PIECE_BYTES) {
        const int code = MPI_Irecv(slot->text + at, piece_of(length - at), MPI_BYTE, slot->rank, LOT_MPI_DATA,
                                   comm->world, &slot->request);

        status = code == MPI_SUCCESS ? lot_mpi_wait(comm, &slot->request, limit, "receive", slot->rank, error)
                                     : lot_mpi_unreachable(error, "MPI_Irecv", slot->rank, code);
    }
    return status;
}

lot_status lot_mpi_receive(lot_comm *comm, int rank, void **data, size_t *bytes, double limit,
                           lot_error *error)
{
    lot_mpi_incoming *slot = &comm->incoming[rank % LOT_MPI_AHEAD];
    lot_status status = comm->lengths == NULL ? learn_lengths(comm, limit, error) : LOT_OK;

    if (status != LOT_OK)
        return status;
    if (comm->gone[rank])
        return lot_error_set(error, LOT_LOST, "receive", rank, "rank %d did not come to an earlier meeting",
                             rank);
    if (comm->lengths[rank] == 0)
        return lot_error_set(error, LOT_LOST, "receive", rank, "rank %d has nothing to hand in", rank);
    status = ask_ahead(comm, rank, error);
    if (status == LOT_OK)
        status = await(comm, slot, limit, error);
    if (status != LOT_OK) {
        /* The text stays where it is: the library may still write there what comes too late. */
        lot_mpi_lose(comm, rank);
        slot->text = NULL;
        return status;
    }
    slot->text[comm->lengths[rank]] = '\0';
    *data = slot->text;
    *bytes = (size_t)comm->lengths[rank];
    slot->text = NULL;
    return LOT_OK;
}
