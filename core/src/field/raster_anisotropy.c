// Ellipsoids around particles after Yu and Turk, "Reconstructing surfaces of particle-based fluids
// using anisotropic kernels" (2010): the covariance of the neighbors of a particle tells where snow
// ends, and its kernel is made thin across that surface.
#include "raster.h"

#include "base/svd.h"
#include "space/leaf_index.h"

#include <math.h>
#include <string.h>

// Neighbors of a particle are within one and a half units of the kernel, about a hundred; the
// weight is 1 - (d / radius)^2, for which the variance along an axis in evenly filled space is
// radius^2 / 7.
static const double units_of_radius = 1.5;
static const double even_variance = 1.0 / 7.0;

// With fewer neighbors a particle is alone and round; with more than a few dozen the covariance is
// trusted. In between the two are mixed, so that nothing jumps.
static const float alone = 6.0f, together = 26.0f;
static const float alone_width = 0.5f; // units of the kernel

// Particles by cells as wide as the radius.
typedef struct cells {
    firn_coord_table table;
    size_t *end;     // behind the last particle of each cell
    uint32_t *order; // particles by cell
    float *axis[3];  // their positions in that order, in units of the radius
} cells;

static void cells_free(cells *c)
{
    firn_coord_table_free(&c->table);
    firn_free(c->end);
    firn_free(c->order);
    for (int axis = 0; axis < 3; axis++)
        firn_free(c->axis[axis]);
}

static firn_vec3 in_radii(const firn_raster *r, double per_radius, size_t particle)
{
    firn_vec3 x = r->points->position[particle];
    return firn_vec((float)((double)x.x * per_radius), (float)((double)x.y * per_radius),
                    (float)((double)x.z * per_radius));
}

static firn_result cells_fill(cells *c, const firn_raster *r, double per_radius, firn_error *error)
{
    size_t count = r->points->count;
    uint32_t number;
    for (size_t i = 0; i < count; i++) {
        firn_coord cell = firn_floor_coord(in_radii(r, per_radius, i));
        FIRN_TRY(firn_coord_table_add(&c->table, cell, &number, error));
        c->table.entries[number].count++;
    }
    firn_coord_table_sort(&c->table);
    FIRN_TRY(firn_raster_claim(c->table.count, sizeof *c->end, &c->end, error));
    FIRN_TRY(firn_raster_claim(count, sizeof *c->order, &c->order, error));
    for (int axis = 0; axis < 3; axis++)
        FIRN_TRY(firn_raster_claim(count, sizeof(float), &c->axis[axis], error));
    size_t sum = 0;
    for (size_t i = 0; i < c->table.count; i++) {
        c->end[i] = sum;
        sum += c->table.entries[i].count;
    }
    for (size_t i = 0; i < count; i++) {
        firn_vec3 x = in_radii(r, per_radius, i);
        size_t at = c->end[firn_coord_table_find(&c->table, firn_floor_coord(x))]++;
        c->order[at] = (uint32_t)i;
        c->axis[0][at] = x.x;
        c->axis[1][at] = x.y;
        c->axis[2][at] = x.z;
    }
    return FIRN_OK;
}

// Particles of the cells around one: cells that follow each other along z are one range.
typedef struct range {
    size_t begin, end;
} range;

static int ranges_around(const cells *c, size_t cell, range ranges[27])
{
    firn_coord center = c->table.entries[cell].coord;
    int count = 0;
    for (int i = 0; i < 27; i++) {
        firn_coord at = {center.x + i / 9 - 1, center.y + i / 3 % 3 - 1, center.z + i % 3 - 1};
        size_t found = firn_coord_table_find(&c->table, at);
        if (found == c->table.count)
            continue;
        size_t end = c->end[found], begin = end - c->table.entries[found].count;
        if (count > 0 && ranges[count - 1].end == begin)
            ranges[count - 1].end = end;
        else
            ranges[count++] = (range){begin, end};
    }
    return count;
}

// Sums over neighbors: number, weight, weight times offset, weight times products of offsets.
enum { NEIGHBORS, WEIGHT, FIRST, SECOND = FIRST + 3, SUMS = SECOND + 6 };

static void add_range(const cells *c, range part, const float x[3], firn_fx sums[SUMS])
{
    for (size_t i = part.begin; i < part.end; i += FIRN_LANES) {
        int left = part.end - i < FIRN_LANES ? (int)(part.end - i) : FIRN_LANES;
        firn_fx dx = firn_fx_load_tail(&c->axis[0][i], left, INFINITY) - x[0];
        firn_fx dy = firn_fx_load_tail(&c->axis[1][i], left, 0.0f) - x[1];
        firn_fx dz = firn_fx_load_tail(&c->axis[2][i], left, 0.0f) - x[2];
        firn_fx weight = 1.0f - (dx * dx + dy * dy + dz * dz);
        firn_ix near = weight > 0.0f;
        if (!firn_ix_any(near))
            continue;
        firn_fx zero = {0};
        weight = firn_fx_select(near, weight, zero);
        dx = firn_fx_select(near, dx, zero);
        firn_fx wx = weight * dx, wy = weight * dy, wz = weight * dz;
        sums[NEIGHBORS] += firn_fx_select(near, firn_fx_set(1.0f), zero);
        sums[WEIGHT] += weight;
        sums[FIRST] += wx;
        sums[FIRST + 1] += wy;
        sums[FIRST + 2] += wz;
        sums[SECOND] += wx * dx;
        sums[SECOND + 1] += wx * dy;
        sums[SECOND + 2] += wx * dz;
        sums[SECOND + 3] += wy * dy;
        sums[SECOND + 4] += wy * dz;
        sums[SECOND + 5] += wz * dz;
    }
}

// The covariance of the neighbors in radii^2 takes the place of the matrix for a while, and their
// number that of the extent.
static void measure_cell(const cells *c, size_t cell, firn_footprint *footprint)
{
    range ranges[27];
    int count = ranges_around(c, cell, ranges);
    size_t end = c->end[cell];
    for (size_t i = end - c->table.entries[cell].count; i < end; i++) {
        const float x[3] = {c->axis[0][i], c->axis[1][i], c->axis[2][i]};
        firn_fx lanes[SUMS] = {0};
        for (int k = 0; k < count; k++)
            add_range(c, ranges[k], x, lanes);
        double sums[SUMS];
        for (int k = 0; k < SUMS; k++)
            sums[k] = firn_fx_sum(lanes[k]);
        firn_footprint *own = &footprint[c->order[i]];
        own->extent[0] = (float)sums[NEIGHBORS];
        static const int row[6] = {0, 0, 0, 1, 1, 2}, column[6] = {0, 1, 2, 1, 2, 2};
        for (int k = 0; k < 6; k++)
            own->to_unit[k] = (float)(sums[SECOND + k] / sums[WEIGHT] -
                                      sums[FIRST + row[k]] * sums[FIRST + column[k]] /
                                          sums[WEIGHT] / sums[WEIGHT]);
    }
}

// Lengths of the axes in voxels, from the variances along them.
static firn_fx3 axes_of(const firn_raster *r, float ratio, firn_fx3 variance, firn_fx neighbors)
{
    const float width = (float)r->width, per_variance = (float)(r->width / even_variance);
    firn_fx most = firn_fx_set(width), least = firn_fx_set(1.0f);
    firn_fx known = (neighbors - alone) * (1.0f / (together - alone));
    known = firn_fx_clamp(known, firn_fx_set(0.0f), firn_fx_set(1.0f));
    firn_fx round = firn_fx_max(least, firn_fx_set(alone_width * width));
    firn_fx axes[3] = {variance.x, variance.y, variance.z}, longest = {0};
    for (int k = 0; k < 3; k++) {
        axes[k] = firn_fx_min(most, axes[k] * per_variance);
        longest = firn_fx_max(longest, axes[k]);
    }
    least = firn_fx_max(least, longest * (1.0f / ratio));
    for (int k = 0; k < 3; k++)
        axes[k] = round + known * (firn_fx_max(least, axes[k]) - round);
    return (firn_fx3){axes[0], axes[1], axes[2]};
}

// Turns the covariances of some particles, one per lane, into footprints.
static void finish_lanes(const firn_raster *r, float ratio, size_t first, int count)
{
    firn_footprint *own = &r->footprint[first];
    firn_fm3 covariance = firn_fm3_identity();
    firn_fx neighbors = {0};
    static const int place[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    for (int lane = 0; lane < count; lane++) {
        for (int i = 0; i < 9; i++)
            covariance.m[i][lane] = own[lane].to_unit[place[i]];
        neighbors[lane] = own[lane].extent[0];
    }
    firn_svd svd = firn_svd_of(covariance);
    firn_fx3 axes = axes_of(r, ratio, svd.s, neighbors);
    const float radius = (float)firn_raster_radius(r);
    for (int lane = 0; lane < count; lane++) {
        const float length[3] = {axes.x[lane], axes.y[lane], axes.z[lane]};
        float matrix[9] = {0}, square[3] = {0};
        for (int i = 0; i < 9; i++)
            for (int k = 0; k < 3; k++)
                matrix[i] +=
                    svd.v.m[i / 3 * 3 + k][lane] * svd.v.m[i % 3 * 3 + k][lane] / length[k];
        for (int i = 0; i < 9; i++) {
            float side = svd.v.m[i][lane] * length[i % 3];
            square[i / 3] += side * side;
            own[lane].to_unit[place[i]] = matrix[i];
        }
        for (int axis = 0; axis < 3; axis++)
            own[lane].extent[axis] = radius * sqrtf(square[axis]);
    }
}

firn_result firn_raster_anisotropy(firn_raster *r, float ratio, firn_error *error)
{
    size_t count = r->points->count;
    FIRN_TRY(firn_raster_claim(count, sizeof *r->footprint, &r->footprint, error));
    cells c = {.end = NULL};
    firn_result result = cells_fill(&c, r, r->per_voxel / (units_of_radius * r->width), error);
    if (result == FIRN_OK) {
#pragma omp parallel for schedule(dynamic, 16) num_threads(r->thread_count)
        for (size_t cell = 0; cell < c.table.count; cell++)
            measure_cell(&c, cell, r->footprint);
#pragma omp parallel for schedule(static) num_threads(r->thread_count)
        for (size_t first = 0; first < count; first += FIRN_LANES)
            finish_lanes(r, ratio, first,
                         count - first < FIRN_LANES ? (int)(count - first) : FIRN_LANES);
    }
    cells_free(&c);
    return result;
}
