/// B-spline weights of the particles in a group, and the rows of nodes that they touch.
///
/// A row is four nodes along z. A gather contracts a particle's rows with its weights; a scatter
/// is the exact transpose, method.md (4): what one reads, the other writes, with the same weights.
#ifndef FIRN_STENCIL_H
#define FIRN_STENCIL_H

#include "grid.h"
#include "simd.h"

enum {
    TILE_EDGE = 9,                     // nodes -1 to 7 of the block
    TILE_ROW = 4 * 12,                 // floats along z, padded so that any row can be read whole
    TILE_PLANE = TILE_EDGE * TILE_ROW, // floats along y
    TILE_FLOATS = TILE_EDGE * TILE_PLANE, // floats in all
};

/// Weights w and slopes s, the gradient weights in 1/m, of one group of particles.
typedef struct firn_stencils {
    int32_t base[FIRN_LANES];                       // first node in the tile, in floats
    float w[2][4][FIRN_LANES], s[2][4][FIRN_LANES]; // along x and y
    float wz[FIRN_LANES][4], sz[FIRN_LANES][4];     // along z, one particle after the other
} firn_stencils;

/// Weights and slopes along one axis, method.md (2) and (5); t is the fraction of the position.
/// With moments the slopes are the weights times the distance to the node, as APIC takes them;
/// otherwise they are the derivatives of the weights.
FIRN_INLINE void axis_weights(firn_fx t, int order, bool moments, float cells_per_meter,
                              firn_fx w[4], firn_fx s[4])
{
    firn_fx r = 1.0f - t;
    if (order == 3) {
        w[0] = 0.5f * r * r;
        w[2] = 0.5f * t * t;
        w[1] = 1.0f - w[0] - w[2];
        w[3] = s[3] = (firn_fx){0};
        s[0] = moments ? -4.0f * w[0] * (t + 0.5f) : -r;
        s[1] = moments ? 4.0f * w[1] * (0.5f - t) : r - t;
        s[2] = moments ? 4.0f * w[2] * (1.5f - t) : t;
    } else {
        const float sixth = 1.0f / 6.0f;
        firn_fx t2 = t * t, r2 = r * r;
        w[0] = sixth * r2 * r;
        w[3] = sixth * t2 * t;
        w[1] = 2.0f / 3.0f + t2 * (0.5f * t - 1.0f);
        w[2] = 1.0f - w[0] - w[1] - w[3];
        s[0] = moments ? -3.0f * w[0] * (t + 1.0f) : -0.5f * r2;
        s[1] = moments ? -3.0f * w[1] * t : t * (1.5f * t - 2.0f);
        s[2] = moments ? 3.0f * w[2] * r : 0.5f + t * (1.0f - 1.5f * t);
        s[3] = moments ? 3.0f * w[3] * (2.0f - t) : 0.5f * t2;
    }
    for (int k = 0; k < order; k++)
        s[k] *= cells_per_meter;
}

FIRN_INLINE void make_stencils(firn_stencils *st, firn_fx3 u, int order, bool moments,
                               float cells_per_meter)
{
    firn_fx position[3] = {u.x, u.y, u.z};
    firn_ix base = firn_ix_set(0);
    const int32_t stride[3] = {TILE_PLANE, TILE_ROW, 4};
    for (int axis = 0; axis < 3; axis++) {
        firn_ix whole = firn_ix_floor(position[axis]);
        firn_fx w[4], s[4];
        axis_weights(position[axis] - firn_fx_from_ix(whole), order, moments, cells_per_meter, w,
                     s);
        base += (whole + 1) * stride[axis];
        if (axis == 2) {
            nodes_from_lanes(st->wz, w[0], w[1], w[2], w[3]);
            nodes_from_lanes(st->sz, s[0], s[1], s[2], s[3]);
        } else {
            for (int k = 0; k < order; k++) {
                firn_fx_store(st->w[axis][k], w[k]);
                firn_fx_store(st->s[axis][k], s[k]);
            }
        }
    }
    firn_ix_store(st->base, base);
}

/// Adds w * value + s . slope to the nodes of particle l; slope is a node for each axis.
FIRN_INLINE void scatter(float *tile, const firn_stencils *st, int l, int order, firn_node value,
                         firn_node slope_x, firn_node slope_y, firn_node slope_z)
{
    firn_row wz = row_spread(node_load(st->wz[l])), sz = row_spread(node_load(st->sz[l]));
    firn_row p = wz * row_repeat(value) + sz * row_repeat(slope_z);
    firn_row x = wz * row_repeat(slope_x), y = wz * row_repeat(slope_y);
    float *at = tile + st->base[l];
    for (int i = 0; i < order; i++) {
        firn_row straight = st->w[0][i][l] * p + st->s[0][i][l] * x;
        firn_row across = st->w[0][i][l] * y;
        for (int j = 0; j < order; j++) {
            float *row = at + i * TILE_PLANE + j * TILE_ROW;
            row_store(row, row_load(row) + st->w[1][j][l] * straight + st->s[1][j][l] * across);
        }
    }
}

/// Adds w * value alone.
FIRN_INLINE void scatter_value(float *tile, const firn_stencils *st, int l, int order,
                               firn_node value)
{
    firn_row p = row_spread(node_load(st->wz[l])) * row_repeat(value);
    float *at = tile + st->base[l];
    for (int i = 0; i < order; i++) {
        firn_row straight = st->w[0][i][l] * p;
        for (int j = 0; j < order; j++) {
            float *row = at + i * TILE_PLANE + j * TILE_ROW;
            row_store(row, row_load(row) + st->w[1][j][l] * straight);
        }
    }
}

/// The value of the node field at particle l and its gradient, one node for each axis.
FIRN_INLINE void gather(const float *tile, const firn_stencils *st, int l, int order,
                        float value[4], float gx[4], float gy[4], float gz[4])
{
    firn_row p = {0}, x = {0}, y = {0};
    const float *at = tile + st->base[l];
    for (int i = 0; i < order; i++) {
        firn_row straight = {0}, across = {0};
        for (int j = 0; j < order; j++) {
            firn_row row = row_load(at + i * TILE_PLANE + j * TILE_ROW);
            straight += st->w[1][j][l] * row;
            across += st->s[1][j][l] * row;
        }
        p += st->w[0][i][l] * straight;
        x += st->s[0][i][l] * straight;
        y += st->w[0][i][l] * across;
    }
    firn_row wz = row_spread(node_load(st->wz[l])), sz = row_spread(node_load(st->sz[l]));
    node_store(value, row_sum(wz * p));
    node_store(gx, row_sum(wz * x));
    node_store(gy, row_sum(wz * y));
    node_store(gz, row_sum(sz * p));
}

FIRN_INLINE void gather_value(const float *tile, const firn_stencils *st, int l, int order,
                              float value[4])
{
    firn_row p = {0};
    const float *at = tile + st->base[l];
    for (int i = 0; i < order; i++) {
        firn_row straight = {0};
        for (int j = 0; j < order; j++)
            straight += st->w[1][j][l] * row_load(at + i * TILE_PLANE + j * TILE_ROW);
        p += st->w[0][i][l] * straight;
    }
    node_store(value, row_sum(row_spread(node_load(st->wz[l])) * p));
}

/// Copies the nodes around a block into a tile.
static inline void tile_load(const firn_grid *grid, firn_node_field field, const firn_block *block,
                             float *tile)
{
    int edge = grid->order == 3 ? TILE_EDGE - 1 : TILE_EDGE;
    for (int x = 0; x < edge; x++) {
        for (int y = 0; y < edge; y++) {
            const int32_t *near = &block->near[9 * ((x + 3) / 4) + 3 * ((y + 3) / 4)];
            int row = 64 * ((x + 3) & 3) + 16 * ((y + 3) & 3);
            float *to = tile + x * TILE_PLANE + y * TILE_ROW;
            node_store(to, node_load(firn_grid_nodes(grid, field, (size_t)near[0]) + row + 12));
            row_store(to + 4, row_load(firn_grid_nodes(grid, field, (size_t)near[1]) + row));
            row_store(to + 20, row_load(firn_grid_nodes(grid, field, (size_t)near[2]) + row));
        }
    }
}

/// Adds a tile to the nodes around a block. The quadratic kernel ends at node 6: node 7 may belong
/// to a block of the same color and must not even be written with what it holds.
static inline void tile_add(const firn_grid *grid, firn_node_field field, const firn_block *block,
                            const float *tile)
{
    int edge = grid->order == 3 ? TILE_EDGE - 1 : TILE_EDGE;
    for (int x = 0; x < edge; x++) {
        for (int y = 0; y < edge; y++) {
            const int32_t *near = &block->near[9 * ((x + 3) / 4) + 3 * ((y + 3) / 4)];
            int row = 64 * ((x + 3) & 3) + 16 * ((y + 3) & 3);
            const float *from = tile + x * TILE_PLANE + y * TILE_ROW;
            float *to[3] = {firn_grid_nodes(grid, field, (size_t)near[0]) + row + 12,
                            firn_grid_nodes(grid, field, (size_t)near[1]) + row,
                            firn_grid_nodes(grid, field, (size_t)near[2]) + row};
            node_store(to[0], node_load(to[0]) + node_load(from));
            row_store(to[1], row_load(to[1]) + row_load(from + 4));
            for (int z = 0; z < edge - 5; z++)
                node_store(to[2] + 4 * z, node_load(to[2] + 4 * z) + node_load(from + 20 + 4 * z));
        }
    }
}

#endif
