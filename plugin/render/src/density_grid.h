/// The density of snow for light: active voxels only, as half floats, with a bound for each block.
///
/// Voxel space has its origin at the center of voxel (0, 0, 0) and the voxel as its unit. Between
/// the centers density is trilinear, as Cycles, Karma and Arnold have it. Block b is the cells
/// [8 b, 8 b + 8) of that space, so its bound looks at one layer of the voxels beyond.
#ifndef FIRN_RENDER_DENSITY_GRID_H
#define FIRN_RENDER_DENSITY_GRID_H

#include "block_index.h"
#include "half.h"

#include "firn/field.h"

/// Voxels of a block that has any: values lie together, in the order of the bits.
typedef struct firn_brick {
    uint32_t mask[16];  // bit 8 (y & 3) + z of word 2 x + (y >> 2)
    uint16_t before[4]; // values in front of every fourth word
    uint32_t first;     // in values
} firn_brick;

typedef struct firn_density_grid {
    firn_block_index index;
    firn_vec3 origin; // m, of voxel space
    float voxel_size; // m
    float *majorant;  // 1/voxel, extinction that no point of a block exceeds
    uint32_t *brick;  // of each block: number of its brick + 1; 0: no voxels of its own
    firn_brick *bricks;
    size_t brick_count;
    uint16_t *values; // density in units of the reference
    size_t value_count;
    float extinction; // 1/voxel for a value of 1
    int32_t lower[3]; // voxels: cells with density lie in [lower, upper)
    int32_t upper[3];
    firn_vec3 bounds[2]; // voxels, box around the snow without strays

    // Motion blur: how far the snow moves while the shutter is open.
    firn_vec3 *motion; // voxels, 512 for each brick; NULL: none
} firn_density_grid;

typedef struct firn_density_def {
    const firn_field_view *field;
    firn_vec3 offset;        // m
    float reference_density; // kg/m^3
    float extinction;        // 1/m
    float shutter;           // s, 0: no motion
} firn_density_def;

firn_result firn_density_grid_create(firn_density_grid *grid, const firn_density_def *def,
                                     firn_error *error);
void firn_density_grid_free(firn_density_grid *grid);

size_t firn_density_grid_bytes(const firn_density_grid *grid);

static inline uint32_t firn_count_bits(uint32_t x)
{
    x -= x >> 1 & 0x55555555u;
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    return ((x + (x >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}

static inline float firn_brick_value(const firn_density_grid *grid, const firn_brick *brick, int x,
                                     int y, int z)
{
    int word = 2 * x + (y >> 2);
    uint32_t bit = (uint32_t)1 << (8 * (y & 3) + z);
    if ((brick->mask[word] & bit) == 0)
        return 0.0f;
    uint32_t at = brick->first + brick->before[word >> 2];
    for (int i = word & ~3; i < word; i++)
        at += firn_count_bits(brick->mask[i]);
    at += firn_count_bits(brick->mask[word] & (bit - 1));
    return firn_half_to_float(grid->values[at]);
}

/// Density of the voxel in units of the reference.
float firn_density_voxel(const firn_density_grid *grid, int32_t x, int32_t y, int32_t z);

/// Extinction (1/voxel) of the voxels of a block and of one layer beyond, 9^3 values with z running
/// fastest.
void firn_density_unpack(const firn_density_grid *grid, int32_t x, int32_t y, int32_t z,
                         float values[729]);

/// Motion of the voxels around cell (x, y, z): number 4 i + 2 j + k is (x + i, y + j, z + k).
void firn_motion_cell(const firn_density_grid *grid, int32_t x, int32_t y, int32_t z,
                      firn_vec3 corner[8]);

#endif
