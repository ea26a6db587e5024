// A set of colliders on its own, as the tests of colliders make it.
#pragma once

#include "contact/collider_state.h"
#include "level_set_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef struct world {
    firn_budget budget;
    firn_colliders colliders;
    int index[64];
    firn_near near; // what contact looks at
} world;

static inline int setup(void **state)
{
    world *w = calloc(1, sizeof *w);
    w->colliders.budget = &w->budget;
    *state = w;
    return 0;
}

static inline int teardown(void **state)
{
    world *w = *state;
    firn_colliders_free(&w->colliders);
    assert_int_equal(w->budget.used, 0);
    free(w);
    return 0;
}

static inline firn_collider_id add(world *w, const firn_collider_def *def)
{
    firn_collider_id id;
    firn_error error = {FIRN_OK, ""};
    if (firn_colliders_add(&w->colliders, def, &id, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    return id;
}

static inline const firn_collider *get(const world *w, firn_collider_id id)
{
    return (const firn_collider *)w->colliders.slots.data + id.index1 - 1;
}

static inline void assert_vec(firn_vec3 a, firn_vec3 b, float tolerance)
{
    assert_float_equal(a.x, b.x, tolerance);
    assert_float_equal(a.y, b.y, tolerance);
    assert_float_equal(a.z, b.z, tolerance);
}

static inline firn_transform pose(firn_vec3 translation, firn_vec3 axis, float angle, float scale)
{
    return (firn_transform){translation, firn_quat_turn(axis, angle), scale};
}

// A key in the middle, a negated quaternion (the same rotation), half a turn in all.
static inline void set_tumbling(world *w, firn_collider_id id)
{
    firn_pose_key keys[3] = {
        {1.0, pose(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.0f, 0.0f, 1.0f), 0.0f, 1.0f)},
        {2.0, pose(firn_vec(2.0f, 1.0f, 0.0f), firn_vec(0.0f, 0.0f, 1.0f), 1.5f, 2.0f)},
        {2.5, pose(firn_vec(2.0f, 1.0f, 3.0f), firn_vec(0.0f, 0.0f, 1.0f), 3.0f, 1.5f)}};
    firn_quat q = keys[1].pose.rotation;
    keys[1].pose.rotation = (firn_quat){-q.x, -q.y, -q.z, -q.w};
    assert_int_equal(firn_colliders_move(&w->colliders, id, keys, 3, NULL), FIRN_OK);
}
