/// B-spline weights of the particles in a group, and the rows of nodes that they touch.
///
/// A gather contracts a particle's rows with its weights; a scatter is the exact transpose,
/// method.md (4): what one reads, the other writes, with the same weights.
#ifndef FIRN_STENCIL_H
#define FIRN_STENCIL_H

#include "rows.h"

/// How the slopes of the weights are formed, method.md (5).
typedef enum firn_slopes {
    FIRN_SLOPES_GRADIENTS, // FLIP: derivatives of the weights
    FIRN_SLOPES_MOMENTS,   // APIC: weights times the distance to the node
} firn_slopes;

enum {
    TILE_EDGE = 9,                        // nodes -1 to 7 of the block
    TILE_ROW = 4 * 12,                    // floats along z, nodes -4 to 7: blocks begin on a line
    TILE_FIRST = 4 * 3,                   // where node -1 is
    TILE_PLANE = TILE_EDGE * TILE_ROW,    // floats along y
    TILE_FLOATS = TILE_EDGE * TILE_PLANE, // floats in all
    STENCIL_ROWS = 16,
    NODE_STRIDE = 16, // floats between the particles in what comes from rows
    // AVX-512 has registers for all rows of a cell while its particles pass by.
    ROWS_IN_REGISTERS = FIRN_LANES == 16,
};

/// Weights w and slopes s of one group of particles. For moments, slopes are counted from the first
/// node, s[k] = k w[k]: integers that all particles of a cell share. The rest of the distance is
/// taken off before a scatter and after a gather, by first_node and slope_scale.
typedef struct firn_stencils {
    int32_t base[FIRN_LANES];                       // first node in the tile, in floats
    float w[3][4][FIRN_LANES], s[3][4][FIRN_LANES]; // along each axis
    firn_fx3 first_node;                            // distance to the first node, cells
    float slope_scale;                              // from slopes to gradients, 1/m
    // Of those that scatter, or gather values alone:
    float wxy[STENCIL_ROWS][FIRN_LANES]; // products of w for each row
    firn_nodes wz, sz;                   // along z, those of a particle together
} firn_stencils;

/// What goes to rows, four nodes for each particle of a group: a value, then a column of its slope
/// for each axis.
typedef struct firn_columns {
    firn_nodes value, slope[3];
} firn_columns;

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

/// Weights and slopes along one axis, method.md (2) and (5); t is the fraction of the position.
FIRN_INLINE void axis_weights(firn_fx t, int order, firn_slopes slopes, firn_fx w[4], firn_fx s[4])
{
    firn_fx r = 1.0f - t;
    if (order == 3) {
        w[0] = 0.5f * r * r;
        w[2] = 0.5f * t * t;
        w[1] = 1.0f - w[0] - w[2];
        w[3] = s[3] = (firn_fx){0};
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
    if (slopes == FIRN_SLOPES_MOMENTS)
        for (int k = 0; k < 4; k++)
            s[k] = (float)k * w[k];
}

FIRN_INLINE void make_stencils(firn_stencils *st, firn_fx3 u, int order, firn_slopes slopes,
                               float cells_per_meter)
{
    const float shift = order == 3 ? 0.5f : 1.0f;
    firn_ix wx = firn_ix_floor(u.x), wy = firn_ix_floor(u.y), wz = firn_ix_floor(u.z);
    firn_fx3 t = {u.x - firn_fx_from_ix(wx), u.y - firn_fx_from_ix(wy), u.z - firn_fx_from_ix(wz)};
    firn_fx w[3][4], s[3][4];
    axis_weights(t.x, order, slopes, w[0], s[0]);
    axis_weights(t.y, order, slopes, w[1], s[1]);
    axis_weights(t.z, order, slopes, w[2], s[2]);
    for (int axis = 0; axis < 3; axis++) {
        for (int k = 0; k < order; k++) {
            firn_fx_store(st->w[axis][k], w[axis][k]);
            firn_fx_store(st->s[axis][k], s[axis][k]);
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

FIRN_INLINE void nodes_along_z(firn_nodes *nodes, float (*a)[FIRN_LANES], int order)
{
    nodes_from_lanes(nodes, firn_fx_load(a[0]), firn_fx_load(a[1]), firn_fx_load(a[2]),
                     order == 3 ? (firn_fx){0} : firn_fx_load(a[3]));
}

/// Completes stencils for a scatter.
FIRN_INLINE void make_scatter(firn_stencils *st, int order, firn_slopes slopes)
{
    make_products(st, order);
    nodes_along_z(&st->wz, st->w[2], order);
    if (slopes == FIRN_SLOPES_GRADIENTS)
        nodes_along_z(&st->sz, st->s[2], order);
}

/// Lays out what a group scatters: w * value + s . slope, where a column of slope goes with an
/// axis.
FIRN_INLINE void columns_from_lanes(firn_columns *columns, const firn_stencils *st,
                                    firn_slopes slopes, firn_fx3 value, firn_fx mass,
                                    firn_fm3 slope)
{
    firn_fx scale = firn_fx_set(st->slope_scale), zero = {0};
    slope = firn_fm3_scale(scale, slope);
    if (slopes == FIRN_SLOPES_MOMENTS) {
        firn_fx3 off = firn_fm3_apply(slope, st->first_node);
        value = (firn_fx3){value.x - off.x, value.y - off.y, value.z - off.z};
    }
    nodes_from_lanes(&columns->value, value.x, value.y, value.z, mass);
    for (int c = 0; c < 3; c++)
        nodes_from_lanes(&columns->slope[c], slope.m[c], slope.m[3 + c], slope.m[6 + c], zero);
}

// a + s b
FIRN_INLINE firn_fx3 add_scaled(firn_fx3 a, const float *s, firn_fx3 b)
{
    return firn_fx3_add_scaled(a, firn_fx_load(s), b);
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
        z = add_scaled(z, st->s[2][k], node);
        x = add_scaled(x, st->w[2][k], lanes_from_nodes(lines->node[1][0] + 4 * k, NODE_STRIDE));
        y = add_scaled(y, st->w[2][k], lanes_from_nodes(lines->node[2][0] + 4 * k, NODE_STRIDE));
    }
    firn_fx scale = firn_fx_set(st->slope_scale);
    if (slopes == FIRN_SLOPES_MOMENTS) {
        x = firn_fx3_add_scaled(x, -st->first_node.x, v);
        y = firn_fx3_add_scaled(y, -st->first_node.y, v);
        z = firn_fx3_add_scaled(z, -st->first_node.z, v);
    }
    firn_fm3 gradient = {{x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z}};
    return (firn_sample){v, firn_fm3_scale(scale, gradient)};
}

/// The value alone.
FIRN_INLINE firn_fx3 value_of(const firn_lines *lines, const firn_stencils *st, int order)
{
    firn_fx3 v = {{0}, {0}, {0}};
    for (int k = 0; k < order; k++)
        v = add_scaled(v, st->w[2][k], lanes_from_nodes(lines->node[0][0] + 4 * k, NODE_STRIDE));
    return v;
}

/// The rows of the cell that particles are being scattered to.
typedef struct firn_run {
    float *at; // its first node in the tile
    firn_row row[STENCIL_ROWS];
} firn_run;

FIRN_INLINE const float *row_in(const float *at, int order, int r)
{
    return at + (r / order) * TILE_PLANE + (r % order) * TILE_ROW;
}

FIRN_INLINE float *row_of(float *at, int order, int r)
{
    return at + (r / order) * TILE_PLANE + (r % order) * TILE_ROW;
}

FIRN_INLINE void run_begin(firn_run *run, float *at, int order)
{
    run->at = at;
    for (int r = 0; ROWS_IN_REGISTERS && r < order * order; r++)
        run->row[r] = row_zero(order);
}

FIRN_INLINE void run_end(firn_run *run, int order)
{
    for (int r = 0; ROWS_IN_REGISTERS && r < order * order; r++) {
        float *row = row_of(run->at, order, r);
        row_store(row, row_add(row_load(row, order), run->row[r], order), order);
    }
}

/// row r += s * a
FIRN_INLINE void run_add(firn_run *run, int order, int r, float s, firn_row a)
{
    if (ROWS_IN_REGISTERS) {
        run->row[r] = row_scale_add(s, a, run->row[r], order);
    } else {
        float *row = row_of(run->at, order, r);
        row_store(row, row_scale_add(s, a, row_load(row, order), order), order);
    }
}

// w (A + i X + j Y + k Z) with the integers of the nodes.
FIRN_INLINE void scatter_moments(firn_run *run, const firn_stencils *st, int l, int order,
                                 const firn_columns *columns)
{
    static const float integers[4] = {0.0f, 1.0f, 2.0f, 3.0f};
    int at = lane_node(l);
    firn_row wz = row_spread(st->wz.at + at);
    firn_row sz = row_mul(row_spread(integers), wz, order);
    firn_row line = row_mul(wz, row_repeat(columns->value.at + at), order);
    firn_row x = row_mul(wz, row_repeat(columns->slope[0].at + at), order);
    firn_row y = row_mul(wz, row_repeat(columns->slope[1].at + at), order);
    line = row_mul_add(sz, row_repeat(columns->slope[2].at + at), line, order);
    for (int i = 0; i < order; i++) {
        firn_row a = line;
        for (int j = 0; j < order; j++) {
            run_add(run, order, order * i + j, st->wxy[order * i + j][l], a);
            a = row_add(a, y, order);
        }
        line = row_add(line, x, order);
    }
}

FIRN_INLINE void scatter_gradients(firn_run *run, const firn_stencils *st, int l, int order,
                                   const firn_columns *columns)
{
    int at = lane_node(l);
    firn_row wz = row_spread(st->wz.at + at);
    firn_row z = row_mul(row_spread(st->sz.at + at), row_repeat(columns->slope[2].at + at), order);
    firn_row x = row_mul(wz, row_repeat(columns->slope[0].at + at), order);
    firn_row y = row_mul(wz, row_repeat(columns->slope[1].at + at), order);
    for (int i = 0; i < order; i++) {
        firn_row straight = row_scale(st->w[0][i][l], z, order);
        straight = row_scale_add(st->s[0][i][l], x, straight, order);
        firn_row across = row_scale(st->w[0][i][l], y, order);
        for (int j = 0; j < order; j++) {
            run_add(run, order, order * i + j, st->w[1][j][l], straight);
            run_add(run, order, order * i + j, st->s[1][j][l], across);
        }
    }
}

FIRN_INLINE void scatter_values(firn_run *run, const firn_stencils *st, int l, int order,
                                const firn_columns *columns)
{
    int at = lane_node(l);
    firn_row a = row_mul(row_spread(st->wz.at + at), row_repeat(columns->value.at + at), order);
    for (int r = 0; r < order * order; r++)
        run_add(run, order, r, st->wxy[r][l], a);
}

/// What of the columns a scatter adds to the tile: with gradients, the slopes alone.
typedef enum firn_scatter { SCATTER_MOMENTS, SCATTER_GRADIENTS, SCATTER_VALUES } firn_scatter;

/// Adds the columns of the first n particles to a tile.
FIRN_INLINE void scatter_group(float *tile, const firn_stencils *st, const firn_columns *columns,
                               int n, int order, firn_scatter what)
{
    firn_run run;
    for (int l = 0; l < n;) {
        int32_t cell = st->base[l];
        run_begin(&run, tile + cell, order);
        do {
            if (what == SCATTER_MOMENTS)
                scatter_moments(&run, st, l, order, columns);
            else if (what == SCATTER_GRADIENTS)
                scatter_gradients(&run, st, l, order, columns);
            else
                scatter_values(&run, st, l, order, columns);
        } while (++l < n && ROWS_IN_REGISTERS && st->base[l] == cell);
        run_end(&run, order);
    }
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

/// Reads the node field of a tile at the first n particles.
FIRN_INLINE void gather_group(const float *tile, const firn_stencils *st, int n, int order,
                              firn_slopes slopes, firn_lines *lines)
{
    clear_tail(lines, n);
    bool hold = ROWS_IN_REGISTERS && order == 3;
    for (int l = 0; l < n;) {
        int32_t cell = st->base[l];
        firn_row rows[STENCIL_ROWS];
        for (int r = 0; r < order * order; r++)
            rows[r] = row_load(row_in(tile + cell, order, r), order);
        do
            gather_rows(rows, st, l, order, slopes, lines);
        while (++l < n && hold && st->base[l] == cell);
    }
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
