#include "collider_state.h"
#include "level_set_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef struct world {
    firn_budget budget;
    firn_colliders colliders;
} world;

static int setup(void **state)
{
    world *w = calloc(1, sizeof *w);
    w->colliders.budget = &w->budget;
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    world *w = *state;
    firn_colliders_free(&w->colliders);
    assert_int_equal(w->budget.used, 0);
    free(w);
    return 0;
}

static firn_collider_id add(world *w, const firn_collider_def *def)
{
    firn_collider_id id;
    firn_error error = {FIRN_OK, ""};
    if (firn_colliders_add(&w->colliders, def, &id, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    return id;
}

static const firn_collider *get(const world *w, firn_collider_id id)
{
    return (const firn_collider *)w->colliders.slots.data + id.index1 - 1;
}

static void assert_vec(firn_vec3 a, firn_vec3 b, float tolerance)
{
    assert_float_equal(a.x, b.x, tolerance);
    assert_float_equal(a.y, b.y, tolerance);
    assert_float_equal(a.z, b.z, tolerance);
}

static firn_transform pose(firn_vec3 translation, firn_vec3 axis, float angle, float scale)
{
    return (firn_transform){translation, firn_quat_turn(axis, angle), scale};
}

// Settings

static void constructors_place_their_shapes(void **state)
{
    world *w = *state;
    uint32_t random = 1u;
    for (int i = 0; i < 200; i++) {
        firn_vec3 n = fixture_random_point(&random, 2.0f), c = fixture_random_point(&random, 1.0f);
        if (i < 2)
            n = firn_vec(0.0f, i == 0 ? -2.0f : 2.0f, i == 0 ? 1e-5f : 0.0f);
        if (i == 2)
            n = firn_vec(0.0f, -1.0f, 0.0f);
        firn_collider_def defs[3] = {firn_collider_def_plane(n, 0.7f),
                                     firn_collider_def_sphere(c, 0.3f),
                                     firn_collider_def_capsule(c, n, 0.2f)};
        firn_collider_id ids[3];
        for (int k = 0; k < 3; k++)
            ids[k] = add(w, &defs[k]);
        firn_colliders_prepare(&w->colliders, 0.0, 1e-3f);
        firn_vec3 p = fixture_random_point(&random, 2.0f);
        assert_float_equal(firn_collider_distance(get(w, ids[0]), p).value,
                           (firn_dot(n, p) - 0.7f) / firn_length(n), 1e-5f);
        assert_float_equal(firn_collider_distance(get(w, ids[1]), p).value,
                           firn_length(firn_sub(p, c)) - 0.3f, 1e-5f);
        firn_vec3 axis = firn_sub(n, c);
        float t = firn_dot(firn_sub(p, c), axis) / firn_dot(axis, axis);
        firn_vec3 foot = firn_lerp(c, n, fmaxf(0.0f, fminf(t, 1.0f)));
        assert_float_equal(firn_collider_distance(get(w, ids[2]), p).value,
                           firn_length(firn_sub(p, foot)) - 0.2f, 1e-5f);
        for (int k = 0; k < 3; k++)
            assert_int_equal(firn_colliders_remove(&w->colliders, ids[k], NULL), FIRN_OK);
    }
}

static void every_setting_has_a_row_and_its_default(void **state)
{
    (void)state;
    firn_collider_def def = firn_collider_def_default();
    assert_int_equal(def.shape, FIRN_SHAPE_PLANE);
    assert_int_equal(def.contact, FIRN_CONTACT_SEPARATE);
    assert_float_equal(def.pose.scale, 1.0f, 0.0f);
    assert_float_equal(def.pose.rotation.w, 1.0f, 0.0f);
    assert_float_equal(def.restitution, 0.0f, 0.0f);
    const char *names[] = {"shape",  "half_size",   "radius",   "translation",
                           "scale",  "contact",     "friction", "restitution",
                           "offset", "active_from", "active_to"};
    for (size_t i = 0; i < FIRN_COUNT(names); i++)
        assert_non_null(firn_params_find(firn_collider_params(), names[i]));
    assert_int_equal(firn_collider_params().count, FIRN_COUNT(names));
}

// Motion

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

// A key in the middle, a negated quaternion (the same rotation), half a turn in all.
static void set_tumbling(world *w, firn_collider_id id)
{
    firn_pose_key keys[3] = {
        {1.0, pose(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.0f, 0.0f, 1.0f), 0.0f, 1.0f)},
        {2.0, pose(firn_vec(2.0f, 1.0f, 0.0f), firn_vec(0.0f, 0.0f, 1.0f), 1.5f, 2.0f)},
        {2.5, pose(firn_vec(2.0f, 1.0f, 3.0f), firn_vec(0.0f, 0.0f, 1.0f), 3.0f, 1.5f)}};
    firn_quat q = keys[1].pose.rotation;
    keys[1].pose.rotation = (firn_quat){-q.x, -q.y, -q.z, -q.w};
    assert_int_equal(firn_colliders_move(&w->colliders, id, keys, 3, NULL), FIRN_OK);
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

// Near and speed

static bool lists(const world *w, firn_collider_id id, firn_vec3 center, float radius)
{
    firn_near near;
    firn_colliders_near(&w->colliders, center, radius, &near);
    for (int i = 0; i < near.count; i++)
        if (near.index[i] == (int)id.index1 - 1)
            return true;
    return false;
}

// A sphere that just touches the surface at any moment of the substep must be announced.
static void check_near(world *w, firn_collider_id id, double time, float dt)
{
    uint32_t random = 8u;
    int announced = 0, touching = 0;
    for (int i = 0; i < 20000; i++) {
        // Walk to just inside of where the surface is at some moment.
        firn_colliders_prepare(&w->colliders, time, dt * fixture_random(&random));
        firn_vec3 p = firn_add(get(w, id)->pivot, fixture_random_point(&random, 1.5f));
        firn_distance d = firn_collider_distance(get(w, id), p);
        for (int k = 0; k < 4; k++) {
            p = firn_add_scaled(p, -d.value - 1e-4f, firn_normalize(d.gradient));
            d = firn_collider_distance(get(w, id), p);
        }
        float radius = 0.3f * fixture_random(&random);
        firn_vec3 center = firn_add_scaled(p, 0.9999f * radius, firn_normalize(d.gradient));
        firn_colliders_prepare(&w->colliders, time, dt);
        if (d.value <= 0.0f) {
            touching++;
            assert_true(lists(w, id, center, radius));
        }
        announced += lists(w, id, fixture_random_point(&random, 4.0f), 0.3f);
    }
    assert_true(touching > 100);
    assert_true(announced < 19000);
}

static void near_never_misses_a_shape(void **state)
{
    world *w = *state;
    firn_collider_def defs[4] = {
        firn_collider_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.5f, 0.3f, 0.9f)),
        firn_collider_def_sphere(firn_vec(0.0f, 0.0f, 0.0f), 0.6f),
        firn_collider_def_capsule(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(1.0f, 1.0f, 0.0f), 0.4f),
        firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), 0.0f)};
    for (int k = 0; k < 4; k++) {
        defs[k].offset = 0.05f;
        firn_collider_id id = add(w, &defs[k]);
        check_near(w, id, 0.0, 0.1f);
        set_tumbling(w, id);
        check_near(w, id, 1.2, 0.15f);
        check_near(w, id, 1.95, 0.1f);
    }
}

static void near_reckons_with_each_kind_of_motion(void **state)
{
    world *w = *state;
    firn_collider_def def =
        firn_collider_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.5f, 0.3f, 0.9f));
    firn_collider_id id = add(w, &def);
    const firn_transform ends[3] = {
        pose(firn_vec(0.3f, -0.4f, 0.1f), firn_vec(0.0f, 1.0f, 0.0f), 0.0f, 1.0f),
        pose(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.0f, 1.0f, 0.5f), 0.4f, 1.0f),
        pose(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.0f, 1.0f, 0.0f), 0.0f, 0.6f)};
    for (int k = 0; k < 3; k++) {
        firn_pose_key keys[2] = {{0.0, firn_transform_identity()}, {0.1, ends[k]}};
        assert_int_equal(firn_colliders_move(&w->colliders, id, keys, 2, NULL), FIRN_OK);
        check_near(w, id, 0.0, 0.1f);
        keys[1].pose = keys[0].pose;
        keys[0].pose = ends[k];
        assert_int_equal(firn_colliders_move(&w->colliders, id, keys, 2, NULL), FIRN_OK);
        check_near(w, id, 0.0, 0.1f);
    }
}

static void near_never_misses_a_level_set(void **state)
{
    world *w = *state;
    fixture_ball ball = {{0.2f, 0.0f, 0.0f}, 0.7f};
    fixture_set f = fixture_make(fixture_ball_distance, &ball, fixture_map(0.05f), 0.15f, 3);
    firn_collider_def def = firn_collider_def_level_set(&f.set);
    def.offset = 0.1f;
    firn_collider_id id = add(w, &def);
    check_near(w, id, 0.0, 0.1f);
    set_tumbling(w, id);
    check_near(w, id, 1.2, 0.15f);
    check_near(w, id, 1.95, 0.1f);
    fixture_free(&f);
}

static void near_never_misses_a_deforming_level_set(void **state)
{
    world *w = *state;
    fixture_ball balls[2] = {{{-0.5f, 0.0f, 0.0f}, 0.5f}, {{0.5f, 0.0f, 0.0f}, 0.5f}};
    fixture_set a = fixture_make(fixture_ball_distance, &balls[0], fixture_map(0.1f), 0.3f, 2);
    fixture_set b = fixture_make(fixture_ball_distance, &balls[1], fixture_map(0.1f), 0.3f, 2);
    fixture_flow flow = fixture_flow_make(firn_vec(2.0f, 0.0f, 0.0f), fixture_map(0.1f), 2);
    firn_collider_def def = firn_collider_def_level_set(&a.set);
    firn_collider_id id = add(w, &def);
    firn_surface_key from = {0.0, &a.set, &flow.grid}, to = {0.5, &b.set, &flow.grid};
    assert_int_equal(firn_colliders_deform(&w->colliders, id, &from, &to, NULL), FIRN_OK);
    check_near(w, id, 0.0, 0.1f);
    check_near(w, id, 0.2, 0.1f);
    check_near(w, id, 0.45, 0.1f);
    // A surface that comes or goes: only one of the two keys can tell.
    firn_level_set nothing = {.map = firn_transform_identity(), .background = 0.2f};
    from.level_set = &nothing;
    assert_int_equal(firn_colliders_deform(&w->colliders, id, &from, &to, NULL), FIRN_OK);
    check_near(w, id, 0.3, 0.1f);
    from.level_set = &a.set;
    to.level_set = &nothing;
    assert_int_equal(firn_colliders_deform(&w->colliders, id, &from, &to, NULL), FIRN_OK);
    check_near(w, id, 0.1, 0.1f);
    fixture_free(&a);
    fixture_free(&b);
    fixture_flow_free(&flow);
}

static void no_point_is_faster_than_the_bound(void **state)
{
    world *w = *state;
    firn_collider_def defs[2] = {
        firn_collider_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.5f, 0.3f, 0.9f)),
        firn_collider_def_capsule(firn_vec(0.0f, -1.0f, 0.0f), firn_vec(0.0f, 1.0f, 0.0f), 0.4f)};
    uint32_t random = 10u;
    for (int k = 0; k < 2; k++) {
        firn_collider_id id = add(w, &defs[k]);
        assert_float_equal(firn_colliders_max_speed(&w->colliders, 0.0, 10.0), 0.0f, 0.0f);
        set_tumbling(w, id);
        float bound = firn_colliders_max_speed(&w->colliders, 1.0, 2.0), fastest = 0.0f;
        for (int i = 0; i < 20000; i++) {
            if (i % 200 == 0)
                firn_colliders_prepare(&w->colliders, 1.0 + 0.999 * i / 20000.0, 1e-3f);
            firn_vec3 p = fixture_random_point(&random, 5.0f);
            if (firn_collider_distance(get(w, id), p).value <= 0.0f)
                fastest = fmaxf(fastest, firn_length(firn_collider_velocity(get(w, id), p)));
        }
        assert_true(fastest <= bound && fastest > 0.4f * bound);
        assert_float_equal(firn_colliders_max_speed(&w->colliders, 3.0, 4.0), 0.0f, 0.0f);
        assert_float_equal(firn_colliders_max_speed(&w->colliders, 0.0, 0.9), 0.0f, 0.0f);
        assert_int_equal(firn_colliders_remove(&w->colliders, id, NULL), FIRN_OK);
    }
}

static void sleeping_collider_has_no_speed(void **state)
{
    world *w = *state;
    firn_collider_def def = firn_collider_def_sphere(firn_vec(0.0f, 0.0f, 0.0f), 0.5f);
    def.active_from = 2.2;
    firn_collider_id id = add(w, &def);
    set_tumbling(w, id);
    assert_float_equal(firn_colliders_max_speed(&w->colliders, 1.0, 2.0), 0.0f, 0.0f);
    assert_true(firn_colliders_max_speed(&w->colliders, 1.0, 2.4) > 6.0f);
}

// Ids and refusals

static void stale_ids_are_told_from_live_ones(void **state)
{
    world *w = *state;
    firn_collider_def def = firn_collider_def_default();
    firn_collider_id first = add(w, &def), second = add(w, &def);
    assert_int_equal(firn_colliders_remove(&w->colliders, first, NULL), FIRN_OK);
    firn_collider_id third = add(w, &def);
    assert_int_equal(third.index1, first.index1); // the slot is used again
    firn_pose_key key = {0.0, firn_transform_identity()};
    assert_int_equal(firn_colliders_remove(&w->colliders, first, NULL), FIRN_ERR_STALE);
    assert_int_equal(firn_colliders_move(&w->colliders, first, &key, 1, NULL), FIRN_ERR_STALE);
    assert_int_equal(firn_colliders_deform(&w->colliders, first, NULL, NULL, NULL), FIRN_ERR_STALE);
    assert_int_equal(firn_colliders_move(&w->colliders, second, &key, 1, NULL), FIRN_OK);
    assert_int_equal(firn_colliders_move(&w->colliders, third, &key, 1, NULL), FIRN_OK);
    assert_int_equal(firn_colliders_remove(&w->colliders, (firn_collider_id){9, 1}, NULL),
                     FIRN_ERR_STALE);
    assert_int_equal(firn_colliders_remove(&w->colliders, (firn_collider_id){0, 0}, NULL),
                     FIRN_ERR_ARGUMENT);
}

static void one_more_than_the_limit_is_refused(void **state)
{
    world *w = *state;
    firn_collider_def def = firn_collider_def_default();
    for (int i = 0; i < FIRN_NEAR_LIMIT; i++)
        add(w, &def);
    firn_error error = {FIRN_OK, ""};
    assert_int_equal(firn_colliders_add(&w->colliders, &def, NULL, &error), FIRN_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "64"));
    firn_colliders_prepare(&w->colliders, 0.0, 1e-3f);
    firn_near near;
    firn_colliders_near(&w->colliders, firn_vec(0.0f, 0.0f, 0.0f), 1.0f, &near);
    assert_int_equal(near.count, FIRN_NEAR_LIMIT);
}

typedef struct snapshot {
    size_t used;
    int slot_count;
    uint64_t slots;
} snapshot;

static snapshot snap(const world *w)
{
    size_t bytes = (size_t)w->colliders.slot_count * sizeof(firn_collider);
    return (snapshot){w->budget.used, w->colliders.slot_count,
                      firn_hash64(w->colliders.slots.data, bytes, 0)};
}

static void assert_unchanged(const world *w, snapshot before)
{
    snapshot now = snap(w);
    assert_int_equal(now.used, before.used);
    assert_int_equal(now.slot_count, before.slot_count);
    assert_true(now.slots == before.slots);
}

static void refuse_def(world *w, firn_collider_def def, const char *word)
{
    snapshot before = snap(w);
    firn_error error = {FIRN_OK, ""};
    assert_int_equal(firn_colliders_add(&w->colliders, &def, NULL, &error), FIRN_ERR_ARGUMENT);
    if (strstr(error.message, word) == NULL)
        fail_msg("'%s' does not speak of %s", error.message, word);
    assert_unchanged(w, before);
}

static void bad_defs_are_refused(void **state)
{
    world *w = *state;
    const firn_collider_def good = firn_collider_def_default();
    add(w, &good);

    firn_collider_def bad = good;
    bad.cookie = 0;
    refuse_def(w, bad, "initialized");
    bad = good;
    bad.friction = -0.1f;
    refuse_def(w, bad, "friction");
    bad.friction = NAN;
    refuse_def(w, bad, "friction");
    bad = good;
    bad.restitution = 1.1f;
    refuse_def(w, bad, "restitution");
    bad = good;
    bad.shape = 5;
    refuse_def(w, bad, "shape");
    bad = good;
    bad.contact = -1;
    refuse_def(w, bad, "contact");
    bad = good;
    bad.shape = FIRN_SHAPE_SPHERE;
    bad.radius = 0.0f;
    refuse_def(w, bad, "radius");
    bad = firn_collider_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(1.0f, 0.0f, 1.0f));
    refuse_def(w, bad, "half_size");
    bad = good;
    bad.offset = INFINITY;
    refuse_def(w, bad, "offset");
    bad = good;
    bad.pose.translation.x = NAN;
    refuse_def(w, bad, "translation");
    bad = good;
    bad.pose.scale = -1.0f;
    refuse_def(w, bad, "scale");
    refuse_def(w, firn_collider_def_plane(firn_vec(0.0f, 0.0f, 0.0f), 0.0f), "quaternion");
    bad = good;
    bad.active_from = 2.0;
    bad.active_to = 1.0;
    refuse_def(w, bad, "active_from");
    refuse_def(w, firn_collider_def_level_set(NULL), "level set");

    fixture_ball ball = {{0.0f, 0.0f, 0.0f}, 0.5f};
    fixture_set f = fixture_make(fixture_ball_distance, &ball, fixture_map(0.1f), 0.3f, 1);
    bad = firn_collider_def_level_set(&f.set);
    bad.offset = 0.3f;
    refuse_def(w, bad, "offset");
    f.origins[0].x += 1;
    refuse_def(w, firn_collider_def_level_set(&f.set), "multiple");
    fixture_free(&f);
}

static void refuse_keys(world *w, firn_collider_id id, const firn_pose_key *keys, int count)
{
    snapshot before = snap(w);
    assert_int_equal(firn_colliders_move(&w->colliders, id, keys, count, NULL), FIRN_ERR_ARGUMENT);
    assert_unchanged(w, before);
}

static void bad_keys_are_refused(void **state)
{
    world *w = *state;
    firn_collider_def def = firn_collider_def_default();
    firn_collider_id id = add(w, &def);
    set_tumbling(w, id);
    firn_pose_key keys[2] = {{0.0, firn_transform_identity()}, {1.0, firn_transform_identity()}};
    refuse_keys(w, id, NULL, 2);
    refuse_keys(w, id, keys, 0);
    keys[1].time = 0.0;
    refuse_keys(w, id, keys, 2);
    keys[1].time = NAN;
    refuse_keys(w, id, keys, 2);
    keys[1].time = 1.0;
    keys[1].pose.scale = 0.0f;
    refuse_keys(w, id, keys, 2);
    keys[1].pose.scale = 1.0f;
    keys[1].pose.rotation.w = NAN;
    refuse_keys(w, id, keys, 2);
    firn_surface_key surface = {0.0, NULL, NULL};
    assert_int_equal(firn_colliders_deform(&w->colliders, id, &surface, &surface, NULL),
                     FIRN_ERR_ARGUMENT);
}

static void bad_surfaces_are_refused(void **state)
{
    world *w = *state;
    fixture_ball ball = {{0.0f, 0.0f, 0.0f}, 0.5f};
    fixture_set f = fixture_make(fixture_ball_distance, &ball, fixture_map(0.1f), 0.3f, 1);
    fixture_flow flow = fixture_flow_make(firn_vec(1.0f, 0.0f, 0.0f), fixture_map(0.1f), 1);
    firn_collider_def def = firn_collider_def_level_set(&f.set);
    firn_collider_id id = add(w, &def);
    const firn_surface_key from = {0.0, &f.set, &flow.grid}, to = {1.0, &f.set, &flow.grid};
    assert_int_equal(firn_colliders_deform(&w->colliders, id, &from, &to, NULL), FIRN_OK);
    snapshot before = snap(w);
    firn_surface_key bad = to;
    bad.time = 0.0;
    assert_int_equal(firn_colliders_deform(&w->colliders, id, &from, &bad, NULL),
                     FIRN_ERR_ARGUMENT);
    bad = to;
    bad.level_set = NULL;
    assert_int_equal(firn_colliders_deform(&w->colliders, id, &from, &bad, NULL),
                     FIRN_ERR_ARGUMENT);
    assert_int_equal(firn_colliders_deform(&w->colliders, id, &from, NULL, NULL),
                     FIRN_ERR_ARGUMENT);
    firn_level_set odd = f.set;
    odd.background = -1.0f;
    bad = to;
    bad.level_set = &odd;
    assert_int_equal(firn_colliders_deform(&w->colliders, id, &from, &bad, NULL),
                     FIRN_ERR_ARGUMENT);
    firn_pose_key key = {0.0, firn_transform_identity()};
    assert_int_equal(firn_colliders_move(&w->colliders, id, &key, 1, NULL), FIRN_ERR_ARGUMENT);
    assert_unchanged(w, before);
    fixture_free(&f);
    fixture_flow_free(&flow);
}

// Memory: the n-th allocation fails.

static int allocations_left;

static void *scarce_allocate(size_t bytes, size_t alignment, void *user)
{
    (void)user;
    if (allocations_left == 0)
        return NULL;
    allocations_left--;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void scarce_release(void *memory, void *user)
{
    (void)user;
    free(memory);
}

static firn_result build_scene(world *w, const firn_level_set *set, const firn_velocity_grid *grid)
{
    firn_collider_def def = firn_collider_def_level_set(set);
    firn_collider_id id;
    FIRN_TRY(firn_colliders_add(&w->colliders, &def, &id, NULL));
    firn_pose_key keys[2] = {{0.0, firn_transform_identity()}, {1.0, firn_transform_identity()}};
    FIRN_TRY(firn_colliders_move(&w->colliders, id, keys, 2, NULL));
    firn_surface_key from = {0.0, set, grid}, to = {1.0, set, grid};
    return firn_colliders_deform(&w->colliders, id, &from, &to, NULL);
}

static void failed_allocations_leave_things_whole(void **state)
{
    (void)state;
    fixture_ball ball = {{0.0f, 0.0f, 0.0f}, 0.5f};
    fixture_set f = fixture_make(fixture_ball_distance, &ball, fixture_map(0.1f), 0.3f, 1);
    fixture_flow flow = fixture_flow_make(firn_vec(1.0f, 0.0f, 0.0f), fixture_map(0.1f), 1);
    firn_allocator scarce = {scarce_allocate, scarce_release, NULL};
    firn_set_allocator(&scarce);
    firn_result result = FIRN_ERR_MEMORY;
    int allocations = 0;
    for (; result != FIRN_OK && allocations < 100; allocations++) {
        world w = {.colliders.budget = &w.budget};
        allocations_left = allocations;
        result = build_scene(&w, &f.set, &flow.grid);
        assert_true(result == FIRN_OK || result == FIRN_ERR_MEMORY);
        firn_colliders_prepare(&w.colliders, 0.0, 1e-3f);
        firn_near near;
        firn_colliders_near(&w.colliders, firn_vec(0.0f, 0.0f, 0.0f), 1.0f, &near);
        firn_colliders_touch_node(&w.colliders, &near, firn_vec(0.0f, 0.4f, 0.0f),
                                  firn_vec(0.0f, -1.0f, 0.0f));
        firn_colliders_free(&w.colliders);
        assert_int_equal(w.budget.used, 0);
    }
    firn_set_allocator(NULL);
    assert_int_equal(result, FIRN_OK);
    assert_true(allocations > 5);
    fixture_free(&f);
    fixture_flow_free(&flow);
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        FACT(constructors_place_their_shapes),
        FACT(every_setting_has_a_row_and_its_default),
        FACT(rotated_scaled_box_equals_the_analytic_one),
        FACT(pose_between_keys_is_linear_and_turns_evenly),
        FACT(velocity_is_that_of_the_points_of_the_solid),
        FACT(moving_level_set_equals_the_analytic_sphere),
        FACT(deforming_surface_follows_a_translation_exactly),
        FACT(deforming_surface_obeys_the_formula),
        FACT(near_never_misses_a_shape),
        FACT(near_reckons_with_each_kind_of_motion),
        FACT(near_never_misses_a_level_set),
        FACT(near_never_misses_a_deforming_level_set),
        FACT(no_point_is_faster_than_the_bound),
        FACT(sleeping_collider_has_no_speed),
        FACT(stale_ids_are_told_from_live_ones),
        FACT(one_more_than_the_limit_is_refused),
        FACT(bad_defs_are_refused),
        FACT(bad_keys_are_refused),
        FACT(bad_surfaces_are_refused),
        FACT(failed_allocations_leave_things_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
