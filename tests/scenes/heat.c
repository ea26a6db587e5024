/// Heat: closed forms of conduction and melting, and what must stay the same.
#include "scene.h"

#include "firn/sim_heat.h"

#include <string.h>

static const double ZERO = 273.15; // K

// Ice that stays where it is, soft enough for long substeps.
static firn_material_def ice(void)
{
    firn_material_def def = firn_material_def_default();
    def.model = FIRN_MODEL_ELASTIC;
    def.density = 917.0f;
    def.young_modulus = 1e3f;
    def.conductivity = 2.2f;
    return def;
}

static firn_sim_def heat_def(float cell, float speed)
{
    firn_sim_def def = scene_def(&METHODS[0], cell);
    def.gravity = firn_vec(0.0f, 0.0f, 0.0f);
    def.heat = true;
    def.heat_speed = speed;
    return def;
}

static void fill(scene *s, firn_material_id material, firn_vec3 lower, firn_vec3 upper,
                 double temperature, float liquid, float jitter)
{
    const firn_source_value values[] = {{.channel = "temperature", .value = {(float)temperature}},
                                        {.channel = "liquid", .value = {liquid}}};
    firn_source_def box = scene_box(lower, upper);
    box.jitter = jitter;
    box.material = material;
    box.values = values;
    box.value_count = liquid > 0.0f ? 2 : 1;
    scene_source(s, &box);
}

static float *channel(scene *s, const char *name)
{
    size_t n = firn_sim_particle_count(s->sim);
    float *values = malloc((n + 1) * sizeof *values);
    scene_check(
        s, firn_sim_read(s->sim, firn_sim_find_channel(s->sim, name), 0, n, values, &s->error));
    return values;
}

static void warm_wall(scene *s, float at, double temperature)
{
    firn_collider_def wall = firn_collider_def_plane(firn_vec(1.0f, 0.0f, 0.0f), at);
    wall.contact = FIRN_CONTACT_STICKY;
    wall.temperature = (float)temperature;
    wall.heat_exchange = 1e7f;
    scene_collider(s, &wall);
}

/// A bar along x, of so many cells, that begins at a wall.
typedef struct bar {
    int cells;
    float length;       // m
    double begin, wall; // K
    float liquid, jitter;
} bar;

static scene bar_open(const bar *b, float speed)
{
    float cell = b->length / (float)b->cells;
    firn_sim_def def = heat_def(cell, speed);
    def.dt_max = 2e-3f;
    scene s = scene_open(&def);
    firn_material_def matter = ice();
    warm_wall(&s, 0.0f, b->wall);
    fill(&s, scene_material(&s, &matter), firn_vec(0.0f, 0.0f, 0.0f),
         firn_vec(b->length, 2.0f * cell, 2.0f * cell), b->begin, b->liquid, b->jitter);
    return s;
}

// T = T_w erfc(x / 2 sqrt(alpha t)).
static void half_space_warms_by_the_error_function(void **state)
{
    (void)state;
    const bar b = {
        .cells = 64, .length = 0.64f, .begin = ZERO - 20.0, .wall = ZERO - 10.0, .jitter = 0.5f};
    const double seconds = 14400.0, alpha = 2.2 / (917.0 * 2100.0);
    scene s = bar_open(&b, 80000.0f);
    scene_step(&s, seconds / 80000.0);
    scene_read(&s);
    float *temperature = channel(&s, "temperature");
    double sum = 0.0, product = 0.0, square = 0.0;
    for (size_t p = 0; p < s.particles.count; p++) {
        double x = (double)s.position[p].x;
        double exact = -20.0 + 10.0 * erfc(x / (2.0 * sqrt(alpha * seconds)));
        double off = (double)temperature[p] - ZERO - exact;
        sum += off * off;
        product += ((double)temperature[p] - ZERO + 20.0) * (exact + 20.0);
        square += (exact + 20.0) * (exact + 20.0);
    }
    double rms = sqrt(sum / (double)s.particles.count) / 10.0, share = product / square;
    print_message("half space: %.4f of the profile, rms %.4f of the step\n", share, rms);
    if (!(rms < 0.02) || !(fabs(share - 1.0) < 0.04))
        fail_msg("%g of the profile, rms %g", share, rms);
    free(temperature);
    scene_close(&s);
}

// Water at its melting point freezes from a wall at -20 C: the front is at 2 lambda sqrt(alpha t).
static void ice_grows_as_stefan_says(void **state)
{
    (void)state;
    const bar b = {.cells = 64,
                   .length = 0.064f,
                   .begin = ZERO,
                   .wall = ZERO - 20.0,
                   .liquid = 1.0f,
                   .jitter = 0.5f};
    const double seconds = 3600.0, lambda = 0.2457, alpha = 2.2 / (917.0 * 2100.0);
    scene s = bar_open(&b, 2000.0f);
    scene_step(&s, seconds / 2000.0);
    scene_read(&s);
    float *liquid = channel(&s, "liquid");
    double frozen = 0.0, all = 0.0;
    for (size_t p = 0; p < s.particles.count; p++) {
        frozen += (double)s.particles.mass[p] * (1.0 - (double)liquid[p]);
        all += (double)s.particles.mass[p];
    }
    double front = frozen / all * (double)b.length;
    double exact = 2.0 * lambda * sqrt(alpha * seconds);
    print_message("stefan: %g of %g mm (%g %%)\n", 1e3 * front, 1e3 * exact,
                  100.0 * (front / exact - 1.0));
    if (!(fabs(front / exact - 1.0) < 0.02))
        fail_msg("the front is at %g mm, not at %g", 1e3 * front, 1e3 * exact);
    free(liquid);
    scene_close(&s);
}

// 1 kg of snow at -10 C and 1 kg of water at 20 C end at 0 C, with 0.188 kg of the snow melted.
static void snow_in_water_melts_by_calorimetry(void **state)
{
    (void)state;
    const float cell = 0.02f;
    firn_sim_def def = heat_def(cell, 1e5f);
    scene s = scene_open(&def);
    firn_material_def matter = ice();
    firn_material_id id = scene_material(&s, &matter);
    fill(&s, id, firn_vec(0.0f, 0.0f, 0.0f), firn_vec(2 * cell, 3 * cell, 2 * cell), ZERO - 10.0,
         0.0f, 0.0f);
    fill(&s, id, firn_vec(2 * cell, 0.0f, 0.0f), firn_vec(4 * cell, 3 * cell, 2 * cell),
         ZERO + 20.0, 1.0f, 0.0f);
    double before = firn_sim_enthalpy(s.sim);
    scene_step(&s, 1.0);
    double after = firn_sim_enthalpy(s.sim);
    scene_read(&s);
    float *liquid = channel(&s, "liquid"), *temperature = channel(&s, "temperature");
    double melted = 0.0, mass = 0.0, off = 0.0;
    for (size_t p = 0; p < s.particles.count; p++) {
        melted += (double)s.particles.mass[p] * (double)liquid[p];
        mass += (double)s.particles.mass[p];
        off = fmax(off, fabs((double)temperature[p] - ZERO));
    }
    double share = 2.0 * melted / mass - 1.0;
    double exact = (4186.0 * 20.0 - 2100.0 * 10.0) / 334e3;
    print_message("calorimetry: %.7f of %.7f, off %g K, energy %g\n", share, exact, off,
                  after / before - 1.0);
    if (!(fabs(share - exact) < 1e-5) || !(off < 0.01))
        fail_msg("%g of the snow has melted, not %g; %g K from 0 C", share, exact, off);
    if (!(fabs(after / before - 1.0) < 1e-6))
        fail_msg("energy changed by %g", after / before - 1.0);
    free(liquid);
    free(temperature);
    scene_close(&s);
}

// --- Melting and freezing ------------------------------------------------------------------------

static firn_material_def water(void)
{
    firn_material_def def;
    assert_int_equal(firn_material_def_preset("water", &def, NULL), FIRN_OK);
    return def;
}

/// A block on a floor between walls, of snow that melts to water.
static scene block_open(float cell, int threads, firn_collider_id *floor)
{
    firn_sim_def def = heat_def(cell, 60000.0f);
    def.gravity = firn_vec(0.0f, -9.81f, 0.0f);
    def.thread_count = threads;
    scene s = scene_open(&def);
    firn_material_def snow = firn_material_def_default(), wet = water();
    snow.young_modulus = 5e5f;
    snow.density = 900.0f;
    firn_material_id solid = scene_material(&s, &snow), liquid = scene_material(&s, &wet);
    scene_check(&s, firn_sim_pair_materials(s.sim, solid, liquid, &s.error));
    firn_vec3 size = {4.0f * cell, 3.0f * cell, 4.0f * cell};
    scene_walls(&s, firn_vec(0.0f, 0.0f, 0.0f), size);
    firn_collider_def plane = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), 0.0f);
    plane.temperature = (float)ZERO + 50.0f;
    plane.heat_exchange = 1e4f;
    *floor = scene_collider(&s, &plane);
    fill(&s, solid, firn_vec(0.0f, 0.0f, 0.0f), size, ZERO - 1.0, 0.0f, 0.5f);
    return s;
}

static void heat_floor(scene *s, firn_collider_id floor, double temperature)
{
    firn_collider_def plane = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), 0.0f);
    plane.temperature = (float)temperature;
    plane.heat_exchange = 1e4f;
    scene_check(s, firn_sim_change_collider(s->sim, floor, &plane, &s->error));
}

static size_t count_melted(scene *s)
{
    size_t melted = 0;
    scene_read(s);
    for (size_t p = 0; p < s->particles.count; p++)
        melted += s->particles.material[p] == 2;
    return melted;
}

// Ten times: mass stays to the bit, and nothing jumps.
static void block_melts_and_freezes_without_a_pop(void **state)
{
    (void)state;
    firn_collider_id floor;
    scene s = block_open(0.02f, 1, &floor);
    scene_read(&s);
    totals before = scene_totals(&s);
    size_t count = s.particles.count;
    double fastest = 0.0;
    scene_step(&s, 0.1); // it sits down
    for (int i = 0; i < 10; i++) {
        heat_floor(&s, floor, ZERO + 60.0);
        for (int k = 0; k < 200 && count_melted(&s) < count; k++) {
            scene_step(&s, 0.02);
            fastest = fmax(fastest, firn_sim_stats(s.sim).max_speed);
        }
        assert_int_equal(count_melted(&s), count);
        heat_floor(&s, floor, ZERO - 60.0);
        for (int k = 0; k < 300 && count_melted(&s) > 0; k++) {
            scene_step(&s, 0.02);
            fastest = fmax(fastest, firn_sim_stats(s.sim).max_speed);
        }
        assert_int_equal(count_melted(&s), 0);
    }
    totals after = scene_totals(&s);
    print_message("ten cycles: fastest %.4f m/s, center %.4f to %.4f m\n", fastest,
                  before.center[1], after.center[1]);
    assert_int_equal(s.particles.count, count);
    assert_true(before.mass == after.mass || fabs(after.mass / before.mass - 1.0) < 1e-12);
    if (!(fastest < 0.1))
        fail_msg("something jumped at %g m/s", fastest);
    scene_close(&s);
}

static uint64_t hash_after(int threads, bool resume)
{
    firn_collider_id floor;
    scene s = block_open(0.02f, threads, &floor);
    for (int i = 0; i < 4; i++) {
        if (resume && i == 2) {
            scene_check(&s, firn_sim_save(s.sim, "heat_resume.chk", &s.error));
            scene_close(&s);
            s = block_open(0.02f, threads, &floor);
            scene_check(&s, firn_sim_load(s.sim, "heat_resume.chk", &s.error));
        }
        scene_step(&s, 0.035);
    }
    uint64_t hash = firn_sim_hash(s.sim);
    scene_close(&s);
    return hash;
}

static void heat_does_not_depend_on_threads_or_resume(void **state)
{
    (void)state;
    uint64_t expected = hash_after(1, false);
    assert_true(hash_after(2, false) == expected);
    assert_true(hash_after(3, false) == expected);
    assert_true(hash_after(1, true) == expected);
}

// Energy of all particles of a closed scene in which snow falls into warm water, melts and sloshes.
static void energy_stays(void **state)
{
    double seconds = *(const double *)*state;
    const float cell = 0.02f;
    firn_sim_def def = heat_def(cell, 500.0f);
    def.gravity = firn_vec(0.0f, -9.81f, 0.0f);
    scene s = scene_open(&def);
    firn_material_def snow = firn_material_def_default(), wet = water();
    firn_material_id solid = scene_material(&s, &snow), liquid = scene_material(&s, &wet);
    scene_check(&s, firn_sim_pair_materials(s.sim, solid, liquid, &s.error));
    firn_vec3 size = {6.0f * cell, 4.0f * cell, 6.0f * cell};
    scene_walls(&s, firn_vec(0.0f, 0.0f, 0.0f), size);
    scene_plane(&s, firn_vec(0.0f, 1.0f, 0.0f), 0.0f, FIRN_CONTACT_SEPARATE, 0.0f);
    fill(&s, liquid, firn_vec(0.0f, 0.0f, 0.0f), size, ZERO + 40.0, 1.0f, 1.0f);
    fill(&s, solid, firn_vec(0.02f, 0.12f, 0.02f), firn_vec(0.08f, 0.18f, 0.08f), ZERO - 10.0, 0.0f,
         1.0f);
    double before = firn_sim_enthalpy(s.sim);
    scene_step(&s, seconds);
    double off = firn_sim_enthalpy(s.sim) / before - 1.0;
    firn_step_stats stats = firn_sim_stats(s.sim);
    size_t solid_left = 0;
    scene_read(&s);
    for (size_t p = 0; p < s.particles.count; p++)
        solid_left += s.particles.material[p] == 1;
    print_message("energy: %g off after %lld substeps, %zu particles still snow\n", off,
                  (long long)stats.substep, solid_left);
    if (!(fabs(off) < 1e-5))
        fail_msg("energy is off by %g", off);
    scene_close(&s);
}

// What comes out of a nozzle as sauce is snow a moment later.
static void sauce_freezes_after_a_time(void **state)
{
    (void)state;
    firn_sim_def def = scene_def(&METHODS[0], 0.02f);
    def.gravity = firn_vec(0.0f, 0.0f, 0.0f);
    scene s = scene_open(&def);
    firn_material_def snow = firn_material_def_default(), sauce = water();
    sauce.freeze_after = 0.2f;
    firn_material_id solid = scene_material(&s, &snow), liquid = scene_material(&s, &sauce);
    scene_check(&s, firn_sim_pair_materials(s.sim, liquid, solid, &s.error));
    firn_source_def box = scene_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.1f, 0.1f, 0.1f));
    box.material = liquid;
    scene_source(&s, &box);
    scene_step(&s, 0.15);
    assert_true(count_melted(&s) == s.particles.count);
    scene_step(&s, 0.1);
    assert_true(count_melted(&s) == 0);
    scene_close(&s);
}

// A bar between two temperatures is the softer the warmer; sun warms the side that faces it.
static void warm_snow_is_soft_and_the_sun_warms_its_side(void **state)
{
    (void)state;
    const float cell = 0.02f;
    firn_sim_def def = heat_def(cell, 2000.0f);
    def.sun = 500.0f;
    scene s = scene_open(&def);
    firn_material_def matter = ice();
    matter.soft_stiffness = 0.1f;
    matter.stiff_below = (float)ZERO - 100.0f;
    fill(&s, scene_material(&s, &matter), firn_vec(0.0f, 0.0f, 0.0f),
         firn_vec(6.0f * cell, 6.0f * cell, 6.0f * cell), ZERO - 50.0, 0.0f, 0.0f);
    double before = firn_sim_enthalpy(s.sim);
    scene_step(&s, 0.5);
    double gained = firn_sim_enthalpy(s.sim) - before;
    double given = 500.0 * 36.0 * (double)cell * (double)cell * 0.5 * 2000.0;
    scene_read(&s);
    float *temperature = channel(&s, "temperature");
    double top = 0.0, bottom = 0.0;
    for (size_t p = 0; p < s.particles.count; p++) {
        double stiff = (1.0 - 0.9 * ((double)temperature[p] - ZERO + 100.0) / 100.0);
        assert_true(fabs((double)s.particles.stiffness[p] / stiff - 1.0) < 1e-3);
        if (s.position[p].y > 5.0f * cell)
            top = fmax(top, (double)temperature[p]);
        if (s.position[p].y < cell)
            bottom = fmax(bottom, (double)temperature[p]);
    }
    print_message("sun: %.3f of its power taken up, top %.2f, bottom %.2f K\n", gained / given, top,
                  bottom);
    assert_true(top > bottom + 5.0);
    assert_true(fabs(gained / given - 1.0) < 0.1);
    free(temperature);
    scene_close(&s);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    firn_sim_def def = heat_def(0.02f, 1.0f);
    scene s = scene_open(&def);
    firn_material_def snow = firn_material_def_default(), wet = water();
    firn_material_id a = scene_material(&s, &snow), b = scene_material(&s, &snow);
    assert_int_equal(firn_sim_pair_materials(s.sim, a, b, &s.error), FIRN_ERR_ARGUMENT);
    assert_non_null(strstr(s.error.message, "both are of solid models"));
    wet.latent_heat = 1e5f;
    firn_material_id c = scene_material(&s, &wet);
    assert_int_equal(firn_sim_pair_materials(s.sim, a, c, &s.error), FIRN_ERR_ARGUMENT);
    assert_non_null(strstr(s.error.message, "latent_heat"));
    snow.conductivity = -1.0f;
    assert_int_equal(firn_sim_add_material(s.sim, &snow, NULL, &s.error), FIRN_ERR_ARGUMENT);
    assert_non_null(strstr(s.error.message, "conductivity"));
    const firn_source_value cold = {.channel = "temperature", .value = {-5.0f}};
    firn_source_def box = scene_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.1f, 0.1f, 0.1f));
    box.values = &cold;
    box.value_count = 1;
    assert_int_equal(firn_sim_add_source(s.sim, &box, NULL, &s.error), FIRN_ERR_ARGUMENT);
    assert_non_null(strstr(s.error.message, "temperature of -5 K"));
    scene_close(&s);
}

int main(int count, char **words)
{
    double seconds = count > 1 && strcmp(words[1], "whole") == 0 ? 4.0 : 0.5;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_space_warms_by_the_error_function),
        cmocka_unit_test(ice_grows_as_stefan_says),
        cmocka_unit_test(snow_in_water_melts_by_calorimetry),
        cmocka_unit_test(block_melts_and_freezes_without_a_pop),
        cmocka_unit_test(heat_does_not_depend_on_threads_or_resume),
        cmocka_unit_test_prestate(energy_stays, &seconds),
        cmocka_unit_test(sauce_freezes_after_a_time),
        cmocka_unit_test(warm_snow_is_soft_and_the_sun_warms_its_side),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
