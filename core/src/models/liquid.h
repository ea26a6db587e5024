/// Liquids that are a little compressible: pressure from the volume ratio J, viscosity, and a yield
/// stress by choice (Bingham). One particle per lane.
///
/// J is kept in the slot of J_P. It follows the divergence of the velocity and is drawn to the
/// density that is really there, so that no volume is lost for good. The slots of F are used only
/// where there is a yield stress: they hold the symmetric, unimodular b of the elastic shear below
/// it.
#ifndef FIRN_MODEL_LIQUID_H
#define FIRN_MODEL_LIQUID_H

#include "elasticity.h"
#include "matter.h"

enum {
    firn_liquid_packs = false,
    firn_liquid_keeps_f = false,
    firn_liquid_weighs = true,
    firn_liquid_wears = false,
};

/// Its columns of the material table.
enum {
    FIRN_LIQUID_BULK,       // Pa
    FIRN_LIQUID_VISCOSITY,  // Pa s
    FIRN_LIQUID_RIGIDITY,   // Pa, shear modulus below the yield stress; 0: there is none
    FIRN_LIQUID_YIELD,      // Pa, |dev tau| at yield
    FIRN_LIQUID_IMPEDANCE,  // Pa s/m, density times speed of sound
    FIRN_LIQUID_WAVE_FACTOR // m/s for a viscosity of 1 Pa s and cells of 1 m
};

/// Cells that sound crosses while J comes near the density around.
#define FIRN_LIQUID_FILTER 10.0f
#define FIRN_LIQUID_LEAST 0.2f

/// Share of density * speed of sound * cell size that resists changes of volume: what makes waves
/// of pressure die out within some cells.
#define FIRN_LIQUID_BULK_SHARE 0.2f

typedef struct firn_liquid_group {
    firn_fx j;
    firn_fx tension;   // Pa, -J p: the stress of the volume alone
    firn_fx stiffness; // Pa, its derivative by log J
    firn_fx bulk;      // Pa, the same where J is one
    firn_fx energy;    // Pa
    firn_fx rigidity;  // Pa
    firn_fs3 shear;    // Pa, deviatoric
    firn_ix flows;     // the shear stress is at its limit
    firn_fx swell;     // tr(b) / 3
    firn_fx viscosity, impedance, viscous_wave;
} firn_liquid_group;

/// Whether the slots of F are in use for a group.
FIRN_INLINE bool firn_liquid_moves_f(const firn_matter *matter)
{
    return firn_ix_any(firn_material_of(&matter->materials, FIRN_LIQUID_RIGIDITY) > 0.0f);
}

static inline firn_fs3 firn_fm3_upper(const firn_fm3 *a)
{
    return (firn_fs3){a->m[0], a->m[1], a->m[2], a->m[4], a->m[5], a->m[8]};
}

// p = K/7 (J^-7 - 1), none in tension.
FIRN_INLINE void firn_liquid_find_pressure(firn_liquid_group *group)
{
    firn_fx bulk = group->bulk;
    const float seventh = 1.0f / 7.0f;
    firn_fx j = firn_fx_min(group->j, firn_fx_set(1.0f));
    firn_ix pressed = group->j < 1.0f;
    firn_fx x = firn_fx_ratio(firn_fx_set(1.0f), firn_fx_max(firn_fx_set(FIRN_LIQUID_LEAST), j));
    firn_fx x2 = x * x, x6 = x2 * x2 * x2;
    group->tension = seventh * bulk * (j - x6);
    group->stiffness = firn_fx_select(pressed, seventh * bulk * (6.0f * x6 + j), firn_fx_set(0.0f));
    group->energy = seventh * bulk * ((1.0f / 6.0f) * (x6 - 1.0f) + (j - 1.0f));
}

FIRN_INLINE firn_liquid_group firn_liquid_load(const firn_matter *matter)
{
    const firn_lane_materials *m = &matter->materials;
    firn_fx zero = {0};
    firn_liquid_group group = {.j = matter->jp,
                               .shear = {zero, zero, zero, zero, zero, zero},
                               .swell = firn_fx_set(1.0f),
                               .bulk = firn_material_of(m, FIRN_LIQUID_BULK),
                               .rigidity = firn_material_of(m, FIRN_LIQUID_RIGIDITY),
                               .viscosity = firn_material_of(m, FIRN_LIQUID_VISCOSITY),
                               .impedance = firn_material_of(m, FIRN_LIQUID_IMPEDANCE)};
    firn_liquid_find_pressure(&group);
    group.viscous_wave = group.viscosity * firn_material_of(m, FIRN_LIQUID_WAVE_FACTOR);
    if (firn_liquid_moves_f(matter)) {
        firn_fs3 b = firn_fm3_upper(&matter->f);
        group.swell = (1.0f / 3.0f) * firn_fs3_trace(b);
        group.shear = firn_fs3_scale(group.rigidity, firn_fs3_add_scalar(b, -group.swell));
        firn_fx limit = 0.999f * firn_material_of(m, FIRN_LIQUID_YIELD);
        group.flows = firn_fs3_norm2(group.shear) >= limit * limit;
    }
    return group;
}

/// b <- (I + D) b (I + D)^T at det 1, then back to the yield stress.
FIRN_INLINE void firn_liquid_shear(firn_matter *matter, firn_fm3 step)
{
    const firn_lane_materials *m = &matter->materials;
    firn_fm3 moved = firn_fm3_mul_add(step, matter->f, matter->f);
    firn_fs3 b = firn_fm3_upper(&moved);
    firn_fm3 turned = firn_fm3_mul_transpose(moved, step);
    b = firn_fs3_add(b, firn_fm3_upper(&turned));
    // det^(-1/3), near one: det was one a substep ago.
    firn_fx off = firn_fx_clamp(firn_fs3_det(b) - 1.0f, firn_fx_set(-0.5f), firn_fx_set(0.5f));
    firn_fx unit = 1.0f - off * ((1.0f / 3.0f) - off * ((2.0f / 9.0f) - (14.0f / 81.0f) * off));
    b = firn_fs3_scale(unit, b);
    firn_fx mean = (1.0f / 3.0f) * firn_fs3_trace(b);
    firn_fs3 dev = firn_fs3_add_scalar(b, -mean);
    firn_fx rigidity = firn_material_of(m, FIRN_LIQUID_RIGIDITY);
    firn_fx norm = rigidity * firn_fx_root(firn_fs3_norm2(dev));
    firn_fx share = firn_fx_ratio(firn_material_of(m, FIRN_LIQUID_YIELD),
                                  firn_fx_max(norm, firn_fx_set(1e-20f)));
    share = firn_fx_min(firn_fx_set(1.0f), share);
    b = firn_fs3_add_scalar(firn_fs3_scale(share, dev), mean);
    matter->f = firn_fm3_select(rigidity > 0.0f, firn_fm3_from_fs3(b), matter->f);
}

/// The volume ratio that goes with the density around: not above one, since at a surface half of
/// what is there is air. A particle sees itself, too: where all lie anyhow, as in what has sloshed,
/// that makes the density look larger than it is by the mean square of the kernel, 0.166 of a cell;
/// where they lie in rows, by nothing. Liquids are between the two.
FIRN_INLINE firn_fx firn_liquid_around(const firn_matter *matter)
{
    const float own = 0.12f;
    firn_fx others = matter->packing - own * matter->cells;
    return firn_fx_ratio(firn_fx_set(1.0f), firn_fx_max(firn_fx_set(1.0f), others));
}

FIRN_INLINE firn_liquid_group firn_liquid_update(firn_matter *matter, firn_fm3 gradient, float dt)
{
    const firn_lane_materials *m = &matter->materials;
    firn_fx rate = gradient.m[0] + gradient.m[4] + gradient.m[8];
    firn_fx sound = firn_fx_ratio(firn_material_of(m, FIRN_LIQUID_BULK),
                                  firn_material_of(m, FIRN_LIQUID_IMPEDANCE));
    firn_fx turns = (dt / (FIRN_LIQUID_FILTER * matter->cell_size)) * sound;
    firn_fx share = firn_fx_ratio(turns, 1.0f + turns);
    matter->jp += dt * rate * matter->jp;
    matter->jp += share * (firn_liquid_around(matter) - matter->jp);
    matter->jp = firn_fx_clamp(matter->jp, firn_fx_set(FIRN_LIQUID_LEAST), firn_fx_set(1.0f));
    if (firn_liquid_moves_f(matter))
        firn_liquid_shear(matter, firn_fm3_scale(firn_fx_set(dt), gradient));
    return firn_liquid_load(matter);
}

/// Sound and, added to it, what the explicit step bears of viscosity: dt <= rho h^2 / (6 eta).
FIRN_INLINE firn_fx firn_liquid_wave2(const firn_liquid_group *group, const firn_bulk *bulk)
{
    firn_fx modulus = firn_fx_max(group->stiffness, group->bulk) + (4.0f / 3.0f) * group->rigidity;
    firn_fx wave = firn_fx_root(firn_bulk_wave2(bulk, modulus)) +
                   (1.0f / bulk->cell_size) * group->viscous_wave;
    return wave * wave;
}

FIRN_INLINE firn_lane_stress firn_liquid_stress(const firn_liquid_group *group)
{
    return (firn_lane_stress){firn_fs3_add_scalar(group->shear, group->tension),
                              group->energy + 1.5f * group->rigidity * (group->swell - 1.0f)};
}

/// 2 eta dev(sym L), and against ringing a resistance to changes of volume.
FIRN_INLINE firn_fs3 firn_liquid_viscosity(const firn_lane_materials *materials,
                                           const firn_liquid_group *group, const firn_flow *flow)
{
    (void)materials;
    const firn_fx *m = flow->gradient->m;
    firn_fx eta = group->j * group->viscosity, rate = m[0] + m[4] + m[8];
    firn_fx damping = (FIRN_LIQUID_BULK_SHARE * flow->cell_size) * group->impedance;
    damping = firn_fx_select(group->j < 1.0f, damping, firn_fx_set(0.0f));
    firn_fx mean = (damping - (2.0f / 3.0f) * eta) * rate;
    return (firn_fs3){2.0f * eta * m[0] + mean, eta * (m[1] + m[3]), eta * (m[2] + m[6]),
                      2.0f * eta * m[4] + mean, eta * (m[5] + m[7]), 2.0f * eta * m[8] + mean};
}

/// V0 times: the shear stress but for zz, the tension, mu and lambda of the change of stress.
FIRN_INLINE void firn_liquid_prepare(const firn_matter *matter, const firn_liquid_group *group,
                                     firn_implicit_bulk bulk, firn_fx cache[FIRN_CACHE_CHANNELS])
{
    (void)matter;
    firn_fx v = bulk.volume;
    // What flows offers no more resistance than viscosity does.
    firn_fx rigidity = firn_fx_select(group->flows, firn_fx_set(0.0f), group->rigidity);
    firn_fx mu = rigidity * group->swell + bulk.rate * (group->j * group->viscosity);
    const firn_fx values[FIRN_CACHE_CHANNELS] = {v * group->shear.xx,
                                                 v * group->shear.xy,
                                                 v * group->shear.xz,
                                                 v * group->shear.yy,
                                                 v * group->shear.yz,
                                                 v * group->tension,
                                                 v * mu,
                                                 v * (group->stiffness - (2.0f / 3.0f) * mu)};
    for (int c = 0; c < FIRN_CACHE_CHANNELS; c++)
        cache[c] = values[c];
}

/// K = dtau - tau G^T, dtau = 2 mu sym(G) + lambda tr(G) I + dev(G s + s G^T) - 2/3 tr(G) s.
FIRN_INLINE firn_fm3 firn_liquid_product(const firn_fx c[FIRN_CACHE_CHANNELS], float factor,
                                         firn_fm3 gradient)
{
    const firn_fx *g = gradient.m;
    firn_fs3 s = firn_fs3_scale(firn_fx_set(factor),
                                (firn_fs3){c[0], c[1], c[2], c[3], c[4], -(c[0] + c[3])});
    firn_fx tension = factor * c[5], mu = factor * c[6], lambda = factor * c[7];
    firn_fx rate = g[0] + g[4] + g[8];
    firn_fm3 gs = firn_fm3_mul(gradient, firn_fm3_from_fs3(s));
    firn_fs3 turned = {gs.m[0] + gs.m[0], gs.m[1] + gs.m[3], gs.m[2] + gs.m[6],
                       gs.m[4] + gs.m[4], gs.m[5] + gs.m[7], gs.m[8] + gs.m[8]};
    turned = firn_fs3_add_scalar(turned, -(1.0f / 3.0f) * firn_fs3_trace(turned));
    turned = firn_fs3_add_scaled(turned, -(2.0f / 3.0f) * rate, s);
    firn_fs3 strained = {2.0f * mu * g[0], mu * (g[1] + g[3]), mu * (g[2] + g[6]),
                         2.0f * mu * g[4], mu * (g[5] + g[7]), 2.0f * mu * g[8]};
    firn_fs3 change = firn_fs3_add_scalar(firn_fs3_add(strained, turned), lambda * rate);
    firn_fm3 tau = firn_fm3_from_fs3(firn_fs3_add_scalar(s, tension));
    return firn_fm3_add_scaled(firn_fm3_from_fs3(change), firn_fx_set(-1.0f),
                               firn_fm3_mul_transpose(tau, gradient));
}

#endif
