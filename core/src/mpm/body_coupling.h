/// Snow and bodies: the twist that they agree on in a substep, method.md (60) to (62).
#ifndef FIRN_BODY_COUPLING_H
#define FIRN_BODY_COUPLING_H

#include "base/memory.h"
#include "bodies/bodies.h"

#include "firn/sim.h"

/// Scratch of a substep, claimed with the lists of contacts; empty without bodies that are free.
typedef struct firn_coupling {
    firn_array numbers; // int32 of each node block: its place among those with bodies, or -1
    firn_array blocks;  // uint32, node blocks that a free body is near
    firn_array sites;   // what bodies find at the nodes of these, 64 each
    firn_array counts;  // int32 of each, sites of it
    firn_array sums;    // of each entry of such a block in the lists: 42 doubles
    firn_array totals;  // the same of each body
    firn_array given;   // firn_impulse of each body
    size_t block_count;
} firn_coupling;

void firn_coupling_free(firn_coupling *coupling, firn_budget *budget);

/// Where bodies stand, for bounds of the substep.
void firn_coupling_begin(firn_sim *sim);
/// Bodies fall, touch each other and are led to where that takes them; colliders are prepared.
firn_result firn_coupling_predict(firn_sim *sim, float dt, firn_error *error);
/// Claims memory, when lists of contacts with nodes are there.
firn_result firn_coupling_reserve(firn_sim *sim, firn_error *error);
/// True: block b has bodies. What they find at its nodes is noted, and the block waits for
/// firn_coupling_solve, which gives them the twist to meet it with.
bool firn_coupling_gather(firn_sim *sim, size_t b, uint32_t rows);
/// again: nodes have met the bodies before, in this substep.
void firn_coupling_solve(firn_sim *sim, bool again);
/// The node blocks that wait.
static inline size_t firn_coupling_count(const firn_coupling *coupling)
{
    return coupling->block_count;
}
size_t firn_coupling_block(const firn_coupling *coupling, size_t i);
/// The slot of the free body of an entry of the lists of contacts with nodes, or -1.
int firn_coupling_body(const firn_sim *sim, size_t entry);
/// The twist of a body with what nodes have given it so far; firn_coupling_collect comes first.
void firn_coupling_collect(firn_sim *sim);
firn_twist firn_coupling_base(const firn_sim *sim, int body);
/// Six equations, Gauss with pivoting: a row of a is six coefficients and the right side, which
/// becomes the answer.
void firn_solve6(double a[42]);
/// Bodies get what nodes lost, and are led to the end. Gives their fastest point, m/s.
double firn_coupling_arrive(firn_sim *sim, float dt);
/// What particles lost joins, and the end is the present.
void firn_coupling_commit(firn_sim *sim, double dt);

#endif
