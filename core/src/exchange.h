/// The parts that transfers are made of: a group of particles and the tiles of its block.
#ifndef FIRN_EXCHANGE_H
#define FIRN_EXCHANGE_H

#include "isa.h"
#include "tile.h"

/// What a block's particles read, velocities after and before, or write, momentum and force.
typedef struct firn_tiles {
    _Alignas(64) float velocity[TILE_FLOATS];
    _Alignas(64) float old[TILE_FLOATS];
} firn_tiles;

/// firn_block_sums while they are being added up.
typedef struct firn_lane_sums {
    firn_fx mass, moment[3], kinetic, elastic, jp, jp_min;
} firn_lane_sums;

/// firn_block_limits of each lane.
typedef struct firn_lane_limits {
    firn_fx speed2, wave2;
    firn_fx3 low, high; // cells, of the positions
} firn_lane_limits;

/// A block on its way to the grid.
typedef struct firn_outbound {
    firn_tiles tiles;
    firn_tile_box box;
    firn_lane_sums sums;
} firn_outbound;

/// Brings the first particles of a block near.
FIRN_INLINE void block_prefetch(const firn_pass *pass, const firn_block *block)
{
    for (size_t first = block->begin; first < block->begin + AHEAD; first += FIRN_LANES)
        particles_prefetch(pass, first);
}

void FIRN_KERNEL(outbound_begin)(const firn_pass *pass, const firn_block *block,
                                 firn_outbound *out);
/// Adds a group to the tiles.
void FIRN_KERNEL(outbound_add)(const firn_pass *pass, size_t first, int n, firn_outbound *out);
/// Adds the tiles to the grid.
void FIRN_KERNEL(outbound_end)(const firn_pass *pass, const firn_block *block, firn_outbound *out,
                               firn_block_sums *sums);

/// Whether particles of the block may meet a collider in this substep. Once for each block and
/// substep.
bool FIRN_KERNEL(is_near_colliders)(const firn_pass *pass, const firn_block *block);
/// Particle-based collisions of a group, none of it faster than speed (m/s), method.md (16):
/// changes v, and u by the push. False when nobody had to look.
bool FIRN_KERNEL(touch_group)(const firn_pass *pass, const firn_block *block, size_t first, int n,
                              float speed);

#endif
