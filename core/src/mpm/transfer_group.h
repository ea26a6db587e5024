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
    firn_fx low, high;
} firn_lane_limits;

/// A block on its way to the grid.
typedef struct firn_outbound {
    firn_tiles tiles;
    firn_tile_box box;
    firn_lane_sums sums;
} firn_outbound;

/// A group of particles. Lanes past its end have no mass and no volume.
typedef struct firn_state {
    size_t first;
    int n;
    firn_lane_materials materials;
    firn_fx3 u, v;
    firn_snow_deformation deformation;
    firn_fm3 c; // with APIC only
    firn_fx jp, mass, volume;
    firn_snow_moduli moduli;
    firn_fx wave2; // (m/s)^2, (lambda + 2 mu) / rho of the hardened snow, method.md (17)
} firn_state;

/// What follows from J_P and what never changes. In the wave speed changes of volume cancel.
FIRN_INLINE void state_harden(const firn_pass *pass, firn_state *s)
{
    s->mass = channel_load(pass, FIRN_MASS, s->first, s->n, 0.0f);
    s->volume = channel_load(pass, FIRN_VOLUME, s->first, s->n, 0.0f);
    s->moduli = moduli_of(pass, &s->materials, s->first, s->n, s->jp);
    s->wave2 = firn_fx_ratio((s->moduli.lambda + 2.0f * s->moduli.mu) * s->volume,
                             firn_fx_max(firn_fx_set(1e-30f), s->mass));
}

void FIRN_KERNEL(outbound_begin)(const firn_pass *pass, const firn_block *block,
                                 firn_outbound *out);
/// Adds a group to the tiles.
void FIRN_KERNEL(outbound_add)(const firn_pass *pass, const firn_state *state, firn_outbound *out);
/// Adds the tiles to the grid.
void FIRN_KERNEL(outbound_end)(const firn_pass *pass, const firn_block *block, firn_outbound *out,
                               firn_block_sums *sums);

/// Whether particles of the block may meet a collider in this substep.
static inline bool block_is_near_colliders(const firn_pass *pass, const firn_block *block)
{
    size_t b = (size_t)(block - firn_grid_blocks(pass->grid));
    return pass->block_clearance[b] == FIRN_NO_CLEARANCE;
}
/// Particle-based collisions of a group, none of it faster than speed (m/s), method.md (16):
/// changes v, and u by the push. False when nobody had to look.
bool FIRN_KERNEL(touch_group)(const firn_pass *pass, const firn_block *block, size_t first, int n,
                              float speed);

#endif
