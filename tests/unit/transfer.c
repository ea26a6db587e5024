/// P2G and G2P of every instruction set against loops that follow the papers in double precision,
/// and the laws that no rounding may hide.
#include "transfer_scene.h"

/// A dense grid around the origin: sums and the sizes of what was added, for tolerances.
typedef struct reference {
    double mass[NODES];
    double momentum[NODES][3], momentum_size[NODES];
    double force[NODES][3], force_size[NODES];
} reference;

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
    ref_return mapped =
        ref_return_map(ref_add(f, dt, ref_mul(e.c, f)), scene_value(sim, FIRN_JP, p),
                       1.0 - (double)sim->materials.column[FIRN_SNOW_COMPRESSION][m],
                       1.0 + (double)sim->materials.column[FIRN_SNOW_STRETCH][m]);
    e.f = mapped.f;
    e.jp = ref_clamp(mapped.jp, (double)sim->materials.column[FIRN_SNOW_JP_MIN][m],
                     (double)sim->materials.column[FIRN_SNOW_JP_MAX][m]);
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

// Lanes that hold no particle say nothing of their block.
static void expect_fastest(const firn_sim *sim, size_t b)
{
    const firn_block *block = &firn_grid_blocks(&sim->grid)[b];
    const firn_block_limits *limits = sim->measures.limits.data;
    double fastest = 0.0;
    for (size_t p = block->begin; p < block->end; p++) {
        double speed2 = 0.0;
        for (int axis = 0; axis < 3; axis++)
            speed2 += pow(scene_value(sim, FIRN_V + axis, p), 2.0);
        fastest = fmax(fastest, speed2);
    }
    scene_expect_near((double)limits[b].speed2, fastest, 1e-5 * fastest);
}

static void compare_g2p(const variant *v)
{
    uint64_t seed = 5;
    firn_sim *sim = make_scene(v, 13);
    const float dt = 2e-4f;
    fill_nodes(sim, FIRN_NODE_VELOCITY, random_velocity, &seed);
    if (firn_grid_has(&sim->grid, FIRN_NODE_OLD))
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
        expect_fastest(sim, b);
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
    scene_expect_near((double)sim->foresight.extremes.speed2, fastest, 1e-4);
    scene_expect_near((double)sim->foresight.extremes.low, lowest, 1e-5);
    scene_expect_near((double)sim->foresight.extremes.high, highest, 1e-5);
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
    if (firn_grid_has(&sim->grid, FIRN_NODE_OLD)) {
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
        cmocka_unit_test(volumes_come_from_the_density_of_the_grid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
