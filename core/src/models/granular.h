/// Grains that slide: Drucker-Prager plasticity in the strain of Hencky (Klar et al. 2016) with
/// cohesion and the volume correction of Tampubolon et al. 2017. One particle per lane.
///
/// Shear up to |dev tau| = sqrt(2) (p tan(phi) + c cos(phi)) is elastic. More flows without change
/// of volume: where layers slide over each other, as on a slope, the ratio of shear stress and
/// pressure is then tan(phi). Beyond the tension c cos(phi) / tan(phi) grains part; how far is kept
/// in the slot of J_P, so that they bear load only when they have closed up again.
#ifndef FIRN_MODEL_GRANULAR_H
#define FIRN_MODEL_GRANULAR_H

#include "hencky.h"
#include "matter.h"

enum {
    firn_granular_packs = false,
    firn_granular_keeps_f = true,
    firn_granular_weighs = false,
    firn_granular_wears = false,
};

/// Its columns of the material table.
enum {
    FIRN_GRANULAR_MU,     // Pa
    FIRN_GRANULAR_LAMBDA, // Pa
    FIRN_GRANULAR_APEX,   // log of the volume ratio at the tension that cohesion bears
    FIRN_GRANULAR_SLOPE,  // |dev e| at yield for each unit of tr(e) below the apex
    FIRN_GRANULAR_OPEN,   // log of the largest volume ratio that is remembered
};

/// Whether the slots of F are in use for a group.
FIRN_INLINE bool firn_granular_moves_f(const firn_matter *matter)
{
    (void)matter;
    return true;
}

typedef struct firn_granular_group {
    firn_fs3 strain;
    firn_moduli moduli;
    firn_ix open; // grains that do not touch
} firn_granular_group;

static inline firn_moduli firn_granular_moduli(const firn_matter *matter)
{
    const firn_lane_materials *m = &matter->materials;
    return (firn_moduli){matter->stiffness * firn_material_of(m, FIRN_GRANULAR_MU),
                         matter->stiffness * firn_material_of(m, FIRN_GRANULAR_LAMBDA)};
}

FIRN_INLINE firn_granular_group firn_granular_load(const firn_matter *matter)
{
    return (firn_granular_group){firn_hencky_strain(&matter->f), firn_granular_moduli(matter),
                                 matter->jp > 1.0f};
}

/// Where grains yield.
typedef struct firn_granular_cone {
    firn_fx apex, slope, open; // as the columns
} firn_granular_cone;

/// A strain on its way back to the cone.
typedef struct firn_granular_return {
    firn_fx3 e;
    firn_fx jp;
    firn_ix yields;
} firn_granular_return;

static inline firn_granular_return firn_granular_project(firn_fx3 e, firn_fx jp,
                                                         const firn_granular_cone *cone)
{
    const float third = 1.0f / 3.0f;
    firn_fx trace = e.x + e.y + e.z;
    // What opened before closes first: the whole volume counts.
    firn_fx gone = firn_fx_select(jp != 1.0f, firn_fx_log(jp), firn_fx_set(0.0f));
    firn_fx whole = trace + gone;
    firn_fx kept = firn_fx_min(whole, cone->apex);
    firn_fx3 d = {e.x - third * trace, e.y - third * trace, e.z - third * trace};
    firn_fx norm = firn_fx_root(firn_fx3_dot(d, d));
    firn_fx allowed = cone->slope * (cone->apex - kept);
    firn_fx least = firn_fx_set(1e-12f);
    firn_fx share =
        firn_fx_min(firn_fx_set(1.0f), firn_fx_ratio(allowed, firn_fx_max(least, norm)));
    firn_granular_return result;
    result.e = (firn_fx3){third * kept + share * d.x, third * kept + share * d.y,
                          third * kept + share * d.z};
    firn_fx opened = firn_fx_min(whole - kept, cone->open);
    result.jp = firn_fx_select(opened > 0.0f, firn_fx_exp(opened), firn_fx_set(1.0f));
    result.yields = (share < 1.0f) | (kept != trace);
    return result;
}

typedef struct firn_granular_extreme {
    firn_fm3 f;
    firn_fs3 strain;
    firn_granular_return mapped;
} firn_granular_extreme;

// For lanes out of the moderate range.
static __attribute__((noinline)) firn_granular_extreme
firn_granular_project_svd(firn_fm3 f, firn_fx jp, const firn_granular_cone *cone)
{
    firn_svd svd = firn_svd_of(f);
    firn_granular_extreme result;
    result.mapped = firn_granular_project(firn_hencky_principal_svd(&svd), jp, cone);
    firn_fx3 e = result.mapped.e;
    result.f =
        firn_svd_compose(&svd, (firn_fx3){firn_fx_exp(e.x), firn_fx_exp(e.y), firn_fx_exp(e.z)});
    result.strain = firn_svd_symmetric(&svd, e);
    return result;
}

/// Back to the cone; gives the strain. Lanes that do not yield keep all their bits.
FIRN_INLINE firn_fs3 firn_granular_return_map(firn_fm3 *f, firn_fx *jp,
                                              const firn_granular_cone *cone)
{
    firn_deformation deformation = firn_deformation_of(f);
    firn_fs3 b = deformation.b;
    firn_fx3 l = firn_fs3_eigenvalues(b);
    firn_fx3 e = firn_hencky_principal(l);
    firn_granular_return mapped = firn_granular_project(e, *jp, cone);
    firn_fx3 change = {firn_fx_exp(mapped.e.x - e.x) - 1.0f, firn_fx_exp(mapped.e.y - e.y) - 1.0f,
                       firn_fx_exp(mapped.e.z - e.z) - 1.0f};
    firn_fs3 h = firn_fs3_function(b, l, firn_divided_differences(l, change));
    firn_fs3 strain = firn_fs3_function(b, l, firn_divided_differences(l, mapped.e));
    firn_fm3 to = firn_fm3_mul_add(firn_fm3_from_fs3(h), *f, *f);
    firn_ix moderate = firn_hencky_is_moderate(l, deformation.det);
    if (!firn_ix_all(moderate)) {
        firn_granular_extreme extreme = firn_granular_project_svd(*f, *jp, cone);
        to = firn_fm3_select(moderate, to, extreme.f);
        strain = firn_fs3_select(moderate, strain, extreme.strain);
        mapped.jp = firn_fx_select(moderate, mapped.jp, extreme.mapped.jp);
        mapped.yields = mapped.yields | ~moderate;
    }
    *f = firn_fm3_select(mapped.yields, to, *f);
    *jp = mapped.jp;
    return strain;
}

FIRN_INLINE firn_granular_group firn_granular_update(firn_matter *matter, firn_fm3 gradient,
                                                     float dt)
{
    const firn_lane_materials *m = &matter->materials;
    firn_granular_cone cone = {
        firn_fx_ratio(firn_material_of(m, FIRN_GRANULAR_APEX), matter->stiffness),
        firn_material_of(m, FIRN_GRANULAR_SLOPE), firn_material_of(m, FIRN_GRANULAR_OPEN)};
    firn_fm3 step = firn_fm3_scale(firn_fx_set(dt), gradient);
    matter->f = firn_fm3_mul_add(step, matter->f, matter->f);
    firn_granular_group group;
    group.strain = firn_granular_return_map(&matter->f, &matter->jp, &cone);
    group.moduli = firn_granular_moduli(matter);
    group.open = matter->jp > 1.0f;
    return group;
}

FIRN_INLINE firn_fx firn_granular_wave2(const firn_granular_group *group, const firn_bulk *bulk)
{
    // Pressure stiffens.
    firn_fx pressed = firn_fx_abs(firn_fs3_trace(group->strain));
    firn_fx sheared = firn_fx_root(firn_fs3_norm2(group->strain));
    return firn_bulk_wave2(bulk, group->moduli.lambda * (1.0f + pressed) +
                                     2.0f * group->moduli.mu * (1.0f + sheared));
}

FIRN_INLINE firn_lane_stress firn_granular_stress(const firn_granular_group *group)
{
    return (firn_lane_stress){firn_hencky_stress(group->strain, group->moduli),
                              firn_hencky_energy(group->strain, group->moduli)};
}

/// Friction is enough.
FIRN_INLINE firn_fs3 firn_granular_viscosity(const firn_lane_materials *materials,
                                             const firn_granular_group *group,
                                             const firn_flow *flow)
{
    (void)materials, (void)group, (void)flow;
    firn_fx zero = {0};
    return (firn_fs3){zero, zero, zero, zero, zero, zero};
}

/// Grains that do not touch have no stiffness: neither they nor their neighbors feel a pull.
FIRN_INLINE void firn_granular_prepare(const firn_matter *matter, const firn_granular_group *group,
                                       firn_implicit_bulk bulk, firn_fx cache[FIRN_CACHE_CHANNELS])
{
    (void)matter;
    firn_fx volume = firn_fx_select(group->open, firn_fx_set(0.0f), bulk.volume);
    firn_corotated_prepare(group->strain, group->moduli, volume, cache);
}

FIRN_INLINE firn_fm3 firn_granular_product(const firn_fx c[FIRN_CACHE_CHANNELS], float factor,
                                           firn_fm3 gradient)
{
    firn_fs3 strain = {c[0], c[1], c[2], c[3], c[4], c[5]};
    firn_moduli moduli = {factor * c[6], factor * c[7]};
    return firn_hencky_hessian(strain, moduli, gradient);
}

#endif
