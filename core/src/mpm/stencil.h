/// B-spline weights of the particles in a group, and the rows of nodes that they touch.
///
/// A gather contracts a particle's rows with its weights; a scatter is the exact transpose,
/// method.md (4): what one reads, the other writes, with the same weights.
#ifndef FIRN_STENCIL_H
#define FIRN_STENCIL_H

#include "halo.h"
#include "rows.h"

/// How the slopes of the weights are formed, method.md (5).
typedef enum firn_slopes {
    FIRN_SLOPES_GRADIENTS, // FLIP: derivatives of the weights
    FIRN_SLOPES_MOMENTS,   // APIC: weights times the distance to the node
} firn_slopes;

enum {
    STENCIL_ROWS = 16,
    NODE_STRIDE = 16, // floats between the particles in what comes from rows
    // AVX-512 has registers for all rows of a cell while its particles pass by.
    ROWS_IN_REGISTERS = FIRN_LANES == 16,
    // Three nodes fill two vectors of AVX2 by three quarters only: two particles share a vector.
    GATHERS_BY_NODES = FIRN_LANES == 8,
};

/// Weights w and slopes s of one group of particles. Moments are counted from the first node, as
/// k w[k]: integers that all particles of a cell share. The rest of the distance is taken off
/// before a scatter and after a gather, by first_node and slope_scale.
typedef struct firn_stencils {
    int32_t base[FIRN_LANES];                       // first node in the tile, in floats
    float w[3][4][FIRN_LANES], s[3][4][FIRN_LANES]; // along each axis; s for gradients only
    firn_fx3 first_node;                            // distance to the first node, cells
    float slope_scale;                              // from slopes to gradients, 1/m
    // Of those that scatter, or gather values alone:
    float wxy[STENCIL_ROWS][FIRN_LANES]; // products of w for each row
    firn_nodes wz, sz;                   // along z, those of a particle together
} firn_stencils;

/// Weights and their derivatives along one axis, method.md (2) and (5); t is the fraction of the
/// position.
FIRN_INLINE void axis_weights(firn_fx t, int order, firn_fx w[4], firn_fx s[4])
{
    firn_fx r = 1.0f - t;
    if (order == 3) {
        w[0] = 0.5f * r * r;
        w[2] = 0.5f * t * t;
        w[1] = 1.0f - w[0] - w[2];
        s[0] = -r;
        s[1] = r - t;
        s[2] = t;
    } else {
        const float sixth = 1.0f / 6.0f;
        firn_fx t2 = t * t, r2 = r * r;
        w[0] = sixth * r2 * r;
        w[3] = sixth * t2 * t;
        w[1] = 2.0f / 3.0f + t2 * (0.5f * t - 1.0f);
        w[2] = 1.0f - w[0] - w[1] - w[3];
        s[0] = -0.5f * r2;
        s[1] = t * (1.5f * t - 2.0f);
        s[2] = 0.5f + t * (1.0f - 1.5f * t);
        s[3] = 0.5f * t2;
    }
}

FIRN_INLINE void make_stencils(firn_stencils *st, firn_fx3 u, int order, firn_slopes slopes,
                               float cells_per_meter)
{
    const float shift = order == 3 ? 0.5f : 1.0f;
    firn_ix wx = firn_ix_floor(u.x), wy = firn_ix_floor(u.y), wz = firn_ix_floor(u.z);
    firn_fx3 t = {u.x - firn_fx_from_ix(wx), u.y - firn_fx_from_ix(wy), u.z - firn_fx_from_ix(wz)};
    const firn_fx along[3] = {t.x, t.y, t.z};
    for (int axis = 0; axis < 3; axis++) {
        firn_fx w[4], s[4];
        axis_weights(along[axis], order, w, s);
        for (int k = 0; k < order; k++) {
            firn_fx_store(st->w[axis][k], w[k]);
            if (slopes == FIRN_SLOPES_GRADIENTS)
                firn_fx_store(st->s[axis][k], s[k]);
        }
    }
    st->first_node = (firn_fx3){t.x + shift, t.y + shift, t.z + shift};
    st->slope_scale = slopes == FIRN_SLOPES_MOMENTS ? (order == 3 ? 4.0f : 3.0f) * cells_per_meter
                                                    : cells_per_meter;
    firn_ix_store(st->base,
                  (wx + 1) * TILE_PLANE + (wy + 1) * TILE_ROW + (wz * 4 + 4 + TILE_FIRST));
}

FIRN_INLINE void make_products(firn_stencils *st, int order)
{
    for (int i = 0; i < order; i++)
        for (int j = 0; j < order; j++)
            firn_fx_store(st->wxy[order * i + j],
                          firn_fx_load(st->w[0][i]) * firn_fx_load(st->w[1][j]));
}

#endif
