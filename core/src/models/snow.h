/// The snow of Stomakhin et al. 2013, sections 5 to 7, one particle per lane: fixed corotated
/// elasticity, hardening, singular values kept in [1 - theta_c, 1 + theta_s].
///
/// Everything follows from the strain e = s - I, where F = s R is the left polar decomposition: the
/// energy is isotropic, so that neither R nor eigenvectors are needed. e is computed from
/// B = F F^T - I by the identity sqrt(1 + l) - sqrt(1 + k) = (l - k) / (sqrt(1 + l) + sqrt(1 + k)),
/// which loses no digits however small the strain.
#ifndef FIRN_MODEL_SNOW_H
#define FIRN_MODEL_SNOW_H

#include "base/svd.h"

/// Beyond exp(30), or below exp(-30), hardening changes nothing but the chance of an overflow.
#define FIRN_SNOW_HARDENING_LIMIT 30.0f

/// How far a squared singular value may pass its limit before it counts as yielding, relative to
/// the squared upper limit: above the rounding of the test, so that what the return map has
/// produced does not yield again.
#define FIRN_SNOW_YIELD_SLACK 2e-6f

/// How deep in their range, as a part of it, squared singular values are called elastic at first
/// sight: above the rounding of a determinant with two small factors.
#define FIRN_SNOW_ELASTIC_MARGIN 1e-3f

/// Singular values for which B has enough digits; beyond, the return map takes them from the SVD.
#define FIRN_SNOW_MODERATE_LOW 0.5f
#define FIRN_SNOW_MODERATE_HIGH 1.75f

typedef struct firn_snow_moduli {
    firn_fx mu, lambda; // Pa
} firn_snow_moduli;

typedef struct firn_snow_limits {
    firn_fx low, high;      // of the singular values: 1 - theta_c > 0 and 1 + theta_s
    firn_fx jp_min, jp_max; // of J_P; 0 < jp_min
} firn_snow_limits;

/// Compacted snow is stiffer, stretched snow weaker: exp(xi (1 - J_P)) on both moduli.
static inline firn_snow_moduli firn_snow_harden(firn_snow_moduli initial, firn_fx hardening,
                                                firn_fx stiffness, firn_fx jp)
{
    firn_fx exponent =
        firn_fx_clamp(hardening * (1.0f - jp), firn_fx_set(-FIRN_SNOW_HARDENING_LIMIT),
                      firn_fx_set(FIRN_SNOW_HARDENING_LIMIT));
    firn_fx factor = stiffness * firn_fx_exp(exponent);
    return (firn_snow_moduli){factor * initial.mu, factor * initial.lambda};
}

/// B = F F^T - I. The one comes off first, so that it cancels before digits are lost.
static inline firn_fs3 firn_snow_green(const firn_fm3 *f)
{
    const firn_fx *m = f->m;
    return (firn_fs3){(m[0] * m[0] - 1.0f) + m[1] * m[1] + m[2] * m[2],
                      m[0] * m[3] + m[1] * m[4] + m[2] * m[5],
                      m[0] * m[6] + m[1] * m[7] + m[2] * m[8],
                      (m[3] * m[3] - 1.0f) + m[4] * m[4] + m[5] * m[5],
                      m[3] * m[6] + m[4] * m[7] + m[5] * m[8],
                      (m[6] * m[6] - 1.0f) + m[7] * m[7] + m[8] * m[8]};
}

/// All that energy and stress need of F.
typedef struct firn_snow_deformation {
    firn_fs3 b; // F F^T - I
    firn_fx det;
} firn_snow_deformation;

static inline firn_snow_deformation firn_snow_deformation_of(const firn_fm3 *f)
{
    return (firn_snow_deformation){firn_snow_green(f), firn_fm3_det(*f)};
}

/// 2 cos(2/3 acos(x)) for 0 <= x <= 1, within 2e-7.
static inline firn_fx firn_snow_trisect(firn_fx x)
{
    firn_fx p = firn_fx_set(2.25527259e-3f);
    p = p * x - 1.21786911e-2f;
    p = p * x + 3.20945606e-2f;
    p = p * x - 6.04707934e-2f;
    p = p * x + 0.10568282f;
    p = p * x - 0.222077027f;
    p = p * x + 1.15469384f;
    return p * x + 1.0f;
}

/// Eigenvalues of a symmetric matrix, x >= y >= z. The one that lies apart from the other two comes
/// from the trigonometric formula. The formula would lose half the digits of a close pair, and
/// plastic flow leads right there: two singular values at the same limit. So the pair is found from
/// what remains of the matrix when the part of the lone eigenvector is taken off.
FIRN_INLINE firn_fx3 firn_snow_eigenvalues(firn_fs3 b)
{
    firn_fx mean = (1.0f / 3.0f) * firn_fs3_trace(b);
    firn_fs3 d = firn_fs3_add_scalar(b, -mean);
    firn_fx p2 = (1.0f / 6.0f) * firn_fs3_norm2(d);
    firn_fx p = firn_fx_root(p2);
    firn_fx least = firn_fx_set(1e-30f);
    firn_fx r = firn_fx_ratio(0.5f * firn_fs3_det(d), firn_fx_max(least, p2 * p));
    firn_fx cosine = firn_fx_root(0.5f + 0.5f * firn_fx_min(firn_fx_set(1.0f), firn_fx_abs(r)));
    firn_fx alone = firn_fx_copysign(p * firn_snow_trisect(cosine), r);

    // d - middle has the eigenvalues far, half and -half.
    firn_fx middle = -0.5f * alone;
    firn_fx far = 1.5f * alone;
    firn_fx half2 = 3.0f * p2 - 0.75f * (alone * alone);
    firn_fs3 m = firn_fs3_add_scalar(d, -middle);
    firn_fs3 lone = firn_fs3_add_scalar(firn_fs3_mul_commuting(m, m), -half2);
    firn_fx scale = firn_fx_ratio(far, firn_fx_max(least, far * far - half2));
    firn_fs3 rest = firn_fs3_add_scaled(m, -scale, lone);
    firn_fx half = firn_fx_root(0.5f * firn_fs3_norm2(rest));

    alone += mean;
    firn_fx high = mean + (middle + half);
    firn_fx low = mean + (middle - half);
    return (firn_fx3){firn_fx_max(alone, high), firn_fx_clamp(alone, low, high),
                      firn_fx_min(alone, low)};
}

/// Eigenvalues of s = sqrt(I + B) from those of B; the last takes the sign of det F.
static inline firn_fx3 firn_snow_stretches(firn_fx3 l, firn_fx det)
{
    firn_fx zero = {0};
    return (firn_fx3){firn_fx_root(firn_fx_max(zero, 1.0f + l.x)),
                      firn_fx_root(firn_fx_max(zero, 1.0f + l.y)),
                      firn_fx_copysign(firn_fx_root(firn_fx_max(zero, 1.0f + l.z)), det)};
}

/// c0 I + c1 (B - l.x) + c2 (B - l.x)(B - l.y): the matrix function with these divided differences.
static inline firn_fs3 firn_snow_function(firn_fs3 b, firn_fx3 l, firn_fx3 c)
{
    firn_fs3 bx = firn_fs3_add_scalar(b, -l.x);
    firn_fs3 by = firn_fs3_add_scalar(b, -l.y);
    firn_fs3 f = firn_fs3_scale(c.z, firn_fs3_mul_commuting(bx, by));
    f = firn_fs3_add_scaled(f, c.y, bx);
    return firn_fs3_add_scalar(f, c.x);
}

/// sqrt(I + B) - I, whose divided differences have closed forms without any difference.
static inline firn_fs3 firn_snow_root(firn_fs3 b, firn_fx3 l, firn_fx3 s)
{
    firn_fx least = firn_fx_set(1e-3f);
    firn_fx xy = 1.0f / firn_fx_max(least, s.x + s.y);
    firn_fx yz_zx = 1.0f / (firn_fx_max(least, s.y + s.z) * firn_fx_max(least, s.z + s.x));
    firn_fx3 c = {l.x / (1.0f + s.x), xy, -xy * yz_zx};
    return firn_snow_function(b, l, c);
}

static __attribute__((noinline)) firn_fs3 firn_snow_large_strain(firn_fs3 b, firn_fx det)
{
    firn_fx3 l = firn_snow_eigenvalues(b);
    return firn_snow_root(b, l, firn_snow_stretches(l, det));
}

/// The strain e = s - I. Where F is inverted, the smallest eigenvalue of s is negative, so that
/// energy and stress continue smoothly; at s.y + s.z = 0 the rotation is undefined and e bounded.
FIRN_INLINE firn_fs3 firn_snow_strain_of(const firn_snow_deformation *deformation)
{
    firn_fs3 b = deformation->b;
    firn_fs3 b2 = firn_fs3_mul_commuting(b, b);
    firn_ix small = (firn_fs3_trace(b2) <= 0.01f) & (deformation->det > 0.0f);

    // e = B (c0 + c1 B + c2 B^2 + c3 B^3), off by 4e-8 at most for eigenvalues up to 0.1.
    firn_fs3 odd = firn_fs3_add_scaled(firn_fs3_scale(firn_fx_set(0.0627748594f), b),
                                       firn_fx_set(-0.0392687321f), b2);
    firn_fs3 e =
        firn_fs3_add_scaled(firn_fs3_mul_commuting(b2, odd), firn_fx_set(-0.124999739f), b2);
    e = firn_fs3_add_scaled(e, firn_fx_set(0.499999642f), b);
    if (firn_ix_all(small))
        return e;
    return firn_fs3_select(small, e, firn_snow_large_strain(b, deformation->det));
}

FIRN_INLINE firn_fs3 firn_snow_strain(firn_fm3 f)
{
    firn_snow_deformation deformation = firn_snow_deformation_of(&f);
    return firn_snow_strain_of(&deformation);
}

/// J - 1 = det(I + e) - 1, without the cancellation.
static inline firn_fx firn_snow_volume_change(firn_fs3 e)
{
    firn_fx second =
        e.xx * e.yy - e.xy * e.xy + (e.xx * e.zz - e.xz * e.xz) + (e.yy * e.zz - e.yz * e.yz);
    return firn_fs3_trace(e) + (second + firn_fs3_det(e));
}

/// Energy per initial volume: mu |e|^2 + lambda / 2 (J - 1)^2.
static inline firn_fx firn_snow_energy(firn_fs3 e, firn_snow_moduli moduli)
{
    firn_fx dj = firn_snow_volume_change(e);
    return moduli.mu * firn_fs3_norm2(e) + 0.5f * moduli.lambda * (dj * dj);
}

/// Kirchhoff stress dPsi/dF F^T = 2 mu s (s - I) + lambda (J - 1) J I.
static inline firn_fs3 firn_snow_stress(firn_fs3 e, firn_snow_moduli moduli)
{
    firn_fx dj = firn_snow_volume_change(e);
    firn_fs3 deformation = firn_fs3_add(e, firn_fs3_mul_commuting(e, e));
    return firn_fs3_add_scalar(firn_fs3_scale(2.0f * moduli.mu, deformation),
                               moduli.lambda * (dj * (1.0f + dj)));
}

/// How much of the explicit viscosity's range of stability is used; 0.6 is all of it, method.md
/// (24).
#define FIRN_SNOW_DAMPING_SHARE 0.3f

/// The time constant of the viscosity that an explicit step of dt can bear where waves cross
/// transit2^-1/2 cells a second, method.md (24): all of the wanted one in soft snow, less in hard.
static inline firn_fx firn_snow_damping(firn_fx wanted, firn_fx transit2, float dt)
{
    firn_fx most = FIRN_SNOW_DAMPING_SHARE * (transit2 * (1.0f / dt) - dt);
    return firn_fx_clamp(wanted, firn_fx_set(0.0f), firn_fx_max(firn_fx_set(0.0f), most));
}

/// Stress of the strain rate, 2 mu sym(L) + lambda tr(L) I, times the time constant: none for a
/// rotation, and symmetric, so that it keeps angular momentum.
static inline firn_fs3 firn_snow_viscous_stress(const firn_fm3 *l, firn_snow_moduli moduli,
                                                firn_fx time)
{
    const firn_fx *m = l->m;
    firn_fx mu = time * moduli.mu;
    firn_fx bulk = time * moduli.lambda * (m[0] + m[4] + m[8]);
    return (firn_fs3){2.0f * mu * m[0] + bulk, mu * (m[1] + m[3]), mu * (m[2] + m[6]),
                      2.0f * mu * m[4] + bulk, mu * (m[5] + m[7]), 2.0f * mu * m[8] + bulk};
}

/// Solves (2 I + tr(e) I - e) w = v; its eigenvalues are the sums of two eigenvalues of s, never
/// small for an F that went through the return map. For others the determinant is bounded from
/// below, which keeps w finite.
static inline firn_fx3 firn_snow_solve_spin(firn_fs3 e, firn_fx3 v)
{
    firn_fx trace = firn_fs3_trace(e);
    firn_fx xx = 2.0f + (trace - e.xx), yy = 2.0f + (trace - e.yy), zz = 2.0f + (trace - e.zz);
    firn_fs3 c = {yy * zz - e.yz * e.yz, e.xy * zz + e.xz * e.yz, e.xy * e.yz + e.xz * yy,
                  xx * zz - e.xz * e.xz, e.yz * xx + e.xy * e.xz, xx * yy - e.xy * e.xy};
    firn_fx det = xx * c.xx - e.xy * c.xy - e.xz * c.xz;
    firn_fx scale = 1.0f / firn_fx_max(firn_fx_set(1e-4f), det);
    return (firn_fx3){scale * (c.xx * v.x + c.xy * v.y + c.xz * v.z),
                      scale * (c.xy * v.x + c.yy * v.y + c.yz * v.z),
                      scale * (c.xz * v.x + c.yz * v.y + c.zz * v.z)};
}

/// The Hessian applied to dF = G F, as K = (d2Psi/dF2 : dF) F^T: the force on node i changes by
/// -sum V0 K grad w_i. e is the strain of F.
///
/// With dR = W R, K = 2 mu (G s - W) s + lambda J ((2 J - 1) tr(G) I - (J - 1) G^T). The skew part
/// of G s = ds + s W gives W; it is split as skew(G) + W', and only the small W' is solved for.
static inline firn_fm3 firn_snow_hessian(firn_fs3 e, firn_snow_moduli moduli, firn_fm3 g)
{
    firn_fm3 ge = firn_fm3_mul(g, firn_fm3_from_fs3(e));
    firn_fx3 spin = {0.5f * (g.m[7] - g.m[5]), 0.5f * (g.m[2] - g.m[6]), 0.5f * (g.m[3] - g.m[1])};
    firn_fx trace = firn_fs3_trace(e);
    firn_fx3 v = {(ge.m[7] - ge.m[5]) - (trace - e.xx) * spin.x + e.xy * spin.y + e.xz * spin.z,
                  (ge.m[2] - ge.m[6]) + e.xy * spin.x - (trace - e.yy) * spin.y + e.yz * spin.z,
                  (ge.m[3] - ge.m[1]) + e.xz * spin.x + e.yz * spin.y - (trace - e.zz) * spin.z};
    firn_fx3 w = firn_snow_solve_spin(e, v);

    // a = G s - W = sym(G) + G e - W'
    firn_fx xy = 0.5f * (g.m[1] + g.m[3]);
    firn_fx xz = 0.5f * (g.m[2] + g.m[6]);
    firn_fx yz = 0.5f * (g.m[5] + g.m[7]);
    firn_fm3 a = {{g.m[0] + ge.m[0], xy + (ge.m[1] + w.z), xz + (ge.m[2] - w.y),
                   xy + (ge.m[3] - w.z), g.m[4] + ge.m[4], yz + (ge.m[5] + w.x),
                   xz + (ge.m[6] + w.y), yz + (ge.m[7] - w.x), g.m[8] + ge.m[8]}};
    firn_fm3 as = firn_fm3_add(a, firn_fm3_mul(a, firn_fm3_from_fs3(e)));

    firn_fx dj = firn_snow_volume_change(e);
    firn_fx pressure = moduli.lambda * (1.0f + dj);
    firn_fx turn = pressure * dj;
    firn_fx bulk = pressure * (1.0f + 2.0f * dj) * (g.m[0] + g.m[4] + g.m[8]);
    firn_fx mu2 = 2.0f * moduli.mu;
    return (firn_fm3){{mu2 * as.m[0] + (bulk - turn * g.m[0]), mu2 * as.m[1] - turn * g.m[3],
                       mu2 * as.m[2] - turn * g.m[6], mu2 * as.m[3] - turn * g.m[1],
                       mu2 * as.m[4] + (bulk - turn * g.m[4]), mu2 * as.m[5] - turn * g.m[7],
                       mu2 * as.m[6] - turn * g.m[2], mu2 * as.m[7] - turn * g.m[5],
                       mu2 * as.m[8] + (bulk - turn * g.m[8])}};
}

/// F with its singular values clamped, as H F with H - I a function of B: exact for isotropic
/// limits, no eigenvectors. For moderate singular values and det F > 0.
FIRN_INLINE firn_fm3 firn_snow_clamp(firn_fm3 f, firn_fs3 b, firn_fx3 l,
                                     const firn_snow_limits *limits)
{
    // h(s) - 1 = clamp(s) / s - 1, with one division for three; equal s give equal h to the last
    // bit.
    firn_fx3 s = firn_snow_stretches(l, firn_fx_set(1.0f));
    firn_fx one = firn_fx_set(1.0f);
    firn_fx over = firn_fx_ratio(one, s.x * s.y * s.z);
    firn_fx hx = (firn_fx_clamp(s.x, limits->low, limits->high) - s.x) * (over * (s.y * s.z));
    firn_fx hy = (firn_fx_clamp(s.y, limits->low, limits->high) - s.y) * (over * (s.z * s.x));
    firn_fx hz = (firn_fx_clamp(s.z, limits->low, limits->high) - s.z) * (over * (s.x * s.y));

    // Divided differences. Where eigenvalues coincide, so do the values of h, and any slope will
    // do.
    firn_fx least = firn_fx_set(1e-8f);
    firn_fx xy = firn_fx_max(least, l.x - l.y);
    firn_fx yz = firn_fx_max(least, l.y - l.z);
    firn_fx xz = firn_fx_max(least, l.x - l.z);
    over = firn_fx_ratio(one, xy * yz * xz);
    firn_fx slope_xy = (hx - hy) * (over * yz * xz);
    firn_fx slope_yz = (hy - hz) * (over * xy * xz);
    firn_fx3 c = {hx, slope_xy, (slope_xy - slope_yz) * (over * xy * yz)};
    firn_fs3 h = firn_snow_function(b, l, c);
    return firn_fm3_add(f, firn_fm3_mul(firn_fm3_from_fs3(h), f));
}

/// What the SVD gives for lanes out of the moderate range.
typedef struct firn_snow_return {
    firn_fm3 f;
    firn_fx ratio; // of the volumes before and after
    firn_ix yields;
} firn_snow_return;

static __attribute__((noinline)) firn_snow_return
firn_snow_clamp_svd(firn_fm3 f, const firn_snow_limits *limits)
{
    firn_svd svd = firn_svd_of(f);
    firn_fx3 s = {firn_fx_clamp(svd.s.x, limits->low, limits->high),
                  firn_fx_clamp(svd.s.y, limits->low, limits->high),
                  firn_fx_clamp(svd.s.z, limits->low, limits->high)};
    firn_fx most = firn_fx_set(1e12f);
    firn_fx slack = 1.0f + firn_fx_set(FIRN_SNOW_YIELD_SLACK);
    firn_snow_return result;
    result.f = firn_svd_compose(&svd, s);
    result.ratio = firn_fx_min(most, svd.s.x / s.x) * firn_fx_min(most, svd.s.y / s.y) *
                   firn_fx_clamp(svd.s.z / s.z, -most, most);
    result.yields = ~((svd.s.x <= slack * limits->high) & (slack * svd.s.z >= limits->low));
    return result;
}

/// Moves what exceeds the limits from F to J_P, so that det(F) J_P stays what it was unless a bound
/// of J_P acts. Lanes that do not yield keep all their bits.
///
/// An inverted F has no snow it could stand for; it is taken as the end of a compression: its
/// negative singular value becomes 1 - theta_c, det F is positive again, and J_P, on its way to
/// zero as the singular value went to zero, stops at jp_min. A lane that is not finite stays so.
/// Gives the deformation of the new F.
FIRN_INLINE firn_snow_deformation firn_snow_return_map(firn_fm3 *f, firn_fx *jp,
                                                       const firn_snow_limits *limits)
{
    firn_snow_deformation deformation = firn_snow_deformation_of(f);
    firn_fs3 b = deformation.b;
    firn_fx det = deformation.det;
    firn_fx slack = FIRN_SNOW_YIELD_SLACK * (limits->high * limits->high);
    firn_fx l_high = limits->high * limits->high - 1.0f + slack;
    firn_fx l_low = limits->low * limits->low - 1.0f - slack;

    // Most snow is elastic most of the time, which is seen without eigenvalues: l_low < B < l_high.
    firn_fx margin = FIRN_SNOW_ELASTIC_MARGIN * (l_high - l_low);
    firn_fs3 above = firn_fs3_add_scalar(b, -(l_low + margin));
    firn_fs3 below = firn_fs3_add_scalar(firn_fs3_scale(firn_fx_set(-1.0f), b), l_high - margin);
    firn_ix upright = det > 0.0f;
    if (firn_ix_all(firn_fs3_is_positive(above) & firn_fs3_is_positive(below) & upright))
        return deformation;

    firn_fx3 l = firn_snow_eigenvalues(b);
    const float low = FIRN_SNOW_MODERATE_LOW * FIRN_SNOW_MODERATE_LOW - 1.0f;
    const float high = FIRN_SNOW_MODERATE_HIGH * FIRN_SNOW_MODERATE_HIGH - 1.0f;
    firn_ix moderate = (l.z >= low) & (l.x <= high) & upright;
    firn_ix yields = ~((l.x <= l_high) & (l.z >= l_low) & moderate);
    if (!firn_ix_any(yields))
        return deformation;

    firn_fm3 clamped = firn_snow_clamp(*f, b, l, limits);
    firn_fx ratio = firn_fx_ratio(det, firn_fm3_det(clamped));
    if (!firn_ix_all(moderate)) {
        firn_snow_return extreme = firn_snow_clamp_svd(*f, limits);
        clamped = firn_fm3_select(moderate, clamped, extreme.f);
        ratio = firn_fx_select(moderate, ratio, extreme.ratio);
        yields = firn_ix_select(moderate, yields, extreme.yields);
    }
    *f = firn_fm3_select(yields, clamped, *f);
    *jp = firn_fx_select(yields, firn_fx_clamp(ratio * *jp, limits->jp_min, limits->jp_max), *jp);
    return firn_snow_deformation_of(f);
}

#endif
