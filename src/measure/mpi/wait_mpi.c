/* Where the other ranks' processes are, and every wait for them. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/system_file.h"
#include "measure/mpi/comm_mpi.h"

#define NAP_SHORTEST 20e-6
#define NAP_LONGEST  1e-3
#define LOOK_SECONDS 0.5 /* between two looks whether a silent rank is still alive */

lot_status lot_mpi_unreachable(lot_error *error, const char *call, int rank, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    (void)MPI_Error_string(code, text, &length);
    return lot_error_set(error, LOT_TIMEOUT, call, rank, "rank %d cannot be reached: %s", rank, text);
}

void lot_mpi_lose(lot_comm *comm, int rank)
{
    comm->gone[rank] = 1;
    comm->any_gone = 1;
}

/* ---- where processes are ---- */

static void find_here(lot_mpi_place *here)
{
    char boot[64];
    char names[48] = "";

    memset(here, 0, sizeof *here);
    (void)lot_system_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    if (readlink("/proc/self/ns/pid", names, sizeof names - 1) > 0 && boot[0] != '\0')
        (void)snprintf(here->machine, sizeof here->machine, "%s %s", boot, names);
    here->pid = (int)getpid();
}

int lot_mpi_exchange_places(lot_comm *comm)
{
    const int bytes = (int)sizeof(lot_mpi_place);
    lot_mpi_place zero;
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
    const lot_mpi_place *there = &comm->others[rank];
    char path[64], line[512];
    const char *state;

    if (there->machine[0] == '\0' || strcmp(there->machine, comm->here.machine) != 0)
        return 0;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", there->pid);
    (void)lot_system_line(path, line, sizeof line);
    state = strrchr(line, ')');
    return state == NULL || state[1] == '\0' || strchr("ZXx", state[2]) != NULL;
}

/* ---- waiting ---- */

/* A nap that grows while nothing happens: short waits stay short, long ones cost no CPU. */
static void nap(double *length)
{
    lot_clock_sleep(*length);
    if (*length < NAP_LONGEST)
        *length *= 2;
}

lot_status lot_mpi_wait(lot_comm *comm, MPI_Request *request, double limit, const char *call, int whom,
                        lot_error *error)
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
            return lot_mpi_unreachable(error, call, whom, code);
        if (done)
            return LOT_OK;
        if (dead || now > until)
            break;
        if (now > look) {
            dead = is_dead(comm, whom); /* one more look for what it may have sent before */
            look = now + LOOK_SECONDS;
        }
        lot_mpi_listen(comm);
        nap(&length);
    }
    /* The request's buffer may be gone soon; a message that still comes must not be written there. */
    (void)MPI_Cancel(request);
    (void)MPI_Request_free(request);
    if (dead)
        return lot_error_set(error, LOT_TIMEOUT, call, whom, "the process of rank %d is dead", whom);
    return lot_error_set(error, LOT_TIMEOUT, call, whom, "no answer from rank %d within %g s", whom, limit);
}

/* Tests every open request once; returns how many are still waited for. */
static int test_all(MPI_Request *requests, int count, uint8_t *state)
{
    int waiting = 0;

    for (int i = 0; i < count; i++) {
        int flag = 0;

        if (state[i] == LOT_MPI_WAITING && MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            state[i] = LOT_MPI_UNREACHABLE;
        else if (flag)
            state[i] = LOT_MPI_DONE;
        waiting += state[i] == LOT_MPI_WAITING;
    }
    return waiting;
}

static int all_dead(const lot_comm *comm, const uint8_t *state)
{
    for (int i = 0; i < comm->size; i++)
        if (state[i] == LOT_MPI_WAITING && !is_dead(comm, i))
            return 0;
    return 1;
}

int lot_mpi_wait_all(lot_comm *comm, MPI_Request *requests, uint8_t *state, double limit)
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
        lot_mpi_listen(comm);
        nap(&length);
    }
    for (int i = 0; i < comm->size; i++)
        missing += state[i] != LOT_MPI_DONE;
    return missing;
}
