/// What acts from afar: closed forms, agreement of kinds and integrators, and refusals.
#include "scene.h"

#include "firn/force.h"

#include <string.h>

#include "unit/def_rows.h"

static const float CELL = 0.02f;

static void expect_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%.9g is not %.9g within %g", a, b, tolerance);
}
static const firn_vec3 NOWHERE = {0.0f, 0.0f, 0.0f};

static firn_force_id add_force(scene *s, const firn_force_def *def)
{
    firn_force_id id;
    scene_check(s, firn_sim_add_force(s->sim, def, &id, &s->error));
    return id;
}

// A small lump in free flight.
static scene make_lump(const method *m, firn_vec3 gravity, float dt)
{
    firn_sim_def def = scene_def(m, CELL);
    def.gravity = gravity;
    def.dt_max = dt;
    def.tolerance = 1e-6f;
    scene s = scene_open(&def);
    firn_source_def box =
        scene_box(firn_vec(-0.04f, -0.04f, -0.04f), firn_vec(0.04f, 0.04f, 0.04f));
    scene_source(&s, &box);
    return s;
}

static totals after(scene *s, double seconds)
{
    scene_step(s, seconds);
    scene_read(s);
    return scene_totals(s);
}

static void two_forces_and_gravity_add_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIRN_COUNT(FEW); i++) {
        scene s = make_lump(&METHODS[FEW[i]], firn_vec(0.0f, -9.81f, 0.0f), 1e-3f);
        firn_force_def side = firn_force_def_constant(firn_vec(3.0f, 0.0f, 0.0f));
        firn_force_def lift = firn_force_def_constant(firn_vec(0.0f, 2.0f, -0.5f));
        lift.strength = 2.0f;
        add_force(&s, &side);
        add_force(&s, &lift);
        totals t = after(&s, 0.1);
        const double a[3] = {3.0, -9.81 + 4.0, -1.0};
        for (int k = 0; k < 3; k++)
            expect_near(t.velocity[k], 0.1 * a[k], 1e-4);
        scene_close(&s);
    }
}

// v = v_t tanh(g t / v_t) where nothing shelters; packed snow is let go with shelter = 0.
static void fall_in_still_air_ends_at_the_fall_speed(void **state)
{
    (void)state;
    const double g = 9.81;
    for (size_t i = 0; i < FIRN_COUNT(FEW); i++) {
        scene s = make_lump(&METHODS[FEW[i]], firn_vec(0.0f, -9.81f, 0.0f), 5e-3f);
        firn_force_def air = firn_force_def_drag(NOWHERE, 1.0f);
        air.shelter = 0.0f;
        add_force(&s, &air);
        for (int frame = 1; frame <= 6; frame++) {
            totals t = after(&s, 0.05);
            double expected = -tanh(g * 0.05 * frame);
            print_message("%s, %.2f s: %.5f m/s, %.5f expected\n", METHODS[FEW[i]].name,
                          0.05 * frame, t.velocity[1], expected);
            assert_true(fabs(t.velocity[1] / expected - 1.0) < 0.01);
        }
        scene_close(&s);
    }
}

// In a cross wind grains end up with the wind and their fall speed: the path leans by
// arctan(u/v_t).
static void cross_wind_sets_the_angle_of_fall(void **state)
{
    (void)state;
    scene s = make_lump(&METHODS[0], firn_vec(0.0f, -9.81f, 0.0f), 2e-3f);
    firn_force_def air = firn_force_def_drag(firn_vec(5.0f, 0.0f, 0.0f), 1.0f);
    air.shelter = 0.0f;
    add_force(&s, &air);
    totals t = after(&s, 2.0);
    expect_near(t.velocity[0] / -t.velocity[1], 5.0, 0.05);
    expect_near(t.velocity[1], -1.0, 0.01);
    scene_close(&s);
}

enum { LEAVES = 8 };
typedef struct field {
    firn_coord origin[LEAVES];
    firn_vec3 values[LEAVES * FIRN_LEAF_VOXELS];
    firn_velocity_grid grid;
} field;

// Two leaves along each axis around the origin: 16 voxels of 0.1 m.
static field *make_field(firn_vec3 value)
{
    field *f = calloc(1, sizeof *f);
    for (int i = 0; i < LEAVES; i++)
        f->origin[i] = (firn_coord){i & 4 ? 0 : -8, i & 2 ? 0 : -8, i & 1 ? 0 : -8};
    for (int i = 0; i < LEAVES * FIRN_LEAF_VOXELS; i++)
        f->values[i] = value;
    f->grid = (firn_velocity_grid){.map = {NOWHERE, firn_quat_identity(), 0.1f},
                                   .leaf_count = LEAVES,
                                   .leaf_origin = f->origin,
                                   .values = f->values};
    return f;
}

static void constant_callback(const firn_force_nodes *nodes, void *user)
{
    for (int i = 0; i < nodes->count; i++)
        nodes->acceleration[i] = *(const firn_vec3 *)user;
}

// Whatever says the same does the same: to the last bit.
static void constant_field_and_callback_agree(void **state)
{
    (void)state;
    firn_vec3 a = {2.0f, 1.0f, -0.5f};
    field *f = make_field(a);
    const firn_force_def defs[] = {firn_force_def_constant(a), firn_force_def_field(&f->grid),
                                   firn_force_def_callback(constant_callback, &a)};
    for (size_t i = 0; i < FIRN_COUNT(FEW); i++) {
        uint64_t first = 0;
        for (size_t k = 0; k < FIRN_COUNT(defs); k++) {
            scene s = make_lump(&METHODS[FEW[i]], firn_vec(0.0f, -9.81f, 0.0f), 1e-3f);
            add_force(&s, &defs[k]);
            totals t = after(&s, 0.03);
            expect_near(t.velocity[0], 0.06, 1e-5);
            first = k == 0 ? firn_sim_hash(s.sim) : first;
            // Weights of a trilinear sample add up to one with rounding only.
            if (k != 1)
                assert_true(firn_sim_hash(s.sim) == first);
            scene_close(&s);
        }
    }
    free(f);
}

// Outside of its leaves a field is zero, and zero in them is zero.
static void field_ends_where_its_values_end(void **state)
{
    (void)state;
    field *f = make_field(firn_vec(0.0f, 0.0f, 0.0f));
    for (int i = 0; i < FIRN_LEAF_VOXELS; i++)
        f->values[i] = firn_vec(1.0f, 0.0f, 0.0f); // the leaf below the origin in every direction
    firn_force_def def = firn_force_def_field(&f->grid);
    const float centers[3] = {-0.4f, 0.4f, 3.0f}, expected[3] = {0.05f, 0.0f, 0.0f};
    for (int k = 0; k < 3; k++) {
        firn_sim_def settings = scene_def(&METHODS[0], CELL);
        settings.gravity = NOWHERE;
        scene s = scene_open(&settings);
        firn_vec3 c = {centers[k], centers[k], centers[k]}, half = {0.04f, 0.04f, 0.04f};
        firn_source_def box = scene_box(firn_sub(c, half), firn_add(c, half));
        scene_source(&s, &box);
        add_force(&s, &def);
        expect_near(after(&s, 0.05).velocity[0], expected[k], 1e-5);
        scene_close(&s);
    }
    free(f);
}

static void explicit_and_implicit_steps_see_the_same_forces(void **state)
{
    (void)state;
    field *f = make_field(firn_vec(1.0f, 0.0f, 0.0f));
    double velocity[2][3];
    for (int k = 0; k < 2; k++) {
        scene s = make_lump(&METHODS[k], firn_vec(0.0f, -9.81f, 0.0f), 2e-4f);
        firn_force_def field_force = firn_force_def_field(&f->grid);
        firn_force_def air = firn_force_def_drag(firn_vec(0.0f, 0.0f, 3.0f), 1.0f);
        air.shelter = 0.0f;
        add_force(&s, &field_force);
        add_force(&s, &air);
        totals t = after(&s, 0.05);
        memcpy(velocity[k], t.velocity, sizeof t.velocity);
        scene_close(&s);
    }
    for (int k = 0; k < 3; k++)
        expect_near(velocity[0][k], velocity[1][k], 1e-3);
    free(f);
}

static uint64_t hash_with_threads(int threads)
{
    firn_sim_def def = scene_def(&METHODS[0], CELL);
    def.thread_count = threads;
    scene s = scene_open(&def);
    firn_source_def box = scene_box(firn_vec(-0.2f, 0.0f, -0.1f), firn_vec(0.2f, 0.2f, 0.1f));
    scene_source(&s, &box);
    firn_force_def air = firn_force_def_drag(firn_vec(9.0f, 0.0f, 0.0f), 0.5f);
    add_force(&s, &air);
    scene_step(&s, 0.02);
    uint64_t hash = firn_sim_hash(s.sim);
    scene_close(&s);
    return hash;
}

static void threads_change_nothing(void **state)
{
    (void)state;
    assert_true(hash_with_threads(1) == hash_with_threads(3));
}

static void potential_energy_knows_constant_forces(void **state)
{
    (void)state;
    scene s = make_lump(&METHODS[0], NOWHERE, 1e-3f);
    firn_force_def down = firn_force_def_constant(firn_vec(0.0f, -9.81f, 0.0f));
    add_force(&s, &down);
    totals t = after(&s, 0.1);
    firn_step_stats stats = firn_sim_stats(s.sim);
    // Of the particles at the start of the last substep.
    assert_true(fabs(stats.kinetic + stats.potential) < 0.03 * stats.kinetic);
    expect_near(t.velocity[1], -0.981, 1e-4);
    scene_close(&s);
}

// Snow that sleeps wakes where a force is different, and nowhere else.
static void changed_forces_wake_snow_where_they_act(void **state)
{
    (void)state;
    firn_sim_def def = scene_def(&METHODS[0], CELL);
    def.sleep_speed = 0.01f;
    def.sleep_time = 0.02f;
    scene s = scene_open(&def);
    scene_plane(&s, firn_vec(0.0f, 1.0f, 0.0f), 0.0f, FIRN_CONTACT_STICKY, 0.5f);
    const float places[2] = {0.0f, 4.0f};
    for (int k = 0; k < 2; k++) {
        firn_source_def box = scene_box(firn_vec(places[k] - 0.04f, 0.0f, -0.04f),
                                        firn_vec(places[k] + 0.04f, 0.04f, 0.04f));
        scene_source(&s, &box);
    }
    field *f = make_field(firn_vec(0.1f, 0.0f, 0.0f));
    firn_force_def field_force = firn_force_def_field(&f->grid);
    firn_force_def constant = firn_force_def_constant(firn_vec(0.1f, 0.0f, 0.0f));
    firn_force_id local = add_force(&s, &field_force), everywhere = add_force(&s, &constant);
    size_t count = firn_sim_particles(s.sim).count;
    for (int frame = 0; frame < 100 && firn_sim_stats(s.sim).asleep < count; frame++)
        scene_step(&s, 0.02);
    scene_step(&s, 0.01);
    assert_int_equal(firn_sim_stats(s.sim).asleep, count);
    // The same again is no change.
    scene_check(&s, firn_sim_change_force(s.sim, everywhere, &constant, &s.error));
    scene_step(&s, 0.004);
    assert_int_equal(firn_sim_stats(s.sim).asleep, count);
    scene_check(&s, firn_sim_change_force(s.sim, local, &field_force, &s.error));
    scene_step(&s, 0.004);
    assert_int_equal(firn_sim_stats(s.sim).asleep, count / 2);
    for (int frame = 0; frame < 100 && firn_sim_stats(s.sim).asleep < count; frame++)
        scene_step(&s, 0.02);
    constant.acceleration.x = 0.2f;
    scene_check(&s, firn_sim_change_force(s.sim, everywhere, &constant, &s.error));
    scene_step(&s, 0.004);
    assert_int_equal(firn_sim_stats(s.sim).asleep, 0);
    scene_close(&s);
    free(f);
}

static void expect_refusal(scene *s, const firn_force_def *def, const char *words)
{
    firn_force_id id = {7, 7};
    assert_int_equal(firn_sim_add_force(s->sim, def, &id, &s->error), FIRN_ERR_ARGUMENT);
    if (strstr(s->error.message, words) == NULL)
        fail_msg("'%s' does not say '%s'", s->error.message, words);
    assert_int_equal(id.index1, 7);
}

static void bad_forces_are_refused_and_change_nothing(void **state)
{
    (void)state;
    scene s = make_lump(&METHODS[0], NOWHERE, 1e-3f);
    firn_force_def def = firn_force_def_default();
    def.acceleration.y = NAN;
    expect_refusal(&s, &def, "force.acceleration");
    def = firn_force_def_default();
    def.kind = 9;
    expect_refusal(&s, &def, "force.kind");
    def = firn_force_def_callback(NULL, NULL);
    expect_refusal(&s, &def, "needs a function");
    def = firn_force_def_field(NULL);
    expect_refusal(&s, &def, "needs a grid");
    def = firn_force_def_drag(NOWHERE, 0.0f);
    expect_refusal(&s, &def, "force.fall_speed");
    def = firn_force_def_default();
    def.active_from = 2.0;
    def.active_to = 1.0;
    expect_refusal(&s, &def, "force.active_from");
    memset(&def, 0, sizeof def);
    expect_refusal(&s, &def, "not initialized");
    field *f = make_field(firn_vec(1.0f, 0.0f, 0.0f));
    f->values[100].y = INFINITY;
    def = firn_force_def_field(&f->grid);
    expect_refusal(&s, &def, "not finite");
    free(f);
    totals t = after(&s, 0.01);
    assert_true(t.velocity[0] == 0.0 && t.velocity[1] == 0.0 && t.velocity[2] == 0.0);
    scene_close(&s);
}

static void every_setting_of_a_force_has_a_row(void **state)
{
    (void)state;
    assert_rows_cover(firn_force_params(), sizeof(uint32_t), offsetof(firn_force_def, grid));
    assert_rows_are_sound(firn_force_params());
}

static void ids_of_forces_that_are_gone_are_seen(void **state)
{
    (void)state;
    scene s = make_lump(&METHODS[0], NOWHERE, 1e-3f);
    firn_force_def def = firn_force_def_constant(firn_vec(1.0f, 0.0f, 0.0f));
    firn_force_def drag = firn_force_def_drag(NOWHERE, 1.0f);
    firn_force_id first = add_force(&s, &def);
    assert_int_equal(firn_sim_change_force(s.sim, first, &drag, NULL), FIRN_ERR_ARGUMENT);
    assert_int_equal(firn_sim_remove_force(s.sim, first, NULL), FIRN_OK);
    assert_int_equal(firn_sim_remove_force(s.sim, first, NULL), FIRN_ERR_STALE);
    firn_force_id second = add_force(&s, &def);
    assert_int_equal(second.index1, first.index1);
    assert_int_equal(firn_sim_change_force(s.sim, first, &def, NULL), FIRN_ERR_STALE);
    const firn_force_id null = {0, 0}, foreign = {5, 1};
    assert_int_equal(firn_sim_remove_force(s.sim, null, NULL), FIRN_ERR_ARGUMENT);
    assert_int_equal(firn_sim_remove_force(s.sim, foreign, NULL), FIRN_ERR_STALE);
    expect_near(after(&s, 0.05).velocity[0], 0.05, 1e-5);
    assert_int_equal(firn_sim_remove_force(s.sim, second, NULL), FIRN_OK);
    expect_near(after(&s, 0.05).velocity[0], 0.05, 1e-5);
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_forces_and_gravity_add_up),
        cmocka_unit_test(fall_in_still_air_ends_at_the_fall_speed),
        cmocka_unit_test(cross_wind_sets_the_angle_of_fall),
        cmocka_unit_test(constant_field_and_callback_agree),
        cmocka_unit_test(field_ends_where_its_values_end),
        cmocka_unit_test(explicit_and_implicit_steps_see_the_same_forces),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(potential_energy_knows_constant_forces),
        cmocka_unit_test(changed_forces_wake_snow_where_they_act),
        cmocka_unit_test(bad_forces_are_refused_and_change_nothing),
        cmocka_unit_test(every_setting_of_a_force_has_a_row),
        cmocka_unit_test(ids_of_forces_that_are_gone_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
