/// Points on a level set, to draw it with.
#ifndef FIRN_SURFACE_POINTS_H
#define FIRN_SURFACE_POINTS_H

#include "firn/level_set.h"

/// The points of the surface that are nearest to the voxels beside it, where a pose puts them, in
/// an array to be freed with firn_free.
firn_result firn_surface_points(const firn_level_set *set, const firn_transform *pose,
                                firn_vec3 **points, size_t *count, firn_error *error);

#endif
