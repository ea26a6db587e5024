/// Bodies in a scene.
#ifndef FIRN_BODY_SCENE_H
#define FIRN_BODY_SCENE_H

#include "scene.h"

#include "firn/sim_bodies.h"

static inline firn_body_id add_body(scene *s, const firn_body_def *def)
{
    firn_body_id id;
    scene_check(s, firn_sim_add_body(s->sim, def, &id, &s->error));
    return id;
}

static inline firn_body_state state_of(scene *s, firn_body_id id)
{
    firn_body_state state;
    scene_check(s, firn_sim_body(s->sim, id, &state, &s->error));
    return state;
}

static inline firn_body_def box_def(firn_vec3 center, firn_vec3 half)
{
    firn_body_def def = firn_body_def_default();
    def.shape = firn_collider_def_box(center, half);
    return def;
}

#endif
