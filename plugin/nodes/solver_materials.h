/// The materials of a solver's sources in its simulation, and what they melt or freeze to.
#ifndef FIRN_SOLVER_MATERIALS_H
#define FIRN_SOLVER_MATERIALS_H

#include "nodes.h"

#include "firn/sim_heat.h"

/// A material and its partner; no number: there is none.
typedef struct firn_solver_pair {
    firn_material_id own, partner;
} firn_solver_pair;

/// The material that all sources without one have; NULL: none is linked.
const firn_material_def *firn_solver_common(const firn_cook *cook);

/// pair[i]: of source i; the last, behind all sources, is the common one. Added before any source:
/// that one, and where a material has a partner all of them. The others come with their sources, as
/// ever, so that numbers of materials stay.
firn_result firn_solver_materials_begin(const firn_cook *cook, const firn_sim_def *def,
                                        firn_sim *sim, firn_solver_pair *pair, firn_error *error);
firn_result firn_solver_materials_add(const firn_cook *cook, const firn_sim_def *def, firn_sim *sim,
                                      size_t source, firn_solver_pair *pair, firn_error *error);

/// With the values of this frame.
firn_result firn_solver_materials_change(const firn_cook *cook, firn_sim *sim,
                                         const firn_solver_pair *pair, firn_error *error);

#endif
