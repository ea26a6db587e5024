/// A model that only tests know: bubbles that resist changes of volume and nothing else, with the
/// energy K/2 (J - 1)^2. J is kept in the slot of J_P. It has no implicit step.
#ifndef FIRN_MODEL_FOAM_H
#define FIRN_MODEL_FOAM_H

#include "models/matter.h"

enum {
    firn_foam_packs = false,
    firn_foam_keeps_f = false,
    firn_foam_weighs = false,
    firn_foam_wears = false,
};

enum { FIRN_FOAM_BULK }; // Pa

typedef struct firn_foam_group {
    firn_fx j, bulk;
} firn_foam_group;

FIRN_INLINE bool firn_foam_moves_f(const firn_matter *matter)
{
    (void)matter;
    return false;
}

FIRN_INLINE firn_foam_group firn_foam_load(const firn_matter *matter)
{
    return (firn_foam_group){matter->jp, firn_material_of(&matter->materials, FIRN_FOAM_BULK)};
}

FIRN_INLINE firn_foam_group firn_foam_update(firn_matter *matter, firn_fm3 gradient, float dt)
{
    firn_fx rate = gradient.m[0] + gradient.m[4] + gradient.m[8];
    matter->jp = matter->jp + dt * rate * matter->jp;
    return firn_foam_load(matter);
}

FIRN_INLINE firn_fx firn_foam_wave2(const firn_foam_group *group, const firn_bulk *bulk)
{
    return firn_bulk_wave2(bulk, group->bulk);
}

FIRN_INLINE firn_lane_stress firn_foam_stress(const firn_foam_group *group)
{
    firn_fx zero = {0}, change = group->j - 1.0f;
    firn_fs3 none = {zero, zero, zero, zero, zero, zero};
    return (firn_lane_stress){firn_fs3_add_scalar(none, group->bulk * (change * group->j)),
                              0.5f * group->bulk * (change * change)};
}

FIRN_INLINE firn_fs3 firn_foam_viscosity(const firn_lane_materials *materials,
                                         const firn_foam_group *group, const firn_flow *flow)
{
    (void)materials, (void)group, (void)flow;
    firn_fx zero = {0};
    return (firn_fs3){zero, zero, zero, zero, zero, zero};
}

FIRN_INLINE void firn_foam_prepare(const firn_matter *matter, const firn_foam_group *group,
                                   firn_implicit_bulk bulk, firn_fx cache[FIRN_CACHE_CHANNELS])
{
    (void)matter, (void)group, (void)bulk;
    for (int c = 0; c < FIRN_CACHE_CHANNELS; c++)
        cache[c] = firn_fx_set(0.0f);
}

FIRN_INLINE firn_fm3 firn_foam_product(const firn_fx cache[FIRN_CACHE_CHANNELS], float factor,
                                       firn_fm3 gradient)
{
    (void)cache, (void)factor;
    return firn_fm3_scale(firn_fx_set(0.0f), gradient);
}

#endif
