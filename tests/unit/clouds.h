/// Particles to rasterize and what the tests of fields share.
#ifndef CLOUDS_H
#define CLOUDS_H

#include "base/noise.h"

#include "firn/field.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// Kernels as they are, without a boundary.
static inline firn_field_def plain_def(void)
{
    firn_field_def def = firn_field_def_default();
    def.edge = 0.0f;
    return def;
}

// Particles that the test owns.
typedef struct cloud {
    firn_field_points points;
    firn_vec3 *position, *velocity;
    float *mass, *jp;
} cloud;

static inline cloud cloud_make(size_t count)
{
    cloud c = {.position = malloc(count * sizeof(firn_vec3)),
               .velocity = malloc(count * sizeof(firn_vec3)),
               .mass = malloc(count * sizeof(float)),
               .jp = malloc(count * sizeof(float))};
    assert_true(c.position && c.velocity && c.mass && c.jp);
    c.points = (firn_field_points){.count = count,
                                   .position = c.position,
                                   .mass = c.mass,
                                   .velocity = c.velocity,
                                   .jp = c.jp,
                                   .cell_size = 0.02f};
    return c;
}

static inline void cloud_free(cloud *c)
{
    free(c->position);
    free(c->velocity);
    free(c->mass);
    free(c->jp);
}

// Particles of many masses in a cube of half a meter around the origin.
static inline cloud random_cloud(size_t count)
{
    cloud c = cloud_make(count);
    for (size_t i = 0; i < count; i++) {
        const int64_t index[3] = {(int64_t)i, 0, 0};
        double a[3], b[3];
        firn_hash_offsets(firn_lattice_hash(index, 1), a);
        firn_hash_offsets(firn_lattice_hash(index, 2), b);
        c.position[i] = firn_vec((float)a[0], (float)a[1], (float)a[2]);
        c.velocity[i] = firn_vec(10.0f * (float)b[0], 3.0f, (float)b[1]);
        c.mass[i] = 1e-4f * (1.0f + (float)b[2]);
        c.jp[i] = 1.0f + 0.3f * (float)b[0];
    }
    return c;
}

// Eight particles in each cell of 2 cm of a cube of edge cells.
static inline cloud lattice_cloud(int edge)
{
    int n = 2 * edge;
    cloud c = cloud_make((size_t)(n * n * n));
    for (int i = 0; i < n * n * n; i++) {
        c.position[i] =
            firn_vec(0.01f * ((float)(i / n / n) + 0.5f), 0.01f * ((float)(i / n % n) + 0.5f),
                     0.01f * ((float)(i % n) + 0.5f));
        c.velocity[i] = firn_vec(1.0f, -2.0f, 3.0f);
        c.mass[i] = 400.0f * 1e-6f;
        c.jp[i] = 0.8f;
    }
    return c;
}

static inline firn_field *rasterize(const firn_field_def *def, const cloud *c)
{
    firn_field *field = NULL;
    firn_error error = {0};
    if (firn_field_create(def, &c->points, &field, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    return field;
}

static inline bool is_active(const firn_field_view *view, size_t voxel)
{
    return (view->mask[voxel / 64] >> (voxel % 64)) & 1u;
}

static inline uint64_t field_hash(firn_field *field)
{
    firn_field_view view = firn_field_read(field);
    size_t voxels = view.leaf_count * FIRN_LEAF_VOXELS;
    uint64_t hash = firn_hash64(view.leaf_origin, view.leaf_count * sizeof(firn_coord), 0);
    hash = firn_hash64(view.mask, voxels / 8, hash);
    hash = firn_hash64(view.density, voxels * sizeof(float), hash);
    hash = firn_hash64(view.velocity, voxels * sizeof(firn_vec3), hash);
    hash = firn_hash64(view.compaction, voxels * sizeof(float), hash);
    if (view.velocity_mask != NULL)
        hash = firn_hash64(view.velocity_mask, voxels / 8, hash);
    firn_field_destroy(field);
    return hash;
}

// The center of a voxel, in meters.
static inline firn_vec3 voxel_center(const firn_field_view *view, size_t voxel)
{
    firn_coord o = view->leaf_origin[voxel / FIRN_LEAF_VOXELS];
    float h = view->voxel_size;
    return firn_vec(h * ((float)(o.x + (int)(voxel / 64 % 8)) + 0.5f),
                    h * ((float)(o.y + (int)(voxel / 8 % 8)) + 0.5f),
                    h * ((float)(o.z + (int)(voxel % 8)) + 0.5f));
}

// Mass and momentum of the voxels are those of the particles.
static inline void expect_conserved(const firn_field_def *def, const cloud *c)
{
    double mass = 0.0, momentum = 0.0, sum = 0.0, sum_momentum = 0.0;
    for (size_t i = 0; i < c->points.count; i++) {
        mass += (double)c->mass[i];
        momentum += (double)c->mass[i] * (double)c->velocity[i].x;
    }
    firn_field *field = rasterize(def, c);
    firn_field_view view = firn_field_read(field);
    double volume = pow((double)view.voxel_size, 3.0);
    for (size_t i = 0; i < view.leaf_count * FIRN_LEAF_VOXELS; i++) {
        assert_true(is_active(&view, i) == (view.density[i] > 0.0f));
        sum += (double)view.density[i] * volume;
        sum_momentum += (double)view.density[i] * volume * (double)view.velocity[i].x;
    }
    firn_field_destroy(field);
    assert_true(fabs(sum / mass - 1.0) < 1e-6);
    assert_true(fabs(sum_momentum - momentum) < 1e-6 * mass * 5.0);
}

static inline void expect_same_for_all_threads(firn_field_def def, const cloud *c)
{
    def.thread_count = 1;
    uint64_t expected = field_hash(rasterize(&def, c));
    for (int threads = 2; threads <= 8; threads *= 2) {
        def.thread_count = threads;
        assert_true(field_hash(rasterize(&def, c)) == expected);
    }
}

// Fails the allocation that follows this many.
static inline void *failing_allocate(size_t bytes, size_t alignment, void *user)
{
    int *left = user;
    return (*left)-- > 0 ? aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)
                         : NULL;
}

static inline void plain_release(void *memory, void *user)
{
    (void)user;
    free(memory);
}

// Fails every allocation in turn; the number of allocations that it takes to succeed.
static inline int allocations_needed(const firn_field_def *def, const cloud *c)
{
    firn_result result = FIRN_ERR_MEMORY;
    int allowed = 0;
    for (; result != FIRN_OK; allowed++) {
        int left = allowed;
        const firn_allocator allocator = {failing_allocate, plain_release, &left};
        firn_set_allocator(&allocator);
        firn_field *field = NULL;
        firn_error error;
        result = firn_field_create(def, &c->points, &field, &error);
        assert_true(result == FIRN_OK ? field != NULL : field == NULL);
        if (result != FIRN_OK)
            assert_int_equal(result, FIRN_ERR_MEMORY);
        firn_field_destroy(field);
        firn_set_allocator(NULL);
        assert_true(allowed < 100);
    }
    return allowed;
}

#endif
