/// Lanes: one particle per lane, the same formulas for every instruction set. Beside rows.h the
/// only file that names an instruction set; FIRN_LANES follows from the flags a translation unit is
/// compiled with, and FIRN_SCALAR asks for the twin with a single lane.
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

/// The first n lanes come from memory, 0 <= n <= FIRN_LANES; the others are filled. Stores write
/// the first n lanes only.
#if FIRN_LANES == 16
static inline __mmask16 firn_lanes_first(int n) { return (__mmask16)((1u << n) - 1u); }
static inline firn_fx firn_fx_load_tail(const float *p, int n, float fill)
{
    return (firn_fx)_mm512_mask_loadu_ps(_mm512_set1_ps(fill), firn_lanes_first(n), p);
}
static inline firn_ix firn_ix_load_tail(const int32_t *p, int n, int32_t fill)
{
    return (firn_ix)_mm512_mask_loadu_epi32(_mm512_set1_epi32(fill), firn_lanes_first(n), p);
}
static inline void firn_fx_store_tail(float *p, firn_fx a, int n)
{
    _mm512_mask_storeu_ps(p, firn_lanes_first(n), a);
}
static inline void firn_ix_store_tail(int32_t *p, firn_ix a, int n)
{
    _mm512_mask_storeu_epi32(p, firn_lanes_first(n), (__m512i)a);
}
#elif FIRN_LANES == 8
static inline __m256i firn_lanes_first(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline firn_fx firn_fx_load_tail(const float *p, int n, float fill)
{
    __m256i first = firn_lanes_first(n);
    return (firn_fx)_mm256_blendv_ps(_mm256_set1_ps(fill), _mm256_maskload_ps(p, first),
                                     _mm256_castsi256_ps(first));
}
static inline firn_ix firn_ix_load_tail(const int32_t *p, int n, int32_t fill)
{
    __m256i first = firn_lanes_first(n);
    return (firn_ix)_mm256_blendv_epi8(_mm256_set1_epi32(fill), _mm256_maskload_epi32(p, first),
                                       first);
}
static inline void firn_fx_store_tail(float *p, firn_fx a, int n)
{
    _mm256_maskstore_ps(p, firn_lanes_first(n), a);
}
static inline void firn_ix_store_tail(int32_t *p, firn_ix a, int n)
{
    _mm256_maskstore_epi32(p, firn_lanes_first(n), (__m256i)a);
}
#else
static inline firn_fx firn_fx_load_tail(const float *p, int n, float fill)
{
    firn_fx a = firn_fx_set(fill);
    for (int i = 0; i < n; i++)
        a[i] = p[i];
    return a;
}
static inline firn_ix firn_ix_load_tail(const int32_t *p, int n, int32_t fill)
{
    firn_ix a = firn_ix_set(fill);
    for (int i = 0; i < n; i++)
        a[i] = p[i];
    return a;
}
static inline void firn_fx_store_tail(float *p, firn_fx a, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = a[i];
}
static inline void firn_ix_store_tail(int32_t *p, firn_ix a, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = a[i];
}
#endif

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

// Division and square root to within two units of the last place, for positive normal divisors and
// for arguments from 0 on: the exact ones occupy the machine for as long as ten other operations.
#if FIRN_LANES == 16
static inline firn_fx firn_fx_ratio(firn_fx a, firn_fx b)
{
    __m512 r = _mm512_rcp14_ps(b);
    r = _mm512_fmadd_ps(r, _mm512_fnmadd_ps(b, r, _mm512_set1_ps(1.0f)), r);
    __m512 q = _mm512_mul_ps(a, r);
    return (firn_fx)_mm512_fmadd_ps(r, _mm512_fnmadd_ps(b, q, a), q);
}
static inline firn_fx firn_fx_root(firn_fx a)
{
    __m512 r = _mm512_rsqrt14_ps(_mm512_max_ps(_mm512_set1_ps(1e-36f), a));
    __m512 s = _mm512_mul_ps(a, r);
    __m512 half = _mm512_mul_ps(_mm512_set1_ps(0.5f), r);
    return (firn_fx)_mm512_fmadd_ps(half, _mm512_fnmadd_ps(s, s, a), s);
}
#else
static inline firn_fx firn_fx_ratio(firn_fx a, firn_fx b) { return a / b; }
static inline firn_fx firn_fx_root(firn_fx a) { return firn_fx_sqrt(a); }
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

/// The natural logarithm of a positive normal number, within 2e-7 relative, or absolute near 1.
static inline firn_fx firn_fx_log(firn_fx a)
{
    // a = m 2^n, m between sqrt(1/2) and sqrt(2).
    firn_ix bits = (firn_ix)a, n = (bits - 0x3f3504f3) >> 23;
    firn_fx r = (firn_fx)(bits - (n << 23)) - 1.0f, r2 = r * r;
    firn_fx p = firn_fx_set(7.0376836292e-2f);
    p = p * r - 1.1514610310e-1f;
    p = p * r + 1.1676998740e-1f;
    p = p * r - 1.2420140846e-1f;
    p = p * r + 1.4249322787e-1f;
    p = p * r - 1.6668057665e-1f;
    p = p * r + 2.0000714765e-1f;
    p = p * r - 2.4999993993e-1f;
    p = p * r + 3.3333331174e-1f;
    firn_fx count = firn_fx_from_ix(n);
    p = p * r * r2 - 2.12194440e-4f * count - 0.5f * r2;
    return r + p + 0.693359375f * count;
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

/// a + s b
static inline firn_fm3 firn_fm3_add_scaled(firn_fm3 a, firn_fx s, firn_fm3 b)
{
    for (int i = 0; i < 9; i++)
        a.m[i] += s * b.m[i];
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

/// c + a b
static inline firn_fm3 firn_fm3_mul_add(firn_fm3 a, firn_fm3 b, firn_fm3 c)
{
    for (int i = 0; i < 9; i++) {
        int row = i / 3 * 3, column = i % 3;
        c.m[i] += a.m[row] * b.m[column];
        c.m[i] += a.m[row + 1] * b.m[3 + column];
        c.m[i] += a.m[row + 2] * b.m[6 + column];
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

#endif
