/// Bodies among themselves: weights, free motion, contacts, joints, sleep.
#include "scenes/body_scene.h"

#include "unit/level_set_fixture.h"

static firn_sim_def plain_def(void)
{
    firn_sim_def def = scene_def(&METHODS[0], 0.05f);
    return def;
}

static firn_body_mass mass_of(const firn_body_def *def)
{
    firn_sim_def plain = plain_def();
    scene s = scene_open(&plain);
    firn_body_mass mass;
    scene_check(&s, firn_sim_body_mass(s.sim, add_body(&s, def), &mass, &s.error));
    scene_close(&s);
    return mass;
}

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.9g is not %.9g within %.3g", value, expected, tolerance);
}

static void shapes_weigh_what_their_formulas_say(void **state)
{
    (void)state;
    firn_body_def box = box_def(firn_vec(1.0f, 2.0f, 3.0f), firn_vec(0.1f, 0.2f, 0.3f));
    firn_body_mass mass = mass_of(&box);
    assert_near(mass.mass, 700.0 * 8 * 0.006, 1e-4);
    assert_near(mass.inertia[0], mass.mass * (0.04 + 0.09) / 3.0, 1e-4);
    firn_body_def ball = firn_body_def_default();
    ball.mass = 2.0f;
    mass = mass_of(&ball);
    assert_near(mass.mass, 2.0, 1e-6);
    assert_near(mass.inertia[4], 0.4 * 2.0 * 0.25, 1e-6);
    // A capsule without a length is a ball; a long one is nearly a rod.
    firn_body_def rod = firn_body_def_default();
    rod.shape = firn_collider_def_capsule(firn_vec(0, -5, 0), firn_vec(0, 5, 0), 0.01f);
    rod.mass = 3.0f;
    mass = mass_of(&rod);
    assert_near(mass.inertia[0], 3.0 * 100.0 / 12.0, 0.01 * 25.0);
}

static void a_level_set_weighs_like_its_shape(void **state)
{
    (void)state;
    fixture_box box = {.center = {0.3f, -0.1f, 0.2f}, .size = {0.22f, 0.11f, 0.31f}};
    fixture_set set = fixture_make(fixture_box_distance, &box, fixture_map(0.02f), 0.06f, 5);
    firn_body_def def = firn_body_def_default();
    def.shape = firn_collider_def_level_set(&set.set);
    firn_body_mass mass = mass_of(&def);
    fixture_free(&set);
    double expected = 700.0 * 8 * 0.22 * 0.11 * 0.31;
    assert_near(mass.mass / expected, 1.0, 0.02);
    assert_near(mass.center[0], 0.3, 2e-3);
    assert_near(mass.center[1], -0.1, 2e-3);
    assert_near(mass.inertia[4] / (mass.mass * (0.22 * 0.22 + 0.31 * 0.31) / 3.0), 1.0, 0.02);
    assert_near(mass.inertia[1] / mass.inertia[0], 0.0, 1e-3);
}

static void bodies_that_cannot_be_are_refused(void **state)
{
    (void)state;
    firn_sim_def plain = plain_def();
    scene s = scene_open(&plain);
    firn_body_def def = firn_body_def_default();
    def.shape = firn_collider_def_plane(firn_vec(0, 1, 0), 0.0f);
    assert_int_equal(firn_sim_add_body(s.sim, &def, NULL, &s.error), FIRN_ERR_ARGUMENT);
    def = firn_body_def_default();
    def.mass = -1.0f;
    assert_int_equal(firn_sim_add_body(s.sim, &def, NULL, &s.error), FIRN_ERR_ARGUMENT);
    def = firn_body_def_default();
    def.density = 0.0f;
    assert_int_equal(firn_sim_add_body(s.sim, &def, NULL, &s.error), FIRN_ERR_ARGUMENT);
    def = firn_body_def_default();
    def.inertia = firn_vec(1.0f, 1.0f, 3.0f);
    assert_int_equal(firn_sim_add_body(s.sim, &def, NULL, &s.error), FIRN_ERR_ARGUMENT);
    def = firn_body_def_default();
    def.shape.offset = -2.0f; // nothing is left of it
    assert_int_equal(firn_sim_add_body(s.sim, &def, NULL, &s.error), FIRN_ERR_ARGUMENT);
    firn_body_id none = {1, 1};
    firn_body_state body;
    assert_int_equal(firn_sim_body(s.sim, none, &body, &s.error), FIRN_ERR_STALE);
    scene_close(&s);
}

static double length3(const double v[3]) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

// I w in the world, from the state alone.
static void momentum_of(const firn_body_state *b, const firn_body_mass *mass, double l[3])
{
    const double *q = b->rotation, x = q[0], y = q[1], z = q[2], w = q[3];
    const double r[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                         2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                         2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    double own[3] = {0};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            own[i] += r[3 * k + i] * b->angular_velocity[k];
    for (int i = 0; i < 3; i++)
        own[i] *= mass->inertia[4 * i];
    for (int i = 0; i < 3; i++)
        l[i] = r[3 * i] * own[0] + r[3 * i + 1] * own[1] + r[3 * i + 2] * own[2];
}

static void a_tumbling_body_keeps_energy_and_angular_momentum(void **state)
{
    (void)state;
    firn_sim_def plain = plain_def();
    plain.gravity = firn_vec(0, 0, 0);
    scene s = scene_open(&plain);
    firn_body_def def = box_def(firn_vec(0, 0, 0), firn_vec(0.1f, 0.2f, 0.3f));
    def.angular_velocity = firn_vec(0.3f, 8.0f, 0.2f); // about the axis that is not stable
    firn_body_id id = add_body(&s, &def);
    firn_body_mass mass;
    scene_check(&s, firn_sim_body_mass(s.sim, id, &mass, &s.error));
    firn_body_state before = state_of(&s, id);
    double l0[3], l1[3], worst = 0.0, flipped = 1.0;
    momentum_of(&before, &mass, l0);
    for (int i = 0; i < 100; i++) { // 100 substeps of 2 ms in each
        scene_step(&s, 0.2);
        firn_body_state now = state_of(&s, id);
        momentum_of(&now, &mass, l1);
        double e0 = 0.0, e1 = 0.0;
        for (int k = 0; k < 3; k++) {
            e0 += l0[k] * before.angular_velocity[k];
            e1 += l1[k] * now.angular_velocity[k];
            worst = fmax(worst, fabs(l1[k] - l0[k]) / length3(l0));
        }
        worst = fmax(worst, fabs(e1 / e0 - 1.0));
        const double *q = now.rotation; // its own y axis along y
        flipped = fmin(flipped, 1.0 - 2.0 * (q[0] * q[0] + q[2] * q[2]));
    }
    assert_true(firn_sim_stats(s.sim).substep >= 10000);
    assert_true(flipped < -0.9); // it does tumble
    print_message("energy and momentum within %.2e over %d substeps\n", worst,
                  (int)firn_sim_stats(s.sim).substep);
    assert_true(worst < 1e-3);
    scene_close(&s);
}

static void elastic_balls_swap_velocities(void **state)
{
    (void)state;
    firn_sim_def plain = plain_def();
    plain.gravity = firn_vec(0, 0, 0);
    scene s = scene_open(&plain);
    firn_body_def def = firn_body_def_default();
    def.shape = firn_collider_def_sphere(firn_vec(-0.5f, 0, 0), 0.2f);
    def.shape.restitution = 1.0f;
    def.velocity = firn_vec(2.0f, 0, 0);
    firn_body_id a = add_body(&s, &def);
    def.shape.pose.translation.x = 0.5f;
    def.velocity = firn_vec(-1.0f, 0, 0);
    firn_body_id b = add_body(&s, &def);
    scene_step(&s, 0.5);
    assert_near(state_of(&s, a).velocity[0], -1.0, 1e-4);
    assert_near(state_of(&s, b).velocity[0], 2.0, 1e-4);
    scene_close(&s);
}

static double slide(float friction, float degrees)
{
    firn_sim_def plain = plain_def();
    scene s = scene_open(&plain);
    float angle = degrees * 0.01745329f;
    firn_vec3 up = {sinf(angle), cosf(angle), 0.0f};
    firn_collider_def ramp = firn_collider_def_plane(up, 0.0f);
    ramp.friction = friction;
    scene_collider(&s, &ramp);
    firn_body_def def = box_def(firn_scale(0.1001f, up), firn_vec(0.2f, 0.1f, 0.2f));
    def.shape.friction = friction;
    def.shape.pose.rotation = firn_quat_turn(firn_vec(0, 0, 1), -angle);
    firn_body_id id = add_body(&s, &def);
    scene_step(&s, 0.1);
    double v0 = length3(state_of(&s, id).velocity);
    scene_step(&s, 0.5);
    double a = (length3(state_of(&s, id).velocity) - v0) / 0.5;
    scene_close(&s);
    return a;
}

static void a_box_slides_down_an_incline_as_coulomb_says(void **state)
{
    (void)state;
    double angle = 20.0 * 0.01745329, g = 9.81;
    const float mu[] = {0.0f, 0.1f, 0.3f};
    for (int i = 0; i < 3; i++) {
        double expected = g * (sin(angle) - (double)mu[i] * cos(angle)), a = slide(mu[i], 20.0f);
        print_message("mu %g: %.4f m/s^2, expected %.4f\n", (double)mu[i], a, expected);
        assert_near(a / expected, 1.0, 0.02);
    }
    assert_near(slide(0.5f, 20.0f), 0.0, 1e-3); // steeper than that it would slide
}

static void ten_boxes_stand_for_five_seconds(void **state)
{
    (void)state;
    firn_sim_def plain = plain_def();
    scene s = scene_open(&plain);
    firn_collider_def ground = firn_collider_def_plane(firn_vec(0, 1, 0), 0.0f);
    scene_collider(&s, &ground);
    firn_body_id id[10];
    for (int i = 0; i < 10; i++) {
        firn_body_def def = box_def(firn_vec(0.003f * (float)(i % 3), 0.1f + 0.2f * (float)i, 0),
                                    firn_vec(0.1f, 0.1f, 0.1f));
        def.shape.friction = 0.5f;
        id[i] = add_body(&s, &def);
    }
    scene_step(&s, 5.0);
    double off = 0.0, sunk = 0.0, fastest = 0.0;
    for (int i = 0; i < 10; i++) {
        firn_body_state b = state_of(&s, id[i]);
        off = fmax(off, fabs(b.center[0] - 0.003 * (i % 3)) + fabs(b.center[2]));
        sunk = fmax(sunk, fabs(b.center[1] - 0.1 - 0.2 * i));
        fastest = fmax(fastest, length3(b.velocity));
    }
    print_message("after 5 s: %.2f mm aside, %.2f mm sunk, %.2e m/s\n", 1e3 * off, 1e3 * sunk,
                  fastest);
    assert_true(off < 0.01 && sunk < 0.02 && fastest < 0.01);
    scene_close(&s);
}

static void a_door_turns_about_its_hinge_to_its_stop(void **state)
{
    (void)state;
    firn_sim_def plain = plain_def();
    scene s = scene_open(&plain);
    firn_body_def def = box_def(firn_vec(0.5f, 0, 0), firn_vec(0.5f, 0.02f, 0.2f));
    firn_body_id door = add_body(&s, &def);
    firn_joint_def hinge = firn_joint_def_default();
    hinge.second = door;
    hinge.axis = firn_vec(0, 0, 1);
    hinge.limited = true;
    hinge.lower = -0.6f;
    hinge.upper = 0.1f;
    scene_check(&s, firn_sim_add_joint(s.sim, &hinge, NULL, &s.error));
    assert_int_equal(firn_sim_remove_body(s.sim, door, &s.error), FIRN_ERR_ARGUMENT);
    scene_step(&s, 3.0);
    firn_body_state b = state_of(&s, door);
    assert_near(length3(b.center), 0.5, 2e-3);
    assert_near(atan2(b.center[1], b.center[0]), -0.6, 0.01);
    assert_near(b.center[2], 0.0, 1e-3);
    scene_close(&s);
}

static void a_pendulum_swings_in_its_period(void **state)
{
    (void)state;
    firn_sim_def plain = plain_def();
    scene s = scene_open(&plain);
    firn_body_def def = firn_body_def_default();
    def.shape = firn_collider_def_sphere(firn_vec(0.1f, -1.0f, 0), 0.05f);
    firn_body_id bob = add_body(&s, &def);
    firn_joint_def ball = firn_joint_def_default();
    ball.kind = FIRN_JOINT_BALL;
    ball.second = bob;
    scene_check(&s, firn_sim_add_joint(s.sim, &ball, NULL, &s.error));
    double length = sqrt(1.01), arm2 = length * length + 0.4 * 0.05 * 0.05;
    double period = 2.0 * 3.14159265 * sqrt(arm2 / (9.81 * length)) * (1.0 + 0.01 / 16.0);
    scene_step(&s, 2.0 * period);
    firn_body_state b = state_of(&s, bob);
    print_message("after two periods at %.4f m of 0.1\n", b.center[0]);
    assert_near(b.center[0], 0.1, 0.004);
    assert_near(length3(b.center), length, 1e-3);
    scene_close(&s);
}

static void a_motor_turns_with_its_torque(void **state)
{
    (void)state;
    firn_sim_def plain = plain_def();
    plain.gravity = firn_vec(0, 0, 0);
    scene s = scene_open(&plain);
    firn_body_def def = firn_body_def_default();
    def.mass = 10.0f; // I = 1 kg m^2
    firn_body_id wheel = add_body(&s, &def);
    firn_joint_def hinge = firn_joint_def_default();
    hinge.second = wheel;
    hinge.axis = firn_vec(0, 0, 1);
    hinge.motor_torque = 2.0f;
    hinge.motor_speed = 5.0f;
    scene_check(&s, firn_sim_add_joint(s.sim, &hinge, NULL, &s.error));
    scene_step(&s, 1.0);
    assert_near(state_of(&s, wheel).angular_velocity[2], 2.0, 0.01);
    scene_step(&s, 3.0);
    assert_near(state_of(&s, wheel).angular_velocity[2], 5.0, 0.01);
    scene_close(&s);
}

static void fixed_bodies_fall_as_one(void **state)
{
    (void)state;
    firn_sim_def plain = plain_def();
    scene s = scene_open(&plain);
    firn_body_def def = firn_body_def_default();
    def.shape = firn_collider_def_sphere(firn_vec(0, 0, 0), 0.2f);
    firn_body_id a = add_body(&s, &def);
    def.shape.pose.translation.x = 1.0f;
    def.velocity = firn_vec(0, 3.0f, 0);
    firn_body_id b = add_body(&s, &def);
    firn_joint_def joint = firn_joint_def_default();
    joint.kind = FIRN_JOINT_FIXED;
    joint.first = a;
    joint.second = b;
    joint.anchor = firn_vec(0.5f, 0, 0);
    scene_check(&s, firn_sim_add_joint(s.sim, &joint, NULL, &s.error));
    scene_step(&s, 1.0);
    firn_body_state p = state_of(&s, a), q = state_of(&s, b);
    double r[3] = {q.center[0] - p.center[0], q.center[1] - p.center[1], q.center[2] - p.center[2]};
    assert_near(length3(r), 1.0, 2e-3);
    assert_near(0.5 * (p.velocity[1] + q.velocity[1]), 1.5 - 9.81, 1e-3);
    assert_near(p.angular_velocity[2] - q.angular_velocity[2], 0.0, 1e-3);
    assert_true(p.angular_velocity[2] > 1.0);
    scene_close(&s);
}

// One wagon moves, four stand: couplings share its momentum, and keep their distances.
static void a_chain_of_wagons_shares_its_momentum(void **state)
{
    (void)state;
    firn_sim_def plain = plain_def();
    scene s = scene_open(&plain);
    firn_collider_def rail = firn_collider_def_plane(firn_vec(0, 1, 0), 0.0f);
    rail.friction = 0.0f;
    scene_collider(&s, &rail);
    firn_body_id id[5];
    for (int i = 0; i < 5; i++) {
        firn_body_def def =
            box_def(firn_vec(-0.5f * (float)i, 0.1f, 0), firn_vec(0.2f, 0.1f, 0.1f));
        def.shape.friction = 0.0f;
        def.velocity = firn_vec(i == 0 ? 5.0f : 0.0f, 0, 0);
        id[i] = add_body(&s, &def);
        firn_joint_def coupling = firn_joint_def_default();
        coupling.kind = i % 2 == 0 ? FIRN_JOINT_BALL : FIRN_JOINT_HINGE;
        coupling.axis = firn_vec(0, 1, 0);
        coupling.anchor = firn_vec(-0.5f * (float)i + 0.25f, 0.1f, 0);
        coupling.second = id[i];
        if (i > 0) {
            coupling.first = id[i - 1];
            scene_check(&s, firn_sim_add_joint(s.sim, &coupling, NULL, &s.error));
        }
    }
    scene_step(&s, 1.0);
    double sum = 0.0;
    for (int i = 0; i < 5; i++) {
        sum += state_of(&s, id[i]).velocity[0];
        assert_near(state_of(&s, id[i]).velocity[0], 1.0, 0.02);
        double apart =
            i > 0 ? state_of(&s, id[i - 1]).center[0] - state_of(&s, id[i]).center[0] : 0.5;
        assert_near(apart, 0.5, 2e-3);
    }
    assert_near(sum, 5.0, 1e-6);
    scene_close(&s);
}

static void a_ball_joint_swings_as_far_as_its_cone(void **state)
{
    (void)state;
    firn_sim_def plain = plain_def();
    scene s = scene_open(&plain);
    firn_body_def def = box_def(firn_vec(0.5f, 0, 0), firn_vec(0.5f, 0.02f, 0.02f));
    firn_body_id rod = add_body(&s, &def);
    firn_joint_def ball = firn_joint_def_default();
    ball.kind = FIRN_JOINT_BALL;
    ball.second = rod;
    ball.axis = firn_vec(1, 0, 0);
    ball.limited = true;
    ball.upper = 0.3f;
    scene_check(&s, firn_sim_add_joint(s.sim, &ball, NULL, &s.error));
    scene_step(&s, 2.0);
    firn_body_state b = state_of(&s, rod);
    assert_near(length3(b.center), 0.5, 2e-3);
    assert_near(atan2(b.center[1], hypot(b.center[0], b.center[2])), -0.3, 0.01);
    scene_close(&s);
}

// A box in a box, a box in the ground, one that stands on it, and two that a joint holds together.
static void what_begins_inside_another_is_found(void **state)
{
    (void)state;
    firn_sim_def plain = plain_def();
    scene s = scene_open(&plain);
    firn_collider_def ground = firn_collider_def_plane(firn_vec(0, 1, 0), 0.0f);
    scene_collider(&s, &ground);
    firn_vec3 half = firn_vec(0.1f, 0.1f, 0.1f);
    firn_body_def def = box_def(firn_vec(0, 1.0f, 0), firn_vec(0.4f, 0.4f, 0.4f));
    firn_body_id large = add_body(&s, &def);
    def = box_def(firn_vec(0, 1.0f, 0), half);
    firn_body_id inner = add_body(&s, &def);
    def = box_def(firn_vec(3.0f, 0.06f, 0), half);
    firn_body_id sunk = add_body(&s, &def);
    def = box_def(firn_vec(6.0f, 0.1f, 0), half);
    add_body(&s, &def);
    firn_joint_def joint = firn_joint_def_default();
    def = box_def(firn_vec(9.0f, 1.0f, 0), half);
    joint.first = add_body(&s, &def);
    def = box_def(firn_vec(9.1f, 1.0f, 0), half);
    joint.second = add_body(&s, &def);
    scene_check(&s, firn_sim_add_joint(s.sim, &joint, NULL, &s.error));
    firn_body_overlap found[4];
    int count = 0;
    scene_check(&s, firn_sim_body_overlaps(s.sim, found, 4, &count, &s.error));
    assert_int_equal(count, 2);
    assert_int_equal(found[0].body.index1, large.index1);
    assert_int_equal(found[0].other.index1, inner.index1);
    assert_near(found[0].depth, 0.3, 0.021); // its edges are round by 1 cm
    assert_int_equal(found[1].body.index1, sunk.index1);
    assert_int_equal(found[1].other.index1, 0);
    assert_near(found[1].depth, 0.04, 1e-3);
    scene_check(&s, firn_sim_body_overlaps(s.sim, NULL, 0, &count, &s.error));
    assert_int_equal(count, 2);
    scene_close(&s);
}

static void what_was_animated_is_let_go_with_its_velocity(void **state)
{
    (void)state;
    firn_sim_def plain = plain_def();
    scene s = scene_open(&plain);
    firn_body_def def = box_def(firn_vec(0, 0, 0), firn_vec(0.1f, 0.1f, 0.1f));
    def.release = 0.5;
    firn_body_id id = add_body(&s, &def);
    firn_pose_key keys[2] = {{0.0, def.shape.pose}, {1.0, def.shape.pose}};
    keys[1].pose.translation = firn_vec(2.0f, 4.0f, 0.0f);
    scene_check(&s, firn_sim_move_body(s.sim, id, keys, 2, &s.error));
    scene_step(&s, 0.5);
    assert_near(state_of(&s, id).center[1], 2.0, 1e-5);
    scene_step(&s, 0.5);
    firn_body_state b = state_of(&s, id);
    assert_true(b.released);
    assert_near(b.velocity[0], 2.0, 1e-3);
    assert_near(b.velocity[1], 4.0 - 0.5 * 9.81, 0.02);
    assert_near(b.center[0], 2.0, 1e-2);
    keys[1].pose.scale = 2.0f;
    assert_int_equal(firn_sim_move_body(s.sim, id, keys, 2, &s.error), FIRN_ERR_ARGUMENT);
    scene_close(&s);
}

static void held_axes_hold(void **state)
{
    (void)state;
    firn_sim_def plain = plain_def();
    scene s = scene_open(&plain);
    firn_collider_def ramp = firn_collider_def_plane(firn_vec(1, 1, 0.3f), 0.0f);
    scene_collider(&s, &ramp);
    firn_body_def def = box_def(firn_vec(0, 0.5f, 0), firn_vec(0.1f, 0.1f, 0.1f));
    def.free_move = firn_vec(1, 1, 0);
    def.free_turn = firn_vec(0, 0, 1);
    firn_body_id id = add_body(&s, &def);
    scene_step(&s, 1.0);
    firn_body_state b = state_of(&s, id);
    assert_true(b.center[2] == 0.0 && b.rotation[0] == 0.0 && b.rotation[1] == 0.0);
    assert_true(b.center[1] < 0.0 && b.rotation[2] != 0.0);
    scene_close(&s);
}

static void bodies_at_rest_sleep_and_wake_with_what_hits_them(void **state)
{
    (void)state;
    firn_sim_def plain = plain_def();
    plain.sleep_speed = 0.02f;
    scene s = scene_open(&plain);
    firn_collider_def ground = firn_collider_def_plane(firn_vec(0, 1, 0), 0.0f);
    scene_collider(&s, &ground);
    firn_body_def def = box_def(firn_vec(0, 0.1f, 0), firn_vec(0.1f, 0.1f, 0.1f));
    firn_body_id low = add_body(&s, &def);
    def.shape.pose.translation.y = 0.3f;
    firn_body_id high = add_body(&s, &def);
    scene_step(&s, 1.0);
    assert_true(state_of(&s, low).asleep && state_of(&s, high).asleep);
    double before = state_of(&s, high).center[1];
    scene_step(&s, 1.0);
    assert_true(state_of(&s, high).center[1] == before);
    def = box_def(firn_vec(-1.0f, 0.3f, 0), firn_vec(0.05f, 0.05f, 0.05f));
    def.velocity = firn_vec(5.0f, 1.0f, 0);
    add_body(&s, &def);
    scene_step(&s, 0.3);
    assert_true(!state_of(&s, low).asleep && !state_of(&s, high).asleep);
    assert_true(state_of(&s, high).center[0] > 0.005);
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_weigh_what_their_formulas_say),
        cmocka_unit_test(a_level_set_weighs_like_its_shape),
        cmocka_unit_test(bodies_that_cannot_be_are_refused),
        cmocka_unit_test(a_tumbling_body_keeps_energy_and_angular_momentum),
        cmocka_unit_test(elastic_balls_swap_velocities),
        cmocka_unit_test(a_box_slides_down_an_incline_as_coulomb_says),
        cmocka_unit_test(ten_boxes_stand_for_five_seconds),
        cmocka_unit_test(a_door_turns_about_its_hinge_to_its_stop),
        cmocka_unit_test(a_pendulum_swings_in_its_period),
        cmocka_unit_test(a_motor_turns_with_its_torque),
        cmocka_unit_test(fixed_bodies_fall_as_one),
        cmocka_unit_test(a_chain_of_wagons_shares_its_momentum),
        cmocka_unit_test(a_ball_joint_swings_as_far_as_its_cone),
        cmocka_unit_test(what_begins_inside_another_is_found),
        cmocka_unit_test(what_was_animated_is_let_go_with_its_velocity),
        cmocka_unit_test(held_axes_hold),
        cmocka_unit_test(bodies_at_rest_sleep_and_wake_with_what_hits_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
