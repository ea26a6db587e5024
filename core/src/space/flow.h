/// The velocity of a surface at any point: the values of a sparse grid, continued beyond them.
///
/// A grid usually knows velocities only in a band around its surface, but between two keys the
/// surface is somewhere else. So the velocities are carried outward, in cells of 8^3 voxels.
#ifndef FIRN_FLOW_H
#define FIRN_FLOW_H

#include "leaf_index.h"

typedef struct firn_flow_grid {
    firn_velocity_grid grid; // the arrays are the caller's
    firn_leaf_index index;
    firn_array cells; // mean velocities: of the leaves first, then of the cells around them
    size_t cell_count;
    firn_vec3 lower, upper; // voxels, the first and the last of all leaves
    float max_speed;        // m/s, of all values
    bool zero_counts;       // a voxel that is exactly zero is known to be so
} firn_flow_grid;

/// Checks the grid and builds its index; grid may be NULL, which is rest. On failure flow is empty.
firn_result firn_flow_build(firn_budget *budget, firn_flow_grid *flow,
                            const firn_velocity_grid *grid, firn_error *error);

/// Continues the velocities at least reach (m) beyond the leaves, or 16 cells if that is less.
firn_result firn_flow_continue(firn_budget *budget, firn_flow_grid *flow, float reach,
                               firn_error *error);

void firn_flow_free(firn_budget *budget, firn_flow_grid *flow);

/// Velocity (m/s) at a point (m): trilinear between voxels. A voxel of a leaf that is exactly zero
/// counts as unknown and has the mean of those of its leaf that are not, unless zero_counts.
firn_vec3 firn_flow_sample(const firn_flow_grid *flow, firn_vec3 point);

/// The same, but what lies outside of the box around all leaves has the velocity at its border.
firn_vec3 firn_flow_sample_held(const firn_flow_grid *flow, firn_vec3 point);

#endif
