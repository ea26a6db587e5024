#include "sdf.h"

#include <float.h>
#include <string.h>

typedef struct entry {
    firn_coord cell; // origin / edge
    int32_t level;   // of the edge: 0, 1, 2; EMPTY
    uint32_t item;   // number of the leaf, or TILE + number of the tile
    float minimum;   // m, of its values
} entry;

enum { EMPTY = -1 };
static const uint32_t TILE = 0x80000000u;
static const int level_shift[FIRN_TILE_LEVELS] = {3, 7, 12};

// Voxels beyond are out of reach; sums of coordinates cannot overflow.
enum { COORD_LIMIT = 1 << 30 };

static uint32_t hash_cell(firn_coord cell, int level)
{
    uint32_t h = (uint32_t)cell.x * 0x9E3779B1u ^ (uint32_t)cell.y * 0x85EBCA77u ^
                 (uint32_t)cell.z * 0xC2B2AE3Du ^ (uint32_t)level * 0x27D4EB2Fu;
    h ^= h >> 15;
    h *= 0x2C1B3C6Du;
    return h ^ h >> 13;
}

static bool same_cell(firn_coord a, firn_coord b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

static firn_coord cell_of(firn_coord voxel, int level)
{
    int shift = level_shift[level];
    return (firn_coord){voxel.x >> shift, voxel.y >> shift, voxel.z >> shift};
}

// The slot that holds the cell, or the empty one where it belongs.
static entry *find_slot(const firn_leaf_index *index, firn_coord cell, int level)
{
    entry *entries = index->table.data;
    uint32_t at = hash_cell(cell, level) & index->mask;
    while (entries[at].level != EMPTY &&
           !(entries[at].level == level && same_cell(entries[at].cell, cell)))
        at = (at + 1) & index->mask;
    return &entries[at];
}

static const entry *find_leaf(const firn_leaf_index *index, firn_coord cell)
{
    if (!index->has_level[0])
        return NULL;
    const entry *slot = find_slot(index, cell, 0);
    return slot->level == EMPTY ? NULL : slot;
}

static firn_result index_claim(firn_budget *budget, firn_leaf_index *index, size_t count,
                               firn_error *error)
{
    if (count >= TILE / 4)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "a grid of %zu leaves and tiles is too large",
                         count);
    size_t capacity = 2;
    while (capacity < 2 * count)
        capacity *= 2;
    FIRN_TRY(firn_array_claim(budget, &index->table, capacity, sizeof(entry), error));
    entry *entries = index->table.data;
    for (size_t i = 0; i < capacity; i++)
        entries[i].level = EMPTY;
    index->mask = (uint32_t)(capacity - 1);
    index->lower = (firn_coord){COORD_LIMIT, COORD_LIMIT, COORD_LIMIT};
    index->upper = (firn_coord){-COORD_LIMIT, -COORD_LIMIT, -COORD_LIMIT};
    return FIRN_OK;
}

static int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }
static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

static firn_result index_insert(firn_leaf_index *index, firn_coord origin, int level, entry value,
                                firn_error *error)
{
    int32_t edge = 1 << level_shift[level];
    if (((origin.x | origin.y | origin.z) & (edge - 1)) != 0)
        return firn_fail(
            error, FIRN_ERR_ARGUMENT,
            "a grid's leaf or tile at (%d, %d, %d) is not at a multiple of its edge %d", origin.x,
            origin.y, origin.z, edge);
    if (origin.x < -COORD_LIMIT || origin.y < -COORD_LIMIT || origin.z < -COORD_LIMIT ||
        origin.x >= COORD_LIMIT || origin.y >= COORD_LIMIT || origin.z >= COORD_LIMIT)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "a grid's leaf or tile at (%d, %d, %d) is more than %d voxels away",
                         origin.x, origin.y, origin.z, COORD_LIMIT);
    value.cell = cell_of(origin, level);
    value.level = level;
    entry *slot = find_slot(index, value.cell, level);
    if (slot->level != EMPTY)
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

static firn_transform unit_rotation(firn_transform t)
{
    firn_quat q = t.rotation;
    float factor = 1.0f / sqrtf(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
    t.rotation = (firn_quat){factor * q.x, factor * q.y, factor * q.z, factor * q.w};
    return t;
}

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
        entry value = {.item = (uint32_t)i};
        if (!leaf_minimum(set->values + FIRN_LEAF_VOXELS * i, &value.minimum))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "the level set has a value that is not finite in the leaf at "
                             "(%d, %d, %d)",
                             set->leaf_origin[i].x, set->leaf_origin[i].y, set->leaf_origin[i].z);
        FIRN_TRY(index_insert(&sdf->index, set->leaf_origin[i], 0, value, error));
    }
    return FIRN_OK;
}

static firn_result insert_tiles(firn_sdf *sdf, firn_error *error)
{
    const firn_level_set *set = &sdf->set;
    for (size_t i = 0; i < set->tile_count; i++) {
        const firn_tile *tile = &set->tiles[i];
        int level = 0;
        while (level < FIRN_TILE_LEVELS && tile->edge != 1 << level_shift[level])
            level++;
        if (level == FIRN_TILE_LEVELS)
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "the level set has a tile of edge %d; edges are 8, 128 or 4096",
                             tile->edge);
        if (!isfinite(tile->value))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "the level set has a tile that is not finite");
        entry value = {.item = TILE + (uint32_t)i, .minimum = tile->value};
        FIRN_TRY(index_insert(&sdf->index, tile->origin, level, value, error));
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
    FIRN_TRY(index_claim(budget, &sdf->index, count, error));
    FIRN_TRY(insert_leaves(sdf, error));
    return insert_tiles(sdf, error);
}

firn_result firn_sdf_build(firn_budget *budget, firn_sdf *sdf, const firn_level_set *set,
                           firn_error *error)
{
    memset(sdf, 0, sizeof *sdf);
    FIRN_TRY(check_level_set(set, error));
    sdf->set = *set;
    sdf->set.map = unit_rotation(set->map);
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

static int leaf_offset(firn_coord voxel)
{
    return ((voxel.x & 7) * 8 + (voxel.y & 7)) * 8 + (voxel.z & 7);
}

static float item_value(const firn_level_set *set, const entry *at, firn_coord voxel)
{
    if (at->item & TILE)
        return set->tiles[at->item & ~TILE].value;
    return set->values[(size_t)at->item * FIRN_LEAF_VOXELS + (size_t)leaf_offset(voxel)];
}

// Value of a voxel; leaf is that of its 8^3 cell, when there is one.
static float voxel_value(const firn_sdf *sdf, const entry *leaf, firn_coord voxel)
{
    if (leaf != NULL)
        return item_value(&sdf->set, leaf, voxel);
    for (int level = 1; level < FIRN_TILE_LEVELS; level++) {
        if (!sdf->index.has_level[level])
            continue;
        const entry *tile = find_slot(&sdf->index, cell_of(voxel, level), level);
        if (tile->level != EMPTY)
            return item_value(&sdf->set, tile, voxel);
    }
    return sdf->set.background;
}

// The corners of the voxel cube at base, corner number 4 x + 2 y + z.
static void load_corners(const firn_sdf *sdf, firn_coord base, float corner[8])
{
    const entry *leaf = find_leaf(&sdf->index, cell_of(base, 0));
    if (leaf != NULL && !(leaf->item & TILE) && (base.x & 7) < 7 && (base.y & 7) < 7 &&
        (base.z & 7) < 7) {
        const float *at =
            sdf->set.values + (size_t)leaf->item * FIRN_LEAF_VOXELS + leaf_offset(base);
        for (int i = 0; i < 8; i++)
            corner[i] = at[(i >> 2) * 64 + (i >> 1 & 1) * 8 + (i & 1)];
        return;
    }
    firn_coord known = cell_of(base, 0);
    for (int i = 0; i < 8; i++) {
        firn_coord voxel = {base.x + (i >> 2), base.y + (i >> 1 & 1), base.z + (i & 1)};
        firn_coord cell = cell_of(voxel, 0);
        if (!same_cell(cell, known)) {
            leaf = find_leaf(&sdf->index, cell);
            known = cell;
        }
        corner[i] = voxel_value(sdf, leaf, voxel);
    }
}

static bool within(const firn_leaf_index *index, firn_vec3 p)
{
    return index->count > 0 && p.x > (float)(index->lower.x - 1) && p.x < (float)index->upper.x &&
           p.y > (float)(index->lower.y - 1) && p.y < (float)index->upper.y &&
           p.z > (float)(index->lower.z - 1) && p.z < (float)index->upper.z;
}

// The voxel at or below a point that is within reach.
static firn_coord floor_coord(firn_vec3 p)
{
    return (firn_coord){(int32_t)floorf(p.x), (int32_t)floorf(p.y), (int32_t)floorf(p.z)};
}

static float mix(float a, float b, float t) { return a + t * (b - a); }

firn_distance firn_sdf_sample(const firn_sdf *sdf, firn_vec3 point)
{
    float per_voxel = 1.0f / sdf->set.map.scale;
    if (!within(&sdf->index, point))
        return (firn_distance){sdf->set.background * per_voxel, {0.0f, 0.0f, 0.0f}};
    firn_coord base = floor_coord(point);
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
    const entry *entries = index->table.data;
    for (uint32_t i = 0; i <= index->mask; i++) {
        if (entries[i].level == EMPTY || entries[i].minimum > limit)
            continue;
        firn_coord first = cell_of(lower, entries[i].level);
        firn_coord last = cell_of(upper, entries[i].level), cell = entries[i].cell;
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
                const entry *slot = find_slot(index, (firn_coord){x, y, z}, level);
                if (slot->level != EMPTY && slot->minimum <= limit)
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
    firn_coord from = floor_coord(low), to = floor_coord(high);
    to = (firn_coord){to.x + 1, to.y + 1, to.z + 1};
    for (int level = 0; level < FIRN_TILE_LEVELS; level++) {
        if (!index->has_level[level])
            continue;
        firn_coord first = cell_of(from, level), last = cell_of(to, level);
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

static firn_result insert_flow(firn_budget *budget, firn_flow *flow, firn_error *error)
{
    const firn_velocity_grid *grid = &flow->grid;
    FIRN_TRY(index_claim(budget, &flow->index, grid->leaf_count, error));
    for (size_t i = 0; i < grid->leaf_count; i++) {
        const firn_vec3 *values = grid->values + FIRN_LEAF_VOXELS * i;
        for (int k = 0; k < FIRN_LEAF_VOXELS; k++) {
            float speed = firn_length(values[k]);
            if (!(speed <= FLT_MAX))
                return firn_fail(error, FIRN_ERR_ARGUMENT,
                                 "the velocity grid has a value that is not finite in the leaf at "
                                 "(%d, %d, %d)",
                                 grid->leaf_origin[i].x, grid->leaf_origin[i].y,
                                 grid->leaf_origin[i].z);
            flow->max_speed = fmaxf(flow->max_speed, speed);
        }
        entry value = {.item = (uint32_t)i};
        FIRN_TRY(index_insert(&flow->index, grid->leaf_origin[i], 0, value, error));
    }
    return FIRN_OK;
}

firn_result firn_flow_build(firn_budget *budget, firn_flow *flow, const firn_velocity_grid *grid,
                            firn_error *error)
{
    memset(flow, 0, sizeof *flow);
    if (grid == NULL || grid->leaf_count == 0)
        return FIRN_OK;
    FIRN_TRY(firn_transform_check(&grid->map, "a velocity grid's map", error));
    if (grid->leaf_origin == NULL || grid->values == NULL)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "a velocity grid has %zu leaves but no arrays",
                         grid->leaf_count);
    flow->grid = *grid;
    flow->grid.map = unit_rotation(grid->map);
    firn_result result = insert_flow(budget, flow, error);
    if (result != FIRN_OK)
        firn_flow_free(budget, flow);
    return result;
}

void firn_flow_free(firn_budget *budget, firn_flow *flow)
{
    firn_array_free(budget, &flow->index.table);
    memset(flow, 0, sizeof *flow);
}

firn_vec3 firn_flow_sample(const firn_flow *flow, firn_vec3 point)
{
    firn_vec3 velocity = {0.0f, 0.0f, 0.0f};
    if (flow->index.count == 0)
        return velocity;
    firn_vec3 p = firn_transform_point_inverse(flow->grid.map, point);
    if (!within(&flow->index, p))
        return velocity;
    firn_coord base = floor_coord(p);
    float x = p.x - (float)base.x, y = p.y - (float)base.y, z = p.z - (float)base.z;
    firn_coord known = cell_of(base, 0);
    const entry *leaf = find_leaf(&flow->index, known);
    for (int i = 0; i < 8; i++) {
        firn_coord voxel = {base.x + (i >> 2), base.y + (i >> 1 & 1), base.z + (i & 1)};
        firn_coord cell = cell_of(voxel, 0);
        if (!same_cell(cell, known)) {
            leaf = find_leaf(&flow->index, cell);
            known = cell;
        }
        if (leaf == NULL)
            continue;
        float weight = (i & 4 ? x : 1.0f - x) * (i & 2 ? y : 1.0f - y) * (i & 1 ? z : 1.0f - z);
        const firn_vec3 *values = flow->grid.values + (size_t)leaf->item * FIRN_LEAF_VOXELS;
        velocity = firn_add_scaled(velocity, weight, values[leaf_offset(voxel)]);
    }
    return velocity;
}
