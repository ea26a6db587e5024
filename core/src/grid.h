/// The sparse background grid: blocks of 4^3 nodes, present only where particles reach.
///
/// A particle belongs to the block of the first node of its kernel. It may drift by a cell before
/// it is sorted again, so its kernel touches nodes -1 to 7 of its block: the block's tile. Only
/// what its particles can reach in this way is there: a lone grain of spray needs 8 blocks of 27.
#ifndef FIRN_GRID_H
#define FIRN_GRID_H

#include "memory.h"
#include "particles.h"

#include "firn/vec.h"

enum {
    FIRN_BLOCK_EDGE = 4,
    FIRN_BLOCK_NODES = 64,
    FIRN_BLOCK_FLOATS = 4 * FIRN_BLOCK_NODES, // a node is four floats
    FIRN_COORD_LIMIT = 1 << 20,               // blocks from the origin in each direction
    FIRN_COLOR_MAX = 27,
};

/// A node holds x, y, z of the quantity and a fourth number; rows of four nodes along z are
/// contiguous.
typedef enum firn_node_field {
    FIRN_NODE_VELOCITY, // momentum kg m/s, then velocity m/s; w: mass, kg
    FIRN_NODE_OLD,      // force N, then velocity at the start of the substep, m/s
    FIRN_NODE_RESIDUAL, // the rest belong to the implicit solve
    FIRN_NODE_SEARCH,
    FIRN_NODE_A_RESIDUAL,
    FIRN_NODE_A_SEARCH,
    FIRN_NODE_CONTACT,  // direction; w: firn_node_state
    FIRN_NODE_DIAGONAL, // of the Hessian, kg/s^2, then of the preconditioner, kg; w: 1
    FIRN_NODE_CHANGE,   // m/s^2, acceleration found by the last solve; the warm start
    FIRN_NODE_FIELD_COUNT,
} firn_node_field;

/// A block with particles in it.
typedef struct firn_block {
    firn_coord coord;    // in blocks
    uint32_t begin, end; // its particles
    float rest;          // s, for which they have hardly moved
    int32_t near[27];    // node blocks around it: (x+1)*9 + (y+1)*3 + (z+1); -1: out of reach
    int8_t low[3];       // cells: positions from low to below high, all axes,
    int8_t high[3];      // have their kernels in the blocks that are there
} firn_block;

/// Keys of blocks to numbers, open addressing.
typedef struct firn_block_map {
    firn_array entries; // firn_block_entry
    size_t mask;        // capacity - 1
    size_t count;
} firn_block_map;

typedef struct firn_grid {
    firn_budget *budget;
    float cell_size; // m
    int order;       // nodes of the kernel along an axis: 3 quadratic, 4 cubic
    int field_count; // of firn_node_field that are in use
    size_t block_count;
    firn_array blocks; // firn_block, in key order
    size_t node_block_count;
    firn_array node_coord; // firn_coord of each node block, in key order
    firn_array field[FIRN_NODE_FIELD_COUNT];
    int color_count; // blocks of one color share no node
    size_t color_begin[FIRN_COLOR_MAX + 1];
    firn_array color_blocks;                       // uint32
    firn_block_map map;                            // keys of the node blocks
    firn_array keys, destination, cells, order_of; // scratch of the sort
} firn_grid;

static inline firn_block *firn_grid_blocks(const firn_grid *grid)
{
    return (firn_block *)grid->blocks.data;
}

/// The 256 floats of a node block in a field.
static inline float *firn_grid_nodes(const firn_grid *grid, firn_node_field field, size_t block)
{
    return (float *)grid->field[field].data + block * FIRN_BLOCK_FLOATS;
}

/// Distance in cells from a position to the first node of its kernel, less the fraction.
static inline double firn_grid_shift(const firn_grid *grid) { return grid->order == 3 ? 0.5 : 1.0; }

/// Where node number node of a node block stands, in m.
static inline firn_vec3 firn_grid_node_position(const firn_grid *grid, firn_coord block, int node)
{
    float h = grid->cell_size;
    return firn_vec(h * (float)(FIRN_BLOCK_EDGE * block.x + (node >> 4)),
                    h * (float)(FIRN_BLOCK_EDGE * block.y + ((node >> 2) & 3)),
                    h * (float)(FIRN_BLOCK_EDGE * block.z + (node & 3)));
}

static inline uint64_t firn_block_key(firn_coord c)
{
    return (uint64_t)(c.x + FIRN_COORD_LIMIT) << 42 | (uint64_t)(c.y + FIRN_COORD_LIMIT) << 21 |
           (uint64_t)(c.z + FIRN_COORD_LIMIT);
}

static inline firn_coord firn_block_coord(uint64_t key)
{
    int32_t low = (1 << 21) - 1;
    firn_coord c = {(int32_t)(key >> 42) - FIRN_COORD_LIMIT,
                    ((int32_t)(key >> 21) & low) - FIRN_COORD_LIMIT,
                    ((int32_t)key & low) - FIRN_COORD_LIMIT};
    return c;
}

/// The box that particles must stay in; those outside are removed by the sort.
typedef struct firn_bounds {
    firn_vec3 lower, upper; // m
} firn_bounds;

/// Sorts the particles into blocks and cells, removes those out of bounds, and builds the blocks,
/// their neighbors and colors. The first sorted_count particles are in the present blocks; the
/// rest are new and listed with the key of their block in keys. On failure nothing changes.
firn_result firn_grid_sort(firn_grid *grid, firn_particles *particles, const firn_bounds *bounds,
                           const uint64_t *new_keys, size_t sorted_count, int thread_count,
                           firn_error *error);

void firn_grid_free(firn_grid *grid);

/// Finds the number stored under key, or -1.
int32_t firn_block_map_find(const firn_block_map *map, uint64_t key);

/// Empties the map and makes room for about expected keys.
firn_result firn_block_map_clear(firn_block_map *map, firn_budget *budget, size_t expected,
                                 firn_error *error);

/// The number of key; a new key gets the next one and is appended to keys.
firn_result firn_block_map_insert(firn_block_map *map, firn_budget *budget, firn_array *keys,
                                  uint64_t key, int32_t *number, firn_error *error);

/// Gives every key its place in sorted_keys, all keys of the map in a new order.
void firn_block_map_renumber(firn_block_map *map, const uint64_t *sorted_keys);

#endif
