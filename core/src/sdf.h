/// Sampling of sparse level sets and velocity grids: a hash of leaves and tiles over the arrays of
/// the caller. Building may fail; asking never does.
#ifndef FIRN_SDF_H
#define FIRN_SDF_H

#include "memory.h"

#include "firn/level_set.h"

enum { FIRN_TILE_LEVELS = 3 }; // edges of 8, 128 and 4096 voxels

/// Where the leaves and tiles are.
typedef struct firn_leaf_index {
    firn_array table; // entries by hash, a power of two of them
    uint32_t mask;    // capacity - 1; meaningless while count is 0
    size_t count;
    bool has_level[FIRN_TILE_LEVELS];
    firn_coord lower, upper; // voxels, corners of the box around all; upper is beyond the last
} firn_leaf_index;

typedef struct firn_sdf {
    firn_level_set set; // the arrays are the caller's
    firn_leaf_index index;
} firn_sdf;

typedef struct firn_flow {
    firn_velocity_grid grid; // the arrays are the caller's
    firn_leaf_index index;
    float max_speed; // m/s, of all values
} firn_flow;

/// A signed distance and its gradient, in the units and axes of the space it was asked in.
typedef struct firn_distance {
    float value;
    firn_vec3 gradient;
} firn_distance;

/// Refuses a transform that is not finite, turned by something else than a unit quaternion or not
/// scaled by a positive number. what names it in the message.
firn_result firn_transform_check(const firn_transform *transform, const char *what,
                                 firn_error *error);

/// Checks the level set and builds its index. On failure sdf is empty.
firn_result firn_sdf_build(firn_budget *budget, firn_sdf *sdf, const firn_level_set *set,
                           firn_error *error);
void firn_sdf_free(firn_budget *budget, firn_sdf *sdf);

/// Distance in voxels at a point in voxels: trilinear, with the gradient of that interpolation.
/// Beyond all leaves and tiles it is the background.
firn_distance firn_sdf_sample(const firn_sdf *sdf, firn_vec3 point);

/// Whether the trilinear distance can be at most limit (m) somewhere in the box between two points
/// in voxels. False is certain.
bool firn_sdf_may_reach(const firn_sdf *sdf, firn_vec3 lower, firn_vec3 upper, float limit);

/// Farthest that anything stored can be from the origin of the space the map leads to (m).
float firn_sdf_reach(const firn_sdf *sdf);

/// Checks the grid and builds its index; grid may be NULL, which is rest. On failure flow is empty.
firn_result firn_flow_build(firn_budget *budget, firn_flow *flow, const firn_velocity_grid *grid,
                            firn_error *error);
void firn_flow_free(firn_budget *budget, firn_flow *flow);

/// Velocity (m/s) at a point (m): trilinear, zero beyond the leaves.
firn_vec3 firn_flow_sample(const firn_flow *flow, firn_vec3 point);

#endif
