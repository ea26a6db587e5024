/// Fields, shapes and folders that the tests of the VDB bridge share.
#ifndef VDB_SUPPORT_H
#define VDB_SUPPORT_H

#include "firn/vdb.h"
#include "firn/vdb_write.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SCENE_LEAVES = 8 };

/// A field with every value written out, for a ball of snow around the origin.
typedef struct scene_field {
    firn_field_view view;
    firn_coord origin[SCENE_LEAVES];
    uint64_t mask[8 * SCENE_LEAVES];
    float density[512 * SCENE_LEAVES];
    firn_vec3 velocity[512 * SCENE_LEAVES];
    float compaction[512 * SCENE_LEAVES];
} scene_field;

static inline firn_coord scene_voxel(firn_coord origin, int n)
{
    firn_coord c = {origin.x + (n >> 6), origin.y + ((n >> 3) & 7), origin.z + (n & 7)};
    return c;
}

/// A velocity that is linear in space, so that averages and interpolation are exact.
static inline firn_vec3 scene_velocity(firn_vec3 p)
{
    return firn_vec(1.0f + 2.0f * p.x, 3.0f - p.y, p.x + p.z);
}

static inline scene_field *scene_field_create(float voxel_size)
{
    scene_field *field = calloc(1, sizeof *field);
    for (int leaf = 0; leaf < SCENE_LEAVES; leaf++) {
        firn_coord o = {8 * (leaf & 1) - 8, 8 * ((leaf >> 1) & 1) - 8, 8 * (leaf >> 2) - 8};
        field->origin[leaf] = o;
        for (int n = 0; n < 512; n++) {
            firn_coord c = scene_voxel(o, n);
            firn_vec3 p = firn_scale(
                voxel_size, firn_vec((float)c.x + 0.5f, (float)c.y + 0.5f, (float)c.z + 0.5f));
            if (firn_length(p) > 7.0f * voxel_size)
                continue;
            size_t at = (size_t)(512 * leaf + n);
            field->mask[8 * leaf + (n >> 6)] |= (uint64_t)1 << (n & 63);
            field->density[at] = 100.0f + 50.0f * (float)(c.x + c.y) + (float)(n % 7);
            field->density[at] = fabsf(field->density[at]) + 1.0f;
            field->velocity[at] = scene_velocity(p);
            field->compaction[at] = 1.0f + 0.01f * (float)(n % 11);
        }
    }
    field->view.voxel_size = voxel_size;
    field->view.leaf_count = SCENE_LEAVES;
    field->view.leaf_origin = field->origin;
    field->view.mask = field->mask;
    field->view.density = field->density;
    field->view.velocity = field->velocity;
    field->view.compaction = field->compaction;
    return field;
}

/// A level set of a ball in its own arrays, with a tile of each size inside a block of leaves.
typedef struct scene_ball {
    firn_level_set view;
    firn_coord *origin;
    float *values;
    firn_tile tiles[3];
} scene_ball;

static inline float scene_ball_distance(firn_vec3 p, float radius, float band)
{
    float d = firn_length(p) - radius;
    return d > band ? band : d < -band ? -band : d;
}

/// Leaves cover a cube of 4^3 leaves around the origin of the map.
static inline scene_ball *scene_ball_create(firn_transform map, float radius)
{
    scene_ball *ball = calloc(1, sizeof *ball);
    float band = 3.0f * map.scale;
    ball->origin = calloc(64, sizeof *ball->origin);
    ball->values = calloc(64 * 512, sizeof *ball->values);
    for (int leaf = 0; leaf < 64; leaf++) {
        firn_coord o = {8 * (leaf & 3) - 16, 8 * ((leaf >> 2) & 3) - 16, 8 * (leaf >> 4) - 16};
        ball->origin[leaf] = o;
        for (int n = 0; n < 512; n++) {
            firn_coord c = scene_voxel(o, n);
            firn_vec3 local = firn_scale(map.scale, firn_vec((float)c.x, (float)c.y, (float)c.z));
            ball->values[512 * leaf + n] = scene_ball_distance(local, radius, band);
        }
    }
    firn_tile tiles[3] = {
        {{128, 0, 0}, 8, -band}, {{256, 128, 0}, 128, -band}, {{4096, 0, -4096}, 4096, -band}};
    memcpy(ball->tiles, tiles, sizeof tiles);
    ball->view.map = map;
    ball->view.background = band;
    ball->view.leaf_count = 64;
    ball->view.leaf_origin = ball->origin;
    ball->view.values = ball->values;
    ball->view.tile_count = 3;
    ball->view.tiles = ball->tiles;
    return ball;
}

static inline void scene_ball_destroy(scene_ball *ball)
{
    free(ball->origin);
    free(ball->values);
    free(ball);
}

/// The leaf with this origin, or the count when there is none.
static inline size_t scene_find_leaf(const firn_coord *origins, size_t count, firn_coord origin)
{
    for (size_t i = 0; i < count; i++)
        if (memcmp(&origins[i], &origin, sizeof origin) == 0)
            return i;
    return count;
}

/// The value of a level set at a voxel, from leaves, tiles or the background.
static inline float scene_level_set_value(const firn_level_set *set, int x, int y, int z)
{
    firn_coord origin = {x & ~7, y & ~7, z & ~7};
    size_t leaf = scene_find_leaf(set->leaf_origin, set->leaf_count, origin);
    if (leaf < set->leaf_count)
        return set->values[512 * leaf + (size_t)((x & 7) * 64 + (y & 7) * 8 + (z & 7))];
    for (size_t i = 0; i < set->tile_count; i++) {
        const firn_tile *tile = &set->tiles[i];
        if (x >= tile->origin.x && x < tile->origin.x + tile->edge && y >= tile->origin.y &&
            y < tile->origin.y + tile->edge && z >= tile->origin.z &&
            z < tile->origin.z + tile->edge)
            return tile->value;
    }
    return set->background;
}

/// A fresh folder; the name lives in `folder`.
static inline void scene_folder_create(char folder[64])
{
    strcpy(folder, "vdb_test_XXXXXX");
    assert_non_null(mkdtemp(folder));
}

static inline size_t scene_folder_count(const char *folder)
{
    DIR *directory = opendir(folder);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

static inline void scene_folder_destroy(const char *folder)
{
    DIR *directory = opendir(folder);
    if (directory == NULL)
        return;
    char path[512];
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(path);
    }
    closedir(directory);
    rmdir(folder);
}

static inline void scene_path(char path[256], const char *folder, const char *name)
{
    snprintf(path, 256, "%s/%s", folder, name);
}

/// Fails the test with the message of the error.
#define assert_ok(call)                                                                            \
    do {                                                                                           \
        firn_result scene_result = (call);                                                         \
        if (scene_result != FIRN_OK)                                                               \
            fail_msg("%s: %s", firn_result_name(scene_result), error.message);                     \
    } while (0)

static inline firn_vdb_reader *scene_reader(void)
{
    firn_vdb_reader_def def = firn_vdb_reader_def_default();
    firn_vdb_reader *reader = NULL;
    firn_error error;
    assert_ok(firn_vdb_reader_create(&def, &reader, &error));
    return reader;
}

#endif
