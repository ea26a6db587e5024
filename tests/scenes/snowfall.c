/// Snow that falls out of the air: as high as its mass says, none of it lost, whoever carries it.
#include "scene.h"

enum { CELLS = 5 }; // of the box along x and z

static const double POUR = 1.0, SETTLE = 0.7; // s

/// How it snows, and on what law.
typedef struct fall {
    const char *name;
    double rate; // kg/m^2 s
    float cell;  // m
    int model, flight;
} fall;

static firn_material_def material_of(const fall *f)
{
    firn_material_def def = firn_material_def_default();
    if (f->model == FIRN_MODEL_POROUS)
        firn_material_def_preset("fresh", &def, NULL);
    return def;
}

static scene open_fall(const fall *f)
{
    firn_sim_def def = scene_def(&METHODS[0], f->cell);
    def.dt_max = 1e-3f;
    def.free_flight = f->flight;
    scene s = scene_open(&def);
    float width = CELLS * f->cell;
    scene_plane(&s, firn_vec(0.0f, 1.0f, 0.0f), 0.0f, FIRN_CONTACT_SEPARATE, 0.5f);
    scene_walls(&s, firn_vec(0.0f, 0.0f, 0.0f), firn_vec(width, 0.0f, width));
    firn_material_def material = material_of(f);
    firn_source_def source = firn_source_def_box(firn_vec(0.5f * width, 0.45f, 0.5f * width),
                                                 firn_vec(0.49f * width, 0.15f, 0.49f * width));
    source.velocity = firn_vec(0.0f, -1.0f, 0.0f);
    source.snowfall = (float)(f->rate / (double)material.density);
    source.jitter = 1.0f;
    source.loose = true;
    source.end = POUR;
    source.material = scene_material(&s, &material);
    firn_force_def air = firn_force_def_drag(firn_vec(0.0f, 0.0f, 0.0f), 1.0f);
    air.density = material.density;
    scene_check(&s, firn_sim_add_force(s.sim, &air, NULL, &s.error));
    scene_source(&s, &source);
    return s;
}

// Twice the height of the middle of mass, over that of snow of the initial density. All that was
// given is there, and nothing flies any more.
static double relative_height(const fall *f)
{
    scene s = open_fall(f);
    double width = CELLS * (double)f->cell, density = (double)material_of(f).density;
    size_t in_air = 0;
    for (double time = 0.0; time < POUR + SETTLE; time += 0.05) {
        scene_step(&s, 0.05);
        size_t flying = firn_sim_stats(s.sim).flying;
        in_air = flying > in_air ? flying : in_air;
    }
    scene_read(&s);
    totals t = scene_totals(&s);
    uint32_t last = 0;
    for (size_t i = 0; i < s.particles.count; i++)
        last = s.particles.id[i] > last ? s.particles.id[i] : last;
    assert_true(s.particles.count == (size_t)last + 1);
    firn_step_stats stats = firn_sim_stats(s.sim);
    assert_true(stats.flying == 0 && (in_air > 0) == (f->flight != FIRN_FLIGHT_OFF));
    double height = 2.0 * t.center[1] / (t.mass / (density * width * width));
    print_message("%s, %g kg/m^2 s, cells of %g m, flight %d: %.3f of mass / (density area), %zu "
                  "flakes, %zu of them in the air, %zu lie alone\n",
                  f->name, f->rate, (double)f->cell, f->flight, height, s.particles.count, in_air,
                  stats.settled);
    scene_close(&s);
    return height;
}

static void fallen_snow_is_as_high_as_its_mass_says(void **state)
{
    (void)state;
    const double rates[] = {15.0, 30.0, 60.0};
    for (int k = 0; k < 12; k++) {
        // Three rates, two cell sizes and two models; a third of all, in which each occurs.
        if (k % 3 != (k / 3) % 3)
            continue;
        bool porous = k >= 6;
        fall f = {porous ? "porous" : "snow", rates[k % 3] * (porous ? 0.375 : 1.0),
                  k / 3 % 2 == 0 ? 0.02f : 0.015f, porous ? FIRN_MODEL_POROUS : FIRN_MODEL_SNOW,
                  FIRN_FLIGHT_SNOWFALL};
        assert_true(fabs(relative_height(&f) - 1.0) < 0.15);
    }
}

static void it_does_not_matter_who_carries_the_flakes(void **state)
{
    (void)state;
    fall f = {"snow", 30.0, 0.02f, FIRN_MODEL_SNOW, FIRN_FLIGHT_OFF};
    double on_grid = relative_height(&f);
    f.flight = FIRN_FLIGHT_ALL;
    assert_true(fabs(relative_height(&f) - on_grid) < 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fallen_snow_is_as_high_as_its_mass_says),
        cmocka_unit_test(it_does_not_matter_who_carries_the_flakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
