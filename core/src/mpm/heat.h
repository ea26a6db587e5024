/// Heat: what flows between particles, colliders and the air, and what melts and freezes of it.
///
///     a sort is due           phase.c: what has melted or frozen changes its model; then the sort
///     heat is due, after it   particles give mass, temperature and surface to nodes
///                             nodes find temperatures, and what colliders, air and sun give
///                             particles let heat flow down the gradient between nodes
///                             nodes know what they have gained; particles get their share
///
/// Heat runs ahead: a stage answers for the time up to firn_heat.until, and a call of firn_sim_step
/// ends with all of its time done. So nothing is pending between calls, and a checkpoint holds no
/// more than the particles.
#ifndef FIRN_HEAT_H
#define FIRN_HEAT_H

#include "firn/sim.h"

typedef struct firn_heat {
    bool flows;                         // heat is on
    bool ages;                          // particles have an age
    int temperature, liquid, rest, age; // columns, where they are
    double until;                       // s, that has been done
} firn_heat;

/// The columns that a simulation has; before there is any particle, or after one is added.
void firn_heat_find_columns(firn_sim *sim);

/// A call begins: nothing of its time is done.
void firn_heat_begin(firn_sim *sim);

/// Whether the next stage is due now, or after a substep of dt; it follows a sort.
bool firn_heat_is_due(const firn_sim *sim, double dt);

/// The stage, after a sort; left: what the call still simulates, s. Fails for want of memory, or
/// when it would need too many passes, and has changed nothing then.
firn_result firn_heat_run(firn_sim *sim, double left, firn_error *error);

/// phase.c: before a sort, particles that have melted, frozen or come of age change their material.
void firn_heat_change_phase(firn_sim *sim);

#endif
