/// Fields of density that the tests of the renderer share.
#ifndef FIRN_TESTS_RENDER_FIXTURE_H
#define FIRN_TESTS_RENDER_FIXTURE_H

#include "firn/field.h"
#include "firn/level_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/// A cuboid of leaves that begins at voxel (0, 0, 0).
typedef struct block_field {
    firn_field_view view;
    int leaves[3];
    firn_coord *origin;
    uint64_t *mask;
    float *density;
    firn_vec3 *velocity;
} block_field;

typedef float density_at(int x, int y, int z);

static inline block_field block_field_create(int nx, int ny, int nz, float voxel_size,
                                             density_at *at)
{
    block_field f = {.leaves = {nx, ny, nz}};
    size_t count = (size_t)(nx * ny * nz);
    f.origin = calloc(count, sizeof *f.origin);
    f.mask = calloc(8 * count, sizeof *f.mask);
    f.density = calloc(512 * count, sizeof *f.density);
    f.velocity = calloc(512 * count, sizeof *f.velocity);
    for (size_t leaf = 0; leaf < count; leaf++) {
        int i = (int)leaf / (ny * nz), j = (int)leaf / nz % ny, k = (int)leaf % nz;
        f.origin[leaf] = (firn_coord){8 * i, 8 * j, 8 * k};
        for (int n = 0; n < 512; n++) {
            float density = at(8 * i + (n >> 6), 8 * j + (n >> 3 & 7), 8 * k + (n & 7));
            f.density[512 * leaf + (size_t)n] = density;
            if (density > 0.0f)
                f.mask[8 * leaf + (size_t)(n >> 6)] |= (uint64_t)1 << (n & 63);
        }
    }
    f.view = (firn_field_view){.voxel_size = voxel_size,
                               .leaf_count = count,
                               .leaf_origin = f.origin,
                               .mask = f.mask,
                               .density = f.density};
    return f;
}

static inline void block_field_free(block_field *f)
{
    free(f->origin);
    free(f->mask);
    free(f->density);
    free(f->velocity);
}

/// Density of a voxel as the field has it, 0 outside.
static inline float block_field_at(const block_field *f, int x, int y, int z)
{
    if (x < 0 || y < 0 || z < 0 || x >= 8 * f->leaves[0] || y >= 8 * f->leaves[1] ||
        z >= 8 * f->leaves[2])
        return 0.0f;
    int leaf = ((x >> 3) * f->leaves[1] + (y >> 3)) * f->leaves[2] + (z >> 3);
    return f->density[512 * leaf + ((x & 7) << 6 | (y & 7) << 3 | (z & 7))];
}

static inline float full(int x, int y, int z)
{
    (void)x;
    (void)y;
    (void)z;
    return 1.0f;
}

#endif
