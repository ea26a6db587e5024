/// Velocities around snow, for motion blur: a renderer asks for the velocity where snow comes from
/// or goes to while the shutter is open, which is beyond the voxels that hold snow.
#ifndef FIRN_MOTION_BLUR_H
#define FIRN_MOTION_BLUR_H

#include "base/coord_table.h"

#include "firn/field.h"

typedef struct firn_motion_blur_def {
    float shutter; // s; snow is followed for this long, forwards and backwards
    int dilation;  // voxels around all that, on every side
    int thread_count;
} firn_motion_blur_def;

/// Voxels that have a velocity. All zero is none.
typedef struct firn_motion_blur {
    firn_coord_table leaves; // in their order
    uint64_t *mask;          // 8 words for each leaf
    firn_vec3 *velocity;     // m/s, 512 for each leaf
} firn_motion_blur;

/// Velocities of a field and around it. A voxel that snow passes gets the mean velocity of the
/// snow that passes it; one in the rim the mean of its neighbors.
firn_result firn_motion_blur_make(const firn_field_view *field, const firn_motion_blur_def *def,
                                  firn_motion_blur *blur, firn_error *error);
void firn_motion_blur_free(firn_motion_blur *blur);

#endif
