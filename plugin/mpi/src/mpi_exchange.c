#define _POSIX_C_SOURCE 200809L
#include "firn/mpi.h"

#include <limits.h>
#include <mpi.h>
#include <string.h>
#include <time.h>

// Messages of MPI count with an int: what is longer goes in pieces, which arrive in their order.
enum { PIECE = 1 << 30, TAG_PARCEL = 1, TAG_FOLD = 2 };

struct firn_mpi {
    firn_exchange exchange;
    MPI_Comm comm; // of Firn alone: messages of the program do not meet its own
    bool begun;    // MPI was started here
    bool broken;   // somebody could not be reached
    size_t request_count, request_capacity;
    MPI_Request *requests; // between begin and end
    uint64_t sent;         // bytes
};

static bool check(firn_mpi *mpi, int result)
{
    mpi->broken = mpi->broken || result != MPI_SUCCESS;
    return !mpi->broken;
}

// Short waits cost no time and long ones no processor: while the first rank writes a frame, the
// others leave their cores to it. Who gives a core away by sched_yield on a busy machine waits for
// it much longer than who sleeps.
static void rest(double waited)
{
    static const double spin = 50e-6, brief = 5e-3; // s
    if (waited > spin)
        nanosleep(&(struct timespec){.tv_nsec = waited < brief ? 10000 : 500000}, NULL);
}

// The end of all that was begun.
static bool wait_for(firn_mpi *mpi, MPI_Request *requests, int count)
{
    int done = 0;
    for (double begun = firn_seconds(); !done;) {
        if (!check(mpi, MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE)))
            return false;
        if (!done)
            rest(firn_seconds() - begun);
    }
    return true;
}

static bool exchange_numbers(void *user, const uint64_t *to, uint64_t *from)
{
    firn_mpi *mpi = user;
    mpi->sent += sizeof *to * (uint64_t)(mpi->exchange.rank_count - 1);
    MPI_Request request;
    return !mpi->broken &&
           check(mpi,
                 MPI_Ialltoall(to, 1, MPI_UINT64_T, from, 1, MPI_UINT64_T, mpi->comm, &request)) &&
           wait_for(mpi, &request, 1);
}

static size_t pieces_of(const firn_parcel *parcels, int count)
{
    size_t pieces = 0;
    for (int r = 0; r < count; r++)
        pieces += (parcels[r].bytes + PIECE - 1) / PIECE;
    return pieces;
}

static bool reserve(firn_mpi *mpi, size_t count)
{
    if (count <= mpi->request_capacity)
        return true;
    firn_free(mpi->requests);
    mpi->requests = firn_alloc(count * sizeof *mpi->requests);
    mpi->request_capacity = mpi->requests != NULL ? count : 0;
    return mpi->requests != NULL;
}

static bool post(firn_mpi *mpi, int rank, const firn_parcel *parcel, bool send)
{
    bool fine = true;
    for (size_t at = 0; fine && at < parcel->bytes; at += PIECE) {
        char *bytes = (char *)parcel->data + at;
        int count = parcel->bytes - at < PIECE ? (int)(parcel->bytes - at) : PIECE;
        MPI_Request *request = &mpi->requests[mpi->request_count++];
        fine = check(
            mpi, send ? MPI_Isend(bytes, count, MPI_BYTE, rank, TAG_PARCEL, mpi->comm, request)
                      : MPI_Irecv(bytes, count, MPI_BYTE, rank, TAG_PARCEL, mpi->comm, request));
    }
    mpi->sent += send ? parcel->bytes : 0;
    return fine;
}

static bool exchange_begin(void *user, const firn_parcel *send, const firn_parcel *receive)
{
    firn_mpi *mpi = user;
    int count = mpi->exchange.rank_count, own = mpi->exchange.rank;
    mpi->request_count = 0;
    if (mpi->broken || !reserve(mpi, pieces_of(send, count) + pieces_of(receive, count))) {
        mpi->broken = true;
        return false;
    }
    // What a rank sends to itself needs no network. Those that receive wait first.
    if (send[own].bytes > 0)
        memmove(receive[own].data, send[own].data, send[own].bytes);
    bool fine = true;
    for (int r = 0; fine && r < count; r++)
        fine = r == own || post(mpi, r, &receive[r], false);
    for (int i = 1; fine && i < count; i++) {
        int r = (own + i) % count; // not all to the first rank at once
        fine = post(mpi, r, &send[r], true);
    }
    return fine;
}

static bool exchange_end(void *user)
{
    firn_mpi *mpi = user;
    if (mpi->broken || mpi->request_count > INT_MAX)
        return false;
    return wait_for(mpi, mpi->requests, (int)mpi->request_count);
}

static bool exchange_largest(void *user, double *values, int count)
{
    firn_mpi *mpi = user;
    mpi->sent += sizeof *values * (uint64_t)count;
    MPI_Request request;
    return !mpi->broken &&
           check(mpi, MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_MAX, mpi->comm,
                                     &request)) &&
           wait_for(mpi, &request, 1);
}

// From rank to rank, so that shares are added in their order whatever MPI would choose.
static bool exchange_fold(void *user, void *state, size_t size, firn_fold *add, void *context)
{
    firn_mpi *mpi = user;
    int rank = mpi->exchange.rank, last = mpi->exchange.rank_count - 1;
    if (mpi->broken || size > INT_MAX) {
        mpi->broken = true;
        return false;
    }
    MPI_Request request;
    if (rank > 0 && (!check(mpi, MPI_Irecv(state, (int)size, MPI_BYTE, rank - 1, TAG_FOLD,
                                           mpi->comm, &request)) ||
                     !wait_for(mpi, &request, 1)))
        return false;
    add(state, context);
    if (rank < last && (!check(mpi, MPI_Isend(state, (int)size, MPI_BYTE, rank + 1, TAG_FOLD,
                                              mpi->comm, &request)) ||
                        !wait_for(mpi, &request, 1)))
        return false;
    mpi->sent += size;
    return check(mpi, MPI_Ibcast(state, (int)size, MPI_BYTE, last, mpi->comm, &request)) &&
           wait_for(mpi, &request, 1);
}

static firn_result start(firn_mpi *mpi, firn_error *error)
{
    int running = 0, level = MPI_THREAD_FUNNELED, ended = 0;
    if (MPI_Finalized(&ended) != MPI_SUCCESS || ended)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "MPI has ended already: it starts only once");
    MPI_Initialized(&running);
    if (!running && MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
        return firn_fail(error, FIRN_ERR_IO, "MPI cannot be started");
    mpi->begun = !running;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_FUNNELED)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "MPI was started without threads; ask for MPI_THREAD_FUNNELED");
    if (MPI_Comm_dup(MPI_COMM_WORLD, &mpi->comm) != MPI_SUCCESS)
        return firn_fail(error, FIRN_ERR_IO, "the ranks of MPI cannot be joined");
    // A rank that is gone is an answer, not the end of the program.
    MPI_Comm_set_errhandler(mpi->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(mpi->comm, &mpi->exchange.rank);
    MPI_Comm_size(mpi->comm, &mpi->exchange.rank_count);
    return FIRN_OK;
}

firn_result firn_mpi_open(firn_mpi **mpi, firn_error *error)
{
    firn_mpi *own = firn_alloc_zero(sizeof *own);
    *mpi = NULL;
    if (own == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot join the ranks");
    own->comm = MPI_COMM_NULL;
    own->exchange = (firn_exchange){.size = sizeof(firn_exchange),
                                    .user = own,
                                    .numbers = exchange_numbers,
                                    .begin = exchange_begin,
                                    .end = exchange_end,
                                    .largest = exchange_largest,
                                    .fold = exchange_fold};
    firn_result result = start(own, error);
    if (result != FIRN_OK) {
        firn_mpi_close(own);
        return result;
    }
    *mpi = own;
    return FIRN_OK;
}

const firn_exchange *firn_mpi_exchange(const firn_mpi *mpi) { return &mpi->exchange; }

uint64_t firn_mpi_sent(const firn_mpi *mpi) { return mpi->sent; }

void firn_mpi_close(firn_mpi *mpi)
{
    if (mpi == NULL)
        return;
    if (mpi->comm != MPI_COMM_NULL && !mpi->broken)
        MPI_Comm_free(&mpi->comm);
    if (mpi->begun && !mpi->broken)
        MPI_Finalize();
    firn_free(mpi->requests);
    firn_free(mpi);
}
