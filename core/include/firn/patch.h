/// A patch of snow that is simulated, in a field of snow that only pictures show: where one ends
/// and the other begins.
#ifndef FIRN_PATCH_H
#define FIRN_PATCH_H

#include "firn/base.h"
#include "firn/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct firn_patch {
    firn_vec3 center;    // m; y is where the snow of the field ends
    firn_vec3 half_size; // m, of the rectangle along x and z
    float border;        // m, width of the ragged border; 0: it is the rectangle
    int seed;
} firn_patch;

/// How far inside a place is, in widths of the border, from the ragged line within the rectangle
/// where the patch begins; negative outside. Lobes of the line are about a border wide.
FIRN_API float firn_patch_inset(const firn_patch *patch, float x, float z);

/// From here on the snow of a patch is as deep as it is meant to be.
#define FIRN_PATCH_FULL 0.6f

#ifdef __cplusplus
}
#endif

#endif
