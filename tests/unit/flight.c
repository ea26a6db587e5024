/// Snow that nothing touches: the laws of motion hold for substeps of any length.
#include "effort.h"
#include "falling_box.h"

/// Free fall as the substeps of the method cut it.
typedef struct fall {
    double v, y;
} fall;

static bool follow_fall(const firn_step_stats *stats, void *user)
{
    fall *f = user;
    f->v -= 9.81 * stats->dt;
    f->y += f->v * stats->dt;
    return true;
}

static void covariance_of(const firn_sim *sim, const scene_sums *sums, double c[6])
{
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    memset(c, 0, 6 * sizeof *c);
    for (size_t b = 0; b < sim->grid.block_count; b++)
        for (size_t p = blocks[b].begin; p < blocks[b].end; p++) {
            double x[3];
            scene_position(sim, &blocks[b], p, x);
            for (int k = 0; k < 6; k++) {
                int i = k < 3 ? k : k - 3, j = k < 3 ? k : (k - 2) % 3;
                c[k] += scene_value(sim, FIRN_MASS, p) * (x[i] - sums->center[i]) *
                        (x[j] - sums->center[j]) / sums->mass;
            }
        }
}

static void free_fall_follows_the_closed_form_and_keeps_the_shape(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i += effort(1, 7)) {
        firn_sim_def def = scene_combination(i);
        def.tolerance = 1e-6f;
        firn_sim *sim = falling_box(def, firn_vec(1.0f, 2.0f, -0.5f));
        firn_error error;
        scene_expect_ok(firn_sim_sort(sim, &error), &error);
        scene_sums before = scene_sums_of(sim);
        double shape[6], after_shape[6];
        covariance_of(sim, &before, shape);
        fall f = {2.0, before.center[1]};
        firn_sim_set_progress(sim, follow_fall, &f);
        scene_step(sim, 0.5);
        scene_sums after = scene_sums_of(sim);
        covariance_of(sim, &after, after_shape);
        assert_true(after.mass == before.mass);
        // Each substep rounds a velocity of up to 3 m/s twice; a solve may leave its tolerance.
        double slack = 5e-7 * (double)firn_sim_stats(sim).substep;
        if (firn_sim_is_implicit(sim))
            slack *= 3.0;
        scene_expect_near(after.momentum[0] / after.mass, 1.0, slack);
        scene_expect_near(after.momentum[1] / after.mass, f.v, slack);
        scene_expect_near(f.v, 2.0 - 9.81 * 0.5, 1e-6);
        scene_expect_near(after.momentum[2] / after.mass, -0.5, slack);
        scene_expect_near(after.center[0] - before.center[0], 0.5, 0.5 * slack);
        scene_expect_near(after.center[1], f.y, 0.5 * slack);
        // Parabola: off by half a substep's share of the speed at most.
        double parabola = before.center[1] + 2.0 * 0.5 - 0.5 * 9.81 * 0.25;
        scene_expect_near(after.center[1], parabola, 0.6 * 9.81 * 0.5 * (double)sim->def.dt_max);
        for (int k = 0; k < 6; k++)
            scene_expect_near(after_shape[k], shape[k], 1e-4 * shape[0]);
        for (size_t p = 0; p < sim->particles.count; p++)
            for (int k = 0; k < 9; k++)
                scene_expect_near(scene_value(sim, FIRN_F + k, p), k % 4 == 0 ? 1.0 : 0.0, 1e-4);
        firn_sim_destroy(sim);
    }
}

static void flight_of_a_spinning_box_keeps_its_momenta(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        firn_sim_def def = scene_combination(i);
        def.gravity = nowhere;
        def.tolerance = 1e-6f;
        firn_sim *sim = scene_create(&def);
        firn_source_def box = firn_source_def_box(nowhere, firn_vec(0.05f, 0.03f, 0.04f));
        box.velocity = firn_vec(1.0f, -2.0f, 0.5f);
        box.angular_velocity = firn_vec(3.0f, 5.0f, -10.0f);
        scene_add(sim, &box);
        firn_error error;
        scene_expect_ok(firn_sim_sort(sim, &error), &error);
        scene_sums before = scene_sums_of(sim);
        scene_step(sim, 0.05);
        scene_sums after = scene_sums_of(sim);
        assert_true(after.mass == before.mass);
        for (int k = 0; k < 3; k++) {
            scene_expect_near(after.momentum[k], before.momentum[k], 2e-5 * before.mass * 2.3);
            // The stress of the implicit step is linear in the velocities, and thus not quite
            // symmetric; FLIP makes no promise.
            double allowed = firn_sim_is_implicit(sim) ? 0.05 : 1e-4;
            if (firn_sim_is_apic(sim))
                scene_expect_near(after.angular[k], before.angular[k],
                                  allowed * fabs(before.angular[k]));
        }
        firn_sim_destroy(sim);
    }
}

// Energy that a block of random velocities loses to the blend in a fixed time.
static double energy_left(float dt)
{
    firn_sim_def def = scene_combination(2);
    def.gravity = nowhere;
    def.dt_min = def.dt_max = dt;
    firn_sim *sim = falling_box(def, nowhere);
    uint64_t seed = 3;
    for (size_t p = 0; p < sim->particles.count; p++) {
        // Without stress only the blend changes velocities.
        firn_channel_of(&sim->particles, FIRN_STIFFNESS)[p] = 1e-6f;
        for (int k = 0; k < 3; k++)
            firn_channel_of(&sim->particles, FIRN_V + k)[p] = (float)ref_random(&seed, -0.5, 0.5);
    }
    firn_error error;
    scene_expect_ok(firn_sim_sort(sim, &error), &error);
    double before = scene_sums_of(sim).kinetic;
    scene_step(sim, 4e-3);
    double after = scene_sums_of(sim).kinetic;
    firn_sim_destroy(sim);
    return after / before;
}

static void flip_damping_does_not_depend_on_the_substep(void **state)
{
    (void)state;
    double coarse = energy_left(4e-4f), fine = energy_left(1e-4f);
    assert_true(coarse > 0.3 && coarse < 0.8);
    scene_expect_near(coarse, fine, 0.03 * fine);
}

/// Substeps after which snow had left the reach of its blocks.
typedef struct departures {
    const firn_sim *sim;
    int all, unforeseen; // unforeseen: the grid was being filled for the next one
} departures;

static bool watch_departures(const firn_step_stats *stats, void *user)
{
    (void)stats;
    departures *d = user;
    bool left = !(d->sim->foresight.extremes.low >= 0.0f && d->sim->foresight.extremes.high < 0.0f);
    d->all += left;
    d->unforeseen += left && d->sim->foresight.dt > 0.0;
    return true;
}

static void no_grid_is_filled_in_vain_for_snow_that_leaves_its_block(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        firn_sim_def def = scene_combination(i);
        def.gravity = nowhere;
        firn_sim *sim = falling_box(def, firn_vec(3.0f, -8.0f, 0.5f));
        departures d = {.sim = sim};
        firn_sim_set_progress(sim, watch_departures, &d);
        scene_step(sim, 0.25);
        assert_true(d.all > 3);
        assert_int_equal(d.unforeseen, 0);
        firn_sim_destroy(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_fall_follows_the_closed_form_and_keeps_the_shape),
        cmocka_unit_test(flight_of_a_spinning_box_keeps_its_momenta),
        cmocka_unit_test(flip_damping_does_not_depend_on_the_substep),
        cmocka_unit_test(no_grid_is_filled_in_vain_for_snow_that_leaves_its_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
