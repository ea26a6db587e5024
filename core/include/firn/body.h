/// Rigid bodies: colliders that snow moves, and joints between them.
///
/// A body is a collider whose pose and motion are state: snow and body exchange impulses exactly,
/// bodies rest on each other and on colliders. Checkpoints, marks and retries hold them.
#ifndef FIRN_BODY_H
#define FIRN_BODY_H

#include "firn/collider.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct firn_body_def {
    uint32_t cookie;
    float density;              // kg/m^3, of the inside of the shape
    float mass;                 // kg; 0: from the density
    bool own_center;            // center is given, not found
    firn_vec3 center;           // m, of mass, in the space of the shape, scaled
    firn_vec3 inertia;          // kg m^2, about the center along the shape's axes; 0: found
    firn_vec3 velocity;         // m/s, of the center when it is let go
    firn_vec3 angular_velocity; // rad/s
    firn_vec3 free_move;        // 0: held along this axis of the world
    firn_vec3 free_turn;        // 0: does not turn about this axis of the world
    double release;             // s, simulated time from which it is free
    firn_collider_def shape;    // any but a plane; its pose is where the body begins
} firn_body_def;

FIRN_API void firn_body_def_reset(firn_body_def *def, size_t size);
/// The rows of all but the shape, which has those of firn_collider_params.
FIRN_API firn_param_table firn_body_params(void);

/// A ball of 0.5 m with the friction of runners on snow.
static inline firn_body_def firn_body_def_default(void)
{
    firn_body_def def;
    firn_body_def_reset(&def, sizeof def);
    return def;
}

typedef struct firn_body_id {
    uint32_t index1;     // index + 1, so that {0} is null
    uint32_t generation; // changes when the slot is reused
} firn_body_id;

/// What a body weighs, as it was given or found: a closed shape is taken to be full.
typedef struct firn_body_mass {
    double mass;       // kg
    double center[3];  // m, in the space of the shape, scaled
    double inertia[9]; // kg m^2, about the center, along the axes of the shape
    double volume;     // m^3, of the full shape
} firn_body_mass;

/// Where a body is: world = translation + scale * (rotation * shape).
typedef struct firn_body_state {
    double translation[3];      // m
    double rotation[4];         // unit quaternion x, y, z, w
    double scale;               // as given
    double center[3];           // m, of mass
    double velocity[3];         // m/s, of the center
    double angular_velocity[3]; // rad/s
    bool released;              // it moves freely
    bool asleep;                // it has been at rest for sleep_time
} firn_body_state;

typedef enum firn_joint_kind {
    FIRN_JOINT_FIXED, // as they stood to each other
    FIRN_JOINT_HINGE, // turn about an axis
    FIRN_JOINT_BALL,  // turn about a point
} firn_joint_kind;

typedef struct firn_joint_def {
    uint32_t cookie;
    int kind;                   // firn_joint_kind
    firn_vec3 anchor;           // m, in the world where the bodies begin
    firn_vec3 axis;             // of a hinge; about which a ball joint twists
    bool limited;               // the angle stays in a range
    float lower, upper;         // rad, of a hinge; of a ball joint upper is the swing
    float motor_torque;         // N m, that a hinge's motor has at most
    float motor_speed;          // rad/s, that it turns the second body to against the first
    firn_body_id first, second; // the first may be null: the world
} firn_joint_def;

FIRN_API void firn_joint_def_reset(firn_joint_def *def, size_t size);
FIRN_API firn_param_table firn_joint_params(void);

static inline firn_joint_def firn_joint_def_default(void)
{
    firn_joint_def def;
    firn_joint_def_reset(&def, sizeof def);
    return def;
}

typedef struct firn_joint_id {
    uint32_t index1;
    uint32_t generation;
} firn_joint_id;

#ifdef __cplusplus
}
#endif

#endif
