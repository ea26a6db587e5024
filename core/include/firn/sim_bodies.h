/// Bodies and joints of a simulation, which keeps them as it keeps its particles: checkpoints,
/// marks and the hash hold them.
#ifndef FIRN_SIM_BODIES_H
#define FIRN_SIM_BODIES_H

#include "firn/body.h"
#include "firn/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A collider that snow moves, firn/body.h. It takes the weight that is found or given; on failure
/// nothing is added. With several ranks each rank adds all bodies.
FIRN_API firn_result firn_sim_add_body(firn_sim *sim, const firn_body_def *def, firn_body_id *id,
                                       firn_error *error);
FIRN_API firn_result firn_sim_remove_body(firn_sim *sim, firn_body_id id, firn_error *error);
/// Keys that a body follows until its release, as firn_sim_move_collider; their scale is its own.
FIRN_API firn_result firn_sim_move_body(firn_sim *sim, firn_body_id id, const firn_pose_key *keys,
                                        int count, firn_error *error);
FIRN_API firn_result firn_sim_body(const firn_sim *sim, firn_body_id id, firn_body_state *state,
                                   firn_error *error);
FIRN_API firn_result firn_sim_body_mass(const firn_sim *sim, firn_body_id id, firn_body_mass *mass,
                                        firn_error *error);
/// A body that stands in another or in a collider, deeper than what touches.
typedef struct firn_body_overlap {
    firn_body_id body, other;  // other null: a collider
    firn_collider_id collider; // null: a body
    double depth;              // m
} firn_body_overlap;

/// Finds those of now, before the first step: at most room of them, the number of all in count.
/// Joined bodies may stand in each other.
FIRN_API firn_result firn_sim_body_overlaps(firn_sim *sim, firn_body_overlap *found, int room,
                                            int *count, firn_error *error);

/// Holds two bodies together, or one to the world, as they stand now.
FIRN_API firn_result firn_sim_add_joint(firn_sim *sim, const firn_joint_def *def, firn_joint_id *id,
                                        firn_error *error);
FIRN_API firn_result firn_sim_remove_joint(firn_sim *sim, firn_joint_id id, firn_error *error);

/// firn_sim_collider_force of a body, by snow alone: bodies and colliders that it touches are not
/// in it.
FIRN_API firn_result firn_sim_body_force(const firn_sim *sim, firn_body_id id,
                                         firn_collider_force *force, firn_error *error);

#ifdef __cplusplus
}
#endif

#endif
