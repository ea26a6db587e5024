/// Contact of snow with solids: the two collision passes of the method, method.md section 6.
///
/// A firn_colliders is prepared for one substep; after that it is read-only, so that any number of
/// threads may ask it. All positions and velocities are in world space.
#ifndef FIRN_COLLIDERS_H
#define FIRN_COLLIDERS_H

#include "base/memory.h"

#include "firn/collider.h"

typedef struct firn_collider firn_collider;

typedef struct firn_colliders {
    firn_budget *budget;
    firn_array slots; // firn_collider
    int slot_count;   // used slots, live or free
    double time;      // s, end of the substep that was prepared
    bool prepared;    // a substep was; time means something
    bool jumped;      // one was moved to another place than that substep left it in
} firn_colliders;

enum { FIRN_NEAR_LIMIT = 64 };

/// The colliders that a region may touch.
typedef struct firn_near {
    int count;
    bool still; // none of them moves
    int index[FIRN_NEAR_LIMIT];
} firn_near;

typedef enum firn_node_state {
    FIRN_NODE_FREE,    // no contact
    FIRN_NODE_SLIDING, // the component along direction is given
    FIRN_NODE_EDGE,    // only the component along direction is free
    FIRN_NODE_STUCK,   // all components are given
} firn_node_state;

typedef struct firn_node_contact {
    firn_vec3 velocity;  // m/s, after the collision
    firn_vec3 direction; // unit length, see firn_node_state
    firn_node_state state;
    bool outside; // of all colliders that were asked
} firn_node_contact;

typedef struct firn_particle_contact {
    firn_vec3 velocity; // m/s, after the collision
    firn_vec3 push;     // m, to be added beyond dt * velocity
    float clearance;    // m, that it and the colliders asked may go before another look is due
} firn_particle_contact;

/// Whatever is refused or fails here leaves everything as it was. At most FIRN_NEAR_LIMIT colliders
/// can live at once.
firn_result firn_colliders_add(firn_colliders *colliders, const firn_collider_def *def,
                               firn_collider_id *id, firn_error *error);
firn_result firn_colliders_remove(firn_colliders *colliders, firn_collider_id id,
                                  firn_error *error);
firn_result firn_colliders_move(firn_colliders *colliders, firn_collider_id id,
                                const firn_pose_key *keys, int count, firn_error *error);
/// Takes over contact, friction and restitution; says whether any was different.
firn_result firn_colliders_change(firn_colliders *colliders, firn_collider_id id,
                                  const firn_collider_def *def, bool *changed, firn_error *error);
/// A level set that deforms leaves its def's level set and pose behind; it cannot be moved any
/// more.
firn_result firn_colliders_deform(firn_colliders *colliders, firn_collider_id id,
                                  const firn_surface_key *from, const firn_surface_key *to,
                                  firn_error *error);
void firn_colliders_free(firn_colliders *colliders);

/// An upper bound of the speed (m/s) of every active surface point during [from, to]; of a plane
/// that turns, as far as 10 m from its pivot.
float firn_colliders_max_speed(const firn_colliders *colliders, double from, double to);

/// An upper bound of the way (m) of every active surface point in the prepared substep, or of what
/// the distance to a surface that deforms changes by; infinite for a plane that turns.
float firn_colliders_travel(const firn_colliders *colliders);

/// Fixes poses and velocities for the substep from time to time + dt. Cannot fail.
void firn_colliders_prepare(firn_colliders *colliders, double time, float dt);

/// Lists the active colliders whose inside or surface comes within radius of center during the
/// prepared substep, and maybe some more. The region must hold the nodes, or the whole ways of the
/// particles, that are going to ask with the list.
void firn_colliders_near(const firn_colliders *colliders, firn_vec3 center, float radius,
                         firn_near *near);

/// True when one of these colliders does not stand still.
bool firn_colliders_move_near(const firn_colliders *colliders, firn_vec3 center, float radius);

/// The colliders that act in the prepared substep, a bit for each, and whether any moves.
uint64_t firn_colliders_acting(const firn_colliders *colliders, bool *moving);

/// Grid pass: the velocity of a node at position after meeting the colliders of near at the end
/// of the substep, and which of its degrees of freedom are given.
firn_node_contact firn_colliders_touch_node(const firn_colliders *colliders, const firn_near *near,
                                            firn_vec3 position, firn_vec3 velocity);

/// Particle pass: a particle at position (start of the substep) that wants to move with velocity
/// for dt, that of the prepared substep. It flies to the surface and goes on from there with the
/// velocity after the contact; the push moves it out of whatever it would end in, to the side it
/// came from.
firn_particle_contact firn_colliders_touch_particle(const firn_colliders *colliders,
                                                    const firn_near *near, firn_vec3 position,
                                                    firn_vec3 velocity, float dt);

#endif
