/// What acts on snow from afar: accelerations of its own, fields, air that drags it along.
///
/// Gravity is a setting of the simulation and acts first. Beside it accelerations add up, and air
/// drags at last. Explicit and implicit steps see the same list.
#ifndef FIRN_FORCE_H
#define FIRN_FORCE_H

#include "firn/level_set.h"
#include "firn/params.h"
#include "firn/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum firn_force_kind {
    FIRN_FORCE_CONSTANT, // one acceleration everywhere
    FIRN_FORCE_FIELD,    // an acceleration at every place, from a grid
    FIRN_FORCE_DRAG,     // air that moves, everywhere alike or as a grid says
    FIRN_FORCE_CALLBACK, // whatever a function of the program computes
} firn_force_kind;

/// Nodes of the grid that carry snow, as a callback sees them: at most 64 that lie together.
typedef struct firn_force_nodes {
    double time; // s, at the start of the substep
    float dt;    // s
    int count;
    const firn_vec3 *position; // m
    const firn_vec3 *velocity; // m/s, with stress and gravity of the substep
    const float *mass;         // kg, of the snow at the node
    firn_vec3 *acceleration;   // m/s^2, zeros; to be filled
} firn_force_nodes;

/// Called for every patch of nodes in every substep, from several threads at once: it must not
/// write anything but acceleration, and must give the same for the same nodes, or results depend
/// on the number of threads. It does not run where all snow sleeps: firn_sim_change_force wakes it.
typedef void firn_force_callback(const firn_force_nodes *nodes, void *user);

typedef struct firn_force_def {
    uint32_t cookie;
    int kind;               // firn_force_kind
    firn_vec3 acceleration; // m/s^2, of FIRN_FORCE_CONSTANT
    float strength;         // factor on all of it; of drag, on the velocity of the air
    firn_vec3 velocity;     // m/s, of the air; the grid's comes on top
    float fall_speed;       // m/s, at which drag and gravity balance in still air
    float shelter;          // share of packed snow in a cell that air does not enter; 0: none
    float density;          // kg/m^3, of packed snow
    float fall_spread;      // share by which single grains fall faster or slower than that
    float flutter;          // m/s, of the air that single grains sway with
    float gust;             // m/s, usual speed of gusts on top of it; 0: none
    float gust_size;        // m, of their eddies
    int gust_seed;          // which gusts
    double active_from, active_to;  // s, simulated time in which it acts
    const firn_velocity_grid *grid; // m/s^2 of a field, m/s of air. Outside of its leaves a field
                                    // is zero and air goes on as at their border. The arrays
                                    // must outlive their use
    bool varies;           // of air: it will be changed often; snow that it reaches does not sleep
    firn_vec3 gust_travel; // m, that the eddies have gone with the air until gust_time
    double gust_age;       // turns, that they have changed by until then
    double gust_time;      // s
    firn_force_callback *callback;
    void *user; // of the callback
} firn_force_def;

FIRN_API void firn_force_def_reset(firn_force_def *def, size_t size);
FIRN_API firn_param_table firn_force_params(void);

/// A constant acceleration of zero.
static inline firn_force_def firn_force_def_default(void)
{
    firn_force_def def;
    firn_force_def_reset(&def, sizeof def);
    return def;
}

FIRN_API firn_force_def firn_force_def_constant(firn_vec3 acceleration);
FIRN_API firn_force_def firn_force_def_field(const firn_velocity_grid *grid);
FIRN_API firn_force_def firn_force_def_drag(firn_vec3 velocity, float fall_speed);
FIRN_API firn_force_def firn_force_def_callback(firn_force_callback *callback, void *user);

typedef struct firn_force_id {
    uint32_t index1;     // index + 1, so that {0} is null
    uint32_t generation; // changes when the slot is reused
} firn_force_id;

#ifdef __cplusplus
}
#endif

#endif
