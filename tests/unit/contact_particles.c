/// Particles meet colliders: they stop, bounce and stay outside, however thin and fast a wall is.
#include "contact_world.h"

// Moves a particle through one substep as the solver does.
static float advance(world *w, firn_vec3 *x, firn_vec3 *v, float dt)
{
    firn_particle_contact c = firn_colliders_touch_particle(
        &w->colliders, &w->near, &(firn_mass_point){*x, *v, 1.0f}, dt, NULL);
    *v = c.velocity;
    *x = firn_add(firn_add_scaled(*x, dt, *v), c.push);
    return firn_length(c.push);
}

static void particle_in_free_flight_is_left_alone(void **state)
{
    world *w = *state;
    firn_collider_def def = ground(0.5f);
    add(w, &def);
    prepare(w, 0.0, 1e-3f);
    firn_particle_contact c = firn_colliders_touch_particle(
        &w->colliders, &w->near, &(firn_mass_point){above, firn_vec(1.0f, -2.0f, 0.0f), 1.0f},
        1e-3f, NULL);
    assert_vec(c.push, firn_vec(0.0f, 0.0f, 0.0f), 0.0f);
    assert_vec(c.velocity, firn_vec(1.0f, -2.0f, 0.0f), 0.0f);
}

static void particle_stops_at_the_surface(void **state)
{
    world *w = *state;
    firn_collider_def def = ground(0.0f);
    add(w, &def);
    prepare(w, 0.0, 0.01f);
    firn_vec3 x = firn_vec(0.0f, 0.01f, 0.0f), v = firn_vec(1.0f, -2.0f, 0.0f);
    advance(w, &x, &v, 0.01f);
    assert_vec(v, firn_vec(1.0f, 0.0f, 0.0f), 1e-6f);
    assert_vec(x, firn_vec(0.01f, 0.0f, 0.0f), 1e-5f);
    assert_true(x.y >= 0.0f);
}

static void particle_bounces_from_where_it_hit(void **state)
{
    world *w = *state;
    firn_collider_def def = ground(0.0f);
    def.restitution = 0.5f;
    add(w, &def);
    prepare(w, 0.0, 0.01f);
    firn_vec3 x = firn_vec(0.0f, 0.01f, 0.0f), v = firn_vec(0.0f, -2.0f, 0.0f);
    advance(w, &x, &v, 0.01f);
    // Half of the substep down to the ground, half up again at half the speed.
    assert_vec(v, firn_vec(0.0f, 1.0f, 0.0f), 1e-6f);
    assert_float_equal(x.y, 0.005f, 1e-4f);
}

static void sticky_particle_stays_where_it_hit(void **state)
{
    world *w = *state;
    firn_collider_def def = firn_collider_def_plane(firn_vec(0.0f, -1.0f, 0.0f), 0.0f);
    def.contact = FIRN_CONTACT_STICKY;
    add(w, &def);
    firn_vec3 x = firn_vec(0.0f, -0.005f, 0.0f), v = firn_vec(1.0f, 2.0f, 0.0f);
    for (int i = 0; i < 50; i++) {
        prepare(w, 0.01 * i, 0.01f);
        advance(w, &x, &v, 0.01f);
        assert_vec(v, firn_vec(0.0f, 0.0f, 0.0f), 0.0f);
        v.y -= 9.81f * 0.01f; // it hangs from the ceiling
    }
    assert_vec(x, firn_vec(0.0025f, 0.0f, 0.0f), 1e-4f);
}

// A cloud of particles on one side of a wall of thickness WALL about the plane x = 0 of the
// collider; nothing may come out at the other side, whatever moves.
#define WALL 0.02f

typedef struct wall_case {
    firn_vec3 wall_velocity, particle_velocity; // m/s
    firn_quat turn;
    float share; // of the wall's thickness in relative motion per substep
} wall_case;

static const wall_case wall_cases[] = {
    {{10.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 1.0f}, 0.9f},
    {{0.0f, 0.0f, 0.0f}, {-10.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 1.0f}, 0.9f},
    {{10.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 1.0f}, 0.5f},
    {{0.0f, 0.0f, 0.0f}, {-10.0f, 3.0f, 1.0f}, {0.0f, 0.0f, 0.0f, 1.0f}, 0.3f},
    {{5.0f, 2.0f, 0.0f}, {-5.0f, 0.0f, 2.0f}, {0.0f, 0.0f, 0.0f, 1.0f}, 0.9f},
    {{6.0f, 8.0f, 0.0f}, {0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.4794255f, 0.8775826f}, 0.9f},
    {{0.0f, 0.0f, 0.0f}, {-6.0f, -8.0f, 0.5f}, {0.0f, 0.0f, 0.4794255f, 0.8775826f}, 0.9f},
};

static firn_vec3 wall_center(const wall_case *c, double t)
{
    return firn_scale((float)t, c->wall_velocity);
}

// How far in front of the wall's middle a point is.
static float in_front(const wall_case *c, firn_vec3 x, double t)
{
    firn_vec3 normal = firn_rotate(c->turn, firn_vec(1.0f, 0.0f, 0.0f));
    return firn_dot(normal, firn_sub(x, wall_center(c, t)));
}

enum { CLOUD = 300, WALL_STEPS = 60 };

static float wall_dt(const wall_case *c)
{
    firn_vec3 relative = firn_sub(c->particle_velocity, c->wall_velocity);
    return c->share * WALL / firn_length(relative);
}

// The particles keep coming: their velocity is set again in every substep, as a crowd behind would.
static void drive_cloud(world *w, const wall_case *c)
{
    uint32_t random = 12345u;
    float dt = wall_dt(c);
    for (int i = 0; i < CLOUD; i++) {
        firn_vec3 local = fixture_random_point(&random, 0.05f);
        local.x = 0.5f * WALL + 1e-5f + 0.06f * fixture_random(&random);
        firn_vec3 x = firn_rotate(c->turn, local);
        for (int step = 0; step < WALL_STEPS; step++) {
            double time = (double)dt * step;
            firn_colliders_prepare(&w->colliders, time, dt);
            int index[64];
            firn_near near = {.index = index};
            firn_colliders_near(&w->colliders, NULL, x, WALL, &near);
            firn_vec3 v = c->particle_velocity;
            firn_particle_contact contact = firn_colliders_touch_particle(
                &w->colliders, &near, &(firn_mass_point){x, v, 1.0f}, dt, NULL);
            x = firn_add(firn_add_scaled(x, dt, contact.velocity), contact.push);
            float front = in_front(c, x, time + (double)dt);
            if (!(front > 0.499f * WALL))
                fail_msg("particle %d step %d is at %g of the wall", i, step,
                         (double)(front / WALL));
            firn_vec3 n = firn_rotate(c->turn, firn_vec(1.0f, 0.0f, 0.0f));
            firn_vec3 relative = firn_sub(contact.velocity, c->wall_velocity);
            bool pushed = firn_dot(contact.push, contact.push) > 0.0f;
            if (pushed && !(firn_dot(relative, n) >= -1e-4f))
                fail_msg("particle %d step %d still moves in", i, step);
        }
    }
}

static void drive_rigid(world *w, const firn_collider_def *def, const wall_case *c)
{
    firn_collider_id id = add(w, def);
    double duration = 2.0 * WALL_STEPS * (double)wall_dt(c);
    firn_pose_key keys[2] = {{0.0, firn_transform_identity()}, {duration, {{0}}}};
    keys[0].pose.rotation = c->turn;
    keys[1].pose = keys[0].pose;
    keys[1].pose.translation = wall_center(c, duration);
    move(w, id, keys, 2);
    drive_cloud(w, c);
    assert_int_equal(firn_colliders_remove(&w->colliders, id, NULL), FIRN_OK);
}

static void thin_fast_box_lets_nothing_through(void **state)
{
    firn_collider_def def =
        firn_collider_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.5f * WALL, 30.0f, 30.0f));
    for (size_t i = 0; i < FIRN_COUNT(wall_cases); i++)
        drive_rigid(*state, &def, &wall_cases[i]);
}

static void thin_fast_level_set_lets_nothing_through(void **state)
{
    // Half the wall as its voxel is the coarsest that can show it.
    const float voxels[2] = {WALL / 2.0f, WALL / 5.0f};
    for (int k = 0; k < 2; k++) {
        fixture_box box = {{0.0f, 0.0f, 0.0f}, {0.5f * WALL, 0.25f, 0.25f}};
        firn_transform map = fixture_map(voxels[k]);
        map.translation.x = 0.3f * voxels[k];
        fixture_set f =
            fixture_make(fixture_box_distance, &box, map, 3.0f * voxels[k], k == 0 ? 4 : 9);
        firn_collider_def def = firn_collider_def_level_set(&f.set);
        def.friction = 10.0f; // holds the cloud in the middle of the wall
        for (size_t i = 0; i < FIRN_COUNT(wall_cases); i++)
            drive_rigid(*state, &def, &wall_cases[i]);
        fixture_free(&f);
    }
}

static void thin_fast_deforming_wall_lets_nothing_through(void **state)
{
    world *w = *state;
    wall_case c = wall_cases[0];
    double duration = 12.0 * (double)wall_dt(&c);
    float voxel = WALL / 3.0f;
    fixture_box box[2] = {{{0.0f, 0.0f, 0.0f}, {0.5f * WALL, 0.15f, 0.15f}},
                          {wall_center(&c, duration), {0.5f * WALL, 0.15f, 0.15f}}};
    fixture_set a =
        fixture_make(fixture_box_distance, &box[0], fixture_map(voxel), 3.0f * voxel, 6);
    fixture_set b =
        fixture_make(fixture_box_distance, &box[1], fixture_map(voxel), 3.0f * voxel, 6);
    // The velocities are known near the surfaces only; between them lie ten times the wall.
    fixture_flow flow0 = fixture_flow_in_band(c.wall_velocity, &a.set);
    fixture_flow flow1 = fixture_flow_in_band(c.wall_velocity, &b.set);
    firn_collider_def def = firn_collider_def_level_set(&a.set);
    firn_collider_id id = add(w, &def);
    firn_surface_key from = {0.0, &a.set, &flow0.grid}, to = {duration, &b.set, &flow1.grid};
    assert_int_equal(firn_colliders_deform(&w->colliders, id, &from, &to, NULL), FIRN_OK);
    float dt = wall_dt(&c);
    uint32_t random = 4u;
    for (int i = 0; i < CLOUD; i++) {
        firn_vec3 x = fixture_random_point(&random, 0.05f), v = {0.0f, 0.0f, 0.0f};
        x.x = 0.5f * WALL + 1e-5f + 0.06f * fixture_random(&random);
        for (int step = 0; step < 12; step++) {
            prepare(w, (double)dt * step, dt);
            v = firn_vec(0.0f, 0.0f, 0.0f);
            advance(w, &x, &v, dt);
            assert_true(in_front(&c, x, (double)dt * (step + 1)) > 0.499f * WALL);
        }
    }
    fixture_free(&a);
    fixture_free(&b);
    fixture_flow_free(&flow0);
    fixture_flow_free(&flow1);
}

static void turning_blade_lets_nothing_through(void **state)
{
    world *w = *state;
    // Spins about z with its far end at 10 m/s; the particles before it are swept along or leave
    // at its end, none may be behind.
    firn_collider_def def =
        firn_collider_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.5f, 0.5f * WALL, 30.0f));
    def.friction = 100.0f; // or they would be flung off the end
    firn_collider_id id = add(w, &def);
    firn_pose_key keys[4];
    for (int i = 0; i < 4; i++) {
        keys[i] = (firn_pose_key){0.05 * i, firn_transform_identity()};
        keys[i].pose.rotation = firn_quat_turn(firn_vec(0.0f, 0.0f, 1.0f), (float)i);
    }
    move(w, id, keys, 4);
    float dt = 0.8f * WALL / 10.0f;
    uint32_t random = 9u;
    for (int i = 0; i < CLOUD; i++) {
        firn_vec3 x = {0.1f + 0.35f * fixture_random(&random), 0.5f * WALL + 1e-4f,
                       fixture_random(&random)};
        for (int step = 0; step < 90; step++) {
            prepare(w, (double)dt * step, dt);
            firn_vec3 v = {0.0f, 0.0f, 0.0f};
            advance(w, &x, &v, dt);
            float angle = fminf(20.0f * dt * (float)(step + 1), 3.0f);
            firn_vec3 normal = {-sinf(angle), cosf(angle), 0.0f};
            assert_true(firn_dot(normal, x) > 0.499f * WALL);
        }
    }
}

static void particle_pushed_out_of_wedge_is_outside_of_both(void **state)
{
    world *w = *state;
    firn_collider_def a = firn_collider_def_plane(firn_vec(1.0f, 0.8f, 0.0f), 0.0f);
    firn_collider_def b = firn_collider_def_plane(firn_vec(-1.0f, 0.8f, 0.0f), 0.0f);
    add(w, &a);
    add(w, &b);
    prepare(w, 0.0, 0.01f);
    firn_vec3 x = {0.001f, 0.02f, 0.0f}, v = {1.0f, -4.0f, 0.0f};
    advance(w, &x, &v, 0.01f);
    assert_true(firn_dot(x, firn_vec(1.0f, 0.8f, 0.0f)) >= -1e-5f);
    assert_true(firn_dot(x, firn_vec(-1.0f, 0.8f, 0.0f)) >= -1e-5f);
}

static void particle_deep_inside_goes_back_where_it_came_from(void **state)
{
    world *w = *state;
    fixture_ball ball = {{0.0f, 0.0f, 0.0f}, 0.4f};
    fixture_set f = fixture_make(fixture_ball_distance, &ball, fixture_map(0.02f), 0.06f, 4);
    firn_collider_def def = firn_collider_def_level_set(&f.set);
    add(w, &def);
    prepare(w, 0.0, 0.001f);
    firn_vec3 x = {0.05f, 0.0f, 0.0f}, v = {-5.0f, 0.0f, 0.0f};
    advance(w, &x, &v, 0.001f);
    assert_vec(v, firn_vec(0.0f, 0.0f, 0.0f), 0.0f);
    assert_true(x.x > 0.399f && x.x < 0.41f && fabsf(x.y) < 1e-3f);
    // One that does not move has no way back and stays.
    x = firn_vec(0.05f, 0.0f, 0.0f);
    v = firn_vec(0.0f, 0.0f, 0.0f);
    assert_float_equal(advance(w, &x, &v, 0.001f), 0.0f, 0.0f);
    fixture_free(&f);
}

static void any_particle_ends_outside_of_every_shape(void **state)
{
    world *w = *state;
    firn_collider_def defs[4] = {
        firn_collider_def_box(firn_vec(0.1f, 0.0f, 0.0f), firn_vec(0.3f, 0.2f, 0.4f)),
        firn_collider_def_sphere(firn_vec(0.0f, 0.1f, 0.0f), 0.4f),
        firn_collider_def_capsule(firn_vec(-0.2f, 0.0f, 0.0f), firn_vec(0.3f, 0.3f, 0.1f), 0.2f),
        firn_collider_def_plane(firn_vec(0.2f, 1.0f, 0.3f), 0.1f)};
    uint32_t random = 77u;
    for (int k = 0; k < 4; k++) {
        defs[k].offset = 0.01f;
        firn_collider_id id = add(w, &defs[k]);
        firn_pose_key keys[2] = {{0.0, defs[k].pose}, {0.1, defs[k].pose}};
        keys[1].pose.translation.x += 0.5f;
        keys[1].pose.rotation =
            firn_quat_mul(firn_quat_turn(firn_vec(1.0f, 2.0f, 3.0f), 1.0f), defs[k].pose.rotation);
        keys[1].pose.scale = 1.2f;
        move(w, id, keys, 2);
        prepare(w, 0.05, 1e-3f);
        const firn_collider *collider = w->colliders.slots.data;
        for (int i = 0; i < 20000; i++) {
            firn_vec3 x = fixture_random_point(&random, 1.0f);
            firn_vec3 v = fixture_random_point(&random, 10.0f);
            advance(w, &x, &v, 1e-3f);
            assert_true(firn_collider_distance(collider, x).value >= 0.0f);
        }
        assert_int_equal(firn_colliders_remove(&w->colliders, id, NULL), FIRN_OK);
    }
}

static void values_that_are_not_finite_pass_without_harm(void **state)
{
    world *w = *state;
    fixture_ball ball = {{0.0f, 0.0f, 0.0f}, 0.4f};
    fixture_set f = fixture_make(fixture_ball_distance, &ball, fixture_map(0.05f), 0.15f, 2);
    firn_collider_def defs[2] = {firn_collider_def_level_set(&f.set), ground(0.5f)};
    add(w, &defs[0]);
    add(w, &defs[1]);
    prepare(w, 0.0, 1e-3f);
    const float odd[4] = {NAN, INFINITY, -INFINITY, 3e38f};
    for (int i = 0; i < 4; i++) {
        firn_vec3 x = {0.1f, odd[i], 0.0f}, v = {odd[i], -1.0f, 0.0f};
        touch(w, x, v);
        firn_colliders_touch_particle(&w->colliders, &w->near, &(firn_mass_point){x, v, 1.0f},
                                      1e-3f, NULL);
        int index[64];
        firn_near near = {.index = index};
        firn_colliders_near(&w->colliders, NULL, x, 1.0f, &near);
    }
    fixture_free(&f);
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        FACT(particle_in_free_flight_is_left_alone),
        FACT(particle_stops_at_the_surface),
        FACT(particle_bounces_from_where_it_hit),
        FACT(sticky_particle_stays_where_it_hit),
        FACT(thin_fast_box_lets_nothing_through),
        FACT(thin_fast_level_set_lets_nothing_through),
        FACT(thin_fast_deforming_wall_lets_nothing_through),
        FACT(turning_blade_lets_nothing_through),
        FACT(particle_pushed_out_of_wedge_is_outside_of_both),
        FACT(particle_deep_inside_goes_back_where_it_came_from),
        FACT(any_particle_ends_outside_of_every_shape),
        FACT(values_that_are_not_finite_pass_without_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
