/// The solver's settings, beyond what their table can say.
#ifndef FIRN_SIM_DEFS_H
#define FIRN_SIM_DEFS_H

#include "firn/sim.h"

/// Refuses a def that is not initialized, has a value out of range or limits that cross.
firn_result firn_sim_def_check(const firn_sim_def *def, firn_error *error);

#endif
