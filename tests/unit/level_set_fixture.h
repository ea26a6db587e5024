/// Level sets and velocity grids made from formulas, with the sparsity of a narrow band.
#ifndef LEVEL_SET_FIXTURE_H
#define LEVEL_SET_FIXTURE_H

#include "firn/level_set.h"

#include <stdlib.h>

typedef float fixture_distance(firn_vec3 point, const void *user);

typedef struct fixture_set {
    firn_level_set set;
    firn_coord *origins;
    float *values;
    firn_tile *tiles;
} fixture_set;

static inline firn_vec3 fixture_point(firn_transform map, firn_coord o, int i)
{
    firn_vec3 voxel = {(float)(o.x + i / 64), (float)(o.y + i / 8 % 8), (float)(o.z + i % 8)};
    return firn_transform_point(map, voxel);
}

/// Samples the distance in all leaves between -extent and extent (in leaves) on every axis. Leaves
/// beyond the band become inside tiles or nothing.
static inline fixture_set fixture_make(fixture_distance *distance, const void *user,
                                       firn_transform map, float background, int extent)
{
    size_t cube = (size_t)(8 * extent * extent * extent);
    fixture_set f = {.origins = malloc(cube * sizeof(firn_coord)),
                     .values = malloc(cube * FIRN_LEAF_VOXELS * sizeof(float)),
                     .tiles = malloc(cube * sizeof(firn_tile))};
    size_t leaves = 0, tiles = 0;
    for (int x = -extent; x < extent; x++)
        for (int y = -extent; y < extent; y++)
            for (int z = -extent; z < extent; z++) {
                firn_coord origin = {8 * x, 8 * y, 8 * z};
                float *values = f.values + leaves * FIRN_LEAF_VOXELS;
                int banded = 0;
                for (int i = 0; i < FIRN_LEAF_VOXELS; i++) {
                    float d = distance(fixture_point(map, origin, i), user);
                    banded += fabsf(d) < background;
                    values[i] = fmaxf(-background, fminf(d, background));
                }
                if (banded > 0)
                    f.origins[leaves++] = origin;
                else if (values[0] < 0.0f)
                    f.tiles[tiles++] = (firn_tile){origin, 8, -background};
            }
    f.set = (firn_level_set){.map = map,
                             .background = background,
                             .leaf_count = leaves,
                             .leaf_origin = f.origins,
                             .values = f.values,
                             .tile_count = tiles,
                             .tiles = f.tiles};
    return f;
}

static inline void fixture_free(fixture_set *f)
{
    free(f->origins);
    free(f->values);
    free(f->tiles);
}

typedef struct fixture_flow {
    firn_velocity_grid grid;
    firn_coord *origins;
    firn_vec3 *values;
} fixture_flow;

/// One velocity in all leaves between -extent and extent.
static inline fixture_flow fixture_flow_make(firn_vec3 velocity, firn_transform map, int extent)
{
    size_t cube = (size_t)(8 * extent * extent * extent), leaves = 0;
    fixture_flow f = {.origins = malloc(cube * sizeof(firn_coord)),
                      .values = malloc(cube * FIRN_LEAF_VOXELS * sizeof(firn_vec3))};
    for (int x = -extent; x < extent; x++)
        for (int y = -extent; y < extent; y++)
            for (int z = -extent; z < extent; z++)
                f.origins[leaves++] = (firn_coord){8 * x, 8 * y, 8 * z};
    for (size_t i = 0; i < cube * FIRN_LEAF_VOXELS; i++)
        f.values[i] = velocity;
    f.grid = (firn_velocity_grid){map, cube, f.origins, f.values};
    return f;
}

static inline void fixture_flow_free(fixture_flow *f)
{
    free(f->origins);
    free(f->values);
}

typedef struct fixture_ball {
    firn_vec3 center;
    float radius;
} fixture_ball;

static inline float fixture_ball_distance(firn_vec3 p, const void *user)
{
    const fixture_ball *ball = user;
    return firn_length(firn_sub(p, ball->center)) - ball->radius;
}

/// A box around center with half sizes in size.
typedef struct fixture_box {
    firn_vec3 center, size;
} fixture_box;

static inline float fixture_box_distance(firn_vec3 p, const void *user)
{
    const fixture_box *box = user;
    firn_vec3 d = {fabsf(p.x - box->center.x) - box->size.x,
                   fabsf(p.y - box->center.y) - box->size.y,
                   fabsf(p.z - box->center.z) - box->size.z};
    firn_vec3 out = {fmaxf(d.x, 0.0f), fmaxf(d.y, 0.0f), fmaxf(d.z, 0.0f)};
    return firn_length(out) + fminf(fmaxf(d.x, fmaxf(d.y, d.z)), 0.0f);
}

static inline firn_transform fixture_map(float voxel)
{
    firn_transform map = firn_transform_identity();
    map.scale = voxel;
    return map;
}

/// A number in [0, 1) from a state that goes on.
static inline float fixture_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) * (1.0f / 16777216.0f);
}

/// A point in the cube of half edge size.
static inline firn_vec3 fixture_random_point(uint32_t *state, float size)
{
    float x = fixture_random(state), y = fixture_random(state), z = fixture_random(state);
    return firn_vec(size * (2.0f * x - 1.0f), size * (2.0f * y - 1.0f), size * (2.0f * z - 1.0f));
}

#endif
