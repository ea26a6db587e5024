/// Heat: particles with a temperature, which flows, and materials that melt and freeze.
///
///     def.heat = true;                      // before firn_sim_create: all particles have one
///     def.heat_speed = 1000.0f;             // a shot is shorter than a thaw
///     firn_sim_add_material(sim, &snow, &a, error);
///     firn_sim_add_material(sim, &water, &b, error);
///     firn_sim_pair_materials(sim, a, b, error);             // snow melts to water and back
///     firn_source_value cold = {.channel = "temperature", .value = {263.15f}};
///     source.values = &cold, source.value_count = 1;
///     pan.temperature = 420.0f;             // of a firn_collider_def
///
/// Temperature and melting follow from the enthalpy of each particle, which is exact: what flows
/// from one particle comes to others. Grains outside the grid (free flight) keep their temperature.
#ifndef FIRN_SIM_HEAT_H
#define FIRN_SIM_HEAT_H

#include "firn/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Makes a solid melt to a liquid, and the liquid freeze to the solid: by liquid fraction
/// (melt_at and freeze_at of their defs) with heat, by age with freeze_after. One of them must be a
/// liquid, and both of one substance: heat capacities, latent heat and melting point. Before the
/// first source.
FIRN_API firn_result firn_sim_pair_materials(firn_sim *sim, firn_material_id one,
                                             firn_material_id other, firn_error *error);

/// J, enthalpy of all particles of this rank, from solids at their melting points; 0 without heat.
FIRN_API double firn_sim_enthalpy(const firn_sim *sim);

#ifdef __cplusplus
}
#endif

#endif
