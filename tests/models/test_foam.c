/// A model that the core does not know simulates: its header, its row and its name in the list
/// stand in this folder.
#include "../scenes/scene.h"

#include <string.h>

static firn_material_def foam(scene *s)
{
    firn_material_def def = firn_material_def_default();
    const firn_param *model = firn_params_find(firn_material_params(), "model");
    scene_check(s, firn_param_parse(model, &def, "foam", &s->error));
    def.young_modulus = 4e4f;
    return def;
}

// A column in smooth walls bears its weight: K (1 - J) = rho g h.
static void foam_bears_its_weight(void **state)
{
    (void)state;
    const float cell = 0.02f;
    firn_sim_def def = scene_def(&METHODS[0], cell);
    scene s = scene_open(&def);
    firn_material_def material = foam(&s);
    firn_vec3 upper = {2.0f * cell, 8.0f * cell, 2.0f * cell}, lower = {0.0f, 0.0f, 0.0f};
    firn_source_def box = scene_box(lower, upper);
    box.material = scene_material(&s, &material);
    scene_source(&s, &box);
    scene_walls(&s, lower, upper);
    scene_plane(&s, firn_vec(0.0f, 1.0f, 0.0f), 0.0f, FIRN_CONTACT_SEPARATE, 0.0f);
    double pressure = 0.0, weight = 0.0;
    const int samples = 60;
    for (int i = 0; i < samples; i++) {
        scene_step(&s, 5e-3);
        scene_read(&s);
        double window = 1.0 - cos(6.283185307 * (i + 0.5) / samples);
        for (size_t p = 0; p < s.particles.count; p++) {
            pressure += window * 4e4 * (1.0 - (double)s.particles.jp[p]);
            weight += window;
        }
    }
    assert_true(fabs(pressure / weight / (400.0 * 9.81 * 4.0 * (double)cell) - 1.0) < 0.05);
    assert_true(firn_sim_stats(s.sim).mean_jp == 1.0); // its J is nobody's packing
    scene_close(&s);
}

static void foam_meets_snow_and_keeps_momentum(void **state)
{
    (void)state;
    firn_sim_def def = scene_def(&METHODS[0], 0.02f);
    def.gravity = firn_vec(0.0f, 0.0f, 0.0f);
    scene s = scene_open(&def);
    firn_material_def material = foam(&s);
    firn_source_def snow = scene_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.1f, 0.1f, 0.1f));
    firn_source_def other = scene_box(firn_vec(0.09f, 0.0f, 0.0f), firn_vec(0.2f, 0.1f, 0.1f));
    other.material = scene_material(&s, &material);
    other.velocity = firn_vec(-2.0f, 0.3f, 0.0f);
    scene_source(&s, &snow);
    scene_source(&s, &other);
    scene_read(&s);
    totals before = scene_totals(&s);
    scene_step(&s, 0.05);
    scene_read(&s);
    totals after = scene_totals(&s);
    for (int k = 0; k < 3; k++)
        assert_true(fabs(after.velocity[k] - before.velocity[k]) < 2e-6);
    assert_true(after.kinetic < before.kinetic);
    scene_close(&s);
}

static void foam_has_no_implicit_step(void **state)
{
    (void)state;
    firn_sim_def def = scene_def(&METHODS[1], 0.02f);
    scene s = scene_open(&def);
    firn_material_def material = foam(&s);
    firn_error error;
    assert_int_equal(firn_sim_add_material(s.sim, &material, NULL, &error), FIRN_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "foam"));
    assert_non_null(strstr(error.message, "solver.integrator"));
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(foam_bears_its_weight),
        cmocka_unit_test(foam_meets_snow_and_keeps_momentum),
        cmocka_unit_test(foam_has_no_implicit_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
