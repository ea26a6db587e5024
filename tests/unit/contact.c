/// What touching colliders does to the velocity of a node, and who gets what it loses.
#include "contact_world.h"

static const firn_vec3 below = {0.3f, -0.1f, 0.2f};

static void node_outside_is_free(void **state)
{
    world *w = *state;
    firn_collider_def def = ground(0.5f);
    add(w, &def);
    prepare(w, 0.0, 1e-3f);
    firn_node_contact c = touch(w, above, firn_vec(1.0f, -2.0f, 0.0f));
    assert_int_equal(c.state, FIRN_NODE_FREE);
    assert_vec(c.velocity, firn_vec(1.0f, -2.0f, 0.0f), 0.0f);
}

static void separating_node_is_free(void **state)
{
    world *w = *state;
    firn_collider_def def = ground(0.5f);
    add(w, &def);
    prepare(w, 0.0, 1e-3f);
    firn_node_contact c = touch(w, below, firn_vec(1.0f, 0.25f, 0.0f));
    assert_int_equal(c.state, FIRN_NODE_FREE);
    assert_vec(c.velocity, firn_vec(1.0f, 0.25f, 0.0f), 0.0f);
}

// v = (3, -2, 4): vt = 5, and friction takes mu * 2 of it.
static void friction_slows_by_mu_times_normal_speed(void **state)
{
    world *w = *state;
    firn_collider_def def = ground(0.5f);
    add(w, &def);
    prepare(w, 0.0, 1e-3f);
    firn_node_contact c = touch(w, below, firn_vec(3.0f, -2.0f, 4.0f));
    assert_int_equal(c.state, FIRN_NODE_SLIDING);
    assert_vec(c.velocity, firn_vec(2.4f, 0.0f, 3.2f), 1e-6f);
    assert_vec(c.direction, firn_vec(0.0f, 1.0f, 0.0f), 0.0f);
}

static void friction_holds_when_it_can(void **state)
{
    world *w = *state;
    firn_collider_def def = ground(2.5f);
    add(w, &def);
    prepare(w, 0.0, 1e-3f);
    firn_node_contact c = touch(w, below, firn_vec(3.0f, -2.0f, 4.0f));
    assert_int_equal(c.state, FIRN_NODE_STUCK);
    assert_vec(c.velocity, firn_vec(0.0f, 0.0f, 0.0f), 0.0f);
    c = touch(w, below, firn_vec(3.0f, -1.9f, 4.0f));
    assert_int_equal(c.state, FIRN_NODE_SLIDING);
}

static void smooth_ground_holds_nothing_sideways(void **state)
{
    world *w = *state;
    firn_collider_def def = ground(0.0f);
    add(w, &def);
    prepare(w, 0.0, 1e-3f);
    firn_node_contact c = touch(w, below, firn_vec(0.0f, -2.0f, 0.0f));
    assert_int_equal(c.state, FIRN_NODE_SLIDING);
    assert_vec(c.velocity, firn_vec(0.0f, 0.0f, 0.0f), 0.0f);
}

static void sticky_takes_every_velocity(void **state)
{
    world *w = *state;
    firn_collider_def def = ground(0.0f);
    def.contact = FIRN_CONTACT_STICKY;
    add(w, &def);
    prepare(w, 0.0, 1e-3f);
    firn_node_contact c = touch(w, below, firn_vec(3.0f, 2.0f, 4.0f));
    assert_int_equal(c.state, FIRN_NODE_STUCK);
    assert_vec(c.velocity, firn_vec(0.0f, 0.0f, 0.0f), 0.0f);
}

static void slip_never_lets_go_and_rubs_on_approach_only(void **state)
{
    world *w = *state;
    firn_collider_def def = ground(0.5f);
    def.contact = FIRN_CONTACT_SLIP;
    add(w, &def);
    prepare(w, 0.0, 1e-3f);
    firn_node_contact c = touch(w, below, firn_vec(3.0f, 2.0f, 4.0f));
    assert_int_equal(c.state, FIRN_NODE_SLIDING);
    assert_vec(c.velocity, firn_vec(3.0f, 0.0f, 4.0f), 1e-6f);
    c = touch(w, below, firn_vec(3.0f, -2.0f, 4.0f));
    assert_vec(c.velocity, firn_vec(2.4f, 0.0f, 3.2f), 1e-6f);
}

static void impact_gives_back_its_share(void **state)
{
    world *w = *state;
    firn_collider_def def = ground(0.0f);
    def.restitution = 0.25f;
    add(w, &def);
    prepare(w, 0.0, 1e-3f);
    assert_vec(touch(w, below, firn_vec(1.0f, -2.0f, 0.0f)).velocity, firn_vec(1.0f, 0.5f, 0.0f),
               1e-6f);
    assert_vec(touch(w, below, firn_vec(1.0f, -0.09f, 0.0f)).velocity, firn_vec(1.0f, 0.0f, 0.0f),
               1e-6f);
}

static void contact_acts_on_the_relative_velocity(void **state)
{
    world *w = *state;
    firn_collider_def def = ground(0.5f);
    firn_collider_id id = add(w, &def);
    firn_pose_key keys[2] = {{0.0, firn_transform_identity()}, {1.0, firn_transform_identity()}};
    keys[1].pose.translation = firn_vec(1.0f, 2.0f, 0.0f);
    move(w, id, keys, 2);
    prepare(w, 0.5, 1e-3f);
    // Relative to (1, 2, 0) this is (3, -2, 4).
    firn_node_contact c = touch(w, firn_vec(0.0f, 0.9f, 0.0f), firn_vec(4.0f, 0.0f, 4.0f));
    assert_vec(c.velocity, firn_vec(3.4f, 2.0f, 3.2f), 1e-5f);
}

static void two_walls_leave_their_edge(void **state)
{
    world *w = *state;
    firn_collider_def floor_def = ground(0.0f);
    firn_vec3 slanted = firn_normalize(firn_vec(1.0f, -0.5f, 0.0f));
    firn_collider_def wall = firn_collider_def_plane(slanted, 0.0f);
    wall.friction = 0.0f;
    add(w, &floor_def);
    add(w, &wall);
    prepare(w, 0.0, 1e-3f);
    firn_node_contact c = touch(w, firn_vec(-1.0f, -0.1f, 0.0f), firn_vec(-2.0f, -3.0f, 5.0f));
    assert_int_equal(c.state, FIRN_NODE_EDGE);
    assert_float_equal(fabsf(c.direction.z), 1.0f, 1e-6f);
    assert_vec(c.velocity, firn_vec(0.0f, 0.0f, 5.0f), 1e-5f);
}

static void wall_that_pushes_off_the_floor_is_the_only_contact(void **state)
{
    world *w = *state;
    firn_collider_def floor_def = ground(0.0f);
    firn_collider_def ramp = firn_collider_def_plane(firn_vec(1.0f, 1.0f, 0.0f), 0.0f);
    ramp.friction = 0.0f;
    add(w, &floor_def);
    add(w, &ramp);
    prepare(w, 0.0, 1e-3f);
    firn_node_contact c = touch(w, firn_vec(-1.0f, -0.1f, 0.0f), firn_vec(-2.0f, -1.0f, 0.0f));
    assert_int_equal(c.state, FIRN_NODE_SLIDING);
    assert_float_equal(firn_dot(c.velocity, c.direction), 0.0f, 1e-6f);
    assert_vec(c.velocity, firn_vec(-1.0f, 1.0f, 0.0f), 1e-5f);
}

static void corner_holds_all(void **state)
{
    world *w = *state;
    firn_vec3 normals[3] = {{1.0f, -0.1f, 0.0f}, {-0.1f, 1.0f, -0.2f}, {-0.2f, 0.0f, 1.0f}};
    for (int i = 0; i < 3; i++) {
        firn_collider_def def = firn_collider_def_plane(normals[i], 0.0f);
        def.friction = 0.0f;
        firn_collider_id id = add(w, &def);
        firn_pose_key keys[2] = {{0.0, def.pose}, {1.0, def.pose}};
        keys[1].pose.translation = firn_scale(0.5f * (float)(i + 1), firn_normalize(normals[i]));
        move(w, id, keys, 2);
    }
    prepare(w, 0.0, 1e-3f);
    firn_node_contact c = touch(w, firn_vec(-1.0f, -1.0f, -1.0f), firn_vec(-9.0f, -8.0f, -7.0f));
    assert_int_equal(c.state, FIRN_NODE_STUCK);
    for (int i = 0; i < 3; i++)
        assert_float_equal(firn_dot(c.velocity, firn_normalize(normals[i])), 0.5f * (float)(i + 1),
                           1e-4f);
}

static void edge_velocity_meets_both_moving_walls(void **state)
{
    world *w = *state;
    firn_vec3 normals[2] = {{1.0f, -0.4f, 0.2f}, {-0.3f, 1.0f, 0.1f}};
    for (int i = 0; i < 2; i++) {
        firn_collider_def def = firn_collider_def_plane(normals[i], 0.0f);
        def.friction = 0.1f;
        firn_collider_id id = add(w, &def);
        firn_pose_key keys[2] = {{0.0, def.pose}, {1.0, def.pose}};
        keys[1].pose.translation = firn_scale(0.5f * (float)(i + 1), firn_normalize(normals[i]));
        move(w, id, keys, 2);
    }
    prepare(w, 0.0, 1e-3f);
    firn_node_contact c = touch(w, firn_vec(-1.0f, -1.0f, 0.0f), firn_vec(-6.0f, -5.0f, 7.0f));
    assert_int_equal(c.state, FIRN_NODE_EDGE);
    for (int i = 0; i < 2; i++) {
        assert_float_equal(firn_dot(c.velocity, firn_normalize(normals[i])), 0.5f * (float)(i + 1),
                           1e-5f);
        assert_float_equal(firn_dot(c.direction, normals[i]), 0.0f, 1e-6f);
    }
}

static void no_wall_of_a_corner_is_entered(void **state)
{
    world *w = *state;
    uint32_t random = 5u;
    for (int round = 0; round < 2000; round++) {
        firn_vec3 normals[3];
        firn_collider_id ids[3];
        for (int i = 0; i < 3; i++) {
            // Wide enough apart to be three walls, all open upward.
            normals[i] = fixture_random_point(&random, 0.7f);
            normals[i].y += 1.0f;
            normals[i] = firn_normalize(normals[i]);
            firn_collider_def def = firn_collider_def_plane(normals[i], 0.0f);
            def.friction = 0.0f;
            ids[i] = add(w, &def);
        }
        prepare(w, 0.0, 1e-3f);
        firn_vec3 v = fixture_random_point(&random, 1.0f);
        v.y -= 1.0f;
        firn_node_contact c = touch(w, firn_vec(0.0f, -9.0f, 0.0f), v);
        for (int i = 0; i < 3; i++) {
            assert_true(firn_dot(c.velocity, normals[i]) > -0.15f * firn_length(v));
            assert_int_equal(firn_colliders_remove(&w->colliders, ids[i], NULL), FIRN_OK);
        }
    }
}

static void node_deep_inside_moves_with_the_solid(void **state)
{
    world *w = *state;
    fixture_ball ball = {{0.0f, 0.0f, 0.0f}, 0.4f};
    fixture_set f = fixture_make(fixture_ball_distance, &ball, fixture_map(0.02f), 0.06f, 4);
    firn_collider_def def = firn_collider_def_level_set(&f.set);
    firn_collider_id id = add(w, &def);
    firn_pose_key keys[2] = {{0.0, firn_transform_identity()}, {1.0, firn_transform_identity()}};
    keys[1].pose.translation = firn_vec(0.0f, 0.0f, 3.0f);
    move(w, id, keys, 2);
    prepare(w, 0.0, 1e-3f);
    firn_node_contact c = touch(w, firn_vec(0.05f, 0.0f, 0.0f), firn_vec(1.0f, 2.0f, 0.0f));
    assert_int_equal(c.state, FIRN_NODE_STUCK);
    assert_vec(c.velocity, firn_vec(0.0f, 0.0f, 3.0f), 1e-5f);
    fixture_free(&f);
}

static void inactive_collider_touches_nothing(void **state)
{
    world *w = *state;
    firn_collider_def def = ground(0.5f);
    def.active_from = 1.0;
    def.active_to = 2.0;
    add(w, &def);
    const double times[4] = {0.5, 1.0, 1.9, 2.1};
    const int counts[4] = {0, 1, 1, 0};
    for (int i = 0; i < 4; i++) {
        prepare(w, times[i], 1e-3f);
        assert_int_equal(w->near.count, counts[i]);
        assert_int_equal(touch(w, below, firn_vec(0.0f, -1.0f, 0.0f)).state != FIRN_NODE_FREE,
                         counts[i]);
    }
}

static void expect_balance(const firn_impulse *taken, int count, const firn_mass_point *point,
                           firn_vec3 after)
{
    const float v[3] = {point->velocity.x, point->velocity.y, point->velocity.z};
    const float w[3] = {after.x, after.y, after.z};
    for (int axis = 0; axis < 3; axis++) {
        double sum = 0.0, lost = (double)point->mass * ((double)v[axis] - (double)w[axis]);
        for (int i = 0; i < count; i++)
            sum += taken[i].linear[axis];
        assert_true(fabs(sum - lost) <= 1e-14 * (double)point->mass);
    }
}

// Whoever takes what, together it is what was lost: in a corner of three surfaces of which each
// touches in its way.
static void what_colliders_take_is_what_snow_loses(void **state)
{
    world *w = *state;
    firn_collider_def defs[3] = {firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), 0.0f),
                                 firn_collider_def_plane(firn_vec(1.0f, 0.2f, 0.0f), 0.0f),
                                 firn_collider_def_sphere(firn_vec(0.0f, 0.0f, -1.0f), 1.0f)};
    defs[0].friction = 0.3f;
    defs[1].contact = FIRN_CONTACT_SLIP;
    defs[2].restitution = 0.5f;
    for (int i = 0; i < 3; i++)
        add(w, &defs[i]);
    prepare(w, 0.0, 5e-3f);
    assert_int_equal(w->near.count, 3);
    uint32_t random = 4u;
    int touched[3] = {0};
    for (int i = 0; i < 2000; i++) {
        firn_mass_point point = {fixture_random_point(&random, 0.01f),
                                 fixture_random_point(&random, 4.0f), 0.25f};
        firn_impulse taken[3];
        memset(taken, 0, sizeof taken);
        firn_node_contact node = firn_colliders_touch_node(&w->colliders, &w->near, &point, taken);
        expect_balance(taken, 3, &point, node.velocity);
        for (int k = 0; k < 3; k++)
            touched[k] += taken[k].linear[0] != 0.0 || taken[k].linear[1] != 0.0;
        memset(taken, 0, sizeof taken);
        firn_particle_contact particle =
            firn_colliders_touch_particle(&w->colliders, &w->near, &point, 5e-3f, taken);
        expect_balance(taken, 3, &point, particle.velocity);
    }
    assert_true(touched[0] > 100 && touched[1] > 100 && touched[2] > 100);
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        FACT(node_outside_is_free),
        FACT(what_colliders_take_is_what_snow_loses),
        FACT(separating_node_is_free),
        FACT(friction_slows_by_mu_times_normal_speed),
        FACT(friction_holds_when_it_can),
        FACT(smooth_ground_holds_nothing_sideways),
        FACT(sticky_takes_every_velocity),
        FACT(slip_never_lets_go_and_rubs_on_approach_only),
        FACT(impact_gives_back_its_share),
        FACT(contact_acts_on_the_relative_velocity),
        FACT(two_walls_leave_their_edge),
        FACT(wall_that_pushes_off_the_floor_is_the_only_contact),
        FACT(corner_holds_all),
        FACT(edge_velocity_meets_both_moving_walls),
        FACT(no_wall_of_a_corner_is_entered),
        FACT(node_deep_inside_moves_with_the_solid),
        FACT(inactive_collider_touches_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
