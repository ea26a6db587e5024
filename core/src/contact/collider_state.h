/// What a collider is made of inside: its shape, its animation and where that stands in the
/// prepared substep.
///
/// A collider has its own frame: that of its shape, or the voxels of its level set. Distances are
/// computed there, in its units.
#ifndef FIRN_COLLIDER_STATE_H
#define FIRN_COLLIDER_STATE_H

#include "colliders.h"
#include "space/flow.h"
#include "space/sdf.h"

// fmaxf and fminf are calls, for the sake of NaN.
static inline float firn_larger(float a, float b) { return a > b ? a : b; }
static inline float firn_smaller(float a, float b) { return a < b ? a : b; }

/// world = translation + scale * (rotation * local)
typedef struct firn_frame {
    firn_vec3 translation; // m
    firn_mat3 rotation;
    float scale, inverse_scale;
} firn_frame;

/// A transform in double, for keys: what moves slowly still moves.
typedef struct firn_pose {
    double translation[3]; // m
    double rotation[4];    // unit quaternion x, y, z, w
    double scale;
} firn_pose;

typedef struct firn_motion_key {
    double time; // s
    firn_pose pose;
} firn_motion_key;

/// A level set and how its surface moves.
typedef struct firn_surface {
    firn_sdf sdf;
    firn_flow_grid flow;
} firn_surface;

struct firn_collider {
    bool alive;
    uint32_t generation;
    firn_collider_def def; // without its level set

    firn_array keys; // firn_motion_key, at least one
    int key_count;
    firn_surface surface[2]; // the first of a level set; both when it deforms, in world space
    bool deforming;
    double surface_time[2]; // s
    float max_speed;        // m/s, of the surfaces that deform

    // One that is the surface of a body.
    int body1;        // number of the body + 1; 0: of none
    bool driven;      // its pose is that of a body, not of its keys
    firn_pose driver; // where it is at the start of the substep
    float speed;      // m/s, of its fastest point
    float travel;     // m, of its fastest point in the substep
    float drift;      // m, by which the pivot goes on beyond what velocity says
    float twirl;      // rad, likewise

    // The prepared substep.
    bool active;
    bool still; // its surface rests during the substep
    float dt;   // s
    firn_frame start, end;
    firn_vec3 pivot;    // m, translation of the pose at the end
    firn_vec3 velocity; // m/s, of the pivot, mean over the substep
    firn_vec3 spin;     // rad/s
    float growth;       // 1/s, rate of the scale relative to its end
    float gamma[2];     // share of the second surface at the start and at the end
    float carry;        // share of the substep in which the surface deforms
};

/// The collider in a slot, alive or not.
static inline firn_collider *firn_collider_slot(const firn_colliders *colliders, int index)
{
    return (firn_collider *)colliders->slots.data + index;
}

/// Distance to a shape of its own frame, and the direction away from it, of unit length.
firn_distance firn_shape_distance(const firn_collider_def *def, firn_vec3 point);

/// Farthest that the shape is from its origin; 0 for those without end.
float firn_shape_reach(const firn_collider_def *def);

/// Refuses a def that was not reset, is out of range or does not fit its shape.
firn_result firn_collider_def_check(const firn_collider_def *def, firn_error *error);

firn_pose firn_pose_from(firn_transform transform);
/// The pose at a time: linear translation and scale, even rotation the short way.
firn_pose firn_pose_at(const firn_motion_key *keys, int count, double time);
/// The rotation vector (rad) that leads from one pose to another the short way.
void firn_pose_turn(const firn_pose *from, const firn_pose *to, double turn[3]);
/// Farthest that a rigid collider's points are from its origin, in its own frame; of a plane, 10 m.
float firn_collider_reach(const firn_collider *collider);
/// How far (m) the farthest of these points goes from one pose to another.
double firn_collider_gap(const firn_collider *collider, const firn_pose *from, const firn_pose *to);
/// The rotation after a share of a turn (rad).
void firn_pose_turned(const double rotation[4], const double turn[3], double share,
                      double result[4]);
/// The map from its own frame to the space of its pose: that of its level set.
firn_transform firn_collider_map(const firn_collider *collider);
/// Distance (m) with offset at the start of the substep, and its gradient there, in world space.
firn_distance firn_collider_distance_before(const firn_collider *collider, firn_vec3 world);
/// The frame of things that map places in the space of pose.
firn_frame firn_pose_frame(const firn_pose *pose, const firn_transform *map);

static inline firn_vec3 firn_frame_to_local(const firn_frame *frame, firn_vec3 world)
{
    firn_vec3 r = firn_sub(world, frame->translation);
    const float *m = frame->rotation.m;
    firn_vec3 turned = {m[0] * r.x + m[3] * r.y + m[6] * r.z, m[1] * r.x + m[4] * r.y + m[7] * r.z,
                        m[2] * r.x + m[5] * r.y + m[8] * r.z};
    return firn_scale(frame->inverse_scale, turned);
}

/// Distance (m) to a surface that deforms, with its offset, at share gamma between its keys,
/// method.md section 6.
firn_distance firn_deforming_distance(const firn_collider *collider, float gamma, firn_vec3 world);

/// A point as a collider finds it at the end of the substep.
typedef struct firn_contact_site {
    float distance;   // m
    float grip;       // m/s, see method.md (15a)
    firn_vec3 normal; // of unit length, unless it is flat
    bool flat;        // no way out can be seen
} firn_contact_site;
/// False when they do not touch.
bool firn_collider_site(const firn_collider *collider, const firn_mass_point *point,
                        firn_contact_site *site);

/// What a point of mass m gives a collider that it moves against with velocity u, by the contact as
/// it is now: m ((isotropic I + along normal^T) u + constant), method.md (60).
typedef struct firn_contact_law {
    float isotropic;
    firn_vec3 along, normal, constant;
} firn_contact_law;
firn_contact_law firn_collider_law(const firn_collider_def *def, const firn_contact_site *site,
                                   firn_vec3 relative);

/// Velocity (m/s) of the collider at a point of world space at the end of the substep.
firn_vec3 firn_collider_velocity(const firn_collider *collider, firn_vec3 world);

/// Distance (m) with offset at the end of the substep, and its gradient, in world space.
firn_distance firn_collider_distance(const firn_collider *collider, firn_vec3 world);

/// Distance (m) with offset at a point of the collider's frame, s of the way through the substep;
/// the gradient is in world space, turned as at the end of the substep.
firn_distance firn_rigid_distance(const firn_collider *collider, firn_vec3 local, float s);

#endif
