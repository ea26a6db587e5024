#include "leaf_index.h"

#include <float.h>
#include <string.h>

firn_result firn_leaf_index_claim(firn_budget *budget, firn_leaf_index *index, size_t count,
                                  firn_error *error)
{
    if (count >= 0x20000000u)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "a grid of %zu leaves and tiles is too large",
                         count);
    size_t capacity = 2;
    while (capacity < 2 * count)
        capacity *= 2;
    FIRN_TRY(firn_array_claim(budget, &index->table, capacity, sizeof(firn_leaf_entry), error));
    firn_leaf_entry *entries = index->table.data;
    for (size_t i = 0; i < capacity; i++)
        entries[i].level = FIRN_LEAF_EMPTY;
    index->mask = (uint32_t)(capacity - 1);
    index->count = 0;
    memset(index->has_level, 0, sizeof index->has_level);
    index->lower = (firn_coord){FIRN_VOXEL_LIMIT, FIRN_VOXEL_LIMIT, FIRN_VOXEL_LIMIT};
    index->upper = (firn_coord){-FIRN_VOXEL_LIMIT, -FIRN_VOXEL_LIMIT, -FIRN_VOXEL_LIMIT};
    return FIRN_OK;
}

static int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }
static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

firn_result firn_leaf_index_insert(firn_leaf_index *index, firn_coord origin, int level,
                                   firn_leaf_entry value, firn_error *error)
{
    int32_t edge = 1 << firn_level_shift(level);
    if (((origin.x | origin.y | origin.z) & (edge - 1)) != 0)
        return firn_fail(
            error, FIRN_ERR_ARGUMENT,
            "a grid's leaf or tile at (%d, %d, %d) is not at a multiple of its edge %d", origin.x,
            origin.y, origin.z, edge);
    if (origin.x < -FIRN_VOXEL_LIMIT || origin.y < -FIRN_VOXEL_LIMIT ||
        origin.z < -FIRN_VOXEL_LIMIT || origin.x >= FIRN_VOXEL_LIMIT ||
        origin.y >= FIRN_VOXEL_LIMIT || origin.z >= FIRN_VOXEL_LIMIT)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "a grid's leaf or tile at (%d, %d, %d) is more than %d voxels away",
                         origin.x, origin.y, origin.z, FIRN_VOXEL_LIMIT);
    value.cell = firn_cell_of(origin, level);
    value.level = level;
    firn_leaf_entry *slot = firn_leaf_slot(index, value.cell, level);
    if (slot->level != FIRN_LEAF_EMPTY)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "a grid has two leaves or tiles at (%d, %d, %d)",
                         origin.x, origin.y, origin.z);
    *slot = value;
    index->count++;
    index->has_level[level] = true;
    firn_coord *lower = &index->lower, *upper = &index->upper;
    *lower = (firn_coord){smaller(lower->x, origin.x), smaller(lower->y, origin.y),
                          smaller(lower->z, origin.z)};
    *upper = (firn_coord){larger(upper->x, origin.x + edge), larger(upper->y, origin.y + edge),
                          larger(upper->z, origin.z + edge)};
    return FIRN_OK;
}

firn_result firn_transform_check(const firn_transform *transform, const char *what,
                                 firn_error *error)
{
    firn_quat q = transform->rotation;
    float length2 = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
    if (!firn_vec_is_finite(transform->translation))
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the translation of %s is not finite", what);
    if (!(fabsf(length2 - 1.0f) <= 0.01f))
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the rotation of %s is not a unit quaternion",
                         what);
    if (!(transform->scale > 0.0f && transform->scale <= FLT_MAX))
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the scale of %s is %g, not positive", what,
                         (double)transform->scale);
    return FIRN_OK;
}

firn_transform firn_unit_rotation(firn_transform t)
{
    firn_quat q = t.rotation;
    float factor = 1.0f / sqrtf(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
    t.rotation = (firn_quat){factor * q.x, factor * q.y, factor * q.z, factor * q.w};
    return t;
}
