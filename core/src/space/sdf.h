/// Sampling of sparse level sets: a hash of leaves and tiles over the arrays of the caller.
/// Building may fail; asking never does.
#ifndef FIRN_SDF_H
#define FIRN_SDF_H

#include "leaf_index.h"

typedef struct firn_sdf {
    firn_level_set set; // the arrays are the caller's
    firn_leaf_index index;
} firn_sdf;

/// A signed distance and its gradient, in the units and axes of the space it was asked in.
typedef struct firn_distance {
    float value;
    firn_vec3 gradient;
} firn_distance;

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

#endif
