/* The ranks' meetings over MPI. The only user of mpi.h.
 *
 * Point to point and nonblocking throughout: so rank 0 can name the ranks that did not come, and a waiting
 * rank sleeps instead of taking a CPU from one that still measures. Each meeting has a tag of its own, so
 * that a message that comes too late is never taken for one of a later meeting. Only host memory is ever
 * passed to MPI. */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "measure/comm.h"

#define PIECE_BYTES  (64 << 20) /* MPI counts are int; a long text goes in pieces */
#define FIRST_TAG    16         /* tags below belong to texts, those from here on to meetings */
#define TAG_PERIOD   16384      /* MPI guarantees tags up to 32767 */
#define LATE_LISTED  8          /* ranks named in a message */
#define NAP_SHORTEST 20e-6
#define NAP_LONGEST  1e-3
#define LOOK_SECONDS 0.5 /* between two looks whether a silent rank is still alive */

enum { TAG_ASK = 1, TAG_SIZE = 2, TAG_DATA = 3 };

/* Where a rank's process can be looked for: a process id means something within one boot of one machine and
 * one namespace of process ids. */
typedef struct whereabouts {
    char machine[128];
    int pid;
} whereabouts;

struct lot_comm {
    MPI_Comm world;
    whereabouts here;
    whereabouts *others; /* of every rank on rank 0; of rank 0 alone elsewhere */
    int rank;
    int size;
    int meeting;   /* counted alike on every rank */
    uint8_t *gone; /* rank 0: ranks that once did not come */
    int any_gone;
};

static lot_status failed(lot_error *error, const char *call, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    (void)MPI_Error_string(code, text, &length);
    return lot_error_set(error, LOT_INTERNAL, call, code, "%s failed: %s", call, text);
}

/* A message to or from one rank failed. Only a library that reports dead processes (ULFM) gets here, and then
 * the rank is gone, as one that does not come. */
static lot_status unreachable(lot_error *error, const char *call, int rank, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    (void)MPI_Error_string(code, text, &length);
    return lot_error_set(error, LOT_TIMEOUT, call, rank, "rank %d cannot be reached: %s", rank, text);
}

/* Local ranks as MPI sees hosts. */
static int find_local(MPI_Comm world, lot_comm_facts *facts)
{
    MPI_Comm local;
    int code = MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);

    if (code != MPI_SUCCESS)
        return code;
    (void)MPI_Comm_rank(local, &facts->local_rank);
    (void)MPI_Comm_size(local, &facts->local_size);
    return MPI_Comm_free(&local);
}

static void library_name(char *name, size_t size)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;

    (void)MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = '\0'; /* "Open MPI v4.1.4"; what follows is the packager's */
    (void)snprintf(name, size, "%s", text);
}

static void read_line(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");

    text[0] = '\0';
    if (file == NULL)
        return;
    if (fgets(text, (int)size, file) == NULL)
        text[0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    (void)fclose(file);
}

static void find_here(whereabouts *here)
{
    char boot[64];
    char names[48] = "";

    memset(here, 0, sizeof *here);
    read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    if (readlink("/proc/self/ns/pid", names, sizeof names - 1) > 0 && boot[0] != '\0')
        (void)snprintf(here->machine, sizeof here->machine, "%s %s", boot, names);
    here->pid = (int)getpid();
}

/* Every rank tells rank 0 where it is, and learns where rank 0 is: once, before anything can have died. */
static int exchange_whereabouts(lot_comm *comm)
{
    const int bytes = (int)sizeof(whereabouts);
    whereabouts zero;
    int code;

    find_here(&comm->here);
    zero = comm->here;
    code = MPI_Bcast(&zero, bytes, MPI_BYTE, 0, comm->world);
    if (code == MPI_SUCCESS)
        code = MPI_Gather(&comm->here, bytes, MPI_BYTE, comm->others, bytes, MPI_BYTE, 0, comm->world);
    if (comm->rank != 0)
        comm->others[0] = zero;
    return code;
}

/* True where the rank's process can be looked for from here and is no more (a zombie is no more). */
static int is_dead(const lot_comm *comm, int rank)
{
    const whereabouts *there = &comm->others[rank];
    char path[64], line[512];
    const char *state;

    if (there->machine[0] == '\0' || strcmp(there->machine, comm->here.machine) != 0)
        return 0;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", there->pid);
    read_line(path, line, sizeof line);
    state = strrchr(line, ')');
    return state == NULL || state[1] == '\0' || strchr("ZXx", state[2]) != NULL;
}

static lot_status start(lot_comm **comm, lot_comm_facts *facts, lot_error *error)
{
    lot_comm *made = calloc(1, sizeof *made);
    int provided, code;

    if (made == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for the communicator");
    code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_dup(MPI_COMM_WORLD, &made->world);
    if (code == MPI_SUCCESS)
        code = find_local(made->world, facts);
    if (code != MPI_SUCCESS) {
        free(made);
        return failed(error, "MPI_Init_thread", code);
    }
    (void)MPI_Comm_rank(made->world, &made->rank);
    (void)MPI_Comm_size(made->world, &made->size);
    made->gone = calloc((size_t)made->size, 1);
    made->others = calloc(made->rank == 0 ? (size_t)made->size : 1, sizeof *made->others);
    if (made->gone == NULL || made->others == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for %d ranks", made->size);
    code = exchange_whereabouts(made);
    if (code != MPI_SUCCESS)
        return failed(error, "MPI_Gather", code);
    facts->rank = made->rank;
    facts->size = made->size;
    library_name(facts->library, sizeof facts->library);
    *comm = made;
    return LOT_OK;
}

/* A nap that grows while nothing happens: short waits stay short, long ones cost no CPU. */
static void nap(double *length)
{
    lot_clock_sleep(*length);
    if (*length < NAP_LONGEST)
        *length *= 2;
}

/* Waits for one request from or to rank `whom`, which is named when the limit is reached or its process is
 * dead. */
static lot_status wait_for(const lot_comm *comm, MPI_Request *request, double limit, const char *call,
                           int whom, lot_error *error)
{
    const double until = lot_clock_seconds() + limit;
    double look = lot_clock_seconds() + LOOK_SECONDS;
    double length = NAP_SHORTEST;
    int dead = 0;

    for (;;) {
        int done = 0;
        const int code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        const double now = lot_clock_seconds();

        if (code != MPI_SUCCESS)
            return unreachable(error, call, whom, code);
        if (done)
            return LOT_OK;
        if (dead || now > until)
            break;
        if (now > look) {
            dead = is_dead(comm, whom); /* one more look for what it may have sent before */
            look = now + LOOK_SECONDS;
        }
        nap(&length);
    }
    /* The request's buffer may be gone soon; a message that still comes must not be written there. */
    (void)MPI_Cancel(request);
    (void)MPI_Request_free(request);
    if (dead)
        return lot_error_set(error, LOT_TIMEOUT, call, whom, "the process of rank %d is dead", whom);
    return lot_error_set(error, LOT_TIMEOUT, call, whom, "no answer from rank %d within %g s", whom, limit);
}

static int next_tag(lot_comm *comm)
{
    return FIRST_TAG + comm->meeting++ % TAG_PERIOD;
}

/* What became of one rank's part of a meeting. */
enum { WAITING = 0, DONE = 1, UNREACHABLE = 2 };

/* Tests every open request once; returns how many are still waited for. */
static int test_all(MPI_Request *requests, int count, uint8_t *state)
{
    int waiting = 0;

    for (int i = 0; i < count; i++) {
        int flag = 0;

        if (state[i] == WAITING && MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            state[i] = UNREACHABLE;
        else if (flag)
            state[i] = DONE;
        waiting += state[i] == WAITING;
    }
    return waiting;
}

static int all_dead(const lot_comm *comm, const uint8_t *state)
{
    for (int i = 0; i < comm->size; i++)
        if (state[i] == WAITING && !is_dead(comm, i))
            return 0;
    return 1;
}

/* Waits until every request is done, the limit is reached, or all that are still missing are dead. state[i]
 * says which are done; returns how many are not. */
static int wait_for_all(const lot_comm *comm, MPI_Request *requests, uint8_t *state, double limit)
{
    const double until = lot_clock_seconds() + limit;
    double look = lot_clock_seconds() + LOOK_SECONDS;
    double length = NAP_SHORTEST;
    int before = comm->size;
    int dead = 0;
    int missing = 0;

    for (;;) {
        const int waiting = test_all(requests, comm->size, state);
        const double now = lot_clock_seconds();

        if (waiting == 0 || dead || now > until)
            break;
        if (now > look) {
            dead = all_dead(comm, state); /* then one more test, for what they may have sent before */
            look = now + LOOK_SECONDS;
        }
        if (waiting < before)
            length = NAP_SHORTEST;
        before = waiting;
        nap(&length);
    }
    for (int i = 0; i < comm->size; i++)
        missing += state[i] != DONE;
    return missing;
}

/* LOT_TIMEOUT with the first few ranks that are missing; they are gone from now on. */
static lot_status name_missing(lot_comm *comm, const char *point, MPI_Request *requests, const uint8_t *state,
                               int missing, double limit, lot_error *error)
{
    char list[128] = "";
    int listed = 0;

    for (int i = 0; i < comm->size; i++) {
        const size_t used = strlen(list);

        if (state[i] == DONE)
            continue;
        if (state[i] == WAITING) {
            (void)MPI_Cancel(&requests[i]);
            (void)MPI_Request_free(&requests[i]);
        }
        comm->gone[i] = 1;
        comm->any_gone = 1;
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

        state[rank] = rank == 0 || comm->gone[rank] ? DONE : WAITING;
        if (state[rank] == DONE)
            continue;
        code = x->receive ? MPI_Irecv(at, x->bytes, MPI_BYTE, rank, x->tag, comm->world, &requests[rank])
                          : MPI_Isend(at, x->bytes, MPI_BYTE, rank, x->tag, comm->world, &requests[rank]);
        if (code != MPI_SUCCESS)
            state[rank] = UNREACHABLE;
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
        missing = wait_for_all(comm, requests, state, limit);
        if (missing > 0)
            status = name_missing(comm, x->point, requests, state, missing, limit, error);
    }
    free(requests);
    free(state);
    return status;
}

static lot_status gather(lot_comm *comm, const char *point, const void *mine, size_t bytes, void *all,
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
    return code == MPI_SUCCESS ? wait_for(comm, &request, limit, point, 0, error)
                               : unreachable(error, "MPI_Isend", 0, code);
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
    return code == MPI_SUCCESS ? wait_for(comm, &request, 2 * limit, point, 0, error)
                               : unreachable(error, "MPI_Irecv", 0, code);
}

static lot_status pass(lot_comm *comm, int receive, void *data, int bytes, int peer, int tag, double limit,
                       lot_error *error)
{
    MPI_Request request;
    const int code = receive ? MPI_Irecv(data, bytes, MPI_BYTE, peer, tag, comm->world, &request)
                             : MPI_Isend(data, bytes, MPI_BYTE, peer, tag, comm->world, &request);

    if (code != MPI_SUCCESS)
        return unreachable(error, receive ? "MPI_Irecv" : "MPI_Isend", peer, code);
    return wait_for(comm, &request, limit, receive ? "receive" : "send", peer, error);
}

static lot_status pass_pieces(lot_comm *comm, int receive, char *data, size_t bytes, int peer, double limit,
                              lot_error *error)
{
    lot_status status = LOT_OK;

    for (size_t at = 0; status == LOT_OK && at < bytes; at += PIECE_BYTES) {
        const size_t piece = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;

        status = pass(comm, receive, data + at, (int)piece, peer, TAG_DATA, limit, error);
    }
    return status;
}

static lot_status send_text(lot_comm *comm, const void *data, size_t bytes, double limit, lot_error *error)
{
    uint64_t length = bytes;
    char ask = 0;
    lot_status status = pass(comm, 1, &ask, 1, 0, TAG_ASK, limit, error);

    if (status == LOT_OK)
        status = pass(comm, 0, &length, sizeof length, 0, TAG_SIZE, limit, error);
    if (status == LOT_OK)
        status = pass_pieces(comm, 0, (char *)(uintptr_t)data, bytes, 0, limit, error);
    return status;
}

static lot_status receive_text(lot_comm *comm, int rank, void **data, size_t *bytes, double limit,
                               lot_error *error)
{
    uint64_t length = 0;
    char ask = 1;
    char *text = NULL;
    lot_status status;

    if (comm->gone[rank])
        return lot_error_set(error, LOT_LOST, "receive", rank, "rank %d did not come to an earlier meeting",
                             rank);
    status = pass(comm, 0, &ask, 1, rank, TAG_ASK, limit, error);

    if (status == LOT_OK)
        status = pass(comm, 1, &length, sizeof length, rank, TAG_SIZE, limit, error);
    if (status == LOT_OK && (text = malloc((size_t)length + 1)) == NULL)
        status =
            lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for the record of rank %d, %llu bytes",
                          rank, (unsigned long long)length);
    if (status == LOT_OK)
        status = pass_pieces(comm, 1, text, (size_t)length, rank, limit, error);
    if (status != LOT_OK) {
        comm->gone[rank] = 1;
        comm->any_gone = 1;
        free(text);
        return status;
    }
    text[length] = '\0';
    *data = text;
    *bytes = (size_t)length;
    return LOT_OK;
}

static int stop(lot_comm *comm, int everyone_is_here, int exit_status)
{
    if (!everyone_is_here)
        return 0;
    if (comm->any_gone)
        (void)MPI_Abort(comm->world, exit_status);
    (void)MPI_Comm_free(&comm->world);
    (void)MPI_Finalize();
    free(comm->gone);
    free(comm->others);
    free(comm);
    return 1;
}

__attribute__((visibility("default"))) extern const lot_comm_module lot_comm_table;

__attribute__((visibility("default"))) const lot_comm_module lot_comm_table = {
    .abi = LOT_COMM_ABI,
    .size = sizeof(lot_comm_module),
    .name = "mpi",
    .library = library_name,
    .start = start,
    .gather = gather,
    .broadcast = broadcast,
    .send = send_text,
    .receive = receive_text,
    .stop = stop,
};
