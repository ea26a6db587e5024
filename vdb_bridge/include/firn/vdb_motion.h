/// The motion between two surfaces, for files that do not store any: level sets without velocities,
/// meshes whose topology changes.
///
/// Two consecutive distance fields tell where the surface went, not which point went where. The
/// rigid motion that brings the first surface best onto the second is found first: it is exact for
/// bodies that keep their shape, tangential part included. What is left, the distance between the
/// moved first surface and the second one, counts along the normal.
///
/// Limits: a surface of revolution that spins about its axis shows no motion; what is left after
/// the rigid motion is seen up to the width of the band (half_width voxels for each interval); a
/// turn of more than about 30 degrees per interval may be taken for another one.
#ifndef FIRN_VDB_MOTION_H
#define FIRN_VDB_MOTION_H

#include "firn/vdb.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum firn_vdb_verdict {
    FIRN_VDB_MOTION_UNKNOWN,   // there is too little motion to tell, or nothing is stored
    FIRN_VDB_MOTION_AGREES,    // stored velocities are those of the motion, per second
    FIRN_VDB_MOTION_PER_FRAME, // stored velocities agree when they count as distances per frame
    FIRN_VDB_MOTION_DISAGREES, // stored velocities are something else
} firn_vdb_verdict;

/// What was seen.
typedef struct firn_vdb_motion {
    firn_vec3 velocity; // m/s, mean of the surface
    float angle;        // rad, of the rigid motion
    float residual;     // m, root mean square of what the rigid motion leaves
    float unmatched;    // share of the surface that is beyond the band of the other one
    bool jumped;        // too far or too different to be a motion: no velocities were made
} firn_vdb_motion;

/// Gives velocities (m/s) to both shapes when either has none, or those that an earlier call gave
/// it. They are the mean velocities of the interval. A surface that goes more than twice its own
/// extent or faster than max_speed, or of which three quarters have nothing near them, jumped.
/// motion may be NULL.
FIRN_API firn_result firn_vdb_shape_follow(firn_vdb_shape *from, firn_vdb_shape *to, double seconds,
                                           double max_speed, firn_vdb_motion *motion,
                                           firn_error *error);

/// True when the velocities of the shape were stored, not made by firn_vdb_shape_follow.
FIRN_API bool firn_vdb_shape_has_stored_velocity(const firn_vdb_shape *shape);

/// Compares the mean of the stored velocities with the way of the surface.
FIRN_API firn_result firn_vdb_shape_judge(firn_vdb_shape *from, firn_vdb_shape *to, double seconds,
                                          double fps, firn_vdb_verdict *verdict, firn_error *error);

#ifdef __cplusplus
}
#endif

#endif
