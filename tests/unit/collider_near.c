#include "collider_world.h"

static bool lists(const world *w, firn_collider_id id, firn_vec3 center, float radius)
{
    int index[64];
    firn_near near = {.index = index};
    firn_colliders_near(&w->colliders, NULL, center, radius, &near);
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

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        FACT(near_never_misses_a_shape),         FACT(near_reckons_with_each_kind_of_motion),
        FACT(near_never_misses_a_level_set),     FACT(near_never_misses_a_deforming_level_set),
        FACT(no_point_is_faster_than_the_bound), FACT(sleeping_collider_has_no_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
