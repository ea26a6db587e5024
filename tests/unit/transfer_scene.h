/// Particles around the origin with each kind of kernel, and what the papers say about them in
/// double precision: for the tests of the transfers and of the Hessian product.
#pragma once

#include "scene.h"

#include <float.h>

enum { EDGE = 44, FIRST = -20, NODES = EDGE * EDGE * EDGE };

typedef struct variant {
    const firn_kernels *kernels;
    int order;
    firn_scheme scheme;
    bool explicit_step; // else what the implicit step needs is there, too, but for APIC
} variant;

static inline int node_index(int i, int j, int k)
{
    assert_true(i >= FIRST && j >= FIRST && k >= FIRST && i < FIRST + EDGE && j < FIRST + EDGE &&
                k < FIRST + EDGE);
    return ((i - FIRST) * EDGE + j - FIRST) * EDGE + k - FIRST;
}

// The B-splines as the papers print them, x in cells.
static inline double spline(int order, double x)
{
    double a = fabs(x);
    if (order == 3)
        return a < 0.5 ? 0.75 - a * a : a < 1.5 ? 0.5 * (1.5 - a) * (1.5 - a) : 0.0;
    return a < 1.0   ? 0.5 * a * a * a - a * a + 2.0 / 3.0
           : a < 2.0 ? (2.0 - a) * (2.0 - a) * (2.0 - a) / 6.0
                     : 0.0;
}

static inline double spline_slope(int order, double x)
{
    double a = fabs(x), sign = x < 0.0 ? -1.0 : 1.0;
    if (order == 3)
        return sign * (a < 0.5 ? -2.0 * a : a < 1.5 ? a - 1.5 : 0.0);
    return sign * (a < 1.0 ? 1.5 * a * a - 2.0 * a : a < 2.0 ? -0.5 * (2.0 - a) * (2.0 - a) : 0.0);
}

/// A node in the reach of a particle.
typedef struct reach {
    int index;
    int at[3];
    double w, slope[3]; // slope: what multiplies the stress, 1/m
    double d[3];        // m, from the particle
} reach;

static inline int reach_of(const firn_sim *sim, bool moments, const double x[3], reach nodes[125])
{
    double h = (double)sim->def.cell_size, inertia = scene_inertia(sim);
    int order = sim->grid.order, count = 0;
    int middle[3] = {(int)floor(x[0] / h), (int)floor(x[1] / h), (int)floor(x[2] / h)};
    for (int n = 0; n < 125; n++) {
        reach r = {
            .w = 1.0,
            .at = {middle[0] + n / 25 - 2, middle[1] + n / 5 % 5 - 2, middle[2] + n % 5 - 2}};
        double w[3], s[3];
        for (int k = 0; k < 3; k++) {
            w[k] = spline(order, x[k] / h - r.at[k]);
            s[k] = spline_slope(order, x[k] / h - r.at[k]) / h;
            r.d[k] = h * r.at[k] - x[k];
        }
        r.w = w[0] * w[1] * w[2];
        for (int k = 0; k < 3; k++)
            r.slope[k] = moments ? r.w * r.d[k] / inertia : s[k] * w[(k + 1) % 3] * w[(k + 2) % 3];
        if (r.w > 0.0) {
            r.index = node_index(r.at[0], r.at[1], r.at[2]);
            nodes[count++] = r;
        }
    }
    return count;
}

static inline ref_mat matrix_of(const firn_sim *sim, int channel, size_t p)
{
    ref_mat a;
    for (int i = 0; i < 9; i++)
        a.m[i / 3][i % 3] = scene_value(sim, channel + i, p);
    return a;
}

typedef struct moduli {
    double mu, lambda;
} moduli;

static inline moduli moduli_of(const firn_sim *sim, size_t p)
{
    int material = ((const uint8_t *)sim->particles.material.data)[p];
    double factor = scene_value(sim, FIRN_STIFFNESS, p) *
                    exp((double)sim->materials.column[FIRN_SNOW_HARDENING][material] *
                        (1.0 - scene_value(sim, FIRN_JP, p)));
    moduli m = {factor * (double)sim->materials.column[FIRN_SNOW_MU][material],
                factor * (double)sim->materials.column[FIRN_SNOW_LAMBDA][material]};
    return m;
}

static inline ref_mat kirchhoff(const firn_sim *sim, size_t p)
{
    ref_mat f = matrix_of(sim, FIRN_F, p);
    moduli m = moduli_of(sim, p);
    return ref_mul(ref_piola(f, m.mu, m.lambda), ref_transpose(f));
}

// Particles of several materials, bent and stretched, in blocks of these sizes.
static const int block_sizes[] = {1, 2, 15, 16, 17, 31, 40, 200};

static inline void shake(firn_sim *sim, uint64_t *seed)
{
    for (size_t p = 0; p < sim->particles.count; p++) {
        ref_mat f = ref_stretched(seed, ref_random(seed, 0.95, 1.05), ref_random(seed, 0.95, 1.05),
                                  ref_random(seed, 0.95, 1.05));
        for (int i = 0; i < 9; i++)
            firn_channel_of(&sim->particles, FIRN_F + i)[p] = (float)f.m[i / 3][i % 3];
        for (int i = 0; i < 9 && firn_sim_is_apic(sim); i++)
            firn_channel_of(&sim->particles, FIRN_C + i)[p] = (float)ref_random(seed, -40.0, 40.0);
        for (int i = 0; i < 3; i++)
            firn_channel_of(&sim->particles, FIRN_V + i)[p] = (float)ref_random(seed, -3.0, 3.0);
        firn_channel_of(&sim->particles, FIRN_JP)[p] = (float)ref_random(seed, 0.9, 1.05);
        firn_channel_of(&sim->particles, FIRN_STIFFNESS)[p] = (float)ref_random(seed, 0.5, 2.0);
        firn_channel_of(&sim->particles, FIRN_MASS)[p] *= (float)ref_random(seed, 0.5, 2.0);
        firn_channel_of(&sim->particles, FIRN_VOLUME)[p] =
            firn_channel_of(&sim->particles, FIRN_MASS)[p] / 400.0f;
    }
}

// After a sort a particle may be anywhere in the reach of its block.
static inline void drift(firn_sim *sim, uint64_t *seed)
{
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    for (size_t b = 0; b < sim->grid.block_count; b++) {
        for (int axis = 0; axis < 3; axis++) {
            float *u = firn_channel_of(&sim->particles, FIRN_U + axis);
            float low = blocks[b].low[axis], high = blocks[b].high[axis];
            for (size_t p = blocks[b].begin; p < blocks[b].end; p++)
                u[p] = fminf((float)ref_random(seed, low, high), nextafterf(high, 0.0f));
            u[blocks[b].begin] = low;
            u[blocks[b].end - 1] = nextafterf(high, 0.0f);
        }
    }
}

static inline void add_block_of_points(firn_sim *sim, int index, uint64_t *seed)
{
    enum { MOST = 200 };
    firn_vec3 points[MOST];
    int count = block_sizes[index];
    double edge = 4.0 * (double)sim->def.cell_size, shift = 0.25 * firn_grid_shift(&sim->grid);
    const double corner[3] = {index / 4 - 1.0, index / 2 % 2 - 1.0, index % 2 - 1.0};
    for (int i = 0; i < count; i++)
        points[i] = firn_vec((float)(edge * (corner[0] + shift + ref_random(seed, 0.01, 0.99))),
                             (float)(edge * (corner[1] + shift + ref_random(seed, 0.01, 0.99))),
                             (float)(edge * (corner[2] + shift + ref_random(seed, 0.01, 0.99))));
    firn_source_def def = firn_source_def_points(points, (size_t)count);
    firn_material_def soft = firn_material_def_default();
    soft.young_modulus *= 0.5f + 0.2f * (float)index;
    soft.damping = 0.0f; // the papers have none
    soft.hardening = 3.0f + (float)index;
    soft.critical_compression = 0.01f + 0.005f * (float)index;
    firn_error error;
    scene_expect_ok(firn_sim_add_material(sim, &soft, &def.material, &error), &error);
    scene_add(sim, &def);
}

static inline firn_sim *make_scene(const variant *v, uint64_t seed)
{
    firn_sim_def def = firn_sim_def_default();
    def.kernel = v->order == 3 ? FIRN_KERNEL_QUADRATIC : FIRN_KERNEL_CUBIC;
    def.transfer = v->scheme == FIRN_SCHEME_FLIP ? FIRN_TRANSFER_FLIP : FIRN_TRANSFER_APIC;
    def.integrator = v->explicit_step || v->scheme == FIRN_SCHEME_APIC ? FIRN_INTEGRATOR_EXPLICIT
                                                                       : FIRN_INTEGRATOR_IMPLICIT;
    def.thread_count = 1;
    firn_sim *sim = scene_create(&def);
    sim->kernels = v->kernels;
    for (int i = 0; i < (int)FIRN_COUNT(block_sizes); i++)
        add_block_of_points(sim, i, &seed);
    firn_error error;
    scene_expect_ok(firn_sim_sort(sim, &error), &error);
    assert_int_equal(sim->grid.block_count, FIRN_COUNT(block_sizes));
    shake(sim, &seed);
    drift(sim, &seed);
    scene_expect_ok(firn_sim_reserve(sim, &error), &error);
    // Tests look at all nodes, also at those that no particle reaches and nobody clears.
    for (int f = 0; f < FIRN_NODE_FIELD_COUNT; f++)
        if (firn_grid_has(&sim->grid, (firn_node_field)f))
            memset(sim->grid.field[f].data, 0, sim->grid.field[f].bytes);
    firn_clearance_forget(sim);
    scene_expect_ok(firn_clearance_prepare(sim, 1e-4f, &error), &error);
    return sim;
}

typedef void variant_body(const variant *v);

static inline void for_all_variants(variant_body *body)
{
    for (int i = 0; firn_kernels_at(i) != NULL; i++)
        for (int order = 3; order <= 4; order++)
            for (int scheme = FIRN_SCHEME_APIC; scheme <= FIRN_SCHEME_FLIP; scheme++) {
                variant v = {firn_kernels_at(i), order, (firn_scheme)scheme, false};
                if (v.kernels->supported())
                    body(&v);
            }
}

/// A node of the sparse grid and its number in the reference.
typedef struct node_place {
    int index;
    double x[3]; // m
} node_place;

static inline node_place place_of(const firn_sim *sim, size_t block, int node)
{
    firn_coord c = ((const firn_coord *)sim->grid.node_coord.data)[block];
    double h = (double)sim->def.cell_size;
    int at[3] = {4 * c.x + (node >> 4), 4 * c.y + ((node >> 2) & 3), 4 * c.z + (node & 3)};
    node_place place = {node_index(at[0], at[1], at[2]), {h * at[0], h * at[1], h * at[2]}};
    return place;
}

// A node velocity for the tests of the way back; w is left alone.
typedef void node_velocity(const firn_sim *sim, const double x[3], uint64_t *seed, float v[3]);

static inline void fill_nodes(firn_sim *sim, firn_node_field field, node_velocity *velocity,
                              uint64_t *seed)
{
    for (size_t b = 0; b < sim->grid.node_block_count; b++)
        for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
            node_place place = place_of(sim, b, n);
            velocity(sim, place.x, seed, firn_grid_nodes(&sim->grid, field, b) + 4 * n);
        }
}

static inline void random_velocity(const firn_sim *sim, const double x[3], uint64_t *seed,
                                   float v[3])
{
    (void)sim;
    (void)x;
    for (int k = 0; k < 3; k++)
        v[k] = (float)ref_random(seed, -3.0, 3.0);
}

/// The node velocities in double precision, by number of the node.
typedef struct dense_velocity {
    double fresh[NODES][3], old[NODES][3];
} dense_velocity;

static inline dense_velocity *copy_nodes(const firn_sim *sim)
{
    dense_velocity *dense = calloc(1, sizeof *dense);
    assert_non_null(dense);
    for (size_t b = 0; b < sim->grid.node_block_count; b++)
        for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
            int index = place_of(sim, b, n).index;
            for (int k = 0; k < 3; k++) {
                dense->fresh[index][k] =
                    (double)firn_grid_nodes(&sim->grid, FIRN_NODE_VELOCITY, b)[4 * n + k];
                if (firn_grid_has(&sim->grid, FIRN_NODE_OLD))
                    dense->old[index][k] =
                        (double)firn_grid_nodes(&sim->grid, FIRN_NODE_OLD, b)[4 * n + k];
            }
        }
    return dense;
}
