/// P2G, G2P and the Hessian product of every instruction set against loops that follow the papers
/// in double precision, and the laws that no rounding may hide.
#include "scene.h"

#include <float.h>

enum { EDGE = 44, FIRST = -20, NODES = EDGE * EDGE * EDGE };

/// A dense grid around the origin: sums and the sizes of what was added, for tolerances.
typedef struct reference {
    double mass[NODES];
    double momentum[NODES][3], momentum_size[NODES];
    double force[NODES][3], force_size[NODES];
} reference;

typedef struct variant {
    const firn_kernels *kernels;
    int order;
    firn_scheme scheme;
} variant;

static int node_index(int i, int j, int k)
{
    assert_true(i >= FIRST && j >= FIRST && k >= FIRST && i < FIRST + EDGE && j < FIRST + EDGE &&
                k < FIRST + EDGE);
    return ((i - FIRST) * EDGE + j - FIRST) * EDGE + k - FIRST;
}

// The B-splines as the papers print them, x in cells.
static double spline(int order, double x)
{
    double a = fabs(x);
    if (order == 3)
        return a < 0.5 ? 0.75 - a * a : a < 1.5 ? 0.5 * (1.5 - a) * (1.5 - a) : 0.0;
    return a < 1.0   ? 0.5 * a * a * a - a * a + 2.0 / 3.0
           : a < 2.0 ? (2.0 - a) * (2.0 - a) * (2.0 - a) / 6.0
                     : 0.0;
}

static double spline_slope(int order, double x)
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

static int reach_of(const firn_sim *sim, bool moments, const double x[3], reach nodes[125])
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

static ref_mat matrix_of(const firn_sim *sim, int channel, size_t p)
{
    ref_mat a;
    for (int i = 0; i < 9; i++)
        a.m[i / 3][i % 3] = scene_value(sim, channel + i, p);
    return a;
}

typedef struct moduli {
    double mu, lambda;
} moduli;

static moduli moduli_of(const firn_sim *sim, size_t p)
{
    int material = ((const uint8_t *)sim->particles.material.data)[p];
    double factor =
        scene_value(sim, FIRN_STIFFNESS, p) *
        exp((double)sim->materials.hardening[material] * (1.0 - scene_value(sim, FIRN_JP, p)));
    moduli m = {factor * (double)sim->materials.mu[material],
                factor * (double)sim->materials.lambda[material]};
    return m;
}

static ref_mat kirchhoff(const firn_sim *sim, size_t p)
{
    ref_mat f = matrix_of(sim, FIRN_F, p);
    moduli m = moduli_of(sim, p);
    return ref_mul(ref_piola(f, m.mu, m.lambda), ref_transpose(f));
}

// Particles of several materials, bent and stretched, in blocks of these sizes.
static const int block_sizes[] = {1, 2, 15, 16, 17, 31, 40, 200};

static void shake(firn_sim *sim, uint64_t *seed)
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
static void drift(firn_sim *sim, uint64_t *seed)
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

static void claim_scratch(firn_sim *sim)
{
    firn_budget *budget = &sim->budget;
    size_t blocks = sim->grid.block_count, nodes = sim->grid.node_block_count;
    assert_int_equal(firn_array_claim(budget, &sim->sums, blocks, sizeof(firn_block_sums), NULL),
                     FIRN_OK);
    assert_int_equal(
        firn_array_claim(budget, &sim->limits, blocks, sizeof(firn_block_limits), NULL), FIRN_OK);
    assert_int_equal(
        firn_array_claim(budget, &sim->node_limits, nodes, sizeof(firn_node_limits), NULL),
        FIRN_OK);
    assert_int_equal(firn_array_claim(budget, &sim->partial, nodes, sizeof(double), NULL), FIRN_OK);
    for (int c = 0; c < FIRN_CACHE_OWN; c++)
        assert_int_equal(firn_array_claim(budget, &sim->cache[c],
                                          sim->particles.count + FIRN_PADDING, sizeof(float), NULL),
                         FIRN_OK);
}

static void add_block_of_points(firn_sim *sim, int index, uint64_t *seed)
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
    soft.hardening = 3.0f + (float)index;
    soft.critical_compression = 0.01f + 0.005f * (float)index;
    firn_error error;
    scene_expect_ok(firn_sim_add_material(sim, &soft, &def.material, &error), &error);
    scene_add(sim, &def);
}

static firn_sim *make_scene(const variant *v, uint64_t seed)
{
    firn_sim_def def = firn_sim_def_default();
    def.kernel = v->order == 3 ? FIRN_KERNEL_QUADRATIC : FIRN_KERNEL_CUBIC;
    def.transfer = v->scheme == FIRN_SCHEME_FLIP ? FIRN_TRANSFER_FLIP : FIRN_TRANSFER_APIC;
    def.integrator =
        v->scheme == FIRN_SCHEME_APIC ? FIRN_INTEGRATOR_EXPLICIT : FIRN_INTEGRATOR_IMPLICIT;
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
    claim_scratch(sim);
    firn_colliders_prepare(&sim->colliders, 0.0, 1e-4f);
    return sim;
}

typedef void variant_body(const variant *v);

static void for_all_variants(variant_body *body)
{
    for (int i = 0; firn_kernels_at(i) != NULL; i++)
        for (int order = 3; order <= 4; order++)
            for (int scheme = FIRN_SCHEME_APIC; scheme <= FIRN_SCHEME_FLIP; scheme++) {
                variant v = {firn_kernels_at(i), order, (firn_scheme)scheme};
                if (v.kernels->supported())
                    body(&v);
            }
}

static void spread(const firn_sim *sim, bool affine, const firn_block *block, size_t p,
                   reference *grid)
{
    double x[3], m = scene_value(sim, FIRN_MASS, p), volume = scene_value(sim, FIRN_VOLUME, p);
    scene_position(sim, block, p, x);
    reach nodes[125];
    int count = reach_of(sim, affine, x, nodes);
    ref_mat tau = kirchhoff(sim, p), c = {{{0}}};
    if (affine)
        c = matrix_of(sim, FIRN_C, p);
    for (int n = 0; n < count; n++) {
        const reach *r = &nodes[n];
        grid->mass[r->index] += m * r->w;
        for (int i = 0; i < 3; i++) {
            double v = scene_value(sim, FIRN_V + i, p), f = 0.0;
            for (int j = 0; j < 3; j++) {
                v += c.m[i][j] * r->d[j];
                f -= volume * tau.m[i][j] * r->slope[j];
            }
            grid->momentum[r->index][i] += m * r->w * v;
            grid->force[r->index][i] += f;
        }
        double h = (double)sim->def.cell_size;
        grid->momentum_size[r->index] += m * (3.0 + 2.0 * h * ref_norm(c));
        grid->force_size[r->index] += volume * ref_norm(tau) / h;
    }
}

static reference *make_reference(const firn_sim *sim, bool affine)
{
    reference *grid = calloc(1, sizeof *grid);
    assert_non_null(grid);
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    for (size_t b = 0; b < sim->grid.block_count; b++)
        for (size_t p = blocks[b].begin; p < blocks[b].end; p++)
            spread(sim, affine, &blocks[b], p, grid);
    return grid;
}

/// A node of the sparse grid and its number in the reference.
typedef struct node_place {
    int index;
    double x[3]; // m
} node_place;

static node_place place_of(const firn_sim *sim, size_t block, int node)
{
    firn_coord c = ((const firn_coord *)sim->grid.node_coord.data)[block];
    double h = (double)sim->def.cell_size;
    int at[3] = {4 * c.x + (node >> 4), 4 * c.y + ((node >> 2) & 3), 4 * c.z + (node & 3)};
    node_place place = {node_index(at[0], at[1], at[2]), {h * at[0], h * at[1], h * at[2]}};
    return place;
}

static void compare_node(const variant *v, const reference *grid, int index, const float *fresh,
                         const float *old, float dt)
{
    // Everything a node receives is added up in single precision: a few units of the last place of
    // what goes into the sum. Strains lose a digit more.
    double loss = 4.0 * FLT_EPSILON, stress_loss = 40.0 * FLT_EPSILON;
    scene_expect_near((double)fresh[3], grid->mass[index], loss * grid->momentum_size[index] / 3.0);
    for (int k = 0; k < 3; k++) {
        double momentum = grid->momentum[index][k], slack = loss * grid->momentum_size[index];
        if (v->scheme == FIRN_SCHEME_APIC) {
            momentum += (double)dt * grid->force[index][k];
            slack += (double)dt * stress_loss * grid->force_size[index];
        } else {
            scene_expect_near((double)old[k], grid->force[index][k],
                              stress_loss * grid->force_size[index]);
        }
        scene_expect_near((double)fresh[k], momentum, slack);
    }
}

static void compare_p2g(const variant *v)
{
    firn_sim *sim = make_scene(v, 11);
    const float dt = 1e-4f;
    reference *grid = make_reference(sim, v->scheme != FIRN_SCHEME_FLIP);
    firn_transfer_to_grid(sim, dt);
    double mass = 0.0, expected = 0.0;
    for (int n = 0; n < NODES; n++)
        expected += grid->mass[n];
    for (size_t b = 0; b < sim->grid.node_block_count; b++)
        for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
            const float *fresh = firn_grid_nodes(&sim->grid, FIRN_NODE_VELOCITY, b) + 4 * n;
            const float *old = v->scheme == FIRN_SCHEME_APIC
                                   ? NULL
                                   : firn_grid_nodes(&sim->grid, FIRN_NODE_OLD, b) + 4 * n;
            compare_node(v, grid, place_of(sim, b, n).index, fresh, old, dt);
            mass += (double)fresh[3];
        }
    scene_expect_near(mass, expected, 1e-6 * expected);
    free(grid);
    firn_sim_destroy(sim);
}

static void to_grid_is_the_sum_that_the_papers_write(void **state)
{
    (void)state;
    for_all_variants(compare_p2g);
}

// Momentum and, with APIC, angular momentum of the nodes are those of the particles; stress gives
// neither, whatever the scheme.
static void compare_totals(const variant *v)
{
    firn_sim *sim = make_scene(v, 12);
    const float dt = 1e-4f;
    scene_sums before = scene_sums_of(sim);
    firn_transfer_to_grid(sim, dt);
    double momentum[3] = {0}, angular[3] = {0}, force[3] = {0}, torque[3] = {0}, size = 0.0;
    for (size_t b = 0; b < sim->grid.node_block_count; b++)
        for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
            const float *p = firn_grid_nodes(&sim->grid, FIRN_NODE_VELOCITY, b) + 4 * n;
            node_place place = place_of(sim, b, n);
            for (int k = 0; k < 3; k++) {
                int i = (k + 1) % 3, j = (k + 2) % 3;
                momentum[k] += (double)p[k];
                angular[k] += place.x[i] * (double)p[j] - place.x[j] * (double)p[i];
            }
            if (v->scheme == FIRN_SCHEME_APIC)
                continue;
            const float *f = firn_grid_nodes(&sim->grid, FIRN_NODE_OLD, b) + 4 * n;
            for (int k = 0; k < 3; k++) {
                int i = (k + 1) % 3, j = (k + 2) % 3;
                force[k] += (double)f[k];
                torque[k] += place.x[i] * (double)f[j] - place.x[j] * (double)f[i];
                size += fabs((double)f[k]);
            }
        }
    for (int k = 0; k < 3; k++) {
        scene_expect_near(momentum[k], before.momentum[k], 2e-6 * before.mass * 3.0);
        if (v->scheme != FIRN_SCHEME_FLIP)
            scene_expect_near(angular[k], before.angular[k], 2e-6 * before.mass * 3.0 * 0.2);
        scene_expect_near(force[k], 0.0, 1e-6 * size);
        scene_expect_near(torque[k], 0.0, 1e-6 * size * 0.2);
    }
    firn_sim_destroy(sim);
}

static void nodes_hold_the_momentum_of_the_particles_and_stress_adds_none(void **state)
{
    (void)state;
    for_all_variants(compare_totals);
}

// A node velocity for the tests of the way back; w is left alone.
typedef void node_velocity(const firn_sim *sim, const double x[3], uint64_t *seed, float v[3]);

static void fill_nodes(firn_sim *sim, firn_node_field field, node_velocity *velocity,
                       uint64_t *seed)
{
    for (size_t b = 0; b < sim->grid.node_block_count; b++)
        for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
            node_place place = place_of(sim, b, n);
            velocity(sim, place.x, seed, firn_grid_nodes(&sim->grid, field, b) + 4 * n);
        }
}

static void random_velocity(const firn_sim *sim, const double x[3], uint64_t *seed, float v[3])
{
    (void)sim;
    (void)x;
    for (int k = 0; k < 3; k++)
        v[k] = (float)ref_random(seed, -3.0, 3.0);
}

static const double affine_matrix[3][3] = {{3.0, -20.0, 7.0}, {15.0, 1.0, 4.0}, {-6.0, 2.0, -9.0}};
static const double affine_offset[3] = {1.0, -2.0, 0.5};

static void affine_velocity(const firn_sim *sim, const double x[3], uint64_t *seed, float v[3])
{
    (void)sim;
    (void)seed;
    for (int i = 0; i < 3; i++) {
        double sum = affine_offset[i];
        for (int j = 0; j < 3; j++)
            sum += affine_matrix[i][j] * x[j];
        v[i] = (float)sum;
    }
}

/// The node velocities in double precision, by number of the node.
typedef struct dense_velocity {
    double fresh[NODES][3], old[NODES][3];
} dense_velocity;

static dense_velocity *copy_nodes(const firn_sim *sim)
{
    dense_velocity *dense = calloc(1, sizeof *dense);
    assert_non_null(dense);
    for (size_t b = 0; b < sim->grid.node_block_count; b++)
        for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
            int index = place_of(sim, b, n).index;
            for (int k = 0; k < 3; k++) {
                dense->fresh[index][k] =
                    (double)firn_grid_nodes(&sim->grid, FIRN_NODE_VELOCITY, b)[4 * n + k];
                if (sim->grid.field_count > FIRN_NODE_OLD)
                    dense->old[index][k] =
                        (double)firn_grid_nodes(&sim->grid, FIRN_NODE_OLD, b)[4 * n + k];
            }
        }
    return dense;
}

/// What a particle should look like after a step.
typedef struct particle {
    double u[3], v[3], jp;
    ref_mat c, f;
} particle;

static particle expected_particle(const firn_sim *sim, const variant *v, const firn_block *block,
                                  size_t p, const dense_velocity *dense, double dt)
{
    double x[3], pic[3] = {0}, old[3] = {0};
    scene_position(sim, block, p, x);
    particle e = {.c = {{{0}}}};
    reach nodes[125];
    int count = reach_of(sim, v->scheme != FIRN_SCHEME_FLIP, x, nodes);
    for (int n = 0; n < count; n++)
        for (int i = 0; i < 3; i++) {
            pic[i] += nodes[n].w * dense->fresh[nodes[n].index][i];
            old[i] += nodes[n].w * dense->old[nodes[n].index][i];
            for (int j = 0; j < 3; j++)
                e.c.m[i][j] += dense->fresh[nodes[n].index][i] * nodes[n].slope[j];
        }
    double share = pow((double)sim->def.flip_ratio, dt / (double)sim->def.flip_reference_dt);
    for (int i = 0; i < 3; i++) {
        e.v[i] = pic[i];
        if (v->scheme == FIRN_SCHEME_FLIP)
            e.v[i] += share * (scene_value(sim, FIRN_V + i, p) - old[i]);
        e.u[i] = scene_value(sim, FIRN_U + i, p) + dt * e.v[i] / (double)sim->def.cell_size;
    }
    ref_mat f = matrix_of(sim, FIRN_F, p);
    int m = ((const uint8_t *)sim->particles.material.data)[p];
    ref_return mapped = ref_return_map(
        ref_add(f, dt, ref_mul(e.c, f)), scene_value(sim, FIRN_JP, p),
        1.0 - (double)sim->materials.compression[m], 1.0 + (double)sim->materials.stretch[m]);
    e.f = mapped.f;
    e.jp = ref_clamp(mapped.jp, (double)sim->materials.jp_min[m], (double)sim->materials.jp_max[m]);
    return e;
}

static void compare_particle(const firn_sim *sim, const variant *v, size_t p, const particle *e)
{
    for (int i = 0; i < 3; i++) {
        scene_expect_near(scene_value(sim, FIRN_V + i, p), e->v[i], 5e-6);
        scene_expect_near(scene_value(sim, FIRN_U + i, p), e->u[i], 2e-6);
    }
    double size = 3.0 / (double)sim->def.cell_size; // 1/s, of a gradient
    for (int i = 0; i < 9; i++) {
        if (v->scheme != FIRN_SCHEME_FLIP)
            scene_expect_near(scene_value(sim, FIRN_C + i, p), e->c.m[i / 3][i % 3], 3e-6 * size);
        scene_expect_near(scene_value(sim, FIRN_F + i, p), e->f.m[i / 3][i % 3], 1e-5);
    }
    scene_expect_near(scene_value(sim, FIRN_JP, p), e->jp, 2e-5);
}

static void compare_g2p(const variant *v)
{
    uint64_t seed = 5;
    firn_sim *sim = make_scene(v, 13);
    const float dt = 2e-4f;
    fill_nodes(sim, FIRN_NODE_VELOCITY, random_velocity, &seed);
    if (sim->grid.field_count > FIRN_NODE_OLD)
        fill_nodes(sim, FIRN_NODE_OLD, random_velocity, &seed);
    dense_velocity *dense = copy_nodes(sim);
    particle *expected = calloc(sim->particles.count, sizeof *expected);
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    for (size_t b = 0; b < sim->grid.block_count; b++)
        for (size_t p = blocks[b].begin; p < blocks[b].end; p++)
            expected[p] = expected_particle(sim, v, &blocks[b], p, dense, (double)dt);
    firn_transfer_to_particles(sim, dt);
    double fastest = 0.0, lowest = INFINITY, highest = -INFINITY;
    for (size_t b = 0; b < sim->grid.block_count; b++) {
        for (size_t p = blocks[b].begin; p < blocks[b].end; p++) {
            compare_particle(sim, v, p, &expected[p]);
            const double *w = expected[p].v, *u = expected[p].u;
            fastest = fmax(fastest, w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
            for (int i = 0; i < 3; i++) {
                lowest = fmin(lowest, u[i] - blocks[b].low[i]);
                highest = fmax(highest, u[i] - blocks[b].high[i]);
            }
        }
    }
    scene_expect_near((double)sim->extremes.speed2, fastest, 1e-4);
    scene_expect_near((double)sim->extremes.low, lowest, 1e-5);
    scene_expect_near((double)sim->extremes.high, highest, 1e-5);
    free(expected);
    free(dense);
    firn_sim_destroy(sim);
}

static void to_particles_is_the_sum_that_the_papers_write(void **state)
{
    (void)state;
    for_all_variants(compare_g2p);
}

static void compare_affine(const variant *v)
{
    uint64_t seed = 5;
    firn_sim *sim = make_scene(v, 14);
    fill_nodes(sim, FIRN_NODE_VELOCITY, affine_velocity, &seed);
    if (sim->grid.field_count > FIRN_NODE_OLD) {
        // What FLIP keeps of its own velocity is taken away, so that both schemes give the grid's.
        memset(sim->grid.field[FIRN_NODE_OLD].data, 0, sim->grid.field[FIRN_NODE_OLD].bytes);
        for (int k = 0; k < 3; k++)
            memset(firn_channel_of(&sim->particles, FIRN_V + k), 0,
                   sim->particles.count * sizeof(float));
    }
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    double(*x)[3] = calloc(sim->particles.count, sizeof *x);
    for (size_t b = 0; b < sim->grid.block_count; b++)
        for (size_t p = blocks[b].begin; p < blocks[b].end; p++)
            scene_position(sim, &blocks[b], p, x[p]);
    firn_transfer_to_particles(sim, 0.0f);
    for (size_t p = 0; p < sim->particles.count; p++)
        for (int i = 0; i < 3; i++) {
            double value = affine_offset[i];
            for (int j = 0; j < 3; j++) {
                value += affine_matrix[i][j] * x[p][j];
                if (v->scheme != FIRN_SCHEME_FLIP)
                    scene_expect_near(scene_value(sim, FIRN_C + 3 * i + j, p), affine_matrix[i][j],
                                      3e-6 * 5.0 / (double)sim->def.cell_size);
            }
            scene_expect_near(scene_value(sim, FIRN_V + i, p), value, 5e-6);
        }
    free(x);
    firn_sim_destroy(sim);
}

static void affine_motion_of_the_nodes_is_the_motion_of_the_particles(void **state)
{
    (void)state;
    for_all_variants(compare_affine);
}

// Twice through the grid without forces: what comes back carries the same momenta.
static void compare_round_trip(const variant *v)
{
    if (v->scheme == FIRN_SCHEME_FLIP)
        return;
    firn_sim *sim = make_scene(v, 15);
    for (size_t p = 0; p < sim->particles.count; p++)
        firn_channel_of(&sim->particles, FIRN_VOLUME)[p] = 0.0f;
    sim->def.gravity = firn_vec(0.0f, 0.0f, 0.0f);
    scene_sums before = scene_sums_of(sim);
    firn_transfer_to_grid(sim, 1e-5f);
    firn_grid_update(sim, 1e-5f);
    firn_transfer_to_particles(sim, 1e-5f);
    scene_sums after = scene_sums_of(sim);
    assert_true(before.mass == after.mass);
    for (int k = 0; k < 3; k++) {
        scene_expect_near(after.momentum[k], before.momentum[k], 3e-6 * before.mass * 3.0);
        scene_expect_near(after.angular[k], before.angular[k], 3e-6 * before.mass * 3.0 * 0.2);
    }
    assert_true(after.kinetic < before.kinetic);
    firn_sim_destroy(sim);
}

static void apic_keeps_linear_and_angular_momentum_through_the_grid(void **state)
{
    (void)state;
    for_all_variants(compare_round_trip);
}

// -dForce for the node velocities of a field, by central differences of the exact stress.
static void reference_hessian(const firn_sim *sim, const variant *v, const dense_velocity *dense,
                              double (*out)[3], double *size)
{
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    for (size_t b = 0; b < sim->grid.block_count; b++)
        for (size_t p = blocks[b].begin; p < blocks[b].end; p++) {
            double x[3];
            scene_position(sim, &blocks[b], p, x);
            reach nodes[125];
            int count = reach_of(sim, v->scheme != FIRN_SCHEME_FLIP, x, nodes);
            ref_mat g = {{{0}}}, f = matrix_of(sim, FIRN_F, p);
            for (int n = 0; n < count; n++)
                for (int i = 0; i < 9; i++)
                    g.m[i / 3][i % 3] +=
                        dense->fresh[nodes[n].index][i / 3] * nodes[n].slope[i % 3];
            double step = 1e-5 / (ref_norm(g) + 1e-9);
            ref_mat df = ref_mul(g, f);
            moduli m = moduli_of(sim, p);
            ref_mat change = ref_add(ref_piola(ref_add(f, step, df), m.mu, m.lambda), -1.0,
                                     ref_piola(ref_add(f, -step, df), m.mu, m.lambda));
            ref_mat k = ref_mul(change, ref_transpose(f));
            double scale = 0.5 / step * scene_value(sim, FIRN_VOLUME, p);
            for (int n = 0; n < count; n++) {
                for (int i = 0; i < 9; i++)
                    out[nodes[n].index][i / 3] += scale * k.m[i / 3][i % 3] * nodes[n].slope[i % 3];
                size[nodes[n].index] += scale * ref_norm(k) / (double)sim->def.cell_size;
            }
        }
}

static void compare_hessian(const variant *v)
{
    if (v->scheme == FIRN_SCHEME_APIC)
        return;
    uint64_t seed = 77;
    firn_sim *sim = make_scene(v, 16);
    fill_nodes(sim, FIRN_NODE_VELOCITY, random_velocity, &seed);
    dense_velocity *dense = copy_nodes(sim);
    double(*expected)[3] = calloc(NODES, sizeof *expected), *size = calloc(NODES, sizeof *size);
    reference_hessian(sim, v, dense, expected, size);
    firn_transfer_prepare_hessian(sim, 1e-4f);
    firn_transfer_apply_hessian(sim, 1e-4f, FIRN_NODE_VELOCITY, FIRN_NODE_A_RESIDUAL);
    for (size_t b = 0; b < sim->grid.node_block_count; b++)
        for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
            int index = place_of(sim, b, n).index;
            const float *out = firn_grid_nodes(&sim->grid, FIRN_NODE_A_RESIDUAL, b) + 4 * n;
            for (int k = 0; k < 3; k++)
                scene_expect_near((double)out[k], expected[index][k], 4e-6 * size[index]);
        }
    free(size);
    free(expected);
    free(dense);
    firn_sim_destroy(sim);
}

static void hessian_product_is_the_change_of_the_force(void **state)
{
    (void)state;
    for_all_variants(compare_hessian);
}

static double product(const firn_sim *sim, firn_node_field a, firn_node_field b)
{
    const float *left = sim->grid.field[a].data, *right = sim->grid.field[b].data;
    double sum = 0.0;
    for (size_t i = 0; i < sim->grid.node_block_count * FIRN_BLOCK_FLOATS; i++)
        if (i % 4 < 3)
            sum += (double)left[i] * (double)right[i];
    return sum;
}

static void compare_symmetry(const variant *v)
{
    if (v->scheme == FIRN_SCHEME_APIC)
        return;
    uint64_t seed = 78;
    firn_sim *sim = make_scene(v, 17);
    fill_nodes(sim, FIRN_NODE_RESIDUAL, random_velocity, &seed);
    fill_nodes(sim, FIRN_NODE_SEARCH, random_velocity, &seed);
    firn_transfer_prepare_hessian(sim, 1e-4f);
    firn_transfer_apply_hessian(sim, 1e-4f, FIRN_NODE_RESIDUAL, FIRN_NODE_A_RESIDUAL);
    firn_transfer_apply_hessian(sim, 1e-4f, FIRN_NODE_SEARCH, FIRN_NODE_A_SEARCH);
    double aa = product(sim, FIRN_NODE_RESIDUAL, FIRN_NODE_A_RESIDUAL);
    double bb = product(sim, FIRN_NODE_SEARCH, FIRN_NODE_A_SEARCH);
    double ab = product(sim, FIRN_NODE_RESIDUAL, FIRN_NODE_A_SEARCH);
    double ba = product(sim, FIRN_NODE_SEARCH, FIRN_NODE_A_RESIDUAL);
    scene_expect_near(ab, ba, 1e-6 * sqrt(fabs(aa * bb)));
    firn_sim_destroy(sim);
}

static void hessian_is_symmetric(void **state)
{
    (void)state;
    for_all_variants(compare_symmetry);
}

static void compare_volumes(const variant *v)
{
    firn_sim *sim = make_scene(v, 18);
    for (size_t p = 0; p < sim->particles.count; p++)
        firn_channel_of(&sim->particles, FIRN_VOLUME)[p] = 0.0f;
    reference *grid = make_reference(sim, false);
    firn_transfer_find_volumes(sim);
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    for (size_t b = 0; b < sim->grid.block_count; b++)
        for (size_t p = blocks[b].begin; p < blocks[b].end; p++) {
            double x[3], density = 0.0, h = (double)sim->def.cell_size;
            scene_position(sim, &blocks[b], p, x);
            reach nodes[125];
            int count = reach_of(sim, false, x, nodes);
            for (int n = 0; n < count; n++)
                density += nodes[n].w * grid->mass[nodes[n].index] / (h * h * h);
            double volume = scene_value(sim, FIRN_MASS, p) / density;
            scene_expect_near(scene_value(sim, FIRN_VOLUME, p), volume, 5e-6 * volume);
        }
    free(grid);
    firn_sim_destroy(sim);
}

static void volumes_come_from_the_density_of_the_grid(void **state)
{
    (void)state;
    for_all_variants(compare_volumes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(to_grid_is_the_sum_that_the_papers_write),
        cmocka_unit_test(nodes_hold_the_momentum_of_the_particles_and_stress_adds_none),
        cmocka_unit_test(to_particles_is_the_sum_that_the_papers_write),
        cmocka_unit_test(affine_motion_of_the_nodes_is_the_motion_of_the_particles),
        cmocka_unit_test(apic_keeps_linear_and_angular_momentum_through_the_grid),
        cmocka_unit_test(hessian_product_is_the_change_of_the_force),
        cmocka_unit_test(hessian_is_symmetric),
        cmocka_unit_test(volumes_come_from_the_density_of_the_grid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
