/// From the rows of nodes around them to particles.
#ifndef FIRN_GATHER_H
#define FIRN_GATHER_H

#include "stencil.h"

/// What comes from rows, contracted along x and y: the nodes along z of the value, of its slope
/// along x and of its slope along y.
typedef struct firn_lines {
    float node[3][FIRN_LANES][NODE_STRIDE];
} firn_lines;

/// A node field where the particles of a group are.
typedef struct firn_sample {
    firn_fx3 value;
    firn_fm3 gradient;
} firn_sample;

// a + s b
FIRN_INLINE firn_fx3 add_scaled(firn_fx3 a, const float *s, firn_fx3 b)
{
    return firn_fx3_add_scaled(a, firn_fx_load(s), b);
}

/// From a value and its slopes along the axes, in lanes.
FIRN_INLINE firn_sample make_sample(const firn_stencils *st, firn_slopes slopes, firn_fx3 v,
                                    firn_fx3 x, firn_fx3 y, firn_fx3 z)
{
    if (slopes == FIRN_SLOPES_MOMENTS) {
        x = firn_fx3_add_scaled(x, -st->first_node.x, v);
        y = firn_fx3_add_scaled(y, -st->first_node.y, v);
        z = firn_fx3_add_scaled(z, -st->first_node.z, v);
    }
    firn_fm3 gradient = {{x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z}};
    return (firn_sample){v, firn_fm3_scale(firn_fx_set(st->slope_scale), gradient)};
}

/// Lines contracted along z, back in lanes.
FIRN_INLINE firn_sample sample_of(const firn_lines *lines, const firn_stencils *st, int order,
                                  firn_slopes slopes)
{
    const firn_fx3 zero = {{0}, {0}, {0}};
    firn_fx3 v = zero, x = zero, y = zero, z = zero;
    for (int k = 0; k < order; k++) {
        firn_fx3 node = lanes_from_nodes(lines->node[0][0] + 4 * k, NODE_STRIDE);
        v = add_scaled(v, st->w[2][k], node);
        if (k > 0 || slopes != FIRN_SLOPES_MOMENTS)
            z = add_scaled(z, st->s[2][k], node);
        x = add_scaled(x, st->w[2][k], lanes_from_nodes(lines->node[1][0] + 4 * k, NODE_STRIDE));
        y = add_scaled(y, st->w[2][k], lanes_from_nodes(lines->node[2][0] + 4 * k, NODE_STRIDE));
    }
    return make_sample(st, slopes, v, x, y, z);
}

/// The value alone.
FIRN_INLINE firn_fx3 value_of(const firn_lines *lines, const firn_stencils *st, int order)
{
    firn_fx3 v = {{0}, {0}, {0}};
    for (int k = 0; k < order; k++)
        v = add_scaled(v, st->w[2][k], lanes_from_nodes(lines->node[0][0] + 4 * k, NODE_STRIDE));
    return v;
}

FIRN_INLINE const float *row_in(const float *at, int order, int r)
{
    return at + (r / order) * TILE_PLANE + (r % order) * TILE_ROW;
}

/// Lanes without a particle read nothing: what they hold must not slow the others down.
FIRN_INLINE void clear_tail(firn_lines *lines, int n)
{
    for (int l = n; l < FIRN_LANES; l++)
        for (int c = 0; c < 3; c++)
            memset(lines->node[c][l], 0, sizeof lines->node[c][l]);
}

// One particle, from the rows of its cell.
FIRN_INLINE void gather_rows(const firn_row rows[], const firn_stencils *st, int l, int order,
                             firn_slopes slopes, firn_lines *lines)
{
    // Of moments about the first node, its own are zero.
    const int first = slopes == FIRN_SLOPES_MOMENTS ? 1 : 0;
    firn_row p = row_zero(order), x = p, y = p;
    for (int i = 0; i < order; i++) {
        firn_row straight = p, across = p;
        for (int j = 0; j < order; j++) {
            firn_row row = rows[order * i + j];
            straight = row_sum(j == 0, st->w[1][j][l], row, straight, order);
            if (j >= first)
                across = row_sum(j == first, st->s[1][j][l], row, across, order);
        }
        p = row_sum(i == 0, st->w[0][i][l], straight, p, order);
        y = row_sum(i == 0, st->w[0][i][l], across, y, order);
        if (i >= first)
            x = row_sum(i == first, st->s[0][i][l], straight, x, order);
    }
    row_store(lines->node[0][l], p, order);
    row_store(lines->node[1][l], x, order);
    row_store(lines->node[2][l], y, order);
}

// By rows: a cell's rows serve one particle after the other.
FIRN_INLINE firn_sample gather_by_rows(const float *tile, const firn_stencils *st, int n, int order,
                                       firn_slopes slopes)
{
    _Alignas(64) firn_lines lines;
    clear_tail(&lines, n);
    bool hold = ROWS_IN_REGISTERS && order == 3;
    for (int l = 0; l < n;) {
        int32_t cell = st->base[l];
        firn_row rows[STENCIL_ROWS];
        for (int r = 0; r < order * order; r++)
            rows[r] = row_load(row_in(tile + cell, order, r), order);
        do
            gather_rows(rows, st, l, order, slopes, &lines);
        while (++l < n && hold && st->base[l] == cell);
    }
    return sample_of(&lines, st, order, slopes);
}

// Weights and slopes along an axis, of the lanes that are joined with l.
FIRN_INLINE void join_weights(const firn_stencils *st, int axis, int l, firn_slopes slopes,
                              firn_fx w[3], firn_fx s[3])
{
    for (int k = 0; k < 3; k++) {
        w[k] = lanes_join(st->w[axis][k], l);
        s[k] = slopes == FIRN_SLOPES_MOMENTS ? (float)k * w[k] : lanes_join(st->s[axis][k], l);
    }
}

/// A value and its slopes of joined lanes.
typedef struct firn_joined {
    firn_fx value, x, y, z;
} firn_joined;

// a b, or a b + c behind the first term of a sum.
FIRN_INLINE firn_fx fx_sum(bool first, firn_fx a, firn_fx b, firn_fx c)
{
    return first ? a * b : fx_fma(a, b, c);
}

// The particles joined with l, from their nodes at[0], at[1] and so on; along z, then y, then x.
FIRN_INLINE firn_joined gather_joined(const float *const at[], const firn_stencils *st, int l,
                                      firn_slopes slopes)
{
    const int first = slopes == FIRN_SLOPES_MOMENTS ? 1 : 0;
    firn_fx wx[3], sx[3], wy[3], sy[3], wz[3], sz[3];
    join_weights(st, 0, l, slopes, wx, sx);
    join_weights(st, 1, l, slopes, wy, sy);
    join_weights(st, 2, l, slopes, wz, sz);
    firn_joined sum = {{0}, {0}, {0}, {0}};
    for (int i = 0; i < 3; i++) {
        firn_joined plane = {{0}, {0}, {0}, {0}};
        for (int j = 0; j < 3; j++) {
            firn_fx line = {0}, rise = {0};
            for (int k = 0; k < 3; k++) {
                firn_fx node = nodes_join(at, i * TILE_PLANE + j * TILE_ROW + 4 * k);
                line = fx_sum(k == 0, wz[k], node, line);
                if (k >= first)
                    rise = fx_sum(k == first, sz[k], node, rise);
            }
            plane.value = fx_sum(j == 0, wy[j], line, plane.value);
            plane.z = fx_sum(j == 0, wy[j], rise, plane.z);
            if (j >= first)
                plane.y = fx_sum(j == first, sy[j], line, plane.y);
        }
        sum.value = fx_sum(i == 0, wx[i], plane.value, sum.value);
        sum.y = fx_sum(i == 0, wx[i], plane.y, sum.y);
        sum.z = fx_sum(i == 0, wx[i], plane.z, sum.z);
        if (i >= first)
            sum.x = fx_sum(i == first, sx[i], plane.value, sum.x);
    }
    return sum;
}

// By nodes: those of several particles fill a vector, none of it idle.
FIRN_INLINE firn_sample gather_by_nodes(const float *tile, firn_stencils *st, int n,
                                        firn_slopes slopes)
{
    // Lanes without a particle read what the first one does.
    for (int l = n; l < FIRN_LANES; l++)
        st->base[l] = st->base[0];
    _Alignas(64) firn_nodes value, x, y, z;
    for (int l = 0; l < 4; l++) {
        const float *at[FIRN_LANES / 4 + 1];
        for (int i = 0; i < FIRN_LANES / 4; i++)
            at[i] = tile + st->base[4 * i + l];
        firn_joined joined = gather_joined(at, st, l, slopes);
        firn_fx_store(value.at + l * FIRN_LANES, joined.value);
        firn_fx_store(x.at + l * FIRN_LANES, joined.x);
        firn_fx_store(y.at + l * FIRN_LANES, joined.y);
        firn_fx_store(z.at + l * FIRN_LANES, joined.z);
    }
    return make_sample(st, slopes, lanes_from_joined(&value), lanes_from_joined(&x),
                       lanes_from_joined(&y), lanes_from_joined(&z));
}

/// Reads the node field of a tile at the first n particles.
FIRN_INLINE firn_sample gather_group(const float *tile, firn_stencils *st, int n, int order,
                                     firn_slopes slopes)
{
    return GATHERS_BY_NODES && order == 3 ? gather_by_nodes(tile, st, n, slopes)
                                          : gather_by_rows(tile, st, n, order, slopes);
}

/// The value alone; the stencils hold products.
FIRN_INLINE void gather_values(const float *tile, const firn_stencils *st, int n, int order,
                               firn_lines *lines)
{
    clear_tail(lines, n);
    for (int l = 0; l < n; l++) {
        const float *at = tile + st->base[l];
        firn_row p = row_zero(order);
        for (int r = 0; r < order * order; r++)
            p = row_scale_add(st->wxy[r][l], row_load(row_in(at, order, r), order), p, order);
        row_store(lines->node[0][l], p, order);
    }
}

#endif
