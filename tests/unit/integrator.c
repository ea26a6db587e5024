/// integrator = auto.
#include "scene.h"

typedef struct shot {
    const char *name;
    double young_modulus; // Pa, of a falling box
    double core_modulus;  // Pa, of a small one in it
    int expected;         // firn_integrator
} shot;

// Waves in soft snow are slow, and explicit steps as long as any. A core of ice makes them a
// hundred times shorter for all of the snow, while the solve has to work on the core alone.
static const shot shots[] = {
    {"soft", 1.4e4, 1.4e4, FIRN_INTEGRATOR_EXPLICIT},
    {"ice core", 1.4e5, 1.4e8, FIRN_INTEGRATOR_IMPLICIT},
};

static void add_box(firn_sim *sim, float x, float half, double young_modulus)
{
    firn_material_def material = firn_material_def_default();
    material.young_modulus = (float)young_modulus;
    firn_source_def box = firn_source_def_box(firn_vec(x, 0.5f, 0.0f), firn_vec(half, half, half));
    firn_error error;
    scene_expect_ok(firn_sim_add_material(sim, &material, &box.material, &error), &error);
    box.velocity = firn_vec(0.0f, -1.0f, 0.0f);
    scene_add(sim, &box);
}

static firn_sim *falling_boxes(int integrator, const shot *of)
{
    firn_sim_def def = scene_combination(0);
    def.integrator = integrator;
    firn_sim *sim = scene_create(&def);
    add_box(sim, 0.0f, 0.1f, of->young_modulus);
    add_box(sim, 0.12f, 0.02f, of->core_modulus);
    return sim;
}

static void auto_takes_the_step_that_costs_less_and_says_so(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIRN_COUNT(shots); i++) {
        bool implicit = shots[i].expected == FIRN_INTEGRATOR_IMPLICIT;
        firn_sim *chosen = falling_boxes(FIRN_INTEGRATOR_AUTO, &shots[i]);
        firn_sim *fixed = falling_boxes(shots[i].expected, &shots[i]);
        for (int frame = 0; frame < 3; frame++) {
            scene_step(chosen, 0.004);
            scene_step(fixed, 0.004);
            firn_step_stats stats = firn_sim_stats(chosen);
            print_message("%s: %.0f us per particle and second explicit, %.0f implicit\n",
                          shots[i].name, stats.explicit_cost, stats.implicit_cost);
            assert_int_equal(stats.integrator, shots[i].expected);
            assert_true(stats.explicit_cost > (implicit ? 2.0 : 0.0) * stats.implicit_cost);
            assert_true(stats.implicit_cost > (implicit ? 0.0 : 2.0) * stats.explicit_cost);
            assert_true(stats.dt == firn_sim_stats(fixed).dt);
            assert_true(firn_sim_stats(fixed).explicit_cost == 0.0);
        }
        assert_true(firn_sim_hash(chosen) == firn_sim_hash(fixed));
        firn_sim_destroy(chosen);
        firn_sim_destroy(fixed);
    }
}

// What the explicit step costs grows with the wave speed, what the implicit one costs with the
// motion: the estimate knows both.
static void fast_colliders_make_the_implicit_step_dearer(void **state)
{
    (void)state;
    double cost[2];
    for (int moving = 0; moving < 2; moving++) {
        firn_sim *sim = falling_boxes(FIRN_INTEGRATOR_AUTO, &shots[1]);
        firn_collider_def wall = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), -10.0f);
        firn_collider_id id;
        firn_error error;
        scene_expect_ok(firn_sim_add_collider(sim, &wall, &id, &error), &error);
        firn_pose_key keys[2] = {{0.0, firn_transform_identity()},
                                 {1.0, firn_transform_identity()}};
        keys[1].pose.translation.x = moving ? 50.0f : 0.0f;
        scene_expect_ok(firn_sim_move_collider(sim, id, keys, 2, &error), &error);
        scene_step(sim, 0.001);
        cost[moving] = firn_sim_stats(sim).implicit_cost;
        firn_sim_destroy(sim);
    }
    assert_true(cost[1] > 1.5 * cost[0]);
}

static void auto_chooses_alike_after_a_resume(void **state)
{
    (void)state;
    firn_sim *straight = falling_boxes(FIRN_INTEGRATOR_AUTO, &shots[1]);
    firn_sim *resumed = falling_boxes(FIRN_INTEGRATOR_AUTO, &shots[1]);
    scene_step(straight, 0.004);
    void *bytes = NULL;
    size_t size = 0;
    firn_error error;
    scene_expect_ok(firn_sim_save_memory(straight, &bytes, &size, &error), &error);
    scene_expect_ok(firn_sim_load_memory(resumed, bytes, size, &error), &error);
    firn_free(bytes);
    scene_step(straight, 0.004);
    scene_step(resumed, 0.004);
    assert_int_equal(firn_sim_stats(resumed).integrator, firn_sim_stats(straight).integrator);
    assert_true(firn_sim_hash(resumed) == firn_sim_hash(straight));
    firn_sim_destroy(straight);
    firn_sim_destroy(resumed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_takes_the_step_that_costs_less_and_says_so),
        cmocka_unit_test(fast_colliders_make_the_implicit_step_dearer),
        cmocka_unit_test(auto_chooses_alike_after_a_resume),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
