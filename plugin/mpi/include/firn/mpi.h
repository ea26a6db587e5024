/// Ranks of a simulation over MPI: an exchange between the processes that a launcher started.
///
/// A library of its own (libfirn_mpi), so that nothing else of Firn needs MPI. All processes run
/// the same program under mpirun:
///
///     firn_mpi *mpi = NULL;
///     FIRN_TRY(firn_mpi_open(&mpi, error));
///     FIRN_TRY(firn_sim_create_shared(&def, firn_mpi_exchange(mpi), &sim, error));
///     ... the same calls on every rank ...
///     firn_sim_destroy(sim);
///     firn_mpi_close(mpi);
#ifndef FIRN_MPI_H
#define FIRN_MPI_H

#include "firn/exchange.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct firn_mpi firn_mpi;

/// Starts MPI unless the program has done so, and joins all processes of the launcher. A program
/// that starts MPI itself asks for MPI_THREAD_FUNNELED and calls Firn from the same thread.
/// Collective.
FIRN_API firn_result firn_mpi_open(firn_mpi **mpi, firn_error *error);

/// The exchange, valid until close.
FIRN_API const firn_exchange *firn_mpi_exchange(const firn_mpi *mpi);

/// The bytes that this rank has sent so far, for reports.
FIRN_API uint64_t firn_mpi_sent(const firn_mpi *mpi);

/// Ends what open has begun; accepts NULL. Collective.
FIRN_API void firn_mpi_close(firn_mpi *mpi);

#ifdef __cplusplus
}
#endif

#endif
