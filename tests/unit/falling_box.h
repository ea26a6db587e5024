/// A box that falls, and one that meets the floor soon.
#ifndef FIRN_TEST_FALLING_BOX_H
#define FIRN_TEST_FALLING_BOX_H

#include "scene.h"

static const firn_vec3 nowhere = {0.0f, 0.0f, 0.0f};

static inline firn_sim *falling_box(firn_sim_def def, firn_vec3 velocity)
{
    firn_sim *sim = scene_create(&def);
    scene_add_box(sim, nowhere, 0.05f, velocity);
    return sim;
}

// A box that meets the floor soon.
static inline firn_sim *landing_box(firn_sim_def def)
{
    firn_sim *sim = falling_box(def, firn_vec(0.5f, -4.0f, 0.0f));
    scene_add_floor(sim, -0.06f);
    return sim;
}

#endif
