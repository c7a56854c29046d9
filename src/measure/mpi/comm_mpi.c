/* The ranks' meetings over MPI, and the module's table. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/cpus.h"
#include "measure/mpi/comm_mpi.h"

#define LATE_LISTED 8 /* ranks named in a message */

static lot_status failed(lot_error *error, const char *call, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    (void)MPI_Error_string(code, text, &length);
    return lot_error_set(error, LOT_INTERNAL, call, code, "%s failed: %s", call, text);
}

/* How many of the ranks of `local` have the same CPUs as this one. */
static int count_alike(MPI_Comm local, const lot_cpus *mine, lot_comm_facts *facts)
{
    lot_cpus *all = calloc((size_t)facts->local_size, sizeof *all);
    int code = MPI_ERR_NO_MEM;

    if (all != NULL)
        code = MPI_Allgather(mine, sizeof *mine, MPI_BYTE, all, sizeof *all, MPI_BYTE, local);
    for (int i = 0; code == MPI_SUCCESS && i < facts->local_size; i++)
        facts->local_alike += memcmp(&all[i], mine, sizeof *mine) == 0;
    free(all);
    return code;
}

/* Local ranks as MPI sees hosts; *call is what was called last. */
static int find_local(MPI_Comm world, const lot_cpus *mine, lot_comm_facts *facts, const char **call)
{
    MPI_Comm local;
    int code = MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);

    *call = "MPI_Comm_split_type";
    if (code != MPI_SUCCESS)
        return code;
    (void)MPI_Comm_rank(local, &facts->local_rank);
    (void)MPI_Comm_size(local, &facts->local_size);
    *call = "MPI_Allgather";
    code = count_alike(local, mine, facts);
    (void)MPI_Comm_free(&local);
    return code;
}

static void library_name(char *name, size_t size)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;

    (void)MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = '\0'; /* "Open MPI v4.1.4"; what follows is the packager's */
    (void)snprintf(name, size, "%s", text);
}

/* Starts MPI; *call is what was called last. */
static int open_world(lot_comm *comm, lot_comm_facts *facts, const char **call)
{
    lot_cpus mine; /* as the launcher gave them: MPI may bind this thread to others */
    int provided, code;

    (void)lot_cpus_read(&mine); /* where the system does not tell they are none, on every rank */
    code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    *call = "MPI_Init_thread";
    if (code != MPI_SUCCESS)
        return code;
    *call = "MPI_Comm_set_errhandler";
    code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (code != MPI_SUCCESS)
        return code;
    *call = "MPI_Comm_dup";
    code = MPI_Comm_dup(MPI_COMM_WORLD, &comm->world);
    if (code != MPI_SUCCESS)
        return code;
    return find_local(comm->world, &mine, facts, call);
}

static void release(lot_comm *comm)
{
    free(comm->gone);
    free(comm->others);
    free(comm->lengths);
    free(comm);
}

static lot_status start(lot_comm **comm, lot_comm_facts *facts, lot_error *error)
{
    lot_comm *made = calloc(1, sizeof *made);
    const char *call;
    int code;

    if (made == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for the communicator");
    code = open_world(made, facts, &call);
    if (code != MPI_SUCCESS) {
        release(made);
        return failed(error, call, code);
    }
    made->sending = MPI_REQUEST_NULL;
    (void)MPI_Comm_rank(made->world, &made->rank);
    (void)MPI_Comm_size(made->world, &made->size);
    facts->rank = made->rank;
    facts->size = made->size;
    library_name(facts->library, sizeof facts->library);
    made->gone = calloc((size_t)made->size, 1);
    made->others = calloc(made->rank == 0 ? (size_t)made->size : 1, sizeof *made->others);
    if (made->gone == NULL || made->others == NULL) {
        release(made);
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for %d ranks", facts->size);
    }
    code = lot_mpi_exchange_places(made);
    if (code != MPI_SUCCESS) {
        release(made);
        return failed(error, "MPI_Gather", code);
    }
    *comm = made;
    return LOT_OK;
}

static int next_tag(lot_comm *comm)
{
    return LOT_MPI_FIRST_TAG + comm->meeting++ % LOT_MPI_TAG_PERIOD;
}

/* LOT_TIMEOUT with the first few ranks that are missing; they are gone from now on. */
static lot_status name_missing(lot_comm *comm, const char *point, MPI_Request *requests, const uint8_t *state,
                               int missing, double limit, lot_error *error)
{
    char list[128] = "";
    int listed = 0;

    for (int i = 0; i < comm->size; i++) {
        const size_t used = strlen(list);

        if (state[i] == LOT_MPI_DONE)
            continue;
        if (state[i] == LOT_MPI_WAITING) {
            (void)MPI_Cancel(&requests[i]);
            (void)MPI_Request_free(&requests[i]);
        }
        lot_mpi_lose(comm, i);
        if (listed++ < LATE_LISTED)
            (void)snprintf(list + used, sizeof list - used, "%s%d", used == 0 ? "" : ", ", i);
    }
    return lot_error_set(error, LOT_TIMEOUT, point, missing,
                         "%d of %d ranks did not come to '%s' within %g s: %s%s", missing, comm->size, point,
                         limit, list, listed > LATE_LISTED ? ", ..." : "");
}

/* One way of rank 0's side of a meeting. */
typedef struct exchange {
    const char *point;
    char *data;
    size_t stride; /* between one rank's bytes and the next one's */
    int bytes;
    int receive;
    int tag;
} exchange;

/* Starts one receive or send a rank; those that need none are done. */
static void start_all(const lot_comm *comm, const exchange *x, MPI_Request *requests, uint8_t *state)
{
    for (int rank = 0; rank < comm->size; rank++) {
        char *at = x->data + (size_t)rank * x->stride;
        int code;

        state[rank] = rank == 0 || comm->gone[rank] ? LOT_MPI_DONE : LOT_MPI_WAITING;
        if (state[rank] == LOT_MPI_DONE)
            continue;
        code = x->receive ? MPI_Irecv(at, x->bytes, MPI_BYTE, rank, x->tag, comm->world, &requests[rank])
                          : MPI_Isend(at, x->bytes, MPI_BYTE, rank, x->tag, comm->world, &requests[rank]);
        if (code != MPI_SUCCESS)
            state[rank] = LOT_MPI_UNREACHABLE;
    }
}

static lot_status meet_all(lot_comm *comm, const exchange *x, double limit, lot_error *error)
{
    MPI_Request *requests = calloc((size_t)comm->size, sizeof(MPI_Request));
    uint8_t *state = calloc((size_t)comm->size, 1);
    lot_status status = LOT_OK;
    int missing;

    if (requests == NULL || state == NULL) {
        status = lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory to meet %d ranks", comm->size);
    } else {
        start_all(comm, x, requests, state);
        missing = lot_mpi_wait_all(comm, requests, state, limit);
        if (missing > 0)
            status = name_missing(comm, x->point, requests, state, missing, limit, error);
    }
    free(requests);
    free(state);
    return status;
}

lot_status lot_mpi_gather(lot_comm *comm, const char *point, const void *mine, size_t bytes, void *all,
                          double limit, lot_error *error)
{
    const int tag = next_tag(comm);
    MPI_Request request;
    int code;

    if (comm->rank == 0) {
        const exchange x = {point, all, bytes, (int)bytes, 1, tag};

        memcpy(all, mine, bytes);
        return meet_all(comm, &x, limit, error);
    }
    code = MPI_Isend(mine, (int)bytes, MPI_BYTE, 0, tag, comm->world, &request);
    return code == MPI_SUCCESS ? lot_mpi_wait(comm, &request, limit, point, 0, error)
                               : lot_mpi_unreachable(error, "MPI_Isend", 0, code);
}

static lot_status broadcast(lot_comm *comm, const char *point, void *data, size_t bytes, double limit,
                            lot_error *error)
{
    const int tag = next_tag(comm);
    MPI_Request request;
    int code;

    if (comm->rank == 0) {
        const exchange x = {point, data, 0, (int)bytes, 0, tag};

        return meet_all(comm, &x, limit, error);
    }
    code = MPI_Irecv(data, (int)bytes, MPI_BYTE, 0, tag, comm->world, &request);
    /* Rank 0 may itself wait up to the limit for others before it answers. */
    return code == MPI_SUCCESS ? lot_mpi_wait(comm, &request, 2 * limit, point, 0, error)
                               : lot_mpi_unreachable(error, "MPI_Irecv", 0, code);
}

static int stop(lot_comm *comm, int everyone_is_here, int exit_status)
{
    if (!everyone_is_here)
        return 0;
    if (comm->any_gone)
        (void)MPI_Abort(comm->world, exit_status);
    lot_mpi_end_talk(comm);
    (void)MPI_Comm_free(&comm->world);
    (void)MPI_Finalize();
    release(comm);
    return 1;
}

__attribute__((visibility("default"))) extern const lot_comm_module lot_comm_table;

__attribute__((visibility("default"))) const lot_comm_module lot_comm_table = {
    .abi = LOT_COMM_ABI,
    .size = sizeof(lot_comm_module),
    .name = "mpi",
    .library = library_name,
    .start = start,
    .gather = lot_mpi_gather,
    .broadcast = broadcast,
    .send = lot_mpi_send,
    .receive = lot_mpi_receive,
    .talk = lot_mpi_talk,
    .stop = stop,
};
