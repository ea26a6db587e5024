#include "sdf.h"

#include <float.h>
#include <string.h>

static const uint32_t TILE = 0x80000000u; // marks the item of an entry as a tile

// The least value of a leaf; false when one is not finite.
static bool leaf_minimum(const float *values, float *minimum)
{
    float least = FLT_MAX;
    int bad = 0;
    for (int i = 0; i < FIRN_LEAF_VOXELS; i++) {
        bad |= !(fabsf(values[i]) <= FLT_MAX);
        least = values[i] < least ? values[i] : least;
    }
    *minimum = least;
    return !bad;
}

static firn_result insert_leaves(firn_sdf *sdf, firn_error *error)
{
    const firn_level_set *set = &sdf->set;
    for (size_t i = 0; i < set->leaf_count; i++) {
        firn_leaf_entry value = {.item = (uint32_t)i};
        if (!leaf_minimum(set->values + FIRN_LEAF_VOXELS * i, &value.minimum))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "the level set has a value that is not finite in the leaf at "
                             "(%d, %d, %d)",
                             set->leaf_origin[i].x, set->leaf_origin[i].y, set->leaf_origin[i].z);
        FIRN_TRY(firn_leaf_index_insert(&sdf->index, set->leaf_origin[i], 0, value, error));
    }
    return FIRN_OK;
}

static firn_result insert_tiles(firn_sdf *sdf, firn_error *error)
{
    const firn_level_set *set = &sdf->set;
    for (size_t i = 0; i < set->tile_count; i++) {
        const firn_tile *tile = &set->tiles[i];
        int level = 0;
        while (level < FIRN_TILE_LEVELS && tile->edge != 1 << firn_level_shift(level))
            level++;
        if (level == FIRN_TILE_LEVELS)
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "the level set has a tile of edge %d; edges are 8, 128 or 4096",
                             tile->edge);
        if (!isfinite(tile->value))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "the level set has a tile that is not finite");
        firn_leaf_entry value = {.item = TILE + (uint32_t)i, .minimum = tile->value};
        FIRN_TRY(firn_leaf_index_insert(&sdf->index, tile->origin, level, value, error));
    }
    return FIRN_OK;
}

static firn_result check_level_set(const firn_level_set *set, firn_error *error)
{
    FIRN_TRY(firn_transform_check(&set->map, "a level set's map", error));
    if (!(set->background > 0.0f && set->background <= FLT_MAX))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the background of a level set is %g m, not positive",
                         (double)set->background);
    if (set->leaf_count > 0 && (set->leaf_origin == NULL || set->values == NULL))
        return firn_fail(error, FIRN_ERR_ARGUMENT, "a level set has %zu leaves but no arrays",
                         set->leaf_count);
    if (set->tile_count > 0 && set->tiles == NULL)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "a level set has %zu tiles but no array",
                         set->tile_count);
    return FIRN_OK;
}

static firn_result build(firn_budget *budget, firn_sdf *sdf, firn_error *error)
{
    size_t leaves = sdf->set.leaf_count, tiles = sdf->set.tile_count;
    size_t count = leaves < SIZE_MAX - tiles ? leaves + tiles : SIZE_MAX;
    FIRN_TRY(firn_leaf_index_claim(budget, &sdf->index, count, error));
    FIRN_TRY(insert_leaves(sdf, error));
    return insert_tiles(sdf, error);
}

firn_result firn_sdf_build(firn_budget *budget, firn_sdf *sdf, const firn_level_set *set,
                           firn_error *error)
{
    memset(sdf, 0, sizeof *sdf);
    FIRN_TRY(check_level_set(set, error));
    sdf->set = *set;
    sdf->set.map = firn_unit_rotation(set->map);
    firn_result result = build(budget, sdf, error);
    if (result != FIRN_OK)
        firn_sdf_free(budget, sdf);
    return result;
}

void firn_sdf_free(firn_budget *budget, firn_sdf *sdf)
{
    firn_array_free(budget, &sdf->index.table);
    memset(sdf, 0, sizeof *sdf);
}

static float item_value(const firn_level_set *set, const firn_leaf_entry *at, firn_coord voxel)
{
    if (at->item & TILE)
        return set->tiles[at->item & ~TILE].value;
    return set->values[(size_t)at->item * FIRN_LEAF_VOXELS + (size_t)firn_leaf_offset(voxel)];
}

// Value of a voxel; leaf is that of its 8^3 cell, when there is one.
static float voxel_value(const firn_sdf *sdf, const firn_leaf_entry *leaf, firn_coord voxel)
{
    if (leaf != NULL)
        return item_value(&sdf->set, leaf, voxel);
    for (int level = 1; level < FIRN_TILE_LEVELS; level++) {
        if (!sdf->index.has_level[level])
            continue;
        const firn_leaf_entry *tile =
            firn_leaf_slot(&sdf->index, firn_cell_of(voxel, level), level);
        if (tile->level != FIRN_LEAF_EMPTY)
            return item_value(&sdf->set, tile, voxel);
    }
    return sdf->set.background;
}

// The corners of the voxel cube at base, corner number 4 x + 2 y + z.
static void load_corners(const firn_sdf *sdf, firn_coord base, float corner[8])
{
    const firn_leaf_entry *leaf = firn_leaf_find(&sdf->index, firn_cell_of(base, 0));
    if (leaf != NULL && !(leaf->item & TILE) && (base.x & 7) < 7 && (base.y & 7) < 7 &&
        (base.z & 7) < 7) {
        const float *at =
            sdf->set.values + (size_t)leaf->item * FIRN_LEAF_VOXELS + firn_leaf_offset(base);
        for (int i = 0; i < 8; i++)
            corner[i] = at[(i >> 2) * 64 + (i >> 1 & 1) * 8 + (i & 1)];
        return;
    }
    firn_coord known = firn_cell_of(base, 0);
    for (int i = 0; i < 8; i++) {
        firn_coord voxel = {base.x + (i >> 2), base.y + (i >> 1 & 1), base.z + (i & 1)};
        firn_coord cell = firn_cell_of(voxel, 0);
        if (!firn_same_cell(cell, known)) {
            leaf = firn_leaf_find(&sdf->index, cell);
            known = cell;
        }
        corner[i] = voxel_value(sdf, leaf, voxel);
    }
}

static float mix(float a, float b, float t) { return a + t * (b - a); }

firn_distance firn_sdf_sample(const firn_sdf *sdf, firn_vec3 point)
{
    float per_voxel = 1.0f / sdf->set.map.scale;
    if (!firn_leaf_index_holds(&sdf->index, point))
        return (firn_distance){sdf->set.background * per_voxel, {0.0f, 0.0f, 0.0f}};
    firn_coord base = firn_floor_coord(point);
    float c[8];
    load_corners(sdf, base, c);
    float x = point.x - (float)base.x, y = point.y - (float)base.y, z = point.z - (float)base.z;
    float c00 = mix(c[0], c[1], z), c01 = mix(c[2], c[3], z);
    float c10 = mix(c[4], c[5], z), c11 = mix(c[6], c[7], z);
    float c0 = mix(c00, c01, y), c1 = mix(c10, c11, y);
    float dz0 = mix(c[1] - c[0], c[3] - c[2], y), dz1 = mix(c[5] - c[4], c[7] - c[6], y);
    firn_vec3 gradient = {c1 - c0, mix(c01 - c00, c11 - c10, x), mix(dz0, dz1, x)};
    return (firn_distance){per_voxel * mix(c0, c1, x), firn_scale(per_voxel, gradient)};
}

static bool scan_entries(const firn_leaf_index *index, firn_coord lower, firn_coord upper,
                         float limit)
{
    const firn_leaf_entry *entries = index->table.data;
    for (uint32_t i = 0; i <= index->mask; i++) {
        if (entries[i].level == FIRN_LEAF_EMPTY || entries[i].minimum > limit)
            continue;
        firn_coord first = firn_cell_of(lower, entries[i].level);
        firn_coord last = firn_cell_of(upper, entries[i].level), cell = entries[i].cell;
        if (cell.x >= first.x && cell.x <= last.x && cell.y >= first.y && cell.y <= last.y &&
            cell.z >= first.z && cell.z <= last.z)
            return true;
    }
    return false;
}

static bool look_up_cells(const firn_leaf_index *index, firn_coord first, firn_coord last,
                          int level, float limit)
{
    for (int32_t x = first.x; x <= last.x; x++)
        for (int32_t y = first.y; y <= last.y; y++)
            for (int32_t z = first.z; z <= last.z; z++) {
                const firn_leaf_entry *slot = firn_leaf_slot(index, (firn_coord){x, y, z}, level);
                if (slot->level != FIRN_LEAF_EMPTY && slot->minimum <= limit)
                    return true;
            }
    return false;
}

bool firn_sdf_may_reach(const firn_sdf *sdf, firn_vec3 lower, firn_vec3 upper, float limit)
{
    const firn_leaf_index *index = &sdf->index;
    // A value of at most limit needs a corner of at most limit, which is in a leaf or tile.
    if (limit >= sdf->set.background)
        return true;
    if (index->count == 0 || !(upper.x > (float)(index->lower.x - 1)) ||
        !(upper.y > (float)(index->lower.y - 1)) || !(upper.z > (float)(index->lower.z - 1)) ||
        !(lower.x < (float)index->upper.x) || !(lower.y < (float)index->upper.y) ||
        !(lower.z < (float)index->upper.z))
        return false;
    // Clipped as floats first: the box may be larger than integers reach.
    firn_vec3 low = {fmaxf(lower.x, (float)(index->lower.x - 1)),
                     fmaxf(lower.y, (float)(index->lower.y - 1)),
                     fmaxf(lower.z, (float)(index->lower.z - 1))};
    firn_vec3 high = {fminf(upper.x, (float)index->upper.x), fminf(upper.y, (float)index->upper.y),
                      fminf(upper.z, (float)index->upper.z)};
    firn_coord from = firn_floor_coord(low), to = firn_floor_coord(high);
    to = (firn_coord){to.x + 1, to.y + 1, to.z + 1};
    for (int level = 0; level < FIRN_TILE_LEVELS; level++) {
        if (!index->has_level[level])
            continue;
        firn_coord first = firn_cell_of(from, level), last = firn_cell_of(to, level);
        double cells = (double)(last.x - first.x + 1) * (double)(last.y - first.y + 1) *
                       (double)(last.z - first.z + 1);
        // A table that is smaller than the box is read from end to end, for all levels at once.
        if (cells > (double)index->mask)
            return scan_entries(index, from, to, limit);
        if (look_up_cells(index, first, last, level, limit))
            return true;
    }
    return false;
}

float firn_sdf_reach(const firn_sdf *sdf)
{
    if (sdf->index.count == 0)
        return 0.0f;
    firn_coord a = sdf->index.lower, b = sdf->index.upper;
    float reach = 0.0f;
    for (int i = 0; i < 8; i++) {
        firn_vec3 corner = {(float)(i & 1 ? a.x : b.x), (float)(i & 2 ? a.y : b.y),
                            (float)(i & 4 ? a.z : b.z)};
        reach = fmaxf(reach, firn_length(firn_transform_point(sdf->set.map, corner)));
    }
    return reach;
}
