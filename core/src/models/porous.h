/// Snow of grains, bonds and pores, one particle per lane: it crushes at a pressure that grows as
/// its pores close, slides like grains, and breaks where its bonds are worn. Elasticity of Hencky.
///
/// As in granular.h, shear is elastic up to |dev tau| = sqrt(2) (p tan(phi) + c cos(phi)), and
/// beyond the tension c cos(phi) / tan(phi) snow parts. Three things are new. Pressure beyond p_c
/// packs: J_P shrinks for good. Cohesion is worn by all that flows but packing, by a factor e for
/// each `crack opening` of displacement in a cell, so that a crack takes the same energy in cells
/// of any size; what is left of it stands in the slot of the stiffness. And both p_c and c grow
/// with packing, by a power of the density. Moduli never change.
///
/// Only invariants of the strain decide, and the way back is a scaling of its deviator: no
/// eigenvectors, and no eigenvalues while strains are small.
#ifndef FIRN_MODEL_POROUS_H
#define FIRN_MODEL_POROUS_H

#include "hencky.h"
#include "matter.h"

enum {
    firn_porous_packs = true,
    firn_porous_keeps_f = true,
    firn_porous_weighs = false,
    firn_porous_wears = true,
};

/// Its columns of the material table.
enum {
    FIRN_POROUS_MU,        // Pa
    FIRN_POROUS_LAMBDA,    // Pa
    FIRN_POROUS_APEX,      // log of the volume ratio at the tension that cohesion bears
    FIRN_POROUS_SLOPE,     // |dev e| at yield for each unit of tr(e) below the apex
    FIRN_POROUS_CRUSH,     // -log of the volume ratio at the pressure that packs
    FIRN_POROUS_HARDENING, // power of the density in both
    FIRN_POROUS_OPEN,      // log of the largest volume ratio that is remembered
    FIRN_POROUS_WEAR,      // 1/m, one over the crack opening
    FIRN_POROUS_DAMPING,   // s
};

/// Bounds of the logarithm of what packing multiplies strength by, and of J_P.
#define FIRN_POROUS_MOST_HARDER 8.0f
#define FIRN_POROUS_LEAST_JP 0.05f

/// Whether the slots of F are in use for a group.
FIRN_INLINE bool firn_porous_moves_f(const firn_matter *matter)
{
    (void)matter;
    return true;
}

typedef struct firn_porous_group {
    firn_fs3 strain;
    firn_moduli moduli;
    firn_ix open;   // parted, and not closed again
    firn_ix yields; // in the update; nobody knows of slots that were only loaded
} firn_porous_group;

static inline firn_moduli firn_porous_moduli(const firn_matter *matter)
{
    const firn_lane_materials *m = &matter->materials;
    return (firn_moduli){firn_material_of(m, FIRN_POROUS_MU),
                         firn_material_of(m, FIRN_POROUS_LAMBDA)};
}

/// log(I + B) / 2 for |B| <= 0.1, off by 1e-8 at most, and which lanes that holds for.
static inline firn_fs3 firn_porous_strain_small(const firn_deformation *deformation, firn_ix *small)
{
    firn_fs3 b = deformation->b;
    firn_fs3 b2 = firn_fs3_mul_commuting(b, b);
    firn_fs3 b3 = firn_fs3_mul_commuting(b, b2);
    *small = (firn_fs3_trace(b2) <= 0.01f) & (deformation->det > 0.0f);
    firn_fs3 high = firn_fs3_scale(firn_fx_set(-0.125f), b);
    high = firn_fs3_add_scaled(high, firn_fx_set(0.1f), b2);
    high = firn_fs3_add_scaled(high, firn_fx_set(-1.0f / 12.0f), b3);
    firn_fs3 e = firn_fs3_scale(firn_fx_set(0.5f), b);
    e = firn_fs3_add_scaled(e, firn_fx_set(-0.25f), b2);
    e = firn_fs3_add_scaled(e, firn_fx_set(1.0f / 6.0f), b3);
    return firn_fs3_add(e, firn_fs3_mul_commuting(b3, high));
}

static __attribute__((noinline)) firn_fs3 firn_porous_strain_large(firn_fm3 f)
{
    return firn_hencky_strain(&f);
}

FIRN_INLINE firn_fs3 firn_porous_strain(const firn_fm3 *f, firn_ix *small)
{
    firn_deformation deformation = firn_deformation_of(f);
    firn_fs3 e = firn_porous_strain_small(&deformation, small);
    if (firn_ix_all(*small))
        return e;
    return firn_fs3_select(*small, e, firn_porous_strain_large(*f));
}

FIRN_INLINE firn_porous_group firn_porous_load(const firn_matter *matter)
{
    firn_ix small;
    return (firn_porous_group){firn_porous_strain(&matter->f, &small), firn_porous_moduli(matter),
                               matter->jp > 1.0f, firn_ix_set(0)};
}

/// The way back to where snow holds, e -> kept / 3 I + share dev e.
typedef struct firn_porous_return {
    firn_fx trace;       // of the strain
    firn_fx kept, share; // of its trace and its deviator
    firn_fx jp, strength;
    firn_ix yields;
} firn_porous_return;

static inline firn_porous_return firn_porous_project(const firn_matter *matter, firn_fs3 e)
{
    const firn_lane_materials *m = &matter->materials;
    firn_fx zero = {0}, one = firn_fx_set(1.0f), packed = zero, harder = one;
    firn_porous_return to = {.trace = firn_fs3_trace(e)};
    if (firn_ix_any(matter->jp != 1.0f)) {
        packed = firn_fx_log(firn_fx_max(matter->jp, firn_fx_set(FIRN_POROUS_LEAST_JP)));
        packed = firn_fx_select(matter->jp != 1.0f, packed, zero);
        firn_fx power = -firn_material_of(m, FIRN_POROUS_HARDENING) * firn_fx_min(packed, zero);
        harder = firn_fx_exp(firn_fx_min(power, firn_fx_set(FIRN_POROUS_MOST_HARDER)));
    }
    firn_fx apex = firn_material_of(m, FIRN_POROUS_APEX) * matter->stiffness * harder;
    firn_fx crush = firn_material_of(m, FIRN_POROUS_CRUSH) * harder;

    // What opened before closes first: the whole volume counts.
    firn_fx whole = to.trace + firn_fx_max(packed, zero);
    to.kept = firn_fx_clamp(whole, -crush, apex);
    firn_fs3 d = firn_fs3_add_scalar(e, -(1.0f / 3.0f) * to.trace);
    firn_fx norm = firn_fx_root(firn_fs3_norm2(d));
    firn_fx allowed = firn_material_of(m, FIRN_POROUS_SLOPE) * (apex - to.kept);
    to.share = firn_fx_min(one, firn_fx_ratio(allowed, firn_fx_max(firn_fx_set(1e-12f), norm)));
    firn_fx moved = to.trace - to.kept; // from the elastic to the plastic volume
    to.yields = (to.share < 1.0f) | (moved != 0.0f);
    to.jp = matter->jp;
    to.strength = matter->stiffness;
    if (!firn_ix_any(to.yields))
        return to;
    firn_fx most = firn_material_of(m, FIRN_POROUS_OPEN);
    to.jp = firn_fx_select(moved != 0.0f, firn_fx_exp(firn_fx_min(packed + moved, most)), to.jp);
    firn_fx opened = firn_fx_select(whole > apex, firn_fx_max(zero, moved), zero);
    firn_fx slid = (1.0f - to.share) * norm;
    firn_fx wear = matter->cell_size * firn_material_of(m, FIRN_POROUS_WEAR);
    firn_fx loss = firn_fx_exp(-firn_fx_min(firn_fx_set(50.0f), wear * (opened + slid)));
    to.strength = firn_fx_select(to.yields, to.strength * loss, to.strength);
    return to;
}

// exp(x) - I of a symmetric matrix with |x| <= 0.25, within 1e-5 of |x|.
static inline firn_fs3 firn_porous_exp_small(firn_fs3 x)
{
    firn_fs3 x2 = firn_fs3_mul_commuting(x, x);
    firn_fs3 high = firn_fs3_add_scaled(firn_fs3_scale(firn_fx_set(1.0f / 6.0f), x),
                                        firn_fx_set(1.0f / 24.0f), x2);
    high = firn_fs3_add_scalar(high, firn_fx_set(0.5f));
    return firn_fs3_add(x, firn_fs3_mul_commuting(x2, high));
}

// The same for any x of moderate strains: by (I + y)^2 - I = 2 y + y^2, twice.
static __attribute__((noinline)) firn_fs3 firn_porous_exp_large(firn_fs3 x)
{
    firn_fs3 y = firn_porous_exp_small(firn_fs3_scale(firn_fx_set(0.25f), x));
    for (int i = 0; i < 2; i++)
        y = firn_fs3_add(firn_fs3_scale(firn_fx_set(2.0f), y), firn_fs3_mul_commuting(y, y));
    return y;
}

// F of lanes that are out of the moderate range.
static __attribute__((noinline)) firn_fm3 firn_porous_move_svd(firn_fm3 f,
                                                               const firn_porous_return *to)
{
    const float third = 1.0f / 3.0f;
    firn_svd svd = firn_svd_of(f);
    firn_fx3 e = firn_hencky_principal_svd(&svd);
    firn_fx mean = third * (to->kept - to->share * to->trace);
    return firn_svd_compose(&svd, (firn_fx3){firn_fx_exp(mean + to->share * e.x),
                                             firn_fx_exp(mean + to->share * e.y),
                                             firn_fx_exp(mean + to->share * e.z)});
}

static __attribute__((noinline)) firn_ix firn_porous_is_moderate(firn_fm3 f)
{
    firn_deformation deformation = firn_deformation_of(&f);
    return firn_hencky_is_moderate(firn_fs3_eigenvalues(deformation.b), deformation.det);
}

/// F by exp(e' - e), which commutes with all that F F^T is made of.
FIRN_INLINE firn_fm3 firn_porous_move(firn_fm3 f, firn_fs3 e, firn_ix small,
                                      const firn_porous_return *to)
{
    const float third = 1.0f / 3.0f;
    firn_fs3 x = firn_fs3_scale(to->share - 1.0f, firn_fs3_add_scalar(e, -third * to->trace));
    firn_fs3 y = firn_porous_exp_small(x);
    if (!firn_ix_all(small))
        y = firn_fs3_select(small, y, firn_porous_exp_large(x));
    firn_fm3 moved = firn_fm3_mul_add(firn_fm3_from_fs3(y), f, f);
    moved = firn_fm3_scale(firn_fx_exp(third * (to->kept - to->trace)), moved);
    if (firn_ix_all(small))
        return moved;
    firn_ix moderate = small | firn_porous_is_moderate(f);
    return firn_ix_all(moderate) ? moved
                                 : firn_fm3_select(moderate, moved, firn_porous_move_svd(f, to));
}

/// Moves the slots to where snow holds. Lanes that do not yield keep all their bits.
FIRN_INLINE void firn_porous_apply(firn_matter *matter, firn_porous_group *group, firn_ix small,
                                   const firn_porous_return *to)
{
    group->yields = to->yields;
    if (firn_ix_any(to->yields)) {
        firn_fm3 moved = firn_porous_move(matter->f, group->strain, small, to);
        firn_fx mean = (1.0f / 3.0f) * (to->kept - to->share * to->trace);
        firn_fs3 strain = firn_fs3_add_scalar(firn_fs3_scale(to->share, group->strain), mean);
        matter->f = firn_fm3_select(to->yields, moved, matter->f);
        group->strain = firn_fs3_select(to->yields, strain, group->strain);
    }
    matter->jp = to->jp;
    matter->stiffness = to->strength;
    group->open = matter->jp > 1.0f;
}

FIRN_INLINE firn_porous_group firn_porous_update(firn_matter *matter, firn_fm3 gradient, float dt)
{
    firn_fm3 step = firn_fm3_scale(firn_fx_set(dt), gradient);
    matter->f = firn_fm3_mul_add(step, matter->f, matter->f);
    firn_ix small;
    firn_porous_group group = {.strain = firn_porous_strain(&matter->f, &small),
                               .moduli = firn_porous_moduli(matter)};
    firn_porous_return to = firn_porous_project(matter, group.strain);
    firn_porous_apply(matter, &group, small, &to);
    return group;
}

FIRN_INLINE firn_fx firn_porous_wave2(const firn_porous_group *group, const firn_bulk *bulk)
{
    // Pressure stiffens.
    firn_fx pressed = firn_fx_abs(firn_fs3_trace(group->strain));
    firn_fx sheared = firn_fx_root(firn_fs3_norm2(group->strain));
    return firn_bulk_wave2(bulk, group->moduli.lambda * (1.0f + pressed) +
                                     2.0f * group->moduli.mu * (1.0f + sheared));
}

FIRN_INLINE firn_lane_stress firn_porous_stress(const firn_porous_group *group)
{
    return (firn_lane_stress){firn_hencky_stress(group->strain, group->moduli),
                              firn_hencky_energy(group->strain, group->moduli)};
}

/// Only what is elastic is damped: a viscosity would hold cracks together.
FIRN_INLINE firn_fs3 firn_porous_viscosity(const firn_lane_materials *materials,
                                           const firn_porous_group *group, const firn_flow *flow)
{
    firn_fx wanted = firn_material_of(materials, FIRN_POROUS_DAMPING);
    wanted = firn_fx_select(group->yields | group->open, firn_fx_set(0.0f), wanted);
    return firn_damping(wanted, group->moduli, flow);
}

/// What has parted has no stiffness: neither it nor its neighbors feel a pull.
FIRN_INLINE void firn_porous_prepare(const firn_matter *matter, const firn_porous_group *group,
                                     firn_implicit_bulk bulk, firn_fx cache[FIRN_CACHE_CHANNELS])
{
    (void)matter;
    firn_fx volume = firn_fx_select(group->open, firn_fx_set(0.0f), bulk.volume);
    firn_corotated_prepare(group->strain, group->moduli, volume, cache);
}

FIRN_INLINE firn_fm3 firn_porous_product(const firn_fx c[FIRN_CACHE_CHANNELS], float factor,
                                         firn_fm3 gradient)
{
    firn_fs3 strain = {c[0], c[1], c[2], c[3], c[4], c[5]};
    firn_moduli moduli = {factor * c[6], factor * c[7]};
    return firn_hencky_hessian(strain, moduli, gradient);
}

#endif
