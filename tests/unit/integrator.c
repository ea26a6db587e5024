/// integrator = auto.
#include "scene.h"

typedef struct shot {
    double young_modulus; // Pa
    int expected;         // firn_integrator
} shot;

static firn_sim *falling_box(int integrator, double young_modulus)
{
    firn_sim_def def = scene_combination(0);
    def.integrator = integrator;
    firn_sim *sim = scene_create(&def);
    firn_material_def material = firn_material_def_default();
    material.young_modulus = (float)young_modulus;
    firn_source_def box =
        firn_source_def_box(firn_vec(0.0f, 0.5f, 0.0f), firn_vec(0.1f, 0.1f, 0.1f));
    firn_error error;
    scene_expect_ok(firn_sim_add_material(sim, &material, &box.material, &error), &error);
    box.velocity = firn_vec(0.0f, -1.0f, 0.0f);
    scene_add(sim, &box);
    return sim;
}

static void auto_takes_the_step_that_costs_less_and_says_so(void **state)
{
    (void)state;
    // Soft snow lets the explicit step be long; in ice it would have to be very short.
    const shot shots[] = {{1.4e5, FIRN_INTEGRATOR_EXPLICIT}, {1.4e8, FIRN_INTEGRATOR_IMPLICIT}};
    for (size_t i = 0; i < FIRN_COUNT(shots); i++) {
        firn_sim *chosen = falling_box(FIRN_INTEGRATOR_AUTO, shots[i].young_modulus);
        firn_sim *fixed = falling_box(shots[i].expected, shots[i].young_modulus);
        for (int frame = 0; frame < 3; frame++) {
            scene_step(chosen, 0.004);
            scene_step(fixed, 0.004);
            // The particles of the first call did not exist when it chose.
            if (frame == 0)
                continue;
            assert_int_equal(firn_sim_stats(chosen).integrator, shots[i].expected);
            assert_true(firn_sim_stats(chosen).dt == firn_sim_stats(fixed).dt);
        }
        firn_sim_destroy(chosen);
        firn_sim_destroy(fixed);
    }
}

static void auto_chooses_alike_after_a_resume(void **state)
{
    (void)state;
    firn_sim *straight = falling_box(FIRN_INTEGRATOR_AUTO, 1.4e8);
    firn_sim *resumed = falling_box(FIRN_INTEGRATOR_AUTO, 1.4e8);
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
        cmocka_unit_test(auto_chooses_alike_after_a_resume),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
