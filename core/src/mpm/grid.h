/// The sparse background grid: blocks of 4^3 nodes, present only where particles reach.
///
/// A particle belongs to the block of the first node of its kernel. It may drift by a cell before
/// it is sorted again, so its kernel touches nodes -1 to 7 of its block: the block's tile. Only
/// what its particles can reach in this neighbor is there: a lone grain of spray needs 8 blocks
/// of 27.
#ifndef FIRN_GRID_H
#define FIRN_GRID_H

#include "base/memory.h"
#include "base/scratch.h"
#include "models/models.h"
#include "particles/particles.h"
#include "space/block_map.h"

#include "firn/vec.h"

enum {
    FIRN_BLOCK_EDGE = 4,
    FIRN_BLOCK_NODES = 64,
    FIRN_BLOCK_FLOATS = 4 * FIRN_BLOCK_NODES, // a node is four floats
    FIRN_COLOR_MAX = 27,
    FIRN_NEIGHBORS = 27, // to the blocks around one, itself included
    FIRN_LINE = 16,      // floats of a line of the cache
};

/// A node holds x, y, z of the quantity and a fourth number; rows of four nodes along z are
/// contiguous.
typedef enum firn_node_field {
    FIRN_NODE_VELOCITY,   // momentum kg m/s, then velocity m/s; w: mass, kg
    FIRN_NODE_NEXT,       // the same, gathering for the next explicit substep
    FIRN_NODE_OLD,        // force N, then velocity at the start of the substep, m/s
    FIRN_NODE_NEXT_OLD,   // the same for the next explicit substep
    FIRN_NODE_RESIDUAL,   // m/s, this and the rest belong to the implicit solve
    FIRN_NODE_A_RESIDUAL, // m/s, the system times the residual
    FIRN_NODE_SEARCH,     // m/s
    FIRN_NODE_A_SEARCH,   // m/s
    FIRN_NODE_CONTACT,    // direction; w: firn_node_state
    FIRN_NODE_DIAGONAL,   // of the Hessian, kg/s^2, then of the preconditioner, kg; w: 1
    FIRN_NODE_CHANGE,     // m/s^2, acceleration found by the last solve; the warm start
    FIRN_NODE_FIELD_COUNT,
} firn_node_field;

/// Sets of fields, a bit for each.
enum {
    FIRN_FIELDS_APIC = 1 << FIRN_NODE_VELOCITY | 1 << FIRN_NODE_NEXT, // explicit substeps
    FIRN_FIELDS_FLIP = FIRN_FIELDS_APIC | 1 << FIRN_NODE_OLD | 1 << FIRN_NODE_NEXT_OLD,
    FIRN_FIELDS_IMPLICIT =
        (1 << FIRN_NODE_FIELD_COUNT) - 1 - (1 << FIRN_NODE_NEXT) - (1 << FIRN_NODE_NEXT_OLD),
};

/// Scratch words of 4 bytes for each particle: a sort leases the first two, the Hessian's cache
/// all, and as its last channel the spare slot of the particles.
enum { FIRN_WORD_ORDER, FIRN_WORD_FINAL, FIRN_WORD_COUNT = FIRN_CACHE_CHANNELS - 1 };

/// A block with particles in it.
typedef struct firn_block {
    firn_coord coord;                     // in blocks
    uint32_t begin, end;                  // its particles
    uint32_t model_end[FIRN_MODEL_COUNT]; // those of a model end where the next one's begin
    float rest;                           // s, for which they have hardly moved
    int32_t
        near[FIRN_NEIGHBORS]; // node blocks around it: (x+1)*9 + (y+1)*3 + (z+1); -1: out of reach
    int8_t low[3];            // cells: positions from low to below high, all axes,
    int8_t high[3];           // have their kernels in the blocks that are there
    uint8_t border;           // 1: other ranks hold nodes that its tile touches, halo.c
    uint8_t phase; // particles of lower ranks, modulo FIRN_LINE: groups are those of one rank
} firn_block;

typedef struct firn_grid {
    firn_budget *budget;
    struct firn_owners *owners;      // NULL: there is one rank
    const firn_materials *materials; // whose models the particles are sorted by
    float cell_size;                 // m
    int order;                       // nodes of the kernel along an axis: 3 quadratic, 4 cubic
    uint32_t fields;                 // of firn_node_field that are in use, a bit for each
    size_t block_count;
    firn_array blocks; // firn_block, in key order; during a sort some of other ranks behind them
    size_t node_block_count;
    firn_array node_coord; // firn_coord of each node block, in key order
    firn_array rows;       // uint16 of each node block: its rows that particles can reach
    firn_array field[FIRN_NODE_FIELD_COUNT]; // memory of those in use, and of some that were
    int color_count;                         // blocks of one color share no node
    size_t color_begin[FIRN_COLOR_MAX + 1];
    firn_array color_blocks;   // uint32
    firn_block_map map;        // keys of the node blocks
    firn_array moves, scratch; // of the sort
    firn_scratch words[FIRN_WORD_COUNT];
} firn_grid;

static inline firn_block *firn_grid_blocks(const firn_grid *grid)
{
    return (firn_block *)grid->blocks.data;
}

/// For a block, or a piece of one, whose particles are all of one model.
static inline void firn_block_set_model(firn_block *block, int model)
{
    for (int m = 0; m < FIRN_MODEL_COUNT; m++)
        block->model_end[m] = m < model ? block->begin : block->end;
}

static inline firn_coord firn_neighbor_offset(int neighbor)
{
    firn_coord c = {neighbor / 9 - 1, neighbor / 3 % 3 - 1, neighbor % 3 - 1};
    return c;
}

/// The block next to another on a neighbor, a place in firn_block.near.
static inline firn_coord firn_block_neighbor(firn_coord block, int neighbor)
{
    firn_coord step = firn_neighbor_offset(neighbor);
    firn_coord next = {block.x + step.x, block.y + step.y, block.z + step.z};
    return next;
}

/// Tiles are 8 nodes wide for the quadratic kernel and 9 for the cubic one: every second, or third,
/// block along an axis can be scattered at the same time.
static inline int firn_color_period(int order) { return order == 3 ? 2 : 3; }

static inline int firn_block_color(firn_coord c, int order)
{
    int period = firn_color_period(order);
    int x = (c.x + FIRN_COORD_LIMIT * 3) % period, y = (c.y + FIRN_COORD_LIMIT * 3) % period,
        z = (c.z + FIRN_COORD_LIMIT * 3) % period;
    return (x * period + y) * period + z;
}

/// The 256 floats of a node block in a field.
static inline float *firn_grid_nodes(const firn_grid *grid, firn_node_field field, size_t block)
{
    return (float *)grid->field[field].data + block * FIRN_BLOCK_FLOATS;
}

static inline bool firn_grid_has(const firn_grid *grid, firn_node_field field)
{
    return (grid->fields >> field & 1) != 0;
}

/// Sets the fields in use. Those that come take over the memory of those that go; what is in them
/// is void. A sort claims what is missing.
void firn_grid_use(firn_grid *grid, uint32_t fields);

/// A row is four nodes along z; its number is 4 x + y.
enum { FIRN_BLOCK_ROWS = 16, FIRN_ROW_FLOATS = FIRN_BLOCK_FLOATS / FIRN_BLOCK_ROWS };

/// The rows of a node block that particles can reach until the next sort, a bit for each. Nobody
/// else reads or writes them in an explicit substep.
static inline uint32_t firn_grid_rows(const firn_grid *grid, size_t block)
{
    return ((const uint16_t *)grid->rows.data)[block];
}

/// Puts those rows of a field to zero.
void firn_grid_clear_rows(const firn_grid *grid, firn_node_field field, size_t block);

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

/// The box that particles must stay in; those outside are removed by the sort.
typedef struct firn_bounds {
    firn_vec3 lower, upper; // m
} firn_bounds;

/// Sorts the particles into blocks, models and cells, removes those out of bounds, and builds the
/// blocks, their neighbors and colors. The first sorted_count particles are in the present blocks;
/// the rest are new and listed with the key of their block in keys. On failure nothing changes.
firn_result firn_grid_sort(firn_grid *grid, firn_particles *particles, const firn_bounds *bounds,
                           const uint64_t *new_keys, size_t sorted_count, int thread_count,
                           firn_error *error);

void firn_grid_free(firn_grid *grid);

/// Finds the node blocks that the particles of new blocks can reach, as their low and high say.
firn_result firn_grid_find_nodes(firn_grid *grid, firn_block *blocks, size_t count,
                                 int thread_count, firn_error *error);

/// Colors new blocks; grid->scratch holds two numbers of 8 bytes for each.
void firn_grid_color(firn_grid *grid, const firn_block *blocks, size_t count, int thread_count);

#endif
