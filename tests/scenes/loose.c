/// Loose snow: what falls piles up to its density. Flakes of plain snow see each other through the
/// grid before they touch, harden and stand as foam; loose snow must not.
#include "scene.h"

#include <string.h>

enum { CELLS = 8 }; // of the box along x and z

static const double POUR = 1.0, SETTLE = 0.4, FRAME = 0.02; // s

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
    const firn_source_value mass = {"mass", {(float)flake}};
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
        bool porous = k >= 6;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fallen_snow_is_as_high_as_its_mass_says),
        cmocka_unit_test(the_implicit_step_agrees),
        cmocka_unit_test(plain_snow_stands_as_foam),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
