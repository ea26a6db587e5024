/// One graph cooked by several processes together.
///
/// A launcher such as mpirun starts the same command several times. Each process is a rank: the
/// first one leads the bake and alone reads and writes the cache; the others follow it, and hold
/// their part of the snow. Every file has the bytes that one process writes.
///
///     firn_ranks *ranks = NULL;
///     FIRN_TRY(firn_ranks_open(&ranks, error));                 // loads libfirn_mpi
///     ... each loads the graph ...
///     FIRN_TRY(firn_graph_meet(graph, firn_ranks_exchange(ranks), &own, error));
///     if (firn_ranks_exchange(ranks)->rank == 0) {
///         result = firn_graph_bake(graph, &def, error);
///         firn_graph_dismiss(graph, result);
///     } else {
///         result = firn_graph_follow(graph, &code, error);
///     }
///     firn_ranks_close(ranks);
#ifndef FIRN_RANKS_H
#define FIRN_RANKS_H

#include "firn/exchange.h"
#include "firn/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct firn_ranks firn_ranks;

/// How many processes the launcher started, as its variables say; 0: there is no launcher. Those of
/// OpenMPI, of MPICH and its kin, and of the steps of Slurm are known.
FIRN_API int firn_ranks_launched(void);

/// How many of them run on this machine; 0: the launcher does not say.
FIRN_API int firn_ranks_local(void);

/// Loads libfirn_mpi and joins the processes. FIRN_ERR_UNSUPPORTED when it is not installed, or
/// when the launcher and MPI do not speak with each other. Collective.
FIRN_API firn_result firn_ranks_open(firn_ranks **ranks, firn_error *error);
FIRN_API const firn_exchange *firn_ranks_exchange(const firn_ranks *ranks);
FIRN_API void firn_ranks_close(firn_ranks *ranks); // collective; accepts NULL

/// What a rank brings to the start, and what comes of it for all.
typedef struct firn_meeting {
    firn_result result;               // what has come of the preparations so far
    int code;                         // exit code that goes with it
    char identity[FIRN_TEXT_SIZE];    // of the program, such as version and commit
    char sentence[FIRN_MESSAGE_SIZE]; // of what failed
    int rank;                         // out: the first that failed, or -1
} firn_meeting;

/// All ranks come together before anything is cooked: with a graph that is valid, or with what was
/// wrong. Programs, instruction sets, scenes and input files must be equal. On failure every rank
/// has the result, code and sentence of the first that failed. From here on the graph cooks with
/// the others; the exchange must outlive it. graph may be NULL where the result is a failure.
FIRN_API firn_result firn_graph_meet(firn_graph *graph, const firn_exchange *exchange,
                                     firn_meeting *own, firn_error *error);

/// Ranks but the first: does what the first asks for until it dismisses them; *code is what it gave
/// them. FIRN_ERR_IO when it is lost.
FIRN_API firn_result firn_graph_follow(firn_graph *graph, int *code, firn_error *error);

/// The first rank: the others leave, with this code. Without others nothing happens.
FIRN_API void firn_graph_dismiss(firn_graph *graph, int code);

#ifdef __cplusplus
}
#endif

#endif
