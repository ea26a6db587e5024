/// Bodies as unknowns of the implicit step, method.md (62a): six more for each, and the nodes that
/// it carries along.
#ifndef FIRN_FOLLOWERS_H
#define FIRN_FOLLOWERS_H

#include "base/memory.h"

#include "firn/sim.h"

/// Scratch of a solve; without bodies nothing.
typedef struct firn_followers {
    firn_array nodes;  // those that a body carries, in the order of their blocks
    firn_array bodies; // of each slot: the vectors of the iteration
    size_t count;      // of nodes
} firn_followers;

/// What bodies add to the sums of an iteration.
typedef struct firn_follow_sums {
    double a, b, c;
} firn_follow_sums;

void firn_followers_free(firn_followers *followers, firn_budget *budget);
/// Claims memory; lists of contacts are there.
firn_result firn_followers_reserve(firn_sim *sim, firn_error *error);
/// Finds the nodes, when these have met the bodies.
void firn_followers_begin(firn_sim *sim);
size_t firn_followers_block(const firn_followers *followers, size_t i);
/// With H v in FIRN_NODE_A_RESIDUAL and the diagonal: the residual of bodies, and that of their
/// nodes; its norm. scale: beta dt^2.
double firn_followers_first(firn_sim *sim, double scale);
/// With H r there: <r, A r>, <A r, A r> and <A r, A p> of bodies, as finish_product has them.
firn_follow_sums firn_followers_product(firn_sim *sim, double scale);
/// As the nodes advance; the norm of the residual, and <A p, A p>.
firn_follow_sums firn_followers_advance(firn_sim *sim, double alpha, double beta);
/// With H v there: what carries a node along counts as taken by its body.
void firn_followers_account(firn_sim *sim, double scale);

#endif
