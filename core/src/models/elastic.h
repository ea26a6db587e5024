/// Matter that never yields: the fixed corotated elasticity of snow alone. One particle per lane.
#ifndef FIRN_MODEL_ELASTIC_H
#define FIRN_MODEL_ELASTIC_H

#include "elasticity.h"
#include "matter.h"

enum {
    firn_elastic_packs = false,
    firn_elastic_keeps_f = true,
    firn_elastic_weighs = false,
    firn_elastic_wears = false,
};

/// Its columns of the material table.
enum {
    FIRN_ELASTIC_MU,      // Pa
    FIRN_ELASTIC_LAMBDA,  // Pa
    FIRN_ELASTIC_DAMPING, // s
};

/// Whether the slots of F are in use for a group.
FIRN_INLINE bool firn_elastic_moves_f(const firn_matter *matter)
{
    (void)matter;
    return true;
}

typedef struct firn_elastic_group {
    firn_deformation deformation;
    firn_moduli moduli;
} firn_elastic_group;

FIRN_INLINE firn_elastic_group firn_elastic_load(const firn_matter *matter)
{
    const firn_lane_materials *m = &matter->materials;
    return (firn_elastic_group){firn_deformation_of(&matter->f),
                                {matter->stiffness * firn_material_of(m, FIRN_ELASTIC_MU),
                                 matter->stiffness * firn_material_of(m, FIRN_ELASTIC_LAMBDA)}};
}

FIRN_INLINE firn_elastic_group firn_elastic_update(firn_matter *matter, firn_fm3 gradient, float dt)
{
    firn_fm3 step = firn_fm3_scale(firn_fx_set(dt), gradient);
    matter->f = firn_fm3_mul_add(step, matter->f, matter->f);
    return firn_elastic_load(matter);
}

/// Deformations are not small here: 2 mu s^2 + lambda J (2 J - 1), where |B| bounds s^2 - 1.
FIRN_INLINE firn_fx firn_elastic_wave2(const firn_elastic_group *group, const firn_bulk *bulk)
{
    firn_fx stretch2 = 1.0f + firn_fx_root(firn_fs3_norm2(group->deformation.b));
    firn_fx det = firn_fx_max(group->deformation.det, firn_fx_set(1.0f));
    firn_fx modulus =
        group->moduli.lambda * (det * (2.0f * det - 1.0f)) + 2.0f * group->moduli.mu * stretch2;
    return firn_bulk_wave2(bulk, modulus);
}

FIRN_INLINE firn_lane_stress firn_elastic_stress(const firn_elastic_group *group)
{
    firn_fs3 strain = firn_strain_of(&group->deformation);
    return (firn_lane_stress){firn_corotated_stress(strain, group->moduli),
                              firn_corotated_energy(strain, group->moduli)};
}

FIRN_INLINE firn_fs3 firn_elastic_viscosity(const firn_lane_materials *materials,
                                            const firn_elastic_group *group, const firn_flow *flow)
{
    firn_fx wanted = firn_material_of(materials, FIRN_ELASTIC_DAMPING);
    return firn_damping(wanted, group->moduli, flow);
}

FIRN_INLINE void firn_elastic_prepare(const firn_matter *matter, const firn_elastic_group *group,
                                      firn_implicit_bulk bulk, firn_fx cache[FIRN_CACHE_CHANNELS])
{
    (void)matter;
    firn_corotated_prepare(firn_strain_of(&group->deformation), group->moduli, bulk.volume, cache);
}

FIRN_INLINE firn_fm3 firn_elastic_product(const firn_fx cache[FIRN_CACHE_CHANNELS], float factor,
                                          firn_fm3 gradient)
{
    return firn_corotated_product(cache, factor, gradient);
}

#endif
