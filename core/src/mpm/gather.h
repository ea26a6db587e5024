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

/// The weights of particles along an axis; the slopes too, unless they are moments.
typedef struct firn_weights {
    firn_fx w[4], s[4];
} firn_weights;

/// Terms along an axis, added up by their weights and by their slopes.
typedef struct firn_contraction {
    firn_fx value, slope;
} firn_contraction;

FIRN_INLINE firn_fx weigh(const firn_fx term[], const firn_fx w[], int order)
{
    firn_fx sum = w[order - 1] * term[order - 1];
    for (int k = order - 2; k >= 0; k--)
        sum = fx_fma(w[k], term[k], sum);
    return sum;
}

FIRN_INLINE firn_contraction contract(const firn_fx term[], const firn_weights *of, int order,
                                      firn_slopes slopes)
{
    if (slopes == FIRN_SLOPES_GRADIENTS)
        return (firn_contraction){weigh(term, of->w, order), weigh(term, of->s, order)};
    // t1 + 2 t2 + 3 t3 = t3 + (t3 + t2) + (t3 + t2 + t1): the sums on the way to the value.
    const int last = order - 1;
    firn_fx value = of->w[last] * term[last], slope = value;
    for (int k = last - 1; k > 0; k--) {
        value = fx_fma(of->w[k], term[k], value);
        slope += value;
    }
    return (firn_contraction){fx_fma(of->w[0], term[0], value), slope};
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

/// One kind of lines, contracted along z, back in lanes.
FIRN_INLINE firn_fx3 line_sum(const firn_lines *lines, int kind, const firn_fx w[], int order)
{
    firn_fx3 sum = {{0}, {0}, {0}};
    for (int k = 0; k < order; k++)
        sum = firn_fx3_add_scaled(sum, w[k],
                                  lanes_from_nodes(lines->node[kind][0] + 4 * k, NODE_STRIDE));
    return sum;
}

/// The value alone.
FIRN_INLINE firn_fx3 value_of(const firn_lines *lines, const firn_stencils *st, int order)
{
    firn_fx w[4];
    for (int k = 0; k < order; k++)
        w[k] = firn_fx_load(st->w[2][k]);
    return line_sum(lines, 0, w, order);
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

// Those of one particle, in all lanes.
FIRN_INLINE firn_weights lane_weights(const firn_stencils *st, int axis, int l, int order,
                                      firn_slopes slopes)
{
    firn_weights of;
    for (int k = 0; k < order; k++) {
        of.w[k] = firn_fx_set(st->w[axis][k][l]);
        if (slopes == FIRN_SLOPES_GRADIENTS)
            of.s[k] = firn_fx_set(st->s[axis][k][l]);
    }
    return of;
}

// Those of the particles that are joined with l.
FIRN_INLINE firn_weights joined_weights(const firn_stencils *st, int axis, int l, int order,
                                        firn_slopes slopes)
{
    firn_weights of;
    for (int k = 0; k < order; k++) {
        of.w[k] = lanes_join(st->w[axis][k], l);
        if (slopes == FIRN_SLOPES_GRADIENTS)
            of.s[k] = lanes_join(st->s[axis][k], l);
    }
    return of;
}

// One particle, from the rows of its cell.
FIRN_INLINE void gather_rows(const firn_row rows[], const firn_stencils *st, int l, int order,
                             firn_slopes slopes, firn_lines *lines)
{
    firn_weights along_x = lane_weights(st, 0, l, order, slopes);
    firn_weights along_y = lane_weights(st, 1, l, order, slopes);
    for (int piece = 0; piece < row_pieces(order); piece++) {
        firn_fx straight[4], across[4];
        for (int i = 0; i < order; i++) {
            firn_fx term[4];
            for (int j = 0; j < order; j++)
                term[j] = rows[order * i + j].piece[piece];
            firn_contraction line = contract(term, &along_y, order, slopes);
            straight[i] = line.value;
            across[i] = line.slope;
        }
        firn_contraction plane = contract(straight, &along_x, order, slopes);
        firn_fx_store(lines->node[0][l] + piece * FIRN_LANES, plane.value);
        firn_fx_store(lines->node[1][l] + piece * FIRN_LANES, plane.slope);
        firn_fx_store(lines->node[2][l] + piece * FIRN_LANES, weigh(across, along_x.w, order));
    }
}

/// A value and its slopes of all lanes, as nodes.
typedef struct firn_joined {
    firn_nodes value, x, y, z;
} firn_joined;

FIRN_INLINE firn_sample joined_sample(const firn_joined *joined, const firn_stencils *st,
                                      firn_slopes slopes)
{
    return make_sample(st, slopes, lanes_from_joined(&joined->value), lanes_from_joined(&joined->x),
                       lanes_from_joined(&joined->y), lanes_from_joined(&joined->z));
}

// The lines of the particles that are joined with l, contracted along z.
FIRN_INLINE void join_lines(firn_joined *joined, const firn_lines *lines, const firn_stencils *st,
                            int l, int order, firn_slopes slopes)
{
    firn_weights along_z = joined_weights(st, 2, l, order, slopes);
    firn_fx node[3][4];
    for (int c = 0; c < 3; c++)
        rows_join(lines->node[c][l], 4 * NODE_STRIDE, node[c], order);
    firn_contraction value = contract(node[0], &along_z, order, slopes);
    firn_fx_store(joined->value.at + l * FIRN_LANES, value.value);
    firn_fx_store(joined->z.at + l * FIRN_LANES, value.slope);
    firn_fx_store(joined->x.at + l * FIRN_LANES, weigh(node[1], along_z.w, order));
    firn_fx_store(joined->y.at + l * FIRN_LANES, weigh(node[2], along_z.w, order));
}

// All lines, contracted along z in lanes.
FIRN_INLINE firn_sample lanes_sample(const firn_lines *lines, const firn_stencils *st, int order,
                                     firn_slopes slopes)
{
    firn_fx w[4], s[4];
    for (int k = 0; k < order; k++) {
        w[k] = firn_fx_load(st->w[2][k]);
        s[k] = slopes == FIRN_SLOPES_MOMENTS ? (float)k * w[k] : firn_fx_load(st->s[2][k]);
    }
    return make_sample(st, slopes, line_sum(lines, 0, w, order), line_sum(lines, 1, w, order),
                       line_sum(lines, 2, w, order), line_sum(lines, 0, s, order));
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
    if (JOINED_LANES == 0)
        return lanes_sample(&lines, st, order, slopes);
    _Alignas(64) firn_joined joined;
    for (int l = 0; l < 4; l++)
        join_lines(&joined, &lines, st, l, order, slopes);
    return joined_sample(&joined, st, slopes);
}

// The particles that are joined with l, from their nodes at[0], at[1] and so on; along z, then y,
// then x.
FIRN_INLINE void join_nodes(firn_joined *joined, const float *const at[], const firn_stencils *st,
                            int l, int order, firn_slopes slopes)
{
    firn_weights along_x = joined_weights(st, 0, l, order, slopes);
    firn_weights along_y = joined_weights(st, 1, l, order, slopes);
    firn_weights along_z = joined_weights(st, 2, l, order, slopes);
    firn_fx straight[4], across[4], rising[4];
    for (int i = 0; i < order; i++) {
        firn_fx line[4], rise[4];
        for (int j = 0; j < order; j++) {
            firn_fx node[4];
            for (int k = 0; k < order; k++)
                node[k] = nodes_join(at, i * TILE_PLANE + j * TILE_ROW + 4 * k);
            firn_contraction z = contract(node, &along_z, order, slopes);
            line[j] = z.value;
            rise[j] = z.slope;
        }
        firn_contraction y = contract(line, &along_y, order, slopes);
        straight[i] = y.value;
        across[i] = y.slope;
        rising[i] = weigh(rise, along_y.w, order);
    }
    firn_contraction x = contract(straight, &along_x, order, slopes);
    firn_fx_store(joined->value.at + l * FIRN_LANES, x.value);
    firn_fx_store(joined->x.at + l * FIRN_LANES, x.slope);
    firn_fx_store(joined->y.at + l * FIRN_LANES, weigh(across, along_x.w, order));
    firn_fx_store(joined->z.at + l * FIRN_LANES, weigh(rising, along_x.w, order));
}

// By nodes: those of several particles fill a vector, none of it idle.
FIRN_INLINE firn_sample gather_by_nodes(const float *tile, firn_stencils *st, int n, int order,
                                        firn_slopes slopes)
{
    // Lanes without a particle read what the first one does.
    for (int l = n; l < FIRN_LANES; l++)
        st->base[l] = st->base[0];
    _Alignas(64) firn_joined joined;
    for (int l = 0; l < 4; l++) {
        const float *at[JOINED_LANES + 1];
        for (int i = 0; i < JOINED_LANES; i++)
            at[i] = tile + st->base[4 * i + l];
        join_nodes(&joined, at, st, l, order, slopes);
    }
    return joined_sample(&joined, st, slopes);
}

/// Reads the node field of a tile at the first n particles.
FIRN_INLINE firn_sample gather_group(const float *tile, firn_stencils *st, int n, int order,
                                     firn_slopes slopes)
{
    return GATHERS_BY_NODES && order == 3 ? gather_by_nodes(tile, st, n, order, slopes)
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
