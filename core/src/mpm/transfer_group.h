/// The parts that transfers are made of: a group of particles and the tiles of its block.
#ifndef FIRN_TRANSFER_GROUP_H
#define FIRN_TRANSFER_GROUP_H

#include "isa.h"
#include "lanes.h"
#include "tile.h"

/// What a block's particles read, velocities after and before, or write, momentum and force.
typedef struct firn_tiles {
    _Alignas(64) float velocity[TILE_FLOATS];
    _Alignas(64) float old[TILE_FLOATS];
} firn_tiles;

/// firn_block_sums while they are being added up.
typedef struct firn_lane_sums {
    firn_fx mass, moment[3], kinetic, elastic, jp, jp_min;
    uint32_t packing;
} firn_lane_sums;

/// firn_block_limits of each lane.
typedef struct firn_lane_limits {
    firn_fx speed2, wave2;
    firn_fx low, high;
} firn_lane_limits;

/// A block on its way to the grid.
typedef struct firn_outbound {
    firn_tiles tiles;
    firn_tile_box box;
    firn_lane_sums sums;
} firn_outbound;

/// A block on its way from the grid.
typedef struct firn_inbound {
    firn_tiles tiles;
    firn_lane_limits limits;
    firn_affine affine;
    bool contact; // colliders may be near
} firn_inbound;

/// A group of particles. Lanes past its end have no mass and no volume.
typedef struct firn_state {
    size_t first;
    int n;
    firn_fx3 u, v;
    firn_fm3 c;      // with APIC only
    firn_fs3 stress; // Pa, of Kirchhoff, with what viscosity adds to it
    firn_fx mass, volume;
    firn_fx wave2; // (m/s)^2
} firn_state;

void FIRN_KERNEL(outbound_begin)(const firn_pass *pass, const firn_block *block,
                                 firn_outbound *out);
/// Adds a group to the tiles.
void FIRN_KERNEL(outbound_add)(const firn_pass *pass, const firn_state *state, firn_outbound *out);
/// Adds the tiles to the grid.
void FIRN_KERNEL(outbound_end)(const firn_pass *pass, const firn_block *block, firn_outbound *out,
                               firn_block_sums *sums);

/// The transfers of a segment, model_transfer.c.
typedef struct firn_model_transfers {
    /// Adds the segment to the tiles.
    void (*to_grid)(const firn_pass *pass, const firn_segment *segment, firn_outbound *out);
    /// Moves it; when out is not NULL, also what to_grid of the next substep does.
    void (*to_particles)(const firn_pass *pass, const firn_segment *segment, firn_inbound *in,
                         const firn_pass *next, firn_outbound *out);
    void (*measure)(const firn_pass *pass, const firn_segment *segment, firn_lane_limits *limits);
} firn_model_transfers;

/// The Hessian of a segment, model_hessian.c.
typedef struct firn_model_hessian {
    void (*prepare)(const firn_pass *pass, const firn_segment *segment);
    /// Adds the product with the velocities of the old tile to the other one.
    void (*product)(const firn_pass *pass, const firn_segment *segment, firn_tiles *tiles);
} firn_model_hessian;

/// Both, of every model.
extern const firn_model_transfers *const FIRN_KERNEL(transfers)[FIRN_MODEL_COUNT];
extern const firn_model_hessian *const FIRN_KERNEL(hessians)[FIRN_MODEL_COUNT];

/// Whether particles of the block may meet a collider in this substep.
static inline bool block_is_near_colliders(const firn_pass *pass, const firn_block *block)
{
    size_t b = (size_t)(block - firn_grid_blocks(pass->grid));
    return pass->block_clearance[b] == FIRN_NO_CLEARANCE;
}
/// Particle-based collisions of a group, none of it faster than speed (m/s), method.md (16):
/// changes v, and u by the push. False when nobody had to look.
bool FIRN_KERNEL(touch_group)(const firn_pass *pass, const firn_segment *segment, size_t first,
                              int n, float speed);

#endif
