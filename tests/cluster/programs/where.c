/* where: one line per rank, in rank order, saying where it runs as MPI, the launcher and Slurm see it.
 *
 * Status 0 only if a message round the ring of all ranks arrived whole. A word that is not set reads "-". */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { message_bytes = 1 << 20, line_bytes = 1024 };

static const char *word(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : "-";
}

static int ring_works(int rank, int size)
{
    char *out = malloc(message_bytes);
    char *in = malloc(message_bytes);
    int left = (rank + size - 1) % size;
    int works = 0;
    if (out != NULL && in != NULL) {
        memset(out, rank, message_bytes);
        MPI_Sendrecv(out, message_bytes, MPI_CHAR, (rank + 1) % size, 0, in, message_bytes, MPI_CHAR, left, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        works = in[0] == (char)left && in[message_bytes - 1] == (char)left;
    }
    free(out);
    free(in);
    return works;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = 0, size = 0, local = 0, locals = 0;
    MPI_Comm node;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &local);
    MPI_Comm_size(node, &locals);

    char host[256] = "";
    gethostname(host, sizeof host - 1);
    int works = ring_works(rank, size);
    char line[line_bytes];
    snprintf(line, sizeof line,
             "rank=%d size=%d host=%s local=%d locals=%d job=%s step=%s node=%s procid=%s localid=%s "
             "ompi_local=%s visible=%s restarts=%s task=%s ring=%s\n",
             rank, size, host, local, locals, word("SLURM_JOB_ID"), word("SLURM_STEP_ID"),
             word("SLURMD_NODENAME"), word("SLURM_PROCID"), word("SLURM_LOCALID"),
             word("OMPI_COMM_WORLD_LOCAL_RANK"), word("CUDA_VISIBLE_DEVICES"), word("SLURM_RESTART_COUNT"),
             word("SLURM_ARRAY_TASK_ID"), works ? "ok" : "broken");

    if (rank == 0) {
        fputs(line, stdout);
        for (int other = 1; other < size; other++) {
            MPI_Recv(line, sizeof line, MPI_CHAR, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            fputs(line, stdout);
        }
    } else {
        MPI_Send(line, (int)strlen(line) + 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    }
    MPI_Comm_free(&node);
    MPI_Finalize();
    return works ? 0 : 1;
}
