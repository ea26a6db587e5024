/// The semi-implicit step.
#ifndef FIRN_IMPLICIT_H
#define FIRN_IMPLICIT_H

#include "kernels.h"

#include "firn/sim.h"

/// What it keeps.
typedef struct firn_solver {
    firn_array blocks;                 // of each node block, what the solve knows of it
    float *cache[FIRN_CACHE_CHANNELS]; // of the Hessian, leased; NULL between two solves
    bool warm;                         // FIRN_NODE_CHANGE holds the last solve
} firn_solver;

/// Solves (9) for the velocities that firn_grid_update has left as right-hand side.
typedef struct firn_solve {
    int iterations;
    double residual; // m/s, root mean square over the mass
    bool converged;
} firn_solve;
firn_solve firn_implicit_solve(firn_sim *sim, float dt);
/// Claims the memory of the solve.
firn_result firn_implicit_reserve(firn_sim *sim, firn_error *error);
/// The Hessian's cache is leased from the scratch memory that sorts use, too: from
/// firn_transfer_prepare_hessian to the end of the solve.
void firn_implicit_lease_cache(firn_sim *sim);
void firn_implicit_release_cache(firn_sim *sim);
/// The next solve starts cold.
void firn_implicit_forget(firn_solver *solve);
/// warm_start.c: sorts, and carries the warm start over to the new blocks.
firn_result firn_implicit_sort(firn_sim *sim, firn_error *error);

#endif
