/// What the parts of a sort share: sort.c orders the particles, sort_moves.c tells where they go.
#ifndef FIRN_SORTING_H
#define FIRN_SORTING_H

#include "grid.h"
#include "owners.h"

#include <math.h>

enum {
    FIRN_MOVE_STAY = 13,            // the way to the own block
    FIRN_MOVE_FAR = FIRN_NEIGHBORS, // beyond the blocks around
    FIRN_MOVE_REMOVED,
    FIRN_MOVE_GROUPS,
};

/// Where the groups of a block's particles begin in the order; behind the last, where it ends.
typedef struct firn_moves {
    uint32_t begin[FIRN_MOVE_GROUPS + 1];
} firn_moves;

/// One call of firn_grid_sort.
typedef struct firn_sorting {
    firn_grid *grid;
    firn_particles *particles;
    const firn_bounds *bounds;
    const uint64_t *new_keys;
    size_t sorted_count;
    int thread_count;
    const float *u[3];
    const uint8_t *model; // of each material; NULL when all are of one
    uint32_t *codes;      // of each particle, see firn_sort_place; leased, as the next two are
    uint32_t *order;      // the particles of each present block, by the way they go
    uint32_t *final;      // the particle that comes to each place
    firn_array next;      // the memory of FIRN_NODE_NEXT, where final is in explicit steps
    firn_moves *moves;    // of each present block
    // New block << 32 | particle, for those that come from elsewhere, in order.
    const uint64_t *loose;
    size_t loose_count;
    firn_array blocks; // the new ones
    size_t block_count;
    // Behind the present blocks stand those of other ranks that particles come from, and behind the
    // new particles these; migrate.c.
    size_t origin_count, lower_count; // present blocks in all; those of lower ranks
    size_t arrival_count;
} firn_sorting;

static inline size_t firn_sort_count(const firn_sorting *s)
{
    return s->particles->count + s->arrival_count;
}

static inline uint32_t firn_group_size(const firn_moves *moves, int group)
{
    return moves->begin[group + 1] - moves->begin[group];
}

/// Particles are sorted by their codes: the way they go and, above that, their cell there and their
/// model.
enum { FIRN_GROUP_BITS = 8, FIRN_CELL_BITS = 6 };

/// Model and cell: the place in the order of a block.
static inline uint32_t firn_sort_place(uint32_t code) { return code >> FIRN_GROUP_BITS; }

static inline uint32_t firn_sort_cell(uint32_t code)
{
    return firn_sort_place(code) & (FIRN_BLOCK_NODES - 1);
}

static inline int firn_sort_model(uint32_t code)
{
    return (int)(firn_sort_place(code) >> FIRN_CELL_BITS);
}

/// Whole blocks below a position in cells. The inner floor keeps a tiny negative number below zero.
static inline float firn_blocks_below(float u) { return floorf(0.25f * floorf(u)); }

/// migrate.c: memory for codes and order that can grow while particles come, where there are other
/// ranks; what is there stays.
firn_result firn_sort_claim(firn_sorting *s, size_t count, firn_error *error);
/// Sends the particles whose new block belongs to another rank there, and puts those
/// that come from others in their places. Collective; result is what has come of the sort so far.
firn_result firn_sort_migrate(firn_sorting *s, firn_result result, firn_error *error);

/// Finds the codes of a present block's particles and groups them in the order.
void firn_sort_group_block(const firn_sorting *s, size_t b);

/// The code of a particle that is new and has been placed in its block.
uint32_t firn_sort_new_code(const firn_sorting *s, size_t p);

/// Whether new particle number i is in the world.
bool firn_sort_keeps_new(const firn_sorting *s, size_t i);

/// The key of the block that a particle of block b goes to, however far that is.
uint64_t firn_sort_far_key(const firn_sorting *s, size_t b, size_t p);

#endif
