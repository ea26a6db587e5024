/// How a mesh or level set moves, inside of it too: from the velocities around its surface.
#ifndef FIRN_SOURCE_FLOW_H
#define FIRN_SOURCE_FLOW_H

#include "firn/source.h"

/// Makes a lattice of velocities over a level set. Motions that are affine (a shift, a turn, a
/// stretch) are met exactly; what the best of these leaves at the surface is carried inward with
/// weights that fall with the fourth power of the distance. The values are owned: free them with
/// firn_free((void *)flow->values).
firn_result firn_source_flow_make(const firn_level_set *set, const firn_velocity_grid *velocity,
                                  firn_source_flow *flow, firn_error *error);

#endif
