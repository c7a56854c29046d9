/* signals SECONDS: ranks in step, five times a second, until the time is up or any of them got SIGUSR1 or
 * SIGTERM.
 *
 * Each rank says on stderr which signals reached it; rank 0 says "started" and how it ended on stdout. It
 * stands for a measuring program that keeps what it has when it is told to stop. Status 0, also when it was
 * told to stop. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t caught;

static void remember(int number)
{
    caught = number;
}

static void listen_to(int number)
{
    struct sigaction action = {.sa_handler = remember, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

int main(int argc, char **argv)
{
    listen_to(SIGUSR1);
    listen_to(SIGTERM);
    MPI_Init(&argc, &argv);
    int rank = 0, steps = argc > 1 ? 5 * atoi(argv[1]) : 50, stop = 0, step = 0;
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        printf("started\n");
        fflush(stdout);
    }
    for (step = 0; step < steps && !stop; step++) {
        const struct timespec pause = {.tv_nsec = 200000000};
        int mine = caught;
        nanosleep(&pause, NULL);
        MPI_Allreduce(&mine, &stop, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    if (caught) {
        fprintf(stderr, "rank=%d host=%s signal=%s\n", rank, host, caught == SIGTERM ? "TERM" : "USR1");
    }
    if (rank == 0) {
        printf("ended steps=%d told=%d\n", step, stop != 0);
    }
    MPI_Finalize();
    return 0;
}
