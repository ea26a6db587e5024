#include "collider_world.h"

static void rotated_scaled_box_equals_the_analytic_one(void **state)
{
    world *w = *state;
    firn_collider_def def =
        firn_collider_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.2f, 0.3f, 0.4f));
    def.pose = pose(firn_vec(1.0f, -0.5f, 0.25f), firn_vec(1.0f, 1.0f, 0.3f), 0.8f, 2.5f);
    def.offset = 0.05f;
    firn_collider_id id = add(w, &def);
    firn_colliders_prepare(&w->colliders, 0.0, 1e-3f);
    fixture_box box = {{0.0f, 0.0f, 0.0f}, {0.5f, 0.75f, 1.0f}};
    uint32_t random = 2u;
    for (int i = 0; i < 2000; i++) {
        firn_vec3 local = fixture_random_point(&random, 2.0f);
        firn_vec3 world_point =
            firn_add(def.pose.translation, firn_rotate(def.pose.rotation, local));
        firn_distance d = firn_collider_distance(get(w, id), world_point);
        assert_float_equal(d.value, fixture_box_distance(local, &box) - 0.05f, 2e-6f);
        firn_vec3 there = firn_add_scaled(world_point, -d.value, d.gradient);
        if (d.value > 0.0f)
            assert_float_equal(firn_collider_distance(get(w, id), there).value, 0.0f, 1e-5f);
    }
}

static firn_transform tumbling_pose(double time)
{
    double t = fmin(fmax(time, 1.0), 2.5);
    firn_vec3 z = {0.0f, 0.0f, 1.0f};
    if (t < 2.0) {
        float s = (float)(t - 1.0);
        return pose(firn_vec(2.0f * s, s, 0.0f), z, 1.5f * s, 1.0f + s);
    }
    float s = (float)((t - 2.0) / 0.5);
    return pose(firn_vec(2.0f, 1.0f, 3.0f * s), z, 1.5f + 1.5f * s, 2.0f - 0.5f * s);
}

static void pose_between_keys_is_linear_and_turns_evenly(void **state)
{
    world *w = *state;
    firn_collider_def def =
        firn_collider_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.2f, 0.3f, 0.4f));
    firn_collider_id id = add(w, &def);
    set_tumbling(w, id);
    uint32_t random = 3u;
    for (int i = 0; i <= 60; i++) {
        double time = 0.5 + 2.5 * i / 60.0;
        firn_colliders_prepare(&w->colliders, time - 0.001, 0.001f);
        firn_transform expected = tumbling_pose(time);
        for (int k = 0; k < 50; k++) {
            firn_vec3 p = fixture_random_point(&random, 3.0f);
            fixture_box box = {{0.0f, 0.0f, 0.0f}, def.half_size};
            float d = expected.scale *
                      fixture_box_distance(firn_transform_point_inverse(expected, p), &box);
            assert_float_equal(firn_collider_distance(get(w, id), p).value, d, 5e-6f);
        }
    }
}

static void velocity_is_that_of_the_points_of_the_solid(void **state)
{
    world *w = *state;
    firn_collider_def def = firn_collider_def_sphere(firn_vec(0.0f, 0.0f, 0.0f), 0.5f);
    firn_collider_id id = add(w, &def);
    set_tumbling(w, id);
    uint32_t random = 4u;
    const double times[3] = {1.4, 1.9, 2.2};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 100; k++) {
            firn_colliders_prepare(&w->colliders, times[i] - 1e-4, 1e-4f);
            firn_vec3 local = fixture_random_point(&random, 0.5f);
            const double h = 1e-3;
            firn_vec3 before = firn_transform_point(tumbling_pose(times[i] - h), local);
            firn_vec3 after = firn_transform_point(tumbling_pose(times[i] + h), local);
            firn_vec3 expected = firn_scale((float)(0.5 / h), firn_sub(after, before));
            firn_vec3 p = firn_transform_point(tumbling_pose(times[i]), local);
            assert_vec(firn_collider_velocity(get(w, id), p), expected, 2e-3f);
        }
    // At rest before the first and after the last key.
    firn_colliders_prepare(&w->colliders, 0.0, 1e-3f);
    assert_vec(firn_collider_velocity(get(w, id), firn_vec(1.0f, 1.0f, 1.0f)),
               firn_vec(0.0f, 0.0f, 0.0f), 0.0f);
    firn_colliders_prepare(&w->colliders, 2.5, 1e-3f);
    assert_vec(firn_collider_velocity(get(w, id), firn_vec(1.0f, 1.0f, 1.0f)),
               firn_vec(0.0f, 0.0f, 0.0f), 0.0f);
}

static void moving_level_set_equals_the_analytic_sphere(void **state)
{
    world *w = *state;
    const float voxel = 0.05f;
    fixture_ball ball = {{0.1f, 0.0f, -0.05f}, 0.5f};
    firn_transform map =
        pose(firn_vec(0.02f, 0.01f, 0.03f), firn_vec(1.0f, 0.5f, 0.2f), 0.4f, voxel);
    fixture_set f = fixture_make(fixture_ball_distance, &ball, map, 3.0f * voxel, 3);
    firn_collider_def def = firn_collider_def_level_set(&f.set);
    firn_collider_id id = add(w, &def);
    set_tumbling(w, id);
    uint32_t random = 5u;
    for (int i = 0; i <= 30; i++) {
        double time = 0.9 + 1.7 * i / 30.0;
        firn_colliders_prepare(&w->colliders, time - 1e-3, 1e-3f);
        firn_transform expected = tumbling_pose(time);
        firn_vec3 center = firn_transform_point(expected, ball.center);
        for (int k = 0; k < 200; k++) {
            firn_vec3 n = firn_normalize(fixture_random_point(&random, 1.0f));
            float d = expected.scale * voxel * 2.0f * (2.0f * fixture_random(&random) - 1.0f);
            firn_vec3 p = firn_add_scaled(center, expected.scale * 0.5f + d, n);
            firn_distance found = firn_collider_distance(get(w, id), p);
            assert_float_equal(found.value, d, 0.05f * voxel * expected.scale);
            assert_true(firn_dot(firn_normalize(found.gradient), n) > 0.99f);
        }
    }
    // The velocity does not come from the voxels: it is exact.
    firn_colliders_prepare(&w->colliders, 1.5, 1e-3f);
    firn_transform at = tumbling_pose(1.501);
    firn_vec3 arm = {0.3f, -0.2f, 0.1f}, p = firn_add(at.translation, arm);
    firn_vec3 expected =
        firn_add(firn_vec(2.0f, 1.0f, 0.0f), firn_cross(firn_vec(0.0f, 0.0f, 1.5f), arm));
    expected = firn_add_scaled(expected, 1.0f / at.scale, arm);
    assert_vec(firn_collider_velocity(get(w, id), p), expected, 1e-5f);
    fixture_free(&f);
}

static void deforming_surface_follows_a_translation_exactly(void **state)
{
    world *w = *state;
    const float voxel = 0.05f;
    const firn_vec3 velocity = {2.0f, -1.0f, 0.5f};
    const double span = 0.2;
    fixture_ball balls[2] = {{{0.0f, 0.0f, 0.0f}, 0.4f}, {{0.4f, -0.2f, 0.1f}, 0.4f}};
    fixture_set a = fixture_make(fixture_ball_distance, &balls[0], fixture_map(voxel), 0.15f, 3);
    fixture_set b = fixture_make(fixture_ball_distance, &balls[1], fixture_map(voxel), 0.15f, 3);
    fixture_flow flow = fixture_flow_make(velocity, fixture_map(0.1f), 2);
    firn_collider_def def = firn_collider_def_level_set(&a.set);
    firn_collider_id id = add(w, &def);
    firn_surface_key from = {1.0, &a.set, &flow.grid}, to = {1.0 + span, &b.set, &flow.grid};
    assert_int_equal(firn_colliders_deform(&w->colliders, id, &from, &to, NULL), FIRN_OK);
    uint32_t random = 6u;
    for (int i = 0; i <= 20; i++) {
        double time = 1.0 + span * i / 20.0, dt = (double)1e-3f;
        firn_colliders_prepare(&w->colliders, time - dt, 1e-3f);
        firn_vec3 center = firn_scale((float)(time - 1.0), velocity);
        for (int k = 0; k < 200; k++) {
            firn_vec3 n = firn_normalize(fixture_random_point(&random, 1.0f));
            float d = 0.1f * (2.0f * fixture_random(&random) - 1.0f);
            firn_vec3 p = firn_add_scaled(center, 0.4f + d, n);
            firn_distance found = firn_collider_distance(get(w, id), p);
            assert_float_equal(found.value, d, 0.08f * voxel);
            assert_true(firn_dot(firn_normalize(found.gradient), n) > 0.98f);
            if (i > 0)
                assert_vec(firn_collider_velocity(get(w, id), p), velocity, 1e-4f);
        }
    }
    // Before and after its keys it rests.
    firn_colliders_prepare(&w->colliders, 1.0 + span, 1e-3f);
    assert_vec(firn_collider_velocity(get(w, id), firn_vec(0.4f, 0.0f, 0.0f)),
               firn_vec(0.0f, 0.0f, 0.0f), 1e-5f);
    fixture_free(&a);
    fixture_free(&b);
    fixture_flow_free(&flow);
}

// The formula itself, with surfaces and velocities that do not fit each other.
static float tilted(firn_vec3 p, const void *user)
{
    const firn_vec3 *slope = user;
    return firn_dot(*slope, p);
}

static void deforming_surface_obeys_the_formula(void **state)
{
    world *w = *state;
    const firn_vec3 slopes[2] = {{1.0f, 0.2f, 0.0f}, {0.3f, 0.5f, -1.0f}};
    const firn_vec3 v0 = {1.0f, 0.0f, -0.5f}, v1 = {0.0f, -2.0f, 1.0f};
    fixture_set a = fixture_make(tilted, &slopes[0], fixture_map(0.1f), 50.0f, 3);
    fixture_set b = fixture_make(tilted, &slopes[1], fixture_map(0.1f), 50.0f, 3);
    fixture_flow flow0 = fixture_flow_make(v0, fixture_map(0.1f), 3);
    fixture_flow flow1 = fixture_flow_make(v1, fixture_map(0.2f), 2);
    firn_collider_def def = firn_collider_def_level_set(&a.set);
    def.offset = 0.02f;
    firn_collider_id id = add(w, &def);
    firn_surface_key from = {0.0, &a.set, &flow0.grid}, to = {0.5, &b.set, &flow1.grid};
    assert_int_equal(firn_colliders_deform(&w->colliders, id, &from, &to, NULL), FIRN_OK);
    uint32_t random = 7u;
    for (int i = 0; i <= 10; i++) {
        float g = 0.1f * (float)i;
        firn_colliders_prepare(&w->colliders, 0.5 * (double)g - 1e-3, 1e-3f);
        firn_vec3 v = firn_lerp(v0, v1, g);
        for (int k = 0; k < 100; k++) {
            firn_vec3 x = fixture_random_point(&random, 0.7f);
            float phi0 = firn_dot(slopes[0], firn_add_scaled(x, -g * 0.5f, v));
            float phi1 = firn_dot(slopes[1], firn_add_scaled(x, (1.0f - g) * 0.5f, v));
            firn_distance d = firn_collider_distance(get(w, id), x);
            assert_float_equal(d.value, (1.0f - g) * phi0 + g * phi1 - 0.02f, 2e-5f);
            assert_vec(d.gradient, firn_lerp(slopes[0], slopes[1], g), 1e-4f);
        }
    }
    fixture_free(&a);
    fixture_free(&b);
    fixture_flow_free(&flow0);
    fixture_flow_free(&flow1);
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        FACT(rotated_scaled_box_equals_the_analytic_one),
        FACT(pose_between_keys_is_linear_and_turns_evenly),
        FACT(velocity_is_that_of_the_points_of_the_solid),
        FACT(moving_level_set_equals_the_analytic_sphere),
        FACT(deforming_surface_follows_a_translation_exactly),
        FACT(deforming_surface_obeys_the_formula),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
