// Colliders that touch nodes and particles, as the tests of contact make them.
#pragma once

#include "collider_world.h"

static inline void move(world *w, firn_collider_id id, const firn_pose_key *keys, int count)
{
    assert_int_equal(firn_colliders_move(&w->colliders, id, keys, count, NULL), FIRN_OK);
}

static inline void prepare(world *w, double time, float dt)
{
    firn_colliders_prepare(&w->colliders, time, dt);
    w->near.index = w->index;
    firn_colliders_near(&w->colliders, NULL, firn_vec(0.0f, 0.0f, 0.0f), 1e4f, &w->near);
}

static inline firn_node_contact touch(world *w, firn_vec3 x, firn_vec3 v)
{
    return firn_colliders_touch_node(&w->colliders, &w->near, &(firn_mass_point){x, v, 1.0f}, NULL);
}

static inline firn_collider_def ground(float friction)
{
    firn_collider_def def = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), 0.0f);
    def.friction = friction;
    return def;
}

static const firn_vec3 above = {0.3f, 0.1f, 0.2f};
