/// Solid things that snow meets: shapes and level sets, still, moving or deforming.
#ifndef FIRN_COLLIDER_H
#define FIRN_COLLIDER_H

#include "firn/level_set.h"
#include "firn/params.h"
#include "firn/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum firn_shape {
    FIRN_SHAPE_PLANE,   // half space below y = 0 of its own space
    FIRN_SHAPE_BOX,     // half_size around the origin
    FIRN_SHAPE_SPHERE,  // radius around the origin
    FIRN_SHAPE_CAPSULE, // radius around the segment from -half_size.y to half_size.y on the y axis
    FIRN_SHAPE_LEVEL_SET,
} firn_shape;

typedef enum firn_contact {
    FIRN_CONTACT_SEPARATE, // pushes, rubs, lets go: Coulomb friction
    FIRN_CONTACT_SLIP,     // holds the normal velocity, rubs along the surface, never lets go
    FIRN_CONTACT_STICKY,   // takes on the surface's velocity whatever the direction
} firn_contact;

typedef struct firn_collider_def {
    uint32_t cookie;
    int shape;                       // firn_shape
    firn_vec3 half_size;             // m
    float radius;                    // m
    firn_transform pose;             // where the shape stands until it is moved
    int contact;                     // firn_contact
    float friction;                  // Coulomb's mu
    float restitution;               // 0 keeps nothing of the normal speed, 1 all
    float adhesion;                  // Pa, that it takes to pull snow off
    float sticking_speed;            // m/s, slower grains stay where they hit; 0: see restitution
    float offset;                    // m, grows the surface outward
    float temperature;               // K, of its surface; 0: no heat passes
    float heat_exchange;             // W/(m^2 K), between it and what touches it
    double active_from, active_to;   // s, simulated time in which it collides
    const firn_level_set *level_set; // for FIRN_SHAPE_LEVEL_SET; the arrays must outlive its use
} firn_collider_def;

FIRN_API void firn_collider_def_reset(firn_collider_def *def, size_t size);
FIRN_API firn_param_table firn_collider_params(void);

/// A ground plane at y = 0.
static inline firn_collider_def firn_collider_def_default(void)
{
    firn_collider_def def;
    firn_collider_def_reset(&def, sizeof def);
    return def;
}

/// The half space behind a plane: points p with dot(normal, p) < distance.
FIRN_API firn_collider_def firn_collider_def_plane(firn_vec3 normal, float distance);
FIRN_API firn_collider_def firn_collider_def_box(firn_vec3 center, firn_vec3 half_size);
FIRN_API firn_collider_def firn_collider_def_sphere(firn_vec3 center, float radius);
FIRN_API firn_collider_def firn_collider_def_capsule(firn_vec3 from, firn_vec3 to, float radius);
FIRN_API firn_collider_def firn_collider_def_level_set(const firn_level_set *level_set);

/// A pose at a time. Between keys the translation and scale are linear, the rotation turns evenly;
/// before the first and after the last key the collider rests there.
typedef struct firn_pose_key {
    double time; // s
    firn_transform pose;
} firn_pose_key;

/// A deforming surface at a time, in world space, with the velocity of its points.
typedef struct firn_surface_key {
    double time;                        // s
    const firn_level_set *level_set;    // borrowed until the next keys or the collider's end
    const firn_velocity_grid *velocity; // borrowed likewise; NULL: at rest
} firn_surface_key;

typedef struct firn_collider_id {
    uint32_t index1;     // index + 1, so that {0} is null
    uint32_t generation; // changes when the slot is reused
} firn_collider_id;

#ifdef __cplusplus
}
#endif

#endif
