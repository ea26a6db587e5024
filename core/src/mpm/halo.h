/// Tiles as kernels leave them, and where those go that other ranks have a part in.
#ifndef FIRN_HALO_H
#define FIRN_HALO_H

#include "grid.h"

enum {
    TILE_EDGE = 9,                        // nodes -1 to 7 of the block
    TILE_ROW = 4 * 12,                    // floats along z, nodes -4 to 7: blocks begin on a line
    TILE_FIRST = 4 * 3,                   // where node -1 is
    TILE_PLANE = TILE_EDGE * TILE_ROW,    // floats along y
    TILE_FLOATS = TILE_EDGE * TILE_PLANE, // floats in all
};

/// Rows of a tile that the particles of a block touch: x in [x0, x1), y in [y0, y1).
typedef struct firn_tile_box {
    int x0, x1, y0, y1;
} firn_tile_box;

/// Takes the tile of a block at the border: adds it to the node blocks that no other rank holds,
/// and keeps the rest for firn_halo_end. Any thread may call it for a block whose turn it is.
void firn_halo_take(const firn_grid *grid, firn_node_field field, const firn_block *block,
                    const float *tile, firn_tile_box box);

#endif
