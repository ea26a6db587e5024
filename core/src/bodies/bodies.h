/// Rigid bodies: what they weigh, how they move, and what they do to each other. Snow meets them as
/// colliders; who couples the two is mpm/body_coupling.c. Knows colliders, and no solver.
///
/// A substep: firn_bodies_place puts the colliders where bodies are; firn_bodies_predict gives each
/// the motion that gravity, contacts and joints ask for; whoever computes snow adds impulses
/// (firn_body_push) and says where that leads (firn_bodies_steer); firn_bodies_commit makes it so.
/// Until then nothing has happened.
#ifndef FIRN_BODIES_H
#define FIRN_BODIES_H

#include "contact/collider_state.h"
#include "solid_math.h"

#include "firn/body.h"

/// m/s of the center of mass and rad/s.
typedef struct firn_twist {
    firn_d3 linear, angular;
} firn_twist;

/// What a checkpoint keeps of a body.
typedef struct firn_body_motion {
    double center[3];   // m
    double rotation[4]; // unit quaternion
    double velocity[3]; // m/s, of the center
    double spin[3];     // rad/s
    double rest;        // s, for which it has been slow
    uint32_t alive, generation;
} firn_body_motion;

typedef struct firn_body {
    firn_body_def def; // without its level set
    int collider;      // its slot
    firn_body_mass mass;
    double scale;      // of its pose
    double reach;      // m, from the center of mass
    firn_array points; // firn_vec3, m from the center of mass along its axes
    int point_count;
    float point_radius; // m, of a sphere around each
    float spacing;      // m, between points
    firn_body_motion now;

    // The substep at work.
    bool animated; // by keys until it is let go
    bool free;     // neither animated nor asleep nor out of its time
    bool asleep;
    double calm;           // s, now.rest unless something stirs it
    firn_d33 inverse;      // 1/(kg m^2), of its inertia in the world at the start
    firn_twist star;       // after gravity, contacts of bodies and joints
    firn_twist next;       // after snow as well
    firn_twist shift;      // what moves it out of others, and carries no momentum
    firn_body_motion then; // the end that next leads to
} firn_body;

typedef struct firn_joint {
    firn_joint_def def;
    bool alive;
    uint32_t generation;
    int body[2];       // -1: the world
    firn_d3 anchor[2]; // m, from the center of mass along the axes of each
    firn_d3 axis[2];   // unit length
    firn_d3 side[2];   // unit length, across the axis; equal at the start
} firn_joint;

/// What a contact carried in the last substep: where the next one begins to look.
typedef struct firn_body_touch {
    int32_t body, collider; // slots
    double place[3];        // m, along the axes of the body
    double force[3];        // N, in the world
} firn_body_touch;

typedef struct firn_bodies {
    firn_budget *budget;
    firn_array slots; // firn_body
    int slot_count;   // used slots, live or free
    int live_count;
    firn_array joints; // firn_joint
    int joint_count;
    firn_array pairs, contacts, rows, near, island; // scratch of a substep
    int pair_count, contact_count;
    firn_array touches, fresh; // firn_body_touch, of the last substep and of the one at work
    uint64_t touch_count, fresh_count;
    int thread_count;
    double sleep_speed, sleep_time; // m/s, s; speed 0: none sleeps
} firn_bodies;

static inline firn_body *firn_body_slot(const firn_bodies *bodies, int index)
{
    return (firn_body *)bodies->slots.data + index;
}

/// Whatever is refused or fails here leaves everything as it was. h: m, a cell.
firn_result firn_bodies_add(firn_bodies *bodies, firn_colliders *colliders,
                            const firn_body_def *def, float h, firn_body_id *id, firn_error *error);
firn_result firn_bodies_remove(firn_bodies *bodies, firn_colliders *colliders, firn_body_id id,
                               firn_error *error);
firn_result firn_bodies_find(const firn_bodies *bodies, firn_body_id id, firn_body **found,
                             firn_error *error);
firn_result firn_bodies_add_joint(firn_bodies *bodies, const firn_joint_def *def, firn_joint_id *id,
                                  firn_error *error);
firn_result firn_bodies_remove_joint(firn_bodies *bodies, firn_joint_id id, firn_error *error);
void firn_bodies_free(firn_bodies *bodies);

/// body_mass.c: what a shape weighs; its surface in points of about this spacing (m).
firn_result firn_body_weigh(const firn_body_def *def, const firn_sdf *sdf, firn_body_mass *mass,
                            firn_error *error);
firn_result firn_body_find_points(firn_budget *budget, firn_body *body, const firn_sdf *sdf,
                                  float h, firn_error *error);

/// body_motion.c: the pose of the collider that a motion stands for, and back.
firn_pose firn_body_pose(const firn_body *body, const firn_body_motion *motion);
void firn_body_put_pose(firn_body *body, const firn_pose *pose);
bool firn_body_is_released(const firn_body *body, double time);
/// The inverse inertia in the world, zero about axes that are held.
firn_d33 firn_body_inverse(const firn_body *body, const double rotation[4]);
/// The linear change that an impulse makes, zero along axes that are held.
firn_d3 firn_body_yield(const firn_body *body, firn_d3 impulse);
/// Where a twist leads in dt.
firn_body_motion firn_body_advance(const firn_body *body, const firn_twist *twist, double dt);
/// The twist after an impulse, whose moment is taken about the center at the start.
firn_twist firn_body_pushed(const firn_body *body, const firn_twist *twist,
                            const firn_impulse *impulse);

/// Puts the colliders of bodies where these are at a time; nothing moves yet.
void firn_bodies_place(firn_bodies *bodies, firn_colliders *colliders, double time);
/// star, next, shift and then. The colliders are prepared for the substep, and go on from there.
firn_result firn_bodies_predict(firn_bodies *bodies, firn_colliders *colliders, double dt,
                                firn_vec3 gravity, firn_error *error);
/// The collider takes the velocities of next.
void firn_body_steer(const firn_body *body, firn_colliders *colliders);
/// Finds then, and where the collider is at the end; gives its fastest point, m/s.
double firn_body_arrive(firn_body *body, firn_colliders *colliders, double dt);
/// What moves has arrived; impulses that came at the very end, one of each body, join it.
void firn_bodies_commit(firn_bodies *bodies, firn_colliders *colliders, double time, double dt,
                        const firn_impulse *late);
/// None sleeps in the next substep.
void firn_bodies_wake(firn_bodies *bodies);

/// body_contacts.c: who touches whom at the start of the substep, and who sleeps. The colliders
/// of bodies stand still.
firn_result firn_bodies_touch(firn_bodies *bodies, const firn_colliders *colliders, double dt,
                              firn_error *error);

/// Whether a joint holds both: then they do not touch each other.
bool firn_bodies_are_joined(const firn_bodies *bodies, int a, int b);

/// body_overlaps.c: bodies and what they stand in, where the colliders are now.
typedef struct firn_bodies_overlap {
    int body, other, collider; // slots; other: -1 for what is no body
    double depth;              // m
} firn_bodies_overlap;
/// At most room of them; count is of all.
void firn_bodies_overlaps(const firn_bodies *bodies, const firn_colliders *colliders,
                          firn_bodies_overlap *found, int room, int *count);

/// A place where a body touches another or a collider.
typedef struct firn_body_contact {
    int body, other;  // other: a body, or -1: a collider
    int collider;     // the slot of what is touched
    firn_d3 position; // m, in the world
    firn_d3 normal;   // towards body
    double gap;       // m, negative inside
    double slop;      // m, that it may be inside
    firn_d3 force;    // N, of the last substep
} firn_body_contact;

/// Rows of the solver: what one body does to another along one direction.
typedef struct firn_body_row {
    int a, b;            // bodies; -1: nobody
    firn_d3 direction;   // of a's linear part, against b's
    firn_d3 turn[2];     // angular parts
    double target;       // m/s or rad/s, that a has against b
    double bias;         // the same, of the shift
    double lower, upper; // kg m/s or kg m^2/s
    double friction;     // of a row that rubs
    int normal;          // the row whose impulse bounds it; -1: none
    double weight;       // kg, 1 / (J W J^T)
    double sum, shift;   // impulses so far
} firn_body_row;

/// body_solve.c: sweeps of projected Gauss-Seidel over contacts and joints.
firn_result firn_bodies_solve(firn_bodies *bodies, const firn_colliders *colliders, double dt,
                              firn_error *error);

/// body_touches.c: gives contacts what they carried in the last substep; keeps what they carry in
/// this one, to be remembered once it has happened.
void firn_touches_find(const firn_bodies *bodies);
firn_result firn_touches_reserve(firn_bodies *bodies, firn_error *error);
void firn_touches_keep(firn_bodies *bodies, const firn_body_contact *contact, firn_d3 force);
void firn_touches_commit(firn_bodies *bodies);

/// joints.c: appends the rows of all joints between free bodies; at most so many each.
enum { FIRN_JOINT_ROWS = 8 };
int firn_joints_rows(const firn_bodies *bodies, double dt, firn_body_row *rows);

#endif
