/// Several ranks that compute one simulation together: how they speak with each other.
///
/// A rank is a firn_sim of its own, in a process or thread of its own, that holds a part of the
/// snow. All ranks are made with equal settings and get the same calls with the same values in the
/// same order; what comes out has the bits of one rank, however many there are. An exchange carries
/// bytes between them: over MPI, or within one process. It knows nothing about snow.
///
/// Every function is collective: all ranks call it, in the same order, and it may wait for them.
/// All give false when another rank cannot be reached, and then for ever: the simulation ends with
/// FIRN_ERR_IO. Nothing here needs shared memory.
#ifndef FIRN_EXCHANGE_H
#define FIRN_EXCHANGE_H

#include "firn/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Bytes to a rank or from it.
typedef struct firn_parcel {
    void *data;
    size_t bytes; // 0: there is no message
} firn_parcel;

/// Adds the share of one rank to a state.
typedef void firn_fold(void *state, void *context);

typedef struct firn_exchange {
    size_t size; // of this struct, as the caller knows it
    int rank, rank_count;
    void *user; // given to each function

    /// One number to each rank and one from each, in the order of ranks.
    bool (*numbers)(void *user, const uint64_t *to, uint64_t *from);
    /// Starts to send and receive a parcel for each rank. Both sides know the sizes. The bytes stay
    /// in place until end; between begin and end nothing else of the exchange is called.
    bool (*begin)(void *user, const firn_parcel *send, const firn_parcel *receive);
    bool (*end)(void *user);
    /// The largest of each number over all ranks. None of them is NaN.
    bool (*largest)(void *user, double *values, int count);
    /// The ranks add their shares to the state one after the other, from the first to the last, and
    /// all get what comes out. The state to begin with is that of the first rank.
    bool (*fold)(void *user, void *state, size_t size, firn_fold *add, void *context);
} firn_exchange;

#ifdef __cplusplus
}
#endif

#endif
