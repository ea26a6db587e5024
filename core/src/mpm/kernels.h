/// The work on one block of particles, compiled once per instruction set and chosen at run time.
#ifndef FIRN_KERNELS_H
#define FIRN_KERNELS_H

#include "base/memory.h"
#include "contact/colliders.h"
#include "grid.h"
#include "models/models.h"
#include "particles/particles.h"

/// Cells from the middle of a block to the farthest point a particle of it can be at.
#define FIRN_BLOCK_REACH 5.2f

/// In a list of clearances: a collider is near.
#define FIRN_NO_CLEARANCE (-1.0f)

/// How far around a group of particles colliders are looked for, cells.
#define FIRN_GROUP_MARGIN 1.0f

/// The colliders that each block may touch, and what each takes from it, contact_lists.c.
typedef struct firn_contact_lists {
    size_t block_count;   // 0: no collider acts
    size_t entry_count;   // of all lists
    int active_count;     // colliders
    firn_array begin;     // uint32 of each block, and one more
    firn_array colliders; // int, slots in rising order
    firn_array taken;     // firn_impulse, like colliders
} firn_contact_lists;

/// The list of a block; *taken is where its impulses are added.
static inline firn_near firn_contact_list(const firn_contact_lists *lists, size_t block,
                                          firn_impulse **taken)
{
    firn_near near = {.index = NULL};
    *taken = NULL;
    if (lists->entry_count == 0)
        return near;
    const uint32_t *begin = (const uint32_t *)lists->begin.data + block;
    near.count = (int)(begin[1] - begin[0]);
    near.index = (int *)lists->colliders.data + begin[0];
    *taken = (firn_impulse *)lists->taken.data + begin[0];
    return near;
}

/// How the particles and the grid speak with each other in this substep.
typedef enum firn_scheme {
    FIRN_SCHEME_APIC,       // momentum and stress impulse together
    FIRN_SCHEME_APIC_SPLIT, // forces apart, as the implicit solve needs them
    FIRN_SCHEME_FLIP,       // forces apart, velocities before and after
} firn_scheme;

typedef struct firn_pass {
    const firn_grid *grid;
    const firn_particles *particles;
    const firn_materials *materials;
    const firn_colliders *colliders;
    firn_scheme scheme;
    float dt;             // s
    float surface_travel; // m, that any collider's surface goes in this substep at most
    const firn_contact_lists *contacts; // of the blocks of particles
    const float *block_clearance;       // FIRN_NO_CLEARANCE: groups of the block must look
    float *group_clearance; // m, that a group and the surfaces may go before another look is due
    float flip_share;       // of FLIP in the new velocity, for this dt
    float *cache[FIRN_CACHE_CHANNELS]; // of each particle, what its model wants for the Hessian;
                                       // the last two are V0 mu, V0 lambda near the diagonal
    float strain_rate; // 1/s: in the Hessian, a stress that follows the strain rate counts as this
                       // much strain
    firn_node_field velocity, old; // where the particles' momentum and force go, and come back from
    firn_node_field input, output; // of the Hessian product
} firn_pass;

/// How heat flows, heat.h. Nodes are those of the pass: velocity holds mass times temperature, the
/// same of what has settled with what it is drawn by as weight, the sum of that, and mass; then
/// temperature and the mean of what has settled; then what a kilogram has gained, and that mean.
/// old holds what the surface looks like, and how full the cell is; then energies.
typedef struct firn_heat_pass {
    const firn_pass *pass;
    int temperature, liquid, rest; // columns
    float dt;                      // s of heat
    float most_flow; // J m^2/(K kg): what a pass may conduct at most, or it would swing
    bool surface;    // nodes want to know about it
} firn_heat_pass;

/// Stands for the J_P of no particle, above all others.
#define FIRN_NO_JP 1e30f

/// Sums over the particles of a block at the start of a substep.
typedef struct firn_block_sums {
    double mass;      // kg
    double moment[3]; // kg m
    double kinetic;   // J
    double elastic;   // J
    double jp;        // of those that pack
    uint32_t packing; // particles whose model packs
    float jp_min;
} firn_block_sums;

/// Extremes over the particles of a block at the end of a substep.
typedef struct firn_block_limits {
    float speed2;    // (m/s)^2
    float wave2;     // (m/s)^2, of the stiffest particle
    float low, high; // cells, of the positions past the low and the high end of the block's reach
} firn_block_limits;

/// following is the block that comes next, or the same again: its particles are fetched while the
/// last ones of this block are at work.
typedef struct firn_kernels {
    const char *isa;
    int lanes;
    bool (*supported)(void);
    /// Adds mass, momentum and force of a block's particles to the nodes; blocks of one color may
    /// run at the same time.
    void (*to_grid)(const firn_pass *pass, const firn_block *block, const firn_block *following,
                    firn_block_sums *sums);
    /// Moves a block's particles with the new node velocities, method.md (11)-(16).
    void (*to_particles)(const firn_pass *pass, const firn_block *block,
                         const firn_block *following, firn_block_limits *limits);
    /// to_particles, and to_grid of the next substep while the particles are at hand. Where
    /// positions past the reach of the block come out, the grid has not received all and must not
    /// be used.
    void (*cycle)(const firn_pass *pass, const firn_pass *next, const firn_block *block,
                  const firn_block *following, firn_block_limits *limits, firn_block_sums *sums);
    /// Finds the affine velocities that cycle left out, to the last bit, from the node velocities
    /// that it read.
    void (*recover)(const firn_pass *pass, const firn_block *block);
    /// The limits without moving anything.
    void (*measure)(const firn_pass *pass, const firn_block *block, firn_block_limits *limits);
    /// Finds the volume of particles that have none from the mass on the nodes, method.md (23).
    void (*find_volumes)(const firn_pass *pass, const firn_block *block);
    /// Fills the cache for the Hessian product.
    void (*prepare_hessian)(const firn_pass *pass, const firn_block *block);
    /// Adds the product of the stress Hessian with the input field to the output field.
    void (*apply_hessian)(const firn_pass *pass, const firn_block *block);
    /// Adds the diagonal of the stress Hessian, as for matter without strain, to the output field.
    void (*diagonal_hessian)(const firn_pass *pass, const firn_block *block);
    /// Heat of a block's particles: to nodes; down the gradient between nodes; back. The last tells
    /// whether a particle is softer or stiffer by some percent.
    void (*heat_to_grid)(const firn_heat_pass *heat, const firn_block *block);
    void (*heat_flow)(const firn_heat_pass *heat, const firn_block *block);
    bool (*heat_to_particles)(const firn_heat_pass *heat, const firn_block *block);
    /// Computes as fast as it can for some milliseconds; the number of floating-point operations.
    double (*exercise)(void);
} firn_kernels;

/// The best table for this machine, or the one named by wanted; NULL when that cannot run here.
const firn_kernels *firn_kernels_choose(const char *wanted);

/// Table number index, NULL past the last; for tests and benchmarks.
const firn_kernels *firn_kernels_at(int index);

#endif
