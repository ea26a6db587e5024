/// Porous snow that has not packed yet, one particle per lane, method.md section 4: grains without
/// bonds that slide on each other. The pressure they bear follows from the density that is really
/// there: that of porous snow from its initial density on, next to none below. Columns are those of
/// porous snow.
#ifndef FIRN_MODEL_LOOSE_POROUS_H
#define FIRN_MODEL_LOOSE_POROUS_H

#include "loose.h"
#include "porous.h"

enum {
    firn_loose_porous_packs = true,
    firn_loose_porous_keeps_f = true,
    firn_loose_porous_weighs = true,
    firn_loose_porous_wears = false,
};

/// How fast the pressure that grains bear falls below the initial density, per unit of J_P.
#define FIRN_LOOSE_POROUS_FALL 40.0f

/// Whether the slots of F are in use for a group.
FIRN_INLINE bool firn_loose_porous_moves_f(const firn_matter *matter)
{
    (void)matter;
    return true;
}

typedef firn_porous_group firn_loose_porous_group;

FIRN_INLINE firn_loose_porous_group firn_loose_porous_load(const firn_matter *matter)
{
    return firn_porous_load(matter);
}

/// The way back to where grains hold; jp is that of the density around.
static inline firn_porous_return firn_loose_porous_project(const firn_matter *matter, firn_fs3 e)
{
    const firn_lane_materials *m = &matter->materials;
    firn_fx zero = {0}, one = firn_fx_set(1.0f);
    firn_porous_return to = {.trace = firn_fs3_trace(e), .strength = matter->stiffness};
    firn_fx most = firn_fx_exp(firn_material_of(m, FIRN_POROUS_OPEN));
    to.jp = firn_loose_ratio(matter->packing, firn_fx_exp(firn_fx_min(to.trace, zero)),
                             firn_fx_set(FIRN_POROUS_LEAST_JP), most);
    firn_fx power =
        firn_fx_select(to.jp > 1.0f, FIRN_LOOSE_POROUS_FALL * (1.0f - to.jp),
                       -firn_material_of(m, FIRN_POROUS_HARDENING) * firn_fx_log(to.jp));
    firn_fx harder = firn_fx_exp(firn_fx_clamp(power, firn_fx_set(-FIRN_SNOW_HARDENING_LIMIT),
                                               firn_fx_set(FIRN_POROUS_MOST_HARDER)));
    to.kept = firn_fx_clamp(to.trace, -firn_material_of(m, FIRN_POROUS_CRUSH) * harder, zero);
    firn_fs3 d = firn_fs3_add_scalar(e, -(1.0f / 3.0f) * to.trace);
    firn_fx norm = firn_fx_root(firn_fs3_norm2(d));
    firn_fx allowed = -firn_material_of(m, FIRN_POROUS_SLOPE) * to.kept;
    to.share = firn_fx_min(one, firn_fx_ratio(allowed, firn_fx_max(firn_fx_set(1e-12f), norm)));
    to.yields = (to.share < 1.0f) | (to.trace != to.kept);
    return to;
}

FIRN_INLINE firn_loose_porous_group firn_loose_porous_update(firn_matter *matter, firn_fm3 gradient,
                                                             float dt)
{
    firn_fm3 step = firn_fm3_scale(firn_fx_set(dt), gradient);
    matter->f = firn_fm3_mul_add(step, matter->f, matter->f);
    firn_ix small;
    firn_porous_group group = {.strain = firn_porous_strain(&matter->f, &small),
                               .moduli = firn_porous_moduli(matter)};
    firn_porous_return to = firn_loose_porous_project(matter, group.strain);
    firn_porous_apply(matter, &group, small, &to);
    return group;
}

FIRN_INLINE firn_fx firn_loose_porous_wave2(const firn_loose_porous_group *group,
                                            const firn_bulk *bulk)
{
    return firn_porous_wave2(group, bulk);
}

FIRN_INLINE firn_lane_stress firn_loose_porous_stress(const firn_loose_porous_group *group)
{
    return firn_porous_stress(group);
}

FIRN_INLINE firn_fs3 firn_loose_porous_viscosity(const firn_lane_materials *materials,
                                                 const firn_loose_porous_group *group,
                                                 const firn_flow *flow)
{
    return firn_porous_viscosity(materials, group, flow);
}

/// What is not pressed has no stiffness, and below the initial density next to none: it yields.
FIRN_INLINE void firn_loose_porous_prepare(const firn_matter *matter,
                                           const firn_loose_porous_group *group,
                                           firn_implicit_bulk bulk,
                                           firn_fx cache[FIRN_CACHE_CHANNELS])
{
    (void)matter;
    firn_ix pressed = (firn_fs3_trace(group->strain) < 0.0f) & ~group->open;
    firn_fx volume = firn_fx_select(pressed, bulk.volume, firn_fx_set(0.0f));
    firn_corotated_prepare(group->strain, group->moduli, volume, cache);
}

FIRN_INLINE firn_fm3 firn_loose_porous_product(const firn_fx c[FIRN_CACHE_CHANNELS], float factor,
                                               firn_fm3 gradient)
{
    return firn_porous_product(c, factor, gradient);
}

#endif
