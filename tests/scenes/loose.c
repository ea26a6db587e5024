/// Loose snow: what falls piles up to its density. Flakes of plain snow see each other through the
/// grid before they touch, harden and stand as foam; loose snow must not.
#include "scene.h"

#include <string.h>

enum { CELLS = 8 }; // of the box along x and z

static const double POUR = 1.0, SETTLE = 0.4, FRAME = 0.02; // s

// With the word "whole" every rate, size of cells and integrator is tried with both models; without
// it, the one or two of each that have least to do.
static bool whole;

/// How it snows, and on what law.
typedef struct fall {
    const char *name;
    double rate; // kg/m^2 s
    float cell;  // m
    int model, integrator;
    bool loose;
} fall;

static double random_unit(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

static firn_material_def material_of(const fall *f)
{
    firn_material_def def = firn_material_def_default();
    if (f->model == FIRN_MODEL_POROUS)
        firn_material_def_preset("fresh", &def, NULL);
    return def;
}

static scene open_box(const fall *f)
{
    const method *m = &METHODS[f->integrator == FIRN_INTEGRATOR_IMPLICIT ? 1 : 0];
    firn_sim_def def = scene_def(m, f->cell);
    def.dt_max = 1e-3f;
    scene s = scene_open(&def);
    scene_plane(&s, firn_vec(0.0f, 1.0f, 0.0f), 0.0f, FIRN_CONTACT_SEPARATE, 0.5f);
    scene_walls(&s, firn_vec(0.0f, 0.0f, 0.0f), firn_vec(CELLS * f->cell, 0.0f, CELLS * f->cell));
    return s;
}

// A frame's worth of flakes in a thin sheet well above what lies there, on their way at 1 m/s.
static void add_flakes(scene *s, const fall *f, firn_source_def *source, size_t count,
                       uint64_t *random)
{
    firn_vec3 *points = malloc((count + 1) * sizeof *points);
    float width = CELLS * f->cell;
    for (size_t i = 0; i < count; i++)
        points[i] = firn_vec(width * (0.02f + 0.96f * (float)random_unit(random)),
                             1.2f * (float)(f->rate * POUR / 150.0) + 0.2f +
                                 0.02f * (float)random_unit(random),
                             width * (0.02f + 0.96f * (float)random_unit(random)));
    source->points = points;
    source->point_count = count;
    scene_source(s, source);
    free(points);
}

// Twice the height of the middle of mass, over that of snow of the initial density.
static double relative_height(const fall *f)
{
    scene s = open_box(f);
    firn_material_def material = material_of(f);
    double flake = (double)material.density * pow(f->cell, 3.0) / 8.0, owed = 0.0;
    double area = pow(CELLS * (double)f->cell, 2.0);
    firn_source_def source = firn_source_def_points(NULL, 0);
    const firn_source_value mass = {.channel = "mass", .value = {(float)flake}};
    source.values = &mass;
    source.value_count = 1;
    source.velocity = firn_vec(0.0f, -1.0f, 0.0f);
    source.loose = f->loose;
    source.material = scene_material(&s, &material);
    uint64_t random = 1;
    for (double t = 0.0; t < POUR + SETTLE; t += FRAME) {
        owed += t < POUR ? f->rate * FRAME * area / flake : 0.0;
        if (owed >= 1.0)
            add_flakes(&s, f, &source, (size_t)owed, &random);
        owed -= floor(owed);
        scene_step(&s, FRAME);
    }
    scene_read(&s);
    totals t = scene_totals(&s);
    double height = 2.0 * t.center[1] / (t.mass / ((double)material.density * area));
    print_message("%s, %s, %g kg/m^2 s, cells of %g m: %.3f of mass / (density area), %zu flakes, "
                  "%lld substeps\n",
                  f->name, f->loose ? "loose" : "plain", f->rate, (double)f->cell, height,
                  s.particles.count, (long long)firn_sim_stats(s.sim).substep);
    scene_close(&s);
    return height;
}

static void fallen_snow_is_as_high_as_its_mass_says(void **state)
{
    (void)state;
    for (int k = 0; k < 12; k++) {
        const double rates[] = {15.0, 30.0, 60.0};
        bool porous = k >= 6, short_one = k == 0 || k == 1 || k == 4 || k == 7;
        if (!whole && !short_one)
            continue;
        fall f = {porous ? "porous" : "snow",
                  rates[k % 3] * (porous ? 0.375 : 1.0), // of lighter snow, as many centimeters
                  k / 3 % 2 == 0 ? 0.02f : 0.015f,
                  porous ? FIRN_MODEL_POROUS : FIRN_MODEL_SNOW,
                  FIRN_INTEGRATOR_EXPLICIT,
                  true};
        assert_true(fabs(relative_height(&f) - 1.0) < 0.15);
    }
}

static void the_implicit_step_agrees(void **state)
{
    (void)state;
    fall f = {"snow implicit", 30.0, 0.02f, FIRN_MODEL_SNOW, FIRN_INTEGRATOR_IMPLICIT, true};
    assert_true(fabs(relative_height(&f) - 1.0) < 0.15);
    if (!whole)
        return;
    f.model = FIRN_MODEL_POROUS;
    f.name = "porous implicit";
    f.rate *= 0.375;
    assert_true(fabs(relative_height(&f) - 1.0) < 0.15);
}

static void plain_snow_stands_as_foam(void **state)
{
    (void)state;
    fall f = {"snow", 15.0, 0.02f, FIRN_MODEL_SNOW, FIRN_INTEGRATOR_EXPLICIT, false};
    assert_true(relative_height(&f) > 1.5);
}

// Height of a body of snow in the box after it fell, as above: spread over five times its height as
// loose flakes, or packed as it is.
static double settled_height(bool loose)
{
    fall f = {.cell = 0.02f};
    scene s = open_box(&f);
    const float width = CELLS * f.cell, height = loose ? 0.5f : 0.1f;
    firn_material_def material = firn_material_def_default();
    material.density = 200.0f;
    material.young_modulus = 5e4f;
    firn_source_def body = scene_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(width, height, width));
    body.material = scene_material(&s, &material);
    // The block is set down: thrown at 1 m/s it would itself end at 1.06.
    body.velocity = firn_vec(0.0f, loose ? -1.0f : -0.1f, 0.0f);
    body.loose = loose;
    body.snowfall = loose ? 0.2f : 0.0f;
    scene_source(&s, &body);
    scene_step(&s, 1.0);
    scene_read(&s);
    totals t = scene_totals(&s);
    double relative = 2.0 * t.center[1] * 200.0 * (double)(width * width) / t.mass;
    print_message("%s: %.3f of mass / (density area), %.3f kg\n", loose ? "loose" : "dense",
                  relative, t.mass);
    scene_close(&s);
    return relative;
}

static void loose_and_dense_snow_end_at_one_density(void **state)
{
    (void)state;
    double loose = settled_height(true), dense = settled_height(false);
    assert_true(fabs(loose / dense - 1.0) < 0.1);
}

// It snows into the box at a rate of 0.05 m/s, through still air.
static scene open_snowfall(int threads, int model)
{
    firn_sim_def def = scene_def(&METHODS[0], 0.02f);
    def.thread_count = threads;
    scene s = scene_open(&def);
    scene_plane(&s, firn_vec(0.0f, 1.0f, 0.0f), 0.0f, FIRN_CONTACT_SEPARATE, 0.5f);
    fall f = {.model = model};
    firn_material_def material = material_of(&f);
    firn_source_def sky =
        firn_source_def_box(firn_vec(0.0f, 0.2f, 0.0f), firn_vec(0.15f, 0.15f, 0.15f));
    sky.material = scene_material(&s, &material);
    sky.velocity = firn_vec(0.0f, -1.0f, 0.0f);
    sky.jitter = 1.0f;
    sky.end = 10.0;
    sky.snowfall = 0.05f;
    sky.loose = true;
    scene_source(&s, &sky);
    firn_force_def air = firn_force_def_drag(firn_vec(0.0f, 0.0f, 0.0f), 1.0f);
    scene_check(&s, firn_sim_add_force(s.sim, &air, NULL, &s.error));
    return s;
}

enum { FRAMES = 20 };

static uint64_t hash_after(int threads, int model, int resume_at)
{
    scene s = open_snowfall(threads, model);
    for (int i = 0; i < FRAMES; i++) {
        if (i == resume_at) {
            void *bytes;
            size_t size;
            scene_check(&s, firn_sim_save_memory(s.sim, &bytes, &size, &s.error));
            scene_close(&s);
            s = open_snowfall(threads, model);
            scene_check(&s, firn_sim_load_memory(s.sim, bytes, size, &s.error));
            firn_free(bytes);
        }
        scene_step(&s, FRAME);
    }
    uint64_t hash = firn_sim_hash(s.sim);
    scene_close(&s);
    return hash;
}

static void snowfall_has_the_same_bits_for_any_threads_and_after_a_resume(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        int model = k == 0 ? FIRN_MODEL_SNOW : FIRN_MODEL_POROUS;
        uint64_t one = hash_after(1, model, -1);
        assert_true(hash_after(2, model, -1) == one);
        assert_true(hash_after(3, model, -1) == one);
        assert_true(hash_after(8, model, -1) == one);
        assert_true(hash_after(2, model, FRAMES / 2) == one);
    }
}

static void as_much_falls_as_was_asked_for(void **state)
{
    (void)state;
    scene s = open_snowfall(1, FIRN_MODEL_SNOW);
    scene_read(&s);
    double before = scene_totals(&s).mass;
    for (int i = 0; i < 50; i++)
        scene_step(&s, FRAME);
    scene_read(&s);
    totals t = scene_totals(&s);
    double wanted = 400.0 * 0.05 * 0.3 * 0.3; // kg in a second
    print_message("%.4f kg in the air at the start, then %.4f in 1 s, asked for %.4f\n", before,
                  t.mass - before, wanted);
    assert_true(fabs(before / (wanted * 0.3) - 1.0) < 0.05);
    assert_true(fabs((t.mass - before) / wanted - 1.0) < 0.02);
    scene_close(&s);
}

int main(int argc, char **argv)
{
    whole = argc > 1 && strcmp(argv[1], "whole") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fallen_snow_is_as_high_as_its_mass_says),
        cmocka_unit_test(the_implicit_step_agrees),
        cmocka_unit_test(plain_snow_stands_as_foam),
        cmocka_unit_test(loose_and_dense_snow_end_at_one_density),
        cmocka_unit_test(snowfall_has_the_same_bits_for_any_threads_and_after_a_resume),
        cmocka_unit_test(as_much_falls_as_was_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
