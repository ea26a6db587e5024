/// Lanes: one particle per lane, the same formulas for every instruction set. The only file that
/// names an instruction set; FIRN_LANES follows from the flags a translation unit is compiled with,
/// and FIRN_SCALAR asks for the twin with a single lane.
///
/// A mask is a firn_ix whose lanes are 0 or -1, as comparisons of vectors give them. A lane never
/// looks at its neighbors: its result has the same bits whatever the other lanes hold.
#ifndef FIRN_SIMD_H
#define FIRN_SIMD_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(FIRN_SCALAR)
#define FIRN_LANES 1
#define FIRN_ISA_NAME "scalar"
#elif defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>
#define FIRN_LANES 16
#define FIRN_ISA_NAME "avx512"
#elif defined(__AVX2__)
#include <immintrin.h>
#define FIRN_LANES 8
#define FIRN_ISA_NAME "avx2"
#else
#define FIRN_LANES 4
#define FIRN_ISA_NAME "baseline"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#endif

/// Every instruction set that kernels are built for, slowest first.
#if defined(__x86_64__)
#define FIRN_EVERY_ISA(X) X(scalar) X(baseline) X(avx2) X(avx512)
#else
#define FIRN_EVERY_ISA(X) X(scalar) X(baseline)
#endif

/// Small enough, and called with constants that must reach it.
#define FIRN_INLINE static inline __attribute__((always_inline))

/// True when this machine can run what the translation unit was compiled for.
static inline bool firn_isa_supported(void)
{
#if FIRN_LANES == 16
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#elif FIRN_LANES == 8
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return true;
#endif
}

typedef float firn_fx __attribute__((vector_size(4 * FIRN_LANES)));
typedef int32_t firn_ix __attribute__((vector_size(4 * FIRN_LANES)));

/// The same lanes in memory, at any address of their elements.
typedef float firn_fx_memory __attribute__((vector_size(4 * FIRN_LANES), aligned(4), may_alias));
typedef int32_t firn_ix_memory __attribute__((vector_size(4 * FIRN_LANES), aligned(4), may_alias));

typedef struct firn_fx3 {
    firn_fx x, y, z;
} firn_fx3;

/// Row-major: m[3 * row + column].
typedef struct firn_fm3 {
    firn_fx m[9];
} firn_fm3;

/// A symmetric matrix.
typedef struct firn_fs3 {
    firn_fx xx, xy, xz, yy, yz, zz;
} firn_fs3;

static inline firn_fx firn_fx_set(float s) { return s - (firn_fx){0}; }
static inline firn_ix firn_ix_set(int32_t s) { return s - (firn_ix){0}; }

static inline firn_fx firn_fx_load(const float *p) { return *(const firn_fx_memory *)p; }
static inline firn_ix firn_ix_load(const int32_t *p) { return *(const firn_ix_memory *)p; }
static inline void firn_fx_store(float *p, firn_fx a) { *(firn_fx_memory *)p = a; }
static inline void firn_ix_store(int32_t *p, firn_ix a) { *(firn_ix_memory *)p = a; }

/// The first n lanes come from memory, 0 <= n <= FIRN_LANES; the others are filled.
static inline firn_fx firn_fx_load_tail(const float *p, int n, float fill)
{
    firn_fx a = firn_fx_set(fill);
    memcpy(&a, p, sizeof *p * (size_t)n);
    return a;
}

static inline firn_ix firn_ix_load_tail(const int32_t *p, int n, int32_t fill)
{
    firn_ix a = firn_ix_set(fill);
    memcpy(&a, p, sizeof *p * (size_t)n);
    return a;
}

/// Writes the first n lanes only, 0 <= n <= FIRN_LANES.
static inline void firn_fx_store_tail(float *p, firn_fx a, int n)
{
    memcpy(p, &a, sizeof *p * (size_t)n);
}

static inline void firn_ix_store_tail(int32_t *p, firn_ix a, int n)
{
    memcpy(p, &a, sizeof *p * (size_t)n);
}

/// Truncates; |a| < 2^31.
static inline firn_ix firn_ix_from_fx(firn_fx a) { return __builtin_convertvector(a, firn_ix); }
static inline firn_fx firn_fx_from_ix(firn_ix a) { return __builtin_convertvector(a, firn_fx); }

// The operations that vector extensions lack. min and max give b where a lane is not a number, so
// that max(limit, x) keeps a NaN in x. sqrt is exactly rounded everywhere.
#if FIRN_LANES == 16
static inline firn_fx firn_fx_select(firn_ix mask, firn_fx a, firn_fx b)
{
    return (firn_fx)_mm512_mask_blend_ps(_mm512_movepi32_mask((__m512i)mask), (__m512)b, (__m512)a);
}
static inline firn_fx firn_fx_min(firn_fx a, firn_fx b) { return (firn_fx)_mm512_min_ps(a, b); }
static inline firn_fx firn_fx_max(firn_fx a, firn_fx b) { return (firn_fx)_mm512_max_ps(a, b); }
static inline firn_fx firn_fx_sqrt(firn_fx a) { return (firn_fx)_mm512_sqrt_ps(a); }
static inline bool firn_ix_any(firn_ix mask) { return _mm512_movepi32_mask((__m512i)mask) != 0; }
static inline bool firn_ix_all(firn_ix mask)
{
    return _mm512_movepi32_mask((__m512i)mask) == 0xffff;
}
static inline firn_fx firn_fx_gather(const float *table, firn_ix index)
{
    return (firn_fx)_mm512_i32gather_ps((__m512i)index, table, 4);
}
#elif FIRN_LANES == 8
static inline firn_fx firn_fx_select(firn_ix mask, firn_fx a, firn_fx b)
{
    return (firn_fx)_mm256_blendv_ps(b, a, (__m256)mask);
}
static inline firn_fx firn_fx_min(firn_fx a, firn_fx b) { return (firn_fx)_mm256_min_ps(a, b); }
static inline firn_fx firn_fx_max(firn_fx a, firn_fx b) { return (firn_fx)_mm256_max_ps(a, b); }
static inline firn_fx firn_fx_sqrt(firn_fx a) { return (firn_fx)_mm256_sqrt_ps(a); }
static inline bool firn_ix_any(firn_ix mask) { return _mm256_movemask_ps((__m256)mask) != 0; }
static inline bool firn_ix_all(firn_ix mask) { return _mm256_movemask_ps((__m256)mask) == 0xff; }
static inline firn_fx firn_fx_gather(const float *table, firn_ix index)
{
    return (firn_fx)_mm256_i32gather_ps(table, (__m256i)index, 4);
}
#else
static inline firn_fx firn_fx_select(firn_ix mask, firn_fx a, firn_fx b)
{
    return (firn_fx)((mask & (firn_ix)a) | (~mask & (firn_ix)b));
}
#if FIRN_LANES == 4 && defined(__SSE2__)
static inline firn_fx firn_fx_min(firn_fx a, firn_fx b) { return (firn_fx)_mm_min_ps(a, b); }
static inline firn_fx firn_fx_max(firn_fx a, firn_fx b) { return (firn_fx)_mm_max_ps(a, b); }
static inline firn_fx firn_fx_sqrt(firn_fx a) { return (firn_fx)_mm_sqrt_ps(a); }
static inline bool firn_ix_any(firn_ix mask) { return _mm_movemask_ps((__m128)mask) != 0; }
static inline bool firn_ix_all(firn_ix mask) { return _mm_movemask_ps((__m128)mask) == 0xf; }
#else
static inline firn_fx firn_fx_min(firn_fx a, firn_fx b) { return firn_fx_select(a < b, a, b); }
static inline firn_fx firn_fx_max(firn_fx a, firn_fx b) { return firn_fx_select(a > b, a, b); }
static inline firn_fx firn_fx_sqrt(firn_fx a)
{
    for (int i = 0; i < FIRN_LANES; i++)
        a[i] = sqrtf(a[i]);
    return a;
}
static inline bool firn_ix_any(firn_ix mask)
{
    int32_t any = 0;
    for (int i = 0; i < FIRN_LANES; i++)
        any |= mask[i];
    return any != 0;
}
static inline bool firn_ix_all(firn_ix mask) { return !firn_ix_any(~mask); }
#endif
static inline firn_fx firn_fx_gather(const float *table, firn_ix index)
{
    firn_fx a = {0};
    for (int i = 0; i < FIRN_LANES; i++)
        a[i] = table[index[i]];
    return a;
}
#endif

static inline firn_ix firn_ix_select(firn_ix mask, firn_ix a, firn_ix b)
{
    return (mask & a) | (~mask & b);
}

static inline firn_fx firn_fx_abs(firn_fx a) { return (firn_fx)((firn_ix)a & INT32_MAX); }

/// The magnitude of a with the sign of b.
static inline firn_fx firn_fx_copysign(firn_fx a, firn_fx b)
{
    return (firn_fx)(((firn_ix)a & INT32_MAX) | ((firn_ix)b & INT32_MIN));
}

static inline firn_fx firn_fx_reciprocal(firn_fx a) { return 1.0f / a; }

/// A NaN in a stays one.
static inline firn_fx firn_fx_clamp(firn_fx a, firn_fx low, firn_fx high)
{
    return firn_fx_min(high, firn_fx_max(low, a));
}

/// The largest integer that is not above a; |a| < 2^31.
static inline firn_ix firn_ix_floor(firn_fx a)
{
    firn_ix whole = firn_ix_from_fx(a);
    return whole + (firn_fx_from_ix(whole) > a);
}
static inline firn_fx firn_fx_floor(firn_fx a) { return firn_fx_from_ix(firn_ix_floor(a)); }

/// The exponential, within 2e-7 relative; arguments beyond [-87, 88] count as the nearer end.
static inline firn_fx firn_fx_exp(firn_fx a)
{
    a = firn_fx_clamp(a, firn_fx_set(-87.0f), firn_fx_set(88.0f));
    firn_ix n = firn_ix_floor(1.44269504f * a + 0.5f);
    firn_fx count = firn_fx_from_ix(n);
    // ln 2 in two parts; the first has so few digits that its product with n is exact.
    firn_fx r = a - 0.693359375f * count + 2.12194440e-4f * count;
    // exp(r) = 1 + r + r^2 p(r) on |r| <= ln(2) / 2, off by 8e-9 at most.
    firn_fx p = firn_fx_set(1.3926184e-3f);
    p = p * r + 8.36317893e-3f;
    p = p * r + 4.16665561e-2f;
    p = p * r + 0.166665763f;
    p = p * r + 0.5f;
    firn_fx mantissa = p * r * r + r + 1.0f;
    return mantissa * (firn_fx)((n + 127) << 23);
}

static inline float firn_fx_max_lane(firn_fx a)
{
    float most = a[0];
    for (int i = 1; i < FIRN_LANES; i++)
        most = a[i] > most ? a[i] : most;
    return most;
}

static inline float firn_fx_min_lane(firn_fx a)
{
    float least = a[0];
    for (int i = 1; i < FIRN_LANES; i++)
        least = a[i] < least ? a[i] : least;
    return least;
}

/// In the order of the lanes.
static inline double firn_fx_sum(firn_fx a)
{
    double sum = 0.0;
    for (int i = 0; i < FIRN_LANES; i++)
        sum += (double)a[i];
    return sum;
}

/// A running sum for each lane, in double precision.
typedef struct firn_fx_total {
    double lane[FIRN_LANES];
} firn_fx_total;

static inline void firn_fx_accumulate(firn_fx_total *total, firn_fx a)
{
    float lanes[FIRN_LANES];
    firn_fx_store(lanes, a);
    for (int i = 0; i < FIRN_LANES; i++)
        total->lane[i] += (double)lanes[i];
}

static inline double firn_fx_total_sum(const firn_fx_total *total)
{
    double sum = 0.0;
    for (int i = 0; i < FIRN_LANES; i++)
        sum += total->lane[i];
    return sum;
}

static inline firn_fx3 firn_fx3_select(firn_ix mask, firn_fx3 a, firn_fx3 b)
{
    return (firn_fx3){firn_fx_select(mask, a.x, b.x), firn_fx_select(mask, a.y, b.y),
                      firn_fx_select(mask, a.z, b.z)};
}

static inline firn_fx firn_fx3_dot(firn_fx3 a, firn_fx3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline firn_fx3 firn_fx3_cross(firn_fx3 a, firn_fx3 b)
{
    return (firn_fx3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static inline firn_fx3 firn_fx3_scale(firn_fx s, firn_fx3 a)
{
    return (firn_fx3){s * a.x, s * a.y, s * a.z};
}

/// a + s b
static inline firn_fx3 firn_fx3_add_scaled(firn_fx3 a, firn_fx s, firn_fx3 b)
{
    return (firn_fx3){a.x + s * b.x, a.y + s * b.y, a.z + s * b.z};
}

static inline firn_fm3 firn_fm3_identity(void)
{
    firn_fx zero = {0};
    firn_fx one = firn_fx_set(1.0f);
    return (firn_fm3){{one, zero, zero, zero, one, zero, zero, zero, one}};
}

static inline firn_fm3 firn_fm3_select(firn_ix mask, firn_fm3 a, firn_fm3 b)
{
    for (int i = 0; i < 9; i++)
        a.m[i] = firn_fx_select(mask, a.m[i], b.m[i]);
    return a;
}

static inline firn_fm3 firn_fm3_add(firn_fm3 a, firn_fm3 b)
{
    for (int i = 0; i < 9; i++)
        a.m[i] += b.m[i];
    return a;
}

static inline firn_fm3 firn_fm3_scale(firn_fx s, firn_fm3 a)
{
    for (int i = 0; i < 9; i++)
        a.m[i] *= s;
    return a;
}

static inline firn_fx firn_fm3_det(firn_fm3 a)
{
    return a.m[0] * (a.m[4] * a.m[8] - a.m[5] * a.m[7]) -
           a.m[1] * (a.m[3] * a.m[8] - a.m[5] * a.m[6]) +
           a.m[2] * (a.m[3] * a.m[7] - a.m[4] * a.m[6]);
}

static inline firn_fm3 firn_fm3_mul(firn_fm3 a, firn_fm3 b)
{
    firn_fm3 c;
    for (int i = 0; i < 9; i += 3) {
        c.m[i] = a.m[i] * b.m[0] + a.m[i + 1] * b.m[3] + a.m[i + 2] * b.m[6];
        c.m[i + 1] = a.m[i] * b.m[1] + a.m[i + 1] * b.m[4] + a.m[i + 2] * b.m[7];
        c.m[i + 2] = a.m[i] * b.m[2] + a.m[i + 1] * b.m[5] + a.m[i + 2] * b.m[8];
    }
    return c;
}

/// a b^T
static inline firn_fm3 firn_fm3_mul_transpose(firn_fm3 a, firn_fm3 b)
{
    firn_fm3 c;
    for (int i = 0; i < 9; i += 3) {
        c.m[i] = a.m[i] * b.m[0] + a.m[i + 1] * b.m[1] + a.m[i + 2] * b.m[2];
        c.m[i + 1] = a.m[i] * b.m[3] + a.m[i + 1] * b.m[4] + a.m[i + 2] * b.m[5];
        c.m[i + 2] = a.m[i] * b.m[6] + a.m[i + 1] * b.m[7] + a.m[i + 2] * b.m[8];
    }
    return c;
}

static inline firn_fm3 firn_fm3_from_fs3(firn_fs3 a)
{
    return (firn_fm3){{a.xx, a.xy, a.xz, a.xy, a.yy, a.yz, a.xz, a.yz, a.zz}};
}

static inline firn_fx3 firn_fm3_apply(firn_fm3 a, firn_fx3 v)
{
    return (firn_fx3){a.m[0] * v.x + a.m[1] * v.y + a.m[2] * v.z,
                      a.m[3] * v.x + a.m[4] * v.y + a.m[5] * v.z,
                      a.m[6] * v.x + a.m[7] * v.y + a.m[8] * v.z};
}

static inline firn_fx firn_fs3_trace(firn_fs3 a) { return a.xx + a.yy + a.zz; }

static inline firn_fx firn_fs3_det(firn_fs3 a)
{
    return a.xx * (a.yy * a.zz - a.yz * a.yz) - a.xy * (a.xy * a.zz - a.yz * a.xz) +
           a.xz * (a.xy * a.yz - a.yy * a.xz);
}

/// Sum of the squares of all nine elements.
static inline firn_fx firn_fs3_norm2(firn_fs3 a)
{
    return a.xx * a.xx + a.yy * a.yy + a.zz * a.zz +
           2.0f * (a.xy * a.xy + a.xz * a.xz + a.yz * a.yz);
}

static inline firn_fs3 firn_fs3_add(firn_fs3 a, firn_fs3 b)
{
    return (firn_fs3){a.xx + b.xx, a.xy + b.xy, a.xz + b.xz, a.yy + b.yy, a.yz + b.yz, a.zz + b.zz};
}

/// a + s b
static inline firn_fs3 firn_fs3_add_scaled(firn_fs3 a, firn_fx s, firn_fs3 b)
{
    return (firn_fs3){a.xx + s * b.xx, a.xy + s * b.xy, a.xz + s * b.xz,
                      a.yy + s * b.yy, a.yz + s * b.yz, a.zz + s * b.zz};
}

static inline firn_fs3 firn_fs3_select(firn_ix mask, firn_fs3 a, firn_fs3 b)
{
    return (firn_fs3){firn_fx_select(mask, a.xx, b.xx), firn_fx_select(mask, a.xy, b.xy),
                      firn_fx_select(mask, a.xz, b.xz), firn_fx_select(mask, a.yy, b.yy),
                      firn_fx_select(mask, a.yz, b.yz), firn_fx_select(mask, a.zz, b.zz)};
}

/// Whether all eigenvalues are positive.
static inline firn_ix firn_fs3_is_positive(firn_fs3 a)
{
    return (a.xx > 0.0f) & (a.xx * a.yy - a.xy * a.xy > 0.0f) & (firn_fs3_det(a) > 0.0f);
}

static inline firn_fs3 firn_fs3_scale(firn_fx s, firn_fs3 a)
{
    return (firn_fs3){s * a.xx, s * a.xy, s * a.xz, s * a.yy, s * a.yz, s * a.zz};
}

/// a + s I
static inline firn_fs3 firn_fs3_add_scalar(firn_fs3 a, firn_fx s)
{
    return (firn_fs3){a.xx + s, a.xy, a.xz, a.yy + s, a.yz, a.zz + s};
}

/// The product of two symmetric matrices that commute, hence symmetric too.
static inline firn_fs3 firn_fs3_mul_commuting(firn_fs3 a, firn_fs3 b)
{
    return (firn_fs3){
        a.xx * b.xx + a.xy * b.xy + a.xz * b.xz, a.xx * b.xy + a.xy * b.yy + a.xz * b.yz,
        a.xx * b.xz + a.xy * b.yz + a.xz * b.zz, a.xy * b.xy + a.yy * b.yy + a.yz * b.yz,
        a.xy * b.xz + a.yy * b.yz + a.yz * b.zz, a.xz * b.xz + a.yz * b.yz + a.zz * b.zz};
}

/// A node is four floats; a row is four nodes, whatever the number of lanes.
typedef float firn_node __attribute__((vector_size(16)));
typedef float firn_row __attribute__((vector_size(64)));
typedef float firn_node_memory __attribute__((vector_size(16), aligned(4), may_alias));
typedef float firn_row_memory __attribute__((vector_size(64), aligned(4), may_alias));

FIRN_INLINE firn_row row_load(const float *p) { return *(const firn_row_memory *)p; }
FIRN_INLINE void row_store(float *p, firn_row r) { *(firn_row_memory *)p = r; }
FIRN_INLINE firn_node node_load(const float *p) { return *(const firn_node_memory *)p; }
FIRN_INLINE void node_store(float *p, firn_node n) { *(firn_node_memory *)p = n; }

// row_repeat: the same node four times. row_spread: one number for each of the four nodes.
// row_sum: the sum of the four nodes. Compilers take the generic forms through memory on AVX-512.
#if FIRN_LANES == 16
FIRN_INLINE firn_row row_repeat(firn_node n) { return (firn_row)_mm512_broadcast_f32x4(n); }
FIRN_INLINE firn_row row_spread(firn_node n)
{
    const __m512i index = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    return (firn_row)_mm512_permutexvar_ps(index, _mm512_castps128_ps512(n));
}
FIRN_INLINE firn_node row_sum(firn_row r)
{
    __m256 pair = _mm256_add_ps(_mm512_castps512_ps256(r), _mm512_extractf32x8_ps(r, 1));
    return _mm_add_ps(_mm256_castps256_ps128(pair), _mm256_extractf128_ps(pair, 1));
}
#else
FIRN_INLINE firn_row row_repeat(firn_node n)
{
    return __builtin_shufflevector(n, n, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
}
FIRN_INLINE firn_row row_spread(firn_node n)
{
    return __builtin_shufflevector(n, n, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
}
FIRN_INLINE firn_node row_sum(firn_row r)
{
    return __builtin_shufflevector(r, r, 0, 1, 2, 3) + __builtin_shufflevector(r, r, 4, 5, 6, 7) +
           (__builtin_shufflevector(r, r, 8, 9, 10, 11) +
            __builtin_shufflevector(r, r, 12, 13, 14, 15));
}
#endif

// nodes_from_lanes: four numbers of every lane become one node for each lane. lanes_from_nodes: the
// first three numbers of each lane's node, back in lanes.
#if FIRN_LANES == 16
FIRN_INLINE void nodes_from_lanes(float (*nodes)[4], firn_fx a, firn_fx b, firn_fx c, firn_fx d)
{
    __m512d ab0 = _mm512_castps_pd(_mm512_unpacklo_ps(a, b));
    __m512d ab2 = _mm512_castps_pd(_mm512_unpackhi_ps(a, b));
    __m512d cd0 = _mm512_castps_pd(_mm512_unpacklo_ps(c, d));
    __m512d cd2 = _mm512_castps_pd(_mm512_unpackhi_ps(c, d));
    // Nodes 0 4 8 12, then 1 5 9 13 and so on.
    __m512 n0 = _mm512_castpd_ps(_mm512_unpacklo_pd(ab0, cd0));
    __m512 n1 = _mm512_castpd_ps(_mm512_unpackhi_pd(ab0, cd0));
    __m512 n2 = _mm512_castpd_ps(_mm512_unpacklo_pd(ab2, cd2));
    __m512 n3 = _mm512_castpd_ps(_mm512_unpackhi_pd(ab2, cd2));
    __m512 low01 = _mm512_shuffle_f32x4(n0, n1, 0x44), low23 = _mm512_shuffle_f32x4(n2, n3, 0x44);
    __m512 high01 = _mm512_shuffle_f32x4(n0, n1, 0xee), high23 = _mm512_shuffle_f32x4(n2, n3, 0xee);
    row_store(nodes[0], _mm512_shuffle_f32x4(low01, low23, 0x88));
    row_store(nodes[4], _mm512_shuffle_f32x4(low01, low23, 0xdd));
    row_store(nodes[8], _mm512_shuffle_f32x4(high01, high23, 0x88));
    row_store(nodes[12], _mm512_shuffle_f32x4(high01, high23, 0xdd));
}
FIRN_INLINE firn_fx3 lanes_from_nodes(float (*const nodes)[4])
{
    __m512 m0 = row_load(nodes[0]), m1 = row_load(nodes[4]);
    __m512 m2 = row_load(nodes[8]), m3 = row_load(nodes[12]);
    __m512 low01 = _mm512_shuffle_f32x4(m0, m1, 0x44), low23 = _mm512_shuffle_f32x4(m2, m3, 0x44);
    __m512 high01 = _mm512_shuffle_f32x4(m0, m1, 0xee), high23 = _mm512_shuffle_f32x4(m2, m3, 0xee);
    __m512 n0 = _mm512_shuffle_f32x4(low01, low23, 0x88);
    __m512 n1 = _mm512_shuffle_f32x4(low01, low23, 0xdd);
    __m512 n2 = _mm512_shuffle_f32x4(high01, high23, 0x88);
    __m512 n3 = _mm512_shuffle_f32x4(high01, high23, 0xdd);
    __m512d xy01 = _mm512_castps_pd(_mm512_unpacklo_ps(n0, n1));
    __m512d xy23 = _mm512_castps_pd(_mm512_unpacklo_ps(n2, n3));
    __m512d zw01 = _mm512_castps_pd(_mm512_unpackhi_ps(n0, n1));
    __m512d zw23 = _mm512_castps_pd(_mm512_unpackhi_ps(n2, n3));
    return (firn_fx3){(firn_fx)_mm512_castpd_ps(_mm512_unpacklo_pd(xy01, xy23)),
                      (firn_fx)_mm512_castpd_ps(_mm512_unpackhi_pd(xy01, xy23)),
                      (firn_fx)_mm512_castpd_ps(_mm512_unpacklo_pd(zw01, zw23))};
}
#else
FIRN_INLINE void nodes_from_lanes(float (*nodes)[4], firn_fx a, firn_fx b, firn_fx c, firn_fx d)
{
    float lanes[4][FIRN_LANES];
    firn_fx_store(lanes[0], a);
    firn_fx_store(lanes[1], b);
    firn_fx_store(lanes[2], c);
    firn_fx_store(lanes[3], d);
    for (int l = 0; l < FIRN_LANES; l++)
        for (int k = 0; k < 4; k++)
            nodes[l][k] = lanes[k][l];
}
FIRN_INLINE firn_fx3 lanes_from_nodes(float (*const nodes)[4])
{
    float lanes[3][FIRN_LANES];
    for (int l = 0; l < FIRN_LANES; l++)
        for (int k = 0; k < 3; k++)
            lanes[k][l] = nodes[l][k];
    return (firn_fx3){firn_fx_load(lanes[0]), firn_fx_load(lanes[1]), firn_fx_load(lanes[2])};
}
#endif

#endif
