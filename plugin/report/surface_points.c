#include "surface_points.h"

#include <math.h>

// The slope of a leaf's values along one axis, from the neighbor that the leaf has.
static float slope(const float *leaf, size_t voxel, size_t stride)
{
    bool last = voxel / stride % FIRN_LEAF_EDGE == FIRN_LEAF_EDGE - 1;
    return last ? leaf[voxel] - leaf[voxel - stride] : leaf[voxel + stride] - leaf[voxel];
}

// The point of the surface that is nearest to a voxel.
static firn_vec3 surface_point(const firn_level_set *set, size_t leaf, size_t voxel)
{
    const float *values = set->values + leaf * FIRN_LEAF_VOXELS;
    firn_coord origin = set->leaf_origin[leaf];
    firn_vec3 index = {(float)(origin.x + (int)(voxel / 64)),
                       (float)(origin.y + (int)(voxel / 8 % 8)),
                       (float)(origin.z + (int)(voxel % 8))};
    firn_vec3 normal = {slope(values, voxel, 64), slope(values, voxel, 8), slope(values, voxel, 1)};
    firn_vec3 away = firn_scale(-values[voxel] / set->map.scale, firn_normalize(normal));
    return firn_transform_point(set->map, firn_add(index, away));
}

static size_t near_voxels(const firn_level_set *set, const firn_transform *pose, firn_vec3 *points)
{
    size_t count = 0;
    for (size_t i = 0; i < set->leaf_count * FIRN_LEAF_VOXELS; i++) {
        if (fabsf(set->values[i]) > 0.9f * set->map.scale)
            continue;
        if (points != NULL)
            points[count] = firn_transform_point(
                *pose, surface_point(set, i / FIRN_LEAF_VOXELS, i % FIRN_LEAF_VOXELS));
        count++;
    }
    return count;
}

firn_result firn_surface_points(const firn_level_set *set, const firn_transform *pose,
                                firn_vec3 **points, size_t *count, firn_error *error)
{
    *count = near_voxels(set, pose, NULL);
    *points = firn_alloc((*count + 1) * sizeof **points);
    if (*points == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot draw a surface");
    near_voxels(set, pose, *points);
    return FIRN_OK;
}
