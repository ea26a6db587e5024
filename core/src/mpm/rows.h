/// Rows of four nodes, in as many vectors as an instruction set needs for them.
///
/// A node is four floats. The quadratic kernel reads three nodes of a row: order, 3 or 4, tells how
/// many count, and vectors that hold none of them are left out.
#ifndef FIRN_ROWS_H
#define FIRN_ROWS_H

#include "base/simd.h"

enum { ROW_FLOATS = 16 };

typedef struct firn_row {
    firn_fx piece[ROW_FLOATS / FIRN_LANES];
} firn_row;

FIRN_INLINE int row_pieces(int order) { return (4 * order + FIRN_LANES - 1) / FIRN_LANES; }

/// a b + c in one rounding where the machine has it.
FIRN_INLINE firn_fx fx_fma(firn_fx a, firn_fx b, firn_fx c)
{
#if FIRN_LANES == 16
    return (firn_fx)_mm512_fmadd_ps(a, b, c);
#elif FIRN_LANES == 8
    return (firn_fx)_mm256_fmadd_ps(a, b, c);
#else
    return a * b + c;
#endif
}

FIRN_INLINE firn_row row_load(const float *p, int order)
{
    firn_row r = {{{0}}};
    for (int k = 0; k < row_pieces(order); k++)
        r.piece[k] = firn_fx_load(p + k * FIRN_LANES);
    return r;
}

FIRN_INLINE void row_store(float *p, firn_row r, int order)
{
    for (int k = 0; k < row_pieces(order); k++)
        firn_fx_store(p + k * FIRN_LANES, r.piece[k]);
}

FIRN_INLINE firn_row row_zero(int order)
{
    firn_row r;
    for (int k = 0; k < row_pieces(order); k++)
        r.piece[k] = (firn_fx){0};
    return r;
}

FIRN_INLINE firn_row row_add(firn_row a, firn_row b, int order)
{
    for (int k = 0; k < row_pieces(order); k++)
        a.piece[k] += b.piece[k];
    return a;
}

FIRN_INLINE firn_row row_mul(firn_row a, firn_row b, int order)
{
    for (int k = 0; k < row_pieces(order); k++)
        a.piece[k] *= b.piece[k];
    return a;
}

/// The same for a product that is added many times: as it stands, not as part of each sum. AVX2 has
/// fewer units for products than for sums; with AVX-512 they are the same.
FIRN_INLINE firn_row row_product(firn_row a, firn_row b, int order)
{
    a = row_mul(a, b, order);
#if FIRN_LANES == 8
    for (int k = 0; k < row_pieces(order); k++)
        __asm__("" : "+x"(a.piece[k]));
#endif
    return a;
}

/// a b + c
FIRN_INLINE firn_row row_mul_add(firn_row a, firn_row b, firn_row c, int order)
{
    for (int k = 0; k < row_pieces(order); k++)
        a.piece[k] = fx_fma(a.piece[k], b.piece[k], c.piece[k]);
    return a;
}

FIRN_INLINE firn_row row_scale(float s, firn_row a, int order)
{
    for (int k = 0; k < row_pieces(order); k++)
        a.piece[k] *= firn_fx_set(s);
    return a;
}

/// s a + c
FIRN_INLINE firn_row row_scale_add(float s, firn_row a, firn_row c, int order)
{
    for (int k = 0; k < row_pieces(order); k++)
        a.piece[k] = fx_fma(firn_fx_set(s), a.piece[k], c.piece[k]);
    return a;
}

FIRN_INLINE void node_add(float *to, const float *from)
{
    typedef float node __attribute__((vector_size(16), aligned(16), may_alias));
    *(node *)to += *(const node *)from;
}

/// The row at to += the row at from, its first order nodes; the others are not touched.
FIRN_INLINE void row_add_first(float *to, const float *from, int order)
{
#if FIRN_LANES == 16
    __mmask16 nodes = (__mmask16)((1u << 4 * order) - 1u);
    __m512 sum = _mm512_add_ps(_mm512_maskz_loadu_ps(nodes, to), _mm512_loadu_ps(from));
    _mm512_mask_storeu_ps(to, nodes, sum);
#else
    for (int k = 0; k < order; k++)
        node_add(to + 4 * k, from + 4 * k);
#endif
}

/// The numbers of the nodes, 0 to 3, in all parts of each.
FIRN_INLINE firn_row row_numbers(int order)
{
    static const float numbers[ROW_FLOATS] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
    return row_load(numbers, order);
}

/// The same address, but in a register: what lies around it is reached by constant distances.
FIRN_INLINE float *pointer_settle(float *p)
{
    __asm__("" : "+r"(p));
    return p;
}

// row_repeat: the same node four times. row_spread: one number for each of the four nodes.
#if FIRN_LANES == 16
FIRN_INLINE firn_row row_repeat(const float *node)
{
    return (firn_row){{(firn_fx)_mm512_broadcast_f32x4(_mm_loadu_ps(node))}};
}
FIRN_INLINE firn_row row_spread(const float *four)
{
    const __m512i index = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    __m512 low = _mm512_castps128_ps512(_mm_loadu_ps(four));
    return (firn_row){{(firn_fx)_mm512_permutexvar_ps(index, low)}};
}
#elif FIRN_LANES == 8
FIRN_INLINE firn_row row_repeat(const float *node)
{
    firn_fx twice = (firn_fx)_mm256_broadcast_ps((const __m128 *)node);
    return (firn_row){{twice, twice}};
}
FIRN_INLINE firn_row row_spread(const float *four)
{
    __m256 twice = _mm256_broadcast_ps((const __m128 *)four);
    return (firn_row){
        {(firn_fx)_mm256_permutevar_ps(twice, _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1)),
         (firn_fx)_mm256_permutevar_ps(twice, _mm256_setr_epi32(2, 2, 2, 2, 3, 3, 3, 3))}};
}
#else
FIRN_INLINE firn_row row_repeat(const float *node)
{
    firn_row r;
    for (int k = 0; k < ROW_FLOATS / FIRN_LANES; k++)
        r.piece[k] = firn_fx_load(node + (k * FIRN_LANES) % 4);
    return r;
}
FIRN_INLINE firn_row row_spread(const float *four)
{
    firn_row r;
    for (int k = 0; k < ROW_FLOATS / FIRN_LANES; k++)
        r.piece[k] = firn_fx_set(four[k * FIRN_LANES / 4]);
    return r;
}
#endif

/// A node for each lane, in the order that costs least to make: that of lane l is at lane_node(l),
/// which is 4 (l / 4) + FIRN_LANES (l mod 4).
typedef struct firn_nodes {
    float at[4 * FIRN_LANES];
} firn_nodes;

/// Lanes whose nodes fill a vector: l, l + 4 and so on. None in the scalar twin, whose vectors are
/// smaller than a node.
enum { JOINED_LANES = FIRN_LANES / 4 };

FIRN_INLINE int lane_node(int l) { return l * (FIRN_LANES + 1) & 4 * (FIRN_LANES - 1); }

// nodes_from_lanes: four numbers of every lane become one node for each lane.
// nodes_join: as one vector, the nodes of joined lanes, offset floats behind at[0], at[1] ...
// rows_join: the same for the nodes of their rows, stride floats apart.
// lanes_join: a number of each of the lanes joined with l, four times.
// lanes_from_nodes: the first three numbers of each lane's node, stride floats apart, in lanes.
// lanes_from_joined: the same of joined nodes, stored in the order of firn_nodes.
#if FIRN_LANES == 16
FIRN_INLINE void nodes_from_lanes(firn_nodes *nodes, firn_fx a, firn_fx b, firn_fx c, firn_fx d)
{
    __m512d ab0 = _mm512_castps_pd(_mm512_unpacklo_ps(a, b));
    __m512d ab2 = _mm512_castps_pd(_mm512_unpackhi_ps(a, b));
    __m512d cd0 = _mm512_castps_pd(_mm512_unpacklo_ps(c, d));
    __m512d cd2 = _mm512_castps_pd(_mm512_unpackhi_ps(c, d));
    // Nodes 0 4 8 12, then 1 5 9 13 and so on.
    _mm512_storeu_pd((double *)nodes->at, _mm512_unpacklo_pd(ab0, cd0));
    _mm512_storeu_pd((double *)(nodes->at + 16), _mm512_unpackhi_pd(ab0, cd0));
    _mm512_storeu_pd((double *)(nodes->at + 32), _mm512_unpacklo_pd(ab2, cd2));
    _mm512_storeu_pd((double *)(nodes->at + 48), _mm512_unpackhi_pd(ab2, cd2));
}
FIRN_INLINE firn_fx nodes_join(const float *const at[], int offset)
{
    __m512 four = _mm512_castps128_ps512(_mm_loadu_ps(at[0] + offset));
    four = _mm512_insertf32x4(four, _mm_loadu_ps(at[1] + offset), 1);
    four = _mm512_insertf32x4(four, _mm_loadu_ps(at[2] + offset), 2);
    return (firn_fx)_mm512_insertf32x4(four, _mm_loadu_ps(at[3] + offset), 3);
}
FIRN_INLINE void rows_join(const float *rows, int stride, firn_fx node[4], int order)
{
    __m512 a = _mm512_loadu_ps(rows), b = _mm512_loadu_ps(rows + stride);
    __m512 c = _mm512_loadu_ps(rows + 2 * stride), d = _mm512_loadu_ps(rows + 3 * stride);
    __m512 ab = _mm512_shuffle_f32x4(a, b, 0x44), cd = _mm512_shuffle_f32x4(c, d, 0x44);
    node[0] = (firn_fx)_mm512_shuffle_f32x4(ab, cd, 0x88);
    node[1] = (firn_fx)_mm512_shuffle_f32x4(ab, cd, 0xdd);
    ab = _mm512_shuffle_f32x4(a, b, 0xee);
    cd = _mm512_shuffle_f32x4(c, d, 0xee);
    node[2] = (firn_fx)_mm512_shuffle_f32x4(ab, cd, 0x88);
    if (order == 4)
        node[3] = (firn_fx)_mm512_shuffle_f32x4(ab, cd, 0xdd);
}
FIRN_INLINE firn_fx lanes_join(const float *lanes, int l)
{
    const __m512i index = _mm512_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
    return (firn_fx)_mm512_permutexvar_ps(_mm512_add_epi32(index, _mm512_set1_epi32(l)),
                                          _mm512_loadu_ps(lanes));
}
FIRN_INLINE firn_fx3 lanes_from_four(const firn_fx n[4])
{
    __m512d xy01 = _mm512_castps_pd(_mm512_unpacklo_ps(n[0], n[1]));
    __m512d xy23 = _mm512_castps_pd(_mm512_unpacklo_ps(n[2], n[3]));
    __m512d zw01 = _mm512_castps_pd(_mm512_unpackhi_ps(n[0], n[1]));
    __m512d zw23 = _mm512_castps_pd(_mm512_unpackhi_ps(n[2], n[3]));
    return (firn_fx3){(firn_fx)_mm512_castpd_ps(_mm512_unpacklo_pd(xy01, xy23)),
                      (firn_fx)_mm512_castpd_ps(_mm512_unpackhi_pd(xy01, xy23)),
                      (firn_fx)_mm512_castpd_ps(_mm512_unpacklo_pd(zw01, zw23))};
}
#elif FIRN_LANES == 8
FIRN_INLINE void nodes_from_lanes(firn_nodes *nodes, firn_fx a, firn_fx b, firn_fx c, firn_fx d)
{
    __m256d ab0 = _mm256_castps_pd(_mm256_unpacklo_ps(a, b));
    __m256d ab2 = _mm256_castps_pd(_mm256_unpackhi_ps(a, b));
    __m256d cd0 = _mm256_castps_pd(_mm256_unpacklo_ps(c, d));
    __m256d cd2 = _mm256_castps_pd(_mm256_unpackhi_ps(c, d));
    // Nodes 0 4, then 1 5 and so on.
    _mm256_storeu_pd((double *)nodes->at, _mm256_unpacklo_pd(ab0, cd0));
    _mm256_storeu_pd((double *)(nodes->at + 8), _mm256_unpackhi_pd(ab0, cd0));
    _mm256_storeu_pd((double *)(nodes->at + 16), _mm256_unpacklo_pd(ab2, cd2));
    _mm256_storeu_pd((double *)(nodes->at + 24), _mm256_unpackhi_pd(ab2, cd2));
}
FIRN_INLINE firn_fx nodes_join(const float *const at[], int offset)
{
    return (firn_fx)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(at[0] + offset)),
                                         _mm_loadu_ps(at[1] + offset), 1);
}
FIRN_INLINE firn_fx lanes_join(const float *lanes, int l)
{
    const __m256i index = _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4);
    return (firn_fx)_mm256_permutevar8x32_ps(_mm256_loadu_ps(lanes),
                                             _mm256_add_epi32(index, _mm256_set1_epi32(l)));
}
FIRN_INLINE firn_fx3 lanes_from_four(const firn_fx n[4])
{
    __m256d xy01 = _mm256_castps_pd(_mm256_unpacklo_ps(n[0], n[1]));
    __m256d xy23 = _mm256_castps_pd(_mm256_unpacklo_ps(n[2], n[3]));
    __m256d zw01 = _mm256_castps_pd(_mm256_unpackhi_ps(n[0], n[1]));
    __m256d zw23 = _mm256_castps_pd(_mm256_unpackhi_ps(n[2], n[3]));
    return (firn_fx3){(firn_fx)_mm256_castpd_ps(_mm256_unpacklo_pd(xy01, xy23)),
                      (firn_fx)_mm256_castpd_ps(_mm256_unpackhi_pd(xy01, xy23)),
                      (firn_fx)_mm256_castpd_ps(_mm256_unpacklo_pd(zw01, zw23))};
}
#else
FIRN_INLINE void nodes_from_lanes(firn_nodes *nodes, firn_fx a, firn_fx b, firn_fx c, firn_fx d)
{
    for (int l = 0; l < FIRN_LANES; l++) {
        float *node = nodes->at + lane_node(l);
        node[0] = a[l];
        node[1] = b[l];
        node[2] = c[l];
        node[3] = d[l];
    }
}
FIRN_INLINE firn_fx nodes_join(const float *const at[], int offset)
{
    return firn_fx_load(at[0] + offset);
}
FIRN_INLINE firn_fx lanes_join(const float *lanes, int l) { return firn_fx_set(lanes[l]); }
#endif

#if FIRN_LANES < 16
FIRN_INLINE void rows_join(const float *rows, int stride, firn_fx node[4], int order)
{
    const float *at[JOINED_LANES + 1];
    for (int i = 0; i < JOINED_LANES; i++)
        at[i] = rows + i * stride;
    for (int k = 0; k < order; k++)
        node[k] = nodes_join(at, 4 * k);
}
#endif

#if FIRN_LANES >= 8
FIRN_INLINE firn_fx3 lanes_from_nodes(const float *nodes, int stride)
{
    const float *at[JOINED_LANES];
    for (int i = 0; i < JOINED_LANES; i++)
        at[i] = nodes + 4 * i * stride;
    const firn_fx joined[4] = {nodes_join(at, 0), nodes_join(at, stride),
                               nodes_join(at, 2 * stride), nodes_join(at, 3 * stride)};
    return lanes_from_four(joined);
}
FIRN_INLINE firn_fx3 lanes_from_joined(const firn_nodes *nodes)
{
    const firn_fx joined[4] = {firn_fx_load(nodes->at), firn_fx_load(nodes->at + FIRN_LANES),
                               firn_fx_load(nodes->at + 2 * FIRN_LANES),
                               firn_fx_load(nodes->at + 3 * FIRN_LANES)};
    return lanes_from_four(joined);
}
#else
FIRN_INLINE firn_fx3 lanes_from_nodes(const float *nodes, int stride)
{
    float lanes[3][FIRN_LANES];
    for (int l = 0; l < FIRN_LANES; l++)
        for (int k = 0; k < 3; k++)
            lanes[k][l] = nodes[l * stride + k];
    return (firn_fx3){firn_fx_load(lanes[0]), firn_fx_load(lanes[1]), firn_fx_load(lanes[2])};
}
FIRN_INLINE firn_fx3 lanes_from_joined(const firn_nodes *nodes)
{
    return lanes_from_nodes(nodes->at, 4);
}
#endif

#endif
