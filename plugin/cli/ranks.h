/// A command under a launcher such as mpirun: its processes join, and the first one speaks.
#ifndef FIRN_CLI_RANKS_H
#define FIRN_CLI_RANKS_H

#include "command.h"

#include "firn/ranks.h"

/// Joins the processes when a launcher has started several; *ranks stays NULL without one. Prints
/// what goes wrong and returns an exit code.
int firn_ranks_join(firn_ranks **ranks);

/// True for all processes but the first, which speaks for them.
bool firn_ranks_follows(const firn_ranks *ranks);

/// Keeps the process from printing, and lets it again: what goes wrong alike on all ranks is told
/// once.
typedef struct firn_hush {
    int descriptors[2];
} firn_hush;
firn_hush firn_ranks_hush(const firn_ranks *ranks);
void firn_ranks_unhush(const firn_hush *hush);

/// All ranks, after the scene was loaded with this exit code; graph NULL where it was not. Returns
/// the exit code of the first that failed, and prints its sentence unless it was printed.
int firn_ranks_meet(const firn_ranks *ranks, firn_graph *graph, int code, const char *sentence);

/// Ranks but the first: follows until dismissed, and returns the exit code of all.
int firn_ranks_follow(firn_graph *graph);

/// How many threads a process takes where it shares a machine with others of the launcher and was
/// given none of its own; 0: as many as it finds.
int firn_ranks_threads(void);

#endif
