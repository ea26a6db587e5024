#include "source_flow.h"

#include "placement.h"

#include <math.h>
#include <string.h>

enum { SAMPLE_LIMIT = 600, EDGE_LIMIT = 40, UNKNOWNS = 4 };

// A velocity that is known.
typedef struct sample {
    double x[UNKNOWNS]; // m, from the middle of all, and 1
    double v[3];        // m/s, less what the affine motion explains
} sample;

typedef struct motion {
    size_t count;
    sample samples[SAMPLE_LIMIT];
    firn_vec3 middle;
    double affine[3][UNKNOWNS]; // velocity of each axis
} motion;

static firn_vec3 place_of(const firn_velocity_grid *grid, size_t voxel)
{
    const firn_coord *o = &grid->leaf_origin[voxel / FIRN_LEAF_VOXELS];
    int n = (int)(voxel % FIRN_LEAF_VOXELS);
    firn_vec3 index = {(float)(o->x + n / 64), (float)(o->y + n / 8 % 8), (float)(o->z + n % 8)};
    return firn_transform_point(grid->map, index);
}

static bool is_known(firn_vec3 v) { return v.x != 0.0f || v.y != 0.0f || v.z != 0.0f; }

static void take_samples(const firn_velocity_grid *grid, motion *m)
{
    size_t known = 0, all = grid->leaf_count * FIRN_LEAF_VOXELS, seen = 0;
    for (size_t i = 0; i < all; i++)
        known += is_known(grid->values[i]);
    size_t step = known / SAMPLE_LIMIT + 1;
    firn_vec3 sum = {0.0f, 0.0f, 0.0f};
    for (size_t i = 0; i < all; i++) {
        firn_vec3 v = grid->values[i];
        if (!is_known(v) || seen++ % step != 0 || m->count == SAMPLE_LIMIT)
            continue;
        firn_vec3 p = place_of(grid, i);
        m->samples[m->count++] = (sample){{(double)p.x, (double)p.y, (double)p.z, 1.0},
                                          {(double)v.x, (double)v.y, (double)v.z}};
        sum = firn_add(sum, p);
    }
    if (m->count > 0)
        m->middle = firn_scale(1.0f / (float)m->count, sum);
    const double middle[3] = {(double)m->middle.x, (double)m->middle.y, (double)m->middle.z};
    for (size_t i = 0; i < m->count; i++)
        for (int axis = 0; axis < 3; axis++)
            m->samples[i].x[axis] -= middle[axis];
}

// Solves a small symmetric system by elimination; rows without a pivot count as zero.
static void solve(double a[UNKNOWNS][UNKNOWNS + 3], double least)
{
    for (int k = 0; k < UNKNOWNS; k++) {
        int pivot = k;
        for (int row = k + 1; row < UNKNOWNS; row++)
            pivot = fabs(a[row][k]) > fabs(a[pivot][k]) ? row : pivot;
        double swap[UNKNOWNS + 3];
        memcpy(swap, a[k], sizeof swap);
        memcpy(a[k], a[pivot], sizeof swap);
        memcpy(a[pivot], swap, sizeof swap);
        if (fabs(a[k][k]) <= least) {
            memset(a[k], 0, sizeof a[k]);
            continue;
        }
        for (int row = 0; row < UNKNOWNS; row++) {
            double factor = row == k ? 0.0 : a[row][k] / a[k][k];
            for (int c = k; c < UNKNOWNS + 3; c++)
                a[row][c] -= factor * a[k][c];
        }
    }
    for (int k = 0; k < UNKNOWNS; k++)
        for (int c = 0; c < 3 && a[k][k] != 0.0; c++)
            a[k][UNKNOWNS + c] /= a[k][k];
}

// The affine motion that fits best, and what it leaves.
static void fit(motion *m)
{
    double a[UNKNOWNS][UNKNOWNS + 3] = {{0}};
    for (size_t i = 0; i < m->count; i++)
        for (int row = 0; row < UNKNOWNS; row++) {
            for (int c = 0; c < UNKNOWNS; c++)
                a[row][c] += m->samples[i].x[row] * m->samples[i].x[c];
            for (int c = 0; c < 3; c++)
                a[row][UNKNOWNS + c] += m->samples[i].x[row] * m->samples[i].v[c];
        }
    solve(a, 1e-12 * (double)m->count);
    for (int axis = 0; axis < 3; axis++)
        for (int k = 0; k < UNKNOWNS; k++)
            m->affine[axis][k] = a[k][UNKNOWNS + axis];
    for (size_t i = 0; i < m->count; i++)
        for (int axis = 0; axis < 3; axis++)
            for (int k = 0; k < UNKNOWNS; k++)
                m->samples[i].v[axis] -= m->affine[axis][k] * m->samples[i].x[k];
}

static firn_vec3 velocity_at(const motion *m, firn_vec3 p)
{
    firn_vec3 r = firn_sub(p, m->middle);
    const double x[UNKNOWNS] = {(double)r.x, (double)r.y, (double)r.z, 1.0};
    double left[3] = {0.0, 0.0, 0.0}, weights = 0.0, v[3];
    for (size_t i = 0; i < m->count; i++) {
        double distance = 1e-12;
        for (int axis = 0; axis < 3; axis++)
            distance += (m->samples[i].x[axis] - x[axis]) * (m->samples[i].x[axis] - x[axis]);
        double weight = 1.0 / (distance * distance);
        weights += weight;
        for (int axis = 0; axis < 3; axis++)
            left[axis] += weight * m->samples[i].v[axis];
    }
    for (int axis = 0; axis < 3; axis++) {
        v[axis] = weights > 0.0 ? left[axis] / weights : 0.0;
        for (int k = 0; k < UNKNOWNS; k++)
            v[axis] += m->affine[axis][k] * x[k];
    }
    return firn_vec((float)v[0], (float)v[1], (float)v[2]);
}

firn_result firn_source_flow_make(const firn_level_set *set, const firn_velocity_grid *velocity,
                                  firn_source_flow *flow, firn_error *error)
{
    memset(flow, 0, sizeof *flow);
    firn_vec3 lower, upper;
    firn_surface_bounds(set, &lower, &upper);
    motion *m = firn_alloc_zero(sizeof *m);
    if (m == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot tell how a source moves");
    take_samples(velocity, m);
    if (m->count == 0 || set->leaf_count == 0) {
        firn_free(m);
        return FIRN_OK;
    }
    fit(m);
    firn_vec3 edge = firn_sub(upper, lower);
    flow->origin = lower;
    flow->spacing =
        fmaxf(fmaxf(edge.x, fmaxf(edge.y, edge.z)) / (EDGE_LIMIT - 1), 2.0f * set->map.scale);
    flow->size[0] = (int)ceilf(edge.x / flow->spacing) + 1;
    flow->size[1] = (int)ceilf(edge.y / flow->spacing) + 1;
    flow->size[2] = (int)ceilf(edge.z / flow->spacing) + 1;
    int nx = flow->size[0], ny = flow->size[1], nz = flow->size[2];
    firn_vec3 *values = firn_alloc((size_t)nx * (size_t)ny * (size_t)nz * sizeof *values);
    if (values == NULL) {
        firn_free(m);
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot tell how a source moves");
    }
    for (int x = 0; x < nx; x++)
        for (int y = 0; y < ny; y++)
            for (int z = 0; z < nz; z++) {
                firn_vec3 step = {(float)x, (float)y, (float)z};
                values[((size_t)x * (size_t)ny + (size_t)y) * (size_t)nz + (size_t)z] =
                    velocity_at(m, firn_add_scaled(lower, flow->spacing, step));
            }
    flow->values = values;
    firn_free(m);
    return FIRN_OK;
}
