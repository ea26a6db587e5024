/// Sparse voxels in leaves of 8^3, the shape of OpenVDB's: level sets that come in, fields that go
/// out. Plain arrays owned by whoever made them.
///
/// A voxel's value stands at the point map(index); index (x, y, z) of a leaf with origin o is value
/// number ((x - o.x) * 8 + (y - o.y)) * 8 + (z - o.z) of that leaf.
#ifndef FIRN_LEVEL_SET_H
#define FIRN_LEVEL_SET_H

#include "firn/base.h"
#include "firn/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FIRN_LEAF_EDGE = 8, FIRN_LEAF_VOXELS = 512 };

/// A cube of one value that is not stored voxel by voxel, such as the inside of a level set.
typedef struct firn_tile {
    firn_coord origin; // voxels, a multiple of edge
    int32_t edge;      // voxels: 8, 128 or 4096
    float value;
} firn_tile;

/// Signed distance: negative inside, in meters of the space that map leads to.
typedef struct firn_level_set {
    firn_transform map; // voxel index to space; map.scale is the voxel edge in m
    float background;   // m, the value outside of all leaves and tiles; positive
    size_t leaf_count;
    const firn_coord *leaf_origin; // voxels, multiples of 8
    const float *values;           // m, 512 for each leaf
    size_t tile_count;
    const firn_tile *tiles; // at least those that are inside; sorted or not
} firn_level_set;

/// Velocity of the surface, where it is known; continued outward where it is not. Zero is unknown
/// in a leaf that has other values.
typedef struct firn_velocity_grid {
    firn_transform map;
    size_t leaf_count;             // 0: no velocities
    const firn_coord *leaf_origin; // voxels, multiples of 8
    const firn_vec3 *values;       // m/s, 512 for each leaf
} firn_velocity_grid;

#ifdef __cplusplus
}
#endif

#endif
