#include "collider_world.h"

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

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        FACT(bad_defs_are_refused),
        FACT(bad_keys_are_refused),
        FACT(bad_surfaces_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
