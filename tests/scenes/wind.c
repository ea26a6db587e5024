/// Air and snow: what is thin drifts, what is packed holds, solids turn the air aside.
#include "scene.h"

#include "firn/force.h"

static const float CELL = 0.02f;
static const firn_vec3 NOWHERE = {0.0f, 0.0f, 0.0f};

static void add_air(scene *s, const firn_force_def *def)
{
    scene_check(s, firn_sim_add_force(s->sim, def, NULL, &s->error));
}

// Snow as thin as a fraction of a hundredth of packed snow.
static firn_source_def thin_box(scene *s, firn_vec3 lower, firn_vec3 upper)
{
    firn_material_def thin = firn_material_def_default();
    thin.density = 1.0f;
    firn_source_def box = scene_box(lower, upper);
    box.material = scene_material(s, &thin);
    return box;
}

// v = v_t tanh(g t / v_t), x = v_t^2 / g ln cosh(g t / v_t) with the shelter as it is by default.
static void thin_snow_falls_as_grains_do(void **state)
{
    (void)state;
    const double g = 9.81;
    for (size_t i = 0; i < FIRN_COUNT(FEW); i++) {
        firn_sim_def def = scene_def(&METHODS[FEW[i]], CELL);
        def.dt_max = 2e-4f;
        def.tolerance = 1e-6f;
        scene s = scene_open(&def);
        firn_source_def box =
            thin_box(&s, firn_vec(-0.04f, 1.0f, -0.04f), firn_vec(0.04f, 1.08f, 0.04f));
        scene_source(&s, &box);
        firn_force_def air = firn_force_def_drag(NOWHERE, 1.0f);
        air.density = 917.0f;
        add_air(&s, &air);
        scene_read(&s);
        double start = scene_totals(&s).center[1];
        for (int k = 1; k <= 6; k++) {
            scene_step(&s, 0.05);
            scene_read(&s);
            totals t = scene_totals(&s);
            double time = 0.05 * k, v = tanh(g * time), x = log(cosh(g * time)) / g;
            print_message("%s, %.2f s: %.4f of the speed, %.4f of the way\n", METHODS[FEW[i]].name,
                          time, -t.velocity[1] / v, (start - t.center[1]) / x);
            assert_true(fabs(-t.velocity[1] / v - 1.0) < 0.01);
            assert_true(fabs((start - t.center[1]) / x - 1.0) < 0.01);
        }
        scene_close(&s);
    }
}

// Without gravity and shelter the air gives p = m u k u t / (1 + k u t), to what leaves it.
static void momentum_is_what_drag_adds_up_to(void **state)
{
    (void)state;
    const double u = 8.0, k = 9.81, seconds = 0.04;
    for (size_t i = 0; i < FIRN_COUNT(FEW); i++) {
        firn_sim_def def = scene_def(&METHODS[FEW[i]], CELL);
        def.gravity = NOWHERE;
        def.dt_max = 1e-3f;
        scene s = scene_open(&def);
        firn_source_def box =
            scene_box(firn_vec(-0.04f, 0.0f, -0.04f), firn_vec(0.04f, 0.08f, 0.04f));
        scene_source(&s, &box);
        firn_force_def air = firn_force_def_drag(firn_vec((float)u, 0.0f, 0.0f), 1.0f);
        air.shelter = 0.0f;
        add_air(&s, &air);
        scene_step(&s, seconds);
        scene_read(&s);
        totals t = scene_totals(&s);
        double expected = u * k * u * seconds / (1.0 + k * u * seconds);
        print_message("%s: %.5f m/s, %.5f expected\n", METHODS[FEW[i]].name, t.velocity[0],
                      expected);
        assert_true(fabs(t.velocity[0] / expected - 1.0) < 2e-3);
        assert_true(fabs(t.velocity[1]) < 1e-4 && fabs(t.velocity[2]) < 1e-4);
        scene_close(&s);
    }
}

static double farthest_move(scene *s, const firn_vec3 *before)
{
    double most = 0.0;
    scene_read(s);
    for (size_t i = 0; i < s->particles.count; i++) {
        firn_vec3 from = before[s->particles.id[i]];
        most = fmax(most, (double)firn_length(firn_sub(s->position[i], from)));
    }
    return most;
}

// A block that has come to rest, then a second of 20 m/s and gusts: no grain of it goes 1 mm. The
// block lies across cells in three ways, so that the skin is thin in three ways.
static void packed_block_holds_its_skin_in_20_m_per_s(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        float shift = 0.35f * CELL * (float)k;
        firn_sim_def def = scene_def(&METHODS[0], CELL);
        def.thread_count = 2;
        scene s = scene_open(&def);
        scene_plane(&s, firn_vec(0.0f, 1.0f, 0.0f), 0.0f, FIRN_CONTACT_SEPARATE, 0.5f);
        firn_source_def box = scene_box(firn_vec(-0.1f + shift, 0.0f, -0.1f + shift),
                                        firn_vec(0.1f + shift, 0.08f + shift, 0.1f + shift));
        box.jitter = 1.0f;
        scene_source(&s, &box);
        scene_step(&s, 0.5);
        scene_read(&s);
        firn_vec3 *before = malloc(s.particles.count * sizeof *before);
        for (size_t i = 0; i < s.particles.count; i++)
            before[s.particles.id[i]] = s.position[i];
        firn_force_def wind = firn_force_def_drag(firn_vec(20.0f, 0.0f, 0.0f), 1.0f);
        wind.gust = 3.0f;
        add_air(&s, &wind);
        scene_step(&s, 1.0);
        double most = farthest_move(&s, before);
        print_message("shifted by %.3f m: the farthest grain went %.4f mm\n", (double)shift,
                      1e3 * most);
        assert_true(most < 1e-3);
        free(before);
        scene_close(&s);
    }
}

// Beyond a shelter of 1 wind wears packed snow: the way to erosion.
static void a_large_shelter_wears_the_surface(void **state)
{
    (void)state;
    firn_sim_def def = scene_def(&METHODS[0], CELL);
    scene s = scene_open(&def);
    scene_plane(&s, firn_vec(0.0f, 1.0f, 0.0f), 0.0f, FIRN_CONTACT_SEPARATE, 0.5f);
    firn_source_def box = scene_box(firn_vec(-0.1f, 0.0f, -0.1f), firn_vec(0.1f, 0.08f, 0.1f));
    scene_source(&s, &box);
    firn_force_def wind = firn_force_def_drag(firn_vec(20.0f, 0.0f, 0.0f), 1.0f);
    wind.shelter = 3.0f;
    add_air(&s, &wind);
    scene_step(&s, 0.1);
    scene_read(&s);
    assert_true(scene_totals(&s).velocity[0] > 0.01);
    scene_close(&s);
}

// Wind straight into a wall goes nowhere: thin snow beside it is not pressed on, but along it is
// taken with the wind.
static void walls_turn_the_air_aside(void **state)
{
    (void)state;
    for (int along = 0; along < 2; along++) {
        firn_sim_def def = scene_def(&METHODS[0], CELL);
        def.gravity = NOWHERE;
        scene s = scene_open(&def);
        firn_collider_def wall = firn_collider_def_plane(firn_vec(-1.0f, 0.0f, 0.0f), 0.0f);
        wall.friction = 0.0f;
        scene_collider(&s, &wall);
        firn_source_def box =
            thin_box(&s, firn_vec(-0.02f, 0.0f, 0.0f), firn_vec(0.0f, 0.2f, 0.2f));
        scene_source(&s, &box);
        firn_vec3 u = along ? firn_vec(0.0f, 10.0f, 0.0f) : firn_vec(10.0f, 0.0f, 0.0f);
        firn_force_def wind = firn_force_def_drag(u, 1.0f);
        add_air(&s, &wind);
        scene_step(&s, 0.01);
        scene_read(&s);
        totals t = scene_totals(&s);
        print_message("wind %s the wall: %.3f %.3f m/s\n", along ? "along" : "into", t.velocity[0],
                      t.velocity[1]);
        if (along)
            assert_true(t.velocity[1] > 3.0);
        else
            assert_true(fabs(t.velocity[0]) < 0.5 && fabs(t.velocity[1]) < 0.5);
        scene_close(&s);
    }
}

// Changing wind keeps what it reaches awake and lets sheltered snow sleep.
static void wind_wakes_only_what_it_reaches(void **state)
{
    (void)state;
    firn_sim_def def = scene_def(&METHODS[0], CELL);
    def.sleep_speed = 0.01f;
    def.sleep_time = 0.02f;
    scene s = scene_open(&def);
    scene_plane(&s, firn_vec(0.0f, 1.0f, 0.0f), 0.0f, FIRN_CONTACT_STICKY, 0.5f);
    firn_source_def packed = scene_box(firn_vec(-0.1f, 0.0f, -0.1f), firn_vec(0.1f, 0.08f, 0.1f));
    scene_source(&s, &packed);
    size_t count = firn_sim_particles(s.sim).count;
    firn_source_def thin = thin_box(&s, firn_vec(2.0f, 0.0f, 0.0f), firn_vec(2.1f, 0.02f, 0.1f));
    scene_source(&s, &thin);
    firn_force_def wind = firn_force_def_drag(firn_vec(0.5f, 0.0f, 0.0f), 1.0f);
    wind.gust = 0.5f;
    firn_force_id id;
    scene_check(&s, firn_sim_add_force(s.sim, &wind, &id, &s.error));
    for (int frame = 0; frame < 100 && firn_sim_stats(s.sim).asleep < count; frame++)
        scene_step(&s, 0.02);
    assert_int_equal(firn_sim_stats(s.sim).asleep, count);
    for (int frame = 0; frame < 5; frame++) {
        wind.velocity.x += 1.0f;
        scene_check(&s, firn_sim_change_force(s.sim, id, &wind, &s.error));
        scene_step(&s, 0.01);
        assert_int_equal(firn_sim_stats(s.sim).asleep, count);
    }
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thin_snow_falls_as_grains_do),
        cmocka_unit_test(momentum_is_what_drag_adds_up_to),
        cmocka_unit_test(packed_block_holds_its_skin_in_20_m_per_s),
        cmocka_unit_test(a_large_shelter_wears_the_surface),
        cmocka_unit_test(walls_turn_the_air_aside),
        cmocka_unit_test(wind_wakes_only_what_it_reaches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
