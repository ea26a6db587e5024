#include "effort.h"
#include "scene.h"

// Snow under strain on its way to a floor, arranged up to the point where the solve begins.
typedef struct system {
    firn_sim *sim;
    float dt;
    double (*right)[3]; // v* of every node, m/s
    size_t nodes;
} system_of_nodes;

static void strain(firn_sim *sim, double size)
{
    uint64_t seed = 21;
    for (size_t p = 0; p < sim->particles.count; p++) {
        ref_mat f = ref_stretched(&seed, 1.0 + ref_random(&seed, -size, size),
                                  1.0 + ref_random(&seed, -size, size),
                                  1.0 + ref_random(&seed, -size, size));
        for (int i = 0; i < 9; i++)
            firn_channel_of(&sim->particles, FIRN_F + i)[p] = (float)f.m[i / 3][i % 3];
    }
}

static system_of_nodes make_system(firn_sim_def def, int contact, float stiffness, float dt)
{
    firn_sim *sim = scene_create(&def);
    firn_source_def box =
        firn_source_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.06f, 0.05f, 0.05f));
    box.velocity = firn_vec(0.5f, -2.0f, 0.3f);
    scene_add(sim, &box);
    firn_error error;
    const firn_vec3 normals[2] = {{0.0f, 1.0f, 0.0f}, {-0.8f, 0.6f, 0.0f}};
    for (int i = 0; contact >= 0 && i < 2; i++) {
        firn_collider_def wall = firn_collider_def_plane(normals[i], -0.03f);
        wall.contact = contact;
        wall.friction = 0.2f;
        scene_expect_ok(firn_sim_add_collider(sim, &wall, NULL, &error), &error);
    }
    scene_expect_ok(firn_sim_sort(sim, &error), &error);
    strain(sim, 0.004);
    for (size_t p = 0; p < sim->particles.count; p++)
        firn_channel_of(&sim->particles, FIRN_STIFFNESS)[p] = stiffness;
    scene_expect_ok(firn_sim_reserve(sim, &error), &error);
    firn_clearance_forget(sim);
    scene_expect_ok(firn_clearance_prepare(sim, dt, &error), &error);
    firn_transfer_to_grid(sim, dt);
    assert_true(firn_grid_update(sim, dt).finite);
    system_of_nodes s = {.sim = sim, .dt = dt};
    s.nodes = sim->grid.node_block_count * FIRN_BLOCK_NODES;
    s.right = calloc(s.nodes, sizeof *s.right);
    for (size_t n = 0; n < s.nodes; n++)
        for (int k = 0; k < 3; k++)
            s.right[n][k] = (double)((const float *)sim->grid.field[FIRN_NODE_VELOCITY]
                                         .data)[4 * n + (size_t)k];
    return s;
}

static void free_system(system_of_nodes *s)
{
    free(s->right);
    firn_sim_destroy(s->sim);
}

static const float *node(const system_of_nodes *s, firn_node_field field, size_t n)
{
    return (const float *)s->sim->grid.field[field].data + 4 * n;
}

// The part of v that a contact leaves free.
static void free_part(const float *contact, const double v[3], double out[3])
{
    double along =
        v[0] * (double)contact[0] + v[1] * (double)contact[1] + v[2] * (double)contact[2];
    for (int k = 0; k < 3; k++) {
        double c = (double)contact[k];
        switch (firn_contact_state(contact[3])) {
        case FIRN_NODE_FREE:
            out[k] = v[k];
            break;
        case FIRN_NODE_SLIDING:
            out[k] = v[k] - along * c;
            break;
        case FIRN_NODE_EDGE:
            out[k] = along * c;
            break;
        case FIRN_NODE_STUCK:
            out[k] = 0.0;
            break;
        }
    }
}

// Root mean square over the mass of Q (b - v - beta dt^2 M^-1 H v), with H v computed anew.
static double residual_of(const system_of_nodes *s)
{
    firn_sim *sim = s->sim;
    firn_transfer_prepare_hessian(sim, s->dt);
    firn_transfer_apply_hessian(sim, s->dt, FIRN_NODE_VELOCITY, FIRN_NODE_A_SEARCH);
    double sum = 0.0, mass = 0.0;
    for (size_t n = 0; n < s->nodes; n++) {
        const float *v = node(s, FIRN_NODE_VELOCITY, n), *hv = node(s, FIRN_NODE_A_SEARCH, n);
        double m = (double)v[3], r[3], q[3];
        if (!(m > 0.0))
            continue;
        double scale = (double)sim->def.beta * (double)s->dt * (double)s->dt / m;
        for (int k = 0; k < 3; k++)
            r[k] = s->right[n][k] - (double)v[k] - scale * (double)hv[k];
        free_part(node(s, FIRN_NODE_CONTACT, n), r, q);
        sum += m * (q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
        mass += m;
    }
    return sqrt(sum / mass);
}

static void solution_solves_the_system(void **state)
{
    (void)state;
    const int contacts[] = {-1, FIRN_CONTACT_SEPARATE, FIRN_CONTACT_SLIP, FIRN_CONTACT_STICKY};
    for (int i = 4; i < 8; i++)
        for (int half = 0; half < 2; half++)
            for (size_t c = 0; c < FIRN_COUNT(contacts); c++) {
                firn_sim_def def = scene_combination(i);
                def.tolerance = 1e-5f;
                def.beta = half ? 0.5f : 1.0f;
                system_of_nodes s = make_system(def, contacts[c], 20.0f, 5e-4f);
                double before = residual_of(&s);
                firn_solve solve = firn_implicit_solve(s.sim, s.dt);
                assert_true(solve.converged);
                assert_true(solve.iterations >= 5 && solve.iterations <= 60);
                assert_true(solve.residual <= (double)def.tolerance);
                double after = residual_of(&s);
                // The recurrence drifts from the true residual by rounding of velocities of 2 m/s.
                assert_true(after < (double)def.tolerance + 2e-6);
                assert_true(before > 100.0 * after);
                free_system(&s);
            }
}

static void given_components_are_left_alone(void **state)
{
    (void)state;
    int seen[4] = {0};
    const int contacts[] = {FIRN_CONTACT_SEPARATE, FIRN_CONTACT_SLIP, FIRN_CONTACT_STICKY};
    for (size_t c = 0; c < FIRN_COUNT(contacts); c++)
        for (int warm = 0; warm < 2; warm++) {
            system_of_nodes s = make_system(scene_combination(4), contacts[c], 1.0f, 5e-4f);
            if (warm) {
                uint64_t seed = 4;
                float *change = s.sim->grid.field[FIRN_NODE_CHANGE].data;
                for (size_t i = 0; i < 4 * s.nodes; i++)
                    change[i] = (float)ref_random(&seed, -100.0, 100.0);
                s.sim->solve.warm = true;
            }
            assert_true(firn_implicit_solve(s.sim, s.dt).converged);
            for (size_t n = 0; n < s.nodes; n++) {
                const float *v = node(&s, FIRN_NODE_VELOCITY, n);
                const float *contact = node(&s, FIRN_NODE_CONTACT, n);
                double change[3], moved[3];
                for (int k = 0; k < 3; k++)
                    change[k] = (double)v[k] - s.right[n][k];
                free_part(contact, change, moved);
                for (int k = 0; k < 3; k++)
                    scene_expect_near(change[k], moved[k], 3e-6);
                if (v[3] > 0.0f)
                    seen[firn_contact_state(contact[3])]++;
                else
                    assert_true(v[0] == 0.0f && v[1] == 0.0f && v[2] == 0.0f);
            }
            free_system(&s);
        }
    for (int i = 0; i < 4; i++)
        assert_true(seen[i] > 0);
}

static void snow_without_stiffness_keeps_the_right_hand_side(void **state)
{
    (void)state;
    for (int i = 4; i < 8; i++) {
        system_of_nodes s = make_system(scene_combination(i), FIRN_CONTACT_SLIP, 0.0f, 1e-3f);
        firn_solve solve = firn_implicit_solve(s.sim, s.dt);
        assert_true(solve.converged && solve.iterations == 0);
        for (size_t n = 0; n < s.nodes; n++)
            for (int k = 0; k < 3; k++)
                assert_true((double)node(&s, FIRN_NODE_VELOCITY, n)[k] == s.right[n][k]);
        free_system(&s);
    }
}

static void warm_start_saves_iterations(void **state)
{
    (void)state;
    for (int i = 4; i < 8; i++) {
        system_of_nodes s = make_system(scene_combination(i), FIRN_CONTACT_STICKY, 20.0f, 5e-4f);
        int cold = firn_implicit_solve(s.sim, s.dt).iterations;
        assert_true(s.sim->solve.warm);
        float *v = s.sim->grid.field[FIRN_NODE_VELOCITY].data;
        for (size_t n = 0; n < s.nodes; n++)
            for (size_t k = 0; k < 3; k++)
                v[4 * n + k] = (float)s.right[n][k];
        int warm = firn_implicit_solve(s.sim, s.dt).iterations;
        assert_true(cold >= 5);
        assert_true(warm <= 1);
        free_system(&s);
    }
}

static int total_iterations;

static bool add_iterations(const firn_step_stats *stats, void *user)
{
    (void)user;
    total_iterations += stats->iterations;
    return true;
}

static int iterations_of_rest(bool warm)
{
    firn_sim_def def = scene_combination(4);
    def.dt_max = 5e-4f;
    def.tolerance = 1e-4f;
    firn_sim *sim = scene_create(&def);
    scene_add_box(sim, firn_vec(0.0f, 0.05f, 0.0f), 0.05f, firn_vec(0.0f, 0.0f, 0.0f));
    scene_add_floor(sim, 0.0f);
    scene_step(sim, 0.01);
    firn_sim_set_progress(sim, add_iterations, NULL);
    total_iterations = 0;
    // A new call starts cold: many short calls against one long one.
    if (warm)
        scene_step(sim, 0.01);
    for (int i = 0; !warm && i < 20; i++)
        scene_step(sim, 5e-4);
    firn_sim_destroy(sim);
    return total_iterations;
}

static void settled_snow_solves_faster_warm(void **state)
{
    (void)state;
    int warm = iterations_of_rest(true), cold = iterations_of_rest(false);
    if (!(warm < cold))
        fail_msg("%d iterations warm, %d cold", warm, cold);
}

static void failed_solve_is_answered_by_smaller_steps(void **state)
{
    (void)state;
    for (int i = 4; i < 8; i += effort(1, 3))
        for (int most = 1; most <= 3; most++) {
            firn_sim_def def = scene_combination(i);
            def.max_iterations = most;
            def.dt_min = most == 1 ? 1e-4f : 1e-7f;
            firn_sim *sim = scene_create(&def);
            scene_add_box(sim, firn_vec(0.0f, 0.0f, 0.0f), 0.05f, firn_vec(1.0f, -4.0f, 0.0f));
            scene_add_floor(sim, -0.06f);
            uint64_t before = firn_sim_hash(sim);
            firn_error error;
            firn_result result = firn_sim_step(sim, 0.01, &error);
            assert_true(scene_is_finite(sim));
            if (result == FIRN_OK) {
                assert_true(firn_sim_stats(sim).dt < (double)def.dt_max);
            } else {
                assert_int_equal(result, FIRN_ERR_DIVERGED);
                assert_non_null(strstr(error.message, "did not converge"));
                assert_true(firn_sim_hash(sim) == before);
            }
            firn_sim_destroy(sim);
        }
}

// One substep of both integrators from the same state.
static void small_steps_of_both_integrators_agree(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        double difference[2];
        for (int fine = 0; fine < 2; fine++) {
            scene_sums sums[2];
            for (int implicit = 0; implicit < 2; implicit++) {
                firn_sim_def def = scene_combination(i + 4 * implicit);
                def.dt_max = fine ? 2.5e-5f : 1e-4f;
                def.tolerance = 1e-7f;
                def.retries = 0;
                firn_sim *sim = scene_create(&def);
                sim->materials.column[FIRN_SNOW_DAMPING][0] =
                    0.0f; // only the explicit step has viscosity
                scene_add_box(sim, firn_vec(0.0f, 0.0f, 0.0f), 0.05f, firn_vec(0.0f, 0.0f, 0.0f));
                firn_error error;
                scene_expect_ok(firn_sim_sort(sim, &error), &error);
                strain(sim, 0.002);
                scene_step(sim, 4e-4);
                sums[implicit] = scene_sums_of(sim);
                firn_sim_destroy(sim);
            }
            difference[fine] = fabs(sums[1].kinetic / sums[0].kinetic - 1.0);
        }
        // First order: a quarter of the step, a quarter of the difference.
        assert_true(difference[0] < 0.2);
        assert_true(difference[1] < 0.4 * difference[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solution_solves_the_system),
        cmocka_unit_test(given_components_are_left_alone),
        cmocka_unit_test(snow_without_stiffness_keeps_the_right_hand_side),
        cmocka_unit_test(warm_start_saves_iterations),
        cmocka_unit_test(settled_snow_solves_faster_warm),
        cmocka_unit_test(failed_solve_is_answered_by_smaller_steps),
        cmocka_unit_test(small_steps_of_both_integrators_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
