/// What a simulation is made of. Each part belongs to a file, which alone writes it:
///
///     emission    emission.c       where new particles come from
///     store       store.h          grains outside the grid
///     order       order.h          how far the order of the particles can be trusted
///     foresight   foresight.h      what the end of a substep knows of the next one
///     measures    transfer.c       sums and extremes of each block
///     affine      transfer.c       where the affine velocities are
///     clearance   clearance.c      what is known of the distance to colliders
///     contact     contact_*.c      what touches colliders, and what they are given
///     coupling    body_coupling.c  what snow and bodies agree on
///     followers   followers.c      bodies in the implicit solve
///     rest        sleep.c          who sleeps
///     air         air.c            what shields snow from the air
///     heat        heat.h           temperatures, melting, freezing
///     solve       implicit.h       what the implicit step keeps
///     snapshot    snapshot.h       what a retry or a host goes back to
///     the state as a whole         state.h
#ifndef FIRN_SIM_STATE_H
#define FIRN_SIM_STATE_H

#include "base/memory.h"
#include "bodies/bodies.h"
#include "body_coupling.h"
#include "contact/colliders.h"
#include "followers.h"
#include "forces/forces.h"
#include "foresight.h"
#include "grid.h"
#include "heat.h"
#include "implicit.h"
#include "kernels.h"
#include "order.h"
#include "owners.h"
#include "particles/particles.h"
#include "seeding/seeding.h"
#include "sequence.h"
#include "snapshot.h"
#include "store.h"

#include "firn/sim.h"

/// Wall time is counted per stage.
typedef enum firn_stage {
    FIRN_STAGE_SORT,
    FIRN_STAGE_P2G,
    FIRN_STAGE_GRID,
    FIRN_STAGE_SOLVE,
    FIRN_STAGE_G2P,
    FIRN_STAGE_CYCLE,
    FIRN_STAGE_EMIT,
    FIRN_STAGE_OTHER,
    FIRN_STAGE_END,
} firn_stage;

/// Extremes over the nodes after an update.
typedef struct firn_node_limits {
    float speed2;     // (m/s)^2, of nodes that carry a share of a particle worth noting
    float any_speed2; // (m/s)^2, of all nodes
    bool finite;
} firn_node_limits;

/// A material made from another one. What holds chunks together differs from their material in one
/// number; the loose twin is of another model until it has packed, slow.c.
typedef struct firn_bond {
    float share; // factor on the bond_column of its model; 0: the material is not of this kind
    uint8_t of;  // index of the material that it is made from
    bool loose;  // the twin; share is 1
} firn_bond;

/// Where the affine velocities C are. The cycle has no use for those that it finds, and keeps what
/// they follow from: FIRN_FROM in the place of C, and the node velocities that it read.
typedef enum firn_affine {
    FIRN_AFFINE_THERE,            // in FIRN_C
    FIRN_AFFINE_IN_NODE_VELOCITY, // to be found by firn_transfer_recover
    FIRN_AFFINE_IN_NODE_NEXT,     // the same, since the nodes of the cycle have changed places
} firn_affine;

/// What the transfers find out about each block, transfer.c.
typedef struct firn_measures {
    firn_array sums;   // firn_block_sums, at the start of the substep
    firn_array limits; // firn_block_limits, at its end
    double mass;       // kg, of all particles of all ranks
} firn_measures;

/// What is known of the distance to colliders, clearance.c.
typedef struct firn_clearance {
    firn_array block, group; // float, see firn_pass
    firn_array node;         // float of each node block, like block
    firn_array open_nodes;   // uint64 of each node block: nodes out of all still colliders
    bool known;
    uint64_t colliders;                  // that it knows of, a bit for each
    float surface_travel, surface_total; // m, see firn_pass
} firn_clearance;

/// What a collider has been given in a call of firn_sim_step.
typedef struct firn_contact_account {
    uint32_t generation;  // of the collider
    firn_impulse sum;     // kg m/s, of all substeps
    double torque[3];     // kg m^2/s, about its pivot in each
    firn_impulse asleep;  // N, N m: what sleeping snow presses with, part of the sum
    firn_impulse awake;   // N, N m: what awake snow pressed with in the last substep
    firn_impulse now;     // kg m/s, of the substep at work
    firn_impulse holding; // kg m/s, the same at nodes that sleeping snow holds
    double peak;          // N, of any substep
    double pivot[3];      // m, at the end
} firn_contact_account;

/// Sums of the implicit solve at nodes that colliders hold: stress impulses of the velocities, of
/// the search direction and of the residual, as the iteration goes.
typedef enum firn_reaction {
    FIRN_REACTION_OF_VELOCITY,
    FIRN_REACTION_OF_SEARCH,
    FIRN_REACTION_OF_RESIDUAL,
    FIRN_REACTION_COUNT,
} firn_reaction;

/// Contact that answers: contact_lists.c, contact_force.c.
typedef struct firn_touching {
    firn_contact_lists nodes;     // of each node block
    firn_contact_lists particles; // of each block
    firn_array held;              // firn_impulse like nodes.taken: at nodes that are held
    firn_array reaction[FIRN_REACTION_COUNT]; // firn_impulse like nodes.taken
    firn_array normals;                       // firn_vec3 like nodes.taken, of the implicit step
    firn_array accounts;                      // firn_contact_account of each collider's slot
    int account_count;
    double seconds; // s, simulated in this call
    bool resettled; // others sleep than in the last substep
} firn_touching;

/// Who sleeps, sleep.c.
typedef struct firn_rest {
    firn_array asleep;         // uint8 of each block: it takes no part in the substep
    firn_array awake;          // uint8 of each node block: a block there is not at rest
    firn_array idle;           // uint8 of each node block: only blocks that sleep touch it
    firn_array held;           // uint64 of each node block: its nodes that sleeping blocks touch
    size_t asleep_count;       // particles of all ranks
    uint64_t acting_colliders; // in the last substep, a bit for each
    bool disturbed;            // something else is different now: all snow wakes
} firn_rest;

/// What the air finds on the grid, air.c.
typedef struct firn_air {
    firn_array lee;  // 64 floats of each node block: the largest mass (kg) within two cells
    firn_array open; // uint8 of each node block: air drags at one of its nodes
    bool acting;     // in the substep
} firn_air;

/// Where new particles come from.
typedef struct firn_emission {
    firn_array sources; // firn_source
    int source_count;
    firn_seeds seeds;    // scratch
    firn_array new_keys; // uint64, block of each particle that waits for the next sort
} firn_emission;

struct firn_sim {
    firn_sim_def def;
    uint64_t origin; // what checkpoints must be of; 0: any
    firn_budget budget;
    int thread_count;
    firn_owners owners; // what is computed here, and what by other ranks
    const firn_kernels *kernels;
    bool implicit; // the step at work, as set or as chosen

    firn_particles particles;
    bool volumes_missing;
    firn_grid grid;
    firn_sequence sequence; // of its blocks
    firn_materials materials;
    firn_bond bonds[FIRN_MATERIAL_LIMIT]; // of the materials that are made from another
    firn_colliders colliders;
    firn_forces forces; // beside gravity
    firn_bodies bodies;

    firn_emission emission;
    firn_store store;
    firn_order order;
    firn_foresight foresight;
    firn_clearance clearance;
    firn_touching contact;
    firn_coupling coupling;
    firn_followers followers;
    firn_rest rest;
    firn_air air;
    firn_heat heat;
    firn_solver solve;
    firn_measures measures;
    firn_affine *affine;    // behind a pointer: readers, too, may find what was put off
    firn_array *joined;     // likewise: arrays of the view, view.c
    firn_array node_limits; // firn_node_limits of each node block, grid_update.c

    double time; // s
    int64_t substep;
    uint64_t revision; // of the arrays of the state, see firn_snapshot
    firn_snapshot snapshot;
    firn_step_stats stats;
    firn_progress *progress;
    void *progress_user;
};

static inline bool firn_sim_is_implicit(const firn_sim *sim) { return sim->implicit; }

static inline bool firn_sim_is_apic(const firn_sim *sim)
{
    return sim->def.transfer == FIRN_TRANSFER_APIC;
}

static inline bool firn_sim_may_sleep(const firn_sim *sim) { return sim->def.sleep_speed > 0.0f; }

/// Particles on the grid, of all ranks; those that wait for a sort are the same on each.
static inline size_t firn_sim_count(const firn_sim *sim)
{
    size_t fresh = sim->particles.count - sim->order.sorted_count;
    return firn_owners_shared(&sim->owners) ? sim->owners.particle_count + fresh
                                            : sim->particles.count;
}

/// True when block b takes no part. In the substep that follows a sort every block gives its share
/// to the grid, where nodes that are held ignore it: its sums are wanted for the statistics.
static inline bool firn_sim_sleeps(const firn_sim *sim, size_t b)
{
    return sim->rest.asleep_count > 0 && ((const uint8_t *)sim->rest.asleep.data)[b] != 0;
}

/// True when nothing in node block b matters in this substep. The implicit solve runs over all.
static inline bool firn_sim_is_idle(const firn_sim *sim, size_t b)
{
    return sim->rest.asleep_count > 0 && sim->order.since_sort > 0 && !firn_sim_is_implicit(sim) &&
           ((const uint8_t *)sim->rest.idle.data)[b] != 0;
}

/// What the kernels need to know for a substep of length dt.
firn_pass firn_sim_pass(const firn_sim *sim, float dt);

/// integrator.c: the step for a call, from the state of the particles alone.
void firn_sim_choose_integrator(firn_sim *sim);

/// transfer.c: the kernels over all blocks. None of these can fail.
void firn_transfer_to_grid(firn_sim *sim, float dt);
void firn_transfer_to_particles(firn_sim *sim, float dt);
/// firn_transfer_to_particles, and at once firn_transfer_to_grid of a next explicit substep of
/// next_dt, which firn_transfer_take_ahead puts in place: a third less memory to read and write.
void firn_transfer_cycle(firn_sim *sim, double dt, double next_dt);
void firn_transfer_take_ahead(firn_sim *sim);
/// A cycle has no use for the affine velocities that it finds, and does not write them. Before
/// anyone reads or sorts them, or particles fall asleep, they are found again.
void firn_transfer_recover(const firn_sim *sim);
firn_result firn_transfer_reserve(firn_sim *sim, firn_error *error);
void firn_transfer_measure(firn_sim *sim);
void firn_transfer_find_volumes(firn_sim *sim);
/// Clears fields of nodes, and lets blocks add to them; their order makes the same bits.
void firn_transfer_add(firn_sim *sim, firn_sequence_work work, const firn_node_field *fields,
                       int field_count);
void firn_transfer_prepare_hessian(firn_sim *sim, float dt);
void firn_transfer_apply_hessian(firn_sim *sim, float dt, firn_node_field input,
                                 firn_node_field output);

/// clearance.c: claims memory; voids all that is known; prepares the colliders for the substep of
/// dt.
firn_result firn_clearance_reserve(firn_sim *sim, firn_error *error);
void firn_clearance_forget(firn_sim *sim);
firn_result firn_clearance_prepare(firn_sim *sim, float dt, firn_error *error);

/// contact_lists.c: finds who may touch whom, with the colliders prepared; the second when limits
/// of the new node velocities are known. Nothing but lists changes.
firn_result firn_contact_find_nodes(firn_sim *sim, firn_error *error);
firn_result firn_contact_find_particles(firn_sim *sim, float dt, firn_node_limits limits,
                                        firn_error *error);
void firn_contact_free(firn_touching *contact, firn_budget *budget);

/// contact_force.c: begins the accounts of a call; adds a finished substep to them, before anyone
/// falls asleep or wakes. measured: sleeping snow was on the grid too.
firn_result firn_contact_begin(firn_sim *sim, firn_error *error);
void firn_contact_commit(firn_sim *sim, double dt, bool measured);

/// Adds what grains outside the grid have given a collider.
void firn_contact_add(firn_sim *sim, int index, const firn_impulse *impulse);

/// grid_update.c: stress, gravity and forces become velocities, colliders are met, method.md (8)
/// and (15).
firn_node_limits firn_grid_update(firn_sim *sim, float dt);
/// The grid pass of the collisions alone, over velocities that a solve has changed.
firn_node_limits firn_grid_collide(firn_sim *sim);
/// What a node with velocity and mass v is to colliders, and the mass (kg) of a cell full of the
/// lightest snow if any of them sticks: that covers a surface.
firn_mass_point firn_grid_mass_point(const firn_sim *sim, firn_coord coord, int n, const float *v,
                                     float full);
float firn_grid_full_cell(const firn_sim *sim);
/// Forces on nodes, and what shields snow from the air. Prepared once masses are on the grid.
firn_result firn_air_reserve(firn_sim *sim, firn_error *error);
void firn_air_free(firn_air *air, firn_budget *budget);
void firn_air_prepare(firn_sim *sim);
void firn_air_apply(const firn_sim *sim, size_t b, uint32_t rows);
/// Whether air that is never the same reaches a block.
bool firn_air_stirs(const firn_sim *sim, const firn_block *block);

firn_result firn_grid_update_reserve(firn_sim *sim, firn_error *error);

/// reaction.c: what colliders take in the course of the solve. Begins with H times the velocities
/// in FIRN_NODE_A_RESIDUAL; goes on with products of the residual there, and steps of the
/// iteration.
void firn_reaction_begin(firn_sim *sim);
void firn_reaction_product(firn_sim *sim, firn_reaction which);
void firn_reaction_advance(firn_sim *sim, float alpha, float beta);
void firn_reaction_finish(firn_sim *sim, float scale);

/// sleep.c: claims memory; finds out who sleeps, after a sort; looks for the waking and the resting
/// at the end of a substep.
firn_result firn_sleep_reserve(firn_sim *sim, firn_error *error);
void firn_sleep_arrange(firn_sim *sim);
void firn_sleep_update(firn_sim *sim, float dt);
/// All snow wakes at the end of the next substep.
void firn_sleep_disturb(firn_rest *rest);

/// sim.c: checks a material and puts it at an index.
firn_result firn_sim_put_material(firn_sim *sim, int index, const firn_material_def *def,
                                  firn_error *error);

/// emission.c: turns what a source emits into particles that wait for the next sort; result is what
/// has come of the source so far. Collective unless the source has emitted all.
firn_result firn_sim_emit(firn_sim *sim, firn_source *source, firn_result result,
                          firn_error *error);

/// fill.c: before a source fills for the first time on several ranks: who keeps which seeds.
/// Without others, and of few seeds, everybody keeps all.
firn_result firn_fill_choose(firn_sim *sim, const firn_source *source, const firn_seeding *seeding,
                             firn_error *error);
/// The key of the block that a position is in, and where it is there, in cells.
uint64_t firn_sim_key(const firn_sim *sim, firn_vec3 position, float u[3]);

/// slow.c: what happens before a sort, when particles may change their model: loose snow that is
/// dense enough joins the snow that it is made of; grains fly, come to the grid and leave it. left
/// is what the call still simulates, s. The sort decides whether firn_flight_commit or _undo
/// follows.
firn_result firn_slow_stage(firn_sim *sim, double left, firn_error *error);
/// At the end of a call: grains have flown up to now, and flakes are there; the first cannot fail.
void firn_slow_finish(firn_sim *sim);
firn_result firn_slow_end(firn_sim *sim, firn_error *error);

/// step.c: claims all that a substep needs; after this nothing in it can fail for want of memory.
firn_result firn_sim_reserve(firn_sim *sim, firn_error *error);

#endif
