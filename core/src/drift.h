/// Velocities around snow, for motion blur: a renderer asks for the velocity where snow comes from
/// or goes to while the shutter is open, which is beyond the voxels that hold snow.
#ifndef FIRN_DRIFT_H
#define FIRN_DRIFT_H

#include "coord_table.h"

#include "firn/field.h"

typedef struct firn_drift_def {
    float shutter; // s; snow is followed for this long, forwards and backwards
    int dilation;  // voxels around all that, on every side
    int thread_count;
} firn_drift_def;

/// Voxels that have a velocity. All zero is none.
typedef struct firn_drift {
    firn_coord_table leaves; // in their order
    uint64_t *mask;          // 8 words for each leaf
    firn_vec3 *velocity;     // m/s, 512 for each leaf
} firn_drift;

/// Velocities of a field and around it. A voxel that snow passes gets the mean velocity of the
/// snow that passes it; one in the rim the mean of its neighbors.
firn_result firn_drift_make(const firn_field_view *field, const firn_drift_def *def,
                            firn_drift *drift, firn_error *error);
void firn_drift_free(firn_drift *drift);

#endif
