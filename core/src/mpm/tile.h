/// The nodes around a block, copied together so that every kernel of the block is within reach.
#ifndef FIRN_TILE_H
#define FIRN_TILE_H

#include "halo.h"
#include "lanes.h"
#include "stencil.h"

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

/// The rows of a tile that lie in three blocks along z, and where their nodes are kept: node -1,
/// nodes 0 to 3, nodes 4 to 7. NULL stands for nodes that no particle of the block reaches.
typedef struct firn_tile_part {
    int x0, x1, y0, y1;         // rows
    float *below, *own, *above; // of row (0, 0) of the tile, were it in these blocks
} firn_tile_part;

// Row 0 of a tile is the last of the block before, rows 1 to 4 are the block's own.
FIRN_INLINE void tile_range(int part, int first, int last, int *from, int *to)
{
    int low = 4 * part - 3, high = 4 * part + 1;
    *from = first > low ? first : low;
    *to = last < high ? last : high;
}

FIRN_INLINE float *part_nodes(const firn_grid *grid, firn_node_field field, int32_t block, int row)
{
    return block < 0 ? NULL : firn_grid_nodes(grid, field, (size_t)block) + row;
}

FIRN_INLINE firn_tile_part tile_part(const firn_grid *grid, firn_node_field field,
                                     const firn_block *block, firn_tile_box box, int bx, int by)
{
    const int32_t *near = &block->near[9 * bx + 3 * by];
    int row = 64 * (3 - 4 * bx) + 16 * (3 - 4 * by);
    firn_tile_part part = {.below = part_nodes(grid, field, near[0], row + 12),
                           .own = part_nodes(grid, field, near[1], row),
                           .above = part_nodes(grid, field, near[2], row)};
    tile_range(bx, box.x0, box.x1, &part.x0, &part.x1);
    tile_range(by, box.y0, box.y1, &part.y0, &part.y1);
    return part;
}

static inline void tile_clear(float *tile, firn_tile_box box)
{
    for (int x = box.x0; x < box.x1; x++)
        memset(tile + x * TILE_PLANE + box.y0 * TILE_ROW, 0,
               sizeof *tile * TILE_ROW * (size_t)(box.y1 - box.y0));
}

FIRN_INLINE void part_load(const firn_tile_part *part, float *tile)
{
    for (int x = part->x0; x < part->x1; x++) {
        for (int y = part->y0; y < part->y1; y++) {
            float *to = tile + x * TILE_PLANE + y * TILE_ROW + TILE_FIRST;
            int row = 64 * x + 16 * y;
            if (part->below != NULL)
                memcpy(to, part->below + row, 4 * sizeof(float));
            row_store(to + 4, row_load(part->own + row, 4), 4);
            row_store(to + 20, part->above != NULL ? row_load(part->above + row, 4) : row_zero(4),
                      4);
        }
    }
}

/// Copies the nodes around a block into a tile.
static inline void tile_load(const firn_grid *grid, firn_node_field field, const firn_block *block,
                             float *tile, firn_tile_box box)
{
    for (int bx = 0; bx < 3; bx++) {
        for (int by = 0; by < 3; by++) {
            firn_tile_part part = tile_part(grid, field, block, box, bx, by);
            part_load(&part, tile);
        }
    }
}

FIRN_INLINE void part_add(const firn_tile_part *part, const float *tile, int order)
{
    for (int x = part->x0; x < part->x1; x++) {
        for (int y = part->y0; y < part->y1; y++) {
            const float *from = tile + x * TILE_PLANE + y * TILE_ROW + TILE_FIRST;
            int row = 64 * x + 16 * y;
            if (part->below != NULL)
                node_add(part->below + row, from);
            float *own = part->own + row;
            row_store(own, row_add(row_load(own, 4), row_load(from + 4, 4), 4), 4);
            if (part->above != NULL)
                row_add_first(part->above + row, from + 20, order);
        }
    }
}

/// Adds a tile to the nodes around a block. The quadratic kernel ends at node 6: node 7 may belong
/// to a block of the same color and must not even be written with what it holds.
static inline void tile_add(const firn_grid *grid, firn_node_field field, const firn_block *block,
                            const float *tile, firn_tile_box box)
{
    if (block->border) {
        firn_halo_take(grid, field, block, tile, box);
        return;
    }
    for (int bx = 0; bx < 3; bx++) {
        for (int by = 0; by < 3; by++) {
            firn_tile_part part = tile_part(grid, field, block, box, bx, by);
            if (grid->order == 3)
                part_add(&part, tile, 3);
            else
                part_add(&part, tile, 4);
        }
    }
}

#endif
