/// Liquids that a shot can trust: pressure, volume, buoyancy, films.
#include "scene.h"

#include <string.h>

static const firn_vec3 ORIGIN = {0.0f, 0.0f, 0.0f};
static const double GRAVITY = 9.81;

static firn_material_def preset(const char *name)
{
    firn_material_def def;
    assert_int_equal(firn_material_def_preset(name, &def, NULL), FIRN_OK);
    return def;
}

static void fill(scene *s, const firn_material_def *material, firn_vec3 lower, firn_vec3 upper,
                 float jitter)
{
    firn_source_def box = scene_box(lower, upper);
    box.jitter = jitter;
    box.material = scene_material(s, material);
    scene_source(s, &box);
}

/// A basin that is open above.
static void basin(scene *s, firn_vec3 size, int contact)
{
    scene_walls(s, ORIGIN, size);
    scene_plane(s, firn_vec(0.0f, 1.0f, 0.0f), 0.0f, contact, 0.0f);
}

static double pressure_of(const firn_material_def *m, double j)
{
    double bulk = (double)m->density * (double)m->sound_speed * (double)m->sound_speed;
    return bulk / 7.0 * (pow(j, -7.0) - 1.0);
}

// The depth of a layer with this center of mass, over what its mass and density ask for.
static double volume_kept(scene *s, firn_vec3 size)
{
    scene_read(s);
    totals t = scene_totals(s);
    double depth = t.mass / (1000.0 * (double)size.x * (double)size.z);
    return 2.0 * t.center[1] / depth;
}

// A column 16 cells deep. Pressure: a line through all depths but those at the floor, where nodes
// that cannot move make it swing, and at the surface.
static void water_at_rest(const method *m, double seconds, double bound)
{
    enum { LAYERS = 16, SAMPLES = 40 };
    const float cell = 0.02f;
    firn_sim_def def = scene_def(m, cell);
    def.dt_max = 1e-3f;
    scene s = scene_open(&def);
    firn_material_def water = preset("water");
    firn_vec3 size = {4.0f * cell, LAYERS * cell, 4.0f * cell};
    fill(&s, &water, ORIGIN, size, 0.5f);
    basin(&s, size, FIRN_CONTACT_SEPARATE);
    scene_step(&s, seconds);
    double sum = 0.0, weight = 0.0, fastest = 0.0;
    for (int i = 0; i < SAMPLES; i++) {
        scene_step(&s, 5e-3);
        scene_read(&s);
        for (size_t p = 0; p < s.particles.count; p++) {
            double depth = (double)size.y - (double)s.position[p].y;
            fastest = fmax(fastest, (double)firn_length(s.velocity[p]));
            if (depth < 3.0 * (double)cell || depth > 13.0 * (double)cell)
                continue;
            double expected = 1000.0 * GRAVITY * depth;
            sum += pressure_of(&water, (double)s.particles.jp[p]) * expected;
            weight += expected * expected;
        }
    }
    double height = volume_kept(&s, size);
    print_message("%s: pressure %.4f, height %.4f, fastest %.4f m/s\n", m->name, sum / weight,
                  height, fastest);
    if (!(fabs(sum / weight - 1.0) < 0.03))
        fail_msg("%s: pressure is %g of rho g depth", m->name, sum / weight);
    if (!(fabs(height - 1.0) < bound))
        fail_msg("%s: the column is %g times as high as it should be", m->name, height);
    scene_close(&s);
}

static void water_rests_with_pressure_and_height(void **state)
{
    (void)state;
    water_at_rest(&METHODS[0], 5.0, 0.01);
    water_at_rest(&METHODS[1], 1.0, 0.02);
}

// A column that falls into a box three times as wide sloshes, and keeps its volume.
static void water_keeps_its_volume(void **state)
{
    double seconds = *(const double *)*state;
    const float cell = 0.025f;
    firn_sim_def def = scene_def(&METHODS[0], cell);
    scene s = scene_open(&def);
    firn_material_def water = preset("water");
    water.viscosity = 1.0f;
    firn_vec3 size = {24.0f * cell, 0.0f, 4.0f * cell};
    fill(&s, &water, ORIGIN, firn_vec(8.0f * cell, 16.0f * cell, 4.0f * cell), 1.0f);
    basin(&s, size, FIRN_CONTACT_SEPARATE);
    scene_step(&s, seconds);
    double kept = volume_kept(&s, size), speed = firn_sim_stats(s.sim).max_speed;
    print_message("volume after %g s: %.4f, fastest %.3f m/s\n", seconds, kept, speed);
    if (!(fabs(kept - 1.0) < 0.02))
        fail_msg("%g of the volume is left", kept);
    scene_close(&s);
}

// A viscous film on an incline: u = rho g sin(a) (2 H y - y^2) / (2 eta).
static void film_flows_with_a_parabola(void **state)
{
    (void)state;
    enum { DEEP = 8 };
    const float cell = 0.01f, eta = 100.0f, along = 3.0f;
    firn_sim_def def = scene_def(&METHODS[0], cell);
    def.gravity = firn_vec(along, -9.3f, 0.0f);
    scene s = scene_open(&def);
    firn_material_def honey = preset("water");
    honey.viscosity = eta;
    firn_vec3 size = {64.0f * cell, DEEP * cell, 2.0f * cell};
    fill(&s, &honey, ORIGIN, size, 0.5f);
    scene_plane(&s, firn_vec(0.0f, 0.0f, 1.0f), 0.0f, FIRN_CONTACT_SLIP, 0.0f);
    scene_plane(&s, firn_vec(0.0f, 0.0f, -1.0f), -size.z, FIRN_CONTACT_SLIP, 0.0f);
    scene_plane(&s, firn_vec(0.0f, 1.0f, 0.0f), 0.0f, FIRN_CONTACT_STICKY, 0.0f);
    scene_step(&s, 0.12);
    scene_read(&s);
    double depth = (double)size.y, product = 0.0, square = 0.0, worst = 0.0;
    double top = 1000.0 * (double)along * depth * depth / (2.0 * (double)eta);
    for (size_t p = 0; p < s.particles.count; p++) {
        double y = (double)s.position[p].y;
        if (fabs((double)s.position[p].x - 0.4) > 0.08 || y > depth - (double)cell)
            continue;
        double exact = top * (2.0 * y / depth - y * y / (depth * depth));
        product += exact * (double)s.velocity[p].x;
        square += exact * exact;
        worst = fmax(worst, fabs((double)s.velocity[p].x - exact) / top);
    }
    print_message("film: %.4f of the parabola, worst %.4f of the top\n", product / square, worst);
    if (!(fabs(product / square - 1.0) < 0.08))
        fail_msg("the film has %g of its velocity", product / square);
    scene_close(&s);
}

// It neither sinks nor jumps out. This is not yet the law, 0.917 of it below the surface: with
// cells an eighth of its edge it lies too deep by half a cell and more, docs/liquids.md.
static void ice_stays_at_the_surface(void **state)
{
    (void)state;
    const float cell = 0.02f;
    firn_sim_def def = scene_def(&METHODS[0], cell);
    scene s = scene_open(&def);
    firn_material_def water = preset("water"), ice = preset("jelly");
    ice.density = 917.0f;
    ice.young_modulus = 4e5f;
    ice.damping = 1e-3f;
    firn_vec3 size = {18.0f * cell, 14.0f * cell, 18.0f * cell};
    const float low = 5.0f * cell, high = 13.0f * cell, top = 15.0f * cell;
    // Around a hole of the size of the ice, which begins near where it will float.
    fill(&s, &water, ORIGIN, firn_vec(size.x, 6.0f * cell, size.z), 0.5f);
    fill(&s, &water, firn_vec(0.0f, 6.0f * cell, 0.0f), firn_vec(low, size.y, size.z), 0.5f);
    fill(&s, &water, firn_vec(high, 6.0f * cell, 0.0f), size, 0.5f);
    fill(&s, &water, firn_vec(low, 6.0f * cell, 0.0f), firn_vec(high, size.y, low), 0.5f);
    fill(&s, &water, firn_vec(low, 6.0f * cell, high), firn_vec(high, size.y, size.z), 0.5f);
    fill(&s, &ice, firn_vec(low, 6.0f * cell, low), firn_vec(high, top, high), 0.5f);
    basin(&s, size, FIRN_CONTACT_SEPARATE);
    scene_step(&s, 2.0);
    double ice_height = 0.0, all = 0.0, mass = 0.0, ice_mass = 0.0;
    for (int i = 0; i < 50; i++) {
        scene_step(&s, 0.02);
        scene_read(&s);
        for (size_t p = 0; p < s.particles.count; p++) {
            double m = (double)s.particles.mass[p], y = (double)s.position[p].y;
            bool is_ice = s.particles.material[p] == 6;
            ice_height += is_ice ? m * y : 0.0;
            ice_mass += is_ice ? m : 0.0;
            all += m * y;
            mass += m;
        }
    }
    ice_height /= ice_mass;
    // A column of water would stand at this level: all of it, and what the ice weighs.
    double level = mass / 50.0 / (1000.0 * (double)size.x * (double)size.z);
    double tall = (double)top - 6.0 * (double)cell;
    double below = (level - (ice_height - 0.5 * tall)) / tall;
    print_message("ice: %.4f below, level %.4f m\n", below, level);
    if (!(fabs(below - 0.917) < 0.1))
        fail_msg("%g of the ice is under water", below);
    scene_close(&s);
}

int main(int count, char **words)
{
    double seconds = count > 1 && strcmp(words[1], "whole") == 0 ? 14.0 : 5.0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(water_rests_with_pressure_and_height),
        cmocka_unit_test_prestate(water_keeps_its_volume, &seconds),
        cmocka_unit_test(film_flows_with_a_parabola),
        cmocka_unit_test(ice_stays_at_the_surface),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
