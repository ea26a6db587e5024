/// Snow that has not packed yet, one particle per lane: flakes on their way down and the top of a
/// layer they make, method.md section 4. The elasticity and the limit of compression are those of
/// snow.h. Two things differ: it bears no tension, and J_P is not remembered but read off the
/// density that is really there, so that flakes which see each other only through the grid do not
/// harden. Columns are those of snow.
#ifndef FIRN_MODEL_LOOSE_H
#define FIRN_MODEL_LOOSE_H

#include "snow.h"

enum {
    firn_loose_packs = true,
    firn_loose_keeps_f = true,
    firn_loose_weighs = true,
    firn_loose_wears = false,
};

/// Whether the slots of F are in use for a group.
FIRN_INLINE bool firn_loose_moves_f(const firn_matter *matter)
{
    (void)matter;
    return true;
}

typedef firn_snow_group firn_loose_group;

FIRN_INLINE firn_loose_group firn_loose_load(const firn_matter *matter)
{
    return firn_snow_load(matter);
}

/// The plastic volume ratio that goes with the density around, rho0 / (rho J_E).
FIRN_INLINE firn_fx firn_loose_ratio(firn_fx packing, firn_fx det, firn_fx least, firn_fx most)
{
    firn_fx rest = firn_fx_max(firn_fx_set(1e-6f), packing * det);
    return firn_fx_clamp(firn_fx_ratio(firn_fx_set(1.0f), rest), least, most);
}

FIRN_INLINE firn_loose_group firn_loose_update(firn_matter *matter, firn_fm3 gradient, float dt)
{
    const firn_lane_materials *m = &matter->materials;
    firn_snow_limits limits = {1.0f - firn_material_of(m, FIRN_SNOW_COMPRESSION), firn_fx_set(1.0f),
                               firn_material_of(m, FIRN_SNOW_JP_MIN),
                               firn_material_of(m, FIRN_SNOW_JP_MAX)};
    firn_fm3 step = firn_fm3_scale(firn_fx_set(dt), gradient);
    matter->f = firn_fm3_mul_add(step, matter->f, matter->f);
    firn_loose_group group;
    group.deformation = firn_snow_return_map(&matter->f, &matter->jp, &limits);
    matter->jp =
        firn_loose_ratio(matter->packing, group.deformation.det, limits.jp_min, limits.jp_max);
    group.moduli = firn_snow_moduli_of(matter);
    return group;
}

FIRN_INLINE firn_fx firn_loose_wave2(const firn_loose_group *group, const firn_bulk *bulk)
{
    return firn_snow_wave2(group, bulk);
}

FIRN_INLINE firn_lane_stress firn_loose_stress(const firn_loose_group *group)
{
    return firn_snow_stress(group);
}

FIRN_INLINE firn_fs3 firn_loose_viscosity(const firn_lane_materials *materials,
                                          const firn_loose_group *group, const firn_flow *flow)
{
    return firn_snow_viscosity(materials, group, flow);
}

/// What is not pressed has no stiffness: neither it nor its neighbors feel a pull.
FIRN_INLINE void firn_loose_prepare(const firn_matter *matter, const firn_loose_group *group,
                                    firn_implicit_bulk bulk, firn_fx cache[FIRN_CACHE_CHANNELS])
{
    firn_ix pressed = group->deformation.det < 1.0f;
    bulk.volume = firn_fx_select(pressed, bulk.volume, firn_fx_set(0.0f));
    firn_snow_prepare(matter, group, bulk, cache);
}

FIRN_INLINE firn_fm3 firn_loose_product(const firn_fx cache[FIRN_CACHE_CHANNELS], float factor,
                                        firn_fm3 gradient)
{
    return firn_snow_product(cache, factor, gradient);
}

#endif
