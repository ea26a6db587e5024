/// What snow does to colliders: weight, momentum, torque, for every method.
#include "scene.h"

#include <string.h>

static const float CELL = 0.02f;

static void expect_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%.9g is not %.9g within %g", a, b, tolerance);
}
static const double PI = 3.141592653589793;

static firn_collider_force force_on(scene *s, firn_collider_id id)
{
    firn_collider_force force;
    scene_check(s, firn_sim_collider_force(s->sim, id, &force, &s->error));
    return force;
}

// A column in smooth walls stands on the floor: only that carries it.
enum { WALLS = 4, COLLIDERS = 5 };
typedef struct column {
    scene s;
    firn_collider_id floor, wall[WALLS];
    double mass; // kg
} column;

static firn_collider_id add_plane(scene *s, firn_vec3 normal, float distance, int contact)
{
    firn_collider_def def = firn_collider_def_plane(normal, distance);
    def.contact = contact;
    def.friction = 0.0f;
    return scene_collider(s, &def);
}

static column make_column(const firn_sim_def *def)
{
    column c = {.s = scene_open(def)};
    firn_vec3 lower = {0.3f, 0.0f, -0.2f}, upper = {0.34f, 0.16f, -0.16f};
    firn_source_def box = scene_box(lower, upper);
    scene_source(&c.s, &box);
    c.wall[0] = add_plane(&c.s, firn_vec(1.0f, 0.0f, 0.0f), lower.x, FIRN_CONTACT_SLIP);
    c.wall[1] = add_plane(&c.s, firn_vec(-1.0f, 0.0f, 0.0f), -upper.x, FIRN_CONTACT_SLIP);
    c.wall[2] = add_plane(&c.s, firn_vec(0.0f, 0.0f, 1.0f), lower.z, FIRN_CONTACT_SLIP);
    c.wall[3] = add_plane(&c.s, firn_vec(0.0f, 0.0f, -1.0f), -upper.z, FIRN_CONTACT_SLIP);
    c.floor = add_plane(&c.s, firn_vec(0.0f, 1.0f, 0.0f), 0.0f, FIRN_CONTACT_SEPARATE);
    scene_read(&c.s);
    c.mass = scene_totals(&c.s).mass;
    return c;
}

// Some methods have no damping and ring on: a smooth window over calls takes the mean.
static void resting_column_presses_with_its_weight(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIRN_COUNT(METHODS); i++) {
        firn_sim_def def = scene_def(&METHODS[i], CELL);
        def.dt_max = 5e-4f;
        column c = make_column(&def);
        const int samples = 90;
        double force[3] = {0.0}, wall[2] = {0.0}, torque[3] = {0.0}, weight = c.mass * 9.81;
        for (int k = 0; k < samples; k++) {
            scene_step(&c.s, 4e-3);
            double window = (1.0 - cos(2.0 * PI * (k + 0.5) / samples)) / samples;
            firn_collider_force f = force_on(&c.s, c.floor);
            expect_near(f.seconds, 4e-3, 1e-9);
            assert_true(f.peak >= 0.999 * fabs(f.force[1]));
            for (int axis = 0; axis < 3; axis++) {
                force[axis] += window * f.force[axis];
                torque[axis] += window * f.origin_torque[axis];
            }
            wall[0] += window * force_on(&c.s, c.wall[0]).force[0];
            wall[1] += window * force_on(&c.s, c.wall[1]).force[0];
        }
        print_message("%s: %.5f of the weight; walls %.4f and %.4f\n", METHODS[i].name,
                      -force[1] / weight, wall[0] / weight, wall[1] / weight);
        assert_true(fabs(-force[1] / weight - 1.0) < 0.005);
        assert_true(fabs(force[0]) + fabs(force[2]) < 1e-3 * weight);
        // The walls are pushed outward, alike, and the weight acts in the middle of the column.
        assert_true(wall[0] < 0.0 && fabs(wall[0] + wall[1]) < 0.02 * fabs(wall[0]));
        expect_near(torque[2] / force[1], 0.32, 1e-3);
        expect_near(-torque[0] / force[1], -0.18, 1e-3);
        scene_close(&c.s);
    }
}

// Impulses on all colliders are what gravity gave less what the snow has kept, call after call.
static void momentum_that_snow_loses_is_what_colliders_get(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIRN_COUNT(METHODS); i++) {
        firn_sim_def def = scene_def(&METHODS[i], CELL);
        def.dt_max = 5e-4f;
        def.tolerance = 1e-7f;
        column c = make_column(&def);
        double before[3] = {0.0}, worst = 0.0;
        for (int k = 0; k < 12; k++) {
            const double seconds = 2e-3;
            scene_step(&c.s, seconds);
            scene_read(&c.s);
            totals t = scene_totals(&c.s);
            double given[3] = {0.0};
            for (int w = 0; w < COLLIDERS; w++) {
                firn_collider_force f = force_on(&c.s, w < WALLS ? c.wall[w] : c.floor);
                for (int axis = 0; axis < 3; axis++)
                    given[axis] += seconds * f.force[axis];
            }
            for (int axis = 0; axis < 3; axis++) {
                double gravity = axis == 1 ? -9.81 * seconds : 0.0;
                double lost = c.mass * (gravity - t.velocity[axis] + before[axis]);
                worst = fmax(worst, fabs(given[axis] - lost) / (c.mass * 9.81 * seconds));
                before[axis] = t.velocity[axis];
            }
        }
        print_message("%s: off by %.1e of the weight's impulse\n", METHODS[i].name, worst);
        assert_true(worst < 1e-4);
        scene_close(&c.s);
    }
}

// Without gravity: a block that flies at a wall, off its pivot.
static void impulse_on_a_wall_is_the_momentum_lost(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIRN_COUNT(METHODS); i++) {
        firn_sim_def def = scene_def(&METHODS[i], CELL);
        def.gravity = firn_vec(0.0f, 0.0f, 0.0f);
        def.tolerance = 1e-6f;
        scene s = scene_open(&def);
        firn_source_def box = scene_box(firn_vec(0.02f, 0.16f, 0.0f), firn_vec(0.1f, 0.24f, 0.08f));
        box.velocity = firn_vec(-2.0f, 0.0f, 0.0f);
        scene_source(&s, &box);
        firn_collider_def wall =
            firn_collider_def_box(firn_vec(-0.5f, 0.1f, 0.0f), firn_vec(0.5f, 1.0f, 1.0f));
        firn_collider_id id = scene_collider(&s, &wall);
        scene_read(&s);
        totals before = scene_totals(&s);
        double impulse[3] = {0.0}, angular[3] = {0.0}, about_pivot = 0.0;
        for (int k = 0; k < 4; k++) {
            scene_step(&s, 0.02);
            firn_collider_force f = force_on(&s, id);
            expect_near(f.pivot[0], -0.5, 1e-6);
            for (int axis = 0; axis < 3; axis++) {
                impulse[axis] += 0.02 * f.force[axis];
                angular[axis] += 0.02 * f.origin_torque[axis];
            }
            about_pivot += 0.02 * f.torque[2];
        }
        scene_read(&s);
        totals after = scene_totals(&s);
        double scale = before.mass * 2.0;
        print_message("%s: impulse %.6f, lost %.6f of the momentum\n", METHODS[i].name,
                      impulse[0] / scale, (before.velocity[0] - after.velocity[0]) / 2.0);
        for (int axis = 0; axis < 3; axis++)
            assert_true(fabs(impulse[axis] - before.mass * (before.velocity[axis] -
                                                            after.velocity[axis])) < 2e-5 * scale);
        // The height of the block is the arm, about the origin and about the pivot.
        expect_near(-angular[2] / impulse[0], 0.2, 2e-3);
        expect_near(about_pivot, angular[2] - (-0.5 * impulse[1] - 0.1 * impulse[0]), 1e-7 * scale);
        scene_close(&s);
    }
}

static void snow_that_fell_asleep_goes_on_pressing(void **state)
{
    (void)state;
    firn_sim_def def = scene_def(&METHODS[0], CELL);
    def.sleep_speed = 0.001f;
    def.sleep_time = 0.05f;
    column c = make_column(&def);
    bool partly = false;
    size_t count = c.s.particles.count, asleep = 0;
    double weight = c.mass * 9.81, worst = 0.0;
    for (int frame = 0; frame < 60; frame++) {
        scene_step(&c.s, 0.02);
        asleep = firn_sim_stats(c.s.sim).asleep;
        firn_collider_force f = force_on(&c.s, c.floor);
        if (asleep > 0)
            worst = fmax(worst, fabs(-f.force[1] / weight - 1.0));
        partly |= asleep > 0 && asleep < count;
        assert_true((asleep > 0) == (f.asleep[1] < 0.0));
    }
    print_message("asleep it presses with the weight within %.2f %%\n", 100.0 * worst);
    assert_int_equal(asleep, count);
    assert_true(partly && worst < 0.005);
    scene_close(&c.s);
}

// A floor of 200 boxes, as they come from a scan: each carries what stands on it.
static void two_hundred_colliders_carry_the_weight_together(void **state)
{
    (void)state;
    enum { EDGE_X = 20, EDGE_Z = 10, COUNT = EDGE_X * EDGE_Z };
    firn_sim_def def = scene_def(&METHODS[0], CELL);
    uint64_t hash[2];
    double sum[2] = {0.0};
    for (int run = 0; run < 2; run++) {
        def.thread_count = 1 + 2 * run;
        scene s = scene_open(&def);
        firn_source_def box = scene_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.8f, 0.04f, 0.4f));
        scene_source(&s, &box);
        scene_walls(&s, firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.8f, 0.04f, 0.4f));
        firn_collider_id ids[COUNT];
        for (int i = 0; i < COUNT; i++) {
            firn_vec3 center = {0.04f * ((float)(i % EDGE_X) + 0.5f), -0.1f,
                                0.04f * ((float)(i / EDGE_X) + 0.5f)};
            firn_collider_def part = firn_collider_def_box(center, firn_vec(0.02f, 0.1f, 0.02f));
            ids[i] = scene_collider(&s, &part);
        }
        scene_step(&s, 0.15);
        scene_step(&s, 0.05);
        scene_read(&s);
        double weight = 9.81 * scene_totals(&s).mass, least = 1e9;
        for (int i = 0; i < COUNT; i++) {
            double force = -force_on(&s, ids[i]).force[1];
            sum[run] += force;
            least = fmin(least, force * COUNT / weight);
        }
        print_message("%d boxes: %.4f of the weight, the least %.3f of its share\n", COUNT,
                      sum[run] / weight, least);
        assert_true(fabs(sum[run] / weight - 1.0) < 0.01 && least > 0.2);
        hash[run] = firn_sim_hash(s.sim);
        scene_close(&s);
    }
    assert_true(hash[0] == hash[1] && sum[0] == sum[1]);
}

static void step_and_tell(column *c, firn_collider_force told[COLLIDERS])
{
    scene_step(&c->s, 0.01);
    for (int w = 0; w < COLLIDERS; w++)
        told[w] = force_on(&c->s, w < WALLS ? c->wall[w] : c->floor);
}

// Any number of threads and a resumed run tell the same, to the last bit.
static void forces_have_the_same_bits_for_threads_and_after_a_resume(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        firn_sim_def def = scene_def(&METHODS[i], CELL);
        def.sleep_speed = 0.02f;
        def.sleep_time = 0.02f;
        firn_collider_force told[2][COLLIDERS], resumed[COLLIDERS];
        for (int run = 0; run < 2; run++) {
            def.thread_count = 1 + 2 * run;
            column c = make_column(&def), other = make_column(&def);
            scene_step(&c.s, 0.21);
            void *bytes;
            size_t size;
            scene_check(&c.s, firn_sim_save_memory(c.s.sim, &bytes, &size, &c.s.error));
            step_and_tell(&c, told[run]);
            scene_check(&other.s, firn_sim_load_memory(other.s.sim, bytes, size, &other.s.error));
            assert_true(force_on(&other.s, other.floor).seconds == 0.0);
            step_and_tell(&other, resumed);
            assert_memory_equal(resumed, told[run], sizeof resumed);
            firn_free(bytes);
            scene_close(&c.s);
            scene_close(&other.s);
        }
        assert_memory_equal(told[0], told[1], sizeof told[0]);
    }
}

static void forces_are_those_of_the_collider_asked_for(void **state)
{
    (void)state;
    firn_sim_def def = scene_def(&METHODS[0], CELL);
    column c = make_column(&def);
    firn_collider_force f = force_on(&c.s, c.floor);
    assert_true(f.seconds == 0.0 && f.force[1] == 0.0);
    scene_step(&c.s, 0.05);
    assert_true(force_on(&c.s, c.floor).force[1] < 0.0);
    assert_int_equal(firn_sim_remove_collider(c.s.sim, c.floor, NULL), FIRN_OK);
    assert_int_equal(firn_sim_collider_force(c.s.sim, c.floor, &f, &c.s.error), FIRN_ERR_STALE);
    firn_collider_id again =
        add_plane(&c.s, firn_vec(0.0f, 1.0f, 0.0f), 0.0f, FIRN_CONTACT_SEPARATE);
    assert_int_equal(again.index1, c.floor.index1);
    f = force_on(&c.s, again);
    assert_true(f.seconds == 0.0 && f.force[1] == 0.0);
    const firn_collider_id null = {0, 0};
    assert_int_equal(firn_sim_collider_force(c.s.sim, null, &f, NULL), FIRN_ERR_ARGUMENT);
    scene_close(&c.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resting_column_presses_with_its_weight),
        cmocka_unit_test(momentum_that_snow_loses_is_what_colliders_get),
        cmocka_unit_test(impulse_on_a_wall_is_the_momentum_lost),
        cmocka_unit_test(snow_that_fell_asleep_goes_on_pressing),
        cmocka_unit_test(two_hundred_colliders_carry_the_weight_together),
        cmocka_unit_test(forces_have_the_same_bits_for_threads_and_after_a_resume),
        cmocka_unit_test(forces_are_those_of_the_collider_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
