/// What a model sees of a group of particles, one per lane, and what it is asked for.
///
/// The header of a model called NAME defines, all inlined into the kernels:
///
///     enum { firn_NAME_packs, firn_NAME_keeps_f,             as in its row
///            firn_NAME_wears,                                whether it moves the stiffness
///            firn_NAME_weighs }                              whether it reads the packing
///     typedef struct firn_NAME_group                         what stress and speed follow from
///     firn_NAME_load(matter) -> group                        from the slots as they are
///     firn_NAME_update(matter, gradient, dt) -> group        moves the slots by a substep
///     firn_NAME_moves_f(matter) -> bool                      whether it uses the slots of F
///     firn_NAME_wave2(group, bulk) -> (m/s)^2                bound of the explicit step, squared
///     firn_NAME_stress(group) -> firn_lane_stress            Kirchhoff stress and energy
///     firn_NAME_viscosity(materials, group, flow) -> stress  of the explicit step with APIC
///     firn_NAME_prepare(matter, group, bulk, cache)          for the Hessian product; the last
///                                                            two: V0 mu, V0 lambda near its
///                                                            diagonal
///     firn_NAME_product(cache, factor, gradient) -> matrix   V0 (d2Psi/dF2 : G F) F^T factor
#ifndef FIRN_MATTER_H
#define FIRN_MATTER_H

#include "base/simd.h"
#include "models.h"

/// The materials of a group.
typedef struct firn_lane_materials {
    const firn_materials *table;
    firn_ix lane;
    bool same; // that of the first lane for all, as nearly everywhere
} firn_lane_materials;

/// A column of the material table for each lane.
FIRN_INLINE firn_fx firn_material_of(const firn_lane_materials *materials, int column)
{
    const float *values = materials->table->column[column];
    return materials->same ? firn_fx_set(values[materials->lane[0]])
                           : firn_fx_gather(values, materials->lane);
}

/// The slots of a group: what they hold is the model's business.
typedef struct firn_matter {
    firn_fm3 f; // the slots of F, the identity at the start
    firn_fx jp; // the slot of J_P, 1 at the start; with models that pack, what the source says
    firn_fx stiffness; // factor of the source's variation; with models that wear, of strength
    firn_fx packing;   // density of what is around over the own initial one; models that weigh
    firn_fx cells;     // that the own initial volume fills; models that weigh
    float cell_size;   // m
    firn_lane_materials materials;
} firn_matter;

/// Amounts of matter. Lanes past the end of a group have none.
typedef struct firn_bulk {
    firn_fx mass, volume; // kg; m^3, initial
    float cell_size;      // m
} firn_bulk;

/// (m/s)^2 from a modulus in Pa per initial volume: changes of volume cancel.
FIRN_INLINE firn_fx firn_bulk_wave2(const firn_bulk *bulk, firn_fx modulus)
{
    return firn_fx_ratio(modulus * bulk->volume, firn_fx_max(firn_fx_set(1e-30f), bulk->mass));
}

/// What flows past in an explicit substep.
typedef struct firn_flow {
    const firn_fm3 *gradient; // 1/s, of the velocity
    firn_fx wave2;            // (m/s)^2
    float dt, cell_size;      // s, m
} firn_flow;

typedef struct firn_lane_stress {
    firn_fs3 tau;   // Pa, dPsi/dF F^T
    firn_fx energy; // Pa, Psi
} firn_lane_stress;

/// What an implicit substep multiplies.
typedef struct firn_implicit_bulk {
    firn_fx volume; // m^3, initial
    float rate;     // 1/s: a stress that follows the strain rate counts as this much strain
} firn_implicit_bulk;

#endif
