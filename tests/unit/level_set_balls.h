/// Level sets of balls for tests, the way OpenVDB stores them: a narrow band in leaves, the inside
/// in tiles.
#ifndef FIRN_TEST_LEVEL_SET_BALLS_H
#define FIRN_TEST_LEVEL_SET_BALLS_H

#include "firn/level_set.h"

#include <math.h>
#include <stdlib.h>

typedef struct balls {
    firn_level_set set;
    firn_coord *origins;
    float *values;
    firn_tile *tiles;
} balls;

static inline float balls_distance(const firn_vec3 *centers, int count, float radius, firn_vec3 p)
{
    float nearest = INFINITY;
    for (int i = 0; i < count; i++)
        nearest = fminf(nearest, firn_length(firn_sub(p, centers[i])) - radius);
    return nearest;
}

static inline int balls_have(const balls *b, firn_coord origin)
{
    for (size_t i = 0; i < b->set.leaf_count + b->set.tile_count; i++) {
        firn_coord o =
            i < b->set.leaf_count ? b->origins[i] : b->tiles[i - b->set.leaf_count].origin;
        if (o.x == origin.x && o.y == origin.y && o.z == origin.z)
            return 1;
    }
    return 0;
}

static inline void balls_add_leaf(balls *b, firn_coord origin, const firn_vec3 *centers, int count,
                                  float radius)
{
    if (balls_have(b, origin))
        return;
    float *values = b->values + b->set.leaf_count * FIRN_LEAF_VOXELS;
    float band = b->set.background;
    int inside = 0, outside = 0;
    for (int i = 0; i < FIRN_LEAF_VOXELS; i++) {
        firn_vec3 voxel = {(float)(origin.x + i / 64), (float)(origin.y + i / 8 % 8),
                           (float)(origin.z + i % 8)};
        float d = balls_distance(centers, count, radius, firn_transform_point(b->set.map, voxel));
        values[i] = fminf(fmaxf(d, -band), band);
        inside += values[i] == -band;
        outside += values[i] == band;
    }
    if (inside == FIRN_LEAF_VOXELS)
        b->tiles[b->set.tile_count++] = (firn_tile){origin, FIRN_LEAF_EDGE, -band};
    else if (outside < FIRN_LEAF_VOXELS)
        b->origins[b->set.leaf_count++] = origin;
}

/// The union of balls of one radius (m) around centers; map leads from voxels to meters.
static inline balls balls_make(const firn_vec3 *centers, int count, float radius,
                               firn_transform map)
{
    balls b = {.set = {.map = map, .background = 3.0f * map.scale}};
    int half = (int)ceilf(radius / map.scale / 8.0f) + 2; // leaves
    size_t most = (size_t)count * (size_t)(8 * half * half * half);
    b.origins = malloc(most * sizeof *b.origins);
    b.values = malloc((most + 1) * FIRN_LEAF_VOXELS * sizeof *b.values);
    b.tiles = malloc(most * sizeof *b.tiles);
    for (int i = 0; i < count; i++) {
        firn_vec3 c = firn_transform_point_inverse(map, centers[i]);
        firn_coord middle = {(int)floorf(c.x / 8.0f), (int)floorf(c.y / 8.0f),
                             (int)floorf(c.z / 8.0f)};
        for (int x = -half; x < half; x++)
            for (int y = -half; y < half; y++)
                for (int z = -half; z < half; z++)
                    balls_add_leaf(
                        &b,
                        (firn_coord){8 * (middle.x + x), 8 * (middle.y + y), 8 * (middle.z + z)},
                        centers, count, radius);
    }
    b.set.leaf_origin = b.origins;
    b.set.values = b.values;
    b.set.tiles = b.tiles;
    return b;
}

static inline void balls_free(balls *b)
{
    free(b->origins);
    free(b->values);
    free(b->tiles);
}

#endif
