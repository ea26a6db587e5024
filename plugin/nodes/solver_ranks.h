/// What the solver does together with other ranks: particles come to the first of them, and
/// numbers tell how the work was shared.
#ifndef FIRN_SOLVER_RANKS_H
#define FIRN_SOLVER_RANKS_H

#include "firn/node.h"
#include "firn/sim_ranks.h"

enum { FIRN_RANK_STAT_COUNT = 6 };

/// Of the frame in progress, and where it began.
typedef struct firn_rank_account {
    double begun, waited, sent;
} firn_rank_account;

/// A simulation for the ranks that cook, or for this process alone.
firn_result firn_solver_create(const firn_cook *cook, const firn_sim_def *def, firn_sim **sim,
                               firn_error *error);

/// A channel of all particles, of which there are count, for the first rank: *values is claimed
/// there, and stays NULL with the others. Collective.
firn_result firn_solver_gather(const firn_cook *cook, firn_sim *sim, int channel, size_t count,
                               void **values, firn_error *error);

/// Begins the account of a frame, sim NULL: it is yet to be made; fills its numbers in the end,
/// collective.
void firn_solver_begin_account(const firn_sim *sim, firn_rank_account *account);
firn_result firn_solver_account(const firn_cook *cook, const firn_sim *sim,
                                const firn_rank_account *account, firn_stat *stats,
                                firn_error *error);

#endif
