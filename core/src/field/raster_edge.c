// Where snow ends: kernels blur the boundary over several voxels, and at a mean free path of
// millimeters the outermost of them decides the look. Coverage says how much of a voxel may hold
// snow; the kernel of each particle is multiplied by it and normalized again, so that the mass
// beyond the boundary moves in, not away.
#include "raster.h"

#include "space/sdf.h"

#include <math.h>
#include <string.h>

enum { LEAF = FIRN_LEAF_EDGE };

// Density over the density that the particles around see themselves: 1 within, and this much at
// a flat boundary, where the ones see less and less snow on the other side.
static const float boundary = 0.55f;

static firn_result claim_coverage(firn_raster *r, firn_error *error)
{
    if (r->coverage != NULL)
        return FIRN_OK;
    size_t voxels = r->leaves.count * FIRN_LEAF_VOXELS;
    FIRN_TRY(firn_raster_claim(r->points->count, sizeof *r->loose, &r->loose, error));
    FIRN_TRY(firn_raster_claim(voxels, sizeof *r->coverage, &r->coverage, error));
    for (size_t i = 0; i < voxels; i++)
        r->coverage[i] = 1.0f;
    return FIRN_OK;
}

// A leaf of a scalar and those on its six sides; NULL: zero there.
typedef struct neighborhood {
    const float *own, *side[6]; // -x +x -y +y -z +z
} neighborhood;

static neighborhood neighbors_of(const firn_raster *r, const float *values, size_t leaf)
{
    neighborhood n = {.own = &values[leaf * FIRN_LEAF_VOXELS]};
    for (int i = 0; i < 6; i++) {
        firn_coord at = r->leaves.entries[leaf].coord;
        int32_t *axis = i < 2 ? &at.x : i < 4 ? &at.y : &at.z;
        *axis += i % 2 ? 1 : -1;
        size_t found = firn_coord_table_find(&r->leaves, at);
        if (found < r->leaves.count)
            n.side[i] = &values[found * FIRN_LEAF_VOXELS];
    }
    return n;
}

// Half the difference of the two neighbors of a voxel along an axis.
static float slope(const neighborhood *n, int voxel, int axis)
{
    const int stride = axis == 0 ? LEAF * LEAF : axis == 1 ? LEAF : 1;
    int place = voxel / stride % LEAF, beyond = (LEAF - 1) * stride;
    const float *below = n->side[2 * axis], *above = n->side[2 * axis + 1];
    float low = 0.0f, high = 0.0f;
    if (place > 0)
        low = n->own[voxel - stride];
    else if (below != NULL)
        low = below[voxel + beyond];
    if (place < LEAF - 1)
        high = n->own[voxel + stride];
    else if (above != NULL)
        high = above[voxel - beyond];
    return 0.5f * (high - low);
}

static void cover_leaf(firn_raster *r, const float *fullness, float edge, size_t leaf)
{
    neighborhood n = neighbors_of(r, fullness, leaf);
    float *coverage = &r->coverage[leaf * FIRN_LEAF_VOXELS];
    for (int i = 0; i < FIRN_LEAF_VOXELS; i++) {
        float x = slope(&n, i, 0), y = slope(&n, i, 1), z = slope(&n, i, 2);
        float steepness = sqrtf(x * x + y * y + z * z);
        // The distance to the boundary in voxels, to first order.
        float distance = (n.own[i] - boundary) / fmaxf(steepness, 1e-6f);
        coverage[i] *= fminf(fmaxf(0.5f + distance / edge, 0.0f), 1.0f);
    }
}

firn_result firn_raster_see(firn_raster *r, bool sharpens, firn_error *error)
{
    size_t voxels = r->leaves.count * FIRN_LEAF_VOXELS;
    FIRN_TRY(firn_raster_claim(r->points->count, sizeof *r->seen, &r->seen, error));
    FIRN_TRY(firn_raster_claim(voxels, sizeof *r->density, &r->density, error));
    firn_raster_run(r, &(firn_raster_pass){.normalize = true, .density_out = r->density});
    firn_raster_pass look = {.gather = r->density, .seen = r->seen};
    if (sharpens) {
        FIRN_TRY(firn_raster_claim(voxels, sizeof *r->expected, &r->expected, error));
        look.item_count = 1;
        look.item[0] = (firn_raster_item){r->seen, r->expected, 1, false};
    }
    firn_raster_run(r, &look);
    return FIRN_OK;
}

firn_result firn_raster_part(firn_raster *r, float powder_density, firn_error *error)
{
    FIRN_TRY(firn_raster_claim(r->points->count, sizeof *r->body, &r->body, error));
    for (size_t i = 0; i < r->points->count; i++) {
        float t = fminf(fmaxf(2.0f * r->seen[i] / powder_density - 1.0f, 0.0f), 1.0f);
        r->body[i] = t * t * (3.0f - 2.0f * t);
    }
    return FIRN_OK;
}

firn_result firn_raster_sharpen(firn_raster *r, float edge, firn_error *error)
{
    const size_t voxels = r->leaves.count * FIRN_LEAF_VOXELS;
    FIRN_TRY(claim_coverage(r, error));
    // Fullness: density over the mean of what the particles around see.
#pragma omp parallel for schedule(static) num_threads(r->thread_count)
    for (size_t i = 0; i < voxels; i++)
        if (r->density[i] > 0.0f)
            r->density[i] *= r->density[i] / r->expected[i];
#pragma omp parallel for schedule(dynamic, 16) num_threads(r->thread_count)
    for (size_t leaf = 0; leaf < r->leaves.count; leaf++)
        cover_leaf(r, r->density, edge, leaf);
    return FIRN_OK;
}

static void mask_leaf(firn_raster *r, const firn_sdf *sdf, float edge, size_t leaf)
{
    firn_coord coord = r->leaves.entries[leaf].coord;
    const firn_transform map = sdf->set.map;
    const float h = (float)(1.0 / r->per_voxel);
    float *coverage = &r->coverage[leaf * FIRN_LEAF_VOXELS];
    for (int i = 0; i < FIRN_LEAF_VOXELS; i++) {
        firn_vec3 world = firn_vec(h * ((float)(coord.x * LEAF + i / (LEAF * LEAF)) + 0.5f),
                                   h * ((float)(coord.y * LEAF + i / LEAF % LEAF) + 0.5f),
                                   h * ((float)(coord.z * LEAF + i % LEAF) + 0.5f));
        firn_distance at = firn_sdf_sample(sdf, firn_transform_point_inverse(map, world));
        float distance = at.value * map.scale / h;
        coverage[i] *= fminf(fmaxf(0.5f - distance / edge, 0.0f), 1.0f);
    }
}

firn_result firn_raster_mask(firn_raster *r, const firn_level_set *surface, float edge,
                             firn_error *error)
{
    firn_budget budget = {0};
    firn_sdf sdf = {0};
    FIRN_TRY(claim_coverage(r, error));
    FIRN_TRY(firn_sdf_build(&budget, &sdf, surface, error));
#pragma omp parallel for schedule(dynamic, 16) num_threads(r->thread_count)
    for (size_t leaf = 0; leaf < r->leaves.count; leaf++)
        mask_leaf(r, &sdf, edge, leaf);
    firn_sdf_free(&budget, &sdf);
    return FIRN_OK;
}
