/// The nodes around a block, copied together so that every kernel of the block is within reach.
#ifndef FIRN_TILE_H
#define FIRN_TILE_H

#include "lanes.h"
#include "stencil.h"

/// Rows of a tile that the particles of a block touch: x in [x0, x1), y in [y0, y1).
typedef struct firn_tile_box {
    int x0, x1, y0, y1;
} firn_tile_box;

/// Blocks with more particles than this are taken to touch all that they can reach.
enum { SPARSE_BLOCK = 48 };

static inline bool tile_is_sparse(const firn_block *block)
{
    return block->end - block->begin <= SPARSE_BLOCK;
}

static inline firn_tile_box tile_box(const firn_pass *pass, const firn_block *block, int order)
{
    int low[2] = {block->low[0], block->low[1]}, high[2] = {block->high[0] - 1, block->high[1] - 1};
    for (int axis = 0; axis < 2 && tile_is_sparse(block); axis++) {
        const float *u = firn_channel_of(pass->particles, FIRN_U + axis);
        float least = u[block->begin], most = least;
        for (size_t p = block->begin; p < block->end; p++) {
            least = u[p] < least ? u[p] : least;
            most = u[p] > most ? u[p] : most;
        }
        low[axis] = (int)floorf(least);
        high[axis] = (int)floorf(most);
    }
    return (firn_tile_box){low[0] + 1, high[0] + 1 + order, low[1] + 1, high[1] + 1 + order};
}

/// A row of a tile and where its nodes are kept: node -1, nodes 0 to 3, nodes 4 to 7. NULL stands
/// for nodes that no particle of the block reaches.
typedef struct firn_tile_row {
    float *tile, *below, *own, *above;
} firn_tile_row;

FIRN_INLINE firn_tile_row tile_row(const firn_grid *grid, firn_node_field field,
                                   const firn_block *block, float *tile, int x, int y)
{
    const int32_t *near = &block->near[9 * ((x + 3) / 4) + 3 * ((y + 3) / 4)];
    int row = 64 * ((x + 3) & 3) + 16 * ((y + 3) & 3);
    return (firn_tile_row){
        .tile = tile + x * TILE_PLANE + y * TILE_ROW + TILE_FIRST,
        .below = near[0] < 0 ? NULL : firn_grid_nodes(grid, field, (size_t)near[0]) + row + 12,
        .own = firn_grid_nodes(grid, field, (size_t)near[1]) + row,
        .above = near[2] < 0 ? NULL : firn_grid_nodes(grid, field, (size_t)near[2]) + row,
    };
}

static inline void tile_clear(float *tile, firn_tile_box box)
{
    for (int x = box.x0; x < box.x1; x++)
        memset(tile + x * TILE_PLANE + box.y0 * TILE_ROW, 0,
               sizeof *tile * TILE_ROW * (size_t)(box.y1 - box.y0));
}

/// Copies the nodes around a block into a tile.
static inline void tile_load(const firn_grid *grid, firn_node_field field, const firn_block *block,
                             float *tile, firn_tile_box box)
{
    for (int x = box.x0; x < box.x1; x++) {
        for (int y = box.y0; y < box.y1; y++) {
            firn_tile_row r = tile_row(grid, field, block, tile, x, y);
            if (r.below != NULL)
                memcpy(r.tile, r.below, 4 * sizeof(float));
            row_store(r.tile + 4, row_load(r.own, 4), 4);
            row_store(r.tile + 20, r.above != NULL ? row_load(r.above, 4) : row_zero(4), 4);
        }
    }
}

FIRN_INLINE void node_add(float *to, const float *from)
{
    typedef float node __attribute__((vector_size(16), aligned(16), may_alias));
    *(node *)to += *(const node *)from;
}

/// Adds a tile to the nodes around a block. The quadratic kernel ends at node 6: node 7 may belong
/// to a block of the same color and must not even be written with what it holds.
static inline void tile_add(const firn_grid *grid, firn_node_field field, const firn_block *block,
                            float *tile, firn_tile_box box)
{
    int last = grid->order == 3 ? 12 : 16;
    for (int x = box.x0; x < box.x1; x++) {
        for (int y = box.y0; y < box.y1; y++) {
            firn_tile_row r = tile_row(grid, field, block, tile, x, y);
            if (r.below != NULL)
                node_add(r.below, r.tile);
            row_store(r.own, row_add(row_load(r.own, 4), row_load(r.tile + 4, 4), 4), 4);
            for (int k = 0; r.above != NULL && k < last; k += 4)
                node_add(r.above + k, r.tile + 20 + k);
        }
    }
}

#endif
