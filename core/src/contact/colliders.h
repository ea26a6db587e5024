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
    bool sticks;      // one that acts in it has adhesion
    bool jumped;      // one was moved to another place than that substep left it in
} firn_colliders;

/// The colliders that a region may touch, in the order of their slots.
typedef struct firn_near {
    int count;
    bool still; // none of them moves
    int *index; // the caller's memory, see firn_colliders_near
} firn_near;

/// What snow has given a collider.
typedef struct firn_impulse {
    double linear[3];  // kg m/s
    double angular[3]; // kg m^2/s, about the origin of the world
} firn_impulse;

/// Adds the impulse that mass gave when its velocity at position changed.
static inline void firn_impulse_add(firn_impulse *sum, firn_vec3 position, float mass,
                                    firn_vec3 before, firn_vec3 after)
{
    double m = mass, x = position.x, y = position.y, z = position.z;
    double px = m * ((double)before.x - (double)after.x);
    double py = m * ((double)before.y - (double)after.y);
    double pz = m * ((double)before.z - (double)after.z);
    sum->linear[0] += px;
    sum->linear[1] += py;
    sum->linear[2] += pz;
    sum->angular[0] += y * pz - z * py;
    sum->angular[1] += z * px - x * pz;
    sum->angular[2] += x * py - y * px;
}

/// sum += factor * other
static inline void firn_impulse_add_scaled(firn_impulse *sum, double factor,
                                           const firn_impulse *other)
{
    for (int i = 0; i < 3; i++) {
        sum->linear[i] += factor * other->linear[i];
        sum->angular[i] += factor * other->angular[i];
    }
}

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
    uint32_t holders; // a bit for each place in firn_near that gave it something
    bool outside;     // of all colliders that were asked
} firn_node_contact;

/// Places in firn_near that a node remembers; all beyond share the last.
enum { FIRN_HOLDER_LIMIT = 22 };

/// State and holders in one number, exactly, as node fields keep them.
static inline float firn_contact_pack(firn_node_state state, uint32_t holders)
{
    return (float)((uint32_t)state + 4 * holders);
}
static inline firn_node_state firn_contact_state(float packed)
{
    return (firn_node_state)((uint32_t)packed & 3);
}
static inline uint32_t firn_contact_holders(float packed) { return (uint32_t)packed >> 2; }

/// Something with mass that meets colliders.
typedef struct firn_mass_point {
    firn_vec3 position; // m
    firn_vec3 velocity; // m/s
    float mass;         // kg
    float cell_size;    // m, of the cells whose faces stick; 0: nothing sticks
    float fill;         // share of packed snow that the mass would be in such a cell
    float dt;           // s, of the pull
} firn_mass_point;

typedef struct firn_particle_contact {
    firn_vec3 velocity; // m/s, after the collision
    firn_vec3 push;     // m, to be added beyond dt * velocity
    float clearance;    // m, that it and the colliders asked may go before another look is due
} firn_particle_contact;

/// Whatever is refused or fails here leaves everything as it was.
firn_result firn_colliders_add(firn_colliders *colliders, const firn_collider_def *def,
                               firn_collider_id *id, firn_error *error);
firn_result firn_colliders_remove(firn_colliders *colliders, firn_collider_id id,
                                  firn_error *error);
firn_result firn_colliders_move(firn_colliders *colliders, firn_collider_id id,
                                const firn_pose_key *keys, int count, firn_error *error);
/// Takes over contact, friction, restitution, adhesion and sticking speed; says whether any was
/// different.
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

/// Of the colliders in among, or of all when that is NULL, lists the active ones whose inside or
/// surface comes within radius of center during the prepared substep, and maybe some more. The
/// region must hold the nodes, or the whole ways of the particles, that are going to ask with the
/// list. near->index has room for all that are asked about, or is NULL when only the number counts.
void firn_colliders_near(const firn_colliders *colliders, const firn_near *among, firn_vec3 center,
                         float radius, firn_near *near);

/// True when none of these colliders moves in the prepared substep.
bool firn_colliders_are_still(const firn_colliders *colliders, const firn_near *near);

/// True when one of these colliders does not stand still.
bool firn_colliders_move_near(const firn_colliders *colliders, firn_vec3 center, float radius);

/// True when the collider in a slot acts, does not stand still, and comes within radius of center.
bool firn_collider_comes_near(const firn_colliders *colliders, int slot, firn_vec3 center,
                              float radius);

/// True when one that is the surface of a free body acts and comes within radius of center.
bool firn_colliders_bodies_near(const firn_colliders *colliders, firn_vec3 center, float radius);

/// A number that stands for the set of colliders that act in the prepared substep, different for
/// different sets: a bit for each of the first 64, beyond those a hash. And whether any moves.
uint64_t firn_colliders_acting(const firn_colliders *colliders, bool *moving);

/// How many act in the prepared substep, and which.
int firn_colliders_active_count(const firn_colliders *colliders);
void firn_colliders_active(const firn_colliders *colliders, int *index);

/// The living collider with this id.
firn_result firn_colliders_find(const firn_colliders *colliders, firn_collider_id id,
                                firn_collider **found, firn_error *error);

/// The point that its torque is told about in the prepared substep: the translation of its pose,
/// the origin of the world for one that deforms.
firn_vec3 firn_collider_pivot(const firn_colliders *colliders, int index);
/// Direction away from it at the end of the substep, of unit length; zero where there is none.
firn_vec3 firn_collider_normal(const firn_colliders *colliders, int index, firn_vec3 position);

/// The nearest collider of near that is closer to a position than reach (m), or around it: its
/// normal and velocity (m/s) there. False, and nothing set: there is none.
bool firn_colliders_wall(const firn_colliders *colliders, const firn_near *near, firn_vec3 position,
                         float reach, firn_vec3 *normal, firn_vec3 *velocity);

/// Grid pass: the velocity of a node after meeting the colliders of near at the end of the substep,
/// and which of its degrees of freedom are given. What each of near takes is added to its place in
/// taken, which may be NULL; all together it is what the node loses, to rounding in double.
firn_node_contact firn_colliders_touch_node(const firn_colliders *colliders, const firn_near *near,
                                            const firn_mass_point *node, firn_impulse *taken);

/// Distance (m) from the nearest of near at the end of the substep, negative inside; far away where
/// there is none.
float firn_colliders_gap(const firn_colliders *colliders, const firn_near *near,
                         firn_vec3 position);

/// The nearest of near that has a temperature: that and its exchange of heat, and the distance (m)
/// from it. False: there is none.
typedef struct firn_warm_wall {
    float gap, temperature, exchange; // m, K, W/(m^2 K)
} firn_warm_wall;
bool firn_colliders_warmth(const firn_colliders *colliders, const firn_near *near,
                           firn_vec3 position, firn_warm_wall *wall);

/// True when one of them has a temperature.
bool firn_colliders_are_warm(const firn_colliders *colliders);

/// Particle pass: a particle (start of the substep) that wants to move with its velocity for dt,
/// that of the prepared substep. It flies to the surface and goes on from there with the velocity
/// after the contact; the push moves it out of whatever it would end in, to the side it came from,
/// and carries no momentum. Impulses as above, where the particle was at the impact.
firn_particle_contact firn_colliders_touch_particle(const firn_colliders *colliders,
                                                    const firn_near *near,
                                                    const firn_mass_point *particle, float dt,
                                                    firn_impulse *taken);

#endif
