/* What ranks tell each other beside their meetings: short messages that are looked for now and then, by
 * whoever waits anyway. A signal to one rank stops all: that rank tells rank 0, and rank 0 tells everyone.
 * And rank 0 hears how far the others are. */
#include <string.h>

#include "core/clock.h"
#include "measure/mpi/comm_mpi.h"

#define LISTEN_SECONDS  0.2  /* between two looks */
#define NEWS_SECONDS    1.0  /* between two of a rank's news, */
#define NEWS_PER_SECOND 64.0 /* and that rank 0 gets no more of them than this */

static void hear(lot_comm *comm, const lot_mpi_word *word, int source)
{
    const lot_talk *talk = comm->talk;

    if (talk == NULL)
        return;
    if (comm->rank == 0 && talk->all != NULL)
        talk->all[source] = word->news;
    if (word->signal != 0 && talk->stop->signal == 0) {
        talk->stop->rank = word->whose;
        talk->stop->signal = word->signal;
    }
}

/* Takes a word of `source`, if there is one. Returns MPI's code. */
static int take_word(lot_comm *comm, int source, int *taken)
{
    lot_mpi_word word;
    MPI_Status from;
    int code;

    *taken = 0;
    code = MPI_Iprobe(source, LOT_MPI_WORD, comm->world, taken, &from);
    if (code != MPI_SUCCESS || !*taken)
        return code;
    code = MPI_Recv(&word, (int)sizeof word, MPI_BYTE, from.MPI_SOURCE, LOT_MPI_WORD, comm->world,
                    MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS)
        hear(comm, &word, from.MPI_SOURCE);
    return code;
}

static void take_words(lot_comm *comm)
{
    const int source = comm->rank == 0 ? MPI_ANY_SOURCE : 0;
    int code = MPI_SUCCESS;
    int taken = 1;

    while (code == MPI_SUCCESS && taken)
        code = take_word(comm, source, &taken);
    if (comm->rank != 0 || code == MPI_SUCCESS)
        return;
    /* With a dead rank ULFM has no answer for "from anyone"; each rank can still be asked. */
    for (int rank = 1; rank < comm->size; rank++)
        if (!comm->gone[rank])
            (void)take_word(comm, rank, &taken);
}

/* Rank 0 tells everyone of the signal. The word never changes after that, so that nobody needs to wait until
 * it has left. */
static void tell_all(lot_comm *comm)
{
    MPI_Request request;

    for (int rank = 1; rank < comm->size; rank++)
        if (!comm->gone[rank] && rank != comm->word.whose &&
            MPI_Isend(&comm->word, (int)sizeof comm->word, MPI_BYTE, rank, LOT_MPI_WORD, comm->world,
                      &request) == MPI_SUCCESS)
            (void)MPI_Request_free(&request);
}

static int is_same(const lot_mpi_word *a, const lot_mpi_word *b)
{
    return a->signal == b->signal && a->whose == b->whose && a->news.stage == b->news.stage &&
           a->news.done == b->news.done && a->news.flops_per_second == b->news.flops_per_second;
}

/* True where the last word to rank 0 has left and there is a new one to tell. */
static int has_word(lot_comm *comm, const lot_mpi_word *word, double now)
{
    const double pause =
        comm->size > NEWS_PER_SECOND * NEWS_SECONDS ? comm->size / NEWS_PER_SECOND : NEWS_SECONDS;
    int left = 1;

    if (comm->sending != MPI_REQUEST_NULL &&
        MPI_Test(&comm->sending, &left, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        left = 0;
    if (!left || is_same(word, &comm->word))
        return 0;
    return word->signal != comm->word.signal || now - comm->sent_seconds >= pause;
}

static void tell(lot_comm *comm, double now)
{
    const lot_stop *stop = comm->talk->stop;
    lot_mpi_word word;

    memset(&word, 0, sizeof word);
    /* Only who got the signal tells rank 0 of it. */
    if (stop->signal != 0 && (comm->rank == 0 || stop->rank < 0)) {
        word.signal = (int32_t)stop->signal;
        word.whose = stop->rank >= 0 ? (int32_t)stop->rank : comm->rank;
    }
    if (comm->rank == 0) {
        if (comm->talk->mine != NULL && comm->talk->all != NULL)
            comm->talk->all[0] = *comm->talk->mine;
        if (word.signal == 0 || comm->word.signal != 0)
            return;
        comm->word = word;
        tell_all(comm);
        return;
    }
    if (comm->talk->mine != NULL)
        word.news = *comm->talk->mine;
    if (!has_word(comm, &word, now))
        return;
    comm->word = word;
    comm->sent_seconds = now;
    if (MPI_Isend(&comm->word, (int)sizeof comm->word, MPI_BYTE, 0, LOT_MPI_WORD, comm->world,
                  &comm->sending) != MPI_SUCCESS)
        comm->sending = MPI_REQUEST_NULL;
}

void lot_mpi_listen(lot_comm *comm)
{
    const double now = lot_clock_seconds();

    if (comm->talk == NULL)
        return;
    if (now - comm->listened_seconds >= LISTEN_SECONDS) {
        comm->listened_seconds = now;
        take_words(comm);
        tell(comm, now);
    }
    if (comm->talk->wait != NULL)
        comm->talk->wait(comm->talk->context);
}

void lot_mpi_talk(lot_comm *comm, const lot_talk *talk)
{
    comm->talk = talk;
    lot_mpi_listen(comm);
}

void lot_mpi_end_talk(lot_comm *comm)
{
    comm->talk = NULL;
    take_words(comm);
    if (comm->sending != MPI_REQUEST_NULL)
        (void)MPI_Request_free(&comm->sending);
}
