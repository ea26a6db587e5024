#include "seed_volume.h"

#include <math.h>

// So many blocks are more than all particles that can be.
static const double block_limit = 1e8;

firn_result firn_seed_volume_create(const firn_level_set *set, firn_seed_volume **volume,
                                    firn_error *error)
{
    firn_seed_volume *made = firn_alloc_zero(sizeof *made);
    if (made == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot make a source");
    firn_result result = firn_sdf_build(&made->budget, &made->sdf, set, error);
    if (result == FIRN_OK)
        *volume = made;
    else
        firn_free(made);
    return result;
}

void firn_seed_volume_destroy(firn_seed_volume *volume)
{
    if (volume == NULL)
        return;
    firn_sdf_free(&volume->budget, &volume->sdf);
    firn_coord_table_free(&volume->blocks);
    firn_free(volume);
}

typedef struct bounds {
    firn_vec3 lower, upper;
} bounds;

static bounds box_in_world(firn_transform map, bounds voxels)
{
    bounds world = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    for (int i = 0; i < 8; i++) {
        firn_vec3 corner = {i & 1 ? voxels.upper.x : voxels.lower.x,
                            i & 2 ? voxels.upper.y : voxels.lower.y,
                            i & 4 ? voxels.upper.z : voxels.lower.z};
        firn_vec3 p = firn_transform_point(map, corner);
        world.lower = firn_vec(fminf(world.lower.x, p.x), fminf(world.lower.y, p.y),
                               fminf(world.lower.z, p.z));
        world.upper = firn_vec(fmaxf(world.upper.x, p.x), fmaxf(world.upper.y, p.y),
                               fmaxf(world.upper.z, p.z));
    }
    return world;
}

// Lists the blocks around voxels, both corners included, that have something inside.
static firn_result list_voxels(firn_seed_volume *volume, firn_coord low, firn_coord high,
                               double edge, double margin, firn_error *error)
{
    // Interpolation reaches to the next voxel on either side.
    bounds voxels = {{(float)low.x - 1.0f, (float)low.y - 1.0f, (float)low.z - 1.0f},
                     {(float)high.x + 1.0f, (float)high.y + 1.0f, (float)high.z + 1.0f}};
    bounds world = box_in_world(volume->sdf.set.map, voxels);
    const double lower[3] = {(double)world.lower.x, (double)world.lower.y, (double)world.lower.z};
    const double upper[3] = {(double)world.upper.x, (double)world.upper.y, (double)world.upper.z};
    double first[3], last[3], blocks = 1.0;
    for (int axis = 0; axis < 3; axis++) {
        first[axis] = floor((lower[axis] - margin) / edge);
        last[axis] = floor((upper[axis] + margin) / edge);
        blocks *= last[axis] - first[axis] + 1.0;
        if (!(fabs(first[axis]) < INT32_MAX && fabs(last[axis]) < INT32_MAX))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "the level set of a source is too far away (%g m) for its cells",
                             lower[axis]);
    }
    if (!(blocks + (double)volume->blocks.count < block_limit))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the level set of a source is too large for its cells; use larger cells "
                         "or fewer particles per cell");
    firn_coord block;
    for (block.x = (int32_t)first[0]; block.x <= (int32_t)last[0]; block.x++)
        for (block.y = (int32_t)first[1]; block.y <= (int32_t)last[1]; block.y++)
            for (block.z = (int32_t)first[2]; block.z <= (int32_t)last[2]; block.z++) {
                uint32_t number;
                FIRN_TRY(firn_coord_table_add(&volume->blocks, block, &number, error));
            }
    return FIRN_OK;
}

// The corners of what is inside in a leaf; false when nothing is.
static bool inside_of_leaf(firn_coord origin, const float *values, firn_coord *low,
                           firn_coord *high)
{
    bool found = false;
    for (int i = 0; i < FIRN_LEAF_VOXELS; i++) {
        if (!(values[i] < 0.0f))
            continue;
        firn_coord at = {origin.x + i / 64, origin.y + i / 8 % 8, origin.z + i % 8};
        if (!found)
            *low = *high = at;
        found = true;
        // x never falls from one voxel to the next.
        high->x = at.x;
        low->y = at.y < low->y ? at.y : low->y;
        high->y = at.y > high->y ? at.y : high->y;
        low->z = at.z < low->z ? at.z : low->z;
        high->z = at.z > high->z ? at.z : high->z;
    }
    return found;
}

static firn_result list_blocks(firn_seed_volume *volume, double edge, double margin,
                               firn_error *error)
{
    const firn_level_set *set = &volume->sdf.set;
    firn_coord low, high;
    for (size_t i = 0; i < set->leaf_count; i++)
        if (inside_of_leaf(set->leaf_origin[i], set->values + i * FIRN_LEAF_VOXELS, &low, &high))
            FIRN_TRY(list_voxels(volume, low, high, edge, margin, error));
    for (size_t i = 0; i < set->tile_count; i++) {
        if (!(set->tiles[i].value < 0.0f))
            continue;
        int32_t last = set->tiles[i].edge - 1;
        low = set->tiles[i].origin;
        high = (firn_coord){low.x + last, low.y + last, low.z + last};
        FIRN_TRY(list_voxels(volume, low, high, edge, margin, error));
    }
    firn_coord_table_sort(&volume->blocks);
    return FIRN_OK;
}

firn_result firn_seed_volume_list(firn_seed_volume *volume, double edge, double margin,
                                  firn_error *error)
{
    if (volume->block_edge == edge)
        return FIRN_OK;
    // Corners are floats: a little more than asked for.
    firn_result result = list_blocks(volume, edge, margin + 1e-3 * edge, error);
    if (result == FIRN_OK)
        volume->block_edge = edge;
    else
        firn_coord_table_free(&volume->blocks);
    return result;
}
