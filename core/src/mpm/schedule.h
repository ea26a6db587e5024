/// Time: how long substeps are, and what happens to a call whose substeps do not go well.
#ifndef FIRN_SCHEDULE_H
#define FIRN_SCHEDULE_H

#include "firn/sim.h"

/// One attempt at a call of firn_sim_step.
typedef struct firn_schedule {
    firn_sim *sim;
    double begin, end; // s
    double shrink;     // factor on every bound of the step
    double ceiling;    // s, the last step that went well may grow only slowly
    double clock;      // s of wall time at which the stage at work began
    const char *cause; // of the last rejected substep
    double value;      // that goes with the cause
} firn_schedule;

/// The length of the coming substep, s: method.md (17), or the one that the grid is filled for.
double firn_schedule_dt(const firn_schedule *schedule);

/// What the substep after one of dt is going to be, as far as can be told; 0 when the grid cannot
/// be filled for it in advance.
double firn_schedule_next_dt(const firn_schedule *schedule, double dt);

/// Notes why the result of a substep must not be used; false, for the caller to pass on.
bool firn_schedule_reject(firn_schedule *schedule, const char *cause, double value);

/// Halves a rejected substep; FIRN_ERR_DIVERGED when it must not become smaller.
firn_result firn_schedule_halve(firn_schedule *schedule, double *dt, firn_error *error);

/// Time goes on by a substep that went well, after so many that did not.
void firn_schedule_accept(firn_schedule *schedule, double dt, int rejected);

/// step.c: one substep, as long as the schedule says.
firn_result firn_substep(firn_schedule *schedule, firn_error *error);

#endif
