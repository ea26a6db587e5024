/// The Hessian product of every instruction set against differences of the exact stress.
#include "transfer_scene.h"

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

// Without strain the diagonal is exact: what a node feels of its own motion along an axis.
static void compare_diagonal(const variant *v)
{
    if (v->scheme == FIRN_SCHEME_APIC)
        return;
    firn_sim *sim = make_scene(v, 18);
    for (size_t p = 0; p < sim->particles.count; p++)
        for (int i = 0; i < 9; i++)
            firn_channel_of(&sim->particles, FIRN_F + i)[p] = i % 4 == 0 ? 1.0f : 0.0f;
    firn_transfer_prepare_hessian(sim, 1e-4f);
    size_t floats = sim->grid.node_block_count * FIRN_BLOCK_FLOATS;
    float *input = sim->grid.field[FIRN_NODE_RESIDUAL].data;
    const float *output = sim->grid.field[FIRN_NODE_A_RESIDUAL].data;
    const float *diagonal = sim->grid.field[FIRN_NODE_DIAGONAL].data;
    double largest = 0.0;
    for (size_t i = 0; i < floats; i++)
        largest = fmax(largest, (double)diagonal[i]);
    memset(input, 0, floats * sizeof *input);
    for (size_t i = 1; i < floats; i += 137) {
        if (i % 4 == 3)
            continue;
        input[i] = 1.0f;
        firn_transfer_apply_hessian(sim, 1e-4f, FIRN_NODE_RESIDUAL, FIRN_NODE_A_RESIDUAL);
        scene_expect_near((double)diagonal[i], (double)output[i], 3e-6 * largest);
        input[i] = 0.0f;
    }
    firn_sim_destroy(sim);
}

static void diagonal_is_what_nodes_feel_of_their_own_motion(void **state)
{
    (void)state;
    for_all_variants(compare_diagonal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hessian_product_is_the_change_of_the_force),
        cmocka_unit_test(hessian_is_symmetric),
        cmocka_unit_test(diagonal_is_what_nodes_feel_of_their_own_motion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
