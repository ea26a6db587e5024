/// The list of forces, method.md section 5. Whoever has nodes, particles or grains with mass may
/// ask it; it knows nothing of grids or solvers.
///
/// A firn_forces is prepared for one substep; after that it is read-only, so that any number of
/// threads may ask.
#ifndef FIRN_FORCES_H
#define FIRN_FORCES_H

#include "base/memory.h"

#include "firn/force.h"

typedef struct firn_forces {
    firn_budget *budget;
    firn_array slots; // firn_force
    int slot_count;   // used slots, live or free
    int acting_count; // in the prepared substep
    double time;      // s, start of it
    float dt;         // s
} firn_forces;

/// Whatever is refused or fails here leaves everything as it was.
firn_result firn_forces_add(firn_forces *forces, const firn_force_def *def, firn_force_id *id,
                            firn_error *error);
firn_result firn_forces_remove(firn_forces *forces, firn_force_id id, firn_error *error);
/// Takes over all but the kind. *everywhere: it is different in more than a part of space.
firn_result firn_forces_change(firn_forces *forces, firn_force_id id, const firn_force_def *def,
                               bool *everywhere, firn_error *error);
void firn_forces_free(firn_forces *forces);

/// Refuses a def that was not reset, is out of range or lacks what its kind needs.
firn_result firn_force_def_check(const firn_force_def *def, firn_error *error);

/// Fixes which forces act in the substep from time to time + dt. Cannot fail.
void firn_forces_prepare(firn_forces *forces, double time, float dt);

/// A number that stands for the set of forces that act, different for different sets; 0: none.
uint64_t firn_forces_acting(const firn_forces *forces);

/// The sum of the constant ones that act (m/s^2), which have a potential.
firn_vec3 firn_forces_constant(const firn_forces *forces);

/// Whether a force that changed since firn_forces_settle acts, or acted, within a box (m).
bool firn_forces_changed_in(const firn_forces *forces, firn_vec3 lower, firn_vec3 upper);
void firn_forces_settle(firn_forces *forces);

/// Whether there is air, whether any acts in the prepared substep, and whether that is different
/// from one substep to the next.
bool firn_forces_have_drag(const firn_forces *forces);
bool firn_forces_drag(const firn_forces *forces);
bool firn_forces_vary(const firn_forces *forces);

enum { FIRN_FORCE_NODES = 64 }; // at most at a time

/// Points with mass that forces act on: their velocities with gravity of the substep in it.
typedef struct firn_force_points {
    int count;                                 // FIRN_FORCE_NODES at most
    firn_vec3 position[FIRN_FORCE_NODES];      // m
    firn_vec3 velocity[FIRN_FORCE_NODES];      // m/s, changed by firn_forces_apply
    float mass[FIRN_FORCE_NODES];              // kg
    float lee[FIRN_FORCE_NODES];               // kg, the most in a cell near it; 0: it stands alone
    firn_vec3 wall[FIRN_FORCE_NODES];          // normal of a solid close to it; zero: there is none
    firn_vec3 wall_velocity[FIRN_FORCE_NODES]; // m/s
    bool grains; // single grains outside the grid: nothing shields them, and each falls by itself
    uint32_t id[FIRN_FORCE_NODES]; // of the grains
} firn_force_points;

/// The speed (m/s) at which a grain falls in still air.
float firn_force_fall_speed(const firn_force_def *def, uint32_t id);

/// Lets all forces act on points that stand for cells of this edge (m), with gravity in m/s^2. True
/// when air got to one of them.
bool firn_forces_apply(const firn_forces *forces, firn_vec3 gravity, float cell_size,
                       firn_force_points *points);

#endif
