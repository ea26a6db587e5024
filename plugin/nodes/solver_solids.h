/// What the snow of a solver meets: colliders, bodies and joints along its links, from one frame to
/// the next; and the numbers that come out of them.
#ifndef FIRN_SOLVER_SOLIDS_H
#define FIRN_SOLVER_SOLIDS_H

#include "firn/node.h"
#include "firn/sim_bodies.h"

/// A collider or a body; a link brings one, or one for each piece of a file.
typedef struct firn_solver_solid {
    size_t link;
    char name[128]; // of its node, with that of its piece behind a dot
    firn_collider_id collider;
    firn_body_id body; // null: a collider
    firn_body_mass mass;
} firn_solver_solid;

typedef struct firn_solver_solids {
    firn_solver_solid *items;
    size_t count;
    firn_pose_key *keys;
    firn_body_pose *poses;
    size_t pose_count;
    firn_stat *stats; // firn_solver_solids_reserve of them are left free, the rest is of solids
    size_t stat_count, first_stat;
} firn_solver_solids;

/// Adds all to a new simulation; room for numbers of the solver comes before those of solids.
firn_result firn_solver_solids_add(firn_solver_solids *solids, const firn_cook *cook, firn_sim *sim,
                                   size_t room, firn_error *error);
/// Takes over how they touch, and where they go in the coming frame.
firn_result firn_solver_solids_change(firn_solver_solids *solids, const firn_cook *cook,
                                      firn_sim *sim, firn_error *error);
firn_result firn_solver_solids_move(firn_solver_solids *solids, const firn_cook *cook,
                                    firn_sim *sim, firn_error *error);
/// Numbers and poses of the frame that was simulated.
firn_result firn_solver_solids_publish(firn_solver_solids *solids, const firn_cook *cook,
                                       const firn_sim *sim, firn_error *error);
void firn_solver_solids_free(firn_solver_solids *solids);
/// Whether a body is linked.
bool firn_solver_has_bodies(const firn_cook *cook);

#endif
