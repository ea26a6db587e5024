#include "density_grid.h"

#include "firn/level_set.h"

#include <math.h>
#include <string.h>

#define STRAY_SHARE 0.004 // of the mass, cut off at either end of an axis when a view is framed
enum { VOXEL_LIMIT = 1 << 28 };

static firn_result out_of_memory(firn_error *error)
{
    return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot hold the density for light");
}

// --- What is there -------------------------------------------------------------------------------

static firn_result check_field(const firn_field_view *field, firn_error *error)
{
    if (!(field->voxel_size > 0.0f && isfinite(field->voxel_size)))
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the voxels have a size of %g m",
                         (double)field->voxel_size);
    for (size_t leaf = 0; leaf < field->leaf_count; leaf++) {
        firn_coord o = field->leaf_origin[leaf];
        if (o.x < -VOXEL_LIMIT || o.y < -VOXEL_LIMIT || o.z < -VOXEL_LIMIT || o.x > VOXEL_LIMIT ||
            o.y > VOXEL_LIMIT || o.z > VOXEL_LIMIT)
            return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                             "a voxel is at (%d, %d, %d), too far away", o.x, o.y, o.z);
        const float *density = field->density + leaf * FIRN_LEAF_VOXELS;
        for (int i = 0; i < FIRN_LEAF_VOXELS; i++)
            if (!isfinite(density[i]))
                return firn_fail(error, FIRN_ERR_FORMAT,
                                 "the density of voxel (%d, %d, %d) is not a finite number",
                                 o.x + (i >> 6), o.y + (i >> 3 & 7), o.z + (i & 7));
    }
    return FIRN_OK;
}

/// A leaf as halves, with what its neighbors need to know.
typedef struct leaf_values {
    uint16_t half[FIRN_LEAF_VOXELS];
    uint32_t mask[16];
    int count;
    float most[8]; // of all voxels (0) and those with x = 0 (4), y = 0 (2), z = 0 (1), combined
} leaf_values;

static void read_leaf(const firn_density_def *def, size_t leaf, leaf_values *own)
{
    const float *density = def->field->density + leaf * FIRN_LEAF_VOXELS;
    const float per_reference = 1.0f / def->reference_density;
    memset(own->mask, 0, sizeof own->mask);
    memset(own->most, 0, sizeof own->most);
    own->count = 0;
    for (int i = 0; i < FIRN_LEAF_VOXELS; i++) {
        own->half[i] = 0;
        if (!(density[i] > 0.0f))
            continue;
        own->half[i] = firn_half_from_float(density[i] * per_reference);
        float value = firn_half_to_float(own->half[i]);
        if (own->half[i] == 0)
            continue;
        own->mask[i >> 5] |= (uint32_t)1 << (i & 31);
        own->count++;
        int faces = (i >> 6) == 0 ? 4 : 0;
        faces |= (i >> 3 & 7) == 0 ? 2 : 0;
        faces |= (i & 7) == 0 ? 1 : 0;
        for (int side = 0; side < 8; side++)
            if ((side & faces) == side && value > own->most[side])
                own->most[side] = value;
    }
}

static firn_coord block_of_leaf(const firn_field_view *field, size_t leaf)
{
    firn_coord o = field->leaf_origin[leaf];
    return (firn_coord){o.x >> 3, o.y >> 3, o.z >> 3};
}

static int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }
static int32_t largest(int32_t a, int32_t b) { return a > b ? a : b; }

static firn_result open_index(firn_density_grid *grid, const firn_field_view *field,
                              firn_error *error)
{
    if (field->leaf_count == 0)
        return FIRN_OK;
    firn_coord lower = {VOXEL_LIMIT, VOXEL_LIMIT, VOXEL_LIMIT};
    firn_coord upper = {-VOXEL_LIMIT, -VOXEL_LIMIT, -VOXEL_LIMIT};
    for (size_t leaf = 0; leaf < field->leaf_count; leaf++) {
        firn_coord b = block_of_leaf(field, leaf);
        lower = (firn_coord){least(lower.x, b.x), least(lower.y, b.y), least(lower.z, b.z)};
        upper = (firn_coord){largest(upper.x, b.x), largest(upper.y, b.y), largest(upper.z, b.z)};
    }
    lower = (firn_coord){lower.x - 1, lower.y - 1, lower.z - 1};
    return firn_block_index_open(&grid->index, lower, upper, error);
}

// --- Blocks --------------------------------------------------------------------------------------

// Blocks that own voxels come first, then those that only reach into the voxels of others.
static firn_result list_blocks(firn_density_grid *grid, const firn_density_def *def,
                               firn_error *error)
{
    const firn_field_view *field = def->field;
    leaf_values own;
    uint32_t number;
    for (int borders = 0; borders < 2; borders++) {
        for (size_t leaf = 0; leaf < field->leaf_count; leaf++) {
            read_leaf(def, leaf, &own);
            firn_coord b = block_of_leaf(field, leaf);
            bool moves = def->shutter > 0.0f && field->velocity != NULL;
            if (borders == 0 && (own.count > 0 || moves)) {
                FIRN_TRY(firn_block_index_add(&grid->index, b, &number, error));
                grid->value_count += (size_t)own.count;
            }
            for (int side = 1; side < 8 && borders == 1; side++)
                if (own.most[side] > 0.0f)
                    FIRN_TRY(firn_block_index_add(
                        &grid->index,
                        (firn_coord){b.x - (side >> 2), b.y - (side >> 1 & 1), b.z - (side & 1)},
                        &number, error));
        }
        if (borders == 0)
            grid->brick_count = grid->index.count;
    }
    return FIRN_OK;
}

static firn_result allocate(firn_density_grid *grid, bool moves, firn_error *error)
{
    size_t blocks = grid->index.count + 1;
    grid->majorant = firn_alloc_zero(blocks * sizeof *grid->majorant);
    grid->bricks = firn_alloc_zero((grid->brick_count + 1) * sizeof *grid->bricks);
    grid->values = firn_alloc((grid->value_count + 1) * sizeof *grid->values);
    if (moves)
        grid->motion =
            firn_alloc((grid->brick_count + 1) * FIRN_LEAF_VOXELS * sizeof *grid->motion);
    bool fine = grid->majorant != NULL && grid->bricks != NULL && grid->values != NULL &&
                (!moves || grid->motion != NULL);
    if (fine && grid->value_count > UINT32_MAX)
        return firn_fail(error, FIRN_ERR_UNSUPPORTED, "%zu voxels are too many for one picture",
                         grid->value_count);
    return fine ? FIRN_OK : out_of_memory(error);
}

static void store_brick(firn_density_grid *grid, uint32_t number, const leaf_values *own,
                        size_t *end)
{
    firn_brick *brick = &grid->bricks[number];
    memcpy(brick->mask, own->mask, sizeof brick->mask);
    brick->first = (uint32_t)*end;
    uint32_t before = 0;
    for (int word = 0; word < 16; word++) {
        if (word % 4 == 0)
            brick->before[word / 4] = (uint16_t)before;
        before += firn_count_bits(own->mask[word]);
    }
    for (int i = 0; i < FIRN_LEAF_VOXELS; i++)
        if (own->half[i] != 0)
            grid->values[(*end)++] = own->half[i];
}

static void raise_majorants(firn_density_grid *grid, firn_coord b, const leaf_values *own)
{
    for (int side = 0; side < 8; side++) {
        int32_t block = firn_block_find(&grid->index, b.x - (side >> 2), b.y - (side >> 1 & 1),
                                        b.z - (side & 1));
        if (block == FIRN_NO_BLOCK)
            continue;
        float bound = own->most[side] * grid->extinction;
        if (bound > grid->majorant[block])
            grid->majorant[block] = bound;
    }
}

static void extend_box(firn_density_grid *grid, firn_coord b, const leaf_values *own)
{
    const int32_t origin[3] = {8 * b.x, 8 * b.y, 8 * b.z};
    for (int i = 0; i < FIRN_LEAF_VOXELS; i++) {
        if (own->half[i] == 0)
            continue;
        const int32_t voxel[3] = {origin[0] + (i >> 6), origin[1] + (i >> 3 & 7),
                                  origin[2] + (i & 7)};
        for (int axis = 0; axis < 3; axis++) {
            grid->lower[axis] = least(grid->lower[axis], voxel[axis] - 1);
            grid->upper[axis] = largest(grid->upper[axis], voxel[axis] + 1);
        }
    }
}

static void fill(firn_density_grid *grid, const firn_density_def *def)
{
    leaf_values own;
    size_t end = 0;
    for (size_t leaf = 0; leaf < def->field->leaf_count; leaf++) {
        read_leaf(def, leaf, &own);
        firn_coord b = block_of_leaf(def->field, leaf);
        int32_t number = firn_block_find(&grid->index, b.x, b.y, b.z);
        if (number == FIRN_NO_BLOCK || (size_t)number >= grid->brick_count)
            continue;
        store_brick(grid, (uint32_t)number, &own, &end);
        raise_majorants(grid, b, &own);
        extend_box(grid, b, &own);
        if (grid->motion == NULL)
            continue;
        float scale = def->shutter / grid->voxel_size;
        const firn_vec3 *velocity = def->field->velocity + leaf * FIRN_LEAF_VOXELS;
        firn_vec3 *motion = grid->motion + (size_t)number * FIRN_LEAF_VOXELS;
        for (int i = 0; i < FIRN_LEAF_VOXELS; i++)
            motion[i] = firn_vec_is_finite(velocity[i]) ? firn_scale(scale, velocity[i])
                                                        : firn_vec(0.0f, 0.0f, 0.0f);
    }
}

// --- The box to be seen --------------------------------------------------------------------------

static void add_masses(const firn_density_grid *grid, const firn_field_view *field, int axis,
                       double *mass)
{
    for (size_t leaf = 0; leaf < field->leaf_count; leaf++) {
        firn_coord o = field->leaf_origin[leaf];
        const int32_t first = (axis == 0 ? o.x : axis == 1 ? o.y : o.z) - grid->lower[axis];
        const float *density = field->density + leaf * FIRN_LEAF_VOXELS;
        for (int i = 0; i < FIRN_LEAF_VOXELS; i++) {
            int32_t at = first + (i >> (6 - 3 * axis) & 7);
            if (density[i] > 0.0f && at >= 0 && at < grid->upper[axis] - grid->lower[axis])
                mass[at] += (double)density[i];
        }
    }
}

// The range of an axis without the strays: chips that fly off do not move the camera.
static firn_result find_range(firn_density_grid *grid, const firn_field_view *field, int axis,
                              float range[2], firn_error *error)
{
    size_t count = (size_t)(grid->upper[axis] - grid->lower[axis]);
    double *mass = firn_alloc_zero((count + 1) * sizeof *mass);
    if (mass == NULL)
        return out_of_memory(error);
    add_masses(grid, field, axis, mass);
    double all = 0.0, below = 0.0, above = 0.0;
    for (size_t i = 0; i < count; i++)
        all += mass[i];
    size_t first = 0, last = count;
    while (first + 1 < last && (below += mass[first]) < STRAY_SHARE * all)
        first++;
    while (last > first + 1 && (above += mass[last - 1]) < STRAY_SHARE * all)
        last--;
    range[0] = (float)(grid->lower[axis] + (int32_t)first) - 0.5f;
    range[1] = (float)(grid->lower[axis] + (int32_t)last) - 0.5f;
    firn_free(mass);
    return FIRN_OK;
}

static firn_result find_bounds(firn_density_grid *grid, const firn_field_view *field,
                               firn_error *error)
{
    float range[3][2] = {{0}};
    if (grid->value_count == 0)
        memset(grid->lower, 0, sizeof grid->lower), memset(grid->upper, 0, sizeof grid->upper);
    for (int axis = 0; axis < 3 && grid->value_count > 0; axis++)
        FIRN_TRY(find_range(grid, field, axis, range[axis], error));
    for (int side = 0; side < 2; side++)
        grid->bounds[side] = firn_vec(range[0][side], range[1][side], range[2][side]);
    return FIRN_OK;
}

// --- Motion --------------------------------------------------------------------------------------

// How far the points of a block look for their density, as a box of voxels around them.
static void reach_of_block(const firn_density_grid *grid, firn_coord b, float reach[3])
{
    reach[0] = reach[1] = reach[2] = 0.0f;
    for (int side = 0; side < 8; side++) {
        int32_t block = firn_block_find(&grid->index, b.x + (side >> 2), b.y + (side >> 1 & 1),
                                        b.z + (side & 1));
        if (block == FIRN_NO_BLOCK || (size_t)block >= grid->brick_count)
            continue;
        const firn_vec3 *motion = grid->motion + (size_t)block * FIRN_LEAF_VOXELS;
        for (int i = 0; i < FIRN_LEAF_VOXELS; i++) {
            reach[0] = fmaxf(reach[0], 0.5f * fabsf(motion[i].x));
            reach[1] = fmaxf(reach[1], 0.5f * fabsf(motion[i].y));
            reach[2] = fmaxf(reach[2], 0.5f * fabsf(motion[i].z));
        }
    }
}

static float most_within(const firn_density_grid *grid, const float *still, firn_coord b,
                         const float reach[3])
{
    int32_t far[3];
    float bound = 0.0f;
    for (int axis = 0; axis < 3; axis++)
        far[axis] = (int32_t)fminf(ceilf(reach[axis] / 8.0f), 64.0f);
    for (int32_t x = -far[0]; x <= far[0]; x++)
        for (int32_t y = -far[1]; y <= far[1]; y++)
            for (int32_t z = -far[2]; z <= far[2]; z++) {
                int32_t block = firn_block_find(&grid->index, b.x + x, b.y + y, b.z + z);
                if (block != FIRN_NO_BLOCK)
                    bound = fmaxf(bound, still[block]);
            }
    return bound;
}

// Points of a block see the density of where they come from, so its bound does too.
static firn_result widen_majorants(firn_density_grid *grid, firn_error *error)
{
    float *still = firn_alloc((grid->index.count + 1) * sizeof *still);
    if (still == NULL)
        return out_of_memory(error);
    memcpy(still, grid->majorant, grid->index.count * sizeof *still);
    const firn_block_index *index = &grid->index;
    for (int32_t x = 0; x < (int32_t)index->extent[0]; x++)
        for (int32_t y = 0; y < (int32_t)index->extent[1]; y++)
            for (int32_t z = 0; z < (int32_t)index->extent[2]; z++) {
                firn_coord b = {index->lower.x + x, index->lower.y + y, index->lower.z + z};
                int32_t block = firn_block_find(index, b.x, b.y, b.z);
                float reach[3];
                if (block == FIRN_NO_BLOCK)
                    continue;
                reach_of_block(grid, b, reach);
                grid->majorant[block] = most_within(grid, still, b, reach);
            }
    firn_free(still);
    return FIRN_OK;
}

// Snow that moves is met wherever a block is.
static void widen_box(firn_density_grid *grid)
{
    const int32_t first[3] = {grid->index.lower.x, grid->index.lower.y, grid->index.lower.z};
    for (int axis = 0; axis < 3; axis++) {
        grid->lower[axis] = 8 * first[axis];
        grid->upper[axis] = 8 * (first[axis] + (int32_t)grid->index.extent[axis]);
    }
}

// --- Making and reading --------------------------------------------------------------------------

static firn_result build(firn_density_grid *grid, const firn_density_def *def, firn_error *error)
{
    const firn_field_view *field = def->field;
    grid->voxel_size = field->voxel_size;
    grid->extinction = def->extinction * field->voxel_size;
    float half = 0.5f * field->voxel_size;
    grid->origin = firn_add(def->offset, firn_vec(half, half, half));
    for (int axis = 0; axis < 3; axis++) {
        grid->lower[axis] = VOXEL_LIMIT;
        grid->upper[axis] = -VOXEL_LIMIT;
    }
    FIRN_TRY(open_index(grid, field, error));
    FIRN_TRY(list_blocks(grid, def, error));
    bool moves = def->shutter > 0.0f && field->velocity != NULL;
    FIRN_TRY(allocate(grid, moves, error));
    fill(grid, def);
    FIRN_TRY(find_bounds(grid, field, error));
    if (moves && grid->value_count > 0) {
        FIRN_TRY(widen_majorants(grid, error));
        widen_box(grid);
    }
    for (size_t i = 0; i < grid->index.count; i++)
        if (!(grid->majorant[i] < 1e30f))
            return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                             "the density is more than 65504 times the reference density");
    return FIRN_OK;
}

firn_result firn_density_grid_create(firn_density_grid *grid, const firn_density_def *def,
                                     firn_error *error)
{
    memset(grid, 0, sizeof *grid);
    FIRN_TRY(check_field(def->field, error));
    firn_result result = build(grid, def, error);
    if (result != FIRN_OK)
        firn_density_grid_free(grid);
    return result;
}

void firn_density_grid_free(firn_density_grid *grid)
{
    firn_block_index_free(&grid->index);
    firn_free(grid->majorant);
    firn_free(grid->bricks);
    firn_free(grid->values);
    firn_free(grid->motion);
    memset(grid, 0, sizeof *grid);
}

size_t firn_density_grid_bytes(const firn_density_grid *grid)
{
    return firn_block_index_bytes(&grid->index) + grid->index.count * sizeof *grid->majorant +
           grid->brick_count * sizeof *grid->bricks + grid->value_count * sizeof *grid->values;
}

static const firn_brick *find_brick(const firn_density_grid *grid, int32_t x, int32_t y, int32_t z)
{
    int32_t block = firn_block_find(&grid->index, x >> 3, y >> 3, z >> 3);
    if (block == FIRN_NO_BLOCK || (size_t)block >= grid->brick_count)
        return NULL;
    return &grid->bricks[block];
}

float firn_density_voxel(const firn_density_grid *grid, int32_t x, int32_t y, int32_t z)
{
    const firn_brick *brick = find_brick(grid, x, y, z);
    return brick != NULL ? firn_brick_value(grid, brick, x & 7, y & 7, z & 7) : 0.0f;
}

// The voxels of one of the eight blocks that a room reaches into.
static void unpack_part(const firn_density_grid *grid, const firn_brick *brick, const int begin[3],
                        const int end[3], float *values)
{
    for (int x = begin[0]; x < end[0]; x++)
        for (int y = begin[1]; y < end[1]; y++) {
            float *row = values + (x * 9 + y) * 9;
            uint32_t byte = brick->mask[2 * (x & 7) + ((y & 7) >> 2)] >> (8 * (y & 3)) & 0xffu;
            for (int z = begin[2]; z < end[2] && byte != 0; z++)
                row[z] = grid->extinction * firn_brick_value(grid, brick, x & 7, y & 7, z & 7);
        }
}

// All values of a brick in their order, without counting bits.
static void unpack_own(const firn_density_grid *grid, const firn_brick *brick, float *values)
{
    const uint16_t *at = grid->values + brick->first;
    for (int word = 0; word < 16; word++) {
        if (brick->mask[word] == 0)
            continue;
        float *rows = values + (word / 2 * 9 + word % 2 * 4) * 9;
        for (int y = 0; y < 4; y++) {
            uint32_t byte = brick->mask[word] >> (8 * y) & 0xffu;
            float *row = rows + 9 * y;
            for (int z = 0; z < 8 && byte == 0xffu; z++)
                row[z] = grid->extinction * firn_half_to_float(at[z]);
            at += byte == 0xffu ? 8 : 0;
            for (int z = 0; z < 8 && byte != 0xffu; z++)
                if ((byte >> z & 1u) != 0)
                    row[z] = grid->extinction * firn_half_to_float(*at++);
        }
    }
}

void firn_density_unpack(const firn_density_grid *grid, int32_t x, int32_t y, int32_t z,
                         float values[729])
{
    memset(values, 0, 729 * sizeof *values);
    for (int side = 0; side < 8; side++) {
        const int beyond[3] = {side >> 2, side >> 1 & 1, side & 1};
        int32_t block = firn_block_find(&grid->index, x + beyond[0], y + beyond[1], z + beyond[2]);
        if (block == FIRN_NO_BLOCK || (size_t)block >= grid->brick_count)
            continue;
        if (side == 0) {
            unpack_own(grid, &grid->bricks[block], values);
            continue;
        }
        int begin[3], end[3];
        for (int axis = 0; axis < 3; axis++) {
            begin[axis] = beyond[axis] != 0 ? 8 : 0;
            end[axis] = beyond[axis] != 0 ? 9 : 8;
        }
        unpack_part(grid, &grid->bricks[block], begin, end, values);
    }
}

void firn_motion_cell(const firn_density_grid *grid, int32_t x, int32_t y, int32_t z,
                      firn_vec3 corner[8])
{
    for (int c = 0; c < 8; c++) {
        int32_t i = x + (c >> 2), j = y + (c >> 1 & 1), k = z + (c & 1);
        const firn_brick *brick = find_brick(grid, i, j, k);
        size_t number = brick != NULL ? (size_t)(brick - grid->bricks) : 0;
        size_t voxel = (size_t)((i & 7) << 6 | (j & 7) << 3 | (k & 7));
        corner[c] = brick != NULL ? grid->motion[number * FIRN_LEAF_VOXELS + voxel]
                                  : firn_vec(0.0f, 0.0f, 0.0f);
    }
}
