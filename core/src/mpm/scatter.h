/// From particles to the rows of nodes that they touch: the exact transpose of gather.h.
#ifndef FIRN_SCATTER_H
#define FIRN_SCATTER_H

#include "stencil.h"

/// What goes to rows, four nodes for each particle of a group: a value, then a column of its slope
/// for each axis.
typedef struct firn_columns {
    firn_nodes value, slope[3];
} firn_columns;

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
/// axis and brings slope_scale with it.
FIRN_INLINE void columns_from_lanes(firn_columns *columns, const firn_stencils *st,
                                    firn_slopes slopes, firn_fx3 value, firn_fx mass,
                                    firn_fm3 slope)
{
    firn_fx zero = {0};
    if (slopes == FIRN_SLOPES_MOMENTS) {
        firn_fx3 off = firn_fm3_apply(slope, st->first_node);
        value = (firn_fx3){value.x - off.x, value.y - off.y, value.z - off.z};
    }
    nodes_from_lanes(&columns->value, value.x, value.y, value.z, mass);
    for (int c = 0; c < 3; c++)
        nodes_from_lanes(&columns->slope[c], slope.m[c], slope.m[3 + c], slope.m[6 + c], zero);
}

/// The rows of the cell that particles are being scattered to.
typedef struct firn_run {
    float *at; // its first node in the tile
    firn_row row[STENCIL_ROWS];
} firn_run;

FIRN_INLINE float *row_of(float *at, int order, int r)
{
    return at + (r / order) * TILE_PLANE + (r % order) * TILE_ROW;
}

FIRN_INLINE void run_begin(firn_run *run, float *at, int order)
{
    run->at = pointer_settle(at);
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
    int at = lane_node(l);
    firn_row wz = row_spread(st->wz.at + at);
    firn_row line = row_mul_add(row_numbers(order), row_repeat(columns->slope[2].at + at),
                                row_repeat(columns->value.at + at), order);
    line = row_mul(wz, line, order);
    firn_row x = row_product(wz, row_repeat(columns->slope[0].at + at), order);
    firn_row y = row_product(wz, row_repeat(columns->slope[1].at + at), order);
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

#endif
