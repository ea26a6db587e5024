#include "collider_world.h"

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
    const char *names[] = {"shape",          "half_size",   "radius",       "translation",
                           "scale",          "contact",     "friction",     "restitution",
                           "offset",         "active_from", "active_to",    "adhesion",
                           "sticking_speed", "temperature", "heat_exchange"};
    for (size_t i = 0; i < FIRN_COUNT(names); i++)
        assert_non_null(firn_params_find(firn_collider_params(), names[i]));
    assert_int_equal(firn_collider_params().count, FIRN_COUNT(names));
}

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

// However many there are, each is found and no set of them is taken for another.
static void two_hundred_colliders_live_side_by_side(void **state)
{
    enum { COUNT = 200 };
    world *w = *state;
    firn_collider_id ids[COUNT];
    int index[COUNT];
    uint64_t sets[COUNT];
    bool moving;
    for (int i = 0; i < COUNT; i++) {
        firn_collider_def ball = firn_collider_def_sphere(firn_vec((float)i, 0.0f, 0.0f), 0.3f);
        ids[i] = add(w, &ball);
        firn_colliders_prepare(&w->colliders, 0.0, 1e-3f);
        sets[i] = firn_colliders_acting(&w->colliders, &moving);
        for (int k = 0; k < i; k++)
            assert_true(sets[k] != sets[i]);
    }
    assert_int_equal(firn_colliders_active_count(&w->colliders), COUNT);
    firn_near near = {.index = index};
    firn_colliders_near(&w->colliders, NULL, firn_vec(0.0f, 0.0f, 0.0f), 1e3f, &near);
    assert_int_equal(near.count, COUNT);
    int found[COUNT];
    firn_near all = near, few = {.index = found};
    firn_colliders_near(&w->colliders, &all, firn_vec(150.4f, 0.0f, 0.0f), 0.5f, &few);
    assert_int_equal(few.count, 2);
    assert_int_equal(found[0], 150);
    assert_int_equal(found[1], 151);
    firn_colliders_remove(&w->colliders, ids[COUNT - 1], NULL);
    firn_colliders_prepare(&w->colliders, 0.0, 1e-3f);
    assert_true(firn_colliders_acting(&w->colliders, &moving) == sets[COUNT - 2]);
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
        int index[8];
        firn_near near = {.index = index};
        firn_colliders_near(&w.colliders, NULL, firn_vec(0.0f, 0.0f, 0.0f), 1.0f, &near);
        firn_mass_point node = {firn_vec(0.0f, 0.4f, 0.0f), firn_vec(0.0f, -1.0f, 0.0f), 1.0f};
        firn_colliders_touch_node(&w.colliders, &near, &node, NULL);
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
        FACT(constructors_place_their_shapes),       FACT(every_setting_has_a_row_and_its_default),
        FACT(stale_ids_are_told_from_live_ones),     FACT(two_hundred_colliders_live_side_by_side),
        FACT(failed_allocations_leave_things_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
